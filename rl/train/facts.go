package train

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/model/learn"
	"github.com/rlzero/rlzero/model/seq"
	"github.com/rlzero/rlzero/rl/algo"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/formula"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/reward"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify"
	"github.com/rlzero/rlzero/verify/judge"
)

// when is the time of a step from which on a fact is known.
type when uint8

const (
	begun   when = iota // the number of the step
	posed               // problems that may be drawn, or were
	drawn               // completions
	asked               // what models say of completions
	updated             // what the trainer computes in each update
)

// supplier makes the columns of a fact, or of a family of them: of all names that begin with one
// that ends in a point or a bracket.
type supplier struct {
	fact    string
	known   when
	fixed   bool // a problem always has the same
	cut     bool // it is made of the segments, or of formulas that may read them, and so once completions are cut into them
	columns func(x subject, fact string) ([]formula.Column, error)
	token   *statistic // of a fact that is updated
}

// statistic is what the trainer computes of each token: where it stands, the weight that its
// derivative is, and what is known of it at the beginning of a step.
type statistic struct {
	of       func(s *seq.Stats) *[]float32
	weight   func(w *learn.Weights) *[]float64
	recorded func(n *Now) []float32 // nil: nothing
}

// suppliers has a row for every fact that formulas may read. Of rows of one fact the latest that is
// known by then holds.
var suppliers = []supplier{
	ofRun("step", func(x subject) float64 { return float64(x.at.Step + 1) }),
	ofRun("steps", func(x subject) float64 { return float64(x.steps()) }),
	ofRun("progress", func(x subject) float64 { return float64(x.at.Step) / math.Max(1, float64(x.steps()-1)) }),
	ofRun("chance", func(x subject) float64 { return x.noise(0).Unit() }),
	ofRun("max_tokens", func(x subject) float64 { return float64(x.stage.Sampling.MaxCompletionTokens) }),

	{fact: "row.", known: posed, fixed: true, columns: membersOf},
	{fact: "prompt_tokens", known: posed, fixed: true, columns: one(renderedTokens)},
	{fact: "prompt_chance", known: posed, columns: one(promptChance)},
	{fact: "prompt_value", known: posed, columns: one(promptValues)},
	{fact: algo.AngleFact + "(", known: posed, columns: one(posedAngles)},
	{fact: "probed", known: posed, columns: one(probedScores)},
	ofRecord("seen"), ofRecord("solved"), ofRecord("last_solved"), ofRecord("steps_since"),

	{fact: "prompt_tokens", known: drawn, columns: one(groupColumn(func(c *Completion) (float64, string) {
		return float64(len(c.From.Segments[0].IDs)), ""
	}))},
	{fact: algo.AngleFact + "(", known: drawn, columns: one(drawnAngles)},
	{fact: greedyFact, known: drawn, columns: one(groupColumn(func(c *Completion) (float64, string) { return c.Greedy.Reward, c.Greedy.NotScored }))},
	ofCompletion("reward", func(c *Completion) (float64, string) { return c.Score.Reward, c.Score.NotScored }),
	ofCompletion("truncated", func(c *Completion) (float64, string) { return holds(c.View.Cut()), "" }),
	ofCompletion("turns", func(c *Completion) (float64, string) { return float64(len(c.View.Spans)), "" }),
	ofCompletion("read_tokens", func(c *Completion) (float64, string) { return float64(c.View.Read()), "" }),
	ofCompletion("contexts", func(c *Completion) (float64, string) { return float64(1 + len(c.View.Fresh)), "" }),
	ofCompletion("out_of_turns", func(c *Completion) (float64, string) { return holds(c.View.Limit == rollout.OutOfTurns), "" }),
	{fact: "turn_reward", known: drawn, columns: one(ofTurns(func(t *rollout.Turn, _ string) (float64, string) { return t.Reward, "" }))},
	{fact: "turn.", known: drawn, columns: one(ofTurns((*rollout.Turn).Number))},
	{fact: "state", known: drawn, columns: one(situations)},
	{fact: "summary", known: drawn, columns: one(ofTurns(func(t *rollout.Turn, _ string) (float64, string) { return holds(t.Sums), "" }))},
	{fact: "last_turn", known: drawn, columns: one(lastTurns)},
	{fact: "node", known: drawn, columns: one(ofSegments(func(s place, _ int) float64 { return s.number() }))},
	{fact: "depth", known: drawn, columns: one(ofSegments(func(_ place, before int) float64 { return float64(before + 1) }))},
	{fact: "leaves", known: drawn, columns: one(ofSegments(func(s place, _ int) float64 { return float64(s.leaves) }))},
	{fact: "reward.", known: drawn, columns: valueOf},
	{fact: taskFact, known: drawn, columns: verdictOf},
	{fact: taskFact + ".", known: drawn, columns: verdictOf},
	{fact: "inside(", known: drawn, columns: one(matching(inside))},
	{fact: "begins(", known: drawn, columns: one(matching(begins))},
	ofOrigin("foreign", func(o *Origin) float64 { return holds(o.Foreign) }),
	ofOrigin("replayed", func(o *Origin) float64 { return holds(o.Replayed) }),
	ofOrigin("hinted", func(o *Origin) float64 { return holds(o.Hinted) }),
	ofOrigin("hint_share", func(o *Origin) float64 { return o.Share }),
	ofOrigin("fresh", func(o *Origin) float64 { return holds(o.fresh()) }),
	ofTokens("old", drawn, func(x subject, i int) []float32 { return x.cs[i].View.Logprob }),
	ofTokens("old_entropy", drawn, func(x subject, i int) []float32 { return x.cs[i].View.Entropy }),
	{fact: "label", known: drawn, columns: one(labels)},
	{fact: "noise", known: drawn, columns: one(noises)},

	{fact: "age", known: asked, columns: one(func(x subject, _ string) (formula.Column, error) {
		return completionColumn(x, func(i int) (float64, string) { return float64(x.now[i].Age), "" }), nil
	})},
	ofTokens("start", asked, func(x subject, i int) []float32 { return x.now[i].Logprob }), // of what was sampled the trainer computes the same bits
	ofModel("ref"), ofModel("ema"), ofModel("old_value"), ofModel("old_uniform_logp"),
	{fact: "mismatched", known: asked, columns: one(mismatched)},
	{fact: algo.GradientNormFact, known: asked, columns: one(gradientNorms)},
	{fact: algo.InfluenceFact + "(", known: asked, cut: true, columns: one(influences(untilNextGroup))},
	{fact: algo.OwnInfluenceFact + "(", known: asked, cut: true, columns: one(influences(untilNext))},
	{fact: algo.NetFact + "(", known: asked, cut: true, columns: one(ofPath(net))},
	{fact: algo.WayFact + "(", known: asked, cut: true, columns: one(ofPath(way))},
	{fact: algo.TowardFact + "(", known: asked, cut: true, columns: one(ofPath(toward))},

	ofUpdate("logp", statistic{func(s *seq.Stats) *[]float32 { return &s.Logprob }, func(w *learn.Weights) *[]float64 { return &w.Logprob },
		func(n *Now) []float32 { return n.Logprob }}),
	ofUpdate("entropy", statistic{func(s *seq.Stats) *[]float32 { return &s.Entropy }, func(w *learn.Weights) *[]float64 { return &w.Entropy },
		func(n *Now) []float32 { return n.Entropy }}),
	ofUpdate("uniform_logp", statistic{func(s *seq.Stats) *[]float32 { return &s.MeanLogprob }, func(w *learn.Weights) *[]float64 { return &w.MeanLogprob }, nil}),
	ofUpdate("score", statistic{func(s *seq.Stats) *[]float32 { return &s.Score }, func(w *learn.Weights) *[]float64 { return &w.Score }, nil}),
	ofUpdate("value", statistic{func(s *seq.Stats) *[]float32 { return &s.Value }, func(w *learn.Weights) *[]float64 { return &w.Value }, nil}),
}

