package cast

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/learn"
	"github.com/rlzero/rlzero/model/memory"
	"github.com/rlzero/rlzero/model/sample"
	"github.com/rlzero/rlzero/model/seq"
	"github.com/rlzero/rlzero/model/text"
	"github.com/rlzero/rlzero/rl/algo"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/resolve"
	"github.com/rlzero/rlzero/rl/reward"
)

// ProbeProblems is the number of training problems on which a warm-up tests whether
// the model has learnt the form of an answer.
const ProbeProblems = 128

// sizes are what a recipe asks of the device.
type sizes struct {
	positions int // longest sequence, tokens
	trainRows int // rows of one batch of the trainer
	optimizes []learn.Rule
	engine    sample.Options
}

func sizesOf(r *recipe.Recipe) sizes {
	var s sizes
	longest, rows, widest, group := 0, 0, ProbeProblems, r.Task.EvalSamples
	for i := range r.Stages {
		st := &r.Stages[i]
		longest = max(longest, r.Task.MaxPromptTokens+r.MaxDrawn(st))
		if st.Learns() && !st.Skip && !r.Models[st.Learner()].Fresh() {
			s.optimizes = append(s.optimizes, learn.Rule(st.Optimizer.Rule))
		}
		for _, l := range st.Learners() {
			longest = max(longest, l.SFT.MaxTokens)
			rows = max(rows, l.SFT.BatchSize*max(longest+readRows(r), groupRows(r, l.Stage)))
		}
		switch st.Kind {
		case recipe.KindSFT, recipe.KindPreference:
			longest = max(longest, st.SFT.MaxTokens)
			rows = max(rows, st.SFT.BatchSize*max(longest+readRows(r), groupRows(r, st)))
		case recipe.KindRL:
			update, drawn := (st.RL.PromptsPerStep/st.RL.UpdatesPerRollout+1)*groupRows(r, st), st.RL.PromptsPerStep*st.RL.GroupSize
			switch {
			case st.Sits():
				update *= len(st.Learned(r.Task))
			case st.Proposes():
				update, drawn, group = update*(1+st.Propose.Count), drawn*st.Propose.Count, max(group, st.Propose.Count)
			}
			rows, widest, group = max(rows, update), max(widest, drawn), max(group, st.LargestGroup())
		case recipe.KindMake:
			widest, group = max(widest, st.RL.PromptsPerStep*st.RL.GroupSize), max(group, st.LargestGroup())
		}
		widest = max(widest, r.Task.EvalSamples)
	}
	if !r.Samples() {
		widest, group = 1, 1
	}
	s.positions = longest + roomForTexts(r) + readRows(r)
	for _, j := range r.Judges() {
		if r.Models[j.Model].URL != "" {
			continue
		}
		s.positions = max(s.positions, r.JudgeRoom(j)+readRows(r))
		if j.Model == policyName && j.Draws() { // by the engine of the run
			longest, group = max(longest, r.JudgeRoom(j)), max(group, j.Votes)
		}
	}
	for _, w := range r.Writers() {
		if s.positions = max(s.positions, w.Room); w.Model == policyName {
			longest = max(longest, w.Room)
		}
	}
	s.trainRows = max(s.positions, min(rows, r.MicroBatchTokens))
	s.engine = sample.Options{Sequences: max(group, min(widest, r.SamplerSequences)), Context: longest, StepRows: min(max(widest, 256), max(r.SamplerSequences, 256))}
	grows := slices.ContainsFunc(r.Stages, func(st recipe.Stage) bool { return st.Grows() && !st.Skip })
	if grows || r.Task.Played() { // a turn, or a branch, reads what was read and drawn before it
		s.engine.Prefixes = sample.EveryPage
	}
	s.engine.Guides = slices.ContainsFunc(r.Stages, func(st recipe.Stage) bool { return st.Grows() && st.Tree.Distinct && !st.Skip })
	return s
}

// Context is how many tokens the context of a model has that a recipe makes from random weights, where it does not say
// so itself: those of its longest sequence, and at least 64.
func Context(r *recipe.Recipe) int { return max(64, sizesOf(r).positions) }

