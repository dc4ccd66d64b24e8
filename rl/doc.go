// Package rl trains language models by reinforcement learning with verifiable
// rewards. A run goes through the stages of its recipe; a reinforcement
// learning step goes through these parts, in this order:
//
//	recipe → prompts → rollout → verify → reward → advantage → loss → train step → checkpoint and metrics
//
// prompts: rows of a procedural task (package tasks), a function of seed, stage
// and step. rollout: a group of completions of each prompt, sampled by
// model.Engine. verify: verdicts for each completion (package verify), several
// completions side by side. reward: an expression over them and the whole step
// (package reward); what could not be scored is left out, never counted as 0, and
// a step with too much of it stops the run. advantage and loss:
// package algo, plain Go in float64; the device gets weights for each token.
// train step: model.Trainer. Nothing edits a completion after its rollout.
//
// # Randomness
//
// Every random number is a function of the recipe's seed and of what it is for
// (stage, step, prompt, completion, position), never of time or scheduling. So
// a run is a function of recipe, seed and device, and a resumed run continues
// to the same bytes.
//
// # Threads
//
// A run belongs to one goroutine. Cancel its context to stop it: it writes a
// checkpoint of the last step done, if there is none, and returns ErrInterrupted.
package rl
