package doctor

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/sample"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/progress"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/record"
	"github.com/rlzero/rlzero/rl/resolve"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/rl/run"
	"github.com/rlzero/rlzero/rl/store"
	"github.com/rlzero/rlzero/rl/train"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

// Capacity of the engine that draws completions again: sequences in flight, and tokens
// of a pass.
const (
	redrawSequences = 64
	redrawRows      = 1024
)

// Draws checks the completions in the logs of the run in dir: each is drawn again on dev
// with the weights, the prompt and the random numbers that it was drawn with, what was
// recorded being the draft. Those of a step are checked if the checkpoint of the step
// before is there, those of an evaluation if the one of its step is; of the best model likewise,
// where no checkpoint has its weights.
func Draws(ctx context.Context, dir string, dev gpu.Device, o Options) (*Report, error) {
	kept, err := store.List(store.OS(), dir)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	rec, err := recipe.Load(filepath.Join(dir, recipe.File), nil)
	if err != nil {
		return nil, err
	}
	d := &redraw{run: dir, recipe: rec, dev: dev, report: newReport(o.Version)}
	d.report.about(dev.Caps())
	all, err := d.snapshots(kept)
	if err != nil {
		return nil, err
	}
	show := progress.New(o.Show)
	defer show.End()
	show.Begin("checkpoints", 0, len(all))
	for i, s := range all {
		if err := d.snapshot(ctx, s); err != nil {
			if ctx.Err() != nil {
				err = run.ErrInterrupted
			}
			return nil, err
		}
		show.Step(i+1, s.name)
	}
	if d.sittings == 0 {
		return nil, hint.With(fmt.Errorf("%w: run %s has no checkpoint whose weights drew one of the logged completions", lines.ErrInput, dir),
			"checkpoint_every of a stage and keep of [checkpoint] say which checkpoints a run keeps")
	}
	return d.report.finish(), nil
}

// redraw draws the completions of a run again.
type redraw struct {
	run      string
	recipe   *recipe.Recipe
	dev      gpu.Device
	report   *Report
	sittings int // checked
}

// snapshot is a checkpoint, or the best model.
type snapshot struct {
	name, dir string
	state     run.State // of the run when it was made
	best      bool      // it is the best model, which has the policy alone
}

// snapshots are those that the run has kept and that are whole, in the order of their steps.
func (d *redraw) snapshots(kept []store.Listed) ([]snapshot, error) {
	var all []snapshot
	for _, c := range kept {
		if c.Err != nil {
			d.report.LeftOut = append(d.report.LeftOut, fmt.Sprintf("completions drawn with %s, as the checkpoint is damaged: %v", c.Name, c.Err))
			continue
		}
		state, err := run.ReadState(c.Checkpoint.Dir())
		if err != nil {
			return nil, fmt.Errorf("%w: %w", lines.ErrInput, err)
		}
		all = append(all, snapshot{c.Name, c.Checkpoint.Dir(), state, false})
	}
	best, err := store.BestModel(store.OS(), d.run)
	if err != nil {
		d.report.LeftOut = append(d.report.LeftOut, fmt.Sprintf("completions drawn with the best model: %v", err))
	}
	if best == nil || len(all) == 0 {
		return all, nil
	}
	at, there := slices.BinarySearchFunc(all, best.Step(), func(s snapshot, step int) int { return cmp.Compare(s.state.At.Total, step) })
	if there {
		return all, nil
	}
	state := all[0].state // for what the run has throughout, such as its device
	if state.At, err = position(d.run, d.recipe, best.Step()); err != nil {
		return nil, err
	}
	return slices.Insert(all, at, snapshot{"the best model, that of step " + strconv.Itoa(best.Step()), best.Dir(), state, true}), nil
}

// position is where a run was after a step within a stage, by its metrics.
func position(dir string, r *recipe.Recipe, step int) (train.Position, error) {
	at, stage, first, there := train.Position{Total: step}, "", 1, false
	err := record.Raw(filepath.Join(dir, record.MetricsFile), func(_ int, line []byte) error {
		n, of, ok := record.Head(line)
		if !ok || n == 0 || there { // 0: the evaluation before the first step
			return nil
		}
		if there = n > step; of != stage {
			stage, first = of, n
		}
		return nil
	})
	at.Stage = max(0, slices.IndexFunc(r.Stages, func(st recipe.Stage) bool { return st.Name == stage }))
	at.Step = step + 1 - first
	return at, err
}

