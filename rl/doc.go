// Package rl is the overview of a run; its code is in the packages below it.
//
//	recipe → prompts → rollout → verify → reward → advantage → loss → train step → checkpoint and metrics
//
//	recipe    what a run is a function of: plain data, strictly read (settings: the tags that describe keys)
//	resolve   opens what a recipe names
//	prompts   where problems come from: a procedural family (tasks), data sets (table);
//	          and how they become what a model reads
//	chat      conversations as token ids, and what is learned of them
//	random    keyed random numbers and their purposes
//	rollout   the record of what was sampled: groups, segments, paths; and its collection
//	formula   the language of rewards and methods: checked, in float64, with derivatives
//	reward    a reward as a formula over verdicts, the group and the step
//	algo      methods as formulas: advantages, filters, losses
//	cast      the models of a run, by role; the lowest package that knows package model
//	fleet     workers that draw the completions of a run, and how they are checked
//	record    the logs of a run: their lines, writers and readers
//	train     what one step of each kind of stage does
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
// Nothing edits a completion after its rollout: what a step makes of it stands in a
// record of package train.
package rl