// Facts with a meaning besides their columns.
const (
	greedyFact = "greedy_reward" // the reward of a prompt's most likely completion
	taskFact   = "task"          // the verdict of the task; the verifiers of a stage have their own names
)

// supplierOf is the row of a fact that is the latest by a time; nil: there is none yet. other says
// that a later one has it.
func (f *facts) supplierOf(fact string, by when) (row *supplier, other bool) {
	family := fact
	if i := strings.IndexAny(fact, ".("); i >= 0 {
		family = fact[:i+1]
	}
	if _, model := f.recipe.Models[fact]; model && fact != recipe.ReferenceModel {
		if by == posed && f.recipe.Models[fact].Head {
			return &supplier{fact: fact, known: posed, columns: one(promptValues)}, false
		}
		if by < asked {
			return nil, true
		}
		own := ofModel(fact)
		return &own, false
	}
	if name, is := algo.BeforeToken(fact); is && f.recipe.Models[name].Head {
		if by < asked {
			return nil, true
		}
		own := ofModel(fact)
		return &own, false
	}
	if f.judges[fact] != nil {
		if by < drawn {
			return nil, true
		}
		return &supplier{fact: fact, known: drawn, columns: one(judgedSteps)}, false
	}
	known := func(s supplier) bool { return s.fact == family }
	if name, member := strings.CutSuffix(family, "."); !slices.ContainsFunc(suppliers, known) && f.verifier(name) > 0 {
		if family = taskFact; member {
			family += "."
		}
	}
	for i := range suppliers {
		if suppliers[i].fact != family {
			continue
		}
		if suppliers[i].known > by {
			other = true
			continue
		}
		row = &suppliers[i]
	}
	return row, other
}