// snapshot checks what was drawn with the weights of one.
func (d *redraw) snapshot(ctx context.Context, from snapshot) error {
	dir, state := from.dir, from.state
	all, err := sittingsOf(d.run, dir, d.recipe, state)
	if err != nil || len(all) == 0 {
		return err
	}
	if d.sittings == 0 {
		d.compareDevice(state)
	}
	m, err := model.Load(d.dev, dir, model.LoadOptions{Positions: d.longest(), Frozen: true})
	if err != nil {
		return err
	}
	defer m.Close()
	e, err := sample.NewEngine(m, sample.Options{Sequences: redrawSequences, Context: d.longest(), StepRows: redrawRows, Draws: redrawRows, Guides: true})
	if err != nil {
		return err
	}
	defer e.Close()
	renderer, err := prompts.NewRenderer(m.Tokenizer, m.Config.EOS, resolve.Style(d.recipe))
	if err != nil {
		return err
	}
	s := &cast.Sampler{Engine: e, Role: "policy", Seed: func(k random.Key) uint64 { return k.Seed(d.recipe.Seed) }}
	who := recipe.PolicyModel
	for _, sit := range all {
		by := sit.drawer(d.recipe, state)
		if from.best && by != recipe.PolicyModel {
			continue
		}
		d.sittings++
		if d.recipe.Models[by].Logits != "" {
			d.report.add(sit.name, "not drawn again: "+by+" is a sum of the logits of several models", nil, "")
			continue
		}
		if keeps := d.recipe.Stages[sit.key.Stage].FilteredBy(); keeps != "" && sit.key.Purpose != random.HeldOut {
			d.report.add(sit.name, "not drawn again: what was drawn is what filters keep of the distribution of "+keeps, nil, "")
			continue
		}
		if by != who {
			if err := cast.Take(m, dir, by); err != nil {
				return fmt.Errorf("%w: %w", lines.ErrInput, err)
			}
			who = by
		}
		found, differs, err := sit.check(ctx, s, m, renderer)
		if err != nil {
			return err
		}
		d.report.add(sit.name, found+", drawn again with the weights of "+from.name, differs, fmt.Sprintf("rlzero receipt %s finds changed files, and rlzero doctor finds a device that computes wrongly; if the run was made on another device or driver, check it there",
			terminal.ShellWord(d.run)))
	}
	return nil
}

// compareDevice adds the row that says whether this device has to draw the same tokens.
func (d *redraw) compareDevice(made run.State) {
	here := run.NewState(d.dev.Caps())
	detail := "the device of the run: same name, driver, tier and numerics version"
	if made.Device != here.Device || made.Numerics != here.Numerics {
		detail = fmt.Sprintf("not the device of the run (%s, numerics version %s): a token may differ where two are nearly as likely", made.Device, made.Numerics)
	}
	d.report.add(thisDevice, detail, nil, "")
}

// longest is the number of tokens of the longest sequence of the run.
func (d *redraw) longest() int {
	n := 0
	for i := range d.recipe.Stages {
		n = max(n, d.recipe.Task.MaxPromptTokens+d.recipe.MaxDrawn(&d.recipe.Stages[i]))
	}
	return n
}

