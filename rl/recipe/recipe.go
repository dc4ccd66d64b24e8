package recipe

import (
	"cmp"
	"errors"

	"github.com/rlzero/rlzero/rl/algo"
	"github.com/rlzero/rlzero/rl/algo/schedule"
	"github.com/rlzero/rlzero/rl/reward"
	"github.com/rlzero/rlzero/rl/tasks"
)

// File is the name of the resolved recipe in a run folder.
const File = "recipe.toml"

// ErrInvalid marks a recipe that cannot be run as it is written.
var ErrInvalid = errors.New("invalid recipe")

// Recipe is everything a run is a function of, besides the device.
//
// Tags: toml is the key, range the interval of accepted numbers, choice the
// accepted words, in the kinds of stage that have the key (all if absent).
type Recipe struct {
	Name             string     `toml:"name"`                                  // of the run; default: the preset's or file's
	About            string     `toml:"about"`                                 // one line for people
	Seed             uint64     `toml:"seed" range:"[0,9223372036854775807]"`  // of everything random; a TOML integer has 63 bits
	MicroBatchTokens int        `toml:"micro_batch_tokens" range:"[1,inf)"`    // tokens of one backward pass at most
	SamplerSequences int        `toml:"sampler_sequences" range:"[1,1048576]"` // completions in flight at most, but always a whole group
	Model            Model      `toml:"model"`
	Task             Task       `toml:"task"`
	Checkpoint       Checkpoint `toml:"checkpoint"`
	Stages           []Stage    `toml:"stage"`

	origin *decoder // where it was read from; nil: it was made otherwise
}

// Model is the model to train: one that exists, or a fresh one of the
// dimensions given here. A fresh model's vocabulary is its task's.
type Model struct {
	Path          string  `toml:"path"`                        // Hugging Face folder, run or checkpoint; but dtype and kv_dtype no other key goes with it
	Family        string  `toml:"family"`                      // such as qwen3, llama
	Layers        int     `toml:"layers" range:"[1,4096]"`     //
	Width         int     `toml:"width" range:"[1,inf)"`       //
	Heads         int     `toml:"heads" range:"[1,4096]"`      //
	KVHeads       int     `toml:"kv_heads" range:"[1,4096]"`   // divides heads; default: heads
	HeadDim       int     `toml:"head_dim" range:"[2,inf)"`    // even; default: width / heads
	MLP           int     `toml:"mlp" range:"[1,inf)"`         // width of the feed-forward layer
	RopeTheta     float64 `toml:"rope_theta" range:"(0,1e12]"` // base of the rotation frequencies
	NormEps       float64 `toml:"norm_eps" range:"(0,1)"`      // added to a mean square
	InitStd       float64 `toml:"init_std" range:"(0,10]"`     // of matrices; output projections get init_std / sqrt(2 layers)
	TieEmbeddings bool    `toml:"tie_embeddings"`              // one table for input and output
	Dtype         string  `toml:"dtype" choice:"f32,bf16"`     // of the matrices that forward and backward pass read; those the optimizer updates are f32
	KVDtype       string  `toml:"kv_dtype" choice:"f32,bf16"`  // of keys and values, in sampler and trainer alike
}

// besidePath are the keys of a model that exists: the others are in its folder.
var besidePath = []string{"path", "dtype", "kv_dtype"}

// Task is where the problems come from: a family by its name, or a file.
type Task struct {
	Name         string         `toml:"name"`
	Data         string         `toml:"data"`                              // JSON lines with question (or prompt), answer and what the verifier reads besides; relative to the recipe's file
	Verifier     string         `toml:"verifier"`                          // of data
	Options      map[string]any `toml:"options"`                           // of that verifier
	SHA256       string         `toml:"sha256"`                            // of data, in hexadecimal digits; a resolved recipe has it
	EvalProblems int            `toml:"eval_problems" range:"[1,1000000]"` // held-out problems of the evaluation after a stage
	EvalSamples  int            `toml:"eval_samples" range:"[1,4096]"`     // samples of each: pass@1 and pass@this
	// MaxPromptTokens bounds the prompts of a task whose texts have no fixed
	// length; a demonstrator's (see tasks.Demonstrator) have, and it is the default.
	MaxPromptTokens int        `toml:"max_prompt_tokens" range:"[1,16777216]"`
	Settings        tasks.Task `toml:"settings"` // of a family, validated; nil where there is data
}

