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
	// name of the run, part of the name of its folder; default: the name of the preset or the file
	Name string `toml:"name"`

	// one line for people
	About string `toml:"about"`

	// a built-in recipe that this one starts from: tables are merged key by key and stages by name, where a
	// stage that the base lacks comes before the next one that it has, or last; but [model] with
	// family, [models.NAME] with path, copy, weights or logits, [task] with name, data, source or world, and [stage.algorithm] with
	// preset replace the whole table, [model] with path all but dtype, kv_dtype and lora, and what the base expects is left out; the recipe of a run has no base, since it says everything itself
	Base string `toml:"base"`

	// where the method was published, such as arXiv 2402.03300
	Paper string `toml:"paper"`

	// ids of the published systems that the recipe reproduces; rlzero recipes ID finds it by them
	Systems []string `toml:"systems" default:"[]"`

	// seed of all random numbers
	Seed uint64 `toml:"seed" range:"[0,9223372036854775807]" default:"1"` // a TOML integer has 63 bits

	// keep only the input of each block for the backward pass and compute the other activations again:
	// less memory, a quarter more work, the same results
	Recompute bool `toml:"recompute_activations"`

	// largest number of tokens in one backward pass; the prompt of a group counts once. A smaller number
	// needs less memory and gives the same results, as long as a whole group fits: train --dry-run says if
	// it does not
	MicroBatchTokens int `toml:"micro_batch_tokens" range:"[1,inf)" unit:"tokens" default:"8192"`

	// largest number of completions sampled at once, but always a whole group; a smaller number needs less
	// memory and gives the same results
	SamplerSequences int `toml:"sampler_sequences" range:"[1,1048576]" unit:"completions" default:"256"`

	// the model to train: an existing one (path), or a new one with random weights (family and dimensions)
	Model Model `toml:"model"`

	// models beside the policy, by names that formulas read: [models.teacher]
	Models map[string]Member `toml:"models"`

	// the problems: a procedural task (name, settings), or data (data, verifier)
	Task Task `toml:"task"`

	// which checkpoints are kept
	Checkpoint Checkpoint `toml:"checkpoint"`

	// the stages of the run, in order
	Stages []Stage `toml:"stage"`

	// what a run should show against a control; rlzero compare --expect measures it
	Expect []Expectation `toml:"expect"`

	origin *settings.Document // where it was read from; nil: it was made otherwise
}

// Model is the model to train: one that exists, or a new one of the dimensions given
// here, whose vocabulary is its task's.
type Model struct {
	// an existing model: a Hugging Face folder, a .gguf file, a run or a checkpoint; only dtype, kv_dtype
	// and lora go with it. Training goes on with the adapter of a run, a checkpoint or a PEFT folder if
	// lora describes it
	Path string `toml:"path"`

	Shape `of:"new"`

	// storage of the matrices that the forward and backward passes read; the matrices that the optimizer
	// updates are f32. q8_0 and q4_0 need lora.rank above 0, and keep embedding and output head in bf16
	Dtype string `toml:"dtype" choice:"f32,bf16,q8_0,q4_0" default:"f32"`

	// storage of keys and values, in sampler and trainer alike
	KVDtype string `toml:"kv_dtype" choice:"f32,bf16" default:"f32"`

	// a low-rank adapter (arXiv 2106.09685), trained in place of the model
	LoRA lora `toml:"lora"`
}

