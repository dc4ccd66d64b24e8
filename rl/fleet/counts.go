package fleet

import "fmt"

// Counts are what happened in a fleet. They depend on time and are never a part of what a
// run writes.
type Counts struct {
	Offered    int // items, each time
	Answered   int // by workers, taken
	Here       int // computed by the trainer
	Hedged     int // offered again after a silence
	Duplicates int // second results
	Dropped    int // results that nobody asked for, malformed, or of refused workers
	Audited    int // items checked in mode Exact
	Refused    int // workers

	Verdicts int // by workers, used unchecked

	Ahead int // turns that were answered before they were asked for, as workers played whole episodes

	DraftTokens int // drawn in mode Draft
	KeptTokens  int // of them, as the workers drew them
}

// String is the counts for people.
func (c Counts) String() string {
	text := fmt.Sprintf("workers answered %d items, this process %d; %d checked, %d offered again, %d results dropped, %d workers refused",
		c.Answered, c.Here, c.Audited, c.Hedged, c.Dropped, c.Refused)
	if c.Ahead > 0 {
		text += fmt.Sprintf("; %d turns of episodes were drawn ahead", c.Ahead)
	}
	if c.Verdicts > 0 {
		text += fmt.Sprintf("; %d verdicts are theirs", c.Verdicts)
	}
	if c.DraftTokens > 0 {
		text += fmt.Sprintf("; %.4g %% of %d drafted tokens kept", 100*float64(c.KeptTokens)/float64(c.DraftTokens), c.DraftTokens)
	}
	return text
}
