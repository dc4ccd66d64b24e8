package train

import (
	"github.com/rlzero/rlzero/model/seq"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/reward"
	"github.com/rlzero/rlzero/rl/rollout"
)

// models is what a step asks of the models of its run. Nothing of it changes weights.
type models interface {
	// Forward computes the statistics of the tokens that the policy wrote, by its weights of now.
	Forward(views []rollout.View) ([]seq.Stats, error)
	// Supply computes a fact of such tokens that takes a pass of a model, see [cast.Cast.Supply].
	Supply(fact string, views []rollout.View) ([][]float64, error)
	// States tells of the hidden states that tokens leave in a layer of a model, see [cast.Cast.States].
	States(model string, layer int, views []rollout.View, do func(i int, states [][]float32) error) error
	// Influence and GradientNorms are of the policy's gradients, see [cast.Trainee.Influence].
	Influence(sets [][]rollout.View, x [][][]float64) ([][][]float64, error)
	GradientNorms(views []rollout.View) ([]float64, error)
	// ScoreOf scores texts for a reward, see [cast.Cast.ScoreOf].
	ScoreOf(model string, texts []cast.Text) ([]cast.Scored, error)
	// PlaceOf tells where a model has texts, see [cast.Cast.PlaceOf].
	PlaceOf(model string, texts []cast.Text) ([]reward.Place, error)
	// HeadOf is what the head of a model says after the last token of views, see [cast.Cast.HeadOf].
	HeadOf(model string, views []rollout.View) ([]float64, error)
	// Best draws completions by the best policy so far, see [cast.Cast.Best], and Crown makes the policy
	// that one.
	Best() rollout.Sampler
	Crown() error
	// Version is the number of updates of the policy since the run began.
	Version() int
	// Vocabulary is the number of tokens of the policy, and Ends are those that end a text.
	Vocabulary() int
	Ends() []int
}

// castModels are the models of a run.
type castModels struct{ *cast.Cast }

func (m castModels) Forward(views []rollout.View) ([]seq.Stats, error) {
	return m.Policy.Forward(views)
}
func (m castModels) Influence(sets [][]rollout.View, x [][][]float64) ([][][]float64, error) {
	return m.Policy.Influence(sets, x)
}

func (m castModels) GradientNorms(views []rollout.View) ([]float64, error) {
	return m.Policy.GradientNorms(views)
}

func (m castModels) Version() int    { return m.Policy.Version() }
func (m castModels) Vocabulary() int { return m.Policy.Model.Config.Vocab }
func (m castModels) Ends() []int     { return m.Policy.Model.Config.EOS }
