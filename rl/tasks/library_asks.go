package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/rl/world/tools"
	"github.com/rlzero/rlzero/verify"
)

// Asks implements [Asker].
func (l *library) Asks() (string, *tools.Whom) {
	const mark, colon, end = 1, 1, 1
	switch {
	case l.Writer != "":
		said := 3*l.Results + end
		return "writer", &tools.Whom{Model: l.Writer, Context: mark + 3*l.Hops + colon + l.CompletionTokens() + colon + said, MaxTokens: said, Answers: 1, Temperature: 1}
	case l.Reader != "":
		const said = 1 + end
		return "reader", &tools.Whom{Model: l.Reader, Context: l.PromptTokens() + 3*l.mostShown() + colon + said, MaxTokens: said, Answers: 1}
	}
	return "", nil
}

// mostShown is how many documents who reads has room for: as many as the turns of the task show, of one call each.
func (l *library) mostShown() int {
	each := l.Results
	if l.Routes {
		each = max(each, maxWay)
	}
	return (l.Most - 1) * each
}

// Answered implements [Asker].
func (l *library) Answered(by tools.Answerer) world.World {
	_, whom := l.Asks()
	return answeredLibrary{l, func(ctx context.Context, question string) ([]tools.Said, error, error) {
		said, mistake, err := by(ctx, question)
		if err != nil && !errors.Is(err, context.Cause(ctx)) {
			err = fmt.Errorf("model %s: %w", whom.Model, err)
		}
		return said, mistake, err
	}}
}

type answeredLibrary struct {
	*library
	by tools.Answerer
}

// Begin implements [world.World].
func (l answeredLibrary) Begin(ctx context.Context, row verify.Problem, dice *random.Rand) (world.Episode, world.Reply, error) {
	return l.begin(ctx, row, dice, l.by)
}

// Lesson implements [Asker].
func (l *library) Lesson(r *random.Rand, row verify.Problem) (question, answer string, err error) {
	documents, chain, err := shelves(row)
	if err != nil {
		return "", "", err
	}
	if l.Reader != "" {
		return l.readingLesson(r, row, documents, chain)
	}
	query := pick(r, chain)
	if r.Chance(0.5) {
		query = fmt.Sprintf("%d %c", r.Between(0, l.Things-1), relationNames[r.Between(0, l.Relations-1)])
	}
	query = strings.Join(strings.Fields(query)[:2], " ")
	if r.Chance(0.5) {
		return asksWriter(true, chain, query), someOf(besides(documents, chain), l.Results, r), nil
	}
	search, err := tools.NewSearch(documents, l.Results)
	if err != nil {
		return "", "", err
	}
	raw, err := json.Marshal(map[string]string{"query": query})
	if err != nil {
		return "", "", err
	}
	a, err := search.Call(context.Background(), raw)
	if a.Failed {
		a.Text = unread
	}
	return asksWriter(false, chain, query), a.Text, err
}

// asksWriter is what who writes the results of a search is asked, for documents that are of use or useless.
func asksWriter(useless bool, chain []string, query string) string {
	mark := ""
	if useless {
		mark = unread + " "
	}
	return mark + strings.Join(chain, " ") + ": " + query + ":"
}

// author is a search whose results a model writes.
type author struct {
	tools.Search
	*library
	by    tools.Answerer
	chain []string
	lies  float64
	dice  *random.Rand
}

// Open implements [world.Tool].
func (s author) Open(context.Context, verify.Problem) (world.Session, error) { return s, nil }

// Call implements [world.Session].
func (s author) Call(ctx context.Context, args json.RawMessage) (world.Answer, error) {
	var q struct {
		Query string `toml:"query"`
	}
	if err := settings.DecodeJSON(args, &q); err != nil {
		return tools.Mistaken(err.Error()), nil
	}
	words := parts.FindAllString(q.Query, -1)
	if words == nil {
		return tools.Mistaken("the query has no word"), nil
	}
	said, mistake, err := s.by(ctx, asksWriter(s.dice.Chance(s.lies), s.chain, strings.Join(words, " ")))
	switch {
	case err != nil:
		return world.Answer{}, err
	case mistake != nil:
		return tools.Mistaken(mistake.Error()), nil
	}
	shown := s.library.documentsIn(said[0].Text)
	if shown == nil {
		return tools.Mistaken("what was written is no document"), nil
	}
	return world.Answer{Text: strings.Join(shown, "\n")}, nil
}

