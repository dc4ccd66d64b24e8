package reward

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/rlzero/rlzero/internal/worker"
	"github.com/rlzero/rlzero/verify"
)

// Bounds of a script; those that count what it does are in starlark_run.go.
const (
	MaxScriptBytes = 64 << 10 // of its source
	maxTextBytes   = 1 << 20  // of a completion; a longer one is wrong unread
)

// Limits of a child; tests have lower ones.
var (
	maxScriptTime   = 4 * time.Second // of processor time, for a completion or for the script's top level
	maxScriptMemory = 512 << 20       // bytes
)

// maxScriptWait is the limit by the clock, for a child that gets no processor.
const maxScriptWait = time.Minute

const scriptEngine = "starlark"

var scriptPool = worker.NewPool(scriptEngine)

// script is a verifier that the user wrote: the function reward(row, completion)
// of a Starlark file. It is called in a child of this binary.
type script struct {
	file, source string
	low, high    float64
}

// scriptTask is what a child is told: to check the script's text, or to call it.
type scriptTask struct {
	File, Source string
	Low, High    float64
	Time         time.Duration // maxScriptTime and maxScriptMemory
	Memory       int
	Check        bool // the text alone
	Row          taskRow
	Completion   []byte // a text, UTF-8 or not
}

// taskRow is the row of a completion.
type taskRow struct {
	ID, Question, Answer string
	Metadata             map[string]json.RawMessage
}

// newScript has a child compile a script and run its top level. Equal calls give
// equal results: there is no clock, no randomness, no file and no load().
func newScript(d Verifier) (verify.Verifier, error) {
	s := script{file: d.Starlark, source: d.Source, low: d.Range[0], high: d.Range[1]}
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
	if _, err := s.ask(scriptTask{Check: true}); err != nil {
		return nil, err
	}
	return s, nil
}

// Verify implements [verify.Verifier]. What the script does wrong is not scored.
func (s script) Verify(row verify.Problem, completion string) verify.Verdict {
	if len(completion) > maxTextBytes {
		v := verify.Reject("", "starlark", "the completion has %d bytes: at most %d are read", len(completion), maxTextBytes)
		v.Score = s.low
		return v
	}
	v, err := s.ask(scriptTask{Row: taskRow{row.ID, row.Question, row.Answer, row.Metadata}, Completion: []byte(completion)})
	if err != nil {
		return verify.Abstain("%v", err)
	}
	return v
}

// ask gives a child a task with this script. The error is what the script does wrong,
// or why it cannot be run.
func (s script) ask(t scriptTask) (verify.Verdict, error) {
	t.File, t.Source, t.Low, t.High, t.Time, t.Memory = s.file, s.source, s.low, s.high, maxScriptTime, maxScriptMemory
	report, err := scriptPool.Do(t, maxScriptWait)
	switch {
	case errors.Is(err, worker.ErrTime), errors.Is(err, worker.ErrDied):
		err = t.overLimit()
	case err != nil:
		err = fmt.Errorf("%s cannot be run: %w", s.file, err)
	case report.Failed != "":
		err = errors.New(report.Failed)
	}
	var v verify.Verdict
	if err == nil && !t.Check {
		err = json.Unmarshal([]byte(report.Result), &v)
	}
	if v.Verdict == verify.NotScored {
		v.Score = math.NaN() // JSON has no word for it
	}
	return v, err
}

// overLimit is the error of a script whose child met a limit. A script that takes more
// and more meets one or the other by chance, so both have the same text.
func (t scriptTask) overLimit() error {
	return fmt.Errorf("%s: more than %v of processor time or %d MiB of memory", t.File, t.Time, t.Memory>>20)
}
