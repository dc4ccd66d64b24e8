package eval

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/seq"
	"github.com/rlzero/rlzero/rl/infer"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/resolve"
	"github.com/rlzero/rlzero/verify"
)

// HeadReport is what a head that scores comes to on rows that say which completions are right. A
// score is what it says after the last token of a completion.
type HeadReport struct {
	Data  string
	Label string // whose score is meant
	Rows  int    // that were read
	Left  int    // of them: the model's tokenizer cannot write their completions
	Ranking
}

// Ranking is how well scores tell right completions from wrong ones. Figures without a case are NaN.
type Ranking struct {
	Pairs   counted // pairs of a right and a wrong completion of a prompt: right has the higher score; equal ones count half
	OneOfN  counted // prompts with right and wrong completions: a right one has a higher score than all wrong ones
	Chance  counted // completions of these prompts that are right: what OneOfN comes to by chance
	Rank    counted // of these prompts: 1/(1 + wrong completions at or above the best right one)
	BestOfN counted // prompts with several completions: the first of the highest scores is right; of equal ones a wrong one comes first
	Alone   counted // completions: the score says by itself whether it is right
	Steps   counted // steps with labels: the score after the step says whether it is right
}

// counted is a mean.
type counted struct {
	sum float64
	n   int
}

func (c *counted) add(x float64) { c.sum, c.n = c.sum+x, c.n+1 }

// mean is NaN of nothing.
func (c counted) mean() float64 { return c.sum / float64(c.n) }

// figures are those of a ranking, in their order.
func (r *Ranking) figures() []struct {
	key, name string
	of        counted
	unit      string
} {
	return []struct {
		key, name string
		of        counted
		unit      string
	}{
		{"pairs", "pairs", r.Pairs, "pair"},
		{"one_of_n", "one of n", r.OneOfN, "prompt"},
		{"chance_of_n", "by chance", r.Chance, "completion"},
		{"reciprocal_rank", "1/rank", r.Rank, "prompt"},
		{"best_of_n", "best of n", r.BestOfN, "prompt"},
		{"alone", "alone", r.Alone, "completion"},
		{"steps", "steps", r.Steps, "step"},
	}
}

// Table is the report for people. A figure that was not measured is left out.
func (r *HeadReport) Table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, scored by %s\n", r.Data, terminal.Count(r.Rows, "row", ""), r.Label)
	b.WriteString(r.Ranking.table())
	if r.Left > 0 {
		fmt.Fprintf(&b, "left out   %6d    rows whose completion the model's tokenizer cannot write\n", r.Left)
	}
	return b.String()
}

// table are the figures that were measured, for people.
func (r *Ranking) table() string {
	var b strings.Builder
	for _, f := range r.figures() {
		if f.of.n > 0 {
			fmt.Fprintf(&b, "%-10s %6.1f %%  of %s\n", f.name, 100*f.of.mean(), terminal.Count(f.of.n, f.unit, ""))
		}
	}
	return b.String()
}

// MarshalJSON writes what was read, and the figures as a Ranking has them.
func (r *HeadReport) MarshalJSON() ([]byte, error) {
	var o object
	o.put("data", r.Data)
	o.put("label", r.Label)
	o.put("rows", r.Rows)
	o.put("left_out", r.Left)
	r.put(&o)
	return o.json()
}

// MarshalJSON writes the figures.
func (r *Ranking) MarshalJSON() ([]byte, error) {
	var o object
	r.put(&o)
	return o.json()
}

// put puts each figure and how many cases it is of; one without a case is null.
func (r *Ranking) put(o *object) {
	for _, f := range r.figures() {
		o.put(f.key, known(f.of.mean()))
		o.put(f.key+"_of", f.of.n)
	}
}

// side is a completion with the score of the head.
type side struct {
	right bool
	score float64
}

