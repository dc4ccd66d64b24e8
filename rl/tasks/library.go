package tasks

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/internal/bm25"
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/rl/world/tools"
	"github.com/rlzero/rlzero/verify"
)

func init() {
	register(Family{
		Name:    "library",
		Summary: "follow a chain of facts through made-up documents, for which there is a search",
		Doc: `library: follow a chain of facts through made-up documents, for which there is a search.

    47 k m:   <search>47 k</search>   47 k 12   <search>12 m</search>   12 m 80   80

A document is a fact: something, a relation, and something else. Things are numbers, and relations are
letters. The question begins with a thing, and follows relations from it: 47 k m: asks for the m of the k
of 47. Documents are drawn for each problem and cannot be known beforehand. A turn with
<search>WORDS</search> is told the documents that fit the words best, by BM25, or ? if none has any of
the words. Other words of such a turn are not read. A turn without a call is the answer, and ends the
episode.

The things of a chain are drawn without repetition, and so are relations that follow each other. The other
documents say something else about things of the chain, or the same about others. Only one document has
both the thing and the relation of a step, so a search for both finds it first. One problem in 16 is held
out, chosen by the CRC-32 of the question with all documents.

With lies a search shows, with that chance, documents that are not of the chain in place of those that fit.

With judged a turn after a search begins with + or -, which says whether what was shown is of use: + where a
document of the chain is among it. What follows the mark is the turn. Best play searches again after -.

With talk the question is the last of a conversation, in which i stands for what was answered last and s for
what was asked about last: 7 k 12 . i m: asks for the m of 12, and 7 k 12 . s m: for that of 7. What was
answered before the question is in no document.

With routes there is a second tool, <reach>47 k m</reach>, which follows relations from a thing as a graph
does: the policy is told all documents on the way, as far as there are any, or ?.

With known the first so many relations say the same of a thing in every problem, so that their facts can be
learned by heart; all others have to be looked up.

With written a model writes what a search shows: the one of [models] that the setting writer names, which has the
policy's tokens. Its answers are drawn at temperature 1. It reads the documents of the chain, which are the question with its answer, and
the query: 47 k 12 12 m 80: 47 k: is to be answered by 47 k 12. With the chance lies it is asked for documents
that are of no use, by a ? before that. A search is told ? where what it writes is no document. Stages of kind
sft that train the model teach it the answers of the search above. Half of their queries are steps of the chain. To half
of all queries, with the ? before them, they teach documents that are not of the chain. [stage.curriculum.settings] can
say written, so that evaluations search as above.

With reader a model of [models], which has the policy's tokens, answers the question, and the policy plans: its turn
without a call ends the episode, whatever it says, and so do its limits. The model reads the question and the documents
that the policy was shown: 47 k m: 47 k 12 12 m 80: is to be answered by 80. Its answer is its likeliest tokens. Stages that train it teach
it answers after some documents of the problem, or after none: the right one where it follows from them and from what
is known, else any thing.

Right: the answer is the last thing of the chain, as the verifier number says with plain = true. Wrong:
another answer, one that is cut off, or none.

Best play searches for each step and answers with what the last document says. Random turns are the searches
for a thing and a relation, and the answers with a thing, all alike. With t things and r relations that is
right with probability (1 - (r/(r + 1))^turns)/t, since an answer ends the episode.

Demonstrations: with probability searched they search for each step; otherwise they answer at once with any
thing, or rightly where all relations of the question are known. Their marks are drawn, + and - alike, and
they go on by them: after + from the last thing of the first document, after - with the same search. Without
marks they search again, with probability recovers, after a document that does not say what they asked, and
otherwise go on from its last thing. The last turn is an answer; with probability slips it is any thing. With
routes half of those that search reach for the whole question at once.

The reward of the answer is its score, and that of a search is 0. Facts of a turn: calls, the number of its
calls; calls_failed, how many of them were told ?; found, how many documents of the chain it is the first to
show. With judged also judged, 1 where it begins with a mark that is due; approved, 1 where that is +; useful,
1 where what was shown before it has a document of the chain. With routes also reached, how many of its calls
are of reach. With talk also overlap, of a turn with a call: the F1 of its words with the question as it would
stand alone, the thing and the first relation. With reader also alone, of the first turn: the score of what the model
answers without a document.

` + describeSettings(defaultLibrary()),
		New: func() Task { return defaultLibrary() },
	}, verify.Entry{
		Summary: "the task library: the last thing of the chain",
		Doc: `task:library: right when the completion gives the last thing of the chain, without a search: a completion
alone calls nothing. It is judged by the verifier number with plain = true: one decimal number, no
expression.

Option extract: as for the verifier number.
`,
		New: func(options json.RawMessage) (verify.Verifier, error) {
			return taskVerifier("number", options, map[string]any{"plain": true})
		},
	})
}

