package prompts

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/verify"
)

// ErrNoVerifier: nothing says how completions are judged, and the rows do not show it.
var ErrNoVerifier = errors.New("no verifier is named, which judges the completions")

// judge is a verifier for rows of a kind.
type judge struct {
	verifier string
	options  map[string]any
	why      string
	fits     func([]verify.Problem) bool
}

// How a completion may say more than its answer.
var (
	announced = map[string]any{"extract": verify.ExtractAnnounced}
	flexible  = map[string]any{"extract": verify.ExtractFlexible}
)

// judges are tried in this order: the first that fits the rows, and can judge each, is
// proposed.
var judges = []judge{
	{"code:python", nil, "the rows have tests of programs", with("tests", "test_list", "input_output", "public_test_cases", "test")},
	{"sql", nil, "the rows name a database", with("database")},
	{"instructions", nil, "the rows list instructions", with("instruction_id_list")},
	{"json_schema", nil, "the rows have a schema", with("schema")},
	{"countdown", map[string]any{"use_all": true}, "the rows have numbers, which the prompt wants all, and a target", with(numsKey)},
	{"countdown", nil, "the rows have numbers and a target", with("numbers")},
	{"multiple_choice", nil, "the rows have choices", with(choicesKey)},
	{"squad_exact", announced, "the rows have several texts as answers", with("references")},
	{"gsm8k", flexible, "the prompts want a number after ####", func(rows []verify.Problem) bool {
		return numbers(rows) && every(func(row verify.Problem) bool { return strings.Contains(row.Question, "####") })(rows)
	}},
	{"gsm8k", flexible, "the answers have a number after ####", answers(func(a string) bool { return strings.Contains(a, hashes) })},
	{"math", nil, "the answers are numbers, at the end of solutions with their working", worked},
	{"number", nil, "the answers are numbers", numbers},
	{"json_equal", nil, "the answers are JSON", answers(func(a string) bool {
		return (a[0] == '{' || a[0] == '[') && json.Valid([]byte(a)) && !strings.Contains(a, checks)
	})},
	{"math", nil, "the answers are solutions with a \\boxed{}", answers(func(a string) bool { return strings.Contains(a, `\boxed`) })},
	{"math", nil, "the answers are quantities", answers(quantity.MatchString)},
	{"math", nil, "there are formulas among the answers", formulas},
	{"squad_exact", announced, "the answers are one of two words, whose capitals do not matter", answers(truth.MatchString)},
	{"exact", announced, "the answers are times, dates, codes or single words", answers(code.MatchString)},
}

var (
	// quantity is a number with a currency, per cent or a unit.
	quantity = regexp.MustCompile(`^[-+]?[$€£]?\s?\d[\d,]*(?:\.\d+)?(?:\s*[%°]|\s+[a-zA-Z]{1,20})?$`)
	// marks are those of LaTeX, powers, roots and equations.
	marks = regexp.MustCompile(`\\[a-zA-Z({\[]|\w\^|\$[^$]+\$|[√π∞≤≥]|^[a-zA-Z0-9().+*/ -]+=`)
	// bracketed is a tuple, an interval or a set.
	bracketed = regexp.MustCompile(`^[(\[{].*[)\]}]$`)
	truth     = regexp.MustCompile(`(?i)^(?:true|false|yes|no)$`)
	// code is one word: 08:06, 2024-01-05, A-113, yes.
	code = regexp.MustCompile(`^[\p{L}\p{N}][\p{L}\p{N}:./_-]{0,63}$`)
)

// checks is the key under which an answer of RLVR-IFeval names a function that checks completions
// (https://huggingface.co/datasets/allenai/RLVR-IFeval): its JSON is nothing to be answered.
const checks = `"func_name"`

// with are rows that have one of some columns.
func with(columns ...string) func([]verify.Problem) bool {
	return every(func(row verify.Problem) bool {
		return slices.ContainsFunc(columns, func(column string) bool {
			raw, there := row.Metadata[column]
			return there && string(raw) != "null"
		})
	})
}

// answers are rows whose answers have a form.
func answers(form func(string) bool) func([]verify.Problem) bool {
	return every(func(row verify.Problem) bool {
		a := strings.TrimSpace(row.Answer)
		return a != "" && form(a)
	})
}

