package instruct

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/rlzero/rlzero/verify"
)

// maxCompletionBytes bounds the work: a longer completion is wrong unread.
const maxCompletionBytes = 1 << 20

// kind is one type of instruction.
type kind struct {
	name    string // public name, such as "keywords:existence"
	summary string // one line
	kwargs  string // its arguments, one a line; "" for none
	note    string // where it does otherwise than its name says; "" for nowhere
	needs   needs  // outside help that the original uses and ours imitates
	// build reads the arguments and makes the check. It is called once a
	// completion; the check runs on up to eight forms of it.
	build func(k *kwargs) check
}

// check judges one form of a completion, which is not blank and valid UTF-8.
type check func(text string) finding

// finding is the result of a check.
type finding struct {
	followed bool
	reason   string
}

// result says whether an instruction is followed and with what figures.
func result(followed bool, format string, args ...any) finding {
	return finding{followed: followed, reason: fmt.Sprintf(format, args...)}
}

// suites are the instruction types by the set they come from.
var suites = []struct {
	name, source string
	kinds        [][]kind
}{
	{"ifeval", "IFEval, arxiv.org/abs/2311.07911", [][]kind{ifevalKinds}},
	{"ifrlvr", "the training set of IF-RLVR, arxiv.org/abs/2507.02833", [][]kind{ifrlvrKinds}},
	{"ifbench", "IFBench, arxiv.org/abs/2507.02833", [][]kind{benchWordKinds, benchSentenceKinds, benchFormatKinds, benchCustomKinds}},
}

func init() {
	for _, s := range suites {
		for _, kinds := range s.kinds {
			for _, k := range kinds {
				verify.Register(verify.Entry{
					Name:    s.name + ":" + k.name,
					Summary: k.summary,
					Doc:     k.doc(s.name, s.source),
					New: func(options json.RawMessage) (verify.Verifier, error) {
						return newVerifier(s.name+":"+k.name, k, options)
					},
				})
			}
		}
	}
}

// doc is the text of "rlzero verifiers show NAME".
func (k kind) doc(suite, source string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%s: right when %s.\nAn instruction of %s, judged as by its own checker.\n", suite, k.name, k.summary, source)
	if k.note != "" {
		b.WriteString("\n" + wrap("As in the original: "+k.note+"."))
	}
	if k.needs != 0 {
		b.WriteString("\n" + wrap("Approximated: "+k.needs.doc(suite+":"+k.name)))
	}
	b.WriteString("\nRow\n")
	if k.kwargs != "" {
		b.WriteString("kwargs    object with\n")
		for _, line := range strings.Split(k.kwargs, "\n") {
			b.WriteString("            " + line + "\n")
		}
	} else {
		b.WriteString("kwargs    not needed\n")
	}
	b.WriteString(`mode      "strict" or "loose"; default: the option mode

Options
mode      "strict" (default): the completion as it is. "loose": right when any of eight
          variants is: the completion; without its first line; without its last line;
          without both; and these four without any *. A blank variant is never right.

Not scored: an argument is missing or of the wrong type (the original draws one at random
or raises), or a keyword that is used as a regular expression is not valid.
`)
	return b.String()
}

// wrap breaks text into lines of at most 90 bytes, a longer word aside.
func wrap(text string) string {
	var b strings.Builder
	used := 0
	for _, w := range strings.Fields(text) {
		switch {
		case used == 0:
		case used+1+len(w) > 90:
			b.WriteByte('\n')
			used = 0
		default:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(w)
		used += len(w)
	}
	return b.String() + "\n"
}

// verifier judges completions by one kind of instruction.
type verifier struct {
	name  string
	kind  kind
	loose bool
}

func newVerifier(name string, k kind, options json.RawMessage) (verify.Verifier, error) {
	o := struct {
		Mode string `toml:"mode"`
	}{"strict"}
	if err := verify.DecodeOptions(options, &o); err != nil {
		return nil, err
	}
	loose, err := isLoose(o.Mode)
	if err != nil {
		return nil, fmt.Errorf("option %w", err)
	}
	return verifier{name, k, loose}, nil
}

func isLoose(mode string) (bool, error) {
	if mode != "strict" && mode != "loose" {
		return false, fmt.Errorf(`mode is %s; accepted: "strict" and "loose"`, quote(mode))
	}
	return mode == "loose", nil
}

// Check implements [verify.Checker].
func (v verifier) Check(row verify.Problem) error {
	steps := maxAllSteps
	_, _, err := v.read(row, &steps)
	return err
}

// read makes the check from a row's kwargs and mode. Its patterns take their steps from those that
// are left.
func (v verifier) read(row verify.Problem, steps *int) (judge check, loose bool, err error) {
	loose = v.loose
	var mode string
	found, err := row.Field("mode", &mode)
	if err == nil && found {
		loose, err = isLoose(mode)
	}
	if err != nil {
		return nil, false, err
	}
	k, err := readKwargs(row.Metadata["kwargs"])
	if err != nil {
		return nil, false, err
	}
	k.steps = steps
	return v.kind.build(k), loose, k.err
}

// Verify implements [verify.Verifier].
func (v verifier) Verify(row verify.Problem, completion string) verify.Verdict {
	steps := maxAllSteps
	return v.judge(row, completion, &steps)
}

// judge is Verify within the steps that are left.
func (v verifier) judge(row verify.Problem, completion string, steps *int) verify.Verdict {
	judge, loose, err := v.read(row, steps)
	if err != nil {
		return verify.Abstain("%v", err)
	}
	rule := v.name + " strict"
	if loose {
		rule = v.name + " loose"
	}
	if len(completion) > maxCompletionBytes {
		return verify.Reject("", rule, "the completion has %d bytes: at most %d are read", len(completion), maxCompletionBytes)
	}
	return judgeForms(judge, forms(toValid(completion), loose), rule)
}

// judgeForms accepts the first form that follows the instruction. A rejection
// gives the reason of the first form, the completion as it is.
func judgeForms(judge check, texts []string, rule string) verify.Verdict {
	reason := "the completion is blank"
	for i, text := range texts {
		if strip(text) == "" {
			continue
		}
		f := judge(text)
		if f.followed {
			return verify.Accept("", rule, "%s", f.reason)
		}
		if i == 0 {
			reason = f.reason
		}
	}
	return verify.Reject("", rule, "%s", reason)
}

// forms are the texts of which one has to follow the instruction.
func forms(text string, loose bool) []string {
	if !loose {
		return []string{text}
	}
	var noFirst, noLast, noBoth string
	if i := strings.IndexByte(text, '\n'); i >= 0 {
		last := strings.LastIndexByte(text, '\n')
		noFirst, noLast = strip(text[i+1:]), strip(text[:last])
		if i < last {
			noBoth = strip(text[i+1 : last])
		}
	}
	all := []string{text, noFirst, noLast, noBoth}
	if strings.Contains(text, "*") {
		for _, form := range all[:4] {
			all = append(all, strings.ReplaceAll(form, "*", ""))
		}
	}
	return all
}

// toValid replaces bytes that are not UTF-8.
func toValid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// quote shows text in a reason, cut to 60 characters.
func quote(s string) string {
	const most = 60
	n := 0
	for i := range s {
		if n++; n > most {
			return fmt.Sprintf("%q…", s[:i])
		}
	}
	return fmt.Sprintf("%q", s)
}

// count writes a number with its unit in singular or plural: "1 word", "2 words".
func count(n int, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return fmt.Sprintf("%d %ss", n, unit)
}