// besideData are the keys of a task that is a file.
var besideData = []string{"data", "verifier", "options", "sha256", "eval_problems", "eval_samples", "max_prompt_tokens"}

// besideName are those of a family.
var besideName = []string{"name", "eval_problems", "eval_samples", "max_prompt_tokens", "settings"}

// Demonstrator is the task if it has demonstrations and a vocabulary; nil if not.
func (t Task) Demonstrator() tasks.Demonstrator {
	demonstrator, _ := t.Settings.(tasks.Demonstrator)
	return demonstrator
}

// label is what messages call the task.
func (t Task) label() string { return cmp.Or(t.Name, t.Data) }

// MaxCompletion is how long completions of a stage are at most, in tokens, in
// training and in the evaluation after it. A stage that samples nothing itself
// is measured with the longest that the task or another stage asks for.
func (r *Recipe) MaxCompletion(st *Stage) int {
	longest := st.Sampling.MaxCompletionTokens
	if t := r.Task.Demonstrator(); t != nil {
		return max(longest, t.CompletionTokens())
	}
	for i := range r.Stages {
		if st.Kind != KindRL {
			longest = max(longest, r.Stages[i].Sampling.MaxCompletionTokens)
		}
	}
	return longest
}

// Checkpoint says which checkpoints stay on disk. The last one of each stage
// always does.
type Checkpoint struct {
	Keep int `toml:"keep" range:"[1,inf)"` // the newest so many
}

// Kinds of stage.
const (
	KindSFT  = "sft"  // imitation of the task's demonstrations
	KindRL   = "rl"   // reinforcement learning
	KindEval = "eval" // an evaluation on all held-out problems, as after every stage
)

// Stage is a part of a run, with an optimizer state of its own.
type Stage struct {
	Kind            string `toml:"kind" choice:"sft,rl,eval"`
	Name            string `toml:"name"` // default: its kind
	Skip            bool   `toml:"skip"` // leave it out, as where model.path has been through it already
	SFT             `in:"sft"`
	RL              `in:"rl"`
	CheckpointEvery int       `toml:"checkpoint_every" in:"sft,rl" range:"[0,inf)"` // steps; 0: only at the end
	Optimizer       Optimizer `toml:"optimizer" in:"sft,rl"`
	Sampling        Sampling  `toml:"sampling" in:"rl"`
	Algorithm       Algorithm `toml:"algorithm" in:"rl"`
}

// SFT are the keys of a supervised stage. The rate rises over
// optimizer.warmup_steps and is held until until_valid of the samples for some
// training problems have the form of an answer, or for hold_steps; then it falls
// linearly for decay_steps.
type SFT struct {
	BatchSize   int     `toml:"batch_size" range:"[1,1048576]"` // demonstrations in a step
	UntilValid  float64 `toml:"until_valid" range:"[0,1]"`      // share that ends the hold; 0: the first test does, 1: all must be valid
	TestEvery   int     `toml:"test_every" range:"[1,inf)"`     // steps between two tests
	HoldSteps   int     `toml:"hold_steps" range:"[1,inf)"`     // steps before the decay at most
	DecaySteps  int     `toml:"decay_steps" range:"[1,inf)"`    // steps of the decay
	FinalLRFrac float64 `toml:"final_lr_frac" range:"[0,1]"`    // share of the rate at its end
}

// RL are the keys of a reinforcement learning stage.
type RL struct {
	Steps             int               `toml:"steps" range:"[1,inf)"`               // rollouts
	PromptsPerStep    int               `toml:"prompts_per_step" range:"[1,65536]"`  // groups of a rollout
	GroupSize         int               `toml:"group_size" range:"[1,65536]"`        // completions of each prompt
	UpdatesPerRollout int               `toml:"updates_per_rollout" range:"[1,inf)"` // each on its share of the prompts
	Reward            string            `toml:"reward"`                              // an expression, see package reward: "task" is the task's verdict; "random" and "one" are controls
	Verifiers         []reward.Verifier `toml:"verifier"`                            // what the expression can name besides
	MaxNotScored      float64           `toml:"max_not_scored" range:"[0,1]"`        // share of a step's completions; a run that has more of them stops
	EvalEvery         int               `toml:"eval_every" range:"[0,inf)"`          // steps between held-out tests; 0: none
	EvalProblems      int               `toml:"eval_problems" range:"[1,1000000]"`   // problems of such a test, not above task.eval_problems
	SampleEvery       int               `toml:"sample_every" range:"[0,inf)"`        // steps between completions shown; 0: none
}

