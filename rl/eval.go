package rl

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/tasks"
	"github.com/rlzero/rlzero/verify"
)

// EvalOptions say what a model is evaluated on: the held-out problems of a task,
// or the rows of a file.
type EvalOptions struct {
	Task      string   // a task's name, or a recipe whose task is meant
	Set       []string // overrides of that recipe, PATH=VALUE
	Data      string   // JSON lines with question (or prompt) and answer
	Verifier  string   // for Data, unless its lines name theirs
	Problems  int
	N         int   // samples of each problem
	K         []int // for pass@k and maj@k
	MaxTokens int   // of a completion; 0: as the task's recipe has it, else DefaultMaxTokens
	Sampling  model.Sampling
}

// EvalResult is what eval --json prints, with pass@K and maj@K beside.
type EvalResult struct {
	Task       string
	Problems   int
	Samples    int
	Mean       float64
	MeanCI95   [2]float64
	Greedy     float64
	PassAt     map[int]float64
	MajAt      map[int]float64
	NotScored  int
	MeanTokens float64

	ks []int
}

// MarshalJSON writes the keys in the documented order; a figure that could not
// be measured is null.
func (r EvalResult) MarshalJSON() ([]byte, error) {
	var b strings.Builder
	put := func(key string, v any) {
		if b.Len() == 0 {
			b.WriteByte('{')
		} else {
			b.WriteByte(',')
		}
		if f, ok := v.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
			v = nil
		}
		raw, err := json.Marshal(v)
		if err != nil {
			raw = []byte("null") // an interval without problems
		}
		fmt.Fprintf(&b, "%q:%s", key, raw)
	}
	put("task", r.Task)
	put("n", r.Problems)
	put("samples", r.Samples)
	put("mean", r.Mean)
	put("mean_ci95", r.MeanCI95)
	for _, k := range r.ks {
		put(fmt.Sprintf("pass@%d", k), r.PassAt[k])
	}
	for _, k := range r.ks {
		put(fmt.Sprintf("maj@%d", k), r.MajAt[k])
	}
	put("greedy", r.Greedy)
	put("not_scored", r.NotScored)
	put("mean_tokens", r.MeanTokens)
	return []byte(b.String() + "}"), nil
}

// Table is the result for people.
func (r EvalResult) Table() string {
	var b strings.Builder
	line := func(name string, v float64, note string) {
		fmt.Fprintf(&b, "%-12s %6.1f %%  %s\n", name, 100*v, note)
	}
	fmt.Fprintf(&b, "%s: %d problems x %d samples\n", r.Task, r.Problems, r.Samples)
	line(fmt.Sprintf("mean@%d", r.Samples), r.Mean, fmt.Sprintf("95 %%: %.1f to %.1f", 100*r.MeanCI95[0], 100*r.MeanCI95[1]))
	for _, k := range r.ks {
		line(fmt.Sprintf("pass@%d", k), r.PassAt[k], "")
		line(fmt.Sprintf("maj@%d", k), r.MajAt[k], "")
	}
	line("greedy", r.Greedy, "")
	fmt.Fprintf(&b, "%-12s %6.1f tokens\n", "length", r.MeanTokens)
	if r.NotScored > 0 {
		fmt.Fprintf(&b, "%-12s %6d completions left out\n", "not scored", r.NotScored)
	}
	return b.String()
}

