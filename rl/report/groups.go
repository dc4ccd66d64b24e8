package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/rlzero/rlzero/rl/lines"
)

// Limits of the training groups: how many are shown, and how many different
// completions of each.
const (
	quarters   = 4
	maxAnswers = 6
)

// groupLine is a line of completions.jsonl.
type groupLine struct {
	Step      int      `json:"step"`
	Stage     string   `json:"stage"`
	Group     int      `json:"group"`
	Reward    *float64 `json:"reward"`
	Advantage *float64 `json:"advantage"`
	Sample
}

// readGroups finds a group at the end of each quarter of the last stage that
// learns from rewards: the first of that step with unequal rewards, else the first.
// The log may be large: it is read as a stream, and lines of other steps are not
// parsed.
func (r *Run) readGroups(dir string) {
	const name = "completions.jsonl"
	heads := groupHeads(r.stages())
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			r.Notes = append(r.Notes, fmt.Sprintf("%s cannot be read: %v", name, err))
		}
		return
	}
	defer f.Close()
	var groups []Group // of all steps that are wanted
	last := groupLine{}
	err = lines.Each(name, f, func(_ int, line []byte) error {
		wanted := slices.ContainsFunc(heads, func(head []byte) bool { return bytes.HasPrefix(line, head) })
		if !wanted || line[len(line)-1] != '}' { // a run in progress is writing it
			return nil
		}
		var l groupLine
		if err := json.Unmarshal(line, &l); err != nil {
			return fmt.Errorf("not a JSON object of the expected keys: %w", err)
		}
		if len(groups) == 0 || l.Step != last.Step || l.Group != last.Group {
			groups = append(groups, Group{Step: l.Step, Stage: l.Stage, Prompt: l.Prompt})
		}
		last = l
		g := &groups[len(groups)-1]
		g.Completions = append(g.Completions, Completion{l.Sample, orNaN(l.Reward), orNaN(l.Advantage)})
		return nil
	})
	if err != nil {
		r.Notes = append(r.Notes, err.Error()+"; the rest of the file is left out")
	}
	for len(groups) > 0 {
		n := 1
		for n < len(groups) && groups[n].Step == groups[0].Step {
			n++
		}
		r.Groups = append(r.Groups, groups[max(0, slices.IndexFunc(groups[:n], Group.mixed))])
		groups = groups[n:]
	}
}

// groupHeads are how the lines of the steps at the end of each quarter begin.
func groupHeads(stages []stage) [][]byte {
	var heads [][]byte
	for i := len(stages) - 1; i >= 0; i-- {
		s := stages[i]
		if !s.rl {
			continue
		}
		for q := 1; q <= quarters; q++ {
			if step := s.after + (s.last-s.after)*q/quarters; step > s.after { // shorter than four: fewer
				heads = append(heads, fmt.Appendf(nil, `{"step":%d,`, step))
			}
		}
		break
	}
	return heads
}

// mixed says whether the rewards of a group differ.
func (g Group) mixed() bool {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, c := range g.Completions {
		if finite(c.Reward) {
			lo, hi = math.Min(lo, c.Reward), math.Max(hi, c.Reward)
		}
	}
	return lo < hi
}

func orNaN(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}

// groupView is a group on the page: equal completions are one line.
type groupView struct {
	Title, Prompt string
	Size, More    int // completions; different ones that are not shown
	Answers       []groupAnswer
}

type groupAnswer struct {
	answer
	Count             int
	Reward, Advantage string
	Push              string // up, down or none: what the step did to its probability
}

// groupViews are the groups of the run, the commonest completions first.
func (r *Run) groupViews(stages []stage) []groupView {
	var out []groupView
	for _, g := range r.Groups {
		v := groupView{Title: stepName(stages, g.Step), Prompt: clip(g.Prompt), Size: len(g.Completions)}
		at := map[string]int{}
		for _, c := range g.Completions {
			i, seen := at[c.Completion]
			if !seen {
				i = len(v.Answers)
				at[c.Completion] = i
				v.Answers = append(v.Answers, newGroupAnswer(c))
			}
			v.Answers[i].Count++
		}
		slices.SortStableFunc(v.Answers, func(a, b groupAnswer) int { return b.Count - a.Count })
		v.More = max(0, len(v.Answers)-maxAnswers)
		v.Answers = v.Answers[:len(v.Answers)-v.More]
		out = append(out, v)
	}
	return out
}

func newGroupAnswer(c Completion) groupAnswer {
	a := groupAnswer{answer: newAnswer("", c.Sample), Reward: tick(c.Reward), Advantage: "–", Push: "none"}
	if finite(c.Advantage) {
		a.Advantage = signed(c.Advantage)
		switch {
		case c.Advantage > 0:
			a.Push = "up"
		case c.Advantage < 0:
			a.Push = "down"
		}
	}
	return a
}

// signed is a number with two decimals and its sign: +0.72.
func signed(v float64) string {
	if v == 0 {
		return "0"
	}
	return minus(fmt.Sprintf("%+.2f", v))
}

// stepName says which step of its stage a step is: rl, step 120.
func stepName(stages []stage, step int) string {
	for _, s := range stages {
		if step > s.after && step <= s.last {
			return fmt.Sprintf("%s, step %s", s.name, group(fmt.Sprint(step-s.after)))
		}
	}
	return "step " + group(fmt.Sprint(step))
}