// check draws the completions of a sitting again, those of episodes turn by turn. differs names the
// first that is another; nil: there is none.
func (s *sitting) check(ctx context.Context, sampler rollout.Sampler, m *model.Model, renderer *prompts.Renderer) (found string, differs, err error) {
	var open, branches []*drawnAgain
	for i := range s.lines {
		a := &drawnAgain{logged: &s.lines[i], turns: s.lines[i].turns()}
		problem := verify.Problem{Question: a.Prompt, Metadata: a.Context}
		ids, err := renderer.Begin(problem, a.turns[0].opening)
		if err != nil {
			return "", nil, fmt.Errorf("%s: line %d: %w", s.log, a.line, &rollout.PromptError{Prompt: a.Prompt, Err: err})
		}
		a.context = rollout.Context{Renderer: renderer, Row: problem, Whole: s.episode.History == recipe.HistoryTemplate, IDs: ids, Prompt: len(ids), Said: a.turns[0].opening}
		if a.Branch != nil {
			branches = append(branches, a)
			continue
		}
		open = append(open, a)
	}
	var done []*drawnAgain
	tokens, wrong, first := 0, 0, ""
	for len(open) > 0 {
		requests := make([]rollout.Request, len(open))
		for i, a := range open {
			requests[i] = s.request(a, m)
		}
		drawn, err := sampler.Sample(ctx, requests)
		if err != nil {
			return "", nil, err
		}
		var next []*drawnAgain
		for i, a := range open {
			seg, turn := drawn[i][0], &a.turns[a.at]
			tokens += len(seg.IDs)
			seg = rollout.Stopped(renderer, a.said, seg)
			seg.IDs = slices.Concat(a.said, seg.IDs)
			a.drawn, a.before, done = seg.IDs, append(a.before, a.context.IDs), append(done, a)
			a.first = false
			if !turn.same(seg, renderer) {
				if wrong++; wrong == 1 {
					first = fmt.Sprintf("%s, line %d: %s%s", s.log, a.line, a.where(), turn.difference(seg, turn.draft(m), renderer))
				}
				continue
			}
			if a.at++; a.at == len(a.turns) {
				continue
			}
			a.context.Append(seg)
			read, err := s.read(a, seg)
			if err != nil {
				return "", nil, fmt.Errorf("%s: line %d: %w", s.log, a.line, err)
			}
			a.context.Append(read)
			next = append(next, a)
		}
		open = next
		branches = slices.DeleteFunc(branches, func(a *drawnAgain) bool {
			for _, from := range done {
				if a.goesOn(from) {
					open = append(open, a)
					return true
				}
			}
			return false
		})
	}
	if n := len(branches); n > 0 {
		if wrong += n; first == "" {
			first = fmt.Sprintf("%s, line %d: it goes on from a completion that is not there", s.log, branches[0].line)
		}
	}
	count := terminal.Count(len(s.lines), "completion", "")
	if wrong > 0 {
		differs = fmt.Errorf("%d of %s differ from what is drawn here; %s", wrong, count, first)
	}
	return fmt.Sprintf("%s, %s: all as recorded", count, terminal.Count(tokens, "token", "")), differs, nil
}

// drawnAgain is a completion that is drawn again.
type drawnAgain struct {
	*logged
	turns   []turn
	at      int             // of turns: the one that is drawn next
	context rollout.Context // before it
	said    []int           // of a branch: the end of the context, which it shares with others
	first   bool            // of a branch: what is drawn next is the first that is its own
	drawn   []int           // the last turn, as it was drawn here

	before [][]int // contexts, [turn that was drawn]
}

// read is what the policy reads before the turn that is drawn next, after one that was drawn.
func (s *sitting) read(a *drawnAgain, seg rollout.Segment) (rollout.Segment, error) {
	before, now, sum := &a.turns[a.at-1], &a.turns[a.at], world.Summary(s.episode.Summary)
	said := seg.Text(a.context.Renderer)
	if before.sums {
		return a.context.Anew(sum.Told(said))
	}
	reply := world.Reply{Messages: now.opening, Fresh: now.fresh && !a.context.Whole}
	if now.sums {
		reply.Messages = slices.Concat(reply.Messages, []world.Message{sum.Asked()})
	}
	return a.context.Next(said, seg.Stop == rollout.EOS, reply)
}

// goesOn says whether a branch goes on from a completion that was drawn, and has it do so.
func (a *drawnAgain) goesOn(from *drawnAgain) bool {
	n, nodes := 0, 0
	for i := range a.Nodes {
		if n == a.Branch.After || i == len(from.Nodes) || from.Group != a.Group || a.Nodes[i].Node != from.Nodes[i].Node {
			break
		}
		n, nodes = n+a.Nodes[i].Tokens, nodes+1
	}
	if from.Group != a.Group || n != a.Branch.After {
		return false
	}
	a.first = true
	switch {
	case a.Turns != nil: // which are the nodes
		if nodes >= len(from.before) || nodes >= len(a.turns) {
			return false
		}
		a.at, a.before, a.context.IDs = nodes, slices.Clone(from.before[:nodes]), from.before[nodes]
		return true
	case n > len(from.drawn):
		return false
	}
	a.said = from.drawn[:n]
	a.context.IDs = slices.Concat(a.context.IDs, a.said)
	return true
}

