package eval

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/internal/stats"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/sample"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/infer"
	"github.com/rlzero/rlzero/rl/panel"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/resolve"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/rl/tasks"
	"github.com/rlzero/rlzero/rl/world/tools"
	"github.com/rlzero/rlzero/verify"
)

// Subject is what a model is measured on: the held-out problems of a task, or the rows
// of a file.
type Subject struct {
	Task     string               // a task's name, or a recipe whose task is meant
	Set      []string             // overrides of that recipe, PATH=VALUE; of the table task for Data
	Data     string               // a file or folder of rows
	Verifier string               // for Data, unless its rows name theirs; "": that of Set, or the one that fits the answers
	Style    func(*prompts.Style) // changes how prompts are written; nil: as the recipe has it
}

// Options say what a model is evaluated on and how.
type Options struct {
	Subject
	Problems int
	N        int                                          // samples of each problem
	K        []int                                        // for pass@k, pass^k and maj@k
	Params   rollout.Params                               // MaxTokens 0: as the task's recipe has it, else as infer has it
	Seed     uint64                                       // of the sampler
	Sum      *infer.Sum                                   // by which it draws; nil: by the model alone
	Chosen   bool                                         // the model was chosen by what it came to on these problems
	Progress func(done, all int)                          // told of completions, from one goroutine at a time; nil: nobody asks
	Models   func(*recipe.Recipe) (*recipe.Recipe, error) // finds the folders of a recipe's models; nil: their paths are folders
	Folder   string                                       // of the model, in which are models that its run made from random weights; "": none are
	Note     func(string)                                 // told what was found in Data and nobody has said, before anything is sampled; nil: nobody asks
	Ask      panel.Ask                                    // asks a judge of the task behind an address; nil: nobody does
	Told     func(command string)                         // of each program of others that the recipe starts, see [resolve.Open]
	Tree     Tree                                         // draws completions as the tree of the recipe's last stage that has one, besides; nil: nothing does
}

// Report is what rlzero eval prints.
type Report struct {
	Task string
	*Result
	ks     []int
	chosen bool
	Grown  *Grown   // what the tree of a stage reached; nil: nobody asked
	kinds  []string // [problem] of a mixture of tasks: the task that it belongs to; nil: there is one
	Logits string   // the formula of the sum that it drew by; "": the model alone
}

// MarshalJSON writes the keys in the documented order; a figure that could not
// be measured is null.
func (r Report) MarshalJSON() ([]byte, error) {
	var o object
	o.put("task", r.Task)
	if r.Logits != "" {
		o.put("logits", r.Logits)
	}
	o.put("n", len(r.Groups))
	o.put("samples", r.Samples)
	o.put("mean", known(r.Mean))
	ci := any(r.MeanCI)
	if math.IsNaN(r.MeanCI[0]) { // of no problems
		ci = nil
	}
	o.put("mean_ci95", ci)
	for _, k := range r.ks {
		o.put(fmt.Sprintf("pass@%d", k), known(r.PassAt[k]))
	}
	for _, k := range r.ks {
		o.put(fmt.Sprintf("pass^%d", k), known(r.passHat(k)))
	}
	for _, k := range r.ks {
		o.put(fmt.Sprintf("maj@%d", k), known(r.MajAt[k]))
	}
	o.put("greedy", known(r.Greedy))
	o.put("not_scored", r.NotScored)
	o.put("mean_tokens", known(r.Length))
	if r.Grown != nil {
		o.put("tree", r.Grown)
	}
	o.put("chosen_on_heldout", r.chosen)
	if r.kinds != nil {
		kinds := map[string]*float64{}
		for _, k := range r.byKind() {
			kinds[k.name] = known(k.mean)
		}
		o.put("tasks", kinds)
	}
	return o.json()
}

// kind is what a model reached on the problems of one task of a mixture.
type kind struct {
	name     string
	problems int
	mean     float64
	ci       [2]float64
}

