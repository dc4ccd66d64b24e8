package judge

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/verify"
)

// Name is that of the verifier.
const Name = "judge"

// What a question shows.
const (
	Each  = "each"  // a completion
	Items = "items" // a completion, and an entry of a list of the row
	Steps = "steps" // a step of a completion
	Pairs = "pairs" // two completions of a prompt
	Group = "group" // all completions of a prompt
)

// With whom a completion is compared, where it is not with each other one of its prompt.
const (
	Anchor  = "anchor"  // the first one
	Bracket = "bracket" // in a tournament
)

// Options are those of the verifier, but for what is read.
type Options struct {
	Model       string     `toml:"model"`
	Shows       string     `toml:"shows" choice:"each,items,steps,pairs,group" default:"each"`
	Items       string     `toml:"items"`
	Steps       string     `toml:"steps"`
	Against     string     `toml:"against" choice:"all,anchor,bracket" default:"all"`
	Prompt      string     `toml:"prompt"`
	Source      string     `toml:"source"`
	Part        string     `toml:"part"`
	Between     [2]float64 `toml:"between" range:"(-inf,inf)" default:"[0, 1]"`
	Votes       int        `toml:"votes" range:"[1,64]" default:"1"`
	MaxTokens   int        `toml:"max_tokens" range:"[1,65536]" default:"256"`
	Temperature float64    `toml:"temperature" range:"[0,100]"`
	Context     int        `toml:"context" range:"[0,16777216]"`
	MaxFooled   float64    `toml:"max_fooled" range:"[0,1]" default:"1"`
	AllowSelf   bool       `toml:"allow_self"`
}

// Judge is the verifier.
type Judge struct {
	Options
	prompt  template        // nil: the conversation is shown
	head    bool            // the head is read
	choices []string        // answers whose probabilities are read, sorted; nil: others are read
	values  []float64       // [choice] what it scores
	pattern *regexp.Regexp  // of what the model writes; nil: others are read
	reader  verify.Verifier // likewise
	reads   string          // how it is read, for messages
	begins  *regexp.Regexp  // a step; nil: completions are not judged by steps
}

const doc = `judge: a model says how good a completion is. It is one of [models], by its name, and is asked in a
run, in its evaluations, and by rlzero judge.

Row: what the prompt names in braces; for shows = "items" the list.

Options
model       name of the model: of [models], or policy with allow_self = true.
shows       what a question is about. "each": a completion. "items": a completion and an entry of a
            list of the row, one question for each. "steps": a step of a completion, one question for
            each. "pairs": two completions of a prompt, in both orders; if the orders disagree it is a
            tie. "group": all completions of a prompt. Default "each".
items       with "items": the row's list. Its entries are texts, or objects with ask, a text, and
            points, a weight above 0. The score is the share of the points.
steps       with "steps": a regular expression (RE2). A step begins wherever a match begins, such as
            "(?m)^" for each line; white space alone is a part of the next one, and there are at
            most 64: the last one has the rest. The score is the mean. In formulas of tokens NAME.step
            is what the judge says of the step in which a token lies.
against     with "pairs": "all" other completions of the prompt, whose mean is the score; "anchor",
            the first one that can be shown; or "bracket", a tournament: all meet the first one, their
            means are the seeds, then who loses is out. Who goes further stands higher, and of one
            round who has the higher mean; the score is the share of the others that stand lower. Of n
            completions these ask n(n-1), 2(n-1) and at most 4(n-1) questions, where all of them fit.
            Default "all".
prompt      a file with the question. In braces: {question}, {answer}, {completion}, {row.NAME} of
            the row; {item} with "items"; {step} and what stands before it, {before}, with "steps";
            {a} and {b} with "pairs"; {list} with "group". {{ and }} are braces. Without it the
            conversation itself is shown, which only a head can read.
part        what stands after the last such text in a completion is shown, such as "</think>"; a
            completion without it shows nothing. Default: all of it.
read        "head": what the model's head says at the end token, which is put after a prompt; the
            score is its sigmoid, and NAME.raw the number itself. A table of answers with their values from 0 to 1, such as {yes = 1, no = 0}: the
            mean of the values, weighted by the probabilities of these texts as the answer; NAME.mass
            is what these probabilities sum to. For these two no token is drawn. A regular expression
            (RE2): the number in its last match in what the model writes, of its group if it has one.
            Or the name of a verifier, which judges what the model writes; if it finds no answer there,
            that is unread. With "pairs" the score says how far a is better; with "group" the match
            lists the numbers of the completions, the best first.
between     the range of the number of a regular expression, which becomes 0 to 1; a number outside is
            unread. Their difference is at most 1.8e308. Default [0, 1].
votes       answers that are drawn; the score is their median. Default 1.
max_tokens  longest answer that is drawn; one that is cut is unread. Default 256.
temperature of drawn answers; several votes need one above 0. Default 0, the likeliest tokens.
context     longest question with its answer, in tokens of the judge. For a model with url it is
            required, and counts the bytes of the question plus max_tokens. Default:
            max_prompt_tokens, the longest completion as often as the prompt shows one, a token for each
            byte of the prompt file and of the marks of a list, and max_tokens. What {answer} and
            {row.NAME} show is not counted, nor a chat template of the judge, nor that its tokens may be
            more than the policy's: give context where these are long. A completion that does not fit is wrong. If several are shown together and do not fit, the
            longest are wrong until the rest fits; in a tournament only those that meet are. A
            completion is also wrong if nothing stands in the question about it, or if a server
            refuses it (status 400, 413 or 422) and answers the same question about an empty one.
max_fooled  before the first step, attacks (see rlzero audit) are judged beside right answers; the
            largest accepted share of what these are paid. Of the attacks, and of the right answers, no
            larger share than the stage's max_not_scored may be unread. A model with url has to answer all
            of them. In [[stage.verifier]]. Default 1: no test.
allow_self  accept the policy as its own judge. Default false.

Values: raw (head), mass (answers), spread (largest less smallest vote), unread (share of the votes),
1, 2, ... (items and steps), least and last (steps), wins (pairs), place (pairs and group; 1 is the best).
A completion that cannot be shown has these too: its place is the last one, and others are 0. As a head's number
has no bound, formulas read in its place the least raw of its prompt's completions; where none of these has
one, the least of those that are paid together, and 0 where there is none.

Not scored when more than half of the votes of one question are unread (one step or item is enough), or
the row lacks what the prompt names. An answer is unread without a match, out of range, if it is cut, or
if the prompt's own text stands in it, whatever stands in the braces. That is so where a piece of this text has
16 characters or more, not counting white space. A completion in which all such pieces stand, in their order, is
wrong and not shown to a judge that writes: quoted, it would make the answer one that is unread.
`

