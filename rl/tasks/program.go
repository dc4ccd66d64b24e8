package tasks

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/verify"
)

func init() {
	register(Family{
		Name:    "program",
		Summary: "write a program that returns the given values",
		Doc: `program: write a function whose values at 0 and 1 are given, in a small part of JavaScript.

    0>7,1>10:              f=x=>x*3+7

The function is x*a+b or b-x*a. One problem in 16 is held out, chosen by the CRC-32 of its
canonical form "0>7,1>10".

Right: the completion ends, and is a program that returns what the hidden function returns at
0, 1, 2, 3 and 5. Programs are run: x+x+x+7 is as good as x*3+7. A program is f=x=> and an
expression of x, whole numbers, +, -, * and parentheses, which means what it means in JavaScript.
Of a program that returns something else the verdict has two numbers, as task.x and task.value: the
first of these places where it does, and what it returns there.
The row has the tests, so that the verifier code:javascript judges it too, and accepts all of
JavaScript.

Demonstrations: with probability careless the factor is a random one, so that the program is right
at 0 alone.

` + describeSettings(defaultProgram()),
		New: func() Task { return defaultProgram() },
	}, verify.Entry{
		Summary: "the task program: the program returns what the tests expect",
		Doc: `task:program: right when the completion, a program f=x=>..., passes the row's tests.

It takes the part of JavaScript that the task's answers are written in: x, whole numbers, +, -, *
and parentheses. Anything else is wrong; code:javascript takes it.

Option extract: as for the verifier exact; default "announced".
`,
		New: func(options json.RawMessage) (verify.Verifier, error) {
			exact, err := taskVerifier("exact", options, map[string]any{"normalize": "strip", "extract": "announced"})
			return programVerifier{exact}, err
		},
	})
	register(Family{
		Name:    "trace",
		Summary: "work out what a program returns",
		Doc: `trace: work out what a function returns, in the language of the task program.

    f=x=>x*3+7,4:          12=19

One problem in 16 is held out, chosen by the CRC-32 of its canonical form "f=x=>x*3+7,4".

Right: the completion ends, and what follows its last "=" is the value. The product before it is
not checked.

Demonstrations: the product, then the value. With probability careless the sign is misread, if the
value stays in range.

` + describeSettings(defaultTrace()),
		New: func() Task { return defaultTrace() },
	}, verify.Entry{
		Summary: "the task trace: the right value at the end",
		Doc: `task:trace: right when the completion's last result is the row's answer.

The last result is what follows the last "=", or the announced answer where there
is no "=".

Option extract: as for the verifier exact; default "announced".
`,
		New: func(options json.RawMessage) (verify.Verifier, error) {
			exact, err := taskVerifier("exact", options, map[string]any{"normalize": "strip", "extract": "announced"})
			return compositionVerifier{exact}, err
		},
	})
}

// line is a function of x, in the two shapes x*factor+start and start-x*factor.
type line struct {
	factor, start int
	falls         bool
}

func (l line) at(x int) int {
	if l.falls {
		return l.start - x*l.factor
	}
	return l.start + x*l.factor
}

// text is the line as a program.
func (l line) text() string {
	if l.falls {
		return fmt.Sprintf("%s%d-x*%d", programBegins, l.start, l.factor)
	}
	return fmt.Sprintf("%sx*%d+%d", programBegins, l.factor, l.start)
}

const programBegins = "f=x=>"

// lines are the settings that say which functions are drawn.
type lines struct {
	MaxFactor int     `toml:"max_factor" range:"[1,99]" about:"largest factor"`
	MaxTotal  int     `toml:"max_total" range:"[1,999]" about:"largest value that a problem or a demonstration shows; at least max_factor"`
	Careless  float64 `toml:"careless" range:"[0,1]" about:"probability of a mistake in a demonstration"`
}

func (l *lines) check() error {
	if l.MaxTotal < l.MaxFactor {
		return outOfRange("max_total", l.MaxTotal, fmt.Sprintf("at least max_factor = %d", l.MaxFactor))
	}
	return nil
}

// draw is a line whose value at x is in range; false: another has to be drawn.
func (l *lines) draw(r *random.Rand, x int) (line, bool) {
	one := line{r.Between(1, l.MaxFactor), r.Between(0, l.MaxTotal), r.Chance(0.5)}
	return one, l.inRange(one.at(x))
}

func (l *lines) inRange(y int) bool { return 0 <= y && y <= l.MaxTotal }

func (l *lines) vocabulary() []string {
	return append(vocabulary(l.MaxTotal), "f", "x", "*", ",", "(", ")")
}

// lineOfRow is the line of a row of a task.
func lineOfRow(task string, row verify.Problem) (line, error) {
	var l line
	for key, into := range map[string]any{"factor": &l.factor, "start": &l.start, "falls": &l.falls} {
		if found, err := row.Field(key, into); !found || err != nil {
			return l, fmt.Errorf("task %s: row %q does not belong to this task: it has no %s", task, row.ID, key)
		}
	}
	return l, nil
}

func defaultProgram() *coding {
	return &coding{MaxFactor: 20, MaxTotal: 40, Careless: 0.4}
}