// Shape is the architecture of a model that is made from random weights.
type Shape struct {
	// architecture of a new model, such as qwen3 or llama. In a table of [models]: the model has the policy's
	// tokens, is kept in f32, and learns in stages of kind sft
	Family string `toml:"family"`

	// transformer blocks
	Layers int `toml:"layers" range:"[1,4096]"`

	// length of the vector of a token
	Width int `toml:"width" range:"[1,inf)"`

	// attention heads
	Heads int `toml:"heads" range:"[1,4096]"`

	// heads of keys and values, a divisor of heads; default: heads
	KVHeads int `toml:"kv_heads" range:"[1,4096]"`

	// length of the vectors of a head, an even number; default: width / heads
	HeadDim int `toml:"head_dim" range:"[2,inf)"`

	// width of the feed-forward layer
	MLP int `toml:"mlp" range:"[1,inf)"`

	// base of the rotation frequencies
	RopeTheta float64 `toml:"rope_theta" range:"(0,1e12]" default:"1e4"`

	// added to the mean square in a norm
	NormEps float64 `toml:"norm_eps" range:"(0,1)" default:"1e-6"`

	// standard deviation of new matrices; output projections have it divided by sqrt(2 layers)
	InitStd float64 `toml:"init_std" range:"(0,10]" default:"0.02"`

	// longest sequence that the model is written for, tokens; 0: that of the recipe, at least 64. Recipes that
	// go on with the model may need more
	Context int `toml:"context" range:"[0,inf)" hashed:"given"`

	// use one table for input and output embeddings
	TieEmbeddings bool `toml:"tie_embeddings" default:"true"`
}

// lora are the keys of an adapter.
type lora struct {
	// rank of the adapter's matrices, such as 16; 0: no adapter, the whole model is trained
	Rank int `toml:"rank" range:"[0,4096]"`

	// the adapter's output is multiplied by alpha / rank, or with rslora by alpha / sqrt(rank)
	Alpha float64 `toml:"alpha" range:"(0,1e6]" default:"32"`

	// scale by alpha / sqrt(rank) (arXiv 2312.03732)
	RSLoRA bool `toml:"rslora"`

	// the linear layers with an adapter, such as q_proj and v_proj; default: all linear layers of the
	// blocks
	Modules []string `toml:"modules"`
}

// Task is where the problems come from: a family by its name, or a file.
type Task struct {
	// a procedural task; rlzero tasks lists them
	Name string `toml:"name" of:"name,turns"`

	// a file (.jsonl, .json, .csv, .tsv, .parquet) or a folder of them, with the problems: prompt (or
	// question), answer, and what else the verifier reads
	Data    string `toml:"data" of:"data"`
	Columns `of:"data"`

	// several data sets in place of data
	Sources []dataSource `toml:"source" of:"source"`

	// the verifier that judges completions of data; rlzero verifiers lists them; a recipe with only sft
	// and preference stages needs none
	Verifier string `toml:"verifier" of:"data,source"`

	// options of the verifier; rlzero verifiers show NAME lists them
	Options map[string]any `toml:"options" of:"data,source"`

	// a file with a function reward(row, completion) in Starlark that judges the completions for data;
	// short for verifier = "starlark" with its option file; rlzero verifiers show starlark explains it
	Starlark string `toml:"starlark" of:"data,source"`

	// hash of the data in hexadecimal digits; the recipe of a run has it, and a run whose file has changed
	// is refused
	SHA256 string `toml:"sha256" of:"data,source"`

	// held-out problems of the evaluation after each stage; all of them if a file has fewer
	EvalProblems int `toml:"eval_problems" range:"[1,1000000]" unit:"problems" default:"512"`

	// samples of each held-out problem: the evaluation measures pass@1 and pass@eval_samples
	EvalSamples int `toml:"eval_samples" range:"[1,4096]" unit:"samples" default:"8"`

	// with eval_samples above 1: the evaluation also measures maj@eval_samples, the share of problems for which
	// the commonest answer of the samples is right
	EvalVotes bool `toml:"eval_votes" hashed:"given"`

	// train even if a held-out problem is among the training prompts, which otherwise is an error
	AllowLeaks bool `toml:"allow_leaks"`

	// chat: write prompts as conversations, with the model's chat template; text: prompts are the text of
	// the problem; auto: chat if the model has a template
	Form string `toml:"form" choice:"auto,chat,text" default:"auto"`

	// system message for conversations that have none, in place of that of a procedural task
	System string `toml:"system"`

	// variables of the chat template, such as enable_thinking = false
	TemplateVars map[string]any `toml:"template_variables"`

	// accept control tokens such as <|im_end|> in the text of messages, and read them as these tokens
	AllowControl bool `toml:"allow_control_tokens"`

	// longest prompt; default: the length of the task's prompts; tasks in words, and data, have no default
	MaxPromptTokens int `toml:"max_prompt_tokens" range:"[0,16777216]" unit:"tokens"`

	// how long an episode may be, in training and in evaluations, for a task that is played in turns or has
	// tools
	Episode Episode `toml:"episode" of:"turns,tools,world"`

	// a program of others that plays the problems, in place of a procedural task: those of data, its own, or
	// numbers
	World World `toml:"world" of:"world"`

	// how the policy calls the tools of [[task.tool]]. template: as the model's chat template writes calls;
	// tags: between tags with the name of the tool, as in <calculator>7*8</calculator>, which any model can
	// learn, and of which a system message tells a model with a chat template
	Calls string `toml:"calls" of:"tools" choice:"template,tags" default:"template"`

	// calls of a turn that are made; those after them are told that they were not
	MaxCalls int `toml:"max_calls" of:"tools" range:"[1,16]" unit:"calls" default:"16"`

	// longest answer of a tool; a longer one is cut in its middle
	ReplyBytes int `toml:"reply_bytes" of:"tools" range:"[64,1048576]" unit:"bytes" default:"65536"`

	// tools that the policy may call before it answers; a chat template is given them in place of a column
	// tools of the rows
	Tools []Tool `toml:"tool" of:"tools"`

	// settings of the procedural task; rlzero tasks show NAME lists them
	Settings tasks.Task `toml:"settings" of:"name,turns"` // validated; nil where there is data
}