// groupRows is how many rows a group of a stage takes at most; 0: it has none. Contexts that begin anew are not
// counted: how many an episode has is not known before, and a group of theirs may be divided.
func groupRows(r *recipe.Recipe, st *recipe.Stage) int {
	switch {
	case st.Kind == recipe.KindPreference:
		return 2 * (st.SFT.MaxTokens + readRows(r))
	case st.Kind != recipe.KindRL:
		return 0
	case st.SecondChance.TrainHint, st.Sits(): // prompts of a group may differ
		return seq.GroupRows(0, r.Task.MaxPromptTokens+r.MaxDrawn(st)+readRows(r), st.LargestGroup())
	}
	return seq.GroupRows(r.Task.MaxPromptTokens, r.MaxDrawn(st)+readRows(r), st.LargestGroup())
}

// readRows is how many rows a sequence has more where heads, or formulas, read the state that its last token
// leaves.
func readRows(r *recipe.Recipe) int {
	for _, m := range r.Models {
		if m.Head {
			return 1
		}
	}
	for i := range r.Stages {
		st := &r.Stages[i]
		alike := slices.ContainsFunc(st.Texts(), func(a reward.Ask) bool { return a.Alike != nil })
		if alike || slices.ContainsFunc(st.Facts(), func(fact string) bool { _, hidden := algo.HiddenOf(fact); return hidden }) {
			return 1
		}
	}
	return 0
}

// Divided has a line for each stage whose groups may be too large for one batch of the
// trainer. They are then computed in parts that depend on micro_batch_tokens, and so do
// the results.
func Divided(r *recipe.Recipe) []string {
	var notes []string
	for i := range r.Stages {
		st := &r.Stages[i]
		if st.Skip {
			continue
		}
		need := groupRows(r, st)
		for _, l := range st.Learners() {
			need = max(need, groupRows(r, l.Stage))
		}
		if need > sizesOf(r).trainRows {
			notes = append(notes, fmt.Sprintf("stage %s: a group may need %d tokens of one backward pass, but micro_batch_tokens is %d. Such a group is computed in parts, so this key changes the results. From %d on it does not.",
				st.Name, need, r.MicroBatchTokens, need))
		}
	}
	return notes
}

// wholeTrees refuses trees that one batch of the trainer may not hold: what completions share would be
// computed again in each part.
func wholeTrees(r *recipe.Recipe) error {
	faults, most := r.Faults(), sizesOf(r).trainRows
	for i := range r.Stages {
		st := &r.Stages[i]
		if need := groupRows(r, st); !st.Skip && st.Grows() && need > most {
			err := fmt.Errorf("%d completions of up to %d tokens may take %d rows of one backward pass, but micro_batch_tokens is %d, and no batch holds the tree", st.LargestGroup(), r.MaxDrawn(st), need, r.MicroBatchTokens)
			faults.Fail(fmt.Sprintf("stage.%d.tree", i), "%w", hint.With(err, "a smaller tree, or --set micro_batch_tokens=%d", need))
		}
	}
	return faults.Err()
}

// Plan is the device memory that a recipe needs. folder is the Hugging Face folder that
// its model.path means; "": random weights. The paths of its other models are folders or files of
// models themselves. A plan that does not fit comes with
// gpu.ErrOutOfMemory and a hint at the cheapest changes with which it would.
func Plan(r *recipe.Recipe, folder string, caps gpu.Caps) (gpu.Plan, error) {
	_, plan, err := planned(r, folder, caps)
	return plan, err
}

// planned is Plan, and what it read.
func planned(r *recipe.Recipe, folder string, caps gpu.Caps) (b blueprint, plan gpu.Plan, err error) {
	if b, err = read(r, folder); err == nil {
		err = b.meet(r)
	}
	if err == nil {
		err = b.shaped(r)
	}
	if err == nil {
		err = b.layers(r)
	}
	if err == nil {
		err = DistinctTokens(r, b.config.Vocab)
	}
	if err == nil {
		plan, err = b.plan(r, caps)
	}
	if err == nil {
		err = b.refuse(r, plan, caps)
	}
	return b, plan, err
}