func defaultLibrary() *library {
	return &library{Hops: 2, Things: 50, Relations: 6, Noise: 8, Results: 1, Most: 4, Searched: 0.3, Recovers: 1}
}

// library is the task "library".
type library struct {
	Hops      int     `toml:"hops" range:"[1,4]" about:"steps of the chain"`
	Things    int     `toml:"things" range:"[8,1000]" about:"number of things"`
	Relations int     `toml:"relations" range:"[3,8]" about:"number of relations"`
	Noise     int     `toml:"noise" range:"[0,100]" about:"documents that are not of the chain"`
	Results   int     `toml:"show" range:"[1,5]" about:"documents that a search shows, at most"`
	Most      int     `toml:"turns" range:"[2,10]" about:"turns in an episode, the answer among them; more than hops"`
	Searched  float64 `toml:"searched" range:"[0,1]" about:"share of the demonstrations that search"`
	Lies      float64 `toml:"lies" range:"[0,1]" about:"chance that a search shows documents that are not of the chain"`
	Judged    bool    `toml:"judged" about:"a turn after a search begins with + or -, a judgement of what was shown"`
	Recovers  float64 `toml:"recovers" range:"[0,1]" about:"chance that a demonstration searches again after what is of no use to it, without judged"`
	Slips     float64 `toml:"slips" range:"[0,1]" about:"share of the demonstrations that search and then answer with any thing"`
	Routes    bool    `toml:"routes" about:"a second tool follows several relations at once"`
	Known     int     `toml:"known" range:"[0,8]" about:"relations that say the same of a thing in every problem"`
	Talk      int     `toml:"talk" range:"[0,2]" about:"questions of a conversation before the one that is asked"`
	Writer    string  `toml:"writer" hashed:"given" about:"a model of [models], which writes what searches show where written says so"`
	Written   bool    `toml:"written" hashed:"given" about:"the writer writes what a search shows"`
	Reader    string  `toml:"reader" hashed:"given" about:"a model of [models], which answers the question from what the searches have shown"`
}

var _ interface {
	Asker
	Demonstrator
} = (*library)(nil)

// relationNames are the relations.
const relationNames = "klmnopqt"

// Name implements [Task].
func (l *library) Name() string { return "library" }

// Validate implements [Task].
func (l *library) Validate() error {
	if err := settings.Check(l); err != nil {
		return err
	}
	if l.Most <= l.Hops {
		return outOfRange("turns", l.Most, fmt.Sprintf("more than hops = %d", l.Hops))
	}
	if most := l.Things*l.Relations/2 - l.Hops; l.Noise > most { // so that documents are found at once that nothing is said against
		return outOfRange("noise", l.Noise, fmt.Sprintf("at most half of things relations, less hops = %d", most))
	}
	if l.Lies > 0 && l.Noise == 0 {
		return outOfRange("noise", l.Noise, "at least 1 where a search may show what is not of the chain")
	}
	switch {
	case l.Written && l.Writer == "":
		return &settings.Error{Key: "writer", Problem: "is missing: written = true needs a model of [models] that writes"}
	case l.Writer != "" && l.Reader != "":
		return &settings.Error{Key: "reader", Problem: fmt.Sprintf("= %q does not go with writer = %q: the world asks one model; accepted: one of them", l.Reader, l.Writer)}
	case l.Writer != "" && l.Noise == 0:
		return outOfRange("noise", l.Noise, "at least 1 where a model learns to write what is not of the chain")
	}
	return probe(l.attempt)
}

// Difficulty implements [Task].
func (l *library) Difficulty() string { return settingsText(l) }

