package train

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/formula"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/verify"
)

// before is what a stage evaluates before it samples: its numbers, and which problems it
// draws.
type before struct {
	program *formula.Program
	whole   *recipe.Stage             // as the recipe has it
	listed  []prompts.Candidate       // that the curriculum chooses among; nil: none
	rows    map[string]formula.Column // of listed: facts that never change
	sources map[string]prompts.Source // by settings
	numbers map[string]float64        // of the step, by key; nil: those of the recipe
	drawing drawing                   // of the step
}

// drawing is how problems of a step are drawn.
type drawing struct {
	upTo  []float64                           // [problem] sum of the weights up to it; nil: as the source does
	open  int                                 // problems with a weight above 0
	means map[string]float64                  // of the settings that were drawn
	ask   func(i int) (prompts.Source, error) // for the i-th prompt; nil: the source of the recipe
}

func newBefore(p Parts, st *recipe.Stage) (before, error) {
	b := before{whole: st, rows: map[string]formula.Column{}, sources: map[string]prompts.Source{}}
	var err error
	if b.program, err = st.Before(); err == nil && st.Lists() {
		b.listed, err = p.Source.Training(p.Recipe.Seed, st.Curriculum.Pool)
	}
	return b, err
}

// prepare evaluates the formulas of a step.
func (s *reinforcement) prepare(at Position) error {
	b := &s.before
	s.stage, b.numbers, b.drawing = b.whole, nil, drawing{}
	if len(b.program.Parts()) == 0 && !b.whole.Lists() {
		return nil
	}
	numbers := map[string]float64{}
	values := b.program.On(s.promptTable(at, nil))
	for _, part := range b.program.Parts() {
		key, number := strings.CutPrefix(part, "numbers/")
		if !number {
			continue
		}
		c, err := values.Column(part)
		if err != nil {
			return b.blamed(err)
		}
		numbers[key] = c.V[0]
	}
	var err error
	if s.stage, err = b.whole.With(numbers); err != nil {
		return b.blamed(err)
	}
	b.numbers = numbers
	if len(b.whole.Curriculum.Settings) > 0 {
		return s.drawSettings(at)
	}
	if b.whole.Lists() {
		return s.weigh(at)
	}
	return nil
}

// blamed says in which stage the formula of an error stands.
func (b *before) blamed(err error) error {
	return fmt.Errorf("stage %s: %w", b.whole.Name, err)
}

// promptTable has the columns that formulas read of some problems; of none: those of the
// run.
func (s *reinforcement) promptTable(at Position, problems []verify.Problem) *formula.Table {
	group := make([]int, max(1, len(problems)))
	tokens := make([][]int, len(group))
	for i := range group {
		group[i], tokens[i] = i, []int{0}
	}
	frame, err := formula.NewFrame(group, tokens, nil)
	if err != nil {
		panic(err) // one completion without tokens for each problem is accepted
	}
	t, x := formula.NewTable(frame), drawn{learner: &s.learner, at: at}
	keys := func(by string) []string {
		out := make([]string, len(group))
		for i, p := range problems {
			out[i] = keyBy(by, p)
		}
		return out
	}
	add := func(name string, c formula.Column) {
		if _, there := t.Column(name); !there || c.Text != nil {
			if err := t.Add(name, c); err != nil {
				panic(err) // a column of another size is a fault of the program
			}
		}
	}
	for name, c := range s.states.Columns(s.method, keys) {
		add(name, c)
	}
	for _, fact := range s.before.program.Needs() {
		_, state := t.Column(fact)
		switch {
		case state:
		case columns[fact] != nil && fact != "prompt_tokens":
			add(fact, columns[fact](x))
		case problems == nil:
		case histories[fact] != nil:
			add(fact, s.Record.column(fact, problems, at.Total+1))
		case fact == "prompt_chance":
			c := formula.Column{Level: formula.Group}
			for i := range problems {
				c.V = append(c.V, random.At(s.Recipe.Seed, random.Stream(random.Setting, s.index), uint64(at.Step)<<32|uint64(i)).Unit())
			}
			add(fact, c)
		default:
			for _, c := range s.ofRows(fact, problems) {
				add(fact, c)
			}
		}
	}
	return t
}

// ofRows are the columns of a fact that problems have from the beginning.
func (s *reinforcement) ofRows(fact string, problems []verify.Problem) []formula.Column {
	listed := s.before.listed != nil
	if c, known := s.before.rows[fact]; listed && known {
		return []formula.Column{c, s.before.rows[fact+" as text"]}
	}
	name, row := strings.CutPrefix(fact, "row.")
	numbers, texts := numbersOf(problems, name), textsOf(problems, name)
	if !row { // prompt_tokens
		numbers = formula.Column{Level: formula.Group, Why: map[int]string{}}
		for i, p := range problems {
			ids, err := s.Prompts.Prompt(p)
			if numbers.V = append(numbers.V, float64(len(ids))); err != nil {
				numbers.V[i], numbers.Why[i] = math.NaN(), err.Error()
			}
		}
	}
	if listed {
		s.before.rows[fact], s.before.rows[fact+" as text"] = numbers, texts
	}
	return []formula.Column{numbers, texts}
}

