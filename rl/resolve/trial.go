package resolve

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/rl/algo"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/reward"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify"
)

// tryRows is how many problems a trial looks at, each group at one of its own: a member that none of
// them has, none is taken to have.
const tryRows = algo.TrialRows

// try tries the method of every stage that learns, unless it says that it is meant as it is
// written. A method that learns nothing is a fault; what is likely not meant is a note.
func try(r *recipe.Recipe, source prompts.Source, faults *recipe.Faults) (notes []string) {
	var rows []verify.Problem
	one := func(st *recipe.Stage, table string) {
		if !st.Learns() || st.Skip || st.Algorithm.AsWritten {
			return
		}
		method, err := st.Compiled()
		if err != nil {
			return // it is told when the stage begins
		}
		if rows == nil {
			rows = someRows(r, source)
		}
		name := table
		if dot := strings.Index(name, ".learn."); dot < 0 {
			name = "stage.algorithm"
		} else {
			name = "stage" + name[dot:]
		}
		for _, f := range method.Try(trialOf(r, st, inSeats(r, st, rows))) {
			part := strings.ReplaceAll(f.Part, "state/", "state.")
			if f.Warning {
				notes = append(notes, fmt.Sprintf("warning: stage %s: %s in [%s]: %s", st.Name, part, name, f.Text))
				continue
			}
			faults.Fail(table+"."+part, "%w", hint.With(fmt.Errorf("%s", f.Text), "if this is meant, write as_written = true in [%s]", name))
		}
	}
	for i := range r.Stages {
		one(&r.Stages[i], fmt.Sprintf("stage.%d.algorithm", i))
		for _, l := range r.Stages[i].Learners() {
			one(l.Stage, fmt.Sprintf("stage.%d.learn.%s.algorithm", i, l.Trains))
		}
	}
	return notes
}

// inSeats are the rows of a stage as its groups have them, each with a seat of those that the policy plays and, where
// several may play against it, with one of those.
func inSeats(r *recipe.Recipe, st *recipe.Stage, rows []verify.Problem) []verify.Problem {
	var seats []string
	switch {
	case st.Sits():
		seats = st.Learned(r.Task)
	case st.Proposes():
		seats = []string{recipe.SolverSeat, recipe.ProposerSeat}
	default:
		return rows
	}
	out := make([]verify.Problem, tryRows)
	for i := range out {
		seat, round := seats[i%len(seats)], i/len(seats)
		out[i] = rollout.InSeat(rows[i%len(rows)], seat)
		for _, other := range r.Task.Seats() {
			if pool := st.SeatBy(other); len(pool) > 1 && other != seat {
				out[i].Metadata[rollout.MemberAgainst], _ = json.Marshal(pool[round%len(pool)]) // of a text it cannot fail
			}
		}
	}
	return out
}

// someRows are problems of the source, those of a file from all of it.
func someRows(r *recipe.Recipe, source prompts.Source) (rows []verify.Problem) {
	if train, _ := source.Rows(); len(train) > 0 {
		for i := range min(len(train), tryRows) {
			rows = append(rows, train[i*len(train)/min(len(train), tryRows)])
		}
		return rows
	}
	if r.Task.Settings != nil {
		return prompts.Step(source, r.Seed, 0, 0, tryRows)
	}
	return []verify.Problem{{}}
}

// trialOf is what a stage gives its method.
func trialOf(r *recipe.Recipe, st *recipe.Stage, rows []verify.Problem) algo.Trial {
	t := algo.Trial{Size: st.GroupSize, MaxTokens: st.Sampling.MaxCompletionTokens, Steps: max(2, st.RL.Steps+st.SFT.HoldSteps+st.SFT.DecaySteps)}
	switch st.Kind {
	case recipe.KindRL:
		t.Rewards = paid(r, st, rows)
	case recipe.KindPreference:
		t.Size, t.Rewards = 2, verdicts
	default:
		t.Size, t.Rewards = 1, verdicts
	}
	if t.MaxTokens == 0 {
		t.MaxTokens = max(r.MaxCompletion(st), st.SFT.MaxTokens, 64)
	}
	t.Member = func(of int, name string) (float64, string, string) {
		for i := range rows { // the row itself, or the next one that has it
			row := rows[(of+i)%len(rows)]
			x, why := row.Number(name)
			text, whyText := row.Text(name)
			if why == "" || whyText == "" {
				if why != "" {
					x = math.NaN()
				}
				return x, text, why
			}
		}
		return math.NaN(), "", fmt.Sprintf("no row has %s", name)
	}
	t.Key = func(group int, by string) string { return fmt.Sprint(by, group%5) }
	return t
}

// verdicts are 1 for what is right and 0 for what is wrong.
func verdicts(made []algo.Made) ([]float64, map[string][]float64) {
	out := make([]float64, len(made))
	for i, m := range made {
		if m.Right {
			out[i] = 1
		}
	}
	return out, nil
}

// paid are the rewards of the stage's own formula where it has any for right and wrong verdicts.
func paid(r *recipe.Recipe, st *recipe.Stage, rows []verify.Problem) func(made []algo.Made) ([]float64, map[string][]float64) {
	return func(made []algo.Made) ([]float64, map[string][]float64) {
		program, err := st.Program()
		if err != nil {
			return verdicts(made)
		}
		batch := reward.Batch{Step: 1, Steps: max(2, st.RL.Steps), MaxTokens: st.Sampling.MaxCompletionTokens, Vocabulary: 256}
		for _, m := range made {
			batch.Completions = append(batch.Completions, completion(m, len(st.Verifiers), rows[m.Row%len(rows)]))
		}
		scores, err := program.Score(batch)
		if err != nil || !slices.ContainsFunc(scores, func(s reward.Score) bool { return s.Reward != scores[0].Reward && s.Reward == s.Reward }) {
			return verdicts(made) // of a constant reward, a control, the method is tried all the same
		}
		out, _ := verdicts(made)
		named := map[string][]float64{}
		for i, s := range scores {
			if !math.IsNaN(s.Reward) {
				out[i] = s.Reward
			}
			for _, term := range s.Terms {
				named[term.Name] = append(named[term.Name], term.Value)
			}
		}
		return out, named
	}
}

// completion is a synthetic one with its verdicts.
func completion(m algo.Made, verifiers int, row verify.Problem) reward.Completion {
	c := reward.Completion{Group: m.Group, Random: m.Random, Row: row,
		View: rollout.View{IDs: make([]int, 1+m.Tokens), Spans: []rollout.Span{{From: 1, To: 1 + m.Tokens}}, Stop: rollout.EOS}}
	for k := range m.Tokens {
		c.View.Logprob, c.View.Entropy = append(c.View.Logprob, -0.5), append(c.View.Entropy, 0.5)
		c.View.IDs[1+k] = k % 7
	}
	verdict := verify.Reject("8", "", "no")
	if m.Right {
		verdict = verify.Accept("7", "", "yes")
	}
	for range 1 + verifiers {
		c.Path.Verdicts = append(c.Path.Verdicts, verdict)
	}
	c.Path.Text = strings.Repeat("7+", m.Tokens/2) + "7"
	return c
}
