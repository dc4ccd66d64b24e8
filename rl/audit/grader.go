package audit

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/verify"
)

// grader judges completions. Equal names are taken for equal graders.
type grader struct {
	Name    string // as [verify.Parse] reads it, or a description
	likened string // the verifier whose attacks it is tried with
	// Judge is a pure function; ended tells that the completion ended by itself
	// rather than at a length limit.
	Judge func(row verify.Problem, completion string, ended bool) verify.Verdict
	// Aside: it is held against another grader and nothing depends on it. What
	// attacks earn from it is shown and is no problem.
	Aside bool
}

// newGrader is the verifier of a name with its options. Completions are judged
// whether or not they ended.
func newGrader(verifier string, options map[string]any) (grader, error) {
	v, err := verify.New(verifier, options)
	if err != nil {
		return grader{}, err
	}
	if _, asks := v.(verify.Asking); asks {
		return grader{}, hint.With(fmt.Errorf("the verifier %s asks a model, which an audit has not", verifier), "rlzero judge asks it again, and max_fooled tries the attacks on it")
	}
	return ofVerifier(spell(verifier, options), verifier, v), nil
}

// ofVerifier is a grader from a verifier. Its attacks are those for verifiers of
// the name likened.
func ofVerifier(name, likened string, v verify.Verifier) grader {
	judge := func(row verify.Problem, completion string, _ bool) verify.Verdict { return v.Verify(row, completion) }
	return ofFunc(name, likened, judge)
}

// ofFunc is a grader from a function, as ofVerifier is from a verifier.
func ofFunc(name, likened string, judge func(row verify.Problem, completion string, ended bool) verify.Verdict) grader {
	return grader{Name: name, likened: likened, Judge: judge}
}

// spell writes a verifier with its options as verify.Parse reads it.
func spell(name string, options map[string]any) string {
	for _, key := range slices.Sorted(maps.Keys(options)) {
		raw, err := json.Marshal(options[key])
		if text, isText := options[key].(string); isText && !strings.Contains(text, " ") {
			raw = []byte(text)
		} else if err != nil {
			raw = []byte("?")
		}
		name += " " + key + "=" + string(raw)
	}
	return name
}

// second names a grader to hold against the verifier name with options; ok is
// false where there is none that says more.
//
//	task:*             the same, an unannounced answer being the last line, or the whole text
//	countdown          the same, only announced answers counting
//	math               the other extraction: strict for lenient, lenient for strict
//	number, exact, squad_exact   math, which also knows other ways to write a value
//	gsm8k              the other extraction: flexible for hashes, hashes for flexible
//	multiple_choice    the same, an unannounced answer being the last line
//	f1, bleu, chrf, edit_similarity, rouge_*    squad_exact
//	ifeval:*, ifrlvr:*, ifbench:*, instructions the other mode: loose for strict, strict for loose
func second(name string, options map[string]any) (second string, with map[string]any, ok bool) {
	other := func(key, unset, other string) (string, map[string]any, bool) {
		with := maps.Clone(options)
		if with == nil {
			with = map[string]any{}
		}
		if set, found := with[key]; found && set == other {
			other = unset
		}
		with[key] = other
		return name, with, true
	}
	switch suite, _, _ := strings.Cut(name, ":"); suite {
	case "task", "multiple_choice":
		second, with, _ := other("extract", verify.ExtractAnnounced, verify.ExtractLastLine)
		if _, err := newGrader(second, with); err == nil {
			return second, with, true
		}
		second, with, _ = other("extract", verify.ExtractAnnounced, verify.ExtractNone) // answers are texts, which have no last line of their own
		_, err := newGrader(second, with)
		return second, with, err == nil // of an episode nothing is extracted
	case "countdown":
		return other("extract", verify.ExtractLastLine, verify.ExtractAnnounced)
	case "math":
		return other("extract", verify.ExtractLenient, verify.ExtractStrict)
	case "gsm8k":
		return other("extract", "hashes", "flexible")
	case "number", "exact", "squad_exact":
		return "math", nil, true
	case "f1", "bleu", "chrf", "edit_similarity", "rouge_1", "rouge_2", "rouge_l":
		return "squad_exact", nil, true
	case "ifeval", "ifrlvr", "ifbench", "instructions":
		return other("mode", "strict", "loose")
	}
	return "", nil, false
}

// kind is what a verifier looks at; it decides which attacks are tried and which
// of them are hopeless.
type kind int

const (
	answers      kind = iota // an answer, held against a reference or against what is asked
	shapes                   // the shape of any text, the empty one included
	instructions             // the shape of a text that is there
	programs                 // a program, run on tests
	queries                  // a query, run on a database
)

func kindOf(verifier string) kind {
	switch suite, _, _ := strings.Cut(verifier, ":"); suite {
	case "format", "regex":
		return shapes
	case "ifeval", "ifrlvr", "ifbench", "instructions", "json_schema":
		return instructions
	case "code":
		return programs
	case "sql":
		return queries
	}
	return answers
}
