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

	"github.com/rlzero/rlzero/verify"
)

// Budgets of a script. A million steps take some ten milliseconds.
const (
	MaxScriptBytes = 64 << 10 // of its source
	maxSteps       = 1_000_000
	maxTextBytes   = 1 << 20  // of a completion; a longer one is wrong unread
	maxGrowth      = 64 << 20 // bytes of what + * % << make in one call
	maxInteger     = 4096     // bytes of a whole number that is made by them
	maxRange       = 1 << 20  // numbers of a range(): functions that go through one count as one step
)

// script is a verifier that the user wrote: the function reward(row, completion)
// of a Starlark file. Its globals are frozen, so calls share nothing.
type script struct {
	file      string
	function  *starlark.Function
	low, high float64
}

// newScript compiles a script and runs its top level. Equal calls give equal
// results: there is no clock, no randomness, no file and no load().
func newScript(d Verifier) (verify.Verifier, error) {
	s := script{file: d.Starlark, low: d.Range[0], high: d.Range[1]}
	if s.file == "" {
		s.file = d.Name + ".star"
	}
	if s.low == 0 && s.high == 0 {
		s.high = 1
	}
	switch {
	case d.Source == "":
		return nil, fmt.Errorf("%s has no text", s.file)
	case len(d.Source) > MaxScriptBytes:
		return nil, fmt.Errorf("%s has %d bytes; accepted: at most %d", s.file, len(d.Source), MaxScriptBytes)
	case !(s.low < s.high) || math.IsInf(s.high-s.low, 0):
		return nil, fmt.Errorf("range = [%v, %v]; accepted: two finite numbers, the first below the second", s.low, s.high)
	}
	file, err := (&syntax.FileOptions{Set: true, TopLevelControl: true}).Parse(s.file, d.Source, 0)
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
		return nil, fmt.Errorf("%s: load() is not accepted: a script stands alone", s.file)
	}
	globals, err := program.Init(newThread(s.file), predeclared)
	if err != nil {
		return nil, errors.New(s.explain(err))
	}
	globals.Freeze()
	f, ok := globals["reward"].(*starlark.Function)
	if !ok || f.NumParams() != 2 || f.HasVarargs() || f.HasKwargs() || f.NumKwonlyParams() > 0 {
		return nil, fmt.Errorf("%s has no function reward(row, completion)", s.file)
	}
	s.function = f
	return s, nil
}

func newThread(name string) *starlark.Thread {
	t := &starlark.Thread{Name: name, Print: func(*starlark.Thread, string) {}}
	t.SetMaxExecutionSteps(maxSteps)
	left := maxGrowth
	t.SetLocal(growthLeft, &left)
	return t
}

// Verify implements [verify.Verifier]. What the script does wrong is not scored.
func (s script) Verify(row verify.Problem, completion string) verify.Verdict {
	if len(completion) > maxTextBytes {
		v := verify.Reject("", "starlark", "the completion has %d bytes: at most %d are read", len(completion), maxTextBytes)
		v.Score = s.low
		return v
	}
	given, err := rowValue(row)
	if err != nil {
		return verify.Abstain("%v", err)
	}
	result, err := starlark.Call(newThread(s.file), s.function, starlark.Tuple{given, starlark.String(completion)}, nil)
	if err != nil {
		return verify.Abstain("%s", s.explain(err))
	}
	return s.verdict(result)
}

// verdict reads True or False, a number in range, None for not scored, or one of
// them with a reason: (0.5, "one of two").
func (s script) verdict(result starlark.Value) verify.Verdict {
	reason := "" // the script's
	if t, ok := result.(starlark.Tuple); ok && len(t) == 2 {
		if text, ok := t[1].(starlark.String); ok {
			result, reason = t[0], short(string(text))
		}
	}
	value := math.NaN()
	switch r := result.(type) {
	case starlark.NoneType:
		return verify.Abstain("%s", or(reason, s.file+" says None"))
	case starlark.Bool:
		if r {
			return verify.Accept("", "starlark", "%s", or(reason, s.file+" says True"))
		}
		return verify.Reject("", "starlark", "%s", or(reason, s.file+" says False"))
	case starlark.Int, starlark.Float:
		value, _ = starlark.AsFloat(r)
	default:
		return verify.Abstain("%s: reward() gave %s, accepted are a number, True, False, None, or a pair of one of them and a text", s.file, result.Type())
	}
	switch {
	case !(value >= s.low && value <= s.high):
		return verify.Abstain("%s: reward() gave %v, its range is %v to %v", s.file, value, s.low, s.high)
	case value == 1:
		return verify.Accept("", "starlark", "%s", or(reason, s.file+" says 1"))
	case value == 0:
		return verify.Reject("", "starlark", "%s", or(reason, s.file+" says 0"))
	}
	return verify.Verdict{Score: value, Verdict: verify.Graded, Reason: or(reason, fmt.Sprintf("%s says %v", s.file, value)), Rule: "starlark"}
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
func (s script) explain(err error) string {
	text := err.Error()
	var failed *starlark.EvalError
	if !errors.As(err, &failed) {
		return short(text)
	}
	if strings.Contains(text, "too many steps") {
		text = fmt.Sprintf("more than %d steps", maxSteps)
	}
	for _, frame := range slices.Backward(failed.CallStack) {
		if frame.Pos.Filename() == s.file {
			return short(fmt.Sprintf("%s:%d: %s", s.file, frame.Pos.Line, text))
		}
	}
	return short(s.file + ": " + text)
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
			return nil, fmt.Errorf("%q of the row is no JSON: %w", key, err)
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
