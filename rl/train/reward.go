package train

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/reward"
	"github.com/rlzero/rlzero/rl/rollout"
)

// pay gives each completion of a draw its reward. place numbers its random rewards, of the i-th completion.
func (d *drawer) pay(p *Plan, cs []Completion, place func(i int, c *Completion) uint64) error {
	return d.payBy(d.program, d.truth, p, cs, place)
}

// payBy is pay by a reward, with a truth beside it unless that is nil.
func (d *drawer) payBy(program, truth *reward.Program, p *Plan, cs []Completion, place func(i int, c *Completion) uint64) error {
	b := reward.Batch{Step: p.At.Step + 1, Steps: p.stage.RL.Steps, MaxTokens: p.stage.Sampling.MaxCompletionTokens, Vocabulary: d.models.Vocabulary()}
	for i := range cs {
		c, coin := &cs[i], 0.0
		if random.At(d.recipe.Seed, random.Stream(random.Reward, d.index), place(i, c)).Chance(0.5) {
			coin = 1
		}
		b.Completions = append(b.Completions, reward.Completion{Group: c.Group, Row: c.From.Problem, Path: c.Path(), View: c.View, Turns: d.playedOf(c), Situations: d.situationsOf(c), Random: coin})
	}
	if program.Needs("old_uniform_logp") || truth != nil && truth.Needs("old_uniform_logp") {
		stats, err := d.models.Forward(column(cs, func(c *Completion) rollout.View { return c.View }))
		if err != nil {
			return err
		}
		for i := range stats {
			b.Completions[i].UniformLogp = stats[i].MeanLogprob
		}
	}
	asks := program.Asks()
	if truth != nil {
		for _, a := range truth.Asks() {
			if !slices.ContainsFunc(asks, func(b reward.Ask) bool { return a.Column == b.Column }) {
				asks = append(asks, a)
			}
		}
	}
	if err := d.ask(asks, b.Completions); err != nil {
		return err
	}
	scores, err := program.Score(b)
	if err != nil {
		return fmt.Errorf("step %d: stage %s: reward: %w", p.At.Step+1, p.stage.Name, err)
	}
	for i := range cs {
		cs[i].Score = scores[i]
	}
	if truth == nil {
		return nil
	}
	truths, err := truth.Score(b)
	if err != nil {
		return fmt.Errorf("step %d: stage %s: truth: %w", p.At.Step+1, p.stage.Name, err)
	}
	for i := range cs {
		cs[i].Truth = &truths[i]
	}
	return nil
}

// coins numbers the random rewards of a draw: those of draws in place of refused groups
// are numbered from 2^32 on, and so is every draw of a stage with several seats, which has more completions than
// its groups say. Where trees grow, a completion keeps its number while others join its group: those
// that branch off are numbered after the first of all groups.
func (d *drawer) coins(at Position, try int) func(i int, c *Completion) uint64 {
	n := d.whole.RL.PromptsPerStep * d.whole.RL.GroupSize
	return func(i int, c *Completion) uint64 {
		if d.whole.Grows() {
			roots := d.whole.Tree.Roots
			i = c.Group*roots + c.Sample
			if c.Sample >= roots {
				i = d.whole.RL.PromptsPerStep*roots + c.Group*(d.whole.RL.GroupSize-roots) + c.Sample - roots
			}
		}
		if try == 0 && d.propose == nil && !d.whole.Sits() {
			return uint64(at.Step*n + i)
		}
		return uint64(at.Step*maxTries+try)<<32 | uint64(i)
	}
}

// ask has models score the texts that the reward and the truth ask about, and notes what they say in the
// completions.
func (d *drawer) ask(asks []reward.Ask, cs []reward.Completion) error {
	for i := range cs {
		cs[i].Asked = map[string]reward.Answer{}
	}
	for _, a := range asks {
		if a.Head {
			if err := d.askHead(a, cs); err != nil {
				return err
			}
			continue
		}
		if a.Alike != nil {
			if err := d.alike(a, cs); err != nil {
				return err
			}
			continue
		}
		var texts []cast.Text
		for i := range cs {
			texts = append(texts, d.text(a, &cs[i]))
		}
		scored, err := d.models.ScoreOf(a.Model, texts)
		if err != nil {
			return err
		}
		var groups [][]int // completions with log-probs, by prompt
		place := map[int]int{}
		for i, t := range scored {
			cs[i].Asked[a.Column] = reward.Answer{Why: t.Why}
			if t.Why != "" {
				continue
			}
			at, seen := place[cs[i].Group]
			if !seen {
				at = len(groups)
				place[cs[i].Group] = at
				groups = append(groups, nil)
			}
			groups[at] = append(groups[at], i)
		}
		for _, group := range groups {
			logprobs := make([][]float64, len(group))
			for k, i := range group {
				logprobs[k] = scored[i].Logprobs
			}
			for k, x := range a.Of(logprobs) {
				cs[group[k]].Asked[a.Column] = reward.Answer{Value: x}
			}
		}
	}
	return nil
}

