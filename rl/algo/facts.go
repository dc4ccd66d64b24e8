package algo

import "github.com/rlzero/rlzero/rl/formula"

// Facts lists what formulas of an algorithm may read, beside what the shape of a
// step tells ([formula.Structure]), parameters, named parts and state. A fact
// exists in a run if something supplies it; naming it is what makes a run compute
// it.
func Facts() []formula.Fact {
	token := func(name, unit, meaning string) formula.Fact {
		return formula.Fact{Name: name, Level: formula.Token, Unit: unit, Meaning: meaning}
	}
	now := func(name, unit, meaning string) formula.Fact {
		f := token(name, unit, meaning)
		f.Now, f.Slope = true, true
		return f
	}
	return append(formula.Common(), []formula.Fact{
		{Name: "chance", Level: formula.Run, Meaning: "uniform between 0 and 1, by seed and step"},
		{Name: "reward", Level: formula.Completion, Meaning: "the stage's reward"},
		{Name: "greedy_reward", Level: formula.Group, Meaning: "reward of one more completion of the prompt, sampled greedily and not trained"},
		{Name: "age", Level: formula.Completion, Unit: "updates", Meaning: "updates of the weights since it was sampled"},
		{Name: "foreign", Level: formula.Completion, Condition: true, Meaning: "another model or a file wrote it"},
		{Name: "v_star", Level: formula.Group, Meaning: "value of the prompt, found before the run"},
		{Name: "mismatched", Level: formula.Completion, Unit: "nats", Meaning: "sum of logp - ref of the prompt with the completion of another: KTO's anchor"},
		{Name: "turn_reward", Level: formula.Segment, Meaning: "reward of a turn"},
		now("logp", "nats", "log-prob of the token now"),
		now("entropy", "nats", "entropy over the vocabulary now"),
		now("uniform_logp", "nats", "mean of the log-probs over the vocabulary now"),
		now("value", "", "what the value head says now"),
		token("start", "nats", "log-prob by the trainer at the beginning of the step; old to the bit unless the row is stale, foreign or re-prompted"),
		token("ref", "nats", "log-prob by the reference policy"),
		token("old_uniform_logp", "nats", "uniform_logp when the token was drawn"),
		token("old_value", "", "value when the token was drawn"),
		token("collision", "", "sum of the squared probabilities when the token was drawn"),
		token("noise", "", "uniform between 0 and 1, by seed, step and place"),
	}...)
}