// where says which turn is meant, if there are several.
func (a *drawnAgain) where() string {
	if a.Turns == nil {
		return ""
	}
	return fmt.Sprintf("turn %d: ", a.at+1)
}

// request asks for the next turn of a completion.
func (s *sitting) request(a *drawnAgain, m *model.Model) rollout.Request {
	key, params := s.key, s.params
	key.Stream = uint32(a.Group*s.each + a.Sample)
	if a.Branch != nil {
		key = train.BranchKey(key.Stage, key.Step, 0)
		key.Stream = uint32(a.Branch.Number)
		params.MaxTokens -= len(a.said)
		if a.first {
			params.Without = a.Branch.Without
		}
	}
	if a.context.Begun > 0 {
		key = key.Restarted(a.context.Begun)
	}
	if a.Turns != nil && s.episode.Tokens > 0 {
		params.MaxTokens = min(params.MaxTokens, s.episode.Tokens-a.context.Size(rollout.Segment{}))
	}
	return rollout.Request{Prompt: a.context.IDs, N: 1, Params: params, Key: key, Draft: a.draft(m)}
}

// draft are the tokens that a request for the next turn expects; nil: of a completion that goes on from a
// fork there is no text of its own.
func (a *drawnAgain) draft(m *model.Model) [][]int {
	if a.said != nil {
		return nil
	}
	return [][]int{a.turns[a.at].draft(m)}
}

// turn is what the policy said at once: of an episode one of its turns, else the whole completion.
type turn struct {
	opening     []world.Message // what was said before it in the episode, since the turn before
	sums, fresh bool            // it is a summary; its context began anew
	text        string
	tokens      int    // 0: the log does not tell
	stop        string // ""; likewise
	ends        bool   // the policy ended it, as far as the log tells
}

// turns are those of a completion, at least one.
func (l *logged) turns() []turn {
	if l.Turns == nil {
		one := turn{text: l.Text, ends: !l.ended || l.Stop == string(rollout.EOS)}
		if l.ended {
			one.tokens, one.stop = l.Tokens, l.Stop
		}
		return []turn{one}
	}
	var all []turn
	var said []world.Message
	for _, t := range l.Turns {
		if t.By == record.ByPolicy {
			all = append(all, turn{opening: said, sums: t.Summary, fresh: t.Fresh, text: t.Text, tokens: t.Tokens, ends: true})
			said = nil
			continue
		}
		if t.By != record.ByWorld { // another seat, of which this one reads what the world says
			continue
		}
		said = append(said, world.Message{Role: cmp.Or(t.Role, world.User), Text: t.Text})
	}
	if all == nil {
		return []turn{{opening: said}}
	}
	if last := &all[len(all)-1]; l.ended {
		last.stop, last.ends = l.Stop, l.Stop == string(rollout.EOS)
	}
	return all
}

// draft is a recorded turn in tokens. A tokenizer may have other tokens for the same text; then the
// draft is wrong from there on, and the rest is sampled.
func (t *turn) draft(m *model.Model) []int {
	ids, err := m.Tokenizer.Encode(t.text)
	if err != nil {
		return nil // special tokens that read as text, say
	}
	if t.ends {
		ids = append(ids, m.Config.EOS[0])
	}
	return ids
}

// same says whether a turn is the recorded one.
func (t *turn) same(s rollout.Segment, r rollout.Renderer) bool {
	return s.Text(r) == t.text && (t.tokens == 0 || t.tokens == len(s.IDs)) && (t.stop == "" || t.stop == string(s.Stop))
}

// difference tells how a turn is another than the recorded one.
func (t *turn) difference(s rollout.Segment, draft []int, r rollout.Renderer) string {
	var b strings.Builder
	if text := s.Text(r); text != t.text {
		at := 0
		for at < min(len(draft), len(s.IDs)) && draft[at] == s.IDs[at] {
			at++
		}
		fmt.Fprintf(&b, "token %d differs: %s is recorded, %s is drawn", at+1, terminal.Quote(t.text), terminal.Quote(text))
	} else if t.tokens > 0 && t.tokens != len(s.IDs) {
		fmt.Fprintf(&b, "%d tokens are recorded, %d drawn", t.tokens, len(s.IDs))
	} else {
		fmt.Fprintf(&b, "the end differs: %q is recorded, %q is drawn", t.stop, s.Stop)
	}
	return b.String()
}