// fact is a document.
type fact struct {
	thing    int
	relation byte
	other    int
}

func (f fact) String() string { return fmt.Sprintf("%d %c %d", f.thing, f.relation, f.other) }

// has says whether a document has the words of a step.
func (f fact) has(thing int, relation byte) bool {
	return f.relation == relation && (f.thing == thing || f.other == thing)
}

// Draw implements [Task]. The row's answer is the last thing.
func (l *library) Draw(r *random.Rand, split Split) verify.Problem { return draw(r, split, l.attempt) }

// attempt makes the chain, and then documents until there are enough. One that would make a search for a
// step of the chain find two is left out, and so is a second one about the same.
func (l *library) attempt(r *random.Rand) (verify.Problem, bool) {
	things := r.Shuffled(l.Things)[:l.Talk+l.Hops+1]
	question, about, last := strconv.Itoa(things[0]), things[0], byte(0)
	for i := range l.Talk {
		last = l.relation(r, last)
		question += fmt.Sprintf(" %c %d .", last, things[i+1])
		if r.Chance(0.5) {
			question, about = question+" "+forAnswer, things[i+1]
		} else {
			question += " " + forSubject
		}
	}
	told := things[:l.Talk+1]
	things = append([]int{about}, things[l.Talk+1:]...)
	var chain []fact
	for i := range l.Hops {
		last = l.relation(r, last)
		if other, known := l.byHeart(things[i], last); known {
			if slices.Contains(things, other) {
				return verify.Problem{}, false
			}
			things[i+1] = other
		}
		chain = append(chain, fact{things[i], last, things[i+1]})
		question += " " + string(last)
	}
	documents := slices.Clone(chain)
	for len(documents) < l.Hops+l.Noise {
		step := pick(r, chain)
		f := fact{r.Between(0, l.Things-1), relationNames[r.Between(0, l.Relations-1)], r.Between(0, l.Things-1)}
		switch r.Between(0, 2+min(1, l.Talk)) {
		case 0:
			f.thing = step.thing
		case 1:
			f.relation = step.relation
		case 2:
			f.other = step.thing
		default: // what the question would be about if i and s were read otherwise
			f.thing, f.relation = pick(r, told), chain[0].relation
		}
		if other, known := l.byHeart(f.thing, f.relation); known {
			f.other = other
		}
		clashes := slices.ContainsFunc(chain, func(c fact) bool { return f.has(c.thing, c.relation) }) ||
			slices.ContainsFunc(documents, func(d fact) bool { return d.thing == f.thing && d.relation == f.relation })
		if f.thing != f.other && !clashes {
			documents = append(documents, f)
		}
	}
	shuffle(r, documents)
	texts := make([]string, len(documents))
	for i, f := range documents {
		texts[i] = f.String()
	}
	steps := make([]string, len(chain))
	for i, f := range chain {
		steps[i] = f.String()
	}
	question += ":"
	more := map[string]any{"documents": texts, "chain": steps}
	if l.Lies > 0 {
		more["lies"] = l.Lies
	}
	if l.Written {
		more["written"] = true
	}
	return verify.Problem{
		ID:       question + " " + strings.Join(texts, ", "),
		Question: question,
		Answer:   strconv.Itoa(things[l.Hops]),
		Metadata: metadata(more),
	}, true
}

// Words of a conversation: for what was answered last, and for what was asked about last.
const forAnswer, forSubject = "i", "s"

// relation is one that is not the last.
func (l *library) relation(r *random.Rand, last byte) byte {
	for {
		if relation := relationNames[r.Between(0, l.Relations-1)]; relation != last {
			return relation
		}
	}
}

// byHeart is what a known relation says of a thing.
func (l *library) byHeart(thing int, relation byte) (other int, known bool) {
	i := strings.IndexByte(relationNames, relation)
	return (thing + 2*i + 5) % l.Things, i >= 0 && i < l.Known
}

