package random

import "math"

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

// Bounds of what the step of a key of a context that began anew is made of.
const (
	maxContexts = 1 << 13
	maxPurposes = 1 << 8
	maxStep     = math.MaxInt / maxPurposes / maxContexts // stands for all steps from it on, such as the one after a stage
)

// Restarted is the key of a completion whose context began anew for the n-th time, from 1 on: its positions are
// those that the contexts before it had, so it has random numbers of its own. n is at most 8191.
func (k Key) Restarted(n int) Key {
	k.Step, k.Purpose = (min(k.Step, maxStep)*maxContexts+n)*maxPurposes+int(k.Purpose), Restart
	return k
}

// Restarts are the purpose and the step of the key that one of the purpose Restart with a step was made of; a step
// above 2^42-1 is that number.
func Restarts(step int) (of Purpose, its int) {
	return Purpose(step % maxPurposes), step / maxPurposes / maxContexts
}
