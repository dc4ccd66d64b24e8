package program

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"

	"github.com/rlzero/rlzero/verify"
	"github.com/rlzero/rlzero/verify/box"
)

func init() {
	verify.Register(verify.Entry{
		Name:    "code:python",
		Summary: "a Python program that passes its tests, in a box",
		Doc:     pythonDoc,
		New: func(raw json.RawMessage) (verify.Verifier, error) {
			v := python{options: defaultOptions(), Range: [2]float64{0, 1}, given: raw}
			if err := decode(raw, &v, &v.options); err != nil {
				return nil, err
			}
			return v, v.checkReward()
		},
		Paths:  map[string]string{"reward": ""},
		Script: "reward",
	})
}

const pythonDoc = `code:python: right when the completion's program passes the row's tests.

` + testsDoc + pythonTestsDoc + formsDoc + optionsDoc + `  python      the interpreter; default $RLZERO_PYTHON, else python3, else /usr/bin/python3.
  unsafe_local  true: run programs where this system cannot box them, with the rights of
              the user who runs this. Default false: not scored there.

A program that reads and writes runs as a script: its threads and exit functions are
waited for. If functions are tested, typing, collections, heapq, bisect, itertools,
functools and math and their names are imported already, as on the sites that pose such
problems.

A test calls a function of the program, or a method of its class Solution. The result
is compared by value: 1 is 1.0, a tuple is a list, a set is a list in any
order, a number as a key is its text. Any exit code other than 0 fails the test.

Assert code and the program run in separate interpreters that exchange messages. A
function of the program returns values (numbers, texts, bytes, dates, None, and lists,
tuples, sets and dicts of these) or objects. Objects can be called and have attributes,
items and a length, but are equal only to themselves. Arguments are values and functions;
changes to lists, sets and dicts reach those of the test. Objects of the test's own
classes cannot be arguments. So a program cannot see its tests or make a wrong value
equal. Only a test that asks an object of the program, as in assert f(x).is_valid(),
trusts its answer.

Each test is a new process with its own limits on processor time, memory, files and
output. It has no network and can read only Python's own folders (the package comment of
verify/box lists the layers). It may start threads but not processes. Only the standard
library is available. The clock is the real one; random and hashing start from a fixed
seed. Processor time is counted in whole seconds.

Not scored: the row has no tests, its setup fails without the program, or an assert cannot
be compiled, is a bare comparison, calls none of its functions or names nothing of the
program; there is no Python 3.9 or later, or no sandbox; the machine was too busy to run the
program. Needs Linux 5.13 with landlock; with unsafe_local any Unix, but never Windows.
` + rewardDoc

// python is the verifier "code:python".
type python struct {
	options
	Python      string `toml:"python"`
	UnsafeLocal bool   `toml:"unsafe_local"`

	Reward string     `toml:"reward"` // the user's own judge
	Source string     `toml:"source"`
	Range  [2]float64 `toml:"range"`

	given json.RawMessage // the options, as they were given
}

// Check implements [verify.Checker].
func (v python) Check(row verify.Problem) error {
	if v.judging() {
		return nil
	}
	_, err := readSuite(row)
	return err
}

// Engine implements [verify.Portable]. Programs of others run in the box and by this
// machine's own interpreter alone.
func (v python) Engine() (verify.Engine, error) {
	if v.Python != "" || v.UnsafeLocal {
		return verify.Engine{}, errors.New("options python and unsafe_local hold only on one machine")
	}
	if v.judging() {
		return verify.Engine{}, errors.New("a function of the user's judges on the user's machine")
	}
	release, err := pythonRelease()
	return verify.Engine{Verifier: "code:python", Options: v.given, Release: release}, err
}

// Renew implements [verify.Renewable]: programs are forks of an interpreter.
func (v python) Renew() { pythons.renew() }

// onlyRelease is what pythonRelease has found.
var onlyRelease struct {
	sync.Mutex
	name string
	err  error // that this system has no box, which does not change
}