// weigh finds how likely each listed problem is.
func (s *reinforcement) weigh(at Position) error {
	b := &s.before
	var problems []verify.Problem
	for _, one := range b.listed {
		problems = append(problems, one.Row)
	}
	values := b.program.On(s.promptTable(at, problems))
	column := func(key string) ([]float64, error) {
		if _, _, there := b.program.Level("curriculum/" + key); !there {
			return nil, nil
		}
		c, err := values.At("curriculum/"+key, formula.Group)
		return c.V, err
	}
	weight, err := column("weight")
	order, other := column("order")
	share, third := column("share")
	if err := errors.Join(err, other, third); err != nil {
		return b.blamed(err)
	}
	weights, err := chances(b.listed, weight, order, share)
	if err != nil {
		return b.blamed(err)
	}
	if arms := b.whole.Curriculum.Arms; arms != "" {
		sizes := map[string]float64{}
		for _, one := range b.listed {
			sizes[keyBy(arms, one.Row)] += one.Likely
		}
		for i, one := range b.listed {
			weights[i] /= sizes[keyBy(arms, one.Row)]
		}
	}
	sum := 0.0
	for _, w := range weights {
		if w > 0 {
			b.drawing.open++
		}
	}
	if b.drawing.open == 0 {
		weights = likelyOf(b.listed)
	}
	for _, w := range weights {
		sum += w
		b.drawing.upTo = append(b.drawing.upTo, sum)
	}
	return nil
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
	place := make([]int, len(order))
	for i := range place {
		place[i] = i
	}
	sort.SliceStable(place, func(a, b int) bool {
		x, y := order[place[a]], order[place[b]]
		return x < y || math.IsNaN(y) && !math.IsNaN(x)
	})
	for _, i := range place[max(1, int(math.Ceil(share[0]*float64(len(order))))):] {
		out[i] = 0
	}
	return out, nil
}

// drawSettings finds the settings of each prompt of the step.
func (s *reinforcement) drawSettings(at Position) error {
	b := &s.before
	b.drawing.means = map[string]float64{}
	blank := make([]verify.Problem, s.stage.RL.PromptsPerStep)
	values := b.program.On(s.promptTable(at, blank))
	found := make([]map[string]float64, len(blank))
	for _, name := range slices.Sorted(maps.Keys(b.whole.Curriculum.Settings)) {
		c, err := values.At("settings/"+name, formula.Group)
		if err != nil {
			return b.blamed(err)
		}
		for i, x := range c.V {
			if found[i] == nil {
				found[i] = map[string]float64{}
			}
			found[i][name] = x
			b.drawing.means[name] += x / float64(len(blank))
		}
	}
	b.drawing.ask = func(i int) (prompts.Source, error) {
		key := fmt.Sprint(found[i]) // of a map, in the order of its keys
		if b.sources[key] == nil {
			source, err := s.Source.Changed(found[i])
			if err != nil {
				return nil, b.blamed(fmt.Errorf("curriculum.settings: %w", err))
			}
			b.sources[key] = source
		}
		return b.sources[key], nil
	}
	return nil
}

// problems are the first n of a draw of the step.
func (s *reinforcement) problems(at Position, try, n int) ([]verify.Problem, error) {
	stream, key := s.streams(at, try)
	d, all := s.before.drawing, s.before.whole.RL.PromptsPerStep
	if d.upTo == nil && d.ask == nil {
		return prompts.Step(s.Source, s.Recipe.Seed, stream, key.Step, all)[:n], nil
	}
	rows := make([]verify.Problem, n)
	for i := range rows {
		r := random.At(s.Recipe.Seed, stream, uint64(key.Step)*uint64(all)+uint64(i))
		if d.ask != nil {
			source, err := d.ask(i)
			if err != nil {
				return nil, err
			}
			rows[i] = source.Draw(r)
			continue
		}
		place := r.Unit() * d.upTo[len(d.upTo)-1]
		rows[i] = s.before.listed[sort.Search(len(d.upTo)-1, func(k int) bool { return d.upTo[k] > place })].Row
	}
	return rows, nil
}

// tell adds what was prepared to a step's metrics.
func (b *before) tell(row map[string]float64) {
	if b.drawing.upTo != nil {
		row["curriculum/open"] = float64(b.drawing.open)
	}
	for name, mean := range b.drawing.means {
		row["curriculum/setting/"+name] = mean
	}
}
