package rl

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/progress"
	"github.com/rlzero/rlzero/rl/random"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/store"
	"github.com/rlzero/rlzero/rl/tasks"
	"github.com/rlzero/rlzero/rl/terminal"
	"github.com/rlzero/rlzero/verify"
)

// session is a run in progress.
type session struct {
	recipe  *recipe.Recipe
	task    tasks.Task
	heldOut []verify.Problem

	roller
	source    string // folder that the model was read from; "": random weights
	model     *model.Model
	trainer   *model.Trainer
	frozen    *model.Model // the reference policy, if a stage needs one
	reference *model.Scorer

	run      *store.Run
	identity string // of its recipe
	logs     logs
	show     *progress.Reporter
	state    state
	saved    int // state.Total of the newest checkpoint

	lastEval float64     // held-out pass@1 last measured; -1: not yet
	tokens   int         // trained and sampled since the stage's bar began
	since    time.Time   // when tokens was 0
	timing   metrics.Row // of the step in progress, seconds
}

// sizes are what the recipe and its task ask of the device.
type sizes struct {
	positions int // longest sequence
	trainRows int
	engine    model.EngineOptions
	reference bool
}

func sizesOf(r *recipe.Recipe) sizes {
	s := sizes{engine: model.EngineOptions{Sequences: 1}}
	longest, rows, widest, group := 0, 0, probeProblems, r.Task.EvalSamples
	for i := range r.Stages {
		st := &r.Stages[i]
		longest = max(longest, r.Task.MaxPromptTokens+r.MaxCompletion(st))
		switch st.Kind {
		case "sft":
			rows = max(rows, st.SFT.BatchSize*longest)
		case "rl":
			n := st.RL.PromptsPerStep * st.RL.GroupSize
			rows = max(rows, (st.RL.PromptsPerStep/st.RL.UpdatesPerRollout+1)*st.RL.GroupSize*longest)
			widest, group = max(widest, n), max(group, st.RL.GroupSize)
			s.reference = s.reference || st.Algorithm.KLCoef > 0
		}
		widest = max(widest, r.Task.EvalSamples)
	}
	s.positions = longest
	s.trainRows = max(longest, min(rows, r.MicroBatchTokens))
	s.engine = model.EngineOptions{Sequences: max(group, min(widest, r.SamplerSequences)), Context: longest, StepRows: min(max(widest, 256), max(r.SamplerSequences, 256))}
	return s
}

// configOf is the model that a recipe trains: that of its path, or a fresh one
// of the dimensions it names.
func configOf(r *recipe.Recipe) (cfg model.Config, dir string, err error) {
	if r.Model.Path != "" {
		dir, _, err := ModelDir(r.Model.Path)
		if err != nil {
			return cfg, "", err
		}
		f, err := model.ReadFolder(dir)
		if err != nil {
			return cfg, "", fmt.Errorf("%w: %w", ErrInput, err)
		}
		cfg = f.Config
		cfg.Dtype, cfg.KVDtype = model.Dtype(r.Model.Dtype), model.Dtype(r.Model.KVDtype)
		return cfg, dir, f.Tensors.Close()
	}
	m, t := r.Model, r.Task.Demonstrator() // a recipe for a fresh model has one
	if cfg, err = model.NewConfig(m.Family); err != nil {
		return cfg, "", fmt.Errorf("%w: [model] family: %w", ErrInput, err)
	}
	cfg.Vocab, cfg.Width, cfg.Layers, cfg.Heads, cfg.KVHeads = len(t.Vocabulary()), m.Width, m.Layers, m.Heads, m.KVHeads
	cfg.HeadDim, cfg.MLP, cfg.RopeTheta, cfg.NormEps = m.HeadDim, m.MLP, m.RopeTheta, m.NormEps
	cfg.TieEmbeddings, cfg.InitStd = m.TieEmbeddings, m.InitStd
	cfg.Dtype, cfg.KVDtype = model.Dtype(m.Dtype), model.Dtype(m.KVDtype)
	cfg.PAD, cfg.EOS, cfg.MaxPositions = 0, []int{1}, max(64, t.PromptTokens()+t.CompletionTokens())
	if err := cfg.Complete(); err != nil {
		return cfg, "", fmt.Errorf("%w: [model] %w", ErrInput, err)
	}
	return cfg, "", nil
}

// Plan is the device memory that a recipe needs.
func Plan(r *recipe.Recipe, caps gpu.Caps) (gpu.Plan, error) {
	cfg, _, err := configOf(r)
	if err != nil {
		return gpu.Plan{}, err
	}
	s := sizesOf(r)
	plan, err := model.Plan(cfg, caps, model.Use{Positions: s.positions, TrainRows: s.trainRows, Reference: s.reference, Engine: &s.engine})
	if errors.Is(err, gpu.ErrUnsupported) { // it is the recipe that asks for it
		err = fmt.Errorf("%w: [model] %w", ErrInput, err)
	}
	return plan, err
}