// statisticOf is that of a fact; nil: the trainer does not compute it.
func statisticOf(fact string) *statistic {
	for i := range suppliers {
		if suppliers[i].fact == fact && suppliers[i].token != nil {
			return suppliers[i].token
		}
	}
	return nil
}

// facts lays out what the formulas of a stage read.
type facts struct {
	recipe  *recipe.Recipe
	stage   *recipe.Stage // whose formulas they are
	index   int           // of the stage, in streams of random numbers; of who learns beside it a number of its own
	method  *algo.Algorithm
	turns   bool                    // they are the segments
	nodes   bool                    // those of trees are
	reads   []string                // facts, those of a reward apart
	states  algo.States             // of the method
	judges  map[string]*judge.Judge // of steps, by the facts that tell what they say
	prompts *prompts.Renderer
	record  *Record
	probed  map[string]float64 // mean scores of the last fresh pass over prompts, by [keyOf]
	models  models
}

func newFacts(p Parts, index int) (*facts, error) {
	return factsFor(p, &p.Recipe.Stages[index], index)
}

// factsFor are those of a stage with an index, or of who learns beside it.
func factsFor(p Parts, st *recipe.Stage, index int) (*facts, error) {
	f := &facts{recipe: p.Recipe, stage: st, index: index, judges: st.StepJudges(), prompts: p.Prompts, record: p.Record, models: castModels{p.Cast}}
	var err error
	if f.method, err = st.Compiled(); err == nil {
		f.reads, err = st.Reads()
	}
	if err != nil {
		return nil, fmt.Errorf("stage %s: %w", st.Name, err)
	}
	f.turns, f.nodes = st.Turns(f.method), st.Nodes(f.method)
	return f, nil
}

// blamed says in which table the formula of an error stands.
func (f *facts) blamed(err error) error {
	table := "[stage.algorithm]"
	if f.beside() {
		table = "[stage.learn." + f.stage.Learner() + ".algorithm]"
	}
	return fmt.Errorf("%s of stage %s: %w", table, f.stage.Name, err)
}

// verifier is the place of a verifier of the stage among the verdicts of a completion, by its name;
// 0: of the task; -1: there is none.
func (f *facts) verifier(name string) int {
	if name == taskFact {
		return 0
	}
	for i, v := range f.stage.Verifiers {
		if v.Name == name {
			return i + 1
		}
	}
	return -1
}

// subject is what columns are made of: a step, as far as it is known.
type subject struct {
	*facts
	at       Position
	stage    *recipe.Stage    // with the numbers of the step
	problems []verify.Problem // of the groups; nil: the number of the step alone is known
	cs       []Completion     // nil: they are not drawn
	now      []Now            // of cs
	cut      [][]int          // tokens of the segments of cs, where something else than the method cuts them; nil: it does

	made  *formula.Table                // what is known of the step once it is cut
	paths map[algo.Hidden][][][]float64 // [completion][segment] mean states in layers of models, as far as they were asked for

	kept map[string][]formula.Column // of the facts that the problems always have, as far as they were made; nil: none are kept
}

