package eval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/rl/audit"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/panel"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/record"
	"github.com/rlzero/rlzero/rl/resolve"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify"
)

// JudgeOptions say which judges are asked about what.
type JudgeOptions struct {
	Opened     *resolve.Opened // the recipe with the judges
	Device     gpu.Device
	Folder     string // of the policy's model.path; "": random weights
	Checkpoint string // that has the models of a run; "": they are as the recipe opens them
	Run        string // whose completions are judged; "": Rows
	Rows       prompts.Part
	Verifier   verify.Verifier // whose verdicts are the truth; nil: the run's, which a judge of the task has not, or the label of a row
	Name       string          // of the one judge that is asked; "": all
	Most       int             // completions, the last ones of a run
	Examples   int             // that are shown
	Ask        panel.Ask       // asks models behind addresses; nil: nobody does
}

// JudgeReport is what a judge said, held against the truth.
type JudgeReport struct {
	Name, Model, Reads string
	Ranking                   // of the scored completions with a truth
	Completions        int    // asked about
	NotScored          int    // of them
	Answers, Unread    int    // opinions
	Why                string // the commonest reason of those; "": there are none
	Right, Wrong       counted
	Text               int // completions of a run that are shown as text, since it did not record the tokens by which it judged them
	Stored, Reproduced int // opinions that the run recorded about the others, and those that are the same now
	Examples           []JudgeExample
}

// JudgeExample is an answer that cannot be read.
type JudgeExample struct {
	Question   string `json:"prompt"`
	Completion string `json:"completion"`
	Answer     string `json:"answer"` // of the judge
	Why        string `json:"why"`
}

// Judges asks the judges of a recipe again, or for the first time.
func Judges(ctx context.Context, o JudgeOptions) ([]*JudgeReport, error) {
	r := o.Opened.Recipe
	all := r.Judges()
	if o.Name != "" {
		all = slices.DeleteFunc(all, func(j recipe.Judging) bool { return j.Name != o.Name })
	}
	if len(all) == 0 {
		var names []string
		for _, j := range r.Judges() {
			names = append(names, j.Name)
		}
		if names == nil {
			return nil, fmt.Errorf("%w: recipe %s has no judge: no verifier is \"judge\"", lines.ErrInput, r.Name)
		}
		return nil, fmt.Errorf("%w: recipe %s has no judge %s; accepted: %s", lines.ErrInput, r.Name, o.Name, strings.Join(names, ", "))
	}
	c, err := cast.Open(r, o.Folder, o.Device)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	c.Reach(r, o.Ask, nil)
	if o.Checkpoint != "" {
		for _, k := range c.Keepers() {
			if err := k.Load(o.Checkpoint); err != nil {
				return nil, err
			}
		}
	}
	p := &panel.Panel{Models: c.Judge, Seed: r.Seed}
	var out []*JudgeReport
	for _, j := range all {
		model, err := c.Judge(j.Model)
		if err != nil {
			return nil, err
		}
		member, local := model.(panel.Member)
		asked, err := o.asked(j, local && member.Shares() && j.Conversation())
		if err != nil {
			return nil, err
		}
		if len(asked.groups) == 0 {
			return nil, hint.With(fmt.Errorf("%w: there are no completions to ask %s about", lines.ErrInput, j.Name), "--in FILE gives rows with question and completion")
		}
		verdicts, err := p.Judge(ctx, j.Judge, asked.groups)
		if err != nil {
			return nil, err
		}
		out = append(out, o.report(j, asked, verdicts))
	}
	return out, nil
}

// asked are completions with their truth.
type asked struct {
	groups []rollout.Group
	truth  [][]*bool // [group][path]; nil: it is not known

	// Of a run.
	text     []bool                    // [group] it lacks the tokens by which its completions were judged
	stored   map[answer]verify.Opinion // of the other groups
	recorded int                       // opinions about completions that have what they were judged by
}

// answer tells an opinion: what was said to a question about a path of a group. Of one order of several completions each has
// a place of its own.
type answer struct {
	group, path    int
	question, text string
}

// asked are the completions that a judge is asked about. byTokens: a run showed it the tokens that were drawn, which
// their text need not tell.
func (o JudgeOptions) asked(j recipe.Judging, byTokens bool) (asked, error) {
	if o.Run != "" {
		return o.ofRun(j, byTokens)
	}
	return o.ofRows()
}

