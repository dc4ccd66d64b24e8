package train

import (
	"cmp"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/rl/algo"
	"github.com/rlzero/rlzero/rl/formula"
	"github.com/rlzero/rlzero/verify"
)

// statesFile keeps the states of a method in a checkpoint.
const statesFile = "trainer/states.json"

// Save implements cast.Keeper.
func (s *learner) Save() (map[string]func(io.Writer) error, error) {
	files := map[string]func(io.Writer) error{}
	if len(s.method.Method.State) > 0 {
		files[statesFile] = s.states.Save
	}
	return files, nil
}

// Load implements cast.Keeper.
func (s *learner) Load(dir string) error {
	if len(s.method.Method.State) == 0 {
		return nil
	}
	s.states = algo.States{}
	return readJSON(dir, statesFile, &s.states)
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

// sampled lays out what moves the states after a step: all that was sampled in it, with the
// groups that a refill replaced, and nothing that is replayed. It is made before the updates,
// which change what models say of a token.
func (s *reinforcement) sampled(at Position, step *algo.StepValues, all gathered) (*formula.Table, error) {
	if len(all.refused)+all.stored == 0 || len(s.method.Method.State) == 0 {
		return step.Table, nil
	}
	return s.table(at, slices.Concat(all.cs, all.refused), s.reads)
}

// moveAfter moves the states and the record after a step, over what was sampled.
func (s *reinforcement) moveAfter(at Position, sampled *formula.Table, all gathered) error {
	s.Record.note(slices.Concat(all.cs, all.refused, s.aside.replaced), at.Total+1)
	return s.move(sampled, slices.Concat(all.cs, all.refused), nil, false)
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
			keys = append(keys, keyBy(by, cs[i].From.Problem))
		}
		return keys
	}
}

// keyBy is the key of a problem: of its prompt (row), or of a member of its row, however a
// file or a checkpoint spells its value.
func keyBy(by string, p verify.Problem) string {
	member, of := strings.CutPrefix(by, "row.")
	if !of {
		return keyOf(p)
	}
	if _, there := p.Metadata[member]; !there { // the answer or the question
		text, _ := p.Text(member)
		return text
	}
	var value any
	if err := json.Unmarshal(p.Metadata[member], &value); err != nil {
		return string(p.Metadata[member])
	}
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // what JSON has read it can write
	}
	return string(text)
}

// keyOf tells prompts apart.
func keyOf(p verify.Problem) string { return cmp.Or(p.ID, p.Question) }
