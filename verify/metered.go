package verify

import (
	"fmt"
	"sync"
	"time"
)

// Cost is what a verdict took.
type Cost struct {
	Steps int           // of a script
	Time  time.Duration // of a processor
}

// Metered is a [Verifier] whose work somebody else decides about, such as a user's script: the
// cost of one verdict is bounded by the verifier, that of many by a [Meter].
type Metered interface {
	Verifier
	// Metered is Verify with what it took.
	Metered(row Problem, completion string) (Verdict, Cost)
}

// What the completions that are judged together may take on average, and at least in all.
const (
	meanSteps, leastSteps = 100_000, 10_000_000
	meanTime, leastTime   = 50 * time.Millisecond, 20 * time.Second
)

// Meter adds up what verdicts take on completions that are judged together, those of a step of
// a run. It is safe for concurrent use.
type Meter struct {
	completions int
	lock        sync.Mutex
	spent       Cost
}

// NewMeter is a meter for so many completions.
func NewMeter(completions int) *Meter { return &Meter{completions: completions} }

// Add adds a cost. The error says that the verifier takes more than the completions may take.
func (m *Meter) Add(c Cost) error {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.spent.Steps += c.Steps
	m.spent.Time += c.Time
	steps, spend := max(leastSteps, meanSteps*m.completions), max(leastTime, meanTime*time.Duration(m.completions))
	switch {
	case m.spent.Steps > steps:
		return fmt.Errorf("the verifier's script has taken %d steps for some of %d completions that are judged together; accepted: at most %d", m.spent.Steps, m.completions, steps)
	case m.spent.Time > spend:
		return fmt.Errorf("the verifier's script has taken %v of processor time for some of %d completions that are judged together; accepted: at most %v", m.spent.Time.Round(time.Second), m.completions, spend)
	}
	return nil
}

// Verify is the verdict of a verifier, with what it took added if it is [Metered]. The error is that of Add.
func (m *Meter) Verify(v Verifier, row Problem, completion string) (Verdict, error) {
	metered, ok := v.(Metered)
	if !ok {
		return v.Verify(row, completion), nil
	}
	verdict, cost := metered.Metered(row, completion)
	return verdict, m.Add(cost)
}