// layers refuses formulas that read a layer which the model has not.
func (b blueprint) layers(r *recipe.Recipe) error {
	faults := r.Faults()
	for i := range r.Stages {
		for _, fact := range r.Stages[i].Facts() {
			of, hidden := algo.HiddenOf(fact)
			if !hidden {
				continue
			}
			config := b.config
			if f, folder := b.folders[of.Model]; folder {
				config = f.config
			}
			if own, shaped := b.shapes[of.Model]; shaped {
				config = own
			}
			if of.Layer > config.Layers {
				faults.Fail(fmt.Sprintf("stage.%d.%s", i, r.Stages[i].Reader(fact)), "%s: layer %d; accepted: 1 to %d, the layers of the model %s", fact, of.Layer, config.Layers, of.Model)
			}
		}
	}
	return faults.Err()
}

// DistinctTokens refuses trees that draw more distinct completions from a node than a vocabulary has tokens.
func DistinctTokens(r *recipe.Recipe, vocab int) error {
	faults := r.Faults()
	for i := range r.Stages {
		if st := &r.Stages[i]; st.Grows() && !st.Skip && st.Tree.Distinct && st.Tree.Width >= vocab {
			faults.Fail(fmt.Sprintf("stage.%d.tree.width", i), "%d completions of a node cannot begin with different tokens, of which the model has %d and the node has one already; accepted with distinct: at most %d", st.Tree.Width, vocab, vocab-1)
		}
	}
	return faults.Err()
}

// plan is the device memory that a recipe needs with a model. Where there is too little, models leave that may, the
// largest first, as far as that helps: one after the other, or else the largest ones together, since two that take
// turns in as large a phase may save memory where neither alone does.
func (b *blueprint) plan(r *recipe.Recipe, caps gpu.Caps) (gpu.Plan, error) {
	b.leaving = map[string]bool{}
	var may []want // the largest first
	for _, w := range b.wants {
		switch {
		case !w.mayLeave() || b.folders[w.name].rides || caps.ReadsApart: // without a scratch there is nowhere to leave
		case w.spec.Resident == "phase":
			b.leaving[w.name] = true
		case w.spec.Resident == "auto":
			may = append(may, w)
		}
	}
	slices.SortStableFunc(may, func(v, w want) int {
		return cmp.Compare(b.folders[w.name].config.Parameters(), b.folders[v.name].config.Parameters())
	})
	plan, err := b.count(r, caps)
	try := func(leaving map[string]bool) {
		if err != nil || plan.Total() <= caps.Memory {
			return
		}
		other := *b
		other.leaving = leaving
		if p, err := other.count(r, caps); err == nil && p.Total() < plan.Total() {
			b.leaving, plan = leaving, p
		}
	}
	with := func(leaving map[string]bool, name string) map[string]bool {
		leaving = maps.Clone(leaving)
		leaving[name] = true
		return leaving
	}
	together := b.leaving
	for _, w := range may {
		try(with(b.leaving, w.name))
	}
	for _, w := range may {
		together = with(together, w.name)
		try(together)
	}
	return plan, err
}

// mayLeave says that nobody needs a member's parameters but itself, in phases of its own, and that they come from a folder.
func (w want) mayLeave() bool {
	return w.spec != nil && w.spec.Path != "" && !w.summed && !w.keeps && !w.plays
}

// count is the device memory with the models that leave.
func (b blueprint) count(r *recipe.Recipe, caps gpu.Caps) (gpu.Plan, error) {
	s := sizesOf(r)
	if most := b.config.MaxPositions; s.positions > most {
		err := fmt.Errorf("%w: the recipe asks for sequences of %d tokens, but the context of the model has %d (max_position_embeddings)", lines.ErrInput, s.positions, most)
		if r.Model.Path == "" {
			return gpu.Plan{}, hint.With(err, "model.context = %d", s.positions)
		}
		return gpu.Plan{}, hint.With(err, "lower max_prompt_tokens, max_completion_tokens or max_tokens")
	}
	if err := wholeTrees(r); err != nil {
		return gpu.Plan{}, err
	}
	use := memory.Use{Positions: s.positions, TrainRows: s.trainRows, Recompute: r.Recompute, Adapter: b.adapter, Optimizes: s.optimizes, Engine: &s.engine, Shared: !caps.ReadsApart}
	for _, w := range b.wants {
		b.roleOf(w).count(&use, b, w)
	}
	plan, err := memory.Plan(b.config, caps, use)
	if err != nil { // it is the recipe that asks for it
		err = fmt.Errorf("%w: [model] %w", lines.ErrInput, err)
	}
	return plan, err
}

