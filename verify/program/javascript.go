package program

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/worker"
	"github.com/rlzero/rlzero/verify"
	"github.com/rlzero/rlzero/verify/program/internal/js"
)

func init() {
	worker.Register(javascriptEngine, js.Run)
	verify.Register(verify.Entry{
		Name:    "code:javascript",
		Summary: "a JavaScript program that passes its tests",
		Doc:     javascriptDoc,
		New: func(raw json.RawMessage) (verify.Verifier, error) {
			v := javascript{options: defaultOptions(), given: raw}
			return v, decode(raw, &v.options, &v.options)
		},
	})
}

const javascriptDoc = `code:javascript: right when the completion's program passes the row's tests.

` + testsDoc + javascriptTestsDoc + formsDoc + optionsDoc + `
The program is a script of ES2023 in QuickJS. "export" before a declaration is dropped;
there are no modules. It finds console, process.stdin, process.stdout, process.exit,
timers, and through require: fs (only stdin and stdout), readline, assert, util.inspect.
There are no files and no network. The clock starts at 2025-01-01 12:00 UTC and advances
by a millisecond each time it is read; Math.random is a fixed sequence. console.log
prints objects as Node does, but on one line.

A test calls a function of the program or of module.exports, or a method of its class
Solution; promises are awaited. Results are compared as JSON values: undefined is null, a
BigInt is a number; NaN, functions, Map and Set are wrong. An assert fails by throwing.
assert.strictEqual, deepStrictEqual, throws and the others are available. The program
cannot replace them or JavaScript's built-ins, such as JSON and Array.prototype.every, but
may add to them. Asserts see the setup's definitions of names. An assert that asks an
object of the program, such as assert(f().isValid()), trusts its answer. Results of calls
are compared outside the engine.

Every test has a new engine in its own process, which is this program started again, so
that it can always be killed. A program that crashes the engine twice is wrong. Not scored: the row has no tests or asks for keyword arguments, its setup fails, an
assert cannot be compiled or is a bare comparison, or the process cannot be started.
`

const javascriptEngine = "javascript"

// javascript is the verifier "code:javascript".
type javascript struct {
	options
	given json.RawMessage // the options, as they were given
}

var javascriptPool = worker.NewPool(javascriptEngine)

// Check implements [verify.Checker].
func (v javascript) Check(row verify.Problem) error {
	_, err := v.suite(row)
	return err
}

// suite is the row's tests, which this engine has to be able to run.
func (v javascript) suite(row verify.Problem) (suite, error) {
	s, err := readSuite(row)
	if err != nil {
		return s, err
	}
	for i, t := range s.tests {
		switch {
		case len(t.kwargs) > 0:
			return s, fmt.Errorf("test %d of the row has keyword arguments, which JavaScript does not have", i+1)
		case t.assert != "" && checksNothing(t.assert):
			return s, fmt.Errorf("test %d of the row is an expression and checks nothing: write assert(...)", i+1)
		}
	}
	return s, nil
}

// Engine implements [verify.Portable]: QuickJS is in this binary.
func (v javascript) Engine() (verify.Engine, error) {
	return verify.Engine{Verifier: "code:javascript", Options: v.given, Release: ownRelease("code:javascript")}, nil
}

// Verify implements [verify.Verifier].
func (v javascript) Verify(row verify.Problem, completion string) verify.Verdict {
	verdict, _ := v.Judge(row, completion)
	return verdict
}

// Judge implements [verify.Portable].
func (v javascript) Judge(row verify.Problem, completion string) (_ verify.Verdict, settled bool) {
	s, err := v.suite(row)
	if err != nil {
		return verify.Abstain("%v", err), false
	}
	program, rule, err := extract(completion, v.Extract, "javascript", "js")
	if err != nil {
		return verify.Reject(program, rule, "%v", err), true
	}
	return v.judge(s, program, rule, func(t test) outcome {
		return v.engine(javascriptPool, t, js.Task{
			Setup: s.setup, Program: program, Stdin: t.stdin, Call: t.call, Args: append([]json.RawMessage{}, t.args...), Assert: t.assert,
			Time: v.processorTime(), Memory: v.MemoryMB << 20, Output: v.outputFor(t.stdout),
		}, 0)
	})
}

var (
	quotedText = regexp.MustCompile("//[^\n]*|(?s:/\\*.*?\\*/)|\"(?:\\\\.|[^\"\\\\\n])*\"|'(?:\\\\.|[^'\\\\\n])*'|`(?:\\\\.|[^`\\\\])*`")
	innermost  = regexp.MustCompile(`[\w$@]\s*\([^()\[\]{}]*\)|\([^()\[\]{}]*\)|\[[^()\[\]{}]*\]|\{[^()\[\]{}]*\}`)
	operands   = regexp.MustCompile(`&&|\|\||\?\?|[?:,;\n]`)
	comparison = regexp.MustCompile(`[=!]=|[<>]|^\s*!`)
)

// checksNothing tells that test code is nothing but comparisons, names and literals,
// which throw nothing. Brackets are taken away from the inside, and calls become @;
// where that does not come out even, as with brackets in a regular expression, the code
// is taken for one that checks.
func checksNothing(code string) bool {
	text := strings.ReplaceAll(quotedText.ReplaceAllString(code, "0"), "?.", ".")
	for at := innermost.FindStringIndex(text); at != nil; at = innermost.FindStringIndex(text) {
		group := text[at[0]:at[1]]
		inside := group[1 : len(group)-1]
		switch group[0] {
		case '(':
			group = " " + inside + " "
		case '[':
			group = ""
		case '{':
			group = ";" + inside + ";"
		default:
			group = group[:1] + "@"
		}
		text = text[:at[0]] + group + text[at[1]:]
	}
	if strings.ContainsAny(text, "()[]{}") {
		return false
	}
	return !slices.ContainsFunc(operands.Split(text, -1), func(part string) bool {
		return strings.Contains(part, "throw") || strings.Contains(part, "@") && !comparison.MatchString(part)
	})
}