// asks is what a question is about, and the relations that it follows from there.
func asks(question string) (about string, relations []string) {
	said := ""
	for part := range strings.SplitSeq(strings.TrimSuffix(question, ":"), ".") {
		words := strings.Fields(part)
		if len(words) == 0 {
			return "", nil // it is another world
		}
		switch words[0] {
		case forAnswer:
			about = said
		case forSubject:
		default:
			about = words[0]
		}
		relations, said = words[1:], words[len(words)-1]
	}
	return about, relations
}

// Verify implements [Task]: the answer of a turn without calls.
func (l *library) Verify(row verify.Problem, completion string, ended bool) verify.Verdict {
	return oneNumber(row, completion, ended)
}

// shelves are the documents of a problem, and those of its chain.
func shelves(row verify.Problem) (documents, chain []string, err error) {
	there, err := row.Field("documents", &documents)
	other, err2 := row.Field("chain", &chain)
	if !there || !other || err != nil || err2 != nil || len(chain) == 0 {
		return nil, nil, fmt.Errorf("task library: row %q does not belong to this task: it has no documents or no chain", row.ID)
	}
	return documents, chain, nil
}

// Begin implements [world.World].
func (l *library) Begin(ctx context.Context, row verify.Problem, dice *random.Rand) (world.Episode, world.Reply, error) {
	return l.begin(ctx, row, dice, nil)
}

// begin begins an episode in which by, unless it is nil, answers what the settings have the world ask.
func (l *library) begin(ctx context.Context, row verify.Problem, dice *random.Rand, by tools.Answerer) (world.Episode, world.Reply, error) {
	documents, chain, err := shelves(row)
	if err != nil {
		return nil, world.Reply{}, err
	}
	search, err := tools.NewSearch(documents, l.Results)
	if err != nil {
		return nil, world.Reply{}, fmt.Errorf("task library: row %q: %w", row.ID, err)
	}
	var tool world.Tool = search
	var lies float64
	lying, err := row.Field("lies", &lies)
	if err != nil {
		return nil, world.Reply{}, fmt.Errorf("task library: row %q: %w", row.ID, err)
	}
	if lying {
		tool = liar{search, lies, besides(documents, chain), l.Results, dice}
	}
	var written bool
	if _, err := row.Field("written", &written); err != nil {
		return nil, world.Reply{}, fmt.Errorf("task library: row %q: %w", row.ID, err)
	}
	if written && by != nil {
		tool = author{search, l, by, chain, lies, dice}
	}
	all := []world.Tool{tool}
	if l.Routes {
		all = append(all, reach{documents})
	}
	e, first, err := world.Tooled{Tools: all, Judge: l.Verify, Mistake: unread}.Begin(ctx, row, dice)
	r := &reading{Episode: e, library: l, chain: chain, unseen: chain}
	if l.Reader != "" {
		return &planning{reading: r, row: row, by: by, documents: documents}, first, err
	}
	return r, first, err
}

// besides are the documents that are not of the chain.
func besides(documents, chain []string) []string {
	return slices.DeleteFunc(slices.Clone(documents), func(d string) bool { return slices.Contains(chain, d) })
}

// liar is a search that shows other documents, by chance.
type liar struct {
	tools.Search
	chance float64
	others []string
	show   int
	dice   *random.Rand
}

// Open implements [world.Tool].
func (s liar) Open(context.Context, verify.Problem) (world.Session, error) { return s, nil }

// Call implements [world.Session].
func (s liar) Call(ctx context.Context, args json.RawMessage) (world.Answer, error) {
	a, err := s.Search.Call(ctx, args)
	if err != nil || !s.dice.Chance(s.chance) {
		return a, err
	}
	return world.Answer{Text: someOf(s.others, s.show, s.dice)}, nil
}

// someOf are so many of some documents, at most, drawn at random.
func someOf(documents []string, n int, dice *random.Rand) string {
	var said []string
	for _, i := range dice.Shuffled(len(documents))[:min(n, len(documents))] {
		said = append(said, documents[i])
	}
	return strings.Join(said, "\n")
}

// reach is a tool that follows relations through documents.
type reach struct{ documents []string }

// Spec implements [world.Tool].
func (reach) Spec() world.Spec {
	return world.Spec{
		Name:  "reach",
		About: "Shows the documents on the way from a thing along relations.",
		Args:  json.RawMessage(`{"type":"object","properties":{"query":{"type":"string","description":"a thing and relations"}},"required":["query"],"additionalProperties":false}`),
		Text:  "query",
		Pure:  true,
	}
}