// pythonRelease names the interpreter that runs in the box of this machine. What keeps it
// from starting may pass, as a lack of memory does: the next call tries again.
func pythonRelease() (string, error) {
	onlyRelease.Lock()
	defer onlyRelease.Unlock()
	if onlyRelease.name != "" || onlyRelease.err != nil {
		return onlyRelease.name, onlyRelease.err
	}
	it, err := pythons.take("program", "", false)
	if errors.Is(err, box.ErrUnsupported) {
		onlyRelease.err = err
	}
	if err != nil {
		return "", err
	}
	defer pythons.give("program", "", false, it)
	onlyRelease.name = ownRelease("code:python") + ", " + it.release
	return onlyRelease.name, nil
}

// Verify implements [verify.Verifier].
func (v python) Verify(row verify.Problem, completion string) verify.Verdict {
	verdict, _ := v.Judge(row, completion)
	return verdict
}

// Judge implements [verify.Portable].
func (v python) Judge(row verify.Problem, completion string) (_ verify.Verdict, settled bool) {
	if v.judging() {
		verdict, _ := v.Metered(row, completion)
		return verdict, false
	}
	s, err := readSuite(row)
	if err != nil {
		return verify.Abstain("%v", err), false
	}
	program, rule, err := extract(completion, v.Extract, "python", "py", "python3")
	if err != nil {
		return verify.Reject(program, rule, "%v", err), true
	}
	whole := begun(row, program)
	return v.judge(s, program, rule, func(t test) outcome {
		out := v.try(s.setup, whole, t)
		if out.broken { // perhaps for a reason of its own, such as a machine out of memory
			out = v.try(s.setup, whole, t)
		}
		if out.ended && s.setup != "" { // perhaps before it began
			if alone := v.alone(s.setup, t); alone.ended {
				return outcome{unscored: true, reason: "the row's setup: " + alone.reason}
			}
		}
		return out
	})
}

// alone runs a setup as it is run before a test, without the program.
func (v python) alone(setup string, t test) outcome {
	if t.call == "" && t.assert == "" {
		return v.try(setup, "", t)
	}
	return v.try(setup, "def done(): pass", test{call: "done", expected: []json.RawMessage{json.RawMessage("null")}})
}

// try runs one test.
func (v python) try(setup, program string, t test) outcome {
	j := v.job("program", setup, program)
	j.Stdin, j.Output = t.stdin, v.outputFor(t.stdout)
	j.File = max(j.File, j.Output)
	switch {
	case t.assert != "":
		return v.assert(j, t.assert)
	case t.call != "":
		return v.call(j, t)
	}
	e, err := v.run(j)
	if out, done := v.settled(e, err); done {
		return out
	}
	if !v.samePrinted(e.Stdout, t.stdout) {
		return outcome{reason: "it prints " + brief(e.Stdout) + ", not " + brief(t.stdout)}
	}
	return outcome{passed: true}
}

func (v python) job(mode, setup, program string) job {
	return job{
		Mode: mode, Setup: setup, Program: program, Args: "[]", Kwargs: "{}",
		CPU: v.Timeout, Memory: v.MemoryMB << 20, Output: v.OutputKB << 10, File: max(testFile, v.OutputKB<<10),
	}
}

func (v python) run(j job) (end, error) {
	it, err := pythons.take("program", v.Python, v.UnsafeLocal)
	if err != nil {
		return end{}, err
	}
	defer pythons.give("program", v.Python, v.UnsafeLocal, it)
	return it.run(j, v.clock())
}

// settled is the outcome of a run that did not come to its end as it should.
func (v python) settled(e end, err error) (outcome, bool) {
	const cpuTimeOver, fileTooBig = -24, -25 // SIGXCPU, SIGXFSZ
	switch {
	case errors.Is(err, errOverTime) || errors.Is(err, errBroken):
		return outcome{reason: err.Error(), broken: errors.Is(err, errBroken), limited: true}, true
	case err != nil:
		return outcome{unscored: true, reason: err.Error()}, true
	case e.Flood || e.Exit == fileTooBig:
		return ends("it prints more than is read (option output_kb)"), true
	case e.Exit == cpuTimeOver || e.Seconds > math.Ceil(v.Timeout): // it may catch the signal
		return limited("it needs more than %v s of processor time", v.Timeout), true
	case e.Exit < 0: // perhaps as it takes too much memory
		return limited("it is killed by signal %d", -e.Exit), true
	case e.Exit > 0 && strings.HasPrefix(e.Error, "MemoryError"):
		return limited("it fails: %s", brief(e.Error)), true
	case e.Exit > 0 && e.Error != "":
		return ends("it fails: %s", brief(e.Error)), true
	case e.Exit > 0:
		return ends("it exits with code %d", e.Exit), true
	}
	return outcome{}, false
}