// of is a step with completions.
func (f *facts) of(p *Plan, cs []Completion, now []Now) subject {
	return subject{facts: f, at: p.At, stage: p.stage, problems: problemsOf(cs), cs: cs, now: now}
}

// steps is how many steps the stage has at most. The keys of other kinds are 0.
func (x subject) steps() int {
	return x.stage.RL.Steps + x.stage.SFT.HoldSteps + x.stage.SFT.DecaySteps
}

// noise are the random numbers of the step's i-th completion, counted from 1; 0: of the step.
func (x subject) noise(i int) *random.Rand {
	return random.At(x.recipe.Seed, random.Stream(random.Noise, x.index), uint64(x.at.Step)<<32|uint64(i))
}

// frame is the shape of the step's tables. A group that nothing is drawn of yet has one completion
// without tokens.
func (x subject) frame() (*formula.Frame, error) {
	if x.cs != nil {
		groups := column(x.cs, func(c *Completion) int { return c.Group })
		if x.cut != nil {
			return formula.NewFrame(groups, x.cut, nil)
		}
		return formula.NewFrame(groups, column(x.cs, x.segments), nil)
	}
	groups := make([]int, max(1, len(x.problems)))
	tokens := make([][]int, len(groups))
	for i := range groups {
		groups[i], tokens[i] = i, []int{0}
	}
	return formula.NewFrame(groups, tokens, nil)
}

