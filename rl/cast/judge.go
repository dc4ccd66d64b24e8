package cast

import (
	"context"
	"fmt"

	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/sample"
	"github.com/rlzero/rlzero/rl/panel"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/resolve"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify/judge"
)

// Judge is a member that judges completions, writes texts for rows, or is asked by tools.
type Judge struct {
	Writer
	cast   *Cast
	name   string
	asked  judged
	own    bool // the engine is its own
	shares bool
}

// Writer is a model that writes answers.
type Writer struct {
	engine   *sample.Engine // nil: it writes nothing
	renderer *prompts.Renderer
	room     int
}

var _ panel.Writer = Writer{}

// NewWriter has an engine write answers to what a renderer writes. Room is how many tokens a question has with its
// answer, at most.
func NewWriter(e *sample.Engine, r *prompts.Renderer, room int) Writer { return Writer{e, r, room} }

var _ panel.Member = (*Judge)(nil)

// judged is a member that can be asked for its judgement.
type judged interface {
	// weights are those that it judges by, and its head; nil: it has none.
	judging() (*model.Model, *hf.Head)
}

func (p *Policy) judging() (*model.Model, *hf.Head)     { return p.Model, nil }
func (f folderModel) judging() (*model.Model, *hf.Head) { return f.model, f.head }
func (r *reference) judging() (*model.Model, *hf.Head)  { return r.model, nil }
func (a *average) judging() (*model.Model, *hf.Head)    { return a.weights.Model, a.head }

// writerEngine are the options of the engine that a member writes judgements and rows by.
func writerEngine(r *recipe.Recipe, judges []recipe.Judging, name string) *sample.Options {
	o := &sample.Options{Prefixes: sample.EveryPage}
	for _, j := range judges {
		if j.Model == name && j.Draws() {
			o.Context, o.Sequences = max(o.Context, r.JudgeRoom(j)), max(o.Sequences, j.Votes, min(judgedAtOnce, r.SamplerSequences))
		}
	}
	for _, w := range r.Writers() {
		if w.Model == name {
			o.Context, o.Sequences = max(o.Context, w.Room), max(o.Sequences, min(judgedAtOnce, r.SamplerSequences))
		}
	}
	return o
}

// judgedAtOnce is how many answers of a judge or texts of a writer are in flight, at most.
const judgedAtOnce = 64

// openJudges makes what the judges of a recipe are asked by.
func (c *Cast) openJudges(r *recipe.Recipe, b blueprint) error {
	c.judges = map[string]*Judge{}
	for _, w := range b.wants {
		if !w.judges {
			continue
		}
		m, err := c.member(w.name)
		if err != nil {
			return err
		}
		asked, can := m.(judged)
		if !can {
			return fmt.Errorf("the model %s cannot judge", w.name)
		}
		j := &Judge{cast: c, name: w.name, asked: asked, shares: true}
		c.judges[w.name] = j
		held, _ := asked.judging()
		tok, style, eos := b.tokenizer, resolve.Style(r), b.config.EOS
		if w.spec != nil && w.spec.Path != "" {
			f := b.folders[w.name]
			tok, style.Form, style.System, eos = f.tokenizer, prompts.Auto, "", held.Config.EOS
			j.shares = f.foreign == nil
		}
		style.AllowControl = false
		if j.renderer, err = prompts.NewRenderer(tok, eos, style); err != nil {
			return fmt.Errorf("[models.%s]: %w", w.name, err)
		}
		for _, of := range r.Judges() {
			if of.Model == w.name {
				j.room = max(j.room, r.JudgeRoom(of))
			}
		}
		for _, by := range r.Writers() {
			if by.Model == w.name {
				j.room = max(j.room, by.Room)
			}
		}
		switch {
		case w.writes != nil:
			o := *w.writes
			o.Phase = c.writing(w)
			if j.engine, err = sample.NewEngine(held, o); err != nil {
				return err
			}
			j.own = true
		case w.name == policyName:
			j.engine = c.Own.Engine
		}
	}
	return nil
}

// scorerRows is how many tokens a judge reads at a time where nothing is trained, unless a question is longer.
const scorerRows = 2048