// coding is the task "program".
type coding lines

var _ Demonstrator = (*coding)(nil)

// Name implements [Task].
func (p *coding) Name() string { return "program" }

// Validate implements [Task].
func (p *coding) Validate() error {
	if err := errors.Join(settings.Check(p), (*lines)(p).check()); err != nil {
		return err
	}
	return probe(p.attempt)
}

// Difficulty implements [Task].
func (p *coding) Difficulty() string {
	return fmt.Sprintf("factors up to %d, values at 0 and 1 up to %d; demonstrations have %.4g %% random factors", p.MaxFactor, p.MaxTotal, 100*p.Careless)
}

// testedAt are the places at which programs are run: two that the problem shows, and hidden ones.
var testedAt = []int{0, 1, 2, 3, 5}

// programTest is a test as code:javascript reads it.
type programTest struct {
	Call     string    `json:"call"`
	Args     []float64 `json:"args"`
	Expected float64   `json:"expected"`
}

// Draw implements [Task]. The row's answer is a program, its metadata has the tests.
func (p *coding) Draw(r *random.Rand, split Split) verify.Problem { return draw(r, split, p.attempt) }

func (p *coding) attempt(r *random.Rand) (verify.Problem, bool) {
	l, ok := (*lines)(p).draw(r, 1)
	var tests []programTest
	for _, x := range testedAt {
		tests = append(tests, programTest{"f", []float64{float64(x)}, float64(l.at(x))})
	}
	id := fmt.Sprintf("0>%d,1>%d", l.start, l.at(1))
	return verify.Problem{ID: id, Question: id + ":", Answer: l.text(),
		Metadata: metadata(map[string]any{"factor": l.factor, "start": l.start, "falls": l.falls, "tests": tests})}, ok
}

// Demonstration implements [Demonstrator].
func (p *coding) Demonstration(r *random.Rand, row verify.Problem) (string, error) {
	l, err := lineOfRow("program", row)
	if err == nil && r.Chance(p.Careless) {
		l.factor = r.Between(1, p.MaxFactor)
	}
	return l.text(), err
}

// Verify implements [Task].
func (p *coding) Verify(row verify.Problem, completion string, ended bool) verify.Verdict {
	if !ended {
		return verify.Reject(completion, programRule, "the completion does not end within its length limit")
	}
	return runTests(row, completion)
}

const programRule = "tests"

// runTests judges a program by the tests of its row.
func runTests(row verify.Problem, text string) verify.Verdict {
	var tests []programTest
	if found, err := row.Field("tests", &tests); !found || err != nil || len(tests) == 0 {
		return verify.Abstain("the row has no tests")
	}
	for _, t := range tests {
		if t.Call != "f" || len(t.Args) != 1 {
			return verify.Abstain("a test of the row does not call f with one number")
		}
		y, err := runProgram(text, t.Args[0])
		if err != nil {
			return verify.Reject(text, programRule, "%v", err)
		}
		if y != t.Expected {
			v := verify.Reject(text, programRule, "f(%g) is %g, not %g", t.Args[0], y, t.Expected)
			v.Values = map[string]float64{"x": t.Args[0], "value": y}
			return v
		}
	}
	return verify.Accept(text, programRule, "%d tests pass", len(tests))
}

// Valid implements [Demonstrator]: it is a program.
func (p *coding) Valid(_ verify.Problem, completion string, ended bool) bool {
	_, err := runProgram(completion, 0)
	return ended && err == nil
}

// Vocabulary implements [Demonstrator].
func (p *coding) Vocabulary() []string { return (*lines)(p).vocabulary() }

// PromptTokens implements [Demonstrator]: 0>7,1>10:
func (p *coding) PromptTokens() int { return 8 }

// CompletionTokens implements [Demonstrator]: f=x=>x*3+7 and the end
func (p *coding) CompletionTokens() int { return 11 }

// programVerifier is "task:program".
type programVerifier struct{ exact verify.Verifier }

// Check implements [verify.Checker].
func (v programVerifier) Check(row verify.Problem) error {
	if judged := runTests(row, row.Answer); judged.Verdict == verify.NotScored {
		return errors.New(judged.Reason)
	}
	return verify.Check(v.exact, row)
}

// Verify implements [verify.Verifier].
func (v programVerifier) Verify(row verify.Problem, completion string) verify.Verdict {
	if err := v.Check(row); err != nil {
		return verify.Abstain("%v", err)
	}
	text := strings.TrimSpace(completion)
	if !strings.HasPrefix(text, programBegins) {
		text = v.exact.Verify(row, completion).Extracted // an announced one
	}
	return runTests(row, text)
}

func defaultTrace() *trace {
	return &trace{MaxFactor: 9, MaxTotal: 40, Careless: 0.4}
}

// trace is the task "trace".
type trace lines

var _ Demonstrator = (*trace)(nil)

// Name implements [Task].
func (t *trace) Name() string { return "trace" }

// Validate implements [Task].
func (t *trace) Validate() error {
	if err := errors.Join(settings.Check(t), (*lines)(t).check()); err != nil {
		return err
	}
	return probe(t.attempt)
}

