package train

import (
	"cmp"
	"encoding/json"
	"io"
	"strings"

	"github.com/rlzero/rlzero/rl/algo"
	"github.com/rlzero/rlzero/rl/formula"
	"github.com/rlzero/rlzero/verify"
)

// statesFile keeps the states of the method in a checkpoint.
func (f *facts) statesFile() string {
	if f.beside() {
		return "models/" + f.stage.Learner() + ".states.json"
	}
	return "trainer/states.json"
}

// Save implements cast.Keeper.
func (f *facts) Save() (map[string]func(io.Writer) error, error) {
	files := map[string]func(io.Writer) error{}
	if len(f.method.Method.State) > 0 {
		files[f.statesFile()] = f.states.Save
	}
	return files, nil
}

// Load implements cast.Keeper.
func (f *facts) Load(dir string) error {
	if len(f.method.Method.State) == 0 {
		return nil
	}
	f.states = algo.States{}
	return readJSON(dir, f.statesFile(), &f.states)
}

// afterStep moves states of the method, if it has any. The problems are those of the table's groups.
func (f *facts) afterStep(t *formula.Table, problems []verify.Problem) error {
	if len(f.method.Method.State) == 0 {
		return nil
	}
	if err := f.states.AfterStep(f.method, t, keysOf(problems)); err != nil {
		return f.blamed(err)
	}
	return nil
}

// afterUpdate moves states of the method, if it has any. The problems are those of the step's groups.
func (f *facts) afterUpdate(u *algo.Update, problems []verify.Problem) error {
	if len(f.method.Method.State) == 0 {
		return nil
	}
	if err := f.states.AfterUpdate(u, keysOf(problems)); err != nil {
		return f.blamed(err)
	}
	return nil
}

// problemsOf are those of the groups that completions belong to, in the order in which tables
// number them.
func problemsOf(cs []Completion) []verify.Problem {
	var problems []verify.Problem
	last := -1
	for i := range cs {
		if cs[i].Group == last {
			continue
		}
		last = cs[i].Group
		problems = append(problems, cs[i].From.Problem)
	}
	return problems
}

// keysOf gives the keys of groups by their problems. A group without one has the key "".
func keysOf(problems []verify.Problem) func(by string) []string {
	return func(by string) []string {
		keys := make([]string, max(1, len(problems)))
		for i, p := range problems {
			keys[i] = keyBy(by, p)
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
