package train

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/rl/record"
)

// Schedule says which groups each step of the stages with order = "arrival" learned from. It is
// read from record.ScheduleFile.
type Schedule struct {
	name  string
	steps map[int][]record.Arrived
	by    map[[2]int]int // version of the weights, by step and prompt
	last  int            // step
}

// ReadSchedule reads a schedule; name is for errors. A last line that was cut short, as by a kill,
// is skipped.
func ReadSchedule(name string, in io.Reader) (*Schedule, error) {
	s := &Schedule{name: name, steps: map[int][]record.Arrived{}, by: map[[2]int]int{}}
	var cut error
	err := lines.Input(name, in, func(_ int, raw []byte) error {
		if cut != nil {
			return cut
		}
		var l record.Schedule
		if err := json.Unmarshal(raw, &l); err != nil {
			cut = fmt.Errorf("%w: %w", lines.ErrInput, err)
			return nil
		}
		return s.add(l)
	})
	return s, err
}

func (s *Schedule) add(l record.Schedule) error {
	if l.Step <= s.last {
		return fmt.Errorf("%w: step %d follows step %d; accepted: steps from 1 on, ascending", lines.ErrInput, l.Step, s.last)
	}
	if len(l.Groups) == 0 {
		return fmt.Errorf("%w: step %d has no groups", lines.ErrInput, l.Step)
	}
	for _, g := range l.Groups {
		at := [2]int{g.Step, g.Prompt}
		if _, twice := s.by[at]; twice {
			return fmt.Errorf("%w: step %d has prompt %d of step %d, which an earlier line has too", lines.ErrInput, l.Step, g.Prompt, g.Step)
		}
		s.by[at] = g.Version
	}
	s.steps[l.Step], s.last = l.Groups, l.Step
	return nil
}

// Last is the last step that the schedule has; 0: it has none.
func (s *Schedule) Last() int { return s.last }

// Groups are those of a step of the run; nil: the schedule ends before.
func (s *Schedule) Groups(step int) []record.Arrived {
	if s == nil {
		return nil
	}
	return s.steps[step]
}