// Episode is how long an episode of a task may be that is played in turns.
type Episode struct {
	// largest number of turns of the policy; default: the task's own, and 4 with tools or a program of others
	Turns int `toml:"turns" range:"[1,4096]" unit:"turns"`

	// largest number of tokens of an episode, without its prompt but with what is read between the turns;
	// where the context begins anew, of each context; sampling.max_completion_tokens limits one turn; default:
	// the length of the task's longest valid episode; with tools or a program of others there is no default
	Tokens int `toml:"tokens" range:"[1,16777216]" unit:"tokens"`

	// what the policy reads of the turns before. append: the tokens that it drew, which nothing changes;
	// template: what the chat template makes of the whole conversation, as it is when the model is used; where
	// that differs from what was drawn, as with a template that drops thoughts, the context begins anew, and each
	// turn is learned in the context that it was drawn in
	History string `toml:"history" choice:"append,template" default:"append"`

	// asks the policy for a summary when its context is long; then the context begins anew with the problem and
	// the summary. Summaries are learned as turns are. They are no turns of the world and of the key turns
	Summary Summary `toml:"summary"`

	// longest time of a world for one turn; a turn that takes longer is tried again in a fresh world; if it is
	// late again, the policy is told that there is no answer; if the world itself is slow, the episode is not
	// scored; a run that reaches the limit repeats only if it has calls.jsonl; 0: no limit; default: 0, and 60
	// with a program or a server of others
	Seconds float64 `toml:"seconds" range:"[0,86400]" unit:"seconds"`
}

// Summary says when the context of an episode begins anew with what the policy wrote.
type Summary struct {
	// tokens of the context, without the prompt: from so many on, once a reply is there, a summary is asked for
	// in place of a turn; below the key tokens by what the request and the summary need; 0: never
	At int `toml:"at" range:"[0,16777216]" unit:"tokens"`

	// what the policy reads then, after the reply
	Ask string `toml:"ask"`

	// what stands before the summary in the new context
	Before string `toml:"before"`
}

// Variant implements [settings.Variant].
func (m Model) Variant() string {
	if m.Path != "" {
		return "path"
	}
	return "new"
}