// blueprint is what is known of a model before it lies on a device.
type blueprint struct {
	config    hf.Config
	tokenizer *text.Tokenizer
	adapter   *hf.AdapterConfig    // that is trained; nil: the model is
	folder    string               // of the model; "": random weights
	begun     string               // folder of the adapter that training goes on with; "": a fresh one
	wants     []want               // what the recipe needs, the policy first
	folders   map[string]folderOf  // of other models that it needs, by name
	shapes    map[string]hf.Config // of those that are made from random weights, by name
	leaving   map[string]bool      // of these, those whose parameters leave the device after their phase
}

// under is a blueprint with what a recipe says about storage and adapter.
func (b blueprint) under(r *recipe.Recipe) blueprint {
	b.config.Dtype, b.config.KVDtype = hf.Dtype(r.Model.Dtype), hf.Dtype(r.Model.KVDtype)
	b.adapter = adapterOf(r, b.folder)
	if b.wants == nil { // no change of storage or sizes changes them
		b.wants = wants(r)
	}
	return b
}

// Tokenizer is that of the model that a recipe trains, and eos its end tokens. No device
// is needed.
func Tokenizer(r *recipe.Recipe, folder string) (tok *text.Tokenizer, eos []int, err error) {
	b, err := read(r, folder)
	return b.tokenizer, b.config.EOS, err
}