// table has a column for each of some facts that is known by a time, and for each state. Where there
// are completions, they are cut into segments as the method says.
func (x subject) table(by when, names []string) (*formula.Table, error) {
	frame, err := x.frame()
	if err != nil {
		return nil, err
	}
	t := formula.NewTable(frame)
	for name, c := range x.states.Columns(x.method, keysOf(x.problems)) {
		if err := t.Add(name, c); err != nil {
			return nil, err
		}
	}
	if by >= drawn && x.cut == nil {
		names = slices.Concat(names, x.method.SegmentReads())
	}
	var cut []string // facts that are made once completions are cut
	for _, fact := range names {
		if row, _ := x.supplierOf(fact, by); row != nil && row.cut {
			cut = append(cut, fact)
		} else if err := x.add(t, fact, by); err != nil {
			return nil, err
		}
	}
	if by < drawn || x.cut != nil {
		return t, nil
	}
	if t, err = x.method.Cut(t); err != nil {
		return nil, x.blamed(err)
	}
	x.made, x.cut, x.paths = t, make([][]int, len(x.cs)), map[algo.Hidden][][][]float64{}
	for i := range x.cut {
		x.cut[i] = t.Lengths(i)
	}
	calls := x.method.Calls()
	slices.SortStableFunc(cut, func(a, b string) int { return slices.Index(calls, a) - slices.Index(calls, b) })
	for _, fact := range cut {
		if err := x.add(t, fact, by); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// add adds the columns of a fact to a table that does not have them.
func (x subject) add(t *formula.Table, fact string, by when) error {
	if _, there := t.Column(fact); there {
		return nil
	}
	if err := x.oneContext(fact); err != nil {
		return err
	}
	columns, err := x.columns(fact, by)
	if err != nil {
		return err
	}
	for _, c := range columns {
		if err := t.Add(fact, c); err != nil {
			return err
		}
	}
	return nil
}

// oneContext refuses a fact of completions as one sequence where one of them is several: a program of others may
// begin a context anew at any time.
func (x subject) oneContext(fact string) error {
	if len(algo.OfOneContext(fact)) == 0 {
		return nil
	}
	for i := range x.cs {
		if x.cs[i].View.Fresh != nil {
			return x.blamed(hint.With(fmt.Errorf("problem %s: the world begins the context of an episode anew, and %s is of one sequence", x.cs[i].From.Problem.ID, fact),
				"a formula without %s, or a world whose answers never have fresh", fact))
		}
	}
	return nil
}

// columns are those of a fact: of a member of the problems' rows its numbers and its texts. There are
// none if it is not known yet.
func (x subject) columns(fact string, by when) ([]formula.Column, error) {
	row, other := x.supplierOf(fact, by)
	switch {
	case row != nil && row.fixed && x.kept != nil:
		columns, there := x.kept[fact]
		if there {
			return columns, nil
		}
		columns, err := row.columns(x, fact)
		if err == nil {
			x.kept[fact] = columns
		}
		return columns, err
	case row != nil:
		return row.columns(x, fact)
	case other:
		return nil, nil
	}
	return nil, fmt.Errorf("no model supplies the fact %q", fact)
}

// one makes the columns of a fact that has one.
func one(column func(x subject, fact string) (formula.Column, error)) func(subject, string) ([]formula.Column, error) {
	return func(x subject, fact string) ([]formula.Column, error) {
		c, err := column(x, fact)
		return []formula.Column{c}, err
	}
}

func ofRun(fact string, value func(x subject) float64) supplier {
	return supplier{fact: fact, known: begun, columns: one(func(x subject, _ string) (formula.Column, error) {
		return formula.Column{Level: formula.Run, V: []float64{value(x)}}, nil
	})}
}

func ofRecord(fact string) supplier {
	return supplier{fact: fact, known: posed, columns: one(func(x subject, fact string) (formula.Column, error) {
		return x.record.column(fact, x.problems, x.at.Total+1), nil
	})}
}

func groupColumn(value func(c *Completion) (float64, string)) func(x subject, fact string) (formula.Column, error) {
	return func(x subject, _ string) (formula.Column, error) {
		c := formula.Column{Level: formula.Group, Why: map[int]string{}}
		for i := range x.cs {
			if i > 0 && x.cs[i].Group == x.cs[i-1].Group {
				continue
			}
			v, why := value(&x.cs[i])
			if c.V = append(c.V, v); math.IsNaN(v) {
				c.Why[len(c.V)-1] = why
			}
		}
		return c, nil
	}
}

func completionColumn(x subject, value func(i int) (float64, string)) formula.Column {
	c := formula.Column{Level: formula.Completion, Why: map[int]string{}}
	for i := range x.cs {
		v, why := value(i)
		if c.V = append(c.V, v); math.IsNaN(v) {
			c.Why[i] = why
		}
	}
	return c
}

func ofCompletion(fact string, value func(c *Completion) (float64, string)) supplier {
	return supplier{fact: fact, known: drawn, columns: one(func(x subject, _ string) (formula.Column, error) {
		return completionColumn(x, func(i int) (float64, string) { return value(&x.cs[i]) }), nil
	})}
}

func ofOrigin(fact string, value func(o *Origin) float64) supplier {
	return ofCompletion(fact, func(c *Completion) (float64, string) { return value(&c.Origin), "" })
}

func ofTokens(fact string, known when, value func(x subject, i int) []float32) supplier {
	return supplier{fact: fact, known: known, columns: one(func(x subject, _ string) (formula.Column, error) {
		c := formula.Column{Level: formula.Token}
		for i := range x.cs {
			c.V = append(c.V, cast.Widen(value(x, i))...)
		}
		return c, nil
	})}
}

// labels are those of steps, at the tokens in which they end.
func labels(x subject, _ string) (formula.Column, error) {
	c := formula.Column{Level: formula.Token, V: []float64{}, Why: map[int]string{}}
	for i := range x.cs {
		for j := range x.cs[i].View.Tokens() {
			v := math.NaN()
			if of := x.cs[i].Labels; of != nil {
				v = of[j]
			}
			if math.IsNaN(v) {
				c.Why[len(c.V)] = "no step with a label ends in the token"
			}
			c.V = append(c.V, v)
		}
	}
	return c, nil
}

func ofModel(fact string) supplier {
	return supplier{fact: fact, known: asked, columns: one(func(x subject, fact string) (formula.Column, error) {
		model, _ := algo.BeforeToken(fact)
		if x.recipe.Models[model].Prompt != "" {
			return x.after(fact, model)
		}
		rows, err := x.models.Supply(fact, column(x.cs, func(c *Completion) rollout.View { return c.View }))
		return formula.Column{Level: formula.Token, V: slices.Concat(rows...)}, err
	})}
}

// prompted is the prompt that a model has of its own for a problem, or why there is none.
func (f *facts) prompted(problem verify.Problem, model string) (ids []int, lacks string) {
	ids, err := f.prompts.Asked(problem, f.recipe.Models[model].Prompt)
	switch most := f.recipe.Task.MaxPromptTokens; {
	case err != nil:
		return nil, fmt.Sprintf("models.%s.prompt: %v", model, err)
	case len(ids) > most:
		return nil, fmt.Sprintf("models.%s.prompt has %d tokens here; accepted: at most max_prompt_tokens = %d", model, len(ids), most)
	}
	return ids, ""
}

// after is a fact that a model says of the tokens after a prompt of its own.
func (x subject) after(fact, model string) (formula.Column, error) {
	var views []rollout.View
	lacks := make([]string, len(x.cs)) // why there is no such prompt; "": there is
	for i := range x.cs {
		var ids []int
		if ids, lacks[i] = x.prompted(x.cs[i].From.Problem, model); lacks[i] == "" {
			views = append(views, x.cs[i].View.After(ids))
		}
	}
	rows, err := x.models.Supply(fact, views)
	if err != nil {
		return formula.Column{}, err
	}
	out := formula.Column{Level: formula.Token, Why: map[int]string{}}
	for i := range x.cs {
		if lacks[i] == "" {
			out.V, rows = append(out.V, rows[0]...), rows[1:]
			continue
		}
		for range x.cs[i].View.Tokens() {
			out.Why[len(out.V)] = lacks[i]
			out.V = append(out.V, math.NaN())
		}
	}
	return out, nil
}

func ofUpdate(fact string, of statistic) supplier {
	return supplier{fact: fact, known: updated, token: &of}
}

// holds is 1 or 0.
func holds(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// membersOf are the numbers and the texts that each problem has as a member of its row.
func membersOf(x subject, fact string) ([]formula.Column, error) {
	_, member, _ := strings.Cut(fact, ".")
	return []formula.Column{numbersOf(x.problems, member), textsOf(x.problems, member)}, nil
}

// renderedTokens are the lengths of prompts that are not drawn yet.
func renderedTokens(x subject, _ string) (formula.Column, error) {
	c := formula.Column{Level: formula.Group, Why: map[int]string{}}
	for i, p := range x.problems {
		ids, err := x.prompts.Prompt(p)
		if c.V = append(c.V, float64(len(ids))); err != nil {
			c.V[i], c.Why[i] = math.NaN(), err.Error()
		}
	}
	return c, nil
}

func promptChance(x subject, _ string) (formula.Column, error) {
	c := formula.Column{Level: formula.Group}
	for i := range x.problems {
		c.V = append(c.V, random.At(x.recipe.Seed, random.Stream(random.Setting, x.index), uint64(x.at.Step)<<32|uint64(i)).Unit())
	}
	return c, nil
}

// probedScores are what the last fresh pass found.
func probedScores(x subject, _ string) (formula.Column, error) {
	c := formula.Column{Level: formula.Group, Why: map[int]string{}}
	for i, p := range x.problems {
		score, there := x.probed[keyOf(p)]
		if !there {
			score, c.Why[i] = math.NaN(), "probed: no completion of the prompt was scored in a fresh pass"
		}
		c.V = append(c.V, score)
	}
	return c, nil
}

// promptValues are what a head says of prompts: it reads the hidden state that their last token leaves, from which the
// next one is drawn, whatever that is.
func promptValues(x subject, fact string) (formula.Column, error) {
	c := formula.Column{Level: formula.Group, Why: map[int]string{}, V: make([]float64, len(x.problems))}
	var views []rollout.View
	var asked []int // their places
	for i, p := range x.problems {
		ids, why := x.promptOf(p, fact)
		if why != "" {
			c.V[i], c.Why[i] = math.NaN(), why
			continue
		}
		if fact == "prompt_value" { // said before a token; the head of a model speaks after one
			ids = append(ids[:len(ids):len(ids)], x.models.Ends()[0])
		}
		n := len(ids)
		views = append(views, rollout.View{IDs: ids, Spans: []rollout.Span{{From: n - 1, To: n}}, Temperature: 1})
		asked = append(asked, i)
	}
	rows, err := x.models.Supply(fact, views)
	if err != nil {
		return c, err
	}
	for i, row := range rows {
		c.V[asked[i]] = row[0]
	}
	return c, nil
}

// promptOf is the prompt of a problem that a head is asked about, which a model may have of its own, or why there is none.
func (x subject) promptOf(p verify.Problem, fact string) (ids []int, why string) {
	if x.recipe.Models[fact].Prompt != "" {
		return x.prompted(p, fact)
	}
	ids, err := x.prompts.Prompt(p)
	if err != nil {
		return nil, err.Error()
	}
	return ids, ""
}

// verdictOf is the score of a verifier, or a number that it found.
func verdictOf(x subject, fact string) ([]formula.Column, error) {
	name, member, family := strings.Cut(fact, ".")
	place := x.verifier(name)
	verdict := func(i int) *verify.Verdict { return &x.cs[i].Path().Verdicts[place] }
	c := completionColumn(x, func(i int) (float64, string) {
		if v := verdict(i); !family {
			return v.Score, v.Reason
		}
		return verdict(i).Number(name, member)
	})
	if family && member == judge.Raw {
		reward.Raw(c, func(i int) int { return x.cs[i].Group }, verdict)
	}
	return []formula.Column{c}, nil
}

func noises(x subject, _ string) (formula.Column, error) {
	c := formula.Column{Level: formula.Token}
	for i := range x.cs {
		r := x.noise(i + 1)
		for range x.cs[i].View.Tokens() {
			c.V = append(c.V, r.Unit())
		}
	}
	return c, nil
}

// numbersOf is the number that each problem has as a member of its row.
func numbersOf(problems []verify.Problem, member string) formula.Column {
	c := formula.Column{Level: formula.Group, V: make([]float64, len(problems)), Why: map[int]string{}}
	for i, p := range problems {
		var why string
		if c.V[i], why = p.Number(member); why != "" {
			c.V[i], c.Why[i] = math.NaN(), why
		}
	}
	return c
}

// textsOf is the text that each problem has there.
func textsOf(problems []verify.Problem, member string) formula.Column {
	c := formula.Column{Level: formula.Group, Text: make([]string, len(problems)), Why: map[int]string{}}
	for i, p := range problems {
		var why string
		if c.Text[i], why = p.Text(member); why != "" {
			c.Why[i] = why
		}
	}
	return c
}

// mismatched is the gain of each prompt with the completion of the next prompt that has
// the same sample number. A single prompt has none.
func mismatched(x subject, _ string) (formula.Column, error) {
	out := formula.Column{Level: formula.Completion, V: make([]float64, len(x.cs)), Why: map[int]string{}}
	views := mismatchedViews(x.cs, cmp.Or(x.stage.SFT.MaxTokens, x.recipe.Task.MaxPromptTokens+x.recipe.MaxDrawn(x.stage)))
	if views == nil {
		for i := range x.cs {
			out.V[i], out.Why[i] = math.NaN(), "mismatched needs two prompts in a step"
		}
		return out, nil
	}
	rows, err := x.models.Supply("mismatched", views)
	for i, row := range rows {
		for _, gain := range row {
			out.V[i] += gain
		}
	}
	return out, err
}

// mismatchedViews lay out the prompts with completions of others, cut off at a length; nil:
// there is one prompt.
func mismatchedViews(cs []Completion, most int) []rollout.View {
	first := []int{} // completion of each group
	for i := range cs {
		if cs[i].Sample == 0 {
			first = append(first, i)
		}
	}
	if len(first) < 2 {
		return nil
	}
	views := make([]rollout.View, len(cs))
	for i := range cs {
		next := (cs[i].Group + 1) % len(first)
		size := len(cs) - first[next]
		if next+1 < len(first) {
			size = first[next+1] - first[next]
		}
		prompt, other := cs[i].View, cs[first[next]+cs[i].Sample%size].View
		v := rollout.View{IDs: slices.Concat(prompt.IDs[:prompt.Prompt()], other.IDs[other.Prompt():]), Temperature: prompt.Temperature, Group: prompt.Group}
		if len(v.IDs) > most {
			v.IDs = v.IDs[:most]
		}
		for _, span := range other.Spans {
			from, to := span.From+prompt.Prompt()-other.Prompt(), span.To+prompt.Prompt()-other.Prompt()
			if from < len(v.IDs) {
				v.Spans = append(v.Spans, rollout.Span{From: from, To: min(to, len(v.IDs))})
			}
		}
		views[i] = v
	}
	return views
}