// Eval samples and judges.
func Eval(ctx context.Context, m *model.Model, o EvalOptions) (*EvalResult, error) {
	if m.Tokenizer == nil {
		return nil, fmt.Errorf("%w: the model's folder has no tokenizer.json", ErrInput)
	}
	s := &roller{tok: m.Tokenizer}
	var rows []verify.Problem
	var err error
	name := o.Data
	if o.Task != "" {
		name = o.Task
		rows, err = s.taskRows(&o)
	} else {
		rows, err = s.fileRows(o)
	}
	if err != nil {
		return nil, err
	}
	longest := 0
	for _, row := range rows {
		ids, err := s.tok.Encode(row.Question)
		if err != nil {
			return nil, fmt.Errorf("%w: prompt %q: %w", ErrInput, row.Question, err)
		}
		longest = max(longest, len(ids))
	}
	if o.MaxTokens, err = newTokens(m, longest, o.MaxTokens); err != nil {
		return nil, err
	}
	s.engine, err = m.NewEngine(model.EngineOptions{Sequences: max(o.N, sequencesAtOnce), Context: longest + o.MaxTokens})
	if err != nil {
		return nil, err
	}
	defer s.engine.Close()
	ev, err := s.evaluate(ctx, rows, o.N, o.MaxTokens, o.K, o.Sampling, true)
	if err != nil {
		return nil, err
	}
	return &EvalResult{Task: name, Problems: ev.Problems, Samples: ev.Samples, Mean: ev.Mean, MeanCI95: ev.MeanCI, Greedy: ev.Greedy,
		PassAt: ev.PassAt, MajAt: ev.MajAt, NotScored: ev.NotScored, MeanTokens: ev.Tokens, ks: o.K}, nil
}

// taskRows are the held-out problems of a task: a family with its default
// settings, or the task of a recipe. It settles how long completions may be if
// nobody has said so.
func (s *roller) taskRows(o *EvalOptions) ([]verify.Problem, error) {
	longest := 0
	t, err := tasks.New(o.Task)
	if err == nil && len(o.Set) > 0 {
		return nil, fmt.Errorf("%w: --set changes a recipe and %s is a task: give --task RECIPE --set task.settings.KEY=VALUE", ErrInput, o.Task)
	}
	if err != nil {
		r, recipeErr := recipe.Load(o.Task, o.Set)
		if recipeErr != nil {
			return nil, fmt.Errorf("--task %s is neither a task with its default settings (see rlzero tasks) nor a recipe: %w", o.Task, recipeErr)
		}
		t = r.Task.Settings
		for i := range r.Stages {
			longest = max(longest, r.MaxCompletion(&r.Stages[i]))
		}
	}
	s.verdict = t.Verify
	if demonstrator, ok := t.(tasks.Demonstrator); ok {
		s.form = demonstrator.Valid
		longest = max(longest, demonstrator.CompletionTokens())
	}
	o.MaxTokens = cmp.Or(o.MaxTokens, longest)
	if file, ok := t.(*tasks.File); ok {
		o.Problems = min(o.Problems, file.HeldOut())
	}
	rows, err := tasks.HeldOutRows(t, o.Problems)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInput, err)
	}
	return rows, nil
}

// fileRows reads the rows of a file; each is judged by its "verifier" or the
// one of the options.
func (s *roller) fileRows(o EvalOptions) ([]verify.Problem, error) {
	verifiers := map[string]verify.Verifier{}
	var rows []verify.Problem
	_, err := tasks.ReadRows(o.Data, func(row verify.Problem) error {
		name := verifierOf(row, o.Verifier)
		if name == "" {
			return errors.New(`no verifier is named: give --verifier NAME or "verifier" in the line; see rlzero verifiers`)
		}
		if verifiers[name] == nil {
			v, err := verify.New(name, nil)
			if err != nil {
				return err
			}
			verifiers[name] = v
		}
		if err := verify.Check(verifiers[name], row); err != nil {
			return fmt.Errorf("the verifier %s cannot judge this line: %w", name, err)
		}
		if len(rows) < o.Problems {
			rows = append(rows, row)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%w: --data: %w", ErrInput, err)
	}
	s.verdict = func(row verify.Problem, text string, _ bool) verify.Verdict {
		return verifiers[verifierOf(row, o.Verifier)].Verify(row, text)
	}
	return rows, nil
}

// verifierOf is the name of a row's verifier.
func verifierOf(row verify.Problem, fallback string) string {
	name := fallback
	if raw, ok := row.Metadata["verifier"]; ok {
		_ = json.Unmarshal(raw, &name) // not a string: the fallback
	}
	return name
}