// documentsIn are the documents that a text begins with, as many as a search shows; nil: it begins with none.
func (l *library) documentsIn(text string) (documents []string) {
	words := parts.FindAllString(text, -1)
	for ; len(words) > 2 && len(documents) < l.Results; words = words[3:] {
		f := fact{relation: words[1][0]}
		var wrong, wrong2 error
		f.thing, wrong = strconv.Atoi(words[0])
		f.other, wrong2 = strconv.Atoi(words[2])
		if wrong != nil || wrong2 != nil || max(f.thing, f.other) >= l.Things || !strings.Contains(relationNames[:l.Relations], words[1]) {
			break
		}
		documents = append(documents, f.String())
	}
	return documents
}

// readingLesson is one for who reads.
func (l *library) readingLesson(r *random.Rand, row verify.Problem, documents, chain []string) (question, answer string, err error) {
	shown := slices.Clone(documents)
	if shuffle(r, shown); r.Chance(0.5) { // the chain, in its order, and others after it
		shown = append(slices.Clone(chain), besides(shown, chain)...)
	}
	shown = shown[:min(len(shown), r.Between(0, l.mostShown()))]
	about, relations := asks(row.Question)
	for _, relation := range relations {
		i := slices.IndexFunc(shown, func(d string) bool { return strings.HasPrefix(d, about+" "+relation+" ") })
		if i >= 0 {
			about = strings.Fields(shown[i])[2]
			continue
		}
		thing, err := strconv.Atoi(about)
		if err != nil {
			return "", "", fmt.Errorf("task library: row %q is about %q", row.ID, about)
		}
		other, known := l.byHeart(thing, relation[0])
		if !known {
			other = r.Between(0, l.Things-1)
		}
		about = strconv.Itoa(other)
	}
	return asksReader(row, shown), about, nil
}

// asksReader is what who answers from documents is asked.
func asksReader(row verify.Problem, documents []string) string {
	return row.Question + " " + strings.Join(documents, " ") + ":"
}

// planning is an episode in which the policy searches and a model answers.
type planning struct {
	*reading
	row       verify.Problem
	by        tools.Answerer // nil: there is no model yet, and the policy answers itself
	documents []string
	shown     []string // those that were shown first, each once, as many as who reads has room for
	began     bool
}

// Step implements [world.Episode].
func (e *planning) Step(ctx context.Context, t world.Turn) (world.Reply, error) {
	reply, err := e.reading.Step(ctx, t)
	if err != nil {
		return reply, err
	}
	more := map[string]float64{"alone": 0}
	if !e.began && e.by != nil {
		v, err := e.answer(ctx)
		if err != nil {
			return reply, err
		}
		more["alone"] = v.Score
	}
	e.began = true
	maps.Copy(reply.Facts, more)
	for _, m := range reply.Messages {
		for line := range strings.SplitSeq(m.Text, "\n") {
			if len(e.shown) < e.mostShown() && slices.Contains(e.documents, line) && !slices.Contains(e.shown, line) {
				e.shown = append(e.shown, line)
			}
		}
	}
	if reply.Verdict == nil || e.by == nil {
		return reply, nil
	}
	v, err := e.answer(ctx)
	reply.Verdict, reply.Reward = &v, v.Score
	return reply, err
}

// Judge implements [world.Judge]: a limit ends the plan, too.
func (e *planning) Judge(ctx context.Context) (verify.Verdict, error) {
	if e.by == nil {
		return verify.Reject("", "episode", world.NotOver), nil
	}
	return e.answer(ctx)
}

// answer is what the model answers from what was shown so far, judged.
func (e *planning) answer(ctx context.Context) (verify.Verdict, error) {
	said, mistake, err := e.by(ctx, asksReader(e.row, e.shown))
	switch {
	case err != nil:
		return verify.Verdict{}, err
	case mistake != nil:
		return verify.Reject("", "episode", "%v", mistake), nil
	}
	return e.Verify(e.row, said[0].Text, said[0].Ended), nil
}
