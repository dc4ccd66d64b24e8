package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/record"
	"github.com/rlzero/rlzero/rl/rollout"
)

// recordedStep is a step as the logs of its run have it.
type recordedStep struct {
	step, ofStage int // counted through all stages, and from the beginning of its own
	rows          []record.Completion
	tokens        []record.Tokens // [row]
}

// evalRun evaluates the method of a recipe on a step of a run, and prints beside it what the run made
// of that step.
func evalRun(c *cli.Context, dir string) error {
	if err := checkRun(dir); err != nil {
		return err
	}
	s, err := readStep(dir, c.Int("step"))
	if err != nil {
		return err
	}
	stage, err := learningStage(filepath.Join(dir, recipe.File), s.rows[0].Stage)
	if err != nil {
		return err
	}
	if stage.Lag > 0 {
		return hint.With(usagef("stage %s of %s has lag = %d: its steps learn from log-probs that are not in the logs", stage.Name, dir, stage.Lag), "evaluate columns of your own: rlzero formulas eval --in FILE")
	}
	if name, wanted := c.String("recipe"), c.String("stage"); name != "" || wanted != "" {
		if name == "" {
			name = filepath.Join(dir, recipe.File)
		}
		if stage, err = learningStage(name, wanted); err != nil {
			return err
		}
	}
	compiled, err := stage.Compiled()
	if err != nil {
		return err
	}
	question, err := json.Marshal(s.question(stage))
	if err != nil {
		return err
	}
	answered, err := compiled.Method.Evaluate(question)
	if err != nil {
		return hint.With(fmt.Errorf("%w: step %d of %s: %w", lines.ErrInput, s.step, dir, err),
			"the logs of a run have rewards, ends, turns, and log-probs and entropies as they were drawn; for what else a formula reads, write columns: rlzero formulas eval --in FILE")
	}
	return printJSON(c, struct {
		Recorded any `json:"recorded"`
		Computed any `json:"computed"`
	}{s.recorded(), answered})
}

// readStep reads a step whose tokens were recorded; 0: the newest.
func readStep(dir string, step int) (s recordedStep, err error) {
	tokens, err := record.Open(filepath.Join(dir, record.TokensFile))
	if err != nil {
		return s, err
	}
	defer tokens.Close()
	completions, err := record.Open(filepath.Join(dir, record.CompletionsFile))
	if err != nil {
		return s, err
	}
	defer completions.Close()
	if known := tokens.Steps(); step == 0 && len(known) > 0 {
		step = known[len(known)-1].Step
	}
	s.step = step
	of := map[[2]int]record.Tokens{} // [group, sample]
	err = record.Lines(tokens, step, record.AllGroups, func(_ int, l record.Tokens) error {
		of[[2]int{l.Group, l.Sample}] = l
		return nil
	})
	if err != nil {
		return s, err
	}
	if len(of) == 0 {
		return s, hint.With(usagef("the tokens of step %d of %s were not recorded", step, dir), "the recipe's key token_every says which steps are recorded; without --step, the newest of them is read")
	}
	err = record.Lines(completions, step, record.AllGroups, func(n int, l record.Completion) error {
		t, ok := of[[2]int{l.Group, l.Sample}]
		if !ok {
			return fmt.Errorf("line %d of %s has no line in %s", n, record.CompletionsFile, record.TokensFile)
		}
		s.rows, s.tokens = append(s.rows, l), append(s.tokens, t)
		return nil
	})
	if err != nil {
		return s, err
	}
	if len(s.rows) == 0 {
		return s, usagef("%s of %s has no completions of step %d", record.CompletionsFile, dir, step)
	}
	before := map[int]bool{}
	for _, known := range completions.Steps() {
		if known.Stage == s.rows[0].Stage && known.Step <= step {
			before[known.Step] = true
		}
	}
	s.ofStage = len(before)
	return s, nil
}

// question is the step in the form that rlzero formulas eval reads.
func (s recordedStep) question(stage *recipe.Stage) any {
	group, segments := []int{}, [][]int{}
	run := map[string]any{"step": s.ofStage}
	if stage.Kind == recipe.KindRL {
		run["steps"] = stage.Steps
		if stage.Numbers.MaxCompletionTokens == "" {
			run["max_tokens"] = stage.Sampling.MaxCompletionTokens
		}
		run["progress"] = float64(s.ofStage-1) / float64(max(1, stage.Steps-1))
	}
	lengths := []any{} // [prompt, in order of first appearance]
	seen := map[int]bool{}
	completion, segment, token := columns{}, columns{}, columns{}
	for i, l := range s.rows {
		t := s.tokens[i]
		if group = append(group, l.Group); !seen[l.Group] {
			seen[l.Group] = true
			lengths = append(lengths, len(t.Prompt))
		}
		completion.set("reward", i, finitePointer(l.Reward))
		if l.Terms == nil {
			completion.set("task", i, finitePointer(l.Reward))
		}
		for name, x := range l.Terms {
			completion.set("reward."+name, i, finitePointer(x))
			if name == "task" {
				completion.set(name, i, finitePointer(x))
			}
		}
		completion.set("truncated", i, l.Stop == string(rollout.Length) || l.Limit == string(rollout.OutOfTokens))
		completion.set("foreign", i, l.Origin == "foreign")
		completion.set("hinted", i, l.Origin == "hinted")
		token.set("logp", i, t.Logprob)
		token.set("old", i, t.Logprob)
		token.set("entropy", i, t.Entropy)
		token.set("old_entropy", i, t.Entropy)
		s.turns(i, &segments, completion, segment)
	}
	same := s.nodes(stage, &segments, segment)
	out := map[string]any{"group": group, "run": run, "prompt": map[string]any{"prompt_tokens": lengths},
		"completion": completion.full(len(s.rows)), "token": token.full(len(s.rows))}
	if len(segments) > 0 {
		out["segments"], out["segment"] = segments, segment.full(len(s.rows))
	}
	if same != nil {
		out["same"] = same
	}
	return out
}

