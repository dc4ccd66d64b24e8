package train

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/reward"
	"github.com/rlzero/rlzero/rl/rollout"
)

// TestMixture: points of two Gaussians are told apart, with their shares, means and covariances.
func TestMixture(t *testing.T) {
	dice := random.At(1, 2, 3)
	truth := []gaussian{
		{0.75, []float64{0.2, 0.3}, [][]float64{{0.05, 0}, {0.04, 0.02}}},
		{0.25, []float64{0.8, 0.6}, [][]float64{{0.04, 0}, {-0.03, 0.03}}},
	}
	const n = 2000
	var points [][]float64
	for i := range n {
		points = append(points, truth[map[bool]int{true: 1}[i%4 == 3]].draw(2, dice))
	}
	m, fit := em(begunAt(points, 2, dice), points)
	if m[0].Mean[0] > m[1].Mean[0] {
		slices.Reverse(m)
	}
	for k, want := range truth {
		own := n * want.Share
		if math.Abs(m[k].Share-want.Share) > 1.0/n { // they lie so far apart that no point is in doubt
			t.Errorf("share %g, want %g", m[k].Share, want.Share)
		}
		for a := range 2 {
			variance := func(g gaussian, b int) float64 {
				return g.Factor[a][0]*g.Factor[b][0] + g.Factor[a][1]*g.Factor[b][1]
			}
			if got := m[k].Mean[a]; math.Abs(got-want.Mean[a]) > 5*math.Sqrt(variance(want, a)/own) { // five standard errors
				t.Errorf("mean %g, want %g", got, want.Mean[a])
			}
			for b := range a + 1 {
				c := variance(want, b)
				if got := variance(m[k], b); math.Abs(got-c) > spread+5*math.Sqrt((c*c+variance(want, a)*(want.Factor[b][0]*want.Factor[b][0]+want.Factor[b][1]*want.Factor[b][1]))/own) {
					t.Errorf("covariance %g, want %g", got, c)
				}
			}
		}
	}
	if _, one := em(begunAt(points, 1, dice), points); one >= fit {
		t.Errorf("one Gaussian fits as well as two: %g and %g nats", one, fit)
	}
	if most := fitMixture(points[:3], 10, dice); len(most) > 3 {
		t.Errorf("%d Gaussians for 3 points", len(most))
	}
	same := [][]float64{{0.5, 0}, {0.5, 0}, {0.5, 0}, {0.5, 0}}
	for _, g := range fitMixture(same, 4, dice) {
		if math.IsNaN(g.Share + g.Factor[0][0] + g.Factor[1][1]) {
			t.Errorf("equal points: %+v", g)
		}
	}
}

// TestProgress: progress is the distance from the reward of the nearest earlier point; points are then
// drawn where it is large, and the share that is drawn at random is everywhere.
func TestProgress(t *testing.T) {
	keys := recipe.Teacher{Space: map[string]any{"terms": []any{int64(2), int64(4)}}, Refit: 200, Random: 0.25, Gaussians: 4}
	fit := func(n int) *random.Rand { return random.At(4, 5, uint64(n)) }
	var few teacher
	for _, o := range []outcome{{[]float64{0.1}, 0.5, 0}, {[]float64{0.9}, 0.25, 0.25}, {[]float64{0.2}, 1, 0.5}, {[]float64{0.7}, 0, 0.25}} {
		few.learn(keys, o.Point, o.Reward, fit)
		if got := few.Places[len(few.Places)-1]; !reflect.DeepEqual(got, o) {
			t.Errorf("%+v, want %+v", got, o)
		}
	}
	var moving teacher
	dice := random.At(6, 7, 8)
	for i := range keys.Refit {
		if moving.Mixture != nil {
			t.Fatalf("a fit after %d points", i)
		}
		point := moving.draw(keys, dice)
		reward := 0.0 // nothing is learned below 0.7
		if point[0] > 0.7 {
			reward = float64(i % 2)
		}
		moving.learn(keys, point, reward, fit)
	}
	if moving.Mixture == nil {
		t.Fatal("no fit when it was due")
	}
	const draws = 4000
	high := 0.0
	for range draws {
		if moving.draw(keys, dice)[0] > 0.65 {
			high++
		}
	}
	// All but the share at random, of which 0.65 lie below; five standard deviations.
	if want := 1 - 0.25*0.65; math.Abs(high/draws-want) > 0.05+5*math.Sqrt(want*(1-want)/draws) { // 0.05: Gaussians have tails
		t.Errorf("%g of the points lie where the reward moves, want about %g", high/draws, want)
	}
	text, err := json.Marshal(moving)
	var read teacher
	if err == nil {
		err = json.Unmarshal(text, &read)
	}
	if err != nil || !reflect.DeepEqual(read, moving) {
		t.Errorf("read back as another teacher, %v", err)
	}
}

// TestTeacher: the settings of a problem are those of its point, which stands in its row and gets the
// mean reward of its group.
func TestTeacher(t *testing.T) {
	l := plannerOf(t, "task.max_prompt_tokens=6", `stage.rl.curriculum.teacher={space = {numbers = [2, 3], max_number = [11, 20]}, refit = 64}`)
	plan, err := l.plan(Position{}, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	var cs []Completion
	var want []outcome
	for i, p := range plan.Problems {
		var point []float64
		var numbers []int
		_, err := p.Field(placeMember, &point)
		_, err2 := p.Field("numbers", &numbers)
		if err != nil || err2 != nil || len(point) != 2 {
			t.Fatalf("%+v: %v, %v", p, err, err2)
		}
		most, count := 11+int(point[0]*10), 2+int(point[1]*2) // by name
		if len(numbers) != count || slices.Max(numbers) > most {
			t.Errorf("%v at %v", numbers, point)
		}
		g := &rollout.Group{Problem: p, Segments: []rollout.Segment{{Parent: -1}}, Paths: []rollout.Path{{}}}
		for _, x := range []float64{1, float64(i % 2), math.NaN()} {
			cs = append(cs, Completion{From: g, Group: i, Score: reward.Score{Reward: x}})
		}
		want = append(want, outcome{Point: point, Reward: (1 + float64(i%2)) / 2})
	}
	if err := l.note(cs); err != nil {
		t.Fatal(err)
	}
	for i, got := range l.teacher.Places {
		if got.Reward != want[i].Reward || !slices.Equal(got.Point, want[i].Point) {
			t.Errorf("%+v, want %+v", got, want[i])
		}
	}
	next, err := l.plan(Position{Step: 1}, 0, 0)
	if err != nil || next.Metrics["curriculum/gaussians"] < 2 || plan.Metrics["curriculum/gaussians"] != 0 || next.Metrics["curriculum/progress"] == 0 {
		t.Errorf("%v; %v, then %v", err, plan.Metrics, next.Metrics)
	}
}