// Variant implements [settings.Variant]: where the problems come from, and whether there are tools, or a program
// of others.
func (t Task) Variant() string {
	switch {
	case len(t.Tools) > 0:
		return t.origin() + " tools"
	case t.World.Given() && t.FromData():
		return t.origin() + " world"
	}
	return t.origin()
}

// origin is the key that says where the problems come from, or turns.
func (t Task) origin() string {
	switch {
	case len(t.Sources) > 0:
		return "source"
	case t.Data != "":
		return "data"
	case t.World.Given():
		return "world"
	case t.Episodic() != nil:
		return "turns"
	}
	return "name"
}

// Resolved writes the recipe as TOML with every value, defaults included. Parse of
// it gives the same recipe.
func (r *Recipe) Resolved() string { return settings.Print(r) }

// Demonstrator is the task if it has demonstrations and a vocabulary; nil if not.
func (t Task) Demonstrator() tasks.Demonstrator {
	demonstrator, _ := t.Settings.(tasks.Demonstrator)
	return demonstrator
}

// Episodic is the task if it is played in turns; nil if not.
func (t Task) Episodic() tasks.Episodic {
	episodic, _ := t.Settings.(tasks.Episodic)
	return episodic
}

// Samples says whether a run samples completions: it does unless it learns from rows
// alone and nobody has named what judges completions. A run that samples and names none
// gets the verifier that fits its rows when they are opened.
func (r *Recipe) Samples() bool {
	return !r.Task.FromData() || r.Task.World.Given() || r.Task.Verifier != "" || slices.ContainsFunc(r.Stages, func(s Stage) bool { return s.Draws() || s.Kind == KindEval })
}

// label is what messages call the task.
func (t Task) label() string {
	names := make([]string, len(t.Sources))
	for i, s := range t.Sources {
		names[i] = s.Data
	}
	return cmp.Or(t.Name, t.Data, strings.Join(names, ", "), t.World.Label())
}

// known says whether it is known where the problems come from.
func (t Task) known() bool { return t.Settings != nil || t.FromData() || t.World.Given() }

// FromData says whether the problems come from data sets, and not from a family.
func (t Task) FromData() bool { return t.Data != "" || len(t.Sources) > 0 }

// MaxCompletion is how long completions of a stage are at most, in tokens, in
// training and in the evaluation after it. A stage that samples nothing itself
// is measured with the longest that the task or another stage asks for.
func (r *Recipe) MaxCompletion(st *Stage) int {
	longest := st.Sampling.MaxCompletionTokens
	if t := r.Task.Demonstrator(); t != nil {
		return max(longest, r.Task.TurnTokens())
	}
	for i := range r.Stages {
		if !st.Draws() {
			longest = max(longest, r.Stages[i].Sampling.MaxCompletionTokens)
		}
	}
	return longest
}

// MaxDrawn is how long what follows a prompt is at most, in tokens: an episode, or a completion of
// a stage.
func (r *Recipe) MaxDrawn(st *Stage) int {
	if r.Task.Played() {
		return r.Task.Episode.Tokens
	}
	return r.MaxCompletion(st)
}

// Checkpoint says which checkpoints stay on disk. The last one of each stage
// always does.
type Checkpoint struct {
	// how many of the newest checkpoints are kept; the last one of each stage is always kept
	Keep int `toml:"keep" range:"[1,inf)" unit:"checkpoints" default:"3"`

	// keep the model of the best evaluation on held-out problems in the folder best of the run; of the
	// last and the best sample, eval, export, serve and chat take the last, unless its evaluation is
	// below the best beyond chance. Logs and checkpoints are the same without it
	KeepBest bool `toml:"keep_best" default:"true"`
}

// Kinds of stage.
const (
	KindSFT        = "sft"        // imitation of the task's demonstrations or of rows of data
	KindPreference = "preference" // learning from rows of data which completions are better
	KindRL         = "rl"         // reinforcement learning
	KindMake       = "make"       // completions are drawn and judged, rows are made of them, and nothing is learned
	KindEval       = "eval"       // an evaluation on all held-out problems, as after every stage
)

