package tasks

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/verify"
)

// family describes a generated family over settings S: problems in words, with
// a reference answer and a check. Its tasks have no demonstrations.
type family[S any] struct {
	name, summary string
	about         string // what is asked and which answers are right; for people
	format        string // how to write the answer: a sentence that ends each question
	defaults      S
	curriculum    []Attribute
	check         check
	empty         bool                                       // an empty answer is right where the row's answer is empty
	valid         func(s *S) error                           // settings that do not go together; may be nil
	balance       *balance[S]                                // nil: no constant answer is right often
	draw          func(s *S, r *random.Rand) (problem, bool) // one try; false: try again
}

// problem is what a family draws.
type problem struct {
	key      string         // canonical form, equal for equal problems; "": the question is
	question string         // without the sentence on the format
	answer   string         // the reference
	metadata map[string]any // what the check needs besides
	// finish does what is expensive, after it is known that the problem is of the
	// asked split. It leaves the key as it is. May be nil.
	finish func(p *problem)
}

// check judges a bare answer: nil is right, a *rowError says that the row cannot
// be judged, any other error why the answer is wrong.
type check func(row verify.Problem, answer string) error

// rowError says what a row lacks.
type rowError struct{ error }

func lacks(format string, args ...any) error { return &rowError{fmt.Errorf(format, args...)} }

var errDiffers = errors.New("it differs from the reference")

// maxAnswerBytes bounds the answer taken out of a completion: the largest
// matrices and move lists of the families need some hundred thousand bytes.
const maxAnswerBytes = 1 << 19

// generate registers a family and its verifier. Called from init.
func generate[S any](f family[S]) {
	doc := f.name + ": " + strings.TrimSpace(f.about) + "\n\n" + describeSettings(f.defaults) + describeCurriculum(f.curriculum)
	newTask := func() *generated[S] { return &generated[S]{Settings: f.defaults, family: &f} }
	register(Family{
		Name: f.name, Summary: f.summary, Doc: doc, Curriculum: f.curriculum,
		New: func() Task { return newTask() },
		at: func(level int) Task {
			t := newTask()
			for _, a := range f.curriculum {
				a.set(t, level)
			}
			return t
		},
	}, verify.Entry{
		Summary: "the task " + f.name + ": " + f.summary,
		Doc: fmt.Sprintf(`task:%s: %s

Option extract: how the answer is taken out of the completion, as for the verifier
number. Default "announced".
`, f.name, strings.TrimSpace(f.about)),
		New: func(options json.RawMessage) (verify.Verifier, error) {
			o := struct {
				Extract string `toml:"extract"`
			}{verify.ExtractAnnounced}
			if err := verify.DecodeOptions(options, &o); err != nil {
				return nil, err
			}
			return f.verifier(o.Extract), verify.CheckExtract(o.Extract)
		},
	})
}

// generated is a task of a family.
type generated[S any] struct {
	Settings S `toml:",inline"`
	family   *family[S]
}

// Name implements [Task].
func (g *generated[S]) Name() string { return g.family.name }

// Validate implements [Task].
func (g *generated[S]) Validate() error {
	if err := settings.Check(g); err != nil {
		return err
	}
	if g.family.valid != nil {
		if err := g.family.valid(&g.Settings); err != nil {
			return err
		}
	}
	err := probe(func(r *random.Rand) (verify.Problem, bool) {
		p, ok := g.family.draw(&g.Settings, r)
		return verify.Problem{ID: p.id(g.family.name)}, ok
	})
	if err != nil {
		return err
	}
	return g.family.balance.probe(&g.Settings, g.family.draw)
}

// Difficulty implements [Task].
func (g *generated[S]) Difficulty() string { return settingsText(g) }

// settingsText are the settings of a task in words.
func settingsText(task any) string {
	var parts []string
	for _, f := range settings.Fields(task) {
		parts = append(parts, f.Key+" = "+f.Text())
	}
	if parts == nil {
		return "there are no settings"
	}
	return strings.Join(parts, ", ")
}

// Draw implements [Task].
func (g *generated[S]) Draw(r *random.Rand, split Split) verify.Problem {
	kind := g.family.balance.pick(r, &g.Settings)
	for {
		p, ok := g.family.draw(&g.Settings, r)
		id := p.id(g.family.name)
		if !ok || SplitOf(id) != split || kind >= 0 && g.family.balance.kind(p) != kind {
			continue
		}
		if p.finish != nil {
			p.finish(&p)
		}
		question := strings.TrimRight(p.question, "\n") + "\n" + g.family.format + tagged
		return verify.Problem{ID: id, Question: question, Answer: p.answer, Metadata: metadata(p.metadata)}
	}
}

// Verify implements [Task].
func (g *generated[S]) Verify(row verify.Problem, completion string, ended bool) verify.Verdict {
	if !ended {
		return Unended(completion)
	}
	return g.family.verifier(verify.ExtractAnnounced).Verify(row, completion)
}

// maxKeyBytes is the longest canonical form that stands in an ID as it is.
const maxKeyBytes = 80

// id is the row's ID: the family and the canonical form, or its hash if it is
// long.
func (p problem) id(family string) string {
	key := p.key
	if key == "" {
		key = p.question
	}
	if len(key) > maxKeyBytes {
		sum := sha256.Sum256([]byte(key))
		key = fmt.Sprintf("%x", sum[:12])
	}
	return family + ":" + key
}

func (f *family[S]) verifier(extract string) answerVerifier {
	return answerVerifier{check: f.check, empty: f.empty, extract: extract}
}

// answerVerifier is "task:NAME" of a generated family.
type answerVerifier struct {
	check   check
	empty   bool
	extract string
}

// Check implements [verify.Checker].
func (v answerVerifier) Check(row verify.Problem) error {
	if v.empty && row.Answer == "" && row.Question != "" {
		return nil
	}
	var lacking *rowError
	if err := v.check(row, row.Answer); errors.As(err, &lacking) {
		return err
	}
	return nil
}

// Verify implements [verify.Verifier].
func (v answerVerifier) Verify(row verify.Problem, completion string) verify.Verdict {
	answer, rule, err := verify.Answer(completion, v.extract, maxAnswerBytes)
	if v.empty && row.Answer == "" && row.Question != "" && errors.Is(err, verify.ErrEmptyAnswer) {
		return verify.Accept("", "whole", "the right answer is empty")
	}
	if err != nil {
		return verify.Reject(answer, rule, "%v", err)
	}
	err = v.check(row, answer)
	var lacking *rowError
	switch {
	case err == nil:
		return verify.Accept(answer, rule, "the answer is right")
	case errors.As(err, &lacking):
		return verify.Abstain("%v", err)
	}
	return verify.Reject(answer, rule, "%v", err)
}
