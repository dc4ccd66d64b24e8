package train

import (
	"math"

	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/rollout"
)

// seat has the stage's episodes played by who it names for each seat. Other stages and evaluations have a
// collector without seats.
func (d *drawer) seat(p Parts) error {
	if !d.whole.Sits() {
		return nil
	}
	collector := *d.collector
	task := &p.Recipe.Task
	for _, name := range task.Seats() {
		var pool []rollout.Opponent
		for _, by := range d.whole.SeatBy(name) {
			o := rollout.Opponent{Name: by}
			switch by {
			case recipe.PolicyModel:
			case recipe.BestPlayer:
				o.Player = task.Episodic().Best()
			case recipe.RandomPlayer:
				o.Player = task.Episodic().Random()
			default:
				player, err := p.Cast.Player(by)
				if err != nil {
					return err
				}
				o.By = player
			}
			pool = append(pool, o)
		}
		s := rollout.Seat{Name: name, Pool: pool}
		if len(pool) == 1 {
			s = rollout.Seat{Name: name, By: pool[0].By, Player: pool[0].Player}
		}
		collector.Seats = append(collector.Seats, s)
	}
	d.collector = &collector
	return nil
}

// seatMetrics describe the seats that the policy played.
func seatMetrics(cs []Completion, row metrics.Row) {
	type sum struct{ reward, paid, right, scored, n float64 }
	sums := map[string]*sum{}
	for i := range cs {
		c := &cs[i]
		seat, why := c.From.Problem.Text(rollout.MemberSeat)
		if c.Path().Sat == nil && c.Origin.Seat == "" || why != "" {
			continue
		}
		if sums[seat] == nil {
			sums[seat] = &sum{}
		}
		s := sums[seat]
		s.n++
		if !math.IsNaN(c.Score.Reward) {
			s.reward, s.paid = s.reward+c.Score.Reward, s.paid+1
		}
		if v := c.Verdict(); !math.IsNaN(v.Score) {
			s.right, s.scored = s.right+v.Score, s.scored+1
		}
	}
	for seat, s := range sums {
		row["seat/completions/"+seat] = s.n
		if s.paid > 0 {
			row["seat/reward/"+seat] = s.reward / s.paid
		}
		if s.scored > 0 {
			row["seat/right_share/"+seat] = s.right / s.scored
		}
	}
}
