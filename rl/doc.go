// Package rl is the overview of a run; its code is in the packages below it.
//
//	recipe → prompts → rollout → verify → reward → advantage → loss → train step → checkpoint and metrics
//
//	recipe    what a run is a function of: plain data, strictly read (internal/settings decodes it)
//	resolve   opens what a recipe names
//	prompts   where problems come from, a procedural family (tasks) or data sets (table),
//	          and how they become what a model reads
//	chat      conversations as token ids, and which of them are learned
//	world     what answers a policy turn by turn, and players that need no model
//	rollout   collects what is sampled, plays episodes, and keeps the record: groups, segments, paths
//	formula   the language of rewards and methods: checked, in float64, with derivatives
//	reward    a reward as a formula over verdicts, the group and the step
//	algo      methods as formulas: advantages, filters, losses
//	algebra   formulas over models: what they are, and what they say
//	panel     asks the judges of a run
//	endpoint  asks a judge that another program of this machine serves
//	cast      the models of a run, by name
//	fleet     workers that draw the completions of a run, and how they are checked
//	record    the logs of a run: their lines, writers and readers
//	train     what one step of each kind of stage does: plan, draw, ask, value, learn
//	eval      measures models on held-out problems
//	run       steps, observers, checkpoints, receipt
//	infer     sample, score, tokens
//	weights   a model made of others, by a formula over their tensors
//	fresh     models to begin from, of random weights
//	serve     the same over HTTP, for clients of OpenAI's API
//	compare   whether one recipe reached more than another, by intervals over seeds and problems
//	audit     how far a reward can be trusted
//	receipt   what a run was made of, as hashes
//	store     the only door to the disk
//	fit       which ways to train a model fit a device
//	watch     the alerts of a run
//	page      runs in a browser
//	doctor    certifies a device, and checks finished runs
//	bench     measures a device
//	metrics   names, units and meanings of everything that is measured
//	progress  shows a run on a terminal
//	cli       the commands
//
// Every random number comes from internal/random, keyed by its purpose.
//
// Imports go down; layers in internal/tree/imports_test.go has the order. No stage of the loop
// imports store or progress, and no package below cast imports package model.
//
// # One completion
//
// A completion of an rl stage goes through these files:
//
//	train/plan.go       the planner draws its problem
//	train/queue.go      the queue has the step drawn, lag steps before it is learned from
//	train/draw.go       the drawer asks a collector for the groups of the plan
//	rollout/collect.go  the collector makes a request of the prompt; a sampler answers with segments
//	cast/sampler.go     the policy's engine draws the segment; with workers, fleet does
//	rollout/judge.go    the verifiers judge its text
//	train/completion.go completionsOf makes it a train.Completion
//	train/reward.go     the drawer pays it
//	train/again.go      a second chance may replace it
//	train/ask.go        the asker notes its age, and the policy reads it again if the weights have changed
//	train/facts.go      columns are made for the facts that formulas read; other models are asked here
//	train/learner.go    the learner computes its advantage, and deals its group to an update
//	train/update.go     the trainer computes its gradient, token by token
//	run/logs.go         lineOf writes its line of completions.jsonl; package record defines the line
//
// Nothing edits a completion after its reward. What a step learns from it is a train.Lesson beside it.
//
// # One recipe key
//
// The key group_size of a stage goes through these:
//
//	recipe/recipe.go    a field of recipe.RL: its comment, range and default
//	internal/settings   reads, checks and prints it
//	recipe/keys.go      describes it, for the command "recipes keys" and for docs/reference
//	recipe/before.go    a formula numbers.group_size may give it another value in each step
//	cast/plan.go        counts the memory that it needs
//	train/plan.go       the planner evaluates that formula; the stage in a Plan has the value of its step
//	train/draw.go       the drawer samples that many completions of each problem
//	formula/table.go    formulas read the size of each group as the fact group_size
package rl