// ofRun are the last completions of the judge's stage in a run.
func (o JudgeOptions) ofRun(j recipe.Judging, byTokens bool) (out asked, err error) {
	type drawn struct {
		record.Completion
		row verify.Problem
	}
	var last []drawn
	redraw, err := audit.NewRedraw(o.Run, o.Opened.Recipe, o.Opened.Source)
	if err != nil {
		return out, err
	}
	err = record.Each(filepath.Join(o.Run, record.CompletionsFile), func(_ int, line record.Completion) error {
		if line.Turns != nil || j.Stage != nil && line.Stage != j.Stage.Name {
			return nil
		}
		row, _, err := redraw.Row(line)
		if err != nil { // such as one of a stage with a curriculum: what the line has of it
			row = verify.Problem{ID: line.PromptID, Question: line.Prompt, Answer: line.Answer, Metadata: line.Context}
		}
		last = append(last, drawn{line, row})
		if n := len(last); n > 2*o.Most {
			last = slices.Clone(last[n-o.Most-1:]) // and the one before them
		}
		return nil
	})
	if err != nil {
		return out, err
	}
	if cut := len(last) - o.Most; cut > 0 {
		// A group of which some are asked about alone would be asked other questions.
		whole := slices.IndexFunc(last[cut:], func(l drawn) bool { return l.Step != last[cut-1].Step || l.Group != last[cut-1].Group })
		last = last[cut+max(0, whole):]
	}
	var tokens map[place]record.Tokens
	if byTokens && len(last) > 0 {
		if tokens, err = o.tokens(last[0].Step); err != nil {
			return out, err
		}
	}
	at, places := [2]int{-1, -1}, map[place][2]int{} // group and path of each completion
	for _, line := range last {
		if now := [2]int{line.Step, line.Group}; now != at {
			at, out.groups, out.truth, out.text = now, append(out.groups, rollout.Group{Problem: line.row}), append(out.truth, nil), append(out.text, false)
		}
		n := len(out.groups) - 1
		g, here := &out.groups[n], place{line.Step, line.Group, line.Sample}
		places[here] = [2]int{n, len(g.Paths)}
		g.Paths = append(g.Paths, rollout.Path{Text: line.Text})
		if drawn, there := tokens[here]; byTokens && there && drawn.Read == nil {
			g.Paths[len(g.Paths)-1].Leaf = len(g.Segments) + 1
			g.Segments = append(g.Segments, rollout.Segment{Parent: -1, IDs: drawn.Prompt}, rollout.Segment{Parent: len(g.Segments), IDs: drawn.IDs})
		} else if byTokens {
			out.text[n] = true
		}
		var truth *bool
		if j.Stage != nil { // else the line has what this judge said
			truth = truthOf(line.Verdict)
		}
		if o.Verifier != nil {
			truth = o.told(g.Problem, line.Text)
		}
		out.truth[n] = append(out.truth[n], truth)
	}
	for n, text := range out.text {
		if text {
			out.groups[n].Segments = nil
		}
	}
	out.stored = map[answer]verify.Opinion{}
	err = record.Each(filepath.Join(o.Run, record.JudgementsFile), func(_ int, line record.Judgement) error {
		at, asked := places[place{line.Step, line.Group, line.Sample}]
		if line.Verifier == j.Name && asked && !out.text[at[0]] {
			out.stored[answer{at[0], at[1], line.Question, line.Text}] = line.Opinion
			out.recorded++
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) { // nothing was recorded
		err = nil
	}
	return out, err
}

// place is a completion of a run: step, group and sample.
type place [3]int

// tokens are those of the run's completions from a step on, as far as they were recorded.
func (o JudgeOptions) tokens(from int) (map[place]record.Tokens, error) {
	out := map[place]record.Tokens{}
	err := record.Each(filepath.Join(o.Run, record.TokensFile), func(_ int, line record.Tokens) error {
		if line.Step >= from {
			out[place{line.Step, line.Group, line.Sample}] = line
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) { // nothing was recorded
		err = nil
	}
	return out, err
}

// told is the truth by the verifier.
func (o JudgeOptions) told(row verify.Problem, completion string) *bool {
	return truthOf(verify.Guard(func() verify.Verdict { return o.Verifier.Verify(row, completion) }).Verdict)
}

// truthOf says whether a verdict is right; nil: it says neither.
func truthOf(verdict string) *bool {
	right := verdict == verify.Right
	if !right && verdict != verify.Wrong {
		return nil
	}
	return &right
}

// ofRows are the completions of rows. Those of one question are a group.
func (o JudgeOptions) ofRows() (out asked, err error) {
	places := map[string]int{}
	n := 0
	err = prompts.ReadRows(o.Rows, func(row verify.Problem) error {
		if n++; n > o.Most {
			return errEnough
		}
		var text string
		if found, err := row.Field("completion", &text); err != nil || !found {
			return fmt.Errorf(`the row has no "completion", a text; beside the prompt it has %s`, verify.Columns(row.Metadata))
		}
		good, labelled, err := prompts.Label(row)
		if err != nil {
			return err
		}
		var truth *bool
		switch {
		case o.Verifier != nil:
			truth = o.told(row, text)
		case labelled:
			truth = &good
		}
		key := row.ID + "\x00" + row.Question
		at, known := places[key]
		if !known {
			at = len(out.groups)
			places[key] = at
			out.groups, out.truth = append(out.groups, rollout.Group{Problem: row}), append(out.truth, nil)
		}
		out.groups[at].Paths, out.truth[at] = append(out.groups[at].Paths, rollout.Path{Text: text}), append(out.truth[at], truth)
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("%w: --in: %w", lines.ErrInput, err)
	}
	return out, err
}

// report holds what a judge said against the truth.
func (o JudgeOptions) report(j recipe.Judging, a asked, verdicts [][]verify.Verdict) *JudgeReport {
	r := &JudgeReport{Name: j.Name, Model: j.Model, Reads: j.Reads(), Stored: a.recorded}
	var groups [][]side
	why := map[string]int{}
	for g, all := range verdicts {
		var sides []side
		for i, v := range all {
			r.Completions++
			if a.text != nil && a.text[g] {
				r.Text++
			}
			for _, said := range v.Opinions {
				before, known := a.stored[answer{g, i, said.Question, said.Text}]
				if known && same(before.Reading, said.Reading) && same(before.Raw, said.Raw) && same(before.Mass, said.Mass) {
					r.Reproduced++
				}
				r.Answers++
				if said.Reading != nil {
					continue
				}
				r.Unread++
				if why[said.Why]++; why[said.Why] > why[r.Why] {
					r.Why = said.Why
				}
				if len(r.Examples) < o.Examples {
					r.Examples = append(r.Examples, JudgeExample{a.groups[g].Problem.Question, a.groups[g].Paths[i].Text, said.Text, said.Why})
				}
			}
			truth := a.truth[g][i]
			switch {
			case v.Verdict == verify.NotScored:
				r.NotScored++
			case truth != nil:
				sides = append(sides, side{*truth, v.Score})
				r.Alone.add(agrees(*truth, v.Score > 0.5))
				if *truth {
					r.Right.add(v.Score)
				} else {
					r.Wrong.add(v.Score)
				}
			}
		}
		groups = append(groups, sides)
	}
	r.rank(groups)
	return r
}

func same(a, b *float64) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }

// Table is the report for people. Failed shows the answers that cannot be read.
func (r *JudgeReport) Table(failed bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s asked about %s, read by %s\n", r.Name, r.Model, terminal.Count(r.Completions, "completion", ""), r.Reads)
	if r.Unread > 0 {
		fmt.Fprintf(&b, "unread     %6.1f %%  of %s; the commonest: %s\n", 100*float64(r.Unread)/float64(r.Answers), terminal.Count(r.Answers, "answer", ""), terminal.Line(r.Why, 100))
	}
	if r.NotScored > 0 {
		fmt.Fprintf(&b, "not scored %6d    completions\n", r.NotScored)
	}
	for _, m := range []struct {
		name string
		of   counted
	}{{"of right", r.Right}, {"of wrong", r.Wrong}} {
		if m.of.n > 0 {
			fmt.Fprintf(&b, "%-10s %6.3f    mean of %s\n", m.name, m.of.mean(), terminal.Count(m.of.n, "completion", ""))
		}
	}
	b.WriteString(r.Ranking.table())
	if r.Text > 0 {
		fmt.Fprintf(&b, "as text    %6d    completions, whose tokens the run did not record: the run judged them by their tokens\n", r.Text)
	}
	if r.Stored > 0 {
		fmt.Fprintf(&b, "as stored  %6d    of %s that the run recorded\n", r.Reproduced, terminal.Count(r.Stored, "answer", ""))
	}
	if failed {
		for _, e := range r.Examples {
			fmt.Fprintf(&b, "\n   prompt      %s\n   completion  %s\n   answer      %s\n   %s\n", terminal.Line(e.Question, 200), terminal.Line(e.Completion, 200), terminal.Line(e.Answer, 200), terminal.Line(e.Why, 200))
		}
	}
	return b.String()
}

// MarshalJSON implements json.Marshaler.
func (r *JudgeReport) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Name       string         `json:"judge"`
		Model      string         `json:"model"`
		Reads      string         `json:"reads"`
		N          int            `json:"completions"`
		NotScored  int            `json:"not_scored"`
		Answers    int            `json:"answers"`
		Unread     int            `json:"unread"`
		Right      *float64       `json:"mean_right"`
		Wrong      *float64       `json:"mean_wrong"`
		Text       int            `json:"as_text"`
		Stored     int            `json:"stored"`
		Reproduced int            `json:"reproduced"`
		Agreement  *Ranking       `json:"agreement"`
		Failed     []JudgeExample `json:"failed"`
	}{r.Name, r.Model, r.Reads, r.Completions, r.NotScored, r.Answers, r.Unread, known(r.Right.mean()), known(r.Wrong.mean()), r.Text, r.Stored, r.Reproduced, &r.Ranking, append([]JudgeExample{}, r.Examples...)})
}