func every(holds func(verify.Problem) bool) func([]verify.Problem) bool {
	return func(rows []verify.Problem) bool {
		return !slices.ContainsFunc(rows, func(row verify.Problem) bool { return !holds(row) })
	}
}

// numbers are answers that are a number and nothing else.
var numbers = answers(func(a string) bool { _, err := verify.ParseNumber(a, false); return err == nil })

// worked are numbers beside solutions that come to them in more than a number, as 39+26=65 does: a
// model that imitates these must not be wrong for it.
func worked(rows []verify.Problem) bool {
	if !numbers(rows) {
		return false
	}
	right := func(verifier, column string) bool {
		v, err := verify.New(verifier, nil)
		return err == nil && every(func(row verify.Problem) bool {
			var solution string
			return json.Unmarshal(row.Metadata[column], &solution) == nil && v.Verify(row, solution).Verdict == verify.Right
		})(rows)
	}
	return slices.ContainsFunc(append([]string{completionKey}, completionNames...), func(column string) bool {
		return right("math", column) && !right("number", column)
	})
}

// formulas are answers of mathematics: some have its marks, and the others are short.
func formulas(rows []verify.Problem) bool {
	const words = 3
	short := answers(func(a string) bool {
		return marks.MatchString(a) || bracketed.MatchString(a) || len(strings.Fields(a)) <= words
	})
	return short(rows) && slices.ContainsFunc(rows, func(row verify.Problem) bool { return marks.MatchString(row.Answer) })
}

// judgeOf is the judge that fits the rows.
func judgeOf(rows []verify.Problem) (judge, bool) {
	if len(rows) == 0 {
		return judge{}, false
	}
	for _, j := range judges {
		v, err := verify.New(j.verifier, j.options)
		if err == nil && j.fits(rows) && !slices.ContainsFunc(rows, func(row verify.Problem) bool { return doubted(v, row) }) {
			return j, true
		}
	}
	return judge{}, false
}

// named says whether every row names its verifier.
func named(rows []verify.Problem) bool { return len(rows) > 0 && with("verifier")(rows) }

// doubted says whether a verifier cannot judge a row, or reads it in a way that may surprise.
func doubted(v verify.Verifier, row verify.Problem) bool {
	if verify.Check(v, row) != nil {
		return true
	}
	d, ok := v.(verify.Doubter)
	return ok && d.Doubt(row) != ""
}

// noVerifier asks for a verifier, or for another use of the rows.
func noVerifier(parts []Part, rows []verify.Problem, columns []string) error {
	i := slices.IndexFunc(rows, func(row verify.Problem) bool { return strings.TrimSpace(row.Answer) != "" })
	if i < 0 {
		err := fmt.Errorf("%w, and no answer was found to choose one by; the columns are %s", ErrNoVerifier, strings.Join(slices.Compact(columns), ", "))
		data := terminal.ShellWord(parts[0].Data)
		if slices.Contains(columns, chosenKey) && slices.Contains(columns, rejectedKey) {
			return hint.With(err, "learn from such pairs: rlzero train dpo-lora --set model.path=DIR --set task.data=%s", data)
		}
		if column := answerLike(rows, columns); column != "" {
			return hint.With(err, "name the column of the answer, such as --set %sanswer=%s", parts[0].key(), column)
		}
		return hint.With(err, "imitate such rows: rlzero train sft-chat --set model.path=DIR --set task.data=%s", data)
	}
	err := fmt.Errorf("%w, and none fits answers such as %s", ErrNoVerifier, terminal.Quote(rows[i].Answer))
	err = hint.With(err, "an answer that has to be the same text: "+ExactKey)
	err = hint.With(err, "one that may share words with the answer: --set task.verifier=f1")
	return hint.With(err, "rlzero verifiers lists them all")
}

// answerLike is the column that may have the answer: the shortest text that is no id; "": none.
func answerLike(rows []verify.Problem, columns []string) string {
	best, size := "", 0
	for _, column := range columns {
		total := 0
		for _, row := range rows {
			raw, there := row.Metadata[column]
			if !there || !single(raw) {
				total = -1
				break
			}
			total += len(raw)
		}
		if total > 0 && !counts(column) && (size == 0 || total < size) {
			best, size = column, total
		}
	}
	return best
}

// single says whether a value is no list and no object.
func single(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] != '[' && raw[0] != '{' }