var kinds = []string{KindSFT, KindPreference, KindRL, KindMake, KindEval}

// Stage is a part of a run, with an optimizer state of its own.
type Stage struct {
	// sft: imitation of the task's demonstrations or of rows of data; preference: learning from rows of
	// data which completion is better; rl: reinforcement learning; make: completions are drawn and judged,
	// rows are made of them, and nothing is learned; eval: an evaluation on all held-out problems, as after
	// every stage that learns
	Kind string `toml:"kind" choice:"sft,preference,rl,make,eval"`

	// name of the stage in overrides and logs; default: its kind
	Name string `toml:"name"`

	// leave the stage out, for example because the model of model.path has been through it
	Skip bool `toml:"skip"`

	// who learns: the policy, or a model of [models] with copy, weights or logits, which has the place of the policy as long
	// as the stage lasts: it draws, and is evaluated and saved. In a stage of kind eval it is measured, and
	// nobody learns
	Trains string `toml:"trains" in:"sft,preference,rl,eval" of:"trains" default:"policy"`

	SFT `in:"sft"`
	RL  `in:"rl"`

	// formula of the facts of rewards, such as task, that is measured beside the reward and never paid, for
	// one that a judge or a model pays: reward/truth and reward/gap; "": none
	Truth string `toml:"truth" in:"rl" of:"truth"`

	// steps between two checkpoints; 0: only at the end of the stage
	CheckpointEvery int `toml:"checkpoint_every" in:"sft,preference,rl,make" range:"[0,inf)" unit:"steps" default:"100" default_rl:"10"`

	// how the weights follow the gradient: AdamW (arXiv 1711.05101) or another rule, with clipping of
	// the global gradient norm
	Optimizer Optimizer `toml:"optimizer" in:"sft,preference,rl"`

	// how completions are sampled
	Sampling Sampling `toml:"sampling" in:"rl,make"`

	// rows that are made of what the steps draw
	Make []Making `toml:"make" in:"rl,make"`

	// made rows that the stage learns from, or whose problems it draws
	Sources []rowSource `toml:"source" in:"sft,preference,rl,make"`

	// what happens to groups for which keep of the method is false
	Refill refill `toml:"refill" in:"rl"`

	// what happens to groups that meet a condition, such as a group without a right answer
	SecondChance secondChance `toml:"second_chance" in:"rl"`

	// groups of earlier steps that are learned from again
	Replay replay `toml:"replay" in:"rl"`

	// which problems are drawn, if some are to be drawn more often than others; of kind sft, which
	// problems are shown
	Curriculum curriculum `toml:"curriculum" in:"sft,rl" of:"curriculum"`

	// completions of a prompt that grow as a tree: some begin as others do, up to a node that a formula chooses
	Tree Tree `toml:"tree" in:"rl" of:"tree"`

	// who plays the seats of a task that has several (rlzero tasks says which), such as {first = "policy",
	// second = "past"}. policy: the policy, which learns from all its seats, those of each seat in a group of
	// their own; NAME: a model of [models], such as an earlier policy, a copy with renew; best, random: players
	// that need no model; ["past", "older", "random"]: one of these, drawn for each problem, whose name the member
	// row.against of a group's row has. A seat that is left out is the policy's. The member row.seat of a
	// group's row is its seat. Without the key the policy has one seat, and a partner of the task plays the others; evaluations
	// are always played so
	Seats map[string]any `toml:"seats" in:"rl" of:"seats"`

	// problems that the policy writes, and then solves; of kind sft, that it imitates
	Propose Propose `toml:"propose" in:"sft,rl" of:"propose"`

	// the policy whose greedy answers greedy_reward is the reward of: the best one so far
	Best best `toml:"best" in:"rl" of:"best"`

	// numbers that change over the steps, as formulas of the run: they read step, steps, progress,
	// chance and states
	Numbers stageNumbers `toml:"numbers" in:"rl"`

	// the method, as formulas: advantages, filters, the loss
	Algorithm Algorithm `toml:"algorithm" in:"sft,preference,rl"`

	// who else learns in each step: models of [models] by their names, or policy, a second loss of it on rows
	Learn map[string]Learning `toml:"learn" in:"rl" of:"learn"`

	played  bool           // its task is played in turns
	replays bool           // it learns from a store of another one, see [Learning]
	models  []reward.Model // that formulas name beside those that every recipe has
}

