package recipe

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/rl/reward"
	"github.com/rlzero/rlzero/rl/tasks"
)

// File is the name of the resolved recipe in a run folder.
const File = "recipe.toml"

// ErrInvalid marks a recipe that cannot be run as it is written.
var ErrInvalid = errors.New("invalid recipe")

// Recipe is everything a run is a function of, besides the device. Package settings
// says what the tags mean.
type Recipe struct {
	Name             string     `toml:"name" about:"name of the run, part of the run folder's name; default: that of the preset or the file"`
	About            string     `toml:"about" about:"one line for people"`
	Base             string     `toml:"base" about:"a recipe of the program that this one begins from: tables are merged key by key and stages by name, but [model] with path or family, [task] with name, data or source and [stage.algorithm] with preset stand alone; the recipe of a run has none, since it says everything itself"`
	Paper            string     `toml:"paper" about:"where the method was published, such as arXiv 2402.03300"`
	Systems          []string   `toml:"systems" about:"ids of the published systems that the recipe shows; rlzero recipes ID finds it by them"`
	Seed             uint64     `toml:"seed" range:"[0,9223372036854775807]" about:"seed of all random numbers"` // a TOML integer has 63 bits
	Recompute        bool       `toml:"recompute_activations" about:"keep only the input of each block for the backward pass and compute the others again: less memory, a quarter more work, the same results"`
	MicroBatchTokens int        `toml:"micro_batch_tokens" range:"[1,inf)" unit:"tokens" about:"largest number of tokens in one backward pass; the prompt of a group counts once. Fewer need less memory, with the same results as long as a whole group fits: train --dry-run says where it does not"`
	SamplerSequences int        `toml:"sampler_sequences" range:"[1,1048576]" unit:"completions" about:"largest number of completions sampled at once, but always a whole group; fewer need less memory, with the same results"`
	Model            Model      `toml:"model" about:"the model to train: one that exists (path), or a new one from random weights (family and dimensions)"`
	Task             Task       `toml:"task" about:"the problems: a procedural task (name, settings), or a file (data, verifier)"`
	Checkpoint       Checkpoint `toml:"checkpoint" about:"which checkpoints are kept"`
	Stages           []Stage    `toml:"stage" about:"the stages of the run, in order"`

	origin *settings.Document // where it was read from; nil: it was made otherwise
}

// Model is the model to train: one that exists, or a new one of the dimensions given
// here, whose vocabulary is its task's.
type Model struct {
	Path          string  `toml:"path" about:"a model that exists: a Hugging Face folder, a .gguf file, a run or a checkpoint; only dtype, kv_dtype and lora go with it"`
	Family        string  `toml:"family" about:"architecture of a new model, such as qwen3 or llama"`
	Layers        int     `toml:"layers" range:"[1,4096]" about:"transformer blocks"`
	Width         int     `toml:"width" range:"[1,inf)" about:"length of the vector of a token"`
	Heads         int     `toml:"heads" range:"[1,4096]" about:"attention heads"`
	KVHeads       int     `toml:"kv_heads" range:"[1,4096]" about:"heads of keys and values, which divides heads; default: heads"`
	HeadDim       int     `toml:"head_dim" range:"[2,inf)" about:"length of the vectors of a head, an even number; default: width / heads"`
	MLP           int     `toml:"mlp" range:"[1,inf)" about:"width of the feed-forward layer"`
	RopeTheta     float64 `toml:"rope_theta" range:"(0,1e12]" about:"base of the rotation frequencies"`
	NormEps       float64 `toml:"norm_eps" range:"(0,1)" about:"added to the mean square in a norm"`
	InitStd       float64 `toml:"init_std" range:"(0,10]" about:"standard deviation of new matrices; that of output projections is divided by sqrt(2 layers)"`
	TieEmbeddings bool    `toml:"tie_embeddings" about:"use one table for input and output embeddings"`
	Dtype         string  `toml:"dtype" choice:"f32,bf16,q8_0,q4_0" about:"storage of the matrices that forward and backward pass read; those that the optimizer updates are f32; q8_0 and q4_0 need lora.rank above 0, and keep the vocabulary's tables in bf16"`
	KVDtype       string  `toml:"kv_dtype" choice:"f32,bf16" about:"storage of keys and values, in sampler and trainer alike"`
	LoRA          lora    `toml:"lora" about:"a low-rank adapter (arXiv 2106.09685) that is trained in place of the model"`
}

