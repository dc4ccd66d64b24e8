package rl

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/rlzero/rlzero/internal/files"
	"github.com/rlzero/rlzero/rl/audit"
	"github.com/rlzero/rlzero/rl/random"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/reward"
	"github.com/rlzero/rlzero/rl/tasks"
	"github.com/rlzero/rlzero/verify"
)

// AuditOptions say how an audit is done.
type AuditOptions struct {
	Verifier string // of lines that name none; not for a run
	Against  string // second grader, "NAME key=value ..."; "": the one that audit.Second names
	Limit    int    // examples of each kind
}

// AuditFile audits lines as Grade reads them. A line may hold the verdict that it
// once got ("verdict", and "score" or "reward"), and why it ended ("stop").
func AuditFile(name string, in io.Reader, o AuditOptions) (*audit.Report, error) {
	against, err := againstOf(o)
	if err != nil {
		return nil, err
	}
	a := audit.New(name, o.Limit)
	graders := map[string]graderPair{}
	err = eachLine(name, in, func(n int, raw []byte) error {
		line, err := verify.ReadLine(raw, o.Verifier)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrInput, err)
		}
		options, err := json.Marshal(line.Options)
		if err != nil {
			return err
		}
		key := line.Verifier + string(options)
		pair, known := graders[key]
		if !known {
			if pair, err = newPair(line.Verifier, line.Options, against); err != nil {
				return err
			}
			graders[key] = pair
		}
		var stored struct {
			Verdict, Stop string
			Score, Reward *float64
		}
		_ = json.Unmarshal(raw, &stored) // other things of these names are none
		if !slices.Contains(audit.Verdicts[:], stored.Verdict) {
			stored.Verdict = ""
		}
		score := stored.Score
		if score == nil {
			score = stored.Reward
		}
		a.Add(audit.Sample{
			Where: fmt.Sprintf("line %d", n), Row: line.Problem, Completion: line.Completion, Ended: stored.Stop != "length",
			First: pair.first, Second: pair.second, Stored: stored.Verdict, StoredScore: score,
		})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return a.Report(), nil
}

// graderPair is two graders, or one.
type graderPair struct {
	first  audit.Grader
	second *audit.Grader
}

// againstOf is the second grader that the user names; nil for none.
func againstOf(o AuditOptions) (*audit.Grader, error) {
	if o.Against == "" {
		return nil, nil
	}
	name, options, err := audit.ParseGrader(o.Against)
	if err != nil {
		return nil, fmt.Errorf("%w: --against: %w", ErrInput, err)
	}
	g, err := audit.NewGrader(name, options)
	if err != nil {
		return nil, fmt.Errorf("%w: --against: %w", ErrInput, err)
	}
	return &g, nil
}

func newPair(verifier string, options map[string]any, against *audit.Grader) (graderPair, error) {
	first, err := audit.NewGrader(verifier, options)
	if err != nil {
		return graderPair{}, fmt.Errorf("%w: %w", ErrInput, err)
	}
	if against != nil {
		return graderPair{first, against}, nil
	}
	name, with, ok := audit.Second(verifier, options)
	if !ok {
		return graderPair{first: first}, nil
	}
	second, err := audit.NewGrader(name, with)
	second.Aside = true
	return graderPair{first, &second}, err
}

