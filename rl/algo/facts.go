package algo

import (
	"slices"
	"strings"

	"github.com/rlzero/rlzero/rl/formula"
)

// Version is that of formulas. It rises when a formula gives other values or derivatives than
// before, in their last bits as well; checkpoints and receipts hold it.
const Version = 1

// Facts lists what formulas of an algorithm may read, beside what the shape of a
// step tells ([formula.Structure]), parameters, named parts and state.
func Facts() []formula.Fact {
	all := RunFacts()
	all = append(all, StaleFacts()...)
	all = append(all, TurnFacts()...)
	all = append(all, TreeFacts()...)
	all = append(all, ScoreFact(), LabelFact())
	all = append(all, AngleFacts()...)
	all = append(all, PathFacts()...)
	for _, f := range otherFacts {
		f.Meaning += "; no stage supplies it yet"
		all = append(all, f)
	}
	return all
}

// RunFacts are those that every stage that samples can supply. Naming a fact is what
// makes the run compute it.
func RunFacts() []formula.Fact { return slices.Clone(runFacts) }

// StaleFacts are those that a stage can supply in which not all completions are sampled
// afresh: with [stage.second_chance], [stage.replay] or lag.
func StaleFacts() []formula.Fact {
	const needs = "; with [stage.second_chance], [stage.replay] or lag"
	return []formula.Fact{
		{Name: "fresh", Level: formula.Completion, Condition: true, Meaning: "the policy sampled it for this step, with no second chance" + needs},
		{Name: "replayed", Level: formula.Completion, Condition: true, Meaning: "its group is one of an earlier step, which was stored" + needs},
		{Name: "foreign", Level: formula.Completion, Condition: true, Meaning: "a file has it; its old is start" + needs},
		{Name: "hinted", Level: formula.Completion, Condition: true, Meaning: "it was sampled with a hint in its prompt, or after the beginning of a solution" + needs},
		{Name: "hint_share", Level: formula.Completion, Meaning: "share of the solution that it was given, or of the entries that it was shown; 1 with another hint, 0 without" + needs},
		{Name: "age", Level: formula.Completion, Unit: "updates", Meaning: "updates of the weights since it was sampled" + needs},
	}
}

// TurnFact is how the names of facts begin that a world tells about a turn.
const TurnFact = "turn."

// SummaryFact tells summaries from turns that a world saw.
const SummaryFact = "summary"

// TurnFacts are those of a stage whose task is played in turns. Its segments are the turns, unless
// the part segments cuts in another way; those of a turn are then refused.
func TurnFacts() []formula.Fact {
	const needs = "; with a task that is played in turns"
	return []formula.Fact{
		{Name: "turns", Level: formula.Completion, Unit: "turns", Meaning: "turns that the policy took in the episode" + needs},
		{Name: "read_tokens", Level: formula.Completion, Unit: "tokens", Meaning: "tokens that it read between its turns" + needs},
		{Name: "contexts", Level: formula.Completion, Unit: "contexts", Meaning: "contexts that it read: one, and one more for each time that it began anew" + needs},
		{Name: "out_of_turns", Level: formula.Completion, Condition: true, Meaning: "the episode was not over when its turns were used up" + needs},
		{Name: "turn_reward", Level: formula.Segment, Meaning: "what the world pays for a turn" + needs},
		{Name: TurnFact + "*", Level: formula.Segment, Meaning: "a number that the world tells about a turn, such as turn.left; no value where it does not, nor of a summary" + needs},
		{Name: "state", Level: formula.Segment, Text: true, Meaning: "the situation in which a turn is taken, as the world calls it: equal texts in a group are equal situations; for == and same_mean" + needs},
		{Name: SummaryFact, Level: formula.Segment, Condition: true, Meaning: "the turn is a summary, with which the context begins anew: the world did not see it. It counts among turns" + needs},
		{Name: "last_turn", Level: formula.Segment, Condition: true, Meaning: "the turn is the last of its episode" + needs},
	}
}