// nodes adds what the log tells of the nodes of trees, which are their segments, and tells which tokens
// are the same; nil: each is learned where it stands.
func (s recordedStep) nodes(stage *recipe.Stage, segments *[][]int, segment columns) (same []int) {
	if !stage.Grows() {
		return nil
	}
	type node struct{ group, number int }
	leaves, first := map[node]int{}, map[node]int{} // completions that go through it; row of its first token
	for i := range s.rows {
		for _, n := range s.nodesOf(i) {
			leaves[node{s.rows[i].Group, n.Node}]++
		}
	}
	for i, l := range s.rows {
		var lengths []int
		facts := columns{}
		for k, n := range s.nodesOf(i) {
			at := node{l.Group, n.Node}
			if _, known := first[at]; !known {
				first[at] = len(same)
			}
			for token := range n.Tokens {
				same = append(same, first[at]+token)
			}
			lengths = append(lengths, n.Tokens)
			facts.set("node", k, n.Node)
			facts.set("depth", k, k+1)
			facts.set("leaves", k, leaves[at])
		}
		for name, values := range facts.full(len(lengths)) {
			segment.set(name, i, values)
		}
		if l.Turns == nil {
			*segments = append(*segments, lengths)
		}
	}
	if stage.Tree.Per == "leaf" {
		return nil
	}
	return same
}

// nodesOf are those of a completion; where its tree does not fork, it is one.
func (s recordedStep) nodesOf(i int) []record.Node {
	l := s.rows[i]
	switch {
	case l.Nodes != nil:
		return l.Nodes
	case l.Turns == nil:
		return []record.Node{{Node: l.Sample + 1, Tokens: l.Tokens}}
	}
	var nodes []record.Node
	for _, t := range l.Turns {
		if t.By == record.ByPolicy { // numbers that no other completion has
			nodes = append(nodes, record.Node{Node: 1 + l.Sample + len(nodes)*len(s.rows), Tokens: t.Tokens})
		}
	}
	return nodes
}

// turns adds what an episode tells of its turns, which are its segments. The situation in which a turn
// is taken is not among it: the log has no state before the first.
func (s recordedStep) turns(i int, segments *[][]int, completion, segment columns) {
	l := s.rows[i]
	var lengths []int
	facts := columns{}
	read, contexts := 0, 1
	for _, t := range l.Turns {
		if t.By != record.ByPolicy {
			continue
		}
		k := len(lengths)
		lengths, read = append(lengths, t.Tokens), read+t.Read
		facts.set("turn_reward", k, t.Reward)
		facts.set("last_turn", k, false)
		facts.set("summary", k, t.Summary)
		if t.Fresh {
			contexts++
		}
		for name, x := range t.Facts {
			facts.set("turn."+name, k, x)
		}
	}
	if len(lengths) == 0 {
		return
	}
	facts["last_turn"][len(lengths)-1] = true
	*segments = append(*segments, lengths)
	for name, values := range facts.full(len(lengths)) {
		segment.set(name, i, values)
	}
	completion.set("turns", i, len(lengths))
	completion.set("read_tokens", i, read)
	completion.set("contexts", i, contexts)
	completion.set("out_of_turns", i, l.Limit == string(rollout.OutOfTurns))
}

// recorded is what the run made of the step.
func (s recordedStep) recorded() any {
	out := struct {
		Step      int         `json:"step"` // counted through all stages
		Stage     string      `json:"stage"`
		Group     []int       `json:"group"`
		Sample    []int       `json:"sample"`
		Advantage []*float64  `json:"advantage"` // null: none
		Dlogp     [][]float32 `json:"dlogp"`     // null: in none of the step's updates
	}{Step: s.step, Stage: s.rows[0].Stage}
	for i, l := range s.rows {
		out.Group, out.Sample = append(out.Group, l.Group), append(out.Sample, l.Sample)
		out.Advantage, out.Dlogp = append(out.Advantage, l.Advantage), append(out.Dlogp, s.tokens[i].Weight)
	}
	return out
}

// columns are values by name and row. A row without one has none.
type columns map[string]map[int]any

func (c columns) set(name string, row int, value any) {
	if c[name] == nil {
		c[name] = map[int]any{}
	}
	c[name][row] = value
}

// full are the columns with null where a row has no value.
func (c columns) full(rows int) map[string][]any {
	out := map[string][]any{}
	for _, name := range slices.Sorted(maps.Keys(c)) {
		out[name] = make([]any, rows)
		for row, value := range c[name] {
			out[name][row] = value
		}
	}
	return out
}

// finitePointer is a number as JSON has it, nil where there is none.
func finitePointer(x *float64) any {
	if x == nil || math.IsNaN(*x) {
		return nil
	}
	return *x
}