// ends is the outcome of a program that comes to a bad end.
func ends(format string, args ...any) outcome {
	return outcome{reason: fmt.Sprintf(format, args...), ended: true}
}

// limited is that of one that met a limit.
func limited(format string, args ...any) outcome {
	out := ends(format, args...)
	out.limited = true
	return out
}

func (v python) call(j job, t test) outcome {
	want, err := t.values()
	if err != nil {
		return outcome{unscored: true, reason: err.Error()}
	}
	args, err1 := json.Marshal(append([]json.RawMessage{}, t.args...))
	kwargs, err2 := json.Marshal(t.kwargs)
	if err := errors.Join(err1, err2); err != nil {
		return outcome{unscored: true, reason: "the arguments: " + err.Error()}
	}
	j.Mode, j.Call, j.Args, j.File = "call", t.call, string(args), max(j.File, resultFile)
	if t.kwargs != nil {
		j.Kwargs = string(kwargs)
	}
	e, err := v.run(j)
	if out, done := v.settled(e, err); done {
		return out
	}
	if e.Result == "" {
		return outcome{reason: "it ends before " + t.call + " returns"}
	}
	got, shown, err := fromPython(e.Result)
	if err != nil {
		return outcome{reason: "its result: " + err.Error()}
	}
	return v.oneOf(got, want, shown, t)
}

// assert runs test code in an interpreter of its own and passes its questions to
// the one that has loaded the program.
func (v python) assert(j job, code string) outcome {
	serving, err := pythons.take("program", v.Python, v.UnsafeLocal)
	if err != nil {
		return outcome{unscored: true, reason: err.Error()}
	}
	defer pythons.give("program", v.Python, v.UnsafeLocal, serving)
	testing, err := pythons.take("test", v.Python, v.UnsafeLocal)
	if err != nil {
		return outcome{unscored: true, reason: err.Error()}
	}
	defer pythons.give("test", v.Python, v.UnsafeLocal, testing)

	t := v.job("check", j.Setup, code)
	checked, err := testing.run(t, v.clock())
	switch {
	case err != nil: // the program has not run yet
		return outcome{unscored: true, reason: "the row's test: " + err.Error(), broken: errors.Is(err, errBroken)}
	case checked.Fault != "":
		return outcome{unscored: true, reason: "the row's test " + checked.Fault}
	}
	j.Mode, t.Mode = "serve", "test"
	settle := serving.watch(v.clock(), v.processorTime())
	e, ready, err := serving.begin(j)
	if !ready {
		if out, done := v.settled(e, settle(err)); done {
			return out
		}
		return outcome{reason: "it ends before it is tested"}
	}
	settleTest := testing.watch(v.clock(), v.processorTime())
	verdict, err := testing.converse(t, serving)
	errTest := settleTest(err)
	err = settle(serving.dismiss())
	switch {
	case errors.Is(err, errBusy) || errors.Is(errTest, errBusy):
		return outcome{unscored: true, reason: errBusy.Error()}
	case errors.Is(err, errOverTime) || errors.Is(errTest, errOverTime):
		return outcome{reason: errOverTime.Error(), limited: true}
	case err != nil || errTest != nil:
		return outcome{reason: errBroken.Error(), broken: true}
	case verdict.Passed && verdict.Exit == 0:
		return outcome{passed: true}
	case serving.gone != nil:
		if out, done := v.settled(*serving.gone, nil); done {
			return out
		}
		return outcome{reason: "it ends while it is tested"}
	case verdict.Error != "":
		return outcome{reason: "the test fails: " + brief(verdict.Error)}
	}
	return outcome{reason: "the test fails"}
}
