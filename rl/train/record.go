package train

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/formula"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/verify"
)

// recordFile keeps the record in a checkpoint.
const recordFile = "trainer/prompts.json"

// maxPrompts is how many prompts the record keeps: those leave whose last draw is longest ago.
const maxPrompts = 100_000

// Record is what a run knows of the prompts that it has drawn, over all stages. It keeps
// nothing unless a stage reads it. It belongs to one goroutine.
type Record struct {
	prompts map[string]*history // by [keyOf]
	read    bool                // a stage reads it
}

// history is what is known of a prompt. Completions of a second chance and of a replay do
// not count.
type history struct {
	Seen   int     `json:"seen"`   // steps in which it was drawn
	Judged int     `json:"judged"` // completions that the task's verdict scored
	Score  float64 `json:"score"`  // sum of these scores
	Last   float64 `json:"last"`   // mean of them in the last step in which there were any
	Step   int     `json:"step"`   // of the run, from 1, in which it was last drawn
}

var _ cast.Keeper = (*Record)(nil)

// NewRecord makes the record of a run that has not begun.
func NewRecord(r *recipe.Recipe) *Record {
	out := &Record{prompts: map[string]*history{}}
	for i := range r.Stages {
		st := &r.Stages[i]
		if !st.Draws() || st.Skip {
			continue
		}
		reads, err := st.Reads()
		before, wrong := st.Before()
		if err != nil || wrong != nil { // the stage says so when it begins
			continue
		}
		for _, need := range slices.Concat(reads, before.Needs()) {
			out.read = out.read || histories[need] != nil
		}
	}
	return out
}

// histories has a row for every fact of the record. step is that of the run, from 1.
var histories = map[string]func(h *history, step int) (float64, string){
	"seen": func(h *history, _ int) (float64, string) { return float64(h.Seen), "" },
	"solved": func(h *history, _ int) (float64, string) {
		if h.Judged == 0 {
			return math.NaN(), "solved: no completion of the prompt was scored before"
		}
		return h.Score / float64(h.Judged), ""
	},
	"last_solved": func(h *history, _ int) (float64, string) {
		if h.Judged == 0 {
			return math.NaN(), "last_solved: no completion of the prompt was scored before"
		}
		return h.Last, ""
	},
	"steps_since": func(h *history, step int) (float64, string) {
		if h.Seen == 0 {
			return math.NaN(), "steps_since: the prompt was not drawn before"
		}
		return float64(step - h.Step), ""
	},
}

// column is a fact of the record about each problem.
func (r *Record) column(fact string, problems []verify.Problem, step int) formula.Column {
	c := formula.Column{Level: formula.Group, V: make([]float64, len(problems)), Why: map[int]string{}}
	for i, p := range problems {
		h := r.prompts[keyOf(p)]
		if h == nil {
			h = &history{}
		}
		var why string
		if c.V[i], why = histories[fact](h, step); why != "" {
			c.Why[i] = why
		}
	}
	return c
}

// note takes down what a step drew: the completions that the policy sampled of its own.
func (r *Record) note(cs []Completion, step int) {
	if !r.read {
		return
	}
	type drawn struct {
		score  float64
		judged int
	}
	now := map[string]drawn{}
	for i := range cs {
		if !cs[i].Origin.fresh() || cs[i].Origin.Seat == recipe.ProposerSeat {
			continue
		}
		key := keyOf(cs[i].From.Problem)
		d := now[key]
		if x := cs[i].Verdict().Score; !math.IsNaN(x) {
			d.score, d.judged = d.score+x, d.judged+1
		}
		now[key] = d
	}
	for key, d := range now {
		h := r.prompts[key]
		if h == nil {
			h = &history{}
			r.prompts[key] = h
		}
		h.Seen, h.Judged, h.Score, h.Step = h.Seen+1, h.Judged+d.judged, h.Score+d.score, step
		if d.judged > 0 {
			h.Last = d.score / float64(d.judged)
		}
	}
	r.forget()
}

// forget removes what is above the bound.
func (r *Record) forget() {
	n := len(r.prompts) - maxPrompts
	if n <= 0 {
		return
	}
	keys := slices.SortedFunc(maps.Keys(r.prompts), func(a, b string) int {
		return cmp.Or(cmp.Compare(r.prompts[a].Step, r.prompts[b].Step), cmp.Compare(a, b))
	})
	for _, key := range keys[:n] {
		delete(r.prompts, key)
	}
}

// Save implements cast.Keeper.
func (r *Record) Save() (map[string]func(io.Writer) error, error) {
	if !r.read {
		return nil, nil
	}
	return map[string]func(io.Writer) error{recordFile: func(w io.Writer) error { return json.NewEncoder(w).Encode(r.prompts) }}, nil
}

// Load implements cast.Keeper.
func (r *Record) Load(dir string) error {
	if !r.read {
		return nil
	}
	r.prompts = map[string]*history{}
	return readJSON(dir, recordFile, &r.prompts)
}

// readJSON reads a file of a checkpoint's folder.
func readJSON(dir, name string, into any) error {
	file := filepath.Join(dir, filepath.FromSlash(name))
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}
