package schedule

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Schedule is a curve over the steps of a run. Only Kind, and for all kinds but
// constant and inverse_sqrt Steps, must be set; 0 elsewhere means the default
// that the comment names.
type Schedule struct {
	Kind        string  `toml:"kind"`         // constant, linear, cosine, cosine_restarts, polynomial, inverse_sqrt, wsd
	Steps       int     `toml:"steps"`        // length of the run, steps
	WarmupSteps int     `toml:"warmup_steps"` // rises linearly from 0 to 1 over these
	Floor       float64 `toml:"floor"`        // the lowest value, as a fraction of the base value
	Cycles      float64 `toml:"cycles"`       // cosine: waves, 0 = 0.5, one fall; cosine_restarts: falls, 0 = 1
	Power       float64 `toml:"power"`        // polynomial: 0 = 1
	Timescale   float64 `toml:"timescale"`    // inverse_sqrt: steps, 0 = warmup_steps, or 10000 without warm-up
	DecaySteps  int     `toml:"decay_steps"`  // wsd (warm-up, stable, decay): the last steps, which fall to floor
	WarmupShape string  `toml:"warmup_shape"` // wsd: linear (default), cosine, 1-sqrt
	DecayShape  string  `toml:"decay_shape"`  // wsd: linear (default), cosine, 1-sqrt
}

var (
	kinds  = []string{"constant", "linear", "cosine", "cosine_restarts", "polynomial", "inverse_sqrt", "wsd"}
	shapes = []string{"", "linear", "cosine", "1-sqrt"}
)

// Validate reports every value that is not accepted, each with the key, the
// value found and what is accepted.
func (s Schedule) Validate() error {
	var errs []error
	check := func(ok bool, key string, found any, accepted string) {
		if !ok {
			errs = append(errs, fmt.Errorf("%s = %#v is not accepted; accepted: %s", key, found, accepted))
		}
	}
	endless := s.Kind == "constant" || s.Kind == "inverse_sqrt"
	check(slices.Contains(kinds, s.Kind), "kind", s.Kind, strings.Join(kinds, ", "))
	check(s.Steps > 0 || endless, "steps", s.Steps, "a number > 0")
	check(s.WarmupSteps >= 0 && (endless || s.WarmupSteps <= s.Steps), "warmup_steps", s.WarmupSteps, "a number from 0 to steps")
	check(s.Floor >= 0 && s.Floor <= 1, "floor", s.Floor, "a number from 0 to 1")
	check(s.Cycles >= 0 && !math.IsInf(s.Cycles, 0), "cycles", s.Cycles, "a number >= 0")
	check(s.Power >= 0 && !math.IsInf(s.Power, 0), "power", s.Power, "a number >= 0")
	check(s.Timescale >= 0 && !math.IsInf(s.Timescale, 0), "timescale", s.Timescale, "a number >= 0")
	if s.Kind == "wsd" {
		check(s.DecaySteps > 0 && s.DecaySteps+s.WarmupSteps <= s.Steps, "decay_steps", s.DecaySteps, "a number from 1 to steps - warmup_steps")
	}
	check(slices.Contains(shapes, s.WarmupShape), "warmup_shape", s.WarmupShape, strings.Join(shapes[1:], ", "))
	check(slices.Contains(shapes, s.DecayShape), "decay_shape", s.DecayShape, strings.Join(shapes[1:], ", "))
	return errors.Join(errs...)
}

// At is the multiplier of the step with this index, from 0.
func (s Schedule) At(step int) float64 {
	if step < s.WarmupSteps {
		risen := float64(step) / float64(s.WarmupSteps)
		if s.Kind == "wsd" {
			return s.lift(fall(s.WarmupShape, 1-risen))
		}
		return risen
	}
	span := float64(max(1, s.Steps-s.WarmupSteps)) // steps after warm-up
	done, left := float64(step-s.WarmupSteps)/span, math.Max(0, float64(s.Steps-step)/span)
	switch s.Kind {
	case "linear":
		return s.lift(left)
	case "cosine":
		return s.lift(wave(or(s.Cycles, 0.5) * done))
	case "cosine_restarts":
		if done >= 1 {
			return s.Floor
		}
		return s.lift(wave(math.Mod(or(s.Cycles, 1)*done, 1) / 2))
	case "polynomial":
		return s.lift(math.Pow(left, or(s.Power, 1)))
	case "inverse_sqrt":
		scale := or(s.Timescale, or(float64(s.WarmupSteps), 10000))
		return 1 / math.Sqrt((float64(step-s.WarmupSteps)+scale)/scale)
	case "wsd":
		into := float64(step-(s.Steps-s.DecaySteps)) / float64(s.DecaySteps)
		return s.lift(fall(s.DecayShape, math.Min(math.Max(into, 0), 1)))
	}
	return 1 // constant
}

// lift maps 0..1 to floor..1.
func (s Schedule) lift(x float64) float64 { return x*(1-s.Floor) + s.Floor }

// wave is a cosine between 1 and 0 that needs one cycle to be back at 1.
func wave(cycles float64) float64 { return 0.5 * (1 + math.Cos(2*math.Pi*cycles)) }

// fall goes from 1 to 0 as x goes from 0 to 1.
func fall(shape string, x float64) float64 {
	switch shape {
	case "cosine":
		return wave(x / 2)
	case "1-sqrt":
		return 1 - math.Sqrt(x)
	}
	return 1 - x
}

func or(x, fallback float64) float64 {
	if x == 0 {
		return fallback
	}
	return x
}