// lora are the keys of an adapter.
type lora struct {
	Rank    int      `toml:"rank" range:"[0,4096]" about:"rank of the adapter's matrices, such as 16; 0: no adapter, the whole model is trained"`
	Alpha   float64  `toml:"alpha" range:"(0,1e6]" about:"what the adapter adds is multiplied by alpha / rank; with rslora by alpha / sqrt(rank)"`
	RSLoRA  bool     `toml:"rslora" about:"scale by alpha / sqrt(rank) (arXiv 2312.03732)"`
	Modules []string `toml:"modules" about:"the linear layers that get an adapter, such as q_proj and v_proj; default: all linear layers of the blocks"`
}

// besidePath are the keys of a model that exists: the others are in its folder.
var besidePath = []string{"path", "dtype", "kv_dtype", "lora"}

// Task is where the problems come from: a family by its name, or a file.
type Task struct {
	Name string `toml:"name" about:"a procedural task; rlzero tasks lists them"`
	Data string `toml:"data" about:"a file (.jsonl, .json, .csv, .tsv, .parquet) or a folder of them with the problems: prompt (or question), answer and what the verifier reads besides"`
	Columns
	Sources         []dataSource   `toml:"source" about:"several data sets in place of data"`
	Verifier        string         `toml:"verifier" about:"judges the completions for data; rlzero verifiers lists them; a recipe of sft and preference stages alone needs none"`
	Options         map[string]any `toml:"options" about:"options of that verifier; rlzero verifiers show NAME lists them"`
	SHA256          string         `toml:"sha256" about:"hash of data in hexadecimal digits; the recipe of a run has it, and the run is refused once the file has changed"`
	EvalProblems    int            `toml:"eval_problems" range:"[1,1000000]" unit:"problems" about:"held-out problems of the evaluation after each stage; all of them where a file has fewer"`
	EvalSamples     int            `toml:"eval_samples" range:"[1,4096]" unit:"samples" about:"samples of each held-out problem: the evaluation measures pass@1 and pass@eval_samples"`
	AllowLeaks      bool           `toml:"allow_leaks" about:"train although a held-out problem is among the training prompts; otherwise that is an error"`
	Form            string         `toml:"form" choice:"auto,chat,text" about:"chat: prompts are conversations, written with the model's chat template; text: they are the text of the problem; auto: chat if the model has a template"`
	System          string         `toml:"system" about:"system message of every conversation that has none of its own; in place of the one that a procedural task has"`
	TemplateVars    map[string]any `toml:"template_variables" about:"variables of the chat template, such as enable_thinking = false"`
	AllowControl    bool           `toml:"allow_control_tokens" about:"accept control tokens such as <|im_end|> in the text of messages; they are read as the tokens that they name"`
	MaxPromptTokens int            `toml:"max_prompt_tokens" range:"[0,16777216]" unit:"tokens" about:"longest prompt; default: the length of the task's prompts; a task in words and data have no default"`
	Settings        tasks.Task     `toml:"settings" about:"settings of the procedural task; rlzero tasks show NAME lists them"` // validated; nil where there is data
}

// besideData are the keys of a task that is a file.
var besideData = slices.Concat(columnKeys, []string{"data", "source", "verifier", "options", "sha256"}, beside)

// besideName are those of a family.
var besideName = slices.Concat([]string{"name", "settings"}, beside)

// beside are those of both.
var beside = []string{"eval_problems", "eval_samples", "allow_leaks", "form", "system", "template_variables", "allow_control_tokens", "max_prompt_tokens"}

// HasKey implements [settings.Variant].
func (m Model) HasKey(key string) bool { return m.Path == "" || slices.Contains(besidePath, key) }

// HasKey implements [settings.Variant].
func (t Task) HasKey(key string) bool {
	switch {
	case len(t.Sources) > 0:
		return slices.Contains(besideData, key) && key != "data" && !slices.Contains(columnKeys, key)
	case t.Data != "":
		return slices.Contains(besideData, key) && key != "source"
	}
	return slices.Contains(besideName, key)
}

// Resolved writes the recipe as TOML with every value, defaults included. Parse of
// it gives the same recipe.
func (r *Recipe) Resolved() string { return settings.Print(r) }

// Demonstrator is the task if it has demonstrations and a vocabulary; nil if not.
func (t Task) Demonstrator() tasks.Demonstrator {
	demonstrator, _ := t.Settings.(tasks.Demonstrator)
	return demonstrator
}

// Samples says whether a run samples completions: it does unless it learns from rows
// alone and has nothing to judge completions with.
func (r *Recipe) Samples() bool { return !r.Task.FromData() || r.Task.Verifier != "" }