// OpenJudges opens the model that judges the task of a recipe and those that its tools ask, beside a policy that is
// measured. Nothing else is in the cast. dir is the folder of the policy, which has the weights of models that its run
// made from random ones.
func OpenJudges(policy *model.Model, r *recipe.Recipe, dir string) (*Cast, error) {
	b := blueprint{config: policy.Config, tokenizer: policy.Tokenizer}
	for _, w := range wants(r) {
		if w.name != policyName && (w.name == r.Task.JudgedBy() || r.Task.AskRoom(w.name) > 0) {
			b.wants = append(b.wants, w)
		}
	}
	err := b.meet(r)
	if err == nil {
		err = b.shaped(r)
	}
	if err != nil {
		return nil, err
	}
	c := &Cast{headed: map[string]bool{}}
	o := opening{blueprint: b, sizes: sizesOf(r), dev: policy.Device(), cast: c}
	o.trainRows = max(o.positions, scorerRows)
	for _, w := range b.wants {
		o.want = w
		open := openFolder
		if w.spec.Fresh() {
			open = func(o opening) (member, error) { return openLearned(o, dir) }
		}
		m, err := open(o)
		if err != nil {
			c.Close()
			return nil, err
		}
		c.members, c.headed[w.name] = append(c.members, namedMember{w.name, m}), w.spec.Head
	}
	if err := c.openJudges(r, b); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Judge is the model of a name, as judges ask it.
func (c *Cast) Judge(name string) (panel.Model, error) {
	if far := c.far[name]; far != nil {
		return far, nil
	}
	return c.Writer(name)
}

// Writer is the member of a name that judges, writes texts for rows, or is asked by tools.
func (c *Cast) Writer(name string) (panel.Member, error) {
	if j := c.judges[name]; j != nil {
		return j, nil
	}
	return nil, fmt.Errorf("the run has no judge %q", name)
}

// Reach lets the judges of a recipe ask models behind addresses by ask. journal keeps what these say; nil: nobody does.
func (c *Cast) Reach(r *recipe.Recipe, ask panel.Ask, journal panel.Journal) {
	c.far = map[string]*panel.Endpoint{}
	for _, j := range r.Judges() {
		if m := r.Models[j.Model]; m.URL != "" {
			c.far[j.Model] = &panel.Endpoint{Name: j.Model, Server: panel.Server{Address: m.Address(), Model: m.Model, Seconds: m.Seconds}, Ask: ask, Journal: journal}
		}
	}
}

// Player draws turns by the member of a name, which reads the tokens of the policy.
func (c *Cast) Player(name string) (*Sampler, error) {
	j := c.judges[name]
	if j == nil || j.engine == nil {
		return nil, fmt.Errorf("the run has no player %q", name)
	}
	return &Sampler{Engine: j.engine, Role: name, Seed: c.Own.Seed}, nil
}

func (j *Judge) close() {
	if j.own {
		j.engine.Close()
	}
}

// Question implements [panel.Model].
func (j *Judge) Question(text string) ([]int, error) { return j.renderer.Plain(text) }

// Renderer implements [panel.Writer].
func (w Writer) Renderer() *prompts.Renderer { return w.renderer }

// Room implements [panel.Writer].
func (w Writer) Room() int { return w.room }

// Shares implements [panel.Member].
func (j *Judge) Shares() bool { return j.shares }

// judgedBy tells weights apart.
type judgedBy struct {
	changes uint64
	head    *hf.Head
}

// Version implements [panel.Model].
func (j *Judge) Version() any {
	m, head := j.asked.judging()
	return judgedBy{m.Decoder().Changes(), head}
}

// Heads implements [panel.Member].
func (j *Judge) Heads(views []rollout.View) (says []float64, probability bool, err error) {
	says, err = j.cast.HeadOf(j.name, views)
	_, head := j.asked.judging()
	return says, head != nil && len(head.Labels) > 1, err
}

// Logprobs implements [panel.Member].
func (j *Judge) Logprobs(views []rollout.View) ([]float64, error) {
	rows, err := j.cast.ask(j.name, logprob, views)
	out := make([]float64, len(rows))
	for i, row := range rows {
		for _, x := range row {
			out[i] += x
		}
	}
	return out, err
}

// Write implements [panel.Writer].
func (w Writer) Write(ctx context.Context, asked []panel.Asked) ([][]judge.Said, error) {
	requests := make([]sample.Request, len(asked))
	for i, a := range asked {
		requests[i] = sample.Request{Prompt: a.IDs, N: a.Answers, MaxTokens: a.MaxTokens, Ends: w.renderer.Ends(), Sampling: sample.Settings{Temperature: a.Temperature, Seed: a.Seed}}
	}
	err := w.engine.Foresee(ctx, beginning(asked))
	if err != nil {
		return nil, err
	}
	all, err := w.engine.GenerateAll(ctx, requests)
	if err != nil {
		return nil, err
	}
	out := make([][]judge.Said, len(all))
	for i, answers := range all {
		for _, c := range answers {
			ids, ended := c.IDs, c.Stop == string(rollout.EOS)
			if ended {
				ids = ids[:len(ids)-1]
			}
			out[i] = append(out[i], judge.Said{Text: w.renderer.Decode(ids), Tokens: len(c.IDs), Ended: ended})
		}
	}
	return out, nil
}

// beginning is what several questions begin with alike, such as a rubric.
func beginning(asked []panel.Asked) []int {
	if len(asked) < 2 {
		return nil
	}
	alike := asked[0].IDs
	for _, a := range asked[1:] {
		n := 0
		for n < min(len(alike), len(a.IDs)) && alike[n] == a.IDs[n] {
			n++
		}
		alike = alike[:n]
	}
	return alike
}
