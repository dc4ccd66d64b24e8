package tasks

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

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

Right: the answer is the last thing of the chain, as the verifier number says with plain = true. Wrong:
another answer, one that is cut off, or none.

Best play searches for each step and answers with what the last document says. Random turns are the searches
for a thing and a relation, and the answers with a thing, all alike. With t things and r relations that is
right with probability (1 - (r/(r + 1))^turns)/t, since an answer ends the episode.

Demonstrations: with probability searched they search for each step; otherwise they answer at once with any
thing.

The reward of the answer is its score, and that of a search is 0. Facts of a turn: calls, the number of its
calls; calls_failed, how many of them were told ?; found, how many documents of the chain it is the first to
show.

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
	return &library{Hops: 2, Things: 50, Relations: 6, Noise: 8, Results: 1, Most: 4, Searched: 0.3}
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
}

var _ interface {
	Episodic
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
	things := r.Shuffled(l.Things)[:l.Hops+1]
	var chain []fact
	question := strconv.Itoa(things[0])
	for i := range l.Hops {
		relation := relationNames[r.Between(0, l.Relations-1)]
		for i > 0 && relation == chain[i-1].relation {
			relation = relationNames[r.Between(0, l.Relations-1)]
		}
		chain = append(chain, fact{things[i], relation, things[i+1]})
		question += " " + string(relation)
	}
	documents := slices.Clone(chain)
	for len(documents) < l.Hops+l.Noise {
		step := pick(r, chain)
		f := fact{r.Between(0, l.Things-1), relationNames[r.Between(0, l.Relations-1)], r.Between(0, l.Things-1)}
		switch r.Between(0, 2) {
		case 0:
			f.thing = step.thing
		case 1:
			f.relation = step.relation
		default:
			f.other = step.thing
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
	return verify.Problem{
		ID:       question + " " + strings.Join(texts, ", "),
		Question: question,
		Answer:   strconv.Itoa(things[l.Hops]),
		Metadata: metadata(map[string]any{"documents": texts, "chain": steps}),
	}, true
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
	documents, chain, err := shelves(row)
	if err != nil {
		return nil, world.Reply{}, err
	}
	search, err := tools.NewSearch(documents, l.Results)
	if err != nil {
		return nil, world.Reply{}, fmt.Errorf("task library: row %q: %w", row.ID, err)
	}
	e, first, err := world.Tooled{Tools: []world.Tool{search}, Judge: l.Verify, Mistake: unread}.Begin(ctx, row, dice)
	return &reading{e, chain}, first, err
}

// reading is an episode of library.
type reading struct {
	world.Episode
	unseen []string // documents of the chain
}

// Step implements [world.Episode].
func (e *reading) Step(ctx context.Context, t world.Turn) (world.Reply, error) {
	reply, err := e.Episode.Step(ctx, t)
	if err != nil {
		return reply, err
	}
	left := e.unseen
	for _, m := range reply.Messages {
		left = slices.DeleteFunc(slices.Clone(left), func(d string) bool { return strings.Contains("\n"+m.Text+"\n", "\n"+d+"\n") })
	}
	reply.Facts["found"] = float64(len(e.unseen) - len(left))
	e.unseen = left
	return reply, nil
}

// Turns implements [Episodic].
func (l *library) Turns() int { return l.Most }

// TurnFacts implements [Episodic]: those of calls, and how many documents of the chain it is the first to see.
func (l *library) TurnFacts() []string { return append(world.CallFacts(), "found") }

// EpisodeTokens implements [Episodic]: all turns but the last are searches.
func (l *library) EpisodeTokens() int { return (l.Most-1)*(l.CompletionTokens()+3*l.Results) + 2 }

// reader plays library: it searches with some probability, and else says a thing at once.
type reader struct {
	searches float64
	things   int
}

// Best implements [world.Players].
func (l *library) Best() world.Player { return reader{searches: 1} }

// Shown implements [world.Players].
func (l *library) Shown() world.Player { return reader{l.Searched, l.Things} }

// Play implements [world.Player]. It searches for what was asked about the last thing, until every relation
// of the question was followed.
func (p reader) Play(history []world.Message, dice *random.Rand) string {
	asked := strings.Fields(strings.TrimSuffix(history[0].Text, ":"))
	if len(asked) == 0 {
		return "" // it is another world
	}
	at := asked[0]
	done := len(history) / 2
	if done > 0 {
		said := strings.Fields(firstLine(history[len(history)-1].Text))
		if at = ""; len(said) > 0 {
			at = said[len(said)-1]
		}
	} else if !dice.Chance(p.searches) {
		return strconv.Itoa(dice.Between(0, p.things-1))
	}
	if done+1 < len(asked) {
		return searching(at + " " + asked[done+1])
	}
	return at
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

// Demonstration implements [Demonstrator]: a search, which is the first turn of an episode that searches.
// Episodes to imitate are played, by Shown.
func (l *library) Demonstration(r *random.Rand, row verify.Problem) (string, error) {
	if _, _, err := shelves(row); err != nil {
		return "", err
	}
	return l.Best().Play([]world.Message{{Role: world.User, Text: row.Question}}, r), nil
}

// Valid implements [Demonstrator]: a turn is a number or one call, right or wrong.
func (l *library) Valid(_ verify.Problem, completion string, ended bool) bool {
	return ended && numberOrCall(completion, "search")
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
	tokens := append([]string{"<pad>", "<eos>"}, strings.Split(":<>/search"+relationNames[:l.Relations]+unread, "")...)
	for n := range l.Things {
		tokens = append(tokens, strconv.Itoa(n))
	}
	return tokens
}

// PromptTokens implements [Demonstrator].
func (l *library) PromptTokens() int { return l.Hops + 2 }

// CompletionTokens implements [Demonstrator]: of a search.
func (l *library) CompletionTokens() int { return len("<search></search>") + 2 + 1 }

func (l *library) instruction() string {
	return fmt.Sprintf(`Find the answer to a question by searching through documents. A document is a thing, a relation and another thing, such as "47 k 12": the k of 47 is 12. The question "47 k m:" asks for the m of the k of 47. `+
		`To search, write words as in <search>47 k</search> and nothing else; you are told the documents that fit best, or ? if there are none. You have %d turns. `+
		`To answer, write the last thing as a number and no call.`, l.Most)
}
