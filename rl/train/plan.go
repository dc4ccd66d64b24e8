package train

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/formula"
	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/verify"
)

// planner decides what a step samples: its numbers, and which problems it draws. It needs no device.
type planner struct {
	before
	rows    *Rows                         // that the run has made
	refuse  func(...verify.Problem) error // a problem that is held out
	listed  []prompts.Candidate           // that the curriculum chooses among; nil: none
	kept    map[string][]formula.Column   // of listed, see subject
	teacher teacher                       // of the curriculum, if it has one
	blocks  blocks                        // of listed, if the curriculum has them
}

func newPlanner(p Parts, f *facts) (*planner, error) {
	b, err := newBefore(f, p.Source)
	l := &planner{before: b, rows: p.Rows, refuse: p.HeldOut.refuse}
	if err == nil && l.whole.Lists() {
		l.kept = map[string][]formula.Column{}
		l.listed, err = p.Source.Training(p.Recipe.Seed, l.whole.Curriculum.Pool)
	}
	return l, err
}

// plan is that of a step whose completions the policy of a version draws, beside a replay that
// has so many groups.
func (l *planner) plan(at Position, version, replay int) (Plan, error) {
	p := Plan{At: at, Version: version, Metrics: metrics.Row{}, stage: l.whole}
	if len(l.program.Parts()) > 0 || l.whole.Lists() {
		var err error
		if p.Numbers, err = l.numbers(at); err != nil {
			return p, err
		}
		if err := p.under(l.whole); err != nil {
			return p, l.blamed(err)
		}
	}
	p.Stored = replayed(p.stage, replay)
	draw, err := l.problems(at, p.stage, p.Metrics)
	if err != nil {
		return p, err
	}
	p.more = func(try, n int) ([]verify.Problem, error) {
		made, err := l.made(at, try, n)
		if err != nil {
			return nil, err
		}
		problems, err := draw(try, n-len(made))
		if err == nil {
			err = l.refuse(problems...)
		}
		if try == 0 && len(l.whole.Sources) > 0 {
			p.Metrics["made/drawn"] = float64(len(made))
		}
		return slices.Concat(made, problems), err
	}
	p.Probed = l.blocks.tokensAt(at)
	p.Problems, err = p.more(0, p.stage.RL.PromptsPerStep-p.Stored)
	if err == nil && l.whole.Curriculum.Completions != "" {
		if p.Sizes, err = l.sizes(at, p.stage, p.Problems); err == nil {
			p.Metrics["curriculum/fewest"], p.Metrics["curriculum/most"] = float64(slices.Min(p.Sizes)), float64(slices.Max(p.Sizes))
		}
	}
	return p, err
}

// Save implements cast.Keeper.
func (l *planner) Save() (map[string]func(io.Writer) error, error) {
	files := map[string]func(io.Writer) error{}
	if len(l.whole.Curriculum.Teacher.Space) > 0 {
		files[teacherFile] = func(w io.Writer) error { return json.NewEncoder(w).Encode(l.teacher) }
	}
	if l.whole.Curriculum.Block > 0 {
		files[blocksFile] = func(w io.Writer) error { return json.NewEncoder(w).Encode(savedBlocks{l.blocks, l.probed}) }
	}
	return files, nil
}

// Load implements cast.Keeper.
func (l *planner) Load(dir string) error {
	if len(l.whole.Curriculum.Teacher.Space) > 0 {
		l.teacher = teacher{}
		if err := readJSON(dir, teacherFile, &l.teacher); err != nil {
			return err
		}
	}
	if l.whole.Curriculum.Block == 0 {
		return nil
	}
	var saved savedBlocks
	if err := readJSON(dir, blocksFile, &saved); err != nil {
		return err
	}
	if order := slices.Sorted(slices.Values(saved.Order)); saved.Step > 0 {
		for i := range max(len(order), len(l.listed)) {
			if i >= len(order) || order[i] != i || i >= len(l.listed) {
				return fmt.Errorf("%s: order is not one of the %d problems of the list", blocksFile, len(l.listed))
			}
		}
	}
	l.blocks, l.probed = saved.blocks, saved.Probed
	return nil
}

