package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"time"

	"github.com/rlzero/rlzero/internal/worker"
	"github.com/rlzero/rlzero/verify"
)

// Bounds of what it reads; those that count what it does are in run.go.
const maxTextBytes = 1 << 20 // of a completion; a longer one is wrong unread

// Limits of a child; tests have lower ones.
var (
	maxTime   = 4 * time.Second // of processor time, for a completion or for the script's top level
	maxMemory = 512 << 20       // bytes
)

// maxWait is the limit by the clock, for a child that gets no processor.
const maxWait = time.Minute

const engine = "starlark"

var pool = worker.NewPool(engine)

func init() {
	verify.Register(verify.Entry{
		Name:    engine,
		Summary: "a function of your own, reward(row, completion) in Starlark",
		Doc:     doc,
		New: func(raw json.RawMessage) (verify.Verifier, error) {
			o := options{Range: [2]float64{0, 1}}
			if err := verify.DecodeOptions(raw, &o); err != nil {
				return nil, err
			}
			s := Script{File: o.File, Source: o.Source, Low: o.Range[0], High: o.Range[1]}
			if s.Source == "" && o.File != "" {
				var err error
				if s.Source, err = verify.ReadScript(o.File); err != nil {
					return nil, err
				}
			}
			if s.File != "" {
				s.File = filepath.Base(s.File)
			}
			if s.Source == "" {
				return nil, errors.New("it has no script: give the option file, or in a recipe task.starlark = \"FILE\"")
			}
			return New(s)
		},
		Paths:  map[string]string{"file": ""},
		Script: "file",
	})
}

const doc = `starlark: the score that a function of your own returns.

   def reward(row, completion):
       return completion.strip() == row["answer"]

It returns True or False, a number, or None for a completion that is not to be scored. After that
it may give a text, the reason, and a dict of numbers, which a reward can name:
return 0.5, "one of two", {"blocks": 2}.

row["answer"] or row.answer, row.question and row.id come from the row. row["NAME"] is any other
column, row.get("NAME") is None if there is no such column, and "NAME" in row says whether there
is one. Starlark is a small dialect of Python without files, network, clock or random numbers
(https://github.com/google/starlark-go/blob/master/doc/spec.md). It has the modules

   json   decode(text), encode(value)
   math   sqrt, floor, log, pow ... (https://pkg.go.dev/go.starlark.net/lib/math)
   re     search, match, fullmatch(pattern, text): None, or the text that matches and its groups;
          findall(pattern, text), split(pattern, text), sub(pattern, replacement, text).
          Patterns are RE2's, which take linear time (https://github.com/google/re2/wiki/Syntax)

Options
file    the script; a recipe has task.starlark = "FILE" for verifier and option
source  its text, in place of a file; the recipe of a run has it
range   smallest and largest number that it returns. Default [0, 1].

A completion may take 1,000,000 steps and 4 s of processor time; the completions of a step of a
run may take 100,000 steps each on average. Not scored: a completion on which the script fails. A
model may learn to make it fail, so return 0 for what cannot be read.
`

// options are those of the verifier "starlark".
type options struct {
	File   string     `toml:"file"`
	Source string     `toml:"source"`
	Range  [2]float64 `toml:"range"`
}

// Script is the text of a script.
type Script struct {
	File      string  // its name in messages
	Source    string  //
	Low, High float64 // what it may return
}

// task is what a child is told: to check the script's text, or to call it.
type task struct {
	Script
	Time       time.Duration // maxTime and maxMemory
	Memory     int
	Check      bool // the text alone
	Row        taskRow
	Completion []byte // a text, UTF-8 or not
}

// taskRow is the row of a completion.
type taskRow struct {
	ID, Question, Answer string
	Metadata             map[string]json.RawMessage
}

// answer is what a child says of a completion.
type answer struct {
	Verdict verify.Verdict
	Steps   uint64
}

// New has a child compile a script and run its top level. Equal calls give
// equal results: there is no clock, no randomness, no file and no load().
func New(s Script) (verify.Verifier, error) {
	if s.File == "" {
		s.File = "script.star"
	}
	switch {
	case s.Source == "":
		return nil, fmt.Errorf("%s has no text", s.File)
	case len(s.Source) > verify.MaxScriptBytes:
		return nil, fmt.Errorf("%s has %d bytes; accepted: at most %d", s.File, len(s.Source), verify.MaxScriptBytes)
	case !(s.Low < s.High) || math.IsInf(s.High-s.Low, 0):
		return nil, fmt.Errorf("range = [%v, %v]; accepted: two finite numbers, the first below the second", s.Low, s.High)
	}
	if _, _, err := s.ask(task{Check: true}); err != nil {
		return nil, err
	}
	return s, nil
}

// Verify implements [verify.Verifier]. What the script does wrong is not scored.
func (s Script) Verify(row verify.Problem, completion string) verify.Verdict {
	v, _ := s.Metered(row, completion)
	return v
}

// Metered implements [verify.Metered].
func (s Script) Metered(row verify.Problem, completion string) (verify.Verdict, verify.Cost) {
	if len(completion) > maxTextBytes {
		v := verify.Reject("", engine, "the completion has %d bytes: at most %d are read", len(completion), maxTextBytes)
		v.Score = s.Low
		return v, verify.Cost{}
	}
	v, cost, err := s.ask(task{Row: taskRow{row.ID, row.Question, row.Answer, row.Metadata}, Completion: []byte(completion)})
	if err != nil {
		return verify.Abstain("%v", err), cost
	}
	return v, cost
}

// ask gives a child a task with this script. The error is what the script does wrong,
// or why it cannot be run.
func (s Script) ask(t task) (verify.Verdict, verify.Cost, error) {
	t.Script, t.Time, t.Memory = s, maxTime, maxMemory
	report, err := pool.Do(t, maxWait)
	cost := verify.Cost{Time: report.Used}
	switch {
	case errors.Is(err, worker.ErrTime), errors.Is(err, worker.ErrDied):
		cost.Time = t.Time
		err = t.overLimit()
	case err != nil:
		err = fmt.Errorf("%s cannot be run: %w", s.File, err)
	case report.Failed != "":
		err = errors.New(report.Failed)
	}
	var a answer
	if err == nil && !t.Check {
		err = json.Unmarshal([]byte(report.Result), &a)
		cost.Steps = int(a.Steps)
	}
	if a.Verdict.Verdict == verify.NotScored {
		a.Verdict.Score = math.NaN() // JSON has no word for it
	}
	return a.Verdict, cost, err
}

// overLimit is the error of a script whose child met a limit. A script that takes more
// and more meets one or the other by chance, so both have the same text.
func (t task) overLimit() error {
	return fmt.Errorf("%s: more than %v of processor time or %d MiB of memory", t.File, t.Time, t.Memory>>20)
}