func init() {
	verify.Register(verify.Entry{
		Name:    Name,
		Summary: "a model of the run says how good a completion is",
		Doc:     doc,
		New:     func(options json.RawMessage) (verify.Verifier, error) { return New(options) },
		Paths:   map[string]string{"prompt": ""},
		Script:  "prompt",
	})
}

// New makes a judge of its options, a JSON object.
func New(options json.RawMessage) (*Judge, error) {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(options, &keys); err != nil {
		return nil, fmt.Errorf("not a JSON object: %w", err)
	}
	read := keys["read"]
	delete(keys, "read")
	rest, err := json.Marshal(keys)
	if err != nil {
		return nil, err
	}
	j := &Judge{}
	settings.SetDefaults(&j.Options, "")
	if err := verify.DecodeOptions(rest, &j.Options); err != nil {
		return nil, err
	}
	if j.Model == "" {
		return nil, hint.With(errors.New("option model is missing: which model of [models] judges?"), `model = "judge", with a table [models.judge]`)
	}
	if err := j.readBy(read); err != nil {
		return nil, err
	}
	if err := j.promptBy(); err != nil {
		return nil, err
	}
	return j, j.together(keys)
}

// readBy makes how answers are read.
func (j *Judge) readBy(raw json.RawMessage) error {
	const accepted = `"head", a table such as {yes = 1, no = 0}, a regular expression, or the name of a verifier`
	var text string
	var table map[string]any
	switch {
	case raw == nil:
		return hint.With(fmt.Errorf("option read is missing: how is an answer of the judge read? Accepted: %s", accepted), "read = {yes = 1, no = 0}")
	case json.Unmarshal(raw, &text) == nil && text == "head":
		j.head, j.reads = true, "its head"
	case json.Unmarshal(raw, &text) == nil && text != "":
		return j.writes(text)
	case json.Unmarshal(raw, &table) == nil && len(table) > 0:
		j.choices = slices.Sorted(maps.Keys(table))
		j.reads = "the probabilities of " + fmt.Sprintf("%q", j.choices)
		if len(table) < 2 {
			return fmt.Errorf("option read has one answer, %q; accepted: two or more", j.choices[0])
		}
		for i, c := range j.choices {
			x, number := table[c].(float64)
			switch {
			case c == "":
				return errors.New(`option read has an empty answer; accepted: texts`)
			case !number || !(x >= 0 && x <= 1):
				return fmt.Errorf("option read: %q = %v; accepted: a number from 0 to 1", c, table[c])
			}
			for _, longer := range j.choices[i+1:] {
				if strings.HasPrefix(longer, c) { // its probability is a part of the other's
					return fmt.Errorf("option read: the answer %q begins with the answer %q; accepted: answers of which none begins another", longer, c)
				}
			}
			j.values = append(j.values, x)
		}
	default:
		return fmt.Errorf("option read is %s; accepted: %s", raw, accepted)
	}
	return nil
}