// byKind are the tasks of a mixture in the order of their names.
func (r Report) byKind() []kind {
	var out []kind
	for _, name := range slices.Compact(slices.Sorted(slices.Values(r.kinds))) {
		one := kind{name: name}
		var means []float64
		all := 0
		for i := range r.Groups {
			if r.kinds[i] != name {
				continue
			}
			one.problems++
			if t := tallyOf(&r.Groups[i]); t.scored() > 0 {
				means, all = append(means, t.sum/float64(t.scored())), all+t.scored()
			}
		}
		one.mean, one.ci[0], one.ci[1] = stats.MeanCI95(means, all)
		out = append(out, one)
	}
	return out
}

// Table is the result for people. A figure that was not measured is left out.
func (r Report) Table() string {
	var b strings.Builder
	kinds, width := r.byKind(), 12
	for _, k := range kinds {
		width = max(width, len(k.name))
	}
	line := func(name string, v float64, note string) {
		if math.IsNaN(v) { // no problem has so many judged completions
			return
		}
		fmt.Fprintf(&b, "%-*s %6.1f %%  %s\n", width, name, 100*v, note)
	}
	fmt.Fprintf(&b, "%s: %s x %s\n", r.Task, terminal.Count(len(r.Groups), "problem", ""), terminal.Count(r.Samples, "sample", ""))
	if r.Logits != "" {
		fmt.Fprintf(&b, "%-*s %s\n", width, "logits", terminal.Line(r.Logits, 200))
	}
	line(fmt.Sprintf("mean@%d", r.Samples), r.Mean, fmt.Sprintf("95 %%: %.1f to %.1f", 100*r.MeanCI[0], 100*r.MeanCI[1]))
	for _, k := range r.ks {
		line(fmt.Sprintf("pass@%d", k), r.PassAt[k], "")
		line(fmt.Sprintf("pass^%d", k), r.passHat(k), "")
		line(fmt.Sprintf("maj@%d", k), r.MajAt[k], "")
	}
	line("greedy", r.Greedy, "")
	for _, k := range kinds {
		line(k.name, k.mean, fmt.Sprintf("95 %%: %.1f to %.1f, of %s", 100*k.ci[0], 100*k.ci[1], terminal.Count(k.problems, "problem", "")))
	}
	fmt.Fprintf(&b, "%-*s %6.1f tokens\n", width, "length", r.Length)
	if r.Grown != nil {
		b.WriteString(r.Grown.table())
	}
	if r.NotScored > 0 {
		fmt.Fprintf(&b, "%-*s %6d completions left out\n", width, "not scored", r.NotScored)
	}
	if r.chosen {
		b.WriteString("The model was chosen from its run for its figure on these problems, so that figure is likely too high.\n")
	}
	return b.String()
}

// counted adds up the completions of an evaluation, the most likely ones and those of trees included, for o.Progress;
// leaves are those of a tree.
func (o Options) counted(problems, leaves int) func(int) {
	if o.Progress == nil {
		return nil
	}
	done, all := 0, problems*(o.N+1+leaves)
	return func(n int) {
		if done == all { // an episode asks once for each of its turns, and who begins apart asks for a token first
			return
		}
		done = min(done+n, all)
		o.Progress(done, all)
	}
}

