package train

import (
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/rollout"
)

// StepParams say how the completions of a stage's training steps are drawn.
func StepParams(st *recipe.Stage) rollout.Params {
	c := st.Sampling
	return rollout.Params{Temperature: c.Temperature, TopK: c.TopK, TopP: c.TopP, MinP: c.MinP, MaxTokens: c.MaxCompletionTokens, StopText: c.Stop, StopIDs: c.StopTokens}
}

// EvalParams say how the completions of a stage's evaluations are drawn.
func EvalParams(r *recipe.Recipe, st *recipe.Stage) rollout.Params {
	stops := r.Stops(st)
	return rollout.Params{Temperature: 1, MaxTokens: r.MaxCompletion(st), StopText: stops.Stop, StopIDs: stops.StopTokens}
}
