package tasks

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/verify"
)

func init() {
	register(Family{
		Name:    "rewrite",
		Summary: "write the query that finds what a conversation asks for",
		Doc: `rewrite: write the query that finds what a conversation asks for.

    7 k 12 . i m:   12 m

A conversation asks about things, as that of the task library with talk: i stands for what was answered last,
and s for what was asked about last. The answer to the last question is in one of some documents, such as
12 m 80, and the query is to find it: it cannot say i. Documents are drawn for each problem; they also say the
same of other things of the conversation, and something else about this one. One problem in 16 is held out,
chosen by the CRC-32 of the question: another question with the same documents is another problem, and one with
other documents is not.

With thought an answer begins with what the last question is about, as it is said, a dot, what that stands for, and
a colon:

    7 k 12 . i m:   i.12:12 m

The query is what follows the last colon, or the whole completion if it has none. What stands before it is not checked.

Right: a search among the documents finds the one with the answer first, and no other fits as well, as the
verifier retrieval says. Its numbers rank and found are those of the verdict: task.rank. Wrong: a query that
finds another first, one that is cut off, and whatever is not one thing and one relation, such as several queries:
no document counts as found by these.

Demonstrations: with probability aimed the thing that is meant and the relation; otherwise any thing of the
conversation and the relation. Thought and query name the same thing.

` + describeSettings(defaultRewrite()),
		New: func() Task { return defaultRewrite() },
	}, verify.Entry{
		Summary: "the task rewrite: a query that finds the answer first",
		Doc: `task:rewrite: right when the query, one thing and one relation, finds the document with the answer, and finds
it first. The query is what follows the last colon. It is judged by the verifier retrieval, with gold = "chain".

Option extract: none, the whole completion, or announced or last_line, as for the verifier number.
`,
		New: func(options json.RawMessage) (verify.Verifier, error) {
			o := queryJudge{Extract: verify.ExtractNone}
			if err := verify.DecodeOptions(options, &o); err != nil {
				return nil, err
			}
			return o, nil
		},
	})
}

func defaultRewrite() *rewrite {
	return &rewrite{Things: 50, Relations: 6, Noise: 40, Talk: 2, Aimed: 0.3}
}

// rewrite is the task "rewrite".
type rewrite struct {
	Things    int     `toml:"things" range:"[8,1000]" about:"number of things"`
	Relations int     `toml:"relations" range:"[3,8]" about:"number of relations"`
	Noise     int     `toml:"noise" range:"[0,100]" about:"documents besides the one with the answer"`
	Talk      int     `toml:"talk" range:"[1,2]" about:"questions of the conversation before the one that is asked"`
	Aimed     float64 `toml:"aimed" range:"[0,1]" about:"share of the demonstrations that know what is meant"`
	Thought   bool    `toml:"thought" about:"demonstrations say what the question is about before they ask for it"`
}

var _ Demonstrator = (*rewrite)(nil)

// library has the conversations and the documents.
func (w *rewrite) library() *library {
	return &library{Hops: 1, Things: w.Things, Relations: w.Relations, Noise: w.Noise, Results: 1, Most: 2, Talk: w.Talk}
}

// Name implements [Task].
func (w *rewrite) Name() string { return "rewrite" }

// Validate implements [Task].
func (w *rewrite) Validate() error {
	if err := settings.Check(w); err != nil {
		return err
	}
	if err := w.library().Validate(); err != nil {
		return err
	}
	return probe(w.attempt)
}

// Difficulty implements [Task].
func (w *rewrite) Difficulty() string { return settingsText(w) }

// Draw implements [Task]. The row's answer is the query.
func (w *rewrite) Draw(r *random.Rand, split Split) verify.Problem { return draw(r, split, w.attempt) }

// attempt is a question of a library. What is right depends on the question alone, which is therefore the problem.
func (w *rewrite) attempt(r *random.Rand) (verify.Problem, bool) {
	row, ok := w.library().attempt(r)
	_, chain, err := shelves(row)
	if err != nil {
		panic(err) // it was drawn just now
	}
	row.ID, row.Answer = row.Question, asked(chain[0])
	return row, ok
}

// asked is the question that a document answers, as it stands alone: its thing and its relation.
func asked(document string) string { return strings.Join(strings.Fields(document)[:2], " ") }