// Model measures a model.
func Model(ctx context.Context, m *model.Model, o Options) (*Report, error) {
	if m.Tokenizer == nil {
		return nil, fmt.Errorf("%w: the model's folder has no tokenizer.json", lines.ErrInput)
	}
	e := &Evaluator{Collector: &rollout.Collector{}}
	var problems []verify.Problem
	var opened *resolve.Opened
	var err error
	name, style := o.Data, prompts.Style{Form: prompts.Auto}
	if o.Task != "" {
		name = o.Task
		opened, problems, err = e.taskProblems(&o, &style)
	} else {
		problems, err = e.fileProblems(o)
	}
	if err != nil {
		return nil, err
	}
	var stage int // whose tree draws
	var judges *cast.Cast
	if opened != nil {
		defer opened.Close()
		if o.Tree != nil {
			if stage, err = growing(opened.Recipe, name, m.Config.Vocab); err != nil {
				return nil, err
			}
		}
		if judges, err = e.asks(m, opened.Recipe, o); err != nil {
			return nil, err
		}
		defer judges.Close()
	}
	if o.Style != nil {
		o.Style(&style)
	}
	renderer, err := prompts.NewRenderer(m.Tokenizer, m.Config.EOS, style)
	if err != nil {
		return nil, err
	}
	e.Collector.Renderer, m.Config.EOS = renderer, renderer.Ends()
	longest, err := longestPrompt(renderer, name, problems)
	if err != nil {
		return nil, err
	}
	drawn := o.Params.MaxTokens
	var engine *sample.Engine
	plain, asked := renderer, 0 // how the policy is asked by tools, and for how many tokens
	if opened != nil {
		if asked = opened.Recipe.Task.AskRoom(recipe.PolicyModel); asked > 0 {
			style.AllowControl = false
			if plain, err = prompts.NewRenderer(m.Tokenizer, m.Config.EOS, style); err != nil {
				return nil, err
			}
		}
		if opened.World != nil { // it may say more than the rows
			longest = max(longest, opened.Recipe.Task.MaxPromptTokens)
		}
		asking, err := opened.Asking(func(a tools.Whom) (tools.Answerer, error) {
			if a.Model != recipe.PolicyModel {
				w, err := judges.Writer(a.Model)
				if err != nil {
					return nil, err
				}
				return panel.Answerer(w, a, o.Seed), nil
			}
			return func(ctx context.Context, question string) ([]tools.Said, error, error) { // once it has an engine
				return panel.Answerer(cast.NewWriter(engine, plain, a.Context), a, o.Seed)(ctx, question)
			}, nil
		})
		if err != nil {
			return nil, err
		}
		e.Collector.Episodes = asking.Episodes(renderer, o.Seed, nil)
	}
	if played := e.Collector.Episodes; played != nil {
		if err := renderer.Turns(); err != nil {
			return nil, err
		}
		drawn = played.Tokens
	}
	if drawn, err = infer.NewTokens(m, longest, drawn); err != nil {
		return nil, err
	}
	o.Params.MaxTokens = min(cmp.Or(o.Params.MaxTokens, drawn), drawn)
	leaves := 0 // of a tree
	if o.Tree != nil {
		leaves = opened.Recipe.Stages[stage].LargestGroup()
	}
	options := sample.Options{Sequences: max(o.N, infer.SequencesAtOnce), Context: max(longest+drawn, asked), Finished: o.counted(len(problems), leaves)}
	if e.Collector.Episodes != nil || o.Tree != nil {
		options.Prefixes = sample.EveryPage
	}
	if o.Tree != nil {
		tree := opened.Recipe.Stages[stage].Tree
		options.Sequences, options.Guides = max(options.Sequences, tree.Roots, tree.Width), tree.Distinct
	}
	if engine, err = o.Sum.NewEngine(m, options); err != nil {
		return nil, err
	}
	defer engine.Close()
	e.Collector.Sampler = &cast.Sampler{Engine: engine, Role: "policy", Seed: func(k random.Key) uint64 {
		if k.Purpose == 0 {
			return o.Seed
		}
		return k.Seed(o.Seed) // a tree has random numbers of its own
	}}
	r, err := e.Measure(ctx, Question{Problems: problems, N: o.N, K: o.K, Params: o.Params, Greedy: true})
	if err == nil {
		err = judged(r)
	}
	if err != nil {
		return nil, err
	}
	report := &Report{Task: name, Result: r, ks: o.K, chosen: o.Chosen}
	if o.Tree != nil {
		if report.Grown, err = e.grow(ctx, opened.Recipe, stage, renderer, problems, m.Config.Vocab, o, r); err != nil {
			return nil, err
		}
	}
	for _, p := range problems {
		if name := tasks.KindOf(style.Task, p); style.Task != nil && name != "" {
			report.kinds = append(report.kinds, name)
		}
	}
	return report, nil
}

