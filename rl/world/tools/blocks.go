package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

// Names of blocks.
const (
	blockStep   = "step"
	blockDebate = "debate"
	blockRefine = "refine"
	blockEnd    = "end"
)

var allBlocks = []string{blockStep, blockDebate, blockRefine, blockEnd}

func init() {
	Register(Entry{
		Name:    "blocks",
		Summary: "another model writes the answer, and the policy picks how it goes on",
		Doc: `blocks: another model writes the answer. The policy picks, turn by turn, how it goes on.

    12+7-5-3:   2   8:0:1   1   3:0:2   3   5:0:2   2   5:8:3   4   and the model has written 12+7=19-5=14-3=11

A turn is the number of a block in the option blocks, from 1 on; what follows the number is not read. The
tool takes whole turns, of one token each where the recipe says no more, so it stands alone in a task, and the
keys calls, max_calls and reply_bytes do not go with it.

    step     the model goes on with a step
    debate   it goes on with the step that most of its draws begin with
    refine   it takes its last step back, and goes on with that of its next draw
    end      it writes what is left, and that is judged by the task

Where the turns of the episode are used up, it writes what is left, too. A step is what the regular
expression step matches at the beginning of what the model writes, or else all of it.

At each place the model draws so many answers to the question with the solution so far, read as one text: draws
of them. Their random numbers follow from that text and the seed of the run, so that equal texts have equal
draws while the model's weights are the same, and nothing has to be kept for a run that is resumed. A solution
that the model cannot read, or for which context has no room, stays as it is.

After each turn the policy reads three numbers, which are what the model thinks of its solution: how many of
the draws before the last step begin with that step (all, where there is none); how many of those after it
write nothing more; and the number of steps so far.

The reward of a turn is what it changes of the share of draws that the task judges right, with which
Math-Shepherd labels steps (arXiv 2312.08935). At the end it is the task's score less that share. So the
rewards of an episode add up to its score less the share of the model's own answers that are right. Facts of a
turn: turn.worth, the share after it; turn.agree and turn.done, the first two numbers after it, as shares of
the draws; turn.block, the number of the block; 0: the turn has none, and nothing changes.

` + settings.Describe(defaultBlocks()),
		Options: func() Options { return defaultBlocks() },
	})
}

func defaultBlocks() *BlocksOptions {
	return &BlocksOptions{Blocks: allBlocks, Step: `[^\n]*\n?`, Draws: 8, Context: 512, MaxTokens: 64, Temperature: 1}
}

// BlocksOptions are who writes in the tool "blocks", and how.
type BlocksOptions struct {
	Model       string   `toml:"model" about:"who writes: a model of [models] with path or family; required"`
	Blocks      []string `toml:"blocks" about:"the blocks that the policy can pick, in the order of their numbers"`
	Step        string   `toml:"step" about:"regular expression of a step, at the beginning of what is left to write"`
	Draws       int      `toml:"draws" range:"[1,64]" about:"answers that the model draws at each place"`
	Context     int      `toml:"context" range:"[2,16777216]" about:"tokens that a question may have with an answer"`
	MaxTokens   int      `toml:"max_tokens" range:"[1,16777216]" about:"tokens of an answer, at most"`
	Temperature float64  `toml:"temperature" range:"(0,100]" about:"divides the logits of the draws"`
}

// Validate implements [Options].
func (o *BlocksOptions) Validate() error {
	if err := settings.Check(o); err != nil {
		return err
	}
	for i, b := range o.Blocks {
		switch {
		case !slices.Contains(allBlocks, b):
			return &settings.Error{Key: "blocks", Problem: fmt.Sprintf("has %q; accepted: %s", b, strings.Join(allBlocks, ", "))}
		case slices.Contains(o.Blocks[:i], b):
			return &settings.Error{Key: "blocks", Problem: fmt.Sprintf("has %q twice", b)}
		}
	}
	_, wrong := regexp.Compile(o.Step)
	switch {
	case o.Model == "":
		return &settings.Error{Key: "model", Problem: "is missing; accepted: a model of [models] that writes"}
	case len(o.Blocks) == 0:
		return &settings.Error{Key: "blocks", Problem: "= [] leaves nothing to pick; accepted: some of " + strings.Join(allBlocks, ", ")}
	case wrong != nil:
		return &settings.Error{Key: "step", Problem: fmt.Sprintf("= %q is no regular expression: %v", o.Step, wrong)}
	case o.MaxTokens >= o.Context:
		return &settings.Error{Key: "max_tokens", Problem: fmt.Sprintf("= %d leaves a question no room; accepted: less than context = %d", o.MaxTokens, o.Context)}
	}
	return nil
}

