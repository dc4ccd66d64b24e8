package reward

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
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

func init() { worker.Register(scriptEngine, runScript) }

// compiledScripts are the functions of this child's scripts, by file and text.
var compiledScripts = map[[2]string]*starlark.Function{}

// runScript answers a task. Failed is what the script does wrong, Result the verdict.
func runScript(t scriptTask) worker.Report {
	worker.LimitMemory(t.Memory)
	f, err := t.function()
	if err != nil {
		return worker.Report{Failed: err.Error()}
	}
	if t.Check {
		return worker.Report{}
	}
	result, err := json.Marshal(t.call(f))
	if err != nil {
		return worker.Report{Failed: err.Error()}
	}
	return worker.Report{Result: string(result)}
}

// function is the script's, compiled once in a child.
func (t scriptTask) function() (*starlark.Function, error) {
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
	if len(compiledScripts) == maxVerifiers {
		clear(compiledScripts)
	}
	compiledScripts[key] = f
	return f, nil
}

// call is the script's verdict on the completion.
func (t scriptTask) call(f *starlark.Function) verify.Verdict {
	row, err := rowValue(verify.Problem{ID: t.Row.ID, Question: t.Row.Question, Answer: t.Row.Answer, Metadata: t.Row.Metadata})
	if err != nil {
		return verify.Abstain("%v", err)
	}
	var result starlark.Value
	err = t.within(func(thread *starlark.Thread) (err error) {
		result, err = starlark.Call(thread, f, starlark.Tuple{row, starlark.String(t.Completion)}, nil)
		return err
	})
	if err != nil {
		return verify.Abstain("%v", err)
	}
	return t.verdict(result)
}

// within runs the script within its limits.
func (t scriptTask) within(do func(*starlark.Thread) error) error {
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

// verdict reads True or False, a number in range, None for not scored, or one of
// them with a reason and a dict of named numbers, or either of the two after it:
// (0.5, "one of two", {"blocks": 2}).
func (t scriptTask) verdict(result starlark.Value) verify.Verdict {
	reason := "" // the script's
	var values map[string]float64
	if all, ok := result.(starlark.Tuple); ok && len(all) > 1 {
		rest := all[1:]
		if text, ok := rest[0].(starlark.String); ok {
			reason, rest = short(string(text)), rest[1:]
		}
		if len(rest) == 1 {
			var why string
			if values, why = namedNumbers(rest[0]); why != "" {
				return verify.Abstain("%s: reward() returned %s", t.File, why)
			}
			rest = nil
		}
		if len(rest) == 0 {
			result = all[0]
		}
	}
	v := t.score(result, reason)
	v.Values = values
	return v
}

// maxNamed bounds the numbers that a script gives beside a score.
const maxNamed = 32

// namedNumbers reads a dict of finite numbers by name; why says what is wrong with it.
func namedNumbers(value starlark.Value) (named map[string]float64, why string) {
	dict, ok := value.(*starlark.Dict)
	switch {
	case !ok:
		return nil, fmt.Sprintf("%s after the score; accepted: a text, a dict of numbers", value.Type())
	case dict.Len() > maxNamed:
		return nil, fmt.Sprintf("%d named numbers; accepted: at most %d", dict.Len(), maxNamed)
	}
	named = map[string]float64{}
	for _, item := range dict.Items() {
		name, _ := starlark.AsString(item[0])
		x, ok := starlark.AsFloat(item[1])
		if !ok || math.IsNaN(x) || math.IsInf(x, 0) || !nameShape.MatchString(name) {
			return nil, short(fmt.Sprintf("the named number %s: %s; accepted: a name of lower-case letters, digits and _, and a finite number", item[0].Type(), item[1].Type()))
		}
		named[name] = x
	}
	return named, ""
}

// score reads the first value that a script returns.
func (t scriptTask) score(result starlark.Value, reason string) verify.Verdict {
	var value float64
	switch r := result.(type) {
	case starlark.NoneType:
		return verify.Abstain("%s", or(reason, t.File+" says None"))
	case starlark.Bool:
		if r {
			return verify.Accept("", "starlark", "%s", or(reason, t.File+" says True"))
		}
		return verify.Reject("", "starlark", "%s", or(reason, t.File+" says False"))
	case starlark.Int, starlark.Float:
		value, _ = starlark.AsFloat(r)
	default:
		return verify.Abstain("%s: reward() returned %s; accepted: a number, True, False, None, or one of them with a text, a dict of numbers, or both", t.File, result.Type())
	}
	switch {
	case !(value >= t.Low && value <= t.High):
		return verify.Abstain("%s: reward() returned %v, but its range is %v to %v", t.File, value, t.Low, t.High)
	case value == 1:
		return verify.Accept("", "starlark", "%s", or(reason, t.File+" says 1"))
	case value == 0:
		return verify.Reject("", "starlark", "%s", or(reason, t.File+" says 0"))
	}
	return verify.Verdict{Score: value, Verdict: verify.Graded, Reason: or(reason, fmt.Sprintf("%s says %v", t.File, value)), Rule: "starlark"}
}

func or(text, fallback string) string {
	if text == "" {
		return fallback
	}
	return text
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

// rowValue is a task's row as a script sees it: row.id, row.question, row.answer
// and row.metadata, a dict.
func rowValue(row verify.Problem) (starlark.Value, error) {
	metadata := starlark.NewDict(len(row.Metadata))
	for _, key := range slices.Sorted(maps.Keys(row.Metadata)) {
		dec := json.NewDecoder(bytes.NewReader(row.Metadata[key]))
		dec.UseNumber()
		var v any
		if err := dec.Decode(&v); err != nil {
			return nil, fmt.Errorf("%q of the row is not JSON: %w", key, err)
		}
		if err := metadata.SetKey(starlark.String(key), jsonValue(v)); err != nil {
			return nil, err
		}
	}
	return starlarkstruct.FromStringDict(starlark.String("row"), starlark.StringDict{
		"id": starlark.String(row.ID), "question": starlark.String(row.Question), "answer": starlark.String(row.Answer), "metadata": metadata,
	}), nil
}

func jsonValue(v any) starlark.Value {
	switch v := v.(type) {
	case bool:
		return starlark.Bool(v)
	case string:
		return starlark.String(v)
	case json.Number:
		if i, ok := new(big.Int).SetString(v.String(), 10); ok {
			return starlark.MakeBigInt(i)
		}
		f, _ := v.Float64() // beyond float64: an infinity
		return starlark.Float(f)
	case []any:
		list := make([]starlark.Value, len(v))
		for i := range v {
			list[i] = jsonValue(v[i])
		}
		return starlark.NewList(list)
	case map[string]any:
		d := starlark.NewDict(len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			_ = d.SetKey(starlark.String(key), jsonValue(v[key])) // fails on frozen dicts and keys without a hash only
		}
		return d
	}
	return starlark.None
}