// TreeFacts are those of a stage whose completions grow as trees. Its segments are the nodes, unless
// the part segments cuts in another way; these facts are then refused.
func TreeFacts() []formula.Fact {
	const needs = "; with [stage.tree]"
	return []formula.Fact{
		{Name: "node", Level: formula.Segment, Meaning: "number of the node in the tree of its prompt, the same for all completions that go through it: for same_mean. A segment that begins inside of a node has its number and the share of it that stands before" + needs},
		{Name: "depth", Level: formula.Segment, Unit: "segments", Meaning: "which segment of its completion it is, from 1: with nodes, how deep in the tree" + needs},
		{Name: "leaves", Level: formula.Segment, Unit: "completions", Meaning: "completions that go through the node in which it begins" + needs},
	}
}

// OfTrees are the facts among some that are of a tree.
func OfTrees(facts []string) []string {
	return slices.DeleteFunc(slices.Clone(facts), func(f string) bool {
		return !slices.ContainsFunc(TreeFacts(), func(t formula.Fact) bool { return t.Name == f })
	})
}

// OfOneContext are the facts among some that are of a completion as one sequence: of one whose context began anew
// there are none.
func OfOneContext(facts ...string) []string {
	return slices.DeleteFunc(slices.Clone(facts), func(f string) bool {
		family, _, _ := strings.Cut(f, "(")
		return !slices.Contains(oneContext, family)
	})
}

var oneContext = []string{GradientNormFact, InfluenceFact, OwnInfluenceFact, NetFact, WayFact, TowardFact, "mismatched"}

// OfTurns are the facts among some that are of a turn.
func OfTurns(facts []string) []string {
	var out []string
	for _, f := range facts {
		for _, turn := range TurnFacts() {
			family, many := strings.CutSuffix(turn.Name, "*")
			if turn.Level == formula.Segment && (f == turn.Name || many && strings.HasPrefix(f, family)) {
				out = append(out, f)
			}
		}
	}
	return out
}

// RowFacts are those of a stage that learns from rows of data or from demonstrations: no
// model sampled them.
func RowFacts() []formula.Fact {
	return slices.DeleteFunc(RunFacts(), func(f formula.Fact) bool { return !slices.Contains(ofRows, f.Name) })
}

var ofRows = []string{"step", "steps", "progress", "chance", "prompt_tokens", "reward", "row.*", "mismatched", "logp", "entropy", "uniform_logp", "ref", "noise", "inside", "begins"}

// Trains tells whether a stage of a run can supply what a method reads. A stage with
// verifiers of its own may supply more.
func (m Method) Trains() bool {
	_, err := m.Compile(runFacts)
	return err == nil
}

// PromptFacts are those that formulas of the time before sampling may read, such as a
// curriculum's: of the run, of the prompts that can be drawn, and the states of the method. models are as
// those of [AngleFacts]; heads are the names of those with a head.
func (m Method) PromptFacts(models, heads []string) []formula.Fact {
	known := []string{"step", "steps", "progress", "chance", "prompt_tokens", "row.*", "seen", "solved", "last_solved", "steps_since", "prompt_value"}
	facts := slices.DeleteFunc(RunFacts(), func(f formula.Fact) bool { return !slices.Contains(known, f.Name) })
	facts = append(facts, formula.Fact{Name: "prompt_chance", Level: formula.Group, Meaning: "uniform between 0 and 1, by seed, step and prompt"},
		formula.Fact{Name: "probed", Level: formula.Group, Meaning: "mean score of the task's verdicts on the completions that the last fresh pass drew of the prompt; no value if none has a score"})
	for _, name := range heads {
		facts = append(facts, PosedHeadFact(name))
	}
	return slices.Concat(facts, AngleFacts(models...), m.stateFacts(""))
}

// ModelFact is what formulas read of a model that a recipe names.
func ModelFact(name string) formula.Fact {
	f := tokenFact(name, "nats", "log-prob by the model "+name+"; costs a forward pass")
	f.Model = true
	return f
}

