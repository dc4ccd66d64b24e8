package schedule

import (
	"math"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/fixtures"
)

type golden struct {
	Hyper struct {
		Schedule   string
		Warmup     int      `json:"num_warmup_steps"`
		Steps      int      `json:"num_training_steps"`
		Base       float64  `json:"base_lr"`
		Cycles     float64  `json:"num_cycles"`
		MinRate    float64  `json:"min_lr_rate"`
		Min        float64  `json:"min_lr"`
		End        *float64 `json:"lr_end"`
		Power      float64
		Timescale  float64
		Decay      int     `json:"num_decay_steps"`
		DecayType  string  `json:"decay_type"`
		WarmupType string  `json:"warmup_type"`
		MinRatio   float64 `json:"min_lr_ratio"`
	}
	Out struct{ Multiplier []float64 }
}

func (g golden) schedule() Schedule {
	h := g.Hyper
	s := Schedule{Kind: h.Schedule, Steps: h.Steps, WarmupSteps: h.Warmup, Cycles: h.Cycles, Power: h.Power, Timescale: h.Timescale, Floor: h.MinRate + h.Min/h.Base + h.MinRatio}
	switch h.Schedule {
	case "constant":
		s.WarmupSteps = 0 // transformers ignores it; constant_with_warmup has it
	case "constant_with_warmup":
		s.Kind = "constant"
	case "cosine_with_restarts":
		s.Kind = "cosine_restarts"
	case "cosine_with_min_lr":
		s.Kind = "cosine"
	case "polynomial":
		end := 1e-7 // transformers' default lr_end
		if h.End != nil {
			end = *h.End
		}
		s.Floor = end / h.Base
	case "inverse_sqrt":
		s.Timescale = h.Timescale
	case "warmup_stable_decay":
		s.Kind, s.DecaySteps, s.WarmupShape, s.DecayShape = "wsd", h.Decay, h.WarmupType, h.DecayType
	}
	return s
}

func TestTransformers(t *testing.T) {
	fixtures.Each(t, "losses", func(t *testing.T, dir string) {
		fixtures.Losses(t, dir, "schedules", func(t *testing.T, f *fixtures.LossFile, c *fixtures.Case) {
			var g golden
			c.Decode(t, &g)
			s := g.schedule()
			if err := s.Validate(); err != nil {
				t.Fatal(err)
			}
			for step, want := range g.Out.Multiplier {
				got := s.At(step)
				if math.IsNaN(got) || math.Abs(got-want) > f.Tolerance.Abs+f.Tolerance.Rel*math.Abs(want) {
					t.Errorf("%+v at step %d = %.17g, want %.17g", s, step, got, want)
				}
			}
		})
	})
}

func TestValidateNamesKeyAndChoices(t *testing.T) {
	for want, s := range map[string]Schedule{
		"kind":         {Kind: "cosin", Steps: 10},
		"steps":        {Kind: "linear"},
		"warmup_steps": {Kind: "linear", Steps: 10, WarmupSteps: 11},
		"floor":        {Kind: "linear", Steps: 10, Floor: 1.5},
		"decay_steps":  {Kind: "wsd", Steps: 10, WarmupSteps: 5, DecaySteps: 6},
		"decay_shape":  {Kind: "wsd", Steps: 10, DecaySteps: 6, DecayShape: "round"},
	} {
		err := s.Validate()
		if err == nil || !strings.HasPrefix(err.Error(), want+" = ") || !strings.Contains(err.Error(), "accepted: ") {
			t.Errorf("Validate(%+v) = %v, want an error about %s", s, err, want)
		}
	}
}