// Variant implements [settings.Variant]: a stage without a best policy, a learner of its
// own, a truth, a tree, seats, problems that are written or others who learn has no keys about them.
func (s Stage) Variant() string {
	var variants []string
	if s.Best.Every > 0 {
		variants = append(variants, "best")
	}
	if s.Kind == KindRL || len(s.Curriculum.Settings) > 0 {
		variants = append(variants, "curriculum")
	}
	if s.Learner() != PolicyModel {
		variants = append(variants, "trains")
	}
	if s.Truth != "" {
		variants = append(variants, "truth")
	}
	if s.Grows() {
		variants = append(variants, "tree")
	}
	if s.Sits() {
		variants = append(variants, "seats")
	}
	if s.Proposes() {
		variants = append(variants, "propose")
	}
	if len(s.Learn) > 0 {
		variants = append(variants, "learn")
	}
	return strings.Join(variants, " ")
}

// best are the keys of the best policy so far (arXiv 1803.08475): a frozen copy of the policy, which
// takes its place when it is better by a test. It begins as the policy at the beginning of the stage.
type best struct {
	// steps between two tests: the greedy answers of both to new training problems are compared, and the
	// policy becomes the best one if its rewards are higher by a one-sided paired t-test; 0: the policy
	// itself gives the greedy answers
	Every int `toml:"every" range:"[0,1000000]" unit:"steps"`

	// training problems of a test
	Problems int `toml:"problems" range:"[2,65536]" unit:"problems" default:"128"`

	// largest chance of such a gain by luck at which the policy becomes the best one
	Level float64 `toml:"level" range:"(0,1)" default:"0.05"`
}

// refill are the keys of what is drawn in place of groups that the method refuses.
type refill struct {
	// how often a step draws other problems in place of refused groups, for which the formula keep is
	// false; refused groups are then not part of the step. 0: never, and they count in its statistics
	Tries int `toml:"tries" range:"[0,64]"`
}

// SFT are the keys of a supervised stage: on the task's demonstrations, or on the rows of
// data, which are messages or have a completion. The rate rises over
// optimizer.warmup_steps and is held until until_valid of the samples for some
// training problems have the form of an answer, or for hold_steps; then it falls
// linearly for decay_steps. With rows, test_every measures the loss of held-out rows.
// A preference stage has the keys that are about rows.
type SFT struct {
	// demonstrations, or rows of data, per step
	BatchSize int `toml:"batch_size" in:"sft,preference" range:"[1,1048576]" unit:"demonstrations" default:"32"`

	// longest row of data with its prompt, counting the longer of two completions; 0: imitate the task's
	// demonstrations, not rows of data
	MaxTokens int `toml:"max_tokens" in:"sft,preference" range:"[0,16777216]" unit:"tokens" default_preference:"1024"`

	// share of valid samples at which the learning rate begins to decay; 0: at the first test; 1: only if
	// all samples are valid. A model of [models] with family is not tested: its rate is held for hold_steps
	UntilValid float64 `toml:"until_valid" range:"[0,1]" default:"0.5"`

	// steps between two tests of validity or, with data, of the loss on held-out rows
	TestEvery int `toml:"test_every" in:"sft,preference" range:"[1,inf)" unit:"steps" default:"50"`

	// largest number of steps before the learning rate decays
	HoldSteps int `toml:"hold_steps" range:"[1,1000000000]" unit:"steps" default:"1500"`

	// steps over which the learning rate decays
	DecaySteps int `toml:"decay_steps" range:"[1,1000000000]" unit:"steps" default:"500"`

	// share of the learning rate that is left at the end of the decay
	FinalLRShare float64 `toml:"final_lr_share" was:"final_lr_frac" range:"[0,1]" default:"0.1"`

	// teach the policy what a hint is, for a later second_chance.show: the question of some
	// demonstrations, with members of the row in braces, such as "{answer} {question}". The demonstration
	// after a hint is always right, so a problem without a right demonstration gets no hint; of a task that is
	// played in turns it is an episode of the best player; "": no hints
	Show string `toml:"show"`

	// with show: share of the demonstrations with a hint
	ShowShare float64 `toml:"show_share" range:"[0,1]" default:"0.25"`
}

