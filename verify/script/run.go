package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/rlzero/rlzero/internal/worker"
	"github.com/rlzero/rlzero/verify"
)

// This file is the child's side of a script: what runs where nothing can be lost.

// Budgets that count, and so say the same on every machine. A million steps take
// some ten milliseconds.
const (
	maxSteps   = 1_000_000
	maxGrowth  = 64 << 20 // bytes of what + * % << make in one call
	maxInteger = 4096     // bytes of a whole number that is made by them
	maxRange   = 1 << 20  // numbers of a range(): functions that go through one count as one step
)

func init() { worker.Register(engine, runScript) }

// maxCompiled bounds the scripts that a child keeps compiled.
const maxCompiled = 16

// compiledScripts are the functions of this child's scripts, by file and text.
var compiledScripts = map[[2]string]*starlark.Function{}

// runScript answers a task. Failed is what the script does wrong, Result the verdict.
func runScript(t task) worker.Report {
	worker.LimitMemory(t.Memory)
	f, err := t.function()
	if err != nil {
		return worker.Report{Failed: err.Error()}
	}
	if t.Check {
		return worker.Report{}
	}
	v, steps := t.call(f)
	result, err := json.Marshal(answer{v, steps})
	if err != nil {
		return worker.Report{Failed: err.Error()}
	}
	return worker.Report{Result: string(result)}
}

// function is the script's, compiled once in a child.
func (t task) function() (*starlark.Function, error) {
	key := [2]string{t.File, t.Source}
	f, known := compiledScripts[key]
	if known {
		return f, nil
	}
	err := t.within(func(thread *starlark.Thread) (err error) {
		f, err = compile(t.File, t.Source, thread)
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(compiledScripts) == maxCompiled {
		clear(compiledScripts)
	}
	compiledScripts[key] = f
	return f, nil
}

// call is the script's verdict on the completion, and the steps that it took.
func (t task) call(f *starlark.Function) (v verify.Verdict, steps uint64) {
	row, err := rowOf(t.Row)
	if err != nil {
		return verify.Abstain("%v", err), 0
	}
	var result starlark.Value
	err = t.within(func(thread *starlark.Thread) (err error) {
		defer func() { steps = thread.ExecutionSteps() }()
		result, err = starlark.Call(thread, f, starlark.Tuple{row, starlark.String(t.Completion)}, nil)
		return err
	})
	if err != nil {
		return verify.Abstain("%v", err), steps
	}
	return Verdict(t.File, engine, goValue(result), t.Low, t.High), steps
}

// within runs the script within its limits.
func (t task) within(do func(*starlark.Thread) error) error {
	thread := &starlark.Thread{Name: t.File, Print: func(*starlark.Thread, string) {}}
	thread.SetMaxExecutionSteps(maxSteps)
	left := maxGrowth
	thread.SetLocal(growthLeft, &left)
	done := worker.Guard(t.Time, func() { thread.Cancel("out of time") })
	err := do(thread)
	if over := done(); over {
		return t.overLimit()
	}
	var failed *starlark.EvalError
	if errors.As(err, &failed) {
		return errors.New(explain(t.File, failed))
	}
	return err
}

// compile compiles a script and runs its top level.
func compile(name, source string, thread *starlark.Thread) (*starlark.Function, error) {
	file, err := (&syntax.FileOptions{Set: true, TopLevelControl: true}).Parse(name, source, 0)
	if err != nil {
		return nil, err
	}
	if err := budgeted(file); err != nil {
		return nil, err
	}
	program, err := starlark.FileProgram(file, predeclared.Has)
	if err != nil {
		return nil, err
	}
	if program.NumLoads() > 0 {
		return nil, fmt.Errorf("%s: load() is not accepted: a script cannot load other files", name)
	}
	globals, err := program.Init(thread, predeclared)
	if err != nil {
		return nil, err
	}
	globals.Freeze()
	f, ok := globals["reward"].(*starlark.Function)
	if !ok || f.NumParams() != 2 || f.HasVarargs() || f.HasKwargs() || f.NumKwonlyParams() > 0 {
		return nil, fmt.Errorf("%s has no function reward(row, completion)", name)
	}
	return f, nil
}

// short is a text of the script, cut to what a log line can hold.
func short(text string) string {
	const most = 200
	text = strings.ToValidUTF8(text, "\uFFFD")
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}

// explain is an error of a script with the line that made it.
func explain(file string, failed *starlark.EvalError) string {
	text := failed.Error()
	if strings.Contains(text, "too many steps") {
		text = fmt.Sprintf("more than %d steps", maxSteps)
	}
	for _, frame := range slices.Backward(failed.CallStack) {
		if frame.Pos.Filename() == file {
			return short(fmt.Sprintf("%s:%d: %s", file, frame.Pos.Line, text))
		}
	}
	return short(file + ": " + text)
}