// askHead notes what a head says after the last token of each completion, of the policy's prompt or of its own.
func (d *drawer) askHead(a reward.Ask, cs []reward.Completion) error {
	var views []rollout.View
	own := d.recipe.Models[a.Model].Prompt != ""
	for i := range cs {
		v := cs[i].View
		if own {
			ids, lacks := d.prompted(cs[i].Row, a.Model)
			if cs[i].Asked[a.Column] = (reward.Answer{Why: lacks}); lacks != "" {
				continue
			}
			v = v.After(ids)
		}
		views = append(views, v)
	}
	said, err := d.models.HeadOf(a.Model, views)
	if err != nil {
		return err
	}
	for i := range cs {
		if cs[i].Asked[a.Column].Why == "" {
			cs[i].Asked[a.Column], said = reward.Answer{Value: said[0]}, said[1:]
		}
	}
	return nil
}

// alike notes how alike the texts are that a reward asks about.
func (d *drawer) alike(a reward.Ask, cs []reward.Completion) error {
	var texts []cast.Text // a and b of each completion
	groups := make([]int, len(cs))
	for i := range cs {
		groups[i] = cs[i].Group
		texts = append(texts, likened(a.Alike.A, &cs[i]), likened(a.Alike.B, &cs[i]))
	}
	places, err := d.models.PlaceOf(a.Model, texts)
	if err != nil {
		return err
	}
	of := [2][]reward.Place{}
	for i, p := range places {
		of[i%2] = append(of[i%2], p)
	}
	for i, answer := range a.Alike.Of(groups, of[0], of[1]) {
		cs[i].Asked[a.Column] = answer
	}
	return nil
}

// begunAnew says why a completion is no text that a model could read.
const begunAnew = "the context of the episode began anew, so the completion is not one text"

// likened is a text of a completion that is held against another one.
func likened(s reward.Shown, c *reward.Completion) (t cast.Text) {
	v := c.View
	switch {
	case s.Prompt:
		t.IDs = v.IDs[:v.Prompt()]
	case s.Completion && v.Fresh != nil:
		t.Lack = begunAnew
	case s.Completion && v.Stop == rollout.EOS:
		t.IDs = v.IDs[v.Prompt() : len(v.IDs)-1]
	case s.Completion:
		t.IDs = v.IDs[v.Prompt():]
	default:
		t.Text, t.Lack = s.Text(c.Row)
	}
	return t
}

// text is what the reward asks about a completion, and what it stands after.
func (d *drawer) text(a reward.Ask, c *reward.Completion) cast.Text {
	v := c.View
	if a.After == "nothing" {
		if v.Fresh != nil {
			return cast.Text{Lack: begunAnew}
		}
		ends := d.models.Ends() // a model may have none, which ScoreOf tells
		return cast.Text{After: ends[:min(1, len(ends))], IDs: v.IDs[v.Prompt():]}
	}
	var t cast.Text
	switch t.Text, t.Lack = a.Text(c.Row); {
	case a.After == "prompt":
		t.After = v.IDs[:v.Prompt()]
	case v.Stop == rollout.EOS:
		t.After = v.Last()
		t.After = t.After[:len(t.After)-1]
	default:
		t.After = v.Last()
	}
	if a.After == "thought" {
		last := v.Spans[len(v.Spans)-1]
		before := len(v.IDs) - len(v.Last())                            // tokens of contexts that are over
		from, to := last.From-before, min(last.To-before, len(t.After)) // of what the policy wrote last
		n, lead := thought(d.prompts.Pieces(t.After[from:to]), c.Path.Verdict().Extracted)
		t.After, t.Text = t.After[:from+n], lead+t.Text
	}
	return t
}

// thought is how many of a completion's tokens stand before the answer that was found in it, and the text between them and
// the answer. The last of several places counts; without one, all of the completion is thought. pieces are the texts of
// the tokens.
func thought(pieces []string, answer string) (n int, lead string) {
	at := strings.LastIndex(strings.Join(pieces, ""), answer)
	if answer == "" || at < 0 {
		return len(pieces), ""
	}
	for n < len(pieces) && at > 0 && at >= len(pieces[n]) {
		at -= len(pieces[n])
		n++
	}
	lead = pieces[n][:at]
	for lead != "" && n > 0 && pieces[n-1] == "" { // the tokens of its first character
		n--
	}
	return n, lead
}

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}