// Difficulty implements [Task].
func (t *trace) Difficulty() string {
	return fmt.Sprintf("factors up to %d, values up to %d; demonstrations misread %.4g %% of signs", t.MaxFactor, t.MaxTotal, 100*t.Careless)
}

// Draw implements [Task]. The row's answer is the value.
func (t *trace) Draw(r *random.Rand, split Split) verify.Problem { return draw(r, split, t.attempt) }

func (t *trace) attempt(r *random.Rand) (verify.Problem, bool) {
	x := r.Between(1, 9)
	l, ok := (*lines)(t).draw(r, x)
	id := fmt.Sprintf("%s,%d", l.text(), x)
	return verify.Problem{ID: id, Question: id + ":", Answer: strconv.Itoa(l.at(x)),
		Metadata: metadata(map[string]any{"factor": l.factor, "start": l.start, "falls": l.falls, "x": x})}, ok && (*lines)(t).inRange(x*l.factor)
}

// Demonstration implements [Demonstrator].
func (t *trace) Demonstration(r *random.Rand, row verify.Problem) (string, error) {
	l, err := lineOfRow("trace", row)
	if err != nil {
		return "", err
	}
	var x int
	if found, err := row.Field("x", &x); !found || err != nil {
		return "", fmt.Errorf("task trace: row %q does not belong to this task: it has no x", row.ID)
	}
	misread := line{l.factor, l.start, !l.falls}
	if (*lines)(t).inRange(misread.at(x)) && r.Chance(t.Careless) {
		l = misread
	}
	return fmt.Sprintf("%d=%d", x*l.factor, l.at(x)), nil
}

// Verify implements [Task].
func (t *trace) Verify(row verify.Problem, completion string, ended bool) verify.Verdict {
	if !ended {
		return verify.Reject(completion, lastResultRule, "the completion does not end within its length limit")
	}
	return judgeLastResult(row, completion)
}

// Valid implements [Demonstrator]: the product, then a number.
func (t *trace) Valid(row verify.Problem, completion string, ended bool) bool {
	var x int
	l, err := lineOfRow("trace", row)
	product, value, two := strings.Cut(completion, "=")
	if found, wrong := row.Field("x", &x); err != nil || !found || wrong != nil || !two || !ended {
		return false
	}
	y, err := strconv.Atoi(value)
	return err == nil && value == strconv.Itoa(y) && (*lines)(t).inRange(y) && product == strconv.Itoa(x*l.factor)
}

// Vocabulary implements [Demonstrator].
func (t *trace) Vocabulary() []string { return (*lines)(t).vocabulary() }

// PromptTokens implements [Demonstrator]: f=x=>x*3+7,4:
func (t *trace) PromptTokens() int { return 13 }

// CompletionTokens implements [Demonstrator]: 12=19 and the end
func (t *trace) CompletionTokens() int { return 4 }

// maxProgram bounds what is run, in bytes.
const maxProgram = 256

// runProgram is the value at x of a program: f=x=> and an expression of x, whole numbers, +, -, * and
// parentheses, in float64 as in JavaScript. The error says where it is none.
func runProgram(text string, x float64) (float64, error) {
	rest, begins := strings.CutPrefix(text, programBegins)
	if !begins || len(text) > maxProgram {
		return 0, fmt.Errorf("the program does not begin with %s, or has more than %d characters", programBegins, maxProgram)
	}
	p := expression{rest, 0, x}
	y, ok := p.sum()
	if !ok || p.at < len(rest) {
		return 0, fmt.Errorf("character %d is no part of the language", len(programBegins)+p.at+1)
	}
	if math.IsInf(y, 0) || math.IsNaN(y) {
		return 0, errors.New("the value is not finite")
	}
	return y, nil
}

// expression reads an expression and works it out.
type expression struct {
	text string
	at   int
	x    float64
}

func (e *expression) next(c byte) bool {
	if e.at < len(e.text) && e.text[e.at] == c {
		e.at++
		return true
	}
	return false
}

func (e *expression) sum() (float64, bool) {
	y, ok := e.product()
	for ok {
		sign := 1.0
		switch {
		case e.next('+'):
		case e.next('-'):
			sign = -1
		default:
			return y, true
		}
		var term float64
		term, ok = e.product()
		y += sign * term
	}
	return 0, false
}

func (e *expression) product() (float64, bool) {
	y, ok := e.factor()
	for ok && e.next('*') {
		var z float64
		z, ok = e.factor()
		y *= z
	}
	return y, ok
}

func (e *expression) factor() (float64, bool) {
	switch {
	case e.next('x'):
		return e.x, true
	case e.next('('):
		y, ok := e.sum()
		return y, ok && e.next(')')
	}
	begin := e.at
	for e.at < len(e.text) && '0' <= e.text[e.at] && e.text[e.at] <= '9' {
		e.at++
	}
	digits := e.text[begin:e.at]
	if digits == "" || len(digits) > 1 && digits[0] == '0' { // which JavaScript takes for octal
		return 0, false
	}
	y, err := strconv.ParseFloat(digits, 64)
	return y, err == nil
}
