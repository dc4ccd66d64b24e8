package train

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/rl/algo"
	"github.com/rlzero/rlzero/rl/formula"
)

// statesFile keeps the states of a method in a checkpoint.
const statesFile = "trainer/states.json"

// Save implements cast.Keeper.
func (s *learner) Save() (map[string]func(io.Writer) error, error) {
	if len(s.method.Method.State) == 0 {
		return nil, nil
	}
	return map[string]func(io.Writer) error{statesFile: s.states.Save}, nil
}

// Load implements cast.Keeper.
func (s *learner) Load(dir string) error {
	if len(s.method.Method.State) == 0 {
		return nil
	}
	file := filepath.Join(dir, filepath.FromSlash(statesFile))
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	s.states = algo.States{}
	if err := json.Unmarshal(data, &s.states); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// move moves the states of the method, if it has any, after a step or after an update, of
// which rows are the completions of the step.
func (s *learner) move(t *formula.Table, cs []Completion, rows []bool, now bool) error {
	if len(s.method.Method.State) == 0 {
		return nil
	}
	if err := s.states.Move(s.method, t, keysOf(cs, rows), now); err != nil {
		return s.blamed(err)
	}
	return nil
}

// moveAfter moves the states after a step, over the groups that a refill replaced too.
func (s *reinforcement) moveAfter(at Position, step *algo.StepValues, all gathered) error {
	if len(all.refused) == 0 || len(s.method.Method.State) == 0 {
		return s.move(step.Table, all.cs, nil, false)
	}
	sampled := slices.Concat(all.cs, all.refused)
	t, err := s.table(at, sampled, s.method.Needs())
	if err != nil {
		return err
	}
	return s.move(t, sampled, nil, false)
}

// keysOf gives the keys of the groups that completions belong to, in the order in which
// tables number them; rows tells which completions are meant, nil: all.
func keysOf(cs []Completion, rows []bool) func(by string) []string {
	return func(by string) []string {
		var keys []string
		last := -1
		for i := range cs {
			if rows != nil && !rows[i] || cs[i].Group == last {
				continue
			}
			last = cs[i].Group
			problem := cs[i].From.Problem
			key := problem.ID
			if key == "" {
				key = problem.Question
			}
			if member, of := strings.CutPrefix(by, "row."); of {
				key = string(problem.Metadata[member])
			}
			keys = append(keys, key)
		}
		return keys
	}
}