// Verify implements [Task].
func (w *rewrite) Verify(row verify.Problem, completion string, ended bool) verify.Verdict {
	if !ended {
		return nothingFound(row, Unended(completion))
	}
	return queryJudge{verify.ExtractNone}.Verify(row, completion)
}

// queryJudge is the verifier "task:rewrite".
type queryJudge struct {
	Extract string `toml:"extract" choice:"none,announced,last_line"`
}

// Check implements [verify.Checker].
func (j queryJudge) Check(row verify.Problem) error { return verify.Check(ranking, row) }

// Verify implements [verify.Verifier].
func (j queryJudge) Verify(row verify.Problem, completion string) verify.Verdict {
	const most = 64 // bytes
	text, rule, err := verify.Answer(completion, j.Extract, most)
	text = strings.TrimLeft(text[strings.LastIndex(text, ":")+1:], " ")
	if err == nil && !query.MatchString(text) {
		err = errors.New("it is not one thing and one relation, such as 12 m")
	}
	if err != nil {
		return nothingFound(row, verify.Reject(text, rule, "%v", err))
	}
	v := ranking.Verify(row, text)
	v.Rule = rule
	return v
}

// nothingFound is a verdict with the numbers of a search that finds nothing. Where the row has no documents, it is not
// scored.
func nothingFound(row verify.Problem, v verify.Verdict) verify.Verdict {
	nothing := ranking.Verify(row, "")
	if nothing.Verdict == verify.NotScored {
		return nothing
	}
	v.Values = nothing.Values
	return v
}

// ranking judges queries by the documents of a row.
var ranking = func() verify.Verifier {
	v, err := verify.New("retrieval", map[string]any{"gold": "chain"})
	if err != nil {
		panic(err) // its options are those above
	}
	return v
}()

// Demonstration implements [Demonstrator].
func (w *rewrite) Demonstration(r *random.Rand, row verify.Problem) (string, error) {
	_, chain, err := shelves(row)
	if err != nil {
		return "", fmt.Errorf("task rewrite: row %q does not belong to this task: it has no documents", row.ID)
	}
	thing, relation, _ := strings.Cut(asked(chain[0]), " ")
	if !r.Chance(w.Aimed) {
		thing = pick(r, numerals.FindAllString(row.Question, -1))
	}
	text := thing + " " + relation
	if w.Thought {
		text = aboutWhat(row) + "." + thing + ":" + text
	}
	return text, nil
}

// aboutWhat is what the last question of a conversation is about, in its own words: a thing, i or s.
func aboutWhat(row verify.Problem) string {
	words := strings.Fields(row.Question)
	return words[len(words)-2]
}

var (
	numerals = regexp.MustCompile(`[0-9]+`)
	query    = regexp.MustCompile(`^[0-9]+ ?[` + relationNames + `]$`)
	thought  = regexp.MustCompile(`^([0-9]+|[` + forAnswer + forSubject + `])\.[0-9]+$`)
)

// Valid implements [Demonstrator]: a thing and a relation, after a thought where the setting asks for one.
func (w *rewrite) Valid(_ verify.Problem, completion string, ended bool) bool {
	if w.Thought {
		before, after, found := strings.Cut(completion, ":")
		return ended && found && thought.MatchString(before) && query.MatchString(after)
	}
	return ended && query.MatchString(completion)
}

// Vocabulary implements [Demonstrator].
func (w *rewrite) Vocabulary() []string {
	return textTokens(":."+forAnswer+forSubject+relationNames[:w.Relations], w.Things)
}

// PromptTokens implements [Demonstrator].
func (w *rewrite) PromptTokens() int { return w.library().PromptTokens() }

// CompletionTokens implements [Demonstrator].
func (w *rewrite) CompletionTokens() int {
	if w.Thought {
		return len("i.7:7 k")
	}
	return len("7 k")
}

func (w *rewrite) instruction() string {
	text := `Write the query by which a search finds the document that answers the last question of a conversation, and nothing else. A document is a thing, a relation and another thing, such as "12 m 80": the m of 12 is 80. ` +
		`In "7 k 12 . i m:" the k of 7 was answered with 12, and i is what was answered last, so the query is 12 m; s is what was asked about last. The search does not know the conversation.`
	if w.Thought {
		text = strings.Replace(text, ", and nothing else.", ". Say first what the question is about, a dot and what that stands for, then a colon and the query, as in i.12:12 m.", 1)
	}
	return text
}