// writes reads what the model writes by a verifier or an expression.
func (j *Judge) writes(text string) error {
	if e, err := verify.Lookup(text); err == nil {
		if e.Name == Name {
			return errors.New("option read: a judge cannot read a judge")
		}
		j.reads = "the verifier " + text
		j.reader, err = verify.New(text, nil)
		return err
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return fmt.Errorf("option read: %w", err)
	}
	if re.NumSubexp() > 1 {
		return fmt.Errorf("option read: the expression %q has %d groups; accepted: at most one, the number", text, re.NumSubexp())
	}
	j.pattern, j.reads = re, fmt.Sprintf("%q", text)
	return nil
}

// promptBy reads the prompt.
func (j *Judge) promptBy() error {
	text := j.Source
	if text == "" && j.Prompt != "" {
		var err error
		if text, err = verify.ReadScript(j.Prompt); err != nil {
			return fmt.Errorf("option prompt: %w", err)
		}
	}
	if text == "" {
		if j.head && j.Shows == Each {
			return nil
		}
		return hint.With(fmt.Errorf("option prompt is missing: what is the judge asked? Only read = \"head\" with shows = \"each\" reads the conversation itself"), `prompt = "rubric.txt", a file with {completion} in it`)
	}
	fields := map[string][]string{Each: {"completion"}, Items: {"completion", "item"}, Steps: {"step"}, Pairs: {"a", "b"}, Group: {"list"}}[j.Shows]
	accepted := append([]string{"question", "answer"}, fields...)
	if j.Shows == Steps {
		accepted = append(accepted, "before", "completion")
	}
	file := filepath.Base(j.Prompt)
	if j.Prompt == "" {
		file = "source"
	}
	var err error
	if j.prompt, err = parse(file, text, accepted); err != nil {
		return fmt.Errorf("option prompt: %w", err)
	}
	for _, f := range fields {
		if !j.prompt.has(f) {
			return fmt.Errorf("option prompt: %s never shows {%s}, which shows = %q is about", file, f, j.Shows)
		}
	}
	return nil
}

// together checks options that go together.
func (j *Judge) together(given map[string]json.RawMessage) error {
	is := func(key string) bool { return given[key] != nil }
	switch {
	case j.Shows == Items && j.Items == "":
		return errors.New(`shows = "items" needs items, the name of the row's list`)
	case j.Shows != Items && is("items"):
		return fmt.Errorf(`items = %q would do nothing with shows = %q`, j.Items, j.Shows)
	case j.Shows == Steps && j.Steps == "":
		return hint.With(errors.New(`shows = "steps" needs steps, a regular expression: a step begins wherever a match begins`), "steps = '(?m)^' for each line")
	case j.Shows != Steps && is("steps"):
		return fmt.Errorf(`steps = %q would do nothing with shows = %q`, j.Steps, j.Shows)
	case j.Shows != Pairs && is("against"):
		return fmt.Errorf(`against = %q would do nothing with shows = %q`, j.Against, j.Shows)
	case j.prompt == nil && is("part"):
		return fmt.Errorf("part = %q would do nothing: without a prompt the conversation itself is shown, all of it", j.Part)
	case j.Shows == Group && j.pattern == nil:
		return errors.New(`shows = "group" reads an order of completions: read is a regular expression whose match lists their numbers, the best first`)
	case !(j.Between[0] < j.Between[1]):
		return fmt.Errorf("between = %v; accepted: a smaller number and a larger one", j.Between)
	case math.IsInf(j.Between[1]-j.Between[0], 0):
		return fmt.Errorf("between = %v; accepted: numbers whose difference is at most 1.8e308", j.Between)
	case is("between") && (j.pattern == nil || j.Shows == Group):
		return fmt.Errorf("between = %v would do nothing: only the number of a regular expression has a range", j.Between)
	case !j.Draws() && (is("votes") || is("max_tokens") || is("temperature")):
		return fmt.Errorf("votes, max_tokens and temperature would do nothing: for %s no answer is drawn", j.reads)
	case j.Votes > 1 && j.Temperature == 0:
		return hint.With(fmt.Errorf("votes = %d with temperature = 0 are the same answer %d times", j.Votes, j.Votes), "temperature = 1")
	case j.MaxFooled < 1 && (j.Shows == Pairs || j.Shows == Group):
		return fmt.Errorf("max_fooled = %v: attacks are judged one by one; accepted with shows = \"each\", \"items\" and \"steps\"", j.MaxFooled)
	case j.Votes > 1 && j.Shows == Group:
		return fmt.Errorf("votes = %d: an order has no median; accepted: 1 with shows = \"group\"", j.Votes)
	}
	if j.Shows == Steps {
		var err error
		if j.begins, err = regexp.Compile(j.Steps); err != nil {
			return fmt.Errorf("option steps: %w", err)
		}
	}
	return nil
}