// Test implements [world.Tool].
func (reach) Test(ctx context.Context) error {
	return tools.Tested(ctx, reach{[]string{"1 k 2", "2 l 3"}}, `{"query":"1 k l"}`, "1 k 2\n2 l 3")
}

// Open implements [world.Tool].
func (r reach) Open(context.Context, verify.Problem) (world.Session, error) { return r, nil }

// Close implements [world.Session].
func (reach) Close() error { return nil }

// Call implements [world.Session].
func (r reach) Call(_ context.Context, args json.RawMessage) (world.Answer, error) {
	var a struct {
		Query string `toml:"query"`
	}
	if err := settings.DecodeJSON(args, &a); err != nil {
		return world.Answer{Text: err.Error(), Failed: true}, nil
	}
	words := parts.FindAllString(a.Query, -1)
	var way []string
	for len(words) > 1 && len(way) < maxWay {
		i := slices.IndexFunc(r.documents, func(d string) bool { return strings.HasPrefix(d, words[0]+" "+words[1]+" ") })
		if i < 0 {
			break
		}
		way = append(way, r.documents[i])
		words = append([]string{strings.Fields(r.documents[i])[2]}, words[2:]...)
	}
	if way == nil {
		return world.Answer{Text: "there is no such way", Failed: true}, nil
	}
	return world.Answer{Text: strings.Join(way, "\n")}, nil
}

// parts are things and relations: a policy writes no spaces.
var parts = regexp.MustCompile(`[0-9]+|[a-z]`)

// maxWay is how many documents reach shows: as many as a chain has at most.
const maxWay = 4

// reading is an episode of library.
type reading struct {
	world.Episode
	*library
	chain  []string // its documents
	unseen []string // those that no search has shown
	shown  bool     // the turn before has made a call
	useful bool     // which has shown a document of the chain
}

// Step implements [world.Episode].
func (e *reading) Step(ctx context.Context, t world.Turn) (world.Reply, error) {
	more := map[string]float64{}
	if e.Judged {
		mark, rest := "", t.Text
		if e.shown {
			mark, rest = marked(t.Text)
		}
		t.Text = rest
		more["judged"], more["approved"], more["useful"] = holds(mark != ""), holds(mark == approves), holds(e.shown && e.useful)
	}
	reply, err := e.Episode.Step(ctx, t)
	if err != nil {
		return reply, err
	}
	shows := func(d string) bool {
		return slices.ContainsFunc(reply.Messages, func(m world.Message) bool { return strings.Contains("\n"+m.Text+"\n", "\n"+d+"\n") })
	}
	left := slices.DeleteFunc(slices.Clone(e.unseen), shows)
	e.shown, e.useful = reply.Facts[world.FactCalls] > 0, slices.ContainsFunc(e.chain, shows)
	if e.Talk > 0 {
		more["overlap"] = 0
		if e.shown {
			more["overlap"] = overlap(t.Text, e.chain[0])
		}
	}
	if e.Routes {
		more["reached"] = 0
		if e.shown {
			for _, c := range world.Calls(t.Text, []world.Spec{tools.Search{}.Spec(), reach{}.Spec()}) {
				more["reached"] += holds(c.Tool == "reach")
			}
		}
	}
	more["found"] = float64(len(e.unseen) - len(left))
	maps.Copy(reply.Facts, more)
	e.unseen = left
	return reply, nil
}