// RL are the keys of a reinforcement learning stage.
type RL struct {
	// steps of the stage, each one rollout or one update
	Steps int `toml:"steps" in:"preference,rl,make" range:"[1,1000000000]" unit:"steps" default:"100"`

	// the stage ends after the step in which it has sampled this many tokens; 0: no such limit
	MaxSampledTokens int `toml:"max_sampled_tokens" in:"rl,make" range:"[0,inf)" unit:"tokens"`

	// prompts of a step, with one group each
	PromptsPerStep int `toml:"prompts_per_step" in:"rl,make" range:"[1,65536]" unit:"prompts" default:"32"`

	// completions of each prompt
	GroupSize int `toml:"group_size" in:"rl,make" range:"[1,65536]" unit:"completions" default:"8"`

	// updates of the weights per step, each on its share of the prompts
	UpdatesPerRollout int `toml:"updates_per_rollout" range:"[1,inf)" unit:"updates" default:"1"`

	// number of steps by which learning lags sampling: step t learns from completions of the policy after
	// step t-1-lag, or of the first policy. From 1 on, workers draw while the run learns. Curriculum,
	// states and facts of prompts are those at the time of sampling; weight = "tis" corrects the loss
	Lag int `toml:"lag" range:"[0,64]" unit:"steps"`

	// which groups a step with a lag learns from. drawn: its own groups. arrival: the first
	// prompts_per_step groups that have arrived and have not been learned from, so that no step waits for
	// a slow worker; a group comes at most lag steps before or after its own step, schedule.jsonl records
	// the order, and train --replay repeats the run by it. Without workers the two are the same
	Order string `toml:"order" choice:"drawn,arrival" default:"drawn"`

	// share of itself that the moving average of the policy's weights keeps at each update, for formulas
	// that read ema; the average begins as the policy
	EMADecay float64 `toml:"ema_decay" range:"[0,1)" default:"0.99"`

	// formula that gives the reward of a completion; rlzero formulas explains the language
	Reward string `toml:"reward" in:"rl,make" default:"task"`

	// verifiers that the reward can name, besides the task's own
	Verifiers []reward.Verifier `toml:"verifier" in:"rl,make"`

	// largest share of completions without a score in a step; above it the run stops
	MaxNotScored float64 `toml:"max_not_scored" in:"rl,make" range:"[0,1]" default:"0.5"`

	// steps between two evaluations on held-out problems; 0: none before the end of the stage
	EvalEvery int `toml:"eval_every" range:"[0,inf)" unit:"steps" default:"10"`

	// held-out problems of these evaluations, at most task.eval_problems
	EvalProblems int `toml:"eval_problems" range:"[1,1000000]" unit:"problems" default:"128"`

	// the stage ends once the accuracy of so many of these evaluations in a row has not been above the best one
	// of the stage; 0: it does all its steps. What is held out then decides how long the policy learns
	Patience int `toml:"patience" range:"[0,1000000]" unit:"evaluations" hashed:"given"`

	// the run shows a completion every so many steps; 0: none
	SampleEvery int `toml:"sample_every" in:"rl,make" range:"[0,inf)" unit:"steps" default:"10"`

	// tokens.jsonl records what a step taught each token, and what the recipe's own parts came to
	// there, every so many steps from the first on; 0: never
	TokenEvery int `toml:"token_every" range:"[0,inf)" unit:"steps" default:"10"`
}