// AuditRun audits the completions of a run: the task's verdict, and the verifiers
// that its rewards name besides. Problems are drawn again from the run's recipe;
// no device is needed.
func AuditRun(dir string, o AuditOptions) (*audit.Report, error) {
	r, err := recipe.Load(filepath.Join(dir, "recipe.toml"), nil)
	if err != nil {
		return nil, err
	}
	against, err := againstOf(o)
	if err != nil {
		return nil, err
	}
	pair, err := runPair(r.Task.Settings, against)
	if err != nil {
		return nil, err
	}
	parts, err := stageParts(r)
	if err != nil {
		return nil, err
	}
	name := filepath.Join(dir, "completions.jsonl")
	f, err := files.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInput, err)
	}
	defer f.Close()
	a, again := audit.New(dir, o.Limit), redraw{recipe: r, began: map[string]int{}}
	err = eachLine(name, f, func(_ int, raw []byte) error {
		var line completionLine
		const accepted = "a line of completions.jsonl"
		if err := decodeLine(raw, &line, accepted); err != nil {
			return err
		}
		where := fmt.Sprintf("step %d, group %d, sample %d", line.Step, line.Group, line.Sample)
		row, st, err := again.row(line)
		if err != nil {
			a.Lose(where, err.Error())
			return nil
		}
		s := audit.Sample{Where: where, Row: row, Completion: line.Completion, Ended: line.Stop == "eos", First: pair.first, Second: pair.second, Stored: line.Verdict}
		if st.RL.Reward == "task" {
			s.StoredScore = line.Reward
		}
		a.Add(s)
		for _, part := range parts[st.Name] {
			a.Add(audit.Sample{Where: where, Row: row, Completion: line.Completion, Ended: s.Ended, First: part.first, Second: part.second, Again: true})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return a.Report(), nil
}

// stageParts are the verifiers that the stages' rewards name, by stage.
func stageParts(r *recipe.Recipe) (map[string][]graderPair, error) {
	parts := map[string][]graderPair{}
	for _, st := range r.Stages {
		for _, declared := range st.Verifiers {
			program, err := reward.Compile(declared.Name, []reward.Verifier{declared})
			if err != nil {
				return nil, fmt.Errorf("%w: stage %s: %w", ErrInput, st.Name, err)
			}
			name := fmt.Sprintf("%s of stage %s", declared.Name, st.Name)
			pair := graderPair{first: audit.OfFunc(name, declared.Verifier, func(row verify.Problem, completion string, _ bool) verify.Verdict {
				return program.Judge(row, completion)[0]
			})}
			if second, with, ok := audit.Second(declared.Verifier, declared.Options); ok {
				g, err := audit.NewGrader(second, with)
				if err != nil {
					return nil, err
				}
				g.Aside = true
				pair.second = &g
			}
			parts[st.Name] = append(parts[st.Name], pair)
		}
	}
	return parts, nil
}

// runPair is a task's own verdict and, unless another is named, a second one: of
// a demonstrator the same where the form is right as well, which its verdict may not
// ask for; of another task or a file the one that audit.Second names.
func runPair(t tasks.Task, against *audit.Grader) (graderPair, error) {
	if file, ok := t.(*tasks.File); ok {
		verifier, options := file.Grader()
		pair, err := newPair(verifier, options, against)
		pair.first = audit.OfFunc(pair.first.Name, verifier, t.Verify) // which also asks for an end
		return pair, err
	}
	name := "task:" + t.Name()
	first := audit.OfFunc(name, name, t.Verify)
	if against != nil {
		return graderPair{first, against}, nil
	}
	if demonstrator, ok := t.(tasks.Demonstrator); ok {
		formed := audit.OfFunc(name+", in the right form", name, func(row verify.Problem, completion string, ended bool) verify.Verdict {
			v := t.Verify(row, completion, ended)
			if v.Verdict == verify.Right && !demonstrator.Valid(row, completion, ended) {
				return verify.Reject(v.Extracted, v.Rule, "%s, but the working is not right", v.Reason)
			}
			return v
		})
		formed.Aside = true
		return graderPair{first, &formed}, nil
	}
	second, with, _ := audit.Second(name, nil)
	g, err := audit.NewGrader(second, with)
	g.Aside = true
	return graderPair{first, &g}, err
}

// redraw draws the problems of a run again.
type redraw struct {
	recipe *recipe.Recipe
	began  map[string]int   // first step of each stage, counted over the run
	stage  string           // of rows
	step   int              // of rows
	rows   []verify.Problem // problems of the step that came last
}

// row is the problem of a completion, and its stage.
func (d *redraw) row(line completionLine) (verify.Problem, *recipe.Stage, error) {
	i := slices.IndexFunc(d.recipe.Stages, func(st recipe.Stage) bool { return st.Name == line.Stage && st.Kind == recipe.KindRL })
	if i < 0 {
		return verify.Problem{}, nil, fmt.Errorf("the recipe has no rl stage %q", line.Stage)
	}
	st := &d.recipe.Stages[i]
	if _, known := d.began[line.Stage]; !known {
		d.began[line.Stage] = line.Step
	}
	if d.rows == nil || d.stage != line.Stage || d.step != line.Step {
		d.stage, d.step = line.Stage, line.Step
		d.rows = problemsOf(d.recipe, random.Draw, i, line.Step-d.began[line.Stage], st.RL.PromptsPerStep)
	}
	if line.Group < 0 || line.Group >= len(d.rows) {
		return verify.Problem{}, nil, fmt.Errorf("the recipe has %d prompts in a step", len(d.rows))
	}
	row := d.rows[line.Group]
	if row.ID != line.PromptID || row.Question != line.Prompt {
		return verify.Problem{}, nil, fmt.Errorf("the recipe draws the problem %q there, the line has %q: it is of another recipe or an older program", row.ID, line.PromptID)
	}
	return row, st, nil
}