func holds(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// The marks of a judgement.
const approves, rejects = "+", "-"

// marked cuts the mark off a turn; "": it has none.
func marked(text string) (mark, rest string) {
	for _, mark := range []string{approves, rejects} {
		if rest, is := strings.CutPrefix(text, mark); is {
			return mark, rest
		}
	}
	return "", text
}

// overlap is the F1 of the words of a search with the thing and the relation of a document.
func overlap(turn, document string) float64 {
	words := slices.DeleteFunc(bm25.Words(turn), func(w string) bool { return w == "search" })
	want := strings.Fields(document)[:2]
	common := 0
	for _, w := range want {
		if slices.Contains(words, w) {
			common++
		}
	}
	return 2 * float64(common) / float64(len(words)+len(want))
}

// Turns implements [Episodic].
func (l *library) Turns() int { return l.Most }

// TurnFacts implements [Episodic]: those of calls, how many documents of the chain it is the first to see, and what the
// settings add.
func (l *library) TurnFacts() []string {
	facts := append(world.CallFacts(), "found")
	if l.Judged {
		facts = append(facts, "judged", "approved", "useful")
	}
	if l.Routes {
		facts = append(facts, "reached")
	}
	if l.Talk > 0 {
		facts = append(facts, "overlap")
	}
	if l.Reader != "" {
		facts = append(facts, "alone")
	}
	return facts
}

// EpisodeTokens implements [Episodic]: all turns but the last are searches.
func (l *library) EpisodeTokens() int {
	shown := l.Results
	if l.Routes {
		shown = max(shown, l.Hops)
	}
	return (l.Most-1)*(l.CompletionTokens()+3*shown) + 2 + int(holds(l.Judged))
}

// reader plays library: it searches with some probability, and else says a thing at once.
type reader struct {
	*library
	searches float64
	sure     bool // its marks are true, and not drawn
}

// Best implements [world.Players].
func (l *library) Best() world.Player { return reader{l, 1, true} }

// Shown implements [world.Players].
func (l *library) Shown() world.Player { return reader{l, l.Searched, false} }

// Play implements [world.Player]. It searches for what was asked about the last thing, until every relation
// of the question was followed.
func (p reader) Play(history []world.Message, dice *random.Rand) string {
	at, relations := asks(history[0].Text)
	if at == "" {
		return "" // it is another world
	}
	if len(history) == 1 && !dice.Chance(p.searches) {
		return p.recalls(at, relations, dice)
	}
	if len(history) == 1 && p.Routes && !p.sure && dice.Chance(0.5) {
		return "<reach>" + strings.Join(append([]string{at}, relations...), " ") + "</reach>"
	}
	at, relations, mark := p.follows(at, relations, history, dice)
	if len(relations) == 0 || len(history)/2+1 == p.Most {
		if !p.sure && p.Slips > 0 && dice.Chance(p.Slips) {
			at = strconv.Itoa(dice.Between(0, p.Things-1))
		}
		return mark + at
	}
	return mark + searching(at+" "+relations[0])
}

// Sum implements [world.Summing]: what is left of the question.
func (p reader) Sum(history []world.Message) string {
	at, relations := asks(history[0].Text)
	p.sure = true // it draws nothing
	at, relations, _ = p.follows(at, relations, history, nil)
	return strings.Join(append([]string{at}, relations...), " ")
}

// follows is how far the reader comes with what was said: the thing and the relations that are left, and the mark of
// the turn that comes next.
func (p reader) follows(at string, relations []string, history []world.Message, dice *random.Rand) (string, []string, string) {
	mark := ""
	for i := 2; i < len(history) && len(relations) > 0; i += 2 {
		said := strings.Fields(firstLine(history[i].Text))
		use := len(said) == 3 && said[0] == at && said[1] == relations[0]
		switch next := i + 1; {
		case next < len(history): // it has searched for the same again, or gone on
			_, before := marked(history[i-1].Text)
			_, after := marked(history[next].Text)
			use = after != before
		case p.sure:
		case p.Judged:
			use = dice.Chance(0.5)
		case !use:
			use = !dice.Chance(p.Recovers)
		}
		if p.Judged && i+1 == len(history) {
			if mark = rejects; use {
				mark = approves
			}
		}
		if lines := strings.Split(history[i].Text, "\n"); strings.Contains(history[i-1].Text, "<reach>") && len(lines) == len(relations) && use {
			said, relations = strings.Fields(lines[len(lines)-1]), relations[len(relations)-1:]
		}
		if use && len(said) == 3 {
			at, relations = said[2], relations[1:]
		}
	}
	return at, relations, mark
}

// recalls is an answer without a search: the right one where it is known, else any.
func (p reader) recalls(about string, relations []string, dice *random.Rand) string {
	thing, err := strconv.Atoi(about)
	for _, relation := range relations {
		other, known := p.byHeart(thing, relation[0])
		if thing = other; !known || err != nil {
			return strconv.Itoa(dice.Between(0, p.Things-1))
		}
	}
	return strconv.Itoa(thing)
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// searching is a call of the search.
func searching(query string) string { return "<search>" + query + "</search>" }

// browser plays library at random.
type browser struct{ *library }

// Random implements [world.Players].
func (l *library) Random() world.Player { return browser{l} }

// Play implements [world.Player].
func (b browser) Play(_ []world.Message, dice *random.Rand) string {
	thing, relation := strconv.Itoa(dice.Between(0, b.Things-1)), dice.Between(0, b.Relations)
	if relation == b.Relations {
		return thing
	}
	return searching(thing + " " + string(relationNames[relation]))
}

// Chance implements [world.Players].
func (l *library) Chance(row verify.Problem) (float64, error) {
	_, _, err := shelves(row)
	r := float64(l.Relations)
	return (1 - math.Pow(r/(r+1), float64(l.Most))) / float64(l.Things), err
}

// Demonstration implements [Demonstrator]: a search, which is the first turn of an episode that searches, with
// the mark that a later one has. Episodes to imitate are played, by Shown.
func (l *library) Demonstration(r *random.Rand, row verify.Problem) (string, error) {
	if _, _, err := shelves(row); err != nil {
		return "", err
	}
	mark := ""
	if l.Judged {
		mark = approves
	}
	return mark + l.Best().Play([]world.Message{{Role: world.User, Text: row.Question}}, r), nil
}

// Valid implements [Demonstrator]: a turn is a number or one call, right or wrong.
func (l *library) Valid(_ verify.Problem, completion string, ended bool) bool {
	if l.Judged {
		_, completion = marked(completion)
	}
	return ended && (numberOrCall(completion, "search") || l.Routes && numberOrCall(completion, "reach"))
}

// numberOrCall says whether a turn is a number or one call of a tool, and nothing else.
func numberOrCall(completion, tool string) bool {
	if inner, begins := strings.CutPrefix(completion, "<"+tool+">"); begins {
		inner, ends := strings.CutSuffix(inner, "</"+tool+">")
		return ends && !strings.ContainsAny(inner, "<>")
	}
	_, isNumber := number(completion)
	return isNumber
}

// Vocabulary implements [Demonstrator].
func (l *library) Vocabulary() []string {
	marks := ":<>/search" + relationNames[:l.Relations] + unread
	if l.Judged {
		marks += approves + rejects
	}
	if l.Talk > 0 {
		marks += forAnswer + "."
	}
	return textTokens(marks, l.Things)
}

// textTokens are the tokens of characters and of numbers below things.
func textTokens(characters string, things int) []string {
	tokens := append([]string{"<pad>", "<eos>"}, strings.Split(characters, "")...)
	for n := range things {
		tokens = append(tokens, strconv.Itoa(n))
	}
	return tokens
}

// PromptTokens implements [Demonstrator].
func (l *library) PromptTokens() int { return 4*l.Talk + l.Hops + 2 }

// CompletionTokens implements [Demonstrator]: of a search.
func (l *library) CompletionTokens() int {
	tokens := len("<search></search>") + 2
	if l.Routes {
		tokens = max(tokens, len("<reach></reach>")+1+l.Hops)
	}
	return tokens + 1 + int(holds(l.Judged))
}

func (l *library) instruction() string {
	more := ""
	if l.Judged {
		more += "Begin each turn after a search with + if what you were shown is of use, or with - if it is not. "
	}
	if l.Routes {
		more += "To follow relations at once, write them as in <reach>47 k m</reach>. "
	}
	if l.Talk > 0 {
		more += `A question may be the last of a conversation such as "7 k 12 . i m:", in which i is what was answered last and s what was asked about last. `
	}
	return fmt.Sprintf(`Find the answer to a question by searching through documents. A document is a thing, a relation and another thing, such as "47 k 12": the k of 47 is 12. The question "47 k m:" asks for the m of the k of 47. `+
		`To search, write words as in <search>47 k</search> and nothing else; you are told the documents that fit best, or ? if there are none. You have %d turns. %s`+
		`To answer, write the last thing as a number and no call.`, l.Most, more)
}
