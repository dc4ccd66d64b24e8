package train

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/verify"
)

// teacherFile keeps the state of a teacher in a checkpoint.
const teacherFile = "trainer/teacher.json"

// placeMember is the member of a row that has the point at which a teacher drew its settings: a list of
// numbers from 0 to 1, in the order of the settings' names.
const placeMember = "place"

// maxPlaces is how many points a teacher remembers: the oldest leave.
const maxPlaces = 100_000

// teacher chooses settings of a task where the reward changes most: ALP-GMM, arXiv 1910.07224. It is
// what the next plan depends on; a checkpoint has it as JSON.
type teacher struct {
	Seen    int        `json:"seen"`    // points with a reward
	Places  []outcome  `json:"places"`  // the latest, in their order
	Mixture []gaussian `json:"mixture"` // over points and progress; nil before the first fit
}

// outcome is what came of a point.
type outcome struct {
	Point    []float64 `json:"point"`    // [setting] from 0 to 1
	Reward   float64   `json:"reward"`   // mean of the group
	Progress float64   `json:"progress"` // absolute learning progress
}

// draw is a point: of the whole space, or of a Gaussian that is drawn by its mean progress.
func (t *teacher) draw(keys recipe.Teacher, dice *random.Rand) []float64 {
	n := len(keys.Space)
	anywhere := dice.Chance(keys.Random)
	if anywhere || t.Mixture == nil {
		point := make([]float64, n)
		for a := range point {
			point[a] = dice.Unit()
		}
		return point
	}
	var progress []float64
	for _, g := range t.Mixture {
		progress = append(progress, math.Max(0, g.Mean[n]))
	}
	point := t.Mixture[placeBy(progress, dice)].draw(n, dice)
	for a := range point {
		point[a] = math.Min(1, math.Max(0, point[a]))
	}
	return point
}

// learn notes the reward of a point, and fits the mixture when it is due.
func (t *teacher) learn(keys recipe.Teacher, point []float64, reward float64, dice func(fit int) *random.Rand) {
	o := outcome{Point: point, Reward: reward}
	nearest := math.Inf(1)
	for _, earlier := range t.Places {
		if d := squaredDistance(point, earlier.Point); d < nearest {
			nearest, o.Progress = d, math.Abs(reward-earlier.Reward)
		}
	}
	t.Places = append(t.Places, o)
	t.Places = t.Places[max(0, len(t.Places)-maxPlaces):]
	if t.Seen++; t.Seen%keys.Refit != 0 {
		return
	}
	var points [][]float64
	for _, o := range t.window(keys) {
		points = append(points, append(slices.Clone(o.Point), o.Progress))
	}
	t.Mixture = fitMixture(points, keys.Gaussians, dice(t.Seen/keys.Refit))
}

// window are the outcomes that a fit looks at.
func (t *teacher) window(keys recipe.Teacher) []outcome {
	return t.Places[max(0, len(t.Places)-keys.Refit):]
}

// progress is the mean of what a fit would look at.
func (t *teacher) progress(keys recipe.Teacher) float64 {
	window := t.window(keys)
	sum := 0.0
	for _, o := range window {
		sum += o.Progress
	}
	return sum / math.Max(1, float64(len(window)))
}

// atPlace is a problem with its point.
func atPlace(p verify.Problem, point []float64) verify.Problem {
	text, err := json.Marshal(point)
	if err != nil {
		panic(err) // its numbers are finite
	}
	if p.Metadata = maps.Clone(p.Metadata); p.Metadata == nil {
		p.Metadata = map[string]json.RawMessage{}
	}
	p.Metadata[placeMember] = text
	return p
}

// note tells the teacher what came of the groups of a step. A completion counts that the policy sampled
// of its own and that has a reward.
func (l *planner) note(cs []Completion) error {
	keys := l.whole.Curriculum.Teacher
	if len(keys.Space) == 0 {
		return nil
	}
	for from := 0; from < len(cs); {
		to, sum, n := from, 0.0, 0
		for ; to < len(cs) && cs[to].Group == cs[from].Group; to++ {
			if x := cs[to].Score.Reward; cs[to].Origin.fresh() && !math.IsNaN(x) {
				sum, n = sum+x, n+1
			}
		}
		var point []float64
		if _, err := cs[from].From.Problem.Field(placeMember, &point); err != nil {
			return l.blamed(fmt.Errorf("%s: %w", placeMember, err))
		}
		if n > 0 {
			l.teacher.learn(keys, point, sum/float64(n), func(fit int) *random.Rand {
				return random.At(l.recipe.Seed, random.Stream(random.Fit, l.index), uint64(fit))
			})
		}
		from = to
	}
	return nil
}
