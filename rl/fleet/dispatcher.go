package fleet

import (
	"context"
	"slices"
	"time"

	"github.com/rlzero/rlzero/rl/rollout"
)

// patience is how long a fleet waits by default, besides four times what is usual: as
// long as a worker may take to load weights.
const patience = 10 * time.Second

// hedges is how often open items are offered again before the trainer computes them.
const hedges = 2

// itemsPerSlot cuts the work of a step finer than workers are many, so that none waits
// long for the last. But an item fills a worker's device, as far as there is enough for all
// of them: half a batch takes a GPU nearly as long as a whole one.
const itemsPerSlot = 4

// arrivals is how many results may have come before they are looked at. More wait at the
// carrier.
const arrivals = 16

// dispatcher hands items to a carrier and waits for what comes back: how large items are, when
// they are offered again, how long a silence is usual. It decides who computes what and when,
// and never what comes out. The only clock of the package is here.
type dispatcher struct {
	carrier  TrainerSide
	slots    func() int      // workers that there are, refused ones too
	atOnce   int             // completions that a worker's device draws together; 0: any number is as good
	patience time.Duration   // silence, on top of what is usual, until items are offered again
	arrived  chan Delivery   // from the carrier
	deaf     int             // workers of the last call, if none of them answered
	quiet    time.Time       // since when nothing of use is heard that is waited for; 0: nothing is waited for
	vain     int             // results of the last round since one was of use, or none was there
	came     time.Time       // when the last result arrived
	longest  time.Duration   // of the silences of a call
	silences []time.Duration // the longest of each of the last calls that waited
}

// listen hands on what a carrier brings, until the context ends.
func (p *dispatcher) listen(ctx context.Context) {
	for {
		d, err := p.carrier.Next(ctx)
		if err != nil {
			return
		}
		select {
		case p.arrived <- d:
		case <-ctx.Done():
			return
		}
	}
}

// nobody says that no worker is worth waiting for: so many are refused, or none answered the
// last call. Whoever comes back is heard.
func (p *dispatcher) nobody(refused int) bool { return p.slots() <= max(p.deaf, refused) }

// ended notes the outcome of a call: whether any worker answered, and its longest silence.
func (p *dispatcher) ended(answered bool) {
	p.remind()
	p.deaf = 0
	if !answered {
		p.deaf = p.slots()
	}
}

// size is how many of a step's requests make an item.
func (p *dispatcher) size(requests []rollout.Request) int {
	slots, completions := max(1, p.slots()), 0
	for _, r := range requests {
		completions += r.N
	}
	items := slots * max(1, min(itemsPerSlot, completions/(slots*max(1, p.atOnce))))
	return max(1, (len(requests)+items-1)/items)
}

// offer gives all open items by the weights of a version to the workers, and counts them.
func (p *dispatcher) offer(ctx context.Context, t *table, version int) (n int, err error) {
	for _, j := range t.jobs {
		if j.done != nil || j.version != version {
			continue
		}
		if err := p.carrier.Offer(ctx, j.data); err != nil {
			return n, err
		}
		j.offered = true
		n++
	}
	return n, nil
}

// next waits for a result; ok is false if none that is of use has come for longer than is usual,
// in this round too, or in the last round once what has come is looked at, arrivals at most. So
// whoever sends what is of no use holds up nobody.
func (p *dispatcher) next(ctx context.Context, round int) (d Delivery, ok bool, err error) {
	last, patience := round >= hedges, time.Duration(round+1)*(p.patience+4*p.usual())
	if late := !p.quiet.IsZero() && time.Since(p.quiet) >= patience; last && p.vain >= arrivals || !last && late {
		p.vain = 0
		return d, false, ctx.Err()
	}
	select {
	case d := <-p.arrived:
		if p.came = time.Now(); last {
			p.vain++
		} else if p.quiet.IsZero() { // if it is of no use, the silence has begun
			p.quiet = p.came
		}
		return d, true, nil
	default:
	}
	if last {
		p.vain = 0
		return d, false, ctx.Err()
	}
	if p.quiet.IsZero() {
		p.quiet = time.Now()
	}
	timer := time.NewTimer(time.Until(p.quiet.Add(patience)))
	defer timer.Stop()
	select {
	case d := <-p.arrived:
		p.came = time.Now()
		return d, true, nil
	case <-timer.C:
		return d, false, nil
	case <-ctx.Done():
		return d, false, ctx.Err()
	}
}

// heard ends a silence, if there was one: the last result was of use. Whoever is waited for next
// is in its first round.
func (p *dispatcher) heard() {
	if !p.quiet.IsZero() {
		p.longest = max(p.longest, p.came.Sub(p.quiet))
	}
	p.quiet, p.deaf, p.vain = time.Time{}, 0, 0
}

// maxSilences is how many calls tell what is usual.
const maxSilences = 63

// remind keeps the longest silence of a call that has waited for workers.
func (p *dispatcher) remind() {
	if p.longest > 0 {
		p.silences = append(p.silences, p.longest)
	}
	if len(p.silences) > maxSilences {
		p.silences = p.silences[1:]
	}
	p.quiet, p.longest = time.Time{}, 0
}

// usual is how long a call is silent at the longest, in the middle of the last calls. The waits
// themselves tell less: workers that are equally quick answer all at once, so that most of them
// are short, however long an item takes.
func (p *dispatcher) usual() time.Duration {
	if len(p.silences) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(p.silences))
	return sorted[len(sorted)/2]
}