// Answered implements [Questioner].
func (b Blocks) Answered(by Answerer) world.Tool {
	b.Answer = by
	return b
}

// Asks implements [Asking].
func (o BlocksOptions) Asks() Whom {
	return Whom{Model: o.Model, Context: o.Context, MaxTokens: o.MaxTokens, Answers: o.Draws, Temperature: o.Temperature}
}

// Spec implements [Options].
func (o *BlocksOptions) Spec() world.Spec { return Blocks{BlocksOptions: *o}.Spec() }

// Make implements [Options].
func (o *BlocksOptions) Make(Documents) (world.Tool, string, error) {
	return Blocks{BlocksOptions: *o}, "", nil
}

// BlockFacts are those of a turn, see [world.Reply].
func BlockFacts() []string { return []string{"worth", "agree", "done", "block"} }

// Blocks is the tool "blocks", which takes whole turns: it is a [world.World] too. Answer is who writes; nil: nobody does
// yet. Judge is that of the task.
type Blocks struct {
	BlocksOptions
	Answer Answerer
	Judge  func(row verify.Problem, answer string, ended bool) verify.Verdict
}

// Spec implements [world.Tool].
func (b Blocks) Spec() world.Spec {
	return world.Spec{Name: "blocks", About: "Picks how another model goes on with its solution.", Args: json.RawMessage(`{"type":"object"}`), Pure: true}
}

// Test implements [world.Tool].
func (b Blocks) Test(ctx context.Context) error {
	if b.Answer == nil {
		return nil
	}
	_, err := b.draws(ctx, "1", "")
	return err
}

// Open implements [world.Tool].
func (b Blocks) Open(context.Context, verify.Problem) (world.Session, error) { return b, nil }

// Close implements [world.Session].
func (Blocks) Close() error { return nil }

// Call implements [world.Session].
func (Blocks) Call(context.Context, json.RawMessage) (world.Answer, error) {
	return Mistaken("a block is picked by a whole turn"), nil
}

// draws are what the model writes after a text. One that it cannot read, or that is too long, it leaves as it is, unless
// it is the question alone.
func (b Blocks) draws(ctx context.Context, question, solution string) ([]Said, error) {
	if b.Answer == nil {
		return nil, fmt.Errorf("%w: there is no model to write", world.ErrUnable)
	}
	said, mistake, err := b.Answer(ctx, question+solution)
	if err == nil && mistake != nil {
		if solution != "" {
			return make([]Said, b.Draws), nil
		}
		err = mistake
	}
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", b.Model, err)
	}
	return said, nil
}

// place is where a solution stands, with what the model draws from there.
type place struct {
	text  string // of the solution
	next  []Said
	steps []string // that the draws begin with; "": it writes nothing more
	took  int      // of the draws: the one that the next place begins with
	agree int      // draws of the place before that begin with the last step; all, where there is none
	worth float64  // share of the draws that are right
}

// episodeOfBlocks is one that is being played.
type episodeOfBlocks struct {
	by     Blocks
	row    verify.Problem
	step   *regexp.Regexp
	places []place // the beginning, and after each step
}

// Begin implements [world.World]. It says nothing more than the question.
func (b Blocks) Begin(ctx context.Context, row verify.Problem, _ *random.Rand) (world.Episode, world.Reply, error) {
	e := &episodeOfBlocks{by: b, row: row, step: regexp.MustCompile(b.Step)}
	if err := e.come(ctx, "", b.Draws); err != nil {
		return nil, world.Reply{}, err
	}
	return e, world.Reply{State: row.Question}, nil
}