// label is what messages call the task.
func (t Task) label() string {
	names := make([]string, len(t.Sources))
	for i, s := range t.Sources {
		names[i] = s.Data
	}
	return cmp.Or(t.Name, t.Data, strings.Join(names, ", "))
}

// FromData says whether the problems come from data sets, and not from a family.
func (t Task) FromData() bool { return t.Data != "" || len(t.Sources) > 0 }

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
	Keep int `toml:"keep" range:"[1,inf)" unit:"checkpoints" about:"how many of the newest checkpoints are kept; the last one of each stage always is"`
}

// Kinds of stage.
const (
	KindSFT        = "sft"        // imitation of the task's demonstrations or of rows of data
	KindPreference = "preference" // learning from rows of data which completions are better
	KindRL         = "rl"         // reinforcement learning
	KindEval       = "eval"       // an evaluation on all held-out problems, as after every stage
)

var kinds = []string{KindSFT, KindPreference, KindRL, KindEval}

// Stage is a part of a run, with an optimizer state of its own.
type Stage struct {
	Kind            string `toml:"kind" choice:"sft,preference,rl,eval" about:"sft: imitation of the task's demonstrations or of the rows of data; preference: learning from rows of data which completions are better; rl: reinforcement learning; eval: an evaluation on all held-out problems, as after every stage"`
	Name            string `toml:"name" about:"name of the stage in overrides and logs; default: its kind"`
	Skip            bool   `toml:"skip" about:"leave the stage out, for example because model.path has been through it"`
	SFT             `in:"sft"`
	RL              `in:"rl"`
	CheckpointEvery int       `toml:"checkpoint_every" in:"sft,preference,rl" range:"[0,inf)" unit:"steps" about:"steps between two checkpoints; 0: only at the end of the stage"`
	Optimizer       Optimizer `toml:"optimizer" in:"sft,preference,rl" about:"how the weights follow the gradient: AdamW (arXiv 1711.05101) or another rule, with clipping of the global gradient norm"`
	Sampling        Sampling  `toml:"sampling" in:"rl" about:"how completions are sampled"`
	Refill          struct {
		Tries int `toml:"tries" range:"[0,64]" about:"how often a step draws other problems in place of groups that the formula keep refuses; refused groups are then not part of the step. 0: never, and they stay in its statistics"`
	} `toml:"refill" in:"rl" about:"what becomes of groups that the method refuses"`
	SecondChance secondChance `toml:"second_chance" in:"rl" about:"what becomes of a group that meets a condition, such as one that nothing solves"`
	Replay       replay       `toml:"replay" in:"rl" about:"groups of earlier steps that take part again"`
	Curriculum   curriculum   `toml:"curriculum" in:"rl" about:"which problems are drawn, where not all are as likely"`
	Numbers      stageNumbers `toml:"numbers" in:"rl" about:"numbers that change over the steps, as formulas of the run: they read step, steps, progress, chance and states"`
	Algorithm    Algorithm    `toml:"algorithm" in:"sft,preference,rl" about:"the method, as formulas: advantages, filters, the loss"`
}

// SFT are the keys of a supervised stage: on the task's demonstrations, or on the rows of
// data, which are messages or have a completion. The rate rises over
// optimizer.warmup_steps and is held until until_valid of the samples for some
// training problems have the form of an answer, or for hold_steps; then it falls
// linearly for decay_steps. With rows, test_every measures the loss of held-out rows.
// A preference stage has the keys that are about rows.
type SFT struct {
	BatchSize    int     `toml:"batch_size" in:"sft,preference" range:"[1,1048576]" unit:"demonstrations" about:"demonstrations, or rows of data, of a step"`
	MaxTokens    int     `toml:"max_tokens" in:"sft,preference" range:"[0,16777216]" unit:"tokens" about:"longest row of data, its prompt included, and of two completions the longer; 0: the rows are not imitated, demonstrations of the task are"`
	UntilValid   float64 `toml:"until_valid" range:"[0,1]" about:"share of valid samples that ends the hold of the learning rate; 0: the first test does; 1: all samples must be valid"`
	TestEvery    int     `toml:"test_every" in:"sft,preference" range:"[1,inf)" unit:"steps" about:"steps between two tests of validity or, with data, of the loss on held-out rows"`
	HoldSteps    int     `toml:"hold_steps" range:"[1,inf)" unit:"steps" about:"largest number of steps before the learning rate decays"`
	DecaySteps   int     `toml:"decay_steps" range:"[1,inf)" unit:"steps" about:"steps over which the learning rate decays"`
	FinalLRShare float64 `toml:"final_lr_share" was:"final_lr_frac" range:"[0,1]" about:"share of the learning rate that is left at the end of the decay"`
	Show         string  `toml:"show" about:"teach what a hint is, for a later second_chance.show: the question of some demonstrations, with members of the row in braces, such as \"{answer} {question}\"; what stands behind it is right, and a problem none of whose demonstrations is right has no hint; \"\": no hints"`
	ShowShare    float64 `toml:"show_share" range:"[0,1]" about:"with show: share of the demonstrations that have the hint"`
}