// asks opens the model that judges a task, if one does, and those that its tools ask.
func (e *Evaluator) asks(m *model.Model, r *recipe.Recipe, o Options) (*cast.Cast, error) {
	if r.Task.JudgedBy() == "" && !slices.ContainsFunc(r.ModelNames(), func(name string) bool { return r.Task.AskRoom(name) > 0 }) {
		return &cast.Cast{}, nil
	}
	if o.Models != nil {
		var err error
		if r, err = o.Models(r); err != nil {
			return nil, err
		}
	}
	judges, err := cast.OpenJudges(m, r, o.Folder)
	if err != nil || r.Task.JudgedBy() == "" {
		return judges, err
	}
	v, err := verify.New(r.Task.Verifier, r.Task.Options)
	if err != nil {
		judges.Close()
		return nil, err
	}
	judges.Reach(r, o.Ask, nil)
	e.Collector.Asks, e.Collector.Judges = v, &panel.Panel{Models: judges.Judge, Seed: r.Seed}
	return judges, nil
}

// judged refuses a result without a single verdict.
func judged(r *Result) error {
	if n := len(r.Groups) * r.Samples; r.NotScored == n {
		return fmt.Errorf("%w: none of the %s could be judged: %s", lines.ErrInput, terminal.Count(n, "completion", ""), r.Groups[0].Paths[0].Verdict().Reason)
	}
	return nil
}

// longestPrompt is the length of the longest of the problems' prompts, in tokens.
func longestPrompt(r *prompts.Renderer, name string, problems []verify.Problem) (int, error) {
	if _, err := r.Check(name, problems, prompts.Limits{Prompt: math.MaxInt}); err != nil {
		return 0, err
	}
	longest := 0
	for _, p := range problems {
		ids, err := r.Prompt(p)
		if err != nil {
			return 0, err
		}
		longest = max(longest, len(ids))
	}
	return longest, nil
}