// HeadFact is what formulas read of a model that a recipe names and that has a head.
func HeadFact(name string) formula.Fact {
	return tokenFact(name, "", "what the head of the model "+name+" says after the token: its number, or of several labels the probability of one; costs a forward pass")
}

// ValueFact is what formulas read of such a model beside it: what a value head says of itself.
func ValueFact(name string) formula.Fact {
	return tokenFact(name+valueEnd, "", "what the head of the model "+name+" says before the token, of the state from which it is drawn; costs a forward pass")
}

const valueEnd = ".value"

// SaidBy accepts the facts of tokens that a model says: of its own name, and of its head before a token.
func SaidBy(model string) func(fact string) bool {
	return func(fact string) bool { return fact == model || fact == model+valueEnd }
}

// BeforeToken is the model whose head says a fact before each token, if it is such a fact of a model.
func BeforeToken(fact string) (model string, is bool) { return strings.CutSuffix(fact, valueEnd) }

// PosedHeadFact is what formulas of the time before sampling read of such a model.
func PosedHeadFact(name string) formula.Fact {
	return formula.Fact{Name: name, Level: formula.Group, Meaning: "what the head of the model " + name + " says after the prompt; costs a forward pass of the prompts"}
}

// ScoreFact is that of a stage that trains a model with a head.
func ScoreFact() formula.Fact {
	return nowFact("score", "", "what the head of the model that learns says after the token, now; a loss that reads it trains the head; for stages with trains = \"NAME\", of a model of [models] with head = true")
}

// LabelFact is that of a stage that learns from rows with steps.
func LabelFact() formula.Fact {
	return tokenFact("label", "", "label of the step that ends in the token, 0 to 1; no value in other tokens; for stages of kind preference, of rows with steps and labels")
}

// StepFact is how the name ends of what a judge of steps says of them.
const StepFact = ".step"

// StepsFact is that of a verifier of a stage that judges the steps of completions.
func StepsFact(name string) formula.Fact {
	return tokenFact(name, "", "what the judge says of the step in which the token ends; for verifiers of a stage that are judges with shows = \"steps\"")
}

// Taken says what a name is to formulas; "": nothing, so a model may have it.
func Taken(name string) string {
	for _, f := range formula.Functions() {
		if f.Name == name {
			return "a function"
		}
	}
	for _, f := range slices.Concat(formula.Structure(), Facts()) {
		if family, _, _ := strings.Cut(f.Name, "."); family == name {
			return "a fact"
		}
	}
	if _, is := defaultParts[name]; is || slices.Contains([]string{"A", keepPart, advantagePart, lossPart, segmentsPart, TurnsCut}, name) {
		return "a part of methods"
	}
	for _, p := range presetTexts().library {
		if _, number := p.Parameters[name]; number || plainName(p.Name) == name {
			return "a named formula, or a number of one"
		}
	}
	for _, preset := range MethodNames() {
		m := presetTexts().methods[preset]
		_, number := m.Parameters[name]
		_, part := m.Formulas[name]
		_, state := m.State[name]
		if number || part || state {
			return "a part or a number of the method " + preset
		}
	}
	return ""
}

func tokenFact(name, unit, meaning string) formula.Fact {
	return formula.Fact{Name: name, Level: formula.Token, Unit: unit, Meaning: meaning}
}

func textFact(name, meaning string) formula.Fact {
	return formula.Fact{Name: name, Level: formula.Token, Condition: true, Meaning: meaning, Takes: []formula.Argument{{Name: "pattern", Pattern: true}}}
}

func nowFact(name, unit, meaning string) formula.Fact {
	f := tokenFact(name, unit, meaning)
	f.Now, f.Slope = true, true
	return f
}