// Sampling says how completions are drawn.
type Sampling struct {
	Temperature         float64 `toml:"temperature" range:"(0,100]"`                // divides the logits, in sampler and trainer alike
	TopK                int     `toml:"top_k" range:"[0,inf)"`                      // the k most likely tokens; 0: off
	TopP                float64 `toml:"top_p" range:"(0,1]"`                        // the most likely tokens that have this probability together; 1: off
	MinP                float64 `toml:"min_p" range:"[0,1)"`                        // tokens at least min_p times as likely as the likeliest; 0: off
	MaxCompletionTokens int     `toml:"max_completion_tokens" range:"[1,16777216]"` // the end token included; default: as long as the task's answers are
}

// Optimizer is AdamW (arXiv 1711.05101) with clipping of the global gradient
// norm.
type Optimizer struct {
	LR          float64    `toml:"lr" range:"[0,10]"`                                // learning rate
	WarmupSteps int        `toml:"warmup_steps" range:"[0,inf)"`                     // of a linear rise; the last of them has the full rate
	Schedule    string     `toml:"schedule" in:"rl" choice:"constant,linear,cosine"` // of the steps after; linear and cosine end near 0
	Betas       [2]float64 `toml:"betas" range:"[0,1)"`                              // decay of the first and second moment
	Eps         float64    `toml:"eps" range:"(0,1)"`                                // added to the root of the second moment
	WeightDecay float64    `toml:"weight_decay" range:"[0,10]"`                      // times the rate, matrices only
	ClipNorm    float64    `toml:"clip_norm" range:"[0,1e9]"`                        // 0: no clipping
}

// Algorithm is a published method by name with changes: keys given besides
// preset replace the preset's. max_completion_tokens defaults to that of sampling.
type Algorithm struct {
	Preset string `toml:"preset"` // see algo.PresetNames; "": algo.Default
	algo.Config
}

// LearningRate is the rate of an rl stage's step, counted from 0. The curve is
// that of package schedule, begun one step early and ended one step late, so
// that no step has rate 0.
func (s *Stage) LearningRate(step int) float64 {
	return s.Optimizer.LR * s.schedule().At(step+1)
}

func (s *Stage) schedule() schedule.Schedule {
	return schedule.Schedule{Kind: s.Optimizer.Schedule, Steps: s.Steps + 1, WarmupSteps: s.Optimizer.WarmupSteps}
}

func defaults() Recipe {
	return Recipe{
		Seed: 1, MicroBatchTokens: 8192, SamplerSequences: 256,
		Model:      Model{Dtype: "f32", KVDtype: "f32", RopeTheta: 1e4, NormEps: 1e-6, InitStd: 0.02, TieEmbeddings: true},
		Task:       Task{EvalProblems: 512, EvalSamples: 8},
		Checkpoint: Checkpoint{Keep: 3},
	}
}

// stageDefaults are the keys of a stage before those of the file. Keys of other
// kinds stay zero.
func stageDefaults(kind string) Stage {
	s := Stage{Kind: kind, Name: kind}
	adamW := Optimizer{Betas: [2]float64{0.9, 0.99}, Eps: 1e-8, ClipNorm: 1}
	switch kind {
	case KindSFT:
		s.SFT = SFT{BatchSize: 32, UntilValid: 0.5, TestEvery: 50, HoldSteps: 1500, DecaySteps: 500, FinalLRFrac: 0.1}
		s.CheckpointEvery = 100
		s.Optimizer = adamW
		s.Optimizer.LR, s.Optimizer.WarmupSteps, s.Optimizer.WeightDecay = 3e-3, 20, 0.01
	case KindRL:
		s.RL = RL{Steps: 100, PromptsPerStep: 32, GroupSize: 8, UpdatesPerRollout: 1, Reward: "task", MaxNotScored: 0.5, EvalEvery: 10, EvalProblems: 128, SampleEvery: 10}
		s.CheckpointEvery = 10
		s.Optimizer = adamW
		s.Optimizer.LR, s.Optimizer.WarmupSteps, s.Optimizer.Schedule = 1e-6, 5, "constant"
		s.Sampling = Sampling{Temperature: 1, TopP: 1}
		s.Algorithm = Algorithm{Config: algo.Default()}
	}
	return s
}