// RL are the keys of a reinforcement learning stage.
type RL struct {
	Steps             int               `toml:"steps" in:"preference,rl" range:"[1,inf)" unit:"steps" about:"steps of the stage, each one rollout or one update"`
	MaxSampledTokens  int               `toml:"max_sampled_tokens" range:"[0,inf)" unit:"tokens" about:"the stage ends after the step in which it has sampled this many tokens; 0: only after steps"`
	PromptsPerStep    int               `toml:"prompts_per_step" range:"[1,65536]" unit:"prompts" about:"prompts of a rollout, one group each"`
	GroupSize         int               `toml:"group_size" range:"[1,65536]" unit:"completions" about:"completions of each prompt"`
	UpdatesPerRollout int               `toml:"updates_per_rollout" range:"[1,inf)" unit:"updates" about:"updates of the weights in a step, each on its share of the prompts"`
	Lag               int               `toml:"lag" range:"[0,64]" unit:"steps" about:"how many steps later completions are learned from than they could be: step t learns from those of the policy after step t-1-lag, at first of the one that begins. From 1 on workers draw while the run learns. Curriculum, states and what is known of prompts are those of the time of drawing; weight = \"tis\" corrects the loss"`
	Order             string            `toml:"order" choice:"drawn,arrival" about:"which groups a step with a lag learns from. drawn: its own. arrival: the first prompts_per_step that are there of those that are drawn and not learned from, so that none waits for a slow worker; a group comes at most lag steps before or after its own step, and schedule.jsonl says which came when: train --replay repeats the run by it. Without workers the two are the same"`
	EMADecay          float64           `toml:"ema_decay" range:"[0,1)" about:"what the moving average of the policy's weights keeps of itself at each update, for formulas that read ema; it begins as the policy does"`
	Reward            string            `toml:"reward" about:"formula that gives the reward of a completion; rlzero formulas explains the language"`
	Verifiers         []reward.Verifier `toml:"verifier" about:"verifiers that the reward can name, besides the task's own"`
	MaxNotScored      float64           `toml:"max_not_scored" range:"[0,1]" about:"share of a step's completions that may have no score; a run with more of them stops"`
	EvalEvery         int               `toml:"eval_every" range:"[0,inf)" unit:"steps" about:"steps between two evaluations on held-out problems; 0: none before the end of the stage"`
	EvalProblems      int               `toml:"eval_problems" range:"[1,1000000]" unit:"problems" about:"held-out problems of such an evaluation, at most task.eval_problems"`
	SampleEvery       int               `toml:"sample_every" range:"[0,inf)" unit:"steps" about:"steps between two completions that are shown; 0: none"`
	TokenEvery        int               `toml:"token_every" range:"[0,inf)" unit:"steps" about:"how often tokens.jsonl records what a step taught each token: every so many steps, beginning with the first; 0: never"`
}

// Sampling says how completions are drawn.
type Sampling struct {
	Temperature         float64 `toml:"temperature" range:"(0,100]" about:"divides the logits, in sampler and trainer alike"`
	TopK                int     `toml:"top_k" range:"[0,inf)" unit:"tokens" about:"sample from the k most likely tokens and those as likely as the k-th; 0: off"`
	TopP                float64 `toml:"top_p" range:"(0,1]" about:"sample from the most likely tokens whose probabilities sum to this; 1: off"`
	MinP                float64 `toml:"min_p" range:"[0,1)" about:"sample from the tokens that are at least min_p times as likely as the most likely one; 0: off"`
	MaxCompletionTokens int     `toml:"max_completion_tokens" range:"[1,16777216]" unit:"tokens" about:"longest completion, with its end token; default: the length of the task's answers, if they have one"`

	Stop       []string `toml:"stop" about:"texts that end a completion, such as [\"\\n\\n\"]; verifiers read the text before it; [] is none"`
	StopTokens []int    `toml:"stop_tokens" about:"token ids that end a completion, besides the model's end token; [] is none"`
}

