package run

import (
	"errors"

	"github.com/rlzero/rlzero/internal/files"
	"github.com/rlzero/rlzero/rl/eval"
	"github.com/rlzero/rlzero/rl/lines"
	"github.com/rlzero/rlzero/rl/train"
)

// Kind says what happened.
type Kind uint8

// Kinds of events.
const (
	Began     Kind = iota // a stage begins, or continues
	Stepped               // a step is done
	Measuring             // an evaluation of all held-out problems begins
	Measured              // it is done
	Refused               // a step ended before its updates: nothing could be learnt
	Noted                 // something that people should be told
	Ended                 // the run ends
)

// Event is something that happened in a run.
type Event struct {
	Kind   Kind
	Stage  string         // its name
	At     train.Position // after the event
	Steps  int            // of the stage, as far as is known now
	When   string         // of an evaluation: before or after which stage
	Result *eval.Result   // of an evaluation
	*train.Event
}

// Observer is told everything that happens, in order, and changes nothing.
type Observer interface{ On(Event) error }

// tell tells the observers. The first error ends the run.
func (r *run) tell(e Event) error {
	for _, o := range r.observers {
		if err := o.On(e); err != nil {
			return err
		}
	}
	return nil
}

// recaller is an observer that looks back. A run that is resumed gives it the lines of
// metrics.jsonl of the steps that are not done again.
type recaller interface{ recall(line []byte) error }

// recall brings the observers that look back to where they were.
func (r *run) recall(file string) error {
	f, err := files.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	return lines.Each(file, f, func(_ int, line []byte) error {
		var errs []error
		for _, o := range r.observers {
			if o, ok := o.(recaller); ok {
				errs = append(errs, o.recall(line))
			}
		}
		return errors.Join(errs...)
	})
}
