package algo

import (
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/rl/formula"
)

// Facts of hidden states. A state is what a token leaves in a layer of a model once it is read.
const (
	AngleFact  = "angle"
	NetFact    = "net"
	WayFact    = "way"
	TowardFact = "toward"
)

// everyModel are the names of the models that every run can have.
var everyModel = []string{"policy", "ref", "ema"}

// AngleFacts are those of the states of a prompt, before anything is sampled. models are the names that may
// be asked beside those that every run can have.
func AngleFacts(models ...string) []formula.Fact {
	return []formula.Fact{{Name: AngleFact, Level: formula.Group, Takes: layerOf(models),
		Meaning: "how far the states of the prompt's tokens point the same way, 0 to 1: the mean cosine of all pairs of them. Layers count from 1; the last one, or last, is what the final norm gives, which the output table reads. Costs a forward pass of the prompts, up to that layer",
		Formula: "|sum of h/|h| over the n tokens|^2 / n^2", Source: "angle concentration within a segment: GAIN-RL, arXiv 2506.02281"}}
}

// PathFacts are those of the path that a completion takes from segment to segment. models are as those of
// [AngleFacts].
func PathFacts(models ...string) []formula.Fact {
	const source = "latent trajectories: arXiv 2510.10494"
	of := func(name, meaning, how string) formula.Fact {
		return formula.Fact{Name: name, Level: formula.Segment, Takes: layerOf(models), Formula: how, Source: source,
			Meaning: meaning + ". A segment is where the mean of its tokens' states lies. Costs a forward pass, up to that layer, for all facts of one model and layer together"}
	}
	return []formula.Fact{
		of(NetFact, "how far the segment lies from the first one: last(net(m, layer)) is the net change of the completion", "|h[k] - h[1]|"),
		of(WayFact, "how far it lies from the segment before it, 0 of the first: sum(way(m, layer)) is the length of the path", "|h[k] - h[k-1]|"),
		of(TowardFact, "cosine of the step from the segment before it with the way from the first segment to the last; no value of the first", "cos(h[k] - h[k-1], h[n] - h[1])"),
	}
}

// Facts of gradients of the model that learns, by its weights when a step begins.
const (
	InfluenceFact    = "influence"
	OwnInfluenceFact = "own_influence"
	GradientNormFact = "gradient_norm"
)

// gradientFacts are those of gradients of log-probs.
func gradientFacts() []formula.Fact {
	of := func(name, others string) formula.Fact {
		return formula.Fact{Name: name, Level: formula.Token, Takes: []formula.Argument{{Name: "x", Value: true}},
			Meaning: "what a step that makes tokens likelier, each by x, does to the log-prob of this one: its inner product with the gradients of " + others + ", each times x, by the output table. x is the name of a formula or a fact, and a token without x counts as 0. By the weights when the step begins; costs a forward pass, and a backward pass of the output table",
			Formula: "sum over tokens j of x[j] <h[i], h[j]> <e[i] - p[i], e[j] - p[j]>", Source: "Token Hidden Reward, arXiv 2510.03669"}
	}
	return []formula.Fact{
		of(InfluenceFact, "all tokens of the group"),
		of(OwnInfluenceFact, "all tokens of its completion"),
		{Name: GradientNormFact, Level: formula.Completion, Meaning: "norm of the gradient of the sum of the completion's log-probs by all that is trained, by the weights when the step begins; costs a forward and a backward pass of each completion by itself"},
	}
}

// Influences says whether a fact is an influence, for which the trainer of an adapter needs more memory.
func Influences(fact string) bool {
	return strings.HasPrefix(fact, InfluenceFact+"(") || strings.HasPrefix(fact, OwnInfluenceFact+"(")
}

// layerOf are the arguments of a fact of hidden states.
func layerOf(models []string) []formula.Argument {
	return []formula.Argument{{Name: "model", Names: append(everyModel[:len(everyModel):len(everyModel)], models...)}, {Name: "layer", Count: true, Names: []string{"last"}}}
}

// Hidden is a layer of a model.
type Hidden struct {
	Model string
	Layer int // from 1; 0: the last one
}

// HiddenOf reads what a fact such as angle(ref, 4) asks for; ok is false of other facts.
func HiddenOf(fact string) (of Hidden, ok bool) {
	name, rest, _ := strings.Cut(fact, "(")
	switch name {
	case AngleFact, NetFact, WayFact, TowardFact:
	default:
		return of, false
	}
	model, layer, _ := strings.Cut(strings.TrimSuffix(rest, ")"), ", ")
	if layer == "last" {
		return Hidden{Model: model}, true
	}
	n, err := strconv.Atoi(layer)
	return Hidden{model, n}, err == nil
}

// OfPath says whether a fact is of the path that a completion takes, which is known once it is cut.
func OfPath(fact string) bool {
	_, hidden := HiddenOf(fact)
	return hidden && !strings.HasPrefix(fact, AngleFact+"(")
}