// taskProblems are the held-out problems of a task: a family with its default
// settings, or the task of a recipe, whose style it takes. It settles how long
// completions may be if nobody has said so.
func (e *Evaluator) taskProblems(o *Options, style *prompts.Style) (opened *resolve.Opened, rows []verify.Problem, err error) {
	defer func() {
		if err != nil && opened != nil {
			opened.Close()
		}
	}()
	longest := 0
	measured := 0 // problems that the recipe measures
	t, err := tasks.New(o.Task)
	opened = &resolve.Opened{Recipe: &recipe.Recipe{Task: recipe.Task{Settings: t}}, Source: prompts.Of(t)}
	style.Task = t
	if err == nil && len(o.Set) > 0 {
		return nil, nil, fmt.Errorf("%w: --set changes a recipe, but %s is a task: give --task RECIPE --set task.settings.KEY=VALUE", lines.ErrInput, o.Task)
	}
	if err != nil {
		r, recipeErr := recipe.Load(o.Task, o.Set)
		if recipeErr != nil {
			return nil, nil, hint.With(fmt.Errorf("--task %s is neither a procedural task nor a recipe: %w", o.Task, recipeErr), "rlzero tasks and rlzero recipes list them")
		}
		if opened, err = resolve.Open(r, o.Told); err != nil {
			return nil, nil, err
		}
		if !r.Samples() {
			return opened, nil, hint.With(fmt.Errorf("%w: the task of %s has no verifier: nothing can say which answers are right", lines.ErrInput, o.Task), "%s", withVerifier(r.Task))
		}
		t, *style = r.Task.Settings, resolve.Style(r)
		measured = r.Task.EvalProblems
		for i := range r.Stages {
			longest = max(longest, r.MaxCompletion(&r.Stages[i]))
		}
	}
	e.Collector.Task = opened.Source.Verify
	if _, played := t.(tasks.Episodic); played && measured > 0 { // a world may have few problems, each with many episodes
		o.Problems = min(o.Problems, measured)
	}
	if demonstrator, ok := t.(tasks.Demonstrator); ok {
		e.Valid = demonstrator.Valid
		longest = max(longest, demonstrator.CompletionTokens())
	}
	o.Params.MaxTokens = cmp.Or(o.Params.MaxTokens, longest)
	if rows, err = opened.Source.HeldOut(o.Problems); err != nil {
		return opened, nil, fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	if n, most := len(rows)*o.N, opened.AtOnce(); most > 0 && n > most {
		return opened, nil, hint.With(fmt.Errorf("%w: %s of %s are %d episodes at once; accepted: at most %d, since the programs of the recipe hold no more",
			lines.ErrInput, terminal.Count(o.N, "sample", ""), terminal.Count(len(rows), "problem", ""), n, most), "make --problems or --n smaller: --problems %d --n 1", min(len(rows), most))
	}
	return opened, rows, nil
}

// withVerifier says how the rows of a task that has no verifier can be judged.
func withVerifier(t recipe.Task) string {
	return fmt.Sprintf("name one for the rows: --data %s --verifier NAME (rlzero verifiers lists them)", terminal.ShellWord(cmp.Or(t.Data, "FILE")))
}

// fileProblems reads the problems of a data set; each is judged by its "verifier" or the
// one of the options.
func (e *Evaluator) fileProblems(o Options) ([]verify.Problem, error) {
	task, err := recipe.OnData(o.Data, o.Set)
	if err != nil {
		return nil, err
	}
	if o.Verifier != "" {
		if task.Verifier, task.Options, err = verify.Parse(o.Verifier); err != nil {
			return nil, fmt.Errorf("%w: --verifier: %w", lines.ErrInput, err)
		}
	}
	reading, err := prompts.Find(resolve.Parts(&task), prompts.Wanted{Judged: true, Verifier: task.Verifier, Options: task.Options})
	if err != nil {
		return nil, fmt.Errorf("%w: --data: %w", lines.ErrInput, err)
	}
	if line := reading.Line(); line != "" && o.Note != nil {
		o.Note(line)
	}
	verifiers := map[string]verify.Verifier{}
	var rows []verify.Problem
	err = prompts.ReadRows(reading.Parts[0], func(row verify.Problem) error {
		name, options := verifierOf(row, reading.Verifier), map[string]any(nil)
		if name == "" {
			return hint.With(errors.New(`no verifier is named`), `give --verifier NAME, or "verifier" in each row; rlzero verifiers lists them`)
		}
		if name == reading.Verifier {
			options = reading.Options
		}
		if verifiers[name] == nil {
			v, err := verify.New(name, options)
			if err != nil {
				return err
			}
			if _, asks := v.(verify.Asking); asks {
				return hint.With(fmt.Errorf("the verifier %s asks a model, which a recipe names", name), "--task RECIPE measures by a judge; rlzero judge RECIPE --in FILE asks it about completions")
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
		return nil, fmt.Errorf("%w: --data: %w", lines.ErrInput, err)
	}
	judge := verifiers[reading.Verifier]
	if err := resolve.Tried(reading.Verifier, reading.Options, judge, rows); err != nil {
		return nil, fmt.Errorf("%w: --verifier: %w", lines.ErrInput, err)
	}
	exact := prompts.ExactKey
	if o.Verifier != "" { // which overrides the key
		exact = "--verifier exact"
	}
	if note := prompts.Doubt(o.Data, judge, rows, exact); note != "" && o.Note != nil {
		o.Note(note)
	}
	e.Collector.Task = func(row verify.Problem, text string, _ bool) verify.Verdict {
		return verifiers[verifierOf(row, reading.Verifier)].Verify(row, text)
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
