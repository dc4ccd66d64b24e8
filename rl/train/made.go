package train

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/record"
	"github.com/rlzero/rlzero/verify"
)

// Rows are the rows that a run has made, which its stages draw. They are those of its file: a run that is
// resumed reads them from there. They belong to one goroutine.
type Rows struct {
	recipe  *recipe.Recipe
	prompts *prompts.Renderer
	heldOut *HeldOut
	kept    map[string][]verify.Problem // that are drawn from, by name, the oldest first
	made    map[string]int              // how many there are
	lacks   map[string]string           // why some were not made, by name: the commonest reason of a step, the newest
	lines   int                         // of the file
}

// NewRows are the rows of a run that has made none.
func NewRows(r *recipe.Recipe, renderer *prompts.Renderer, heldOut *HeldOut) *Rows {
	return &Rows{recipe: r, prompts: renderer, heldOut: heldOut, kept: map[string][]verify.Problem{}, made: map[string]int{}, lacks: map[string]string{}}
}

// Read takes a row from the next line of the run's file, whose bytes are raw. What could not have been made is
// refused with its column.
func (r *Rows) Read(raw []byte, m record.Made) error {
	if want := r.next(m.Rows); m.ID != want {
		return fmt.Errorf("column 1: the row has the id %q; accepted: %q", m.ID, want)
	}
	// What it was made from was looked at when it was made, and stands in the line as an ID, or as the question of
	// a problem without one.
	row, err := r.admit(m, verify.Problem{Question: m.From})
	if err == nil {
		r.keep(m.Rows, row)
		return nil
	}
	at := strings.Index(string(raw), `"row":`) + 1
	if wrong, ok := err.(*prompts.MadeError); ok && wrong.Column != "" {
		at += max(0, strings.Index(string(raw[max(0, at-1):]), fmt.Sprintf("%q:", wrong.Column)))
	}
	return fmt.Errorf("column %d: row %s: %w", at, m.ID, err)
}

// next is the id of the next row of a name.
func (r *Rows) next(name string) string { return fmt.Sprintf("%s/%d", name, r.made[name]+1) }

// admit is a row as a problem. It is refused if a stage that draws it could not read it, if it holds control
// tokens, or if it is a held-out problem of the run or was made from one: of a procedural task, those
// that the run evaluates.
func (r *Rows) admit(m record.Made, from ...verify.Problem) (verify.Problem, error) {
	row, err := r.prompts.MadeRow(m.ID, m.Row, r.limits(m.Rows))
	if err == nil && !r.recipe.Task.AllowLeaks {
		err = r.heldOut.known.Like(append(from, row)...)
	}
	return row, err
}

// keep adds a row, which is the next line of the file.
func (r *Rows) keep(name string, row verify.Problem) {
	r.lines++
	row.File, row.Line = record.MadeFile, r.lines
	all := append(r.kept[name], row)
	if most := r.recipe.MostOf(name); most > 0 && len(all) > most {
		all = all[len(all)-most:]
	}
	r.kept[name] = all
	r.made[name]++
}

// limits are what the stages that draw rows of a name have room for.
func (r *Rows) limits(name string) (l prompts.Limits) {
	var all []*recipe.Stage
	for i := range r.recipe.Stages {
		st := &r.recipe.Stages[i]
		all = append(all, st)
		for _, l := range st.Learners() {
			all = append(all, l.Stage)
		}
	}
	for _, st := range all {
		for _, source := range st.Sources {
			if source.Rows != name || st.Skip {
				continue
			}
			l.Solutions = append(l.Solutions, st.SecondChance.Solutions()...)
			if prefix := st.SecondChance.Prefix; prefix != "" {
				l.Solutions = append(l.Solutions, prefix)
			}
			room, most := &l.Prompt, r.recipe.Task.MaxPromptTokens
			switch st.Kind {
			case recipe.KindSFT:
				room, most = &l.Lesson, st.SFT.MaxTokens
			case recipe.KindPreference:
				room, most = &l.Choice, st.SFT.MaxTokens
			}
			if *room == 0 || most < *room {
				*room = most
			}
		}
	}
	return l
}

// draw draws for a step of n rows or prompts those that come from what was made: of each source its share,
// as far as it has any. at gives the random numbers of each.
func (r *Rows) draw(st *recipe.Stage, n int, at func(i int) *random.Rand) []verify.Problem {
	var out []verify.Problem
	sum := 0.0
	for _, source := range st.Sources {
		before := sum
		sum += source.Share
		want := places(sum, n) - places(before, n)
		all := r.kept[source.Rows]
		for k := 0; k < want && len(all) > 0; k++ {
			place := len(all) - 1 - k
			if !source.Newest {
				place = at(len(out)).Between(0, len(all)-1)
			}
			if place < 0 {
				break
			}
			out = append(out, all[place])
		}
	}
	return out
}

// places are how many of n a share has.
func places(share float64, n int) int { return int(math.Round(share * float64(n))) }

// supplied refuses a stage, or who learns beside it, that learns from rows alone of which there are none. index is the
// stage's place.
func (r *Rows) supplied(st *recipe.Stage, index int) error {
	if !st.OfRows() { // the task gives the others
		return nil
	}
	for k, source := range st.Sources {
		if len(r.kept[source.Rows]) > 0 {
			continue
		}
		var tried []string
		own := false
		for i := range r.recipe.Stages[:index+1] {
			by := &r.recipe.Stages[i]
			for _, m := range by.Make {
				if m.Rows != source.Rows || by.Skip {
					continue
				}
				own = own || i == index
				n, what := by.RL.Steps*by.RL.PromptsPerStep, "group"
				if m.Each == "completion" {
					n, what = n*by.RL.GroupSize, "completion"
				}
				made := fmt.Sprintf("none of %s of stage %s gave one", terminal.Count(n, what, ""), by.Name)
				if m.Where != "" {
					made = fmt.Sprintf("none of %s of stage %s had %s and could be read", terminal.Count(n, what, ""), by.Name, m.Where)
				}
				tried = append(tried, made)
			}
		}
		if own { // they come with the steps
			continue
		}
		err := fmt.Errorf("%q is empty: %s", source.Rows, strings.Join(tried, "; "))
		if why := r.lacks[source.Rows]; why != "" {
			err = fmt.Errorf("%w; the commonest reason of the last rows that were left out: %s", err, why)
		}
		key := fmt.Sprintf("stage.%d.source.%d.rows", index, k)
		if st.Trains != r.recipe.Stages[index].Trains { // it learns beside who draws, from one kind of rows
			key = fmt.Sprintf("stage.%d.learn.%s.rows", index, st.Trains)
		}
		faults := r.recipe.Faults()
		faults.Fail(key, "%w", hint.With(err, "relax where, or let the stage that makes the rows draw more; made/left_out/%s in metrics.jsonl counts rows that could not be read", source.Rows))
		return faults.Err()
	}
	return nil
}

// textOf is a value of a row as it stands in a text.
func textOf(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}