// Sampling says how completions are drawn.
type Sampling struct {
	// number by which the logits are divided, in sampler and trainer alike
	Temperature float64 `toml:"temperature" range:"(0,100]" default:"1"`

	// sample from the k most likely tokens, and those as likely as the k-th; 0: off
	TopK int `toml:"top_k" range:"[0,inf)" unit:"tokens"`

	// sample from the most likely tokens whose probabilities sum to this; 1: off
	TopP float64 `toml:"top_p" range:"(0,1]" default:"1"`

	// sample from the tokens that are at least min_p times as likely as the most likely one; 0: off
	MinP float64 `toml:"min_p" range:"[0,1)"`

	// model of [models] on whose distribution top_k, top_p and min_p act, such as a lagging copy; "": on that of the
	// model that draws. What they keep is drawn by its own log-probs (NLPO, https://arxiv.org/abs/2210.01241)
	FilterBy string `toml:"filter_by" hashed:"given"`

	// longest completion, with its end token; default: the length of the task's answers, if they have one
	MaxCompletionTokens int `toml:"max_completion_tokens" range:"[1,16777216]" unit:"tokens"`

	// texts that end a completion, such as ["\n\n"]; verifiers read the text before them; []: none
	Stop []string `toml:"stop" default:"[]"`

	// token ids that end a completion, besides the model's end token; []: none
	StopTokens []int `toml:"stop_tokens" default:"[]"`
}

// Stops are the sampling keys that end completions of a stage, in training and in the
// evaluation after it. A stage that samples nothing itself has those of the first stage
// that does.
func (r *Recipe) Stops(st *Stage) Sampling {
	if st.Draws() {
		return st.Sampling
	}
	for i := range r.Stages {
		if r.Stages[i].Draws() {
			return r.Stages[i].Sampling
		}
	}
	return Sampling{}
}

// Optimizer is how the weights follow the gradient, with clipping of its norm.
type Optimizer struct {
	rule

	// learning rate
	LR float64 `toml:"lr" range:"[0,10]" default:"1e-6" default_sft:"3e-3"`

	// learning rate of the value head, for methods that read value; it follows the same schedule; 0:
	// lr
	ValueLR float64 `toml:"value_lr" in:"rl" range:"[0,10]"`

	// steps over which the learning rate rises linearly; the last of them has the full rate
	WarmupSteps int `toml:"warmup_steps" range:"[0,1000000000]" unit:"steps" default:"5" default_sft:"20" default_preference:"10"`

	// decay of the weights per step, as a factor of the learning rate; matrices only; with rule = adam or
	// sgd it is part of the gradient
	WeightDecay float64 `toml:"weight_decay" range:"[0,10]" default_sft:"0.01"`

	// largest norm of the gradient of all weights; 0: no clipping
	ClipNorm float64 `toml:"clip_norm" range:"[0,1e9]" default:"1"`

	// the norm of clip_norm and of policy/grad_norm: the root of the sum of squares, the sum of absolute
	// values, or the largest absolute value
	ClipBy string `toml:"clip_by" choice:"l2,l1,largest" default:"l2"`
	curve  `in:"preference,rl"`
}

// defaults is a recipe before the keys of the file.
func defaults() Recipe {
	var r Recipe
	settings.SetDefaults(&r, "")
	return r
}

// stageDefaults is a stage of a kind before the keys of the file. Keys of other kinds stay zero.
func stageDefaults(kind string) Stage {
	s := Stage{Kind: kind, Name: kind}
	settings.SetDefaults(&s, kind)
	return s
}
