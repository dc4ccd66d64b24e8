package audit

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/record"
	"github.com/rlzero/rlzero/rl/resolve"
	"github.com/rlzero/rlzero/rl/reward"
	"github.com/rlzero/rlzero/rl/tasks"
	"github.com/rlzero/rlzero/verify"
)

// Run audits the completions of a run: the task's verdict, and the verifiers
// that its rewards name besides. Problems are drawn again from the run's recipe;
// no device is needed.
func Run(dir string, o Options) (*Report, error) {
	r, err := recipe.Load(filepath.Join(dir, recipe.File), nil)
	if err != nil {
		return nil, err
	}
	against, err := againstOf(o)
	if err != nil {
		return nil, err
	}
	opened, err := resolve.OpenAgain(r, o.Told)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	pair, err := runPair(opened.Source, r.Task.Demonstrator(), against)
	if err != nil {
		return nil, err
	}
	parts, judges, err := stageParts(opened.Recipe)
	if err != nil {
		return nil, err
	}
	a := newAuditor(dir, o.Limit)
	again, err := NewRedraw(dir, opened.Recipe, opened.Source)
	if err != nil {
		return nil, err
	}
	err = record.Each(filepath.Join(dir, record.CompletionsFile), func(_ int, line record.Completion) error {
		where := fmt.Sprintf("step %d, group %d, sample %d", line.Step, line.Group, line.Sample)
		if line.Turns != nil {
			a.lose(where, "it is an episode, which its world judged as it was played")
			return nil
		}
		row, st, err := again.Row(line)
		if err != nil {
			a.lose(where, err.Error())
			return nil
		}
		s := sample{Where: where, Row: row, Completion: line.Text, Ended: line.Stop == "eos" || line.Stop == "stop", First: pair.first, Second: pair.second, Stored: line.Verdict}
		if st.RL.Reward == "task" {
			s.StoredScore = line.Reward
		}
		a.add(s)
		for _, part := range parts[st.Name] {
			a.add(sample{Where: where, Row: row, Completion: line.Text, Ended: s.Ended, First: part.first, Second: part.second, Again: true})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	a.report.Judges = judges
	return a.end(), nil
}

// stageParts are the verifiers that the stages declare, by stage, and the names of those that ask a model.
func stageParts(r *recipe.Recipe) (parts map[string][]graderPair, judges []string, err error) {
	parts = map[string][]graderPair{}
	for _, st := range r.Stages {
		for _, declared := range st.Verifiers {
			name := fmt.Sprintf("%s of stage %s", declared.Name, st.Name)
			program, err := reward.Compile(declared.Name, []reward.Verifier{declared})
			if err != nil {
				return nil, nil, fmt.Errorf("%w: stage %s: %w", lines.ErrInput, st.Name, err)
			}
			if _, asks := program.Verifiers()[0].(verify.Asking); asks {
				judges = append(judges, name)
				continue
			}
			pair := graderPair{first: ofFunc(name, declared.Verifier, func(row verify.Problem, completion string, _ bool) verify.Verdict {
				return program.Judge(row, completion)[0]
			})}
			if second, with, ok := second(declared.Verifier, declared.Options); ok {
				g, err := newGrader(second, with)
				if err != nil {
					return nil, nil, err
				}
				g.Aside = true
				pair.second = &g
			}
			parts[st.Name] = append(parts[st.Name], pair)
		}
	}
	return parts, judges, nil
}

// runPair is a task's own verdict and, unless another is named, a second one: of
// a demonstrator the same where the form is right as well, which its verdict may not
// ask for; of another task or a file the one that Second names.
func runPair(t prompts.Source, demonstrator tasks.Demonstrator, against *grader) (graderPair, error) {
	name, options := t.Grader()
	if train, _ := t.Rows(); train != nil {
		pair, err := newPair(name, options, against)
		pair.first = ofFunc(pair.first.Name, name, t.Verify) // which also asks for an end
		return pair, err
	}
	first := ofFunc(name, name, t.Verify)
	if against != nil {
		return graderPair{first, against}, nil
	}
	if demonstrator != nil {
		formed := ofFunc(name+", valid", name, func(row verify.Problem, completion string, ended bool) verify.Verdict {
			v := t.Verify(row, completion, ended)
			if v.Verdict == verify.Right && !demonstrator.Valid(row, completion, ended) {
				return verify.Reject(v.Extracted, v.Rule, "%s, but the working is not right", v.Reason)
			}
			return v
		})
		formed.Aside = true
		return graderPair{first, &formed}, nil
	}
	second, with, _ := second(name, nil)
	g, err := newGrader(second, with)
	g.Aside = true
	return graderPair{first, &g}, err
}

// Redraw draws the problems of a run again.
type Redraw struct {
	recipe *recipe.Recipe
	source prompts.Source
	began  map[string]int   // first step of each stage, counted over the run
	stage  string           // of rows
	step   int              // of rows
	rows   []verify.Problem // problems of the step that came last
	first  int              // group of the step with the first of rows: those before are of made rows

	made map[string]verify.Problem // rows that the run has made, by id
}

// NewRedraw draws those of a recipe from its source, and reads those that the run in a folder has made.
func NewRedraw(dir string, r *recipe.Recipe, source prompts.Source) (*Redraw, error) {
	d := &Redraw{recipe: r, source: source, began: map[string]int{}, made: map[string]verify.Problem{}}
	if !r.MakesRows() {
		return d, nil
	}
	_, err := record.EachMade(filepath.Join(dir, record.MadeFile), func(_ int, _ []byte, m record.Made) (err error) {
		d.made[m.ID], err = prompts.Made(m.ID, m.Row)
		return err
	})
	return d, err
}

// Row is the problem of a completion, and its stage. Completions are asked for in the order of the log, from
// its first line on.
func (d *Redraw) Row(line record.Completion) (verify.Problem, *recipe.Stage, error) {
	i := slices.IndexFunc(d.recipe.Stages, func(st recipe.Stage) bool { return st.Name == line.Stage && st.Draws() })
	if i < 0 {
		return verify.Problem{}, nil, fmt.Errorf("the recipe has no stage %q that draws completions", line.Stage)
	}
	st := &d.recipe.Stages[i]
	if _, known := d.began[line.Stage]; !known {
		d.began[line.Stage] = line.Step
	}
	if d.rows == nil || d.stage != line.Stage || d.step != line.Step {
		d.stage, d.step, d.first = line.Stage, line.Step, 0
		d.rows = prompts.Step(d.source, d.recipe.Seed, random.Stream(random.Draw, i), line.Step-d.began[line.Stage], st.RL.PromptsPerStep)
	}
	if row, made := d.made[line.PromptID]; made && row.Question == line.Prompt && len(st.Sources) > 0 {
		d.first = line.Group + 1
		return row, st, nil
	}
	k := line.Group - d.first
	if k < 0 || k >= len(d.rows) {
		return verify.Problem{}, nil, fmt.Errorf("the group is out of range: the recipe has %d prompts in a step", len(d.rows))
	}
	row := d.rows[k]
	if row.ID != line.PromptID || row.Question != line.Prompt {
		return verify.Problem{}, nil, fmt.Errorf("the recipe draws the problem %q here, but the line has %q: it comes from another recipe or an older program", row.ID, line.PromptID)
	}
	return row, st, nil
}