// made are the prompts of a draw that come from rows that the run has made.
func (l *planner) made(at Position, try, n int) ([]verify.Problem, error) {
	if len(l.whole.Sources) == 0 {
		return nil, nil
	}
	first := uint64(at.Step*maxTries+try) * uint64(l.whole.RL.PromptsPerStep)
	rows := l.rows.draw(l.whole, n, func(i int) *random.Rand {
		return random.At(l.recipe.Seed, random.Stream(random.Rows, l.index), first+uint64(i))
	})
	return rows, l.rows.supplied(l.stage, l.index)
}

// sizes are how many completions each problem of a step gets.
func (l *planner) sizes(at Position, st *recipe.Stage, problems []verify.Problem) ([]int, error) {
	values, err := l.values(at, st, problems, nil)
	if err != nil {
		return nil, err
	}
	weights, err := l.curriculum(values, "completions")
	if err != nil {
		return nil, l.blamed(err)
	}
	for i, w := range weights {
		switch {
		case math.IsNaN(w):
			weights[i] = 1
		case w < 0 || math.IsInf(w, 0):
			return nil, l.blamed(fmt.Errorf("curriculum.completions is %v for prompt %d of step %d; accepted: finite numbers, at least 0", w, i+1, at.Step+1))
		}
	}
	total := st.RL.GroupSize * len(problems)
	if st.RL.GroupSize < recipe.LeastCompletions {
		return nil, l.blamed(fmt.Errorf("curriculum.completions: step %d has %d completions for %d prompts; accepted: at least %d for each", at.Step+1, total, len(problems), recipe.LeastCompletions))
	}
	return shared(weights, total, recipe.LeastCompletions, st.LargestGroup()), nil
}

// numbers are those of the stage in a step.
func (l *planner) numbers(at Position) (map[string]float64, error) {
	values, err := l.values(at, l.whole, nil, nil)
	if err != nil {
		return nil, err
	}
	numbers := map[string]float64{}
	for _, part := range l.program.Parts() {
		key, number := strings.CutPrefix(part, "numbers/")
		if !number {
			continue
		}
		c, err := values.Column(part)
		if err != nil {
			return nil, l.blamed(err)
		}
		numbers[key] = c.V[0]
	}
	return numbers, nil
}

// problems is how the problems of a step are drawn: the first n of a try. row gets what it tells
// about them.
func (l *planner) problems(at Position, st *recipe.Stage, row metrics.Row) (func(try, n int) ([]verify.Problem, error), error) {
	switch {
	case len(l.whole.Curriculum.Settings) > 0:
		return l.bySettings(at, st, row)
	case l.whole.Curriculum.Block > 0:
		return l.byBlock(at, row), nil
	case l.whole.Lists():
		return l.byWeight(at, st, row)
	case len(l.whole.Curriculum.Teacher.Space) > 0:
		return l.byProgress(at, row), nil
	case l.whole.Curriculum.Candidates > 0:
		return l.byOrder(at, st, row), nil
	}
	return func(try, n int) ([]verify.Problem, error) {
		stream, key := streams(l.index, at, try)
		return prompts.Step(l.source, l.recipe.Seed, stream, key.Step, l.whole.RL.PromptsPerStep)[:n], nil
	}, nil
}

// byOrder draws candidates for each prompt of a step. The problems are those with the lowest values
// of the curriculum's order, and stand as they were drawn: each update gets its share of all of them.
func (l *planner) byOrder(at Position, st *recipe.Stage, row metrics.Row) func(try, n int) ([]verify.Problem, error) {
	return func(try, n int) ([]verify.Problem, error) {
		stream, key := streams(l.index, at, try)
		each := l.whole.Curriculum.Candidates
		drawn := prompts.Step(l.source, l.recipe.Seed, stream, key.Step, each*l.whole.RL.PromptsPerStep)[:each*n]
		if n == 0 {
			return nil, nil
		}
		values, err := l.values(at, st, drawn, nil)
		if err != nil {
			return nil, err
		}
		order, err := l.curriculum(values, "order")
		if err != nil {
			return nil, l.blamed(err)
		}
		first := inOrder(order)[:n]
		slices.Sort(first)
		var problems []verify.Problem
		var chosen []float64
		for _, i := range first {
			problems, chosen = append(problems, drawn[i]), append(chosen, order[i])
		}
		if try == 0 {
			row["curriculum/order_all"], row["curriculum/order_drawn"] = meanOf(order), meanOf(chosen)
		}
		return problems, nil
	}
}