// read finds out what model a recipe trains: that of a folder, or a fresh one of the
// dimensions it names. A model that cannot read or end a text is refused.
func read(r *recipe.Recipe, folder string) (b blueprint, err error) {
	if folder == "" {
		if b, err = fresh(r); err == nil {
			b = b.under(r)
			err = b.hasModules()
		}
		return b, err
	}
	f, err := hf.ReadFolder(folder)
	if err != nil {
		return b, fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	if f.Adapter != "" {
		b.begun = folder
		folder, err = filepath.Abs(f.Dir) // checkpoints elsewhere name it too
	}
	b.config, b.tokenizer, b.folder = f.Config, f.Tokenizer, folder
	b = b.under(r)
	if b.begun != "" {
		b.refersToStart()
	}
	if err == nil {
		err = b.hasModules()
	}
	switch {
	case err != nil || b.begun == "":
	case b.adapter == nil:
		err = b.trainsWhole()
	default:
		err = b.goesOn()
	}
	switch {
	case err != nil:
	case b.tokenizer == nil:
		err = fmt.Errorf("%w: model %s has no tokenizer.json", lines.ErrInput, folder)
	default:
		err = b.endTurns(r)
	}
	return b, errors.Join(err, f.Tensors.Close())
}

// endTurns adds the token with which the model's chat template ends a turn to its end
// tokens, if the recipe's prompts are conversations. Checkpoints have it then.
func (b *blueprint) endTurns(r *recipe.Recipe) error {
	renderer, err := prompts.NewRenderer(b.tokenizer, b.config.EOS, resolve.Style(r))
	if err != nil {
		return err
	}
	if b.config.EOS = renderer.Ends(); len(b.config.EOS) == 0 {
		return fmt.Errorf("%w: the model names no eos_token_id, in neither generation_config.json nor config.json", lines.ErrInput)
	}
	return nil
}

// adapterOf is the adapter that a recipe trains, of the model of a folder; nil for none.
func adapterOf(r *recipe.Recipe, folder string) *hf.AdapterConfig {
	l := r.Model.LoRA
	if l.Rank == 0 {
		return nil
	}
	a := &hf.AdapterConfig{Rank: l.Rank, Alpha: l.Alpha, RSLoRA: l.RSLoRA, Base: folder}
	if len(l.Modules) > 0 {
		a.Targets = l.Modules
	}
	return a
}

// hasModules refuses modules of the recipe that the model has not.
func (b blueprint) hasModules() error {
	if b.adapter == nil {
		return nil
	}
	if _, err := b.adapter.Tensors(b.config); err != nil {
		return fmt.Errorf("%w: model.lora.modules: %w", lines.ErrInput, err)
	}
	return nil
}

// refersToStart has the reference keep the adapter that training goes on with: with the adapter off, the model is not
// the policy at the beginning of the stage.
func (b *blueprint) refersToStart() {
	for i, w := range b.wants {
		if w.name == referenceName && w.spec == nil {
			b.wants[i].spec = &recipe.Member{Copy: "policy"}
		}
	}
}

// beginsWith is what the folder of the adapter that training goes on with says of it.
func (b blueprint) beginsWith() (hf.AdapterConfig, error) {
	then, tensors, err := hf.OpenAdapter(b.config, b.begun)
	if err == nil {
		err = tensors.Close()
	}
	if err != nil {
		return then, fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	return then, nil
}

// trainsWhole refuses an adapter to begin with where the recipe has none, and says which one it is.
func (b blueprint) trainsWhole() error {
	then, err := b.beginsWith()
	if err != nil {
		return err
	}
	return hint.With(fmt.Errorf("%w: model %s is an adapter, but the recipe trains a whole model", lines.ErrInput, b.begun),
		"go on with the adapter: %s; or merge it into its model: rlzero export --format hf --out FOLDER %s", describing(then), terminal.ShellWord(b.begun))
}

// goesOn refuses an adapter to begin with that is not the one that the recipe describes.
func (b blueprint) goesOn() error {
	then, err := b.beginsWith()
	if err != nil {
		return err
	}
	if then.Saved != nil || then.Ranks != nil || then.Alphas != nil {
		return hint.With(fmt.Errorf("%w: the adapter %s has modules_to_save, rank_pattern or alpha_pattern; accepted: one that [model.lora] describes", lines.ErrInput, b.begun),
			"merge it into its model: rlzero export --format hf --out FOLDER %s", terminal.ShellWord(b.begun))
	}
	refuse := func(key string, found, accepted any) error {
		return hint.With(fmt.Errorf("%w: model.lora.%s is %v, and the adapter %s, which training goes on with, has %v", lines.ErrInput, key, found, b.begun, accepted), "--set model.lora.%s=%v", key, accepted)
	}
	now := *b.adapter
	switch {
	case then.Rank != now.Rank:
		return refuse("rank", now.Rank, then.Rank)
	case then.Alpha != now.Alpha:
		return refuse("alpha", now.Alpha, then.Alpha)
	case then.RSLoRA != now.RSLoRA:
		return refuse("rslora", now.RSLoRA, then.RSLoRA)
	}
	has, err := then.Tensors(b.config)
	if err != nil {
		return fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	means, err := now.Tensors(b.config)
	if err == nil && !slices.EqualFunc(has, means, func(x, y hf.TensorSpec) bool { return x.Name == y.Name }) {
		err = fmt.Errorf("model.lora.modules means %d matrices, and the adapter %s, which training goes on with, has others, %d", len(means), b.begun, len(has))
		if then.Targets != nil {
			err = hint.With(err, "%s", Set{describesModules(then.Targets)})
		}
	}
	if err != nil {
		err = fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	return err
}

// configOf is the config of a new model of a shape, without what its tokens say.
func configOf(m recipe.Shape) (hf.Config, error) {
	cfg, err := hf.NewConfig(m.Family)
	if err != nil {
		return cfg, fmt.Errorf("family: %w", err)
	}
	cfg.Width, cfg.Layers, cfg.Heads, cfg.KVHeads = m.Width, m.Layers, m.Heads, m.KVHeads
	cfg.HeadDim, cfg.MLP, cfg.RopeTheta, cfg.NormEps = m.HeadDim, m.MLP, m.RopeTheta, m.NormEps
	cfg.TieEmbeddings, cfg.InitStd = m.TieEmbeddings, m.InitStd
	return cfg, nil
}

// fresh is a model of random weights.
func fresh(r *recipe.Recipe) (b blueprint, err error) {
	m := r.Model
	vocabulary := r.Task.Vocabulary()
	cfg, err := configOf(m.Shape)
	if err != nil {
		return b, fmt.Errorf("%w: [model] %w", lines.ErrInput, err)
	}
	cfg.Vocab = len(vocabulary)
	cfg.Dtype, cfg.KVDtype = hf.Dtype(m.Dtype), hf.Dtype(m.KVDtype)
	cfg.PAD, cfg.EOS, cfg.MaxPositions = 0, []int{1}, cmp.Or(m.Context, Context(r))
	if err := cfg.Complete(); err != nil {
		return b, fmt.Errorf("%w: [model] %w", lines.ErrInput, err)
	}
	words, err := text.NewWords(vocabulary)
	return blueprint{config: cfg, tokenizer: words}, err
}
