package run

import (
	"github.com/rlzero/rlzero/rl/eval"
	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/record"
	"github.com/rlzero/rlzero/rl/train"
)

// kind says what happened.
type kind uint8

// Kinds of events.
const (
	began     kind = iota // a stage begins, or continues
	stepped               // a step is done
	measuring             // an evaluation of all held-out problems begins
	measured              // it is done
	refused               // a step ended before its updates: nothing could be learned
	ended                 // the run is done, or was interrupted
)

// event is something that happened in a run.
type event struct {
	Kind   kind
	Stage  string         // its name
	At     train.Position // after the event
	Steps  int            // of the stage, as far as is known now
	When   string         // of an evaluation: before or after which stage
	Result *eval.Result   // of an evaluation
	*train.Event
}

// observer is told everything that happens, in order, and changes nothing.
type observer interface{ on(event) error }

// tell tells the observers, which write into the run's folder. The first error ends the run.
func (r *run) tell(e event) error {
	if err := r.folder.Present(); err != nil {
		return err
	}
	for _, o := range r.observers {
		if err := o.on(e); err != nil {
			return err
		}
	}
	return nil
}

// recaller is an observer that looks back. A run that is resumed gives it the rows of
// metrics.jsonl of the steps that are not done again.
type recaller interface{ recall(metrics.Point) }

// recall brings the observers that look back to where they were.
func (r *run) recall(file string) error {
	return record.Raw(file, func(_ int, line []byte) error {
		p, err := metrics.Parse(line)
		for _, o := range r.observers {
			if o, ok := o.(recaller); ok && err == nil {
				o.recall(p)
			}
		}
		return err
	})
}