// Stops are the sampling keys that end completions of a stage, in training and in the
// evaluation after it. A stage that samples nothing itself has those of the first stage
// that does.
func (r *Recipe) Stops(st *Stage) Sampling {
	if st.Kind == KindRL {
		return st.Sampling
	}
	for i := range r.Stages {
		if r.Stages[i].Kind == KindRL {
			return r.Stages[i].Sampling
		}
	}
	return Sampling{}
}

// Optimizer is how the weights follow the gradient, with clipping of its norm.
type Optimizer struct {
	rule
	LR          float64 `toml:"lr" range:"[0,10]" about:"learning rate"`
	ValueLR     float64 `toml:"value_lr" in:"rl" range:"[0,10]" about:"learning rate of the value head, for methods that read value; it follows the same schedule; 0: lr"`
	WarmupSteps int     `toml:"warmup_steps" range:"[0,inf)" unit:"steps" about:"steps over which the learning rate rises linearly; the last of them has the full rate"`
	WeightDecay float64 `toml:"weight_decay" range:"[0,10]" about:"decay of the weights per step as a factor of the learning rate; matrices only; with rule = adam or sgd it is a part of the gradient"`
	ClipNorm    float64 `toml:"clip_norm" range:"[0,1e9]" about:"largest norm of the gradient of all weights; 0: no clipping"`
	ClipBy      string  `toml:"clip_by" choice:"l2,l1,largest" about:"the norm that clip_norm is of and policy/grad_norm shows: the root of the sum of squares, the sum without signs, or the largest element"`
	curve       `in:"preference,rl"`
}

func defaults() Recipe {
	return Recipe{
		Systems: []string{}, Seed: 1, MicroBatchTokens: 8192, SamplerSequences: 256,
		Model:      Model{Dtype: "f32", KVDtype: "f32", RopeTheta: 1e4, NormEps: 1e-6, InitStd: 0.02, TieEmbeddings: true, LoRA: lora{Alpha: 32}},
		Task:       Task{EvalProblems: 512, EvalSamples: 8, Form: "auto", Columns: defaultColumns},
		Checkpoint: Checkpoint{Keep: 3},
	}
}

// stageDefaults are the keys of a stage before those of the file. Keys of other
// kinds stay zero.
func stageDefaults(kind string) Stage {
	s := Stage{Kind: kind, Name: kind}
	adamW := Optimizer{rule: rule{Rule: "adamw", Betas: [2]float64{0.9, 0.99}, Eps: 1e-8}, ClipNorm: 1, ClipBy: "l2"}
	switch kind {
	case KindSFT:
		s.SFT = SFT{BatchSize: 32, UntilValid: 0.5, TestEvery: 50, HoldSteps: 1500, DecaySteps: 500, FinalLRShare: 0.1, ShowShare: 0.25}
		s.CheckpointEvery = 100
		s.Optimizer = adamW
		s.Optimizer.LR, s.Optimizer.WarmupSteps, s.Optimizer.WeightDecay = 3e-3, 20, 0.01
		s.Algorithm = Algorithm{Preset: "sft"}
	case KindPreference:
		s.SFT, s.RL = SFT{BatchSize: 32, MaxTokens: 1024, TestEvery: 50}, RL{Steps: 100}
		s.CheckpointEvery = 100
		s.Optimizer = adamW
		s.Optimizer.LR, s.Optimizer.WarmupSteps, s.Optimizer.curve = 1e-6, 10, curveOf("linear")
		s.Algorithm = Algorithm{Preset: "dpo"}
	case KindRL:
		s.RL = RL{Steps: 100, PromptsPerStep: 32, GroupSize: 8, UpdatesPerRollout: 1, Order: "drawn", EMADecay: 0.99, Reward: "task", MaxNotScored: 0.5, EvalEvery: 10, EvalProblems: 128, SampleEvery: 10, TokenEvery: 10}
		s.CheckpointEvery = 10
		s.Optimizer = adamW
		s.Optimizer.LR, s.Optimizer.WarmupSteps, s.Optimizer.curve = 1e-6, 5, curveOf("constant")
		s.Sampling = Sampling{Temperature: 1, TopP: 1, Stop: []string{}, StopTokens: []int{}}
		s.Algorithm = Algorithm{Preset: "grpo"}
		s.SecondChance = secondChance{Replace: 1, PrefixShare: 0.5}
		s.Replay = replay{Share: 0.25, MaxAge: 8, Size: 1000}
	}
	return s
}
