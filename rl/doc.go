// Package rl is the overview of a run; its code is in the packages below it.
//
//	recipe → prompts → rollout → verify → reward → advantage → loss → train step → checkpoint and metrics
//
//	recipe    what a run is a function of: plain data, strictly read (settings: the tags and comments that describe keys)
//	resolve   opens what a recipe names
//	prompts   where problems come from: a procedural family (tasks), data sets (table);
//	          and how they become what a model reads
//	chat      conversations as token ids, and what is learned of them
//	random    keyed random numbers and their purposes
//	world     what answers a policy turn by turn, and who plays without a model
//	rollout   the record of what was sampled: groups, segments, paths; its collection; episodes
//	formula   the language of rewards and methods: checked, in float64, with derivatives
//	reward    a reward as a formula over verdicts, the group and the step
//	algo      methods as formulas: advantages, filters, losses
//	cast      the models of a run, by role; the lowest package that knows package model
//	fleet     workers that draw the completions of a run, and how they are checked
//	record    the logs of a run: their lines, writers and readers
//	train     what one step of each kind of stage does: plan, draw, ask, value, learn
//	eval      measures models on held-out problems
//	run       steps, observers, checkpoints, receipt
//	infer     sample, score, tokens
//	serve     the same for clients of OpenAI's API, over HTTP; web: who may connect
//	compare   whether one recipe reached more than another, by intervals over seeds and problems
//	audit     how far a reward can be trusted
//	receipt   what a run was made of, as hashes
//	store     the only door to the disk
//	fit       which ways to train a model fit a device
//	watch     the alerts of a run
//	page      runs in a browser; web: what its servers share
//	tfevents  metrics as TensorBoard's event files
//	metrics, page, progress, doctor, bench, lines, terminal, cli
//
// Imports go down: settings, random, lines → formula → reward, algo, tasks, prompts → rollout →
// cast → train → run → cli. Nothing below run imports store's runs or progress, and
// nothing below cast imports package model.
//
// # One completion
//
// A completion of an rl stage goes through these files:
//
//	train/plan.go       the planner draws its problem
//	train/queue.go      the queue has the step drawn, lag steps before it is learned from
//	train/draw.go       the drawer asks a collector for the groups of the plan
//	rollout/collect.go  the prompt becomes a request; the sampler answers with a segment
//	cast/sampler.go     the policy's engine draws the segment; with workers fleet does
//	rollout/judge.go    its text gets the verdicts
//	train/draw.go       it is a train.Completion; train/reward.go pays it
//	train/again.go      a second chance may replace it
//	train/ask.go        its age, and what models say of it now
//	train/facts.go      all of this as columns, for the formulas that read them
//	train/learner.go    its advantage; the update that it belongs to
//	train/update.go     its gradient, token by token
//	run/logs.go         it becomes a line of completions.jsonl, which package record defines
//
// Nothing edits a completion after its reward: what was learned from it stands in a lesson beside it.
//
// # One recipe key
//
// The key group_size of a stage goes through these:
//
//	recipe/recipe.go    a field of recipe.RL: its comment, range and default
//	internal/settings   reads, checks and prints it; recipes keys lists it
//	recipe/before.go    numbers.group_size may give it another value in each step
//	cast/plan.go        the memory that it needs
//	train/plan.go       the planner puts the value of the step into Plan's stage
//	train/draw.go       the drawer samples so many completions of each problem
package rl