// come adds the place after a text.
func (e *episodeOfBlocks) come(ctx context.Context, text string, agree int) error {
	next, err := e.by.draws(ctx, e.row.Question, text)
	if err != nil {
		return err
	}
	p := place{text: text, next: next, agree: agree}
	for _, said := range next {
		first := said.Text
		if at := e.step.FindStringIndex(first); at != nil && at[0] == 0 && at[1] > 0 {
			first = first[:at[1]]
		}
		p.steps = append(p.steps, first)
		p.worth += e.judged(text, said).Score / float64(len(next))
	}
	e.places = append(e.places, p)
	return nil
}

// judged is what the task says of a solution that goes on with a draw.
func (e *episodeOfBlocks) judged(text string, said Said) verify.Verdict {
	return verify.Guard(func() verify.Verdict { return e.by.Judge(e.row, text+said.Text, said.Ended) })
}

func (e *episodeOfBlocks) last() *place { return &e.places[len(e.places)-1] }

// goOn takes the step of one of the draws.
func (e *episodeOfBlocks) goOn(ctx context.Context, draw int) error {
	p := e.last()
	p.took = draw
	step, agree := p.steps[draw], 0
	if step == "" {
		return nil
	}
	for _, other := range p.steps {
		if other == step {
			agree++
		}
	}
	return e.come(ctx, p.text+step, agree)
}

// Step implements [world.Episode].
func (e *episodeOfBlocks) Step(ctx context.Context, t world.Turn) (world.Reply, error) {
	before, number := e.last().worth, blockOf(t.Text)
	if number < 1 || number > len(e.by.Blocks) {
		return e.reply(before, 0), nil
	}
	var err error
	switch p := e.last(); e.by.Blocks[number-1] {
	case blockStep:
		err = e.goOn(ctx, 0)
	case blockDebate:
		err = e.goOn(ctx, mostOften(p.steps))
	case blockRefine:
		if len(e.places) > 1 {
			e.places = e.places[:len(e.places)-1]
			err = e.goOn(ctx, (e.last().took+1)%len(e.last().steps))
		}
	case blockEnd:
		v := e.judged(p.text, p.next[0])
		out := e.reply(before, number)
		out.Messages, out.State, out.Verdict = nil, "ended", &v
		out.Reward, out.Facts["worth"] = v.Score-before, v.Score
		return out, nil
	}
	return e.reply(before, number), err
}

// Close implements [world.Episode].
func (*episodeOfBlocks) Close() error { return nil }

// Judge implements [world.Judge]: the model writes what is left.
func (e *episodeOfBlocks) Judge(context.Context) (verify.Verdict, error) {
	return e.judged(e.last().text, e.last().next[0]), nil
}

// reply is what the policy reads at a place, after a turn that began where so many draws were right.
func (e *episodeOfBlocks) reply(before float64, number int) world.Reply {
	p, done := e.last(), 0
	for _, step := range p.steps {
		if step == "" {
			done++
		}
	}
	n := float64(len(p.steps))
	says := fmt.Sprintf("%d:%d:%d", p.agree, done, len(e.places)-1)
	return world.Reply{
		Messages: []world.Message{{Role: world.User, Text: says}},
		State:    e.row.Question + p.text,
		Reward:   p.worth - before,
		Facts:    map[string]float64{"worth": p.worth, "agree": float64(p.agree) / n, "done": float64(done) / n, "block": float64(number)},
	}
}

// blockOf is the number at the beginning of a turn; 0: there is none.
func blockOf(turn string) int {
	turn = strings.TrimSpace(turn)
	end := 0
	for end < len(turn) && turn[end] >= '0' && turn[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(turn[:end])
	if err != nil {
		return 0
	}
	return n
}

// mostOften is the first of those that most are equal to.
func mostOften(steps []string) (at int) {
	count := map[string]int{}
	for _, s := range steps {
		count[s]++
	}
	for i, s := range steps {
		if count[s] > count[steps[at]] {
			at = i
		}
	}
	return at
}