var runFacts = slices.Concat(formula.Common(), gradientFacts(), []formula.Fact{
	{Name: "chance", Level: formula.Run, Meaning: "uniform between 0 and 1, by seed and step"},
	{Name: "max_tokens", Level: formula.Run, Unit: "tokens", Meaning: "largest length of a completion: sampling.max_completion_tokens"},
	{Name: "reward", Level: formula.Completion, Meaning: "the stage's reward; of rows of data 1 for a better or good completion and 0 for a worse or bad one"},
	{Name: "reward.*", Level: formula.Completion, Meaning: "a value that the stage's reward gives a name, such as reward.brief of brief = if(tokens < 50, 1, 0); task + brief; also its verdicts, such as reward.task"},
	{Name: "task", Level: formula.Completion, Meaning: "score of the task's own verdict; the stage's verifiers go by their names"},
	{Name: "task.*", Level: formula.Completion, Meaning: "a number that the task's verdict has beside its score, such as task.error; those of the stage's verifiers are NAME.value, and of a judge of steps NAME.step is a number of each token"},
	{Name: "row.*", Level: formula.Group, Both: true, Meaning: "a member of the problem's metadata, such as row.budget, or its answer or question: a number, or a text where it is compared, as in row.domain == \"math\""},
	{Name: "seen", Level: formula.Group, Unit: "steps", Meaning: "in how many steps of the run the prompt was drawn before"},
	{Name: "solved", Level: formula.Group, Meaning: "mean score of the task's verdicts on earlier completions of the prompt; no value if there were none"},
	{Name: "last_solved", Level: formula.Group, Meaning: "the same mean, in the last step in which the prompt was drawn"},
	{Name: "steps_since", Level: formula.Group, Unit: "steps", Meaning: "steps of the run since the prompt was last drawn; no value if it was not"},
	{Name: "prompt_value", Level: formula.Group, Meaning: "estimate of the value head for the first token after the prompt, before anything is sampled, also of prompts that were never drawn; in a curriculum by the weights that draw, else of the time when the step begins; costs a forward pass of the prompts"},
	{Name: "greedy_reward", Level: formula.Group, Meaning: "reward of the most likely completion of the prompt, which is sampled besides the others, because the method reads it, and is not trained; with [stage.best] that of the best policy so far"},
	nowFact("logp", "nats", "log-prob of the token now"),
	nowFact("entropy", "nats", "entropy over the vocabulary now"),
	nowFact("uniform_logp", "nats", "mean of the log-probs over the vocabulary now"),
	nowFact("value", "", "estimate of the value head now: a linear map of the final hidden state from which the token is drawn; a loss that reads it trains it. In [stage.learn.NAME] it is what the head of NAME says before the token"),
	tokenFact("start", "nats", "log-prob by the trainer at the beginning of the step; equal to old, to the bit, unless the row is stale or was sampled with a hint that its prompt no longer has"),
	tokenFact("ref", "nats", "log-prob by the reference policy: the policy at the beginning of the stage; in a run that trains a new adapter, the model without the adapter"),
	tokenFact("old_uniform_logp", "nats", "uniform_logp when the token was drawn; for methods with lag: when the step begins"),
	tokenFact("ema", "nats", "log-prob by a moving average of the policy's weights, which keeps the share ema_decay of itself at each update of the stage; costs a second copy of what is trained and a forward pass"),
	tokenFact("old_value", "", "value when the token was drawn; of replayed rows and with lag: when the step begins; costs a forward pass"),
	tokenFact("noise", "", "uniform between 0 and 1, by seed, step and place"),
	textFact("inside", "the token lies, at least in part, in a match of the regular expression in the text of the completion, such as inside('(?s)<think>.*?</think>'); the end token is in no match"),
	textFact("begins", "a match of the regular expression begins in the token, such as a line for begins('(?m)^'); if the character has several tokens, the last one counts"),
	{Name: "mismatched", Level: formula.Completion, Unit: "nats", Meaning: "sum of logp - ref, at the beginning of the step, of the prompt with the completion of the next prompt: KTO's anchor"},
})

// otherFacts exist where columns are given, as for rlzero formulas eval. No stage
// supplies them.
var otherFacts = []formula.Fact{
	tokenFact("collision", "", "sum of the squared probabilities when the token was drawn; exp(old) has the same mean over draws, so that otb trains with otb_weight = \"1 - exp(old)\""),
}