// newSession plans the memory, refuses what cannot fit, and builds model,
// trainer and sampler.
func newSession(r *recipe.Recipe, dev gpu.Device, show io.Writer) (*session, error) {
	plan, err := Plan(r, dev.Caps())
	if err != nil {
		return nil, err
	}
	if err := plan.Fits(dev.Caps()); err != nil {
		return nil, err
	}
	s := &session{recipe: r, task: r.Task.Settings, show: progress.New(show), lastEval: -1, timing: metrics.Row{}}
	if s.heldOut, err = tasks.HeldOutRows(s.task, r.Task.EvalProblems); err != nil {
		return nil, fmt.Errorf("%w: [task] %w", ErrInput, err)
	}
	if err := s.build(dev); err != nil {
		s.Close()
		return nil, err
	}
	if err := s.readable(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// readable says whether the model's tokenizer can read the task: its held-out
// problems, all of a file's, and a demonstration for each stage that imitates; and
// whether a file's can be judged. A run that cannot be is refused before it has a
// folder.
func (s *session) readable() error {
	rows := s.heldOut
	if file, ok := s.task.(*tasks.File); ok {
		rows = file.Rows()
		if err := judgeable(file); err != nil {
			return err
		}
	}
	for _, row := range rows {
		ids, err := s.tok.Encode(row.Question)
		if err != nil {
			return fmt.Errorf("%w: prompt %s: %w", ErrInput, terminal.Quote(row.Question), err)
		}
		if most := s.recipe.Task.MaxPromptTokens; len(ids) > most {
			return fmt.Errorf("%w: prompt %s has %d tokens, [task] max_prompt_tokens accepts %d: raise it", ErrInput, terminal.Quote(row.Question), len(ids), most)
		}
	}
	for i := range s.recipe.Stages {
		st := &s.recipe.Stages[i]
		if st.Kind != recipe.KindSFT || st.Skip {
			continue
		}
		if _, err := s.demonstrations(0, 1); err != nil {
			return fmt.Errorf("%w: stage %s: %w", ErrInput, st.Name, err)
		}
	}
	return nil
}

// judgeable refuses a file of which most of the first rows lack what the verifier
// needs: any verifier judges an empty completion where it can judge at all.
func judgeable(file *tasks.File) error {
	const most = 100
	lacking, why := 0, ""
	rows := file.Rows()
	rows = rows[:min(len(rows), most)]
	for _, row := range rows {
		if v := file.Verify(row, "", true); v.Verdict == verify.NotScored {
			lacking, why = lacking+1, v.Reason
		}
	}
	if 2*lacking <= len(rows) {
		return nil
	}
	name, _ := file.Grader()
	return fmt.Errorf("%w: %d of the first %d rows of %s cannot be judged by %s: %s", ErrInput, lacking, len(rows), file.Name(), name, why)
}

func (s *session) build(dev gpu.Device) error {
	cfg, dir, err := configOf(s.recipe)
	if err != nil {
		return err
	}
	z := sizesOf(s.recipe)
	s.source = dir
	if dir != "" {
		s.model, err = load(dev, dir, model.LoadOptions{Positions: z.positions, Dtype: cfg.Dtype, KVDtype: cfg.KVDtype})
	} else {
		seed := random.At(s.recipe.Seed, random.Stream(random.Init, 0), 0).Uint64()
		if s.model, err = model.New(dev, cfg, seed, z.positions); err == nil {
			s.model.Tokenizer, err = model.NewWords(s.recipe.Task.Demonstrator().Vocabulary())
		}
	}
	if err != nil {
		return err
	}
	if s.tok = s.model.Tokenizer; s.tok == nil {
		return fmt.Errorf("%w: model %s has no tokenizer.json", ErrInput, s.recipe.Model.Path)
	}
	if len(s.model.Config.EOS) == 0 {
		return fmt.Errorf("%w: model %s names no eos_token_id", ErrInput, s.recipe.Model.Path)
	}
	if s.trainer, err = s.model.NewTrainer(z.trainRows); err != nil {
		return err
	}
	if s.engine, err = s.model.NewEngine(z.engine); err != nil {
		return err
	}
	s.verdict = s.task.Verify
	if t := s.recipe.Task.Demonstrator(); t != nil {
		s.form = t.Valid
	}
	if z.reference {
		if s.frozen, err = model.NewFrozen(dev, cfg, z.positions); err != nil {
			return err
		}
		s.reference, err = s.frozen.NewScorer(z.trainRows)
	}
	return err
}

// Close frees the device memory and the run folder's lock.
func (s *session) Close() error {
	var err error
	if s.run != nil {
		err = errors.Join(s.logs.close(), s.run.Close())
	}
	if s.engine != nil {
		s.engine.Close()
	}
	if s.reference != nil {
		s.reference.Close()
	}
	if s.trainer != nil {
		s.trainer.Close()
	}
	for _, m := range []*model.Model{s.model, s.frozen} {
		if m != nil {
			m.Close()
		}
	}
	return err
}

// phase adds to the step's wall times.
func (s *session) phase(name string, d time.Duration) { s.timing[name] += d.Seconds() }

// rate is the stage's throughput as text.
func (s *session) rate() string {
	if s.since.IsZero() {
		s.since = time.Now()
		s.tokens = 0
		return ""
	}
	return fmt.Sprintf("%s tok/s", thousands(float64(s.tokens)/time.Since(s.since).Seconds()))
}

func thousands(x float64) string {
	if x >= 1e4 {
		return fmt.Sprintf("%.0fk", x/1e3)
	}
	return fmt.Sprintf("%.0f", x)
}