// meanOf is the mean of the values that are there; 0: none is.
func meanOf(values []float64) float64 {
	sum, n := 0.0, 0
	for _, x := range values {
		if !math.IsNaN(x) {
			sum += x
			n++
		}
	}
	return sum / float64(max(1, n))
}

// inOrder are the places of values from the lowest on. Equal ones stay as they are, and those
// without a value come last.
func inOrder(values []float64) []int {
	place := make([]int, len(values))
	for i := range place {
		place[i] = i
	}
	sort.SliceStable(place, func(a, b int) bool {
		x, y := values[place[a]], values[place[b]]
		return x < y || math.IsNaN(y) && !math.IsNaN(x)
	})
	return place
}

// each draws n problems, each with random numbers of its own.
func (l *planner) each(at Position, try, n int, draw func(i int, r *random.Rand) (verify.Problem, error)) ([]verify.Problem, error) {
	stream, key := streams(l.index, at, try)
	rows := make([]verify.Problem, n)
	for i := range rows {
		var err error
		if rows[i], err = draw(i, random.At(l.recipe.Seed, stream, uint64(key.Step)*uint64(l.whole.RL.PromptsPerStep)+uint64(i))); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// byWeight draws listed problems, each as likely as the formulas of the curriculum say.
func (l *planner) byWeight(at Position, st *recipe.Stage, row metrics.Row) (func(try, n int) ([]verify.Problem, error), error) {
	upTo, open, err := l.weigh(at, st)
	if err != nil {
		return nil, err
	}
	row["curriculum/open"] = float64(open)
	return func(try, n int) ([]verify.Problem, error) {
		return l.each(at, try, n, func(_ int, r *random.Rand) (verify.Problem, error) {
			place := r.Unit() * upTo[len(upTo)-1]
			return l.listed[sort.Search(len(upTo)-1, func(k int) bool { return upTo[k] > place })].Row, nil
		})
	}, nil
}

// curriculum is a formula of the curriculum on problems; nil: the recipe has none.
func (l *planner) curriculum(values *formula.Values, key string) ([]float64, error) {
	if _, _, there := l.program.Level("curriculum/" + key); !there {
		return nil, nil
	}
	c, err := values.At("curriculum/"+key, formula.Group)
	return c.V, err
}

// weigh finds how likely each listed problem is: upTo is the sum of the weights up to it, open the
// number of problems with a weight above 0.
func (l *planner) weigh(at Position, st *recipe.Stage) (upTo []float64, open int, err error) {
	problems := make([]verify.Problem, len(l.listed))
	for i, one := range l.listed {
		problems[i] = one.Row
	}
	values, err := l.values(at, st, problems, l.kept)
	if err != nil {
		return nil, 0, err
	}
	weight, err := l.curriculum(values, "weight")
	order, other := l.curriculum(values, "order")
	share, third := l.curriculum(values, "share")
	if err := errors.Join(err, other, third); err != nil {
		return nil, 0, l.blamed(err)
	}
	weights, err := chances(l.listed, weight, order, share)
	if err != nil {
		return nil, 0, l.blamed(err)
	}
	if arms := l.whole.Curriculum.Arms; arms != "" {
		sizes := map[string]float64{}
		for _, one := range l.listed {
			sizes[keyBy(arms, one.Row)] += one.Likely
		}
		for i, one := range l.listed {
			weights[i] /= sizes[keyBy(arms, one.Row)]
		}
	}
	for _, w := range weights {
		if w > 0 {
			open++
		}
	}
	if open == 0 {
		weights = likelyOf(l.listed)
	}
	sum := 0.0
	for _, w := range weights {
		sum += w
		upTo = append(upTo, sum)
	}
	return upTo, open, nil
}

// likelyOf are the weights of problems without a curriculum.
func likelyOf(listed []prompts.Candidate) []float64 {
	var out []float64
	for _, one := range listed {
		out = append(out, one.Likely)
	}
	return out
}

// chances are the weights of problems, from those that they have without a curriculum. A
// weight without a value is 1; of an order without one the problem comes last.
func chances(listed []prompts.Candidate, weight, order, share []float64) ([]float64, error) {
	out := likelyOf(listed)
	for i := range weight {
		switch w := weight[i]; {
		case math.IsNaN(w):
		case w < 0 || math.IsInf(w, 0):
			return nil, fmt.Errorf("curriculum.weight is %v for problem %d; accepted: finite numbers, at least 0", w, i+1)
		default:
			out[i] *= w
		}
	}
	if order == nil {
		return out, nil
	}
	if !(share[0] >= 0 && share[0] <= 1) {
		return nil, fmt.Errorf("curriculum.share is %v; accepted: a number from 0 to 1", share[0])
	}
	for _, i := range inOrder(order)[max(1, int(math.Ceil(share[0]*float64(len(order))))):] {
		out[i] = 0
	}
	return out, nil
}

// bySettings draws problems of the task with the settings that the curriculum gives each prompt.
func (l *planner) bySettings(at Position, st *recipe.Stage, row metrics.Row) (func(try, n int) ([]verify.Problem, error), error) {
	sources, err := l.changed(at, st, st.RL.PromptsPerStep, row)
	if err != nil {
		return nil, err
	}
	return func(try, n int) ([]verify.Problem, error) {
		return l.each(at, try, n, func(i int, r *random.Rand) (verify.Problem, error) {
			return sources[i].Draw(r), nil
		})
	}, nil
}

// byProgress draws problems of the task with settings that the teacher chooses. Each has its point in
// its row, under placeMember.
func (l *planner) byProgress(at Position, row metrics.Row) func(try, n int) ([]verify.Problem, error) {
	keys := l.whole.Curriculum.Teacher
	row["curriculum/gaussians"], row["curriculum/progress"] = float64(len(l.teacher.Mixture)), l.teacher.progress(keys)
	return func(try, n int) ([]verify.Problem, error) {
		means := map[string]float64{}
		problems, err := l.each(at, try, n, func(i int, r *random.Rand) (verify.Problem, error) {
			index := uint64(at.Step*maxTries+try)*uint64(l.whole.RL.PromptsPerStep) + uint64(i)
			point := l.teacher.draw(keys, random.At(l.recipe.Seed, random.Stream(random.Place, l.index), index))
			found := keys.At(l.recipe.Task.Settings, point)
			source, err := l.with(found)
			if err != nil {
				return verify.Problem{}, err
			}
			for name, x := range found {
				means[name] += x / float64(n)
			}
			return atPlace(source.Draw(r), point), nil
		})
		for _, name := range keys.Names() {
			if try == 0 {
				row["curriculum/setting/"+name] = means[name]
			}
		}
		return problems, err
	}
}

// maxTries is above what a recipe can ask for.
const maxTries = 65

// StepOf is the step of its stage, from 0 on, that the draws of a key belong to: some keys have more than
// the step in their Step. after: they are drawn after its update, as evaluations and contests are; an
// evaluation before the first step is one after step -1.
func StepOf(p random.Purpose, step int) (of int, after bool) {
	switch p {
	case random.Refill, random.Greedy, random.SecondChance, random.Branch, random.Propose:
		return step / maxTries, false
	case random.Contest:
		return step / 2, true
	case random.HeldOut, random.Probe:
		return step - 1, true
	}
	return step, false
}

// streams are the problems and the completions of a try of a step of a stage: of the step itself,
// or of a refill.
func streams(stage int, at Position, try int) (draw uint64, sample random.Key) {
	if try == 0 {
		return random.Stream(random.Draw, stage), random.Key{Purpose: random.Sample, Stage: stage, Step: at.Step}
	}
	return random.Stream(random.Refill, stage), random.Key{Purpose: random.Refill, Stage: stage, Step: at.Step*maxTries + try}
}
