package random

// Key names the random numbers that one completion is drawn with: the same key
// under the same seed gives the same completion of the same prompt.
type Key struct {
	Purpose Purpose
	Stage   int    // of the run, counted from 0
	Step    int    // of the stage: of training from 0, of evaluations and tests the steps done
	Stream  uint32 // tells the completions of a step apart
}

// Seed is what the sampler's generator is seeded with, for a run's seed. It is the
// same for all streams of a step.
func (k Key) Seed(run uint64) uint64 {
	return At(run, Stream(k.Purpose, k.Stage), uint64(k.Step)).Uint64()
}

// Dice are what is random in the completion's episode, for a run's seed: of its [World], or of a [Player].
func (k Key) Dice(run uint64, of Purpose) *Rand { return k.DiceBy(k.Seed(run), of) }

// DiceBy are the same for what Seed returns for that run: whoever draws a completion knows no more.
func (k Key) DiceBy(seed uint64, of Purpose) *Rand {
	return At(seed, Stream(of, k.Stage), uint64(k.Stream))
}