// Head measures the head of a model on the rows of a data set: pairs of chosen and rejected, steps
// with labels, or completions with a label, of which those of one question are a group. label names
// the label of a head that has several.
func Head(m *model.Model, label string, o Options) (*HeadReport, error) {
	if m.Tokenizer == nil {
		return nil, fmt.Errorf("%w: the model's folder has no tokenizer.json", lines.ErrInput)
	}
	at, err := infer.Label(m, label)
	if err != nil {
		return nil, err
	}
	task, err := recipe.OnData(o.Data, o.Set)
	if err != nil {
		return nil, err
	}
	style := prompts.Style{Form: prompts.Auto}
	if o.Style != nil {
		o.Style(&style)
	}
	renderer, err := prompts.NewRenderer(m.Tokenizer, m.Config.EOS, style)
	if err != nil {
		return nil, err
	}
	reading, err := prompts.Find(resolve.Parts(&task), prompts.Wanted{})
	if err != nil {
		return nil, fmt.Errorf("%w: --data: %w", lines.ErrInput, err)
	}
	if line := reading.Line(); line != "" && o.Note != nil {
		o.Note(line)
	}
	h := headed{report: &HeadReport{Data: o.Data, Label: m.Head.Labels[at]}, read: infer.NewHead(m, at), threshold: infer.Threshold(m), places: map[string]int{}}
	defer h.read.Close()
	err = prompts.ReadRows(reading.Parts[0], func(row verify.Problem) error {
		if h.report.Rows == o.Problems {
			return errEnough
		}
		h.report.Rows++
		choices, err := renderer.Choices(row)
		if errors.Is(err, prompts.ErrUnwritable) {
			h.report.Left++
			return nil
		}
		if err != nil {
			return err
		}
		return h.add(row, choices)
	})
	if err != nil && !errors.Is(err, errEnough) {
		err = fmt.Errorf("%w: --data: %w", lines.ErrInput, err)
		return nil, hint.With(err, `a head is measured on rows with "chosen" and "rejected", with "completion" and "label", or with "steps" and "labels"; --set task.columns.chosen=COLUMN names another column`)
	}
	if h.report.Left == h.report.Rows && h.report.Rows > 0 {
		return nil, fmt.Errorf("%w: --data: the model's tokenizer can write none of the completions of %s", lines.ErrInput, terminal.Count(h.report.Rows, "row", ""))
	}
	h.report.rank(h.groups)
	return h.report, nil
}

// errEnough ends a reading.
var errEnough = errors.New("enough")

// headed measures a head row by row.
type headed struct {
	report    *HeadReport
	read      *infer.HeadReader
	threshold float64 // above it a score says right
	groups    [][]side
	places    map[string]int // of the groups of questions
}

// add scores the completions of a row.
func (h *headed) add(row verify.Problem, choices []prompts.Choice) error {
	var pair []side
	for _, c := range choices {
		n := len(c.IDs)
		from := n - 1
		if c.Labels != nil {
			from = c.Learned[0].From
		}
		said, err := h.read.Read(seq.Sequence{IDs: c.IDs, Spans: []seq.Span{{From: from, To: n}}, Temperature: 1})
		if err != nil {
			return err
		}
		for i, x := range c.Labels {
			if !math.IsNaN(x) {
				h.report.Steps.add(agrees(x > 0.5, said[i] > h.threshold))
			}
		}
		if c.Labels == nil {
			one := side{c.Reward > 0.5, said[0]}
			h.report.Alone.add(agrees(one.right, one.score > h.threshold))
			pair = append(pair, one)
		}
	}
	switch len(pair) {
	case 0:
	case 1:
		key := row.ID + "\x00" + row.Question
		at, known := h.places[key]
		if !known {
			at = len(h.groups)
			h.places[key] = at
			h.groups = append(h.groups, nil)
		}
		h.groups[at] = append(h.groups[at], pair[0])
	default:
		h.groups = append(h.groups, pair)
	}
	return nil
}

func agrees(a, b bool) float64 {
	if a == b {
		return 1
	}
	return 0
}

// rank compares the completions of each prompt.
func (r *Ranking) rank(groups [][]side) {
	for _, g := range groups {
		if len(g) < 2 {
			continue
		}
		best, rights := 0, 0
		bestRight := math.Inf(-1)
		for i, s := range g {
			if s.score > g[best].score || s.score == g[best].score && !s.right {
				best = i
			}
			if s.right {
				rights++
				bestRight = max(bestRight, s.score)
			}
		}
		r.BestOfN.add(agrees(g[best].right, true))
		if rights == 0 || rights == len(g) {
			continue
		}
		above := 0
		for _, wrong := range g {
			r.Chance.add(agrees(wrong.right, true))
			if wrong.right {
				continue
			}
			if wrong.score >= bestRight {
				above++
			}
			for _, right := range g {
				switch {
				case !right.right:
				case right.score == wrong.score:
					r.Pairs.add(0.5)
				default:
					r.Pairs.add(agrees(right.score > wrong.score, true))
				}
			}
		}
		r.OneOfN.add(agrees(above == 0, true))
		r.Rank.add(1 / float64(1+above))
	}
}
