package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/rl/train"
)

// lagged is small over seven steps, with all that a step decides before it samples or samples
// beside its completions: a curriculum by the record, numbers by a state, a refill, a second
// chance after a hint, a replay, greedy completions.
var lagged = slices.Concat(small, []string{
	"stage.rl.steps=7", "task.max_prompt_tokens=12", "stage.rl.updates_per_rollout=2", "stage.rl.algorithm.weight=tis",
	"stage.rl.algorithm.advantage=reward - 0.5*greedy_reward - 0.5*group_mean(reward)", "stage.rl.algorithm.keep=group_std(reward) > 0",
	`stage.rl.algorithm.state={level = {start = 0.5, next = "0.5*level + 0.5*step_mean(reward)"}}`,
	`stage.rl.numbers={temperature = "0.7 + 0.1*level", lr = "0.01*step"}`, "stage.rl.refill.tries=2", "stage.rl.reward=random + 2*task",
	`stage.rl.curriculum={pool = 32, weight = "if(seen > 0, 0.2, 1)"}`, `stage.rl.second_chance={show = "{target} {question}", when = "group_max(task) < 1"}`,
	`stage.rl.replay={store = "group_std(reward) > 0", share = 0.3, max_age = 9, size = 4}`,
	`stage.rl.algorithm.metrics={"my/age" = "step_max(age, fresh)", "my/gap" = "step_token_max(abs(old - start), fresh)", "my/seen" = "prompts_max(seen)"}`,
})

// TestLagResumes: a run with a lag of 0, 1 and 3 that goes on from any of its checkpoints, or
// is interrupted in the middle of a step, comes to the same bytes; open steps are a part of
// the checkpoints.
func TestLagResumes(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: resumes from every checkpoint of three runs")
	}
	dev := tester(t)
	for _, lag := range []int{0, 1, 3} {
		sets := append(slices.Clone(lagged), fmt.Sprintf("stage.rl.lag=%d", lag))
		base := t.TempDir()
		trainOn(t, dev, base, false, sets...)
		want := runFiles(t, base)
		all := checkpointDirs(t, base)
		for keep := 0; keep < len(all); keep += every(lag, 3, 1) {
			dir := copyRun(t, base)
			for _, c := range checkpointDirs(t, dir)[keep:] {
				must(t, os.RemoveAll(c))
			}
			if keep == 0 { // killed before there was one
				must(t, os.Truncate(filepath.Join(dir, "metrics.jsonl"), 0))
			}
			trainOn(t, dev, dir, true, sets...)
			sameRun(t, runFiles(t, dir), want)
			if t.Failed() {
				t.Fatalf("lag %d, from checkpoint %d", lag, keep)
			}
		}
		for stopAt := 1; lag > 0; stopAt += every(lag, 0, 29) {
			dir := t.TempDir()
			if !interruptedAt(t, dir, stopAt, sets) {
				break
			}
			trainOn(t, dev, dir, true, sets...)
			got := runFiles(t, dir)
			for name := range got {
				if _, known := want[name]; !known && strings.HasPrefix(name, "checkpoints/") { // of the interrupt
					delete(got, name)
				}
			}
			whole := runFiles(t, base)
			delete(got, "receipt.json") // it lists that checkpoint
			delete(whole, "receipt.json")
			sameRun(t, got, whole)
			if t.Failed() {
				t.Fatalf("lag %d, interrupted at prompt %d", lag, stopAt)
			}
		}
	}
}

// every is how many cases are passed over: fewer with a lag, and none in the long form.
func every(lag, without, with int) int {
	switch {
	case gputest.Long():
		return 1
	case lag == 0:
		return without
	}
	return with
}

// interruptedAt trains until the sampler begins with its n-th prompt; false: the run ended
// before.
func interruptedAt(t *testing.T, dir string, n int, sets []string) bool {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	calls := 0
	o := Options{Opened: opened(t, shortRecipe(t, sets...)), Dir: dir, Device: tester(t), Show: &bytes.Buffer{}}
	o.Workers = func(_ *recipe.Recipe, c *cast.Cast, _ func(string)) (rollout.Sampler, error) {
		seed := c.Own.Seed
		c.Own.Seed = func(k random.Key) uint64 {
			if calls++; calls == n {
				cancel()
			}
			return seed(k)
		}
		return c.Own, nil
	}
	_, err := Train(ctx, o)
	if err != nil && !errors.Is(err, ErrInterrupted) {
		t.Fatal(err)
	}
	return err != nil
}

// TestLagMeaning: step t is drawn by the policy after step t-1-lag. The first ones are those
// of a policy that stands still, the ages of the others are counted, and what decides what is
// drawn is as old.
func TestLagMeaning(t *testing.T) {
	const steps = 6
	sets := slices.Concat(small, []string{fmt.Sprintf("stage.rl.steps=%d", steps), `stage.rl.curriculum={pool = 200, weight = "if(seen > 0, 0, 1)"}`,
		"stage.rl.algorithm.weight=tis", "stage.rl.optimizer.lr=0.02",
		`stage.rl.algorithm.metrics={"my/age" = "step_max(age)", "my/least" = "step_min(age)", "my/gap" = "step_token_max(abs(old - start))", "my/first" = "update_token_max(abs(logp - start))"}`})
	drawn := func(dir string) (texts map[int]string, prompts map[int][]string) {
		texts, prompts = map[int]string{}, map[int][]string{}
		for _, line := range completionLines(t, dir) {
			texts[line.Step] += line.Prompt + " " + line.Text + "\n"
			prompts[line.Step] = append(prompts[line.Step], line.Prompt)
		}
		return texts, prompts
	}
	still := t.TempDir()
	trainIn(t, still, false, append(slices.Clone(sets), "stage.rl.optimizer.lr=0", "stage.rl.lag=1", `stage.rl.curriculum={pool = 200, weight = "1"}`)...)
	for _, lag := range []int{1, 2, 3} {
		dir := t.TempDir()
		_, shown := trainIn(t, dir, false, append(slices.Clone(sets), fmt.Sprintf("stage.rl.lag=%d", lag))...)
		if strings.Contains(shown, "warning: stage rl") || !strings.Contains(shown, fmt.Sprintf("policy after step t-%d;", lag+1)) {
			t.Errorf("lag %d: shown:\n%s", lag, shown)
		}
		first, _ := drawn(still)
		got, prompts := drawn(dir)
		rows := metricRows(t, dir, "my/age")
		seen := map[string]bool{}
		open := 200.0
		for step := 1; step <= steps; step++ {
			if same := got[step] == first[step]; same != (step <= lag+1) {
				t.Errorf("lag %d, step %d: the completions are those of the first policy: %v", lag, step, same)
			}
			row, age := rows[step-1], float64(min(step-1, lag))
			if step > lag+1 { // what step-1-lag steps have drawn is closed
				for _, prompt := range prompts[step-1-lag] {
					if !seen[prompt] {
						seen[prompt], open = true, open-1
					}
				}
			}
			for name, want := range map[string]any{"my/age": age, "my/least": age, "my/first": 0.0, "curriculum/open": open} {
				if row[name] != want {
					t.Errorf("lag %d, step %d: %s is %v, want %v", lag, step, name, row[name], want)
				}
			}
			if effective, there := row["policy/lag_effective"]; there != (age > 0) || there && effective != age {
				t.Errorf("lag %d, step %d: policy/lag_effective is %v, want %v", lag, step, effective, age)
			}
			if gap := row["my/gap"].(float64); gap > 0 != (age > 0) {
				t.Errorf("lag %d, step %d: old is %v from start", lag, step, gap)
			}
			if compared := row["policy/compared"].(float64); compared > 0 != (age == 0) || row["policy/equal"] != compared || row["policy/ratio_first"] != 1.0 {
				t.Errorf("lag %d, step %d: %v", lag, step, row)
			}
		}
	}
}

// TestLagEffective: the updates of a step count towards its lag.
func TestLagEffective(t *testing.T) {
	dir := t.TempDir()
	trainIn(t, dir, false, append(slices.Clone(small), "stage.rl.lag=1", "stage.rl.updates_per_rollout=2", "stage.rl.steps=3")...)
	for i, row := range metricRows(t, dir, "policy/lag_effective") {
		if want := []float64{0.5, 2.5, 2.5}[i]; row["policy/lag_effective"] != want {
			t.Errorf("step %d: policy/lag_effective is %v, want %v", i+1, row["policy/lag_effective"], want)
		}
	}
}

// TestLagNotScored: a step that cannot be scored stops the run when it is drawn, before those
// that are learned from first. It stands in the log by its own number, and the run can go on.
func TestLagNotScored(t *testing.T) {
	dir := t.TempDir()
	r := shortRecipe(t, append(slices.Clone(smallRun), "stage.rl.steps=6", "stage.rl.lag=2", "stage.rl.reward=if(step == 4, unscored, random)")...)
	for _, resume := range []bool{false, true} {
		_, err := Train(t.Context(), Options{Opened: opened(t, r), Dir: dir, Resume: resume, Device: tester(t), Show: &bytes.Buffer{}})
		if !errors.Is(err, train.ErrNotScored) || !strings.Contains(err.Error(), "20 of the 20 completions in step 4 of stage rl have no score") {
			t.Fatal(err)
		}
		all := checkpointDirs(t, dir)
		if newest := filepath.Base(all[len(all)-1]); newest != "step-000009" {
			t.Errorf("the newest checkpoint is %s, want that of the first step", newest)
		}
		lines := completionLines(t, dir)
		if len(lines) != 40 || lines[19].Step != 9 || lines[20].Step != 12 {
			t.Errorf("%d completions are logged", len(lines))
		}
	}
}

// TestLagging: what nothing corrects is warned of, before the run and in its plan.
func TestLagging(t *testing.T) {
	for name, c := range map[string]struct {
		sets []string
		want bool
	}{
		"no lag":                  {nil, false},
		"no lag to correct":       {[]string{"stage.rl.algorithm.preset=tis"}, false},
		"a replay to correct":     {[]string{"stage.rl.algorithm.preset=tis", `stage.rl.replay={store = "group_std(reward) > 0", share = 0.3, max_age = 9, size = 4}`}, false},
		"a hint to correct":       {[]string{"stage.rl.algorithm.preset=tis", `stage.rl.second_chance={when = "group_max(task) < 1", show = "{target} {question}"}`}, false},
		"a clipped ratio":         {[]string{"stage.rl.lag=1"}, true},
		"old in the reward alone": {[]string{"stage.rl.lag=1", "stage.rl.algorithm.advantage=standard(reward - 0.1*sum(old))"}, true},
		"a weight":                {[]string{"stage.rl.lag=1", "stage.rl.algorithm.weight=tis"}, false},
		"a loss by old":           {[]string{"stage.rl.lag=1", "stage.rl.algorithm.policy=rollout_is"}, false},
	} {
		r := shortRecipe(t, append(slices.Clone(small), c.sets...)...)
		notes := strings.Join(train.Lagging(r), "\n")
		if strings.Contains(notes, "as the loss does not read old") != c.want || (notes == "") != slices.Contains([]string{"no lag", "a replay to correct", "a hint to correct"}, name) ||
			strings.Contains(notes, "does nothing") != (name == "no lag to correct") {
			t.Errorf("%s: %q", name, notes)
		}
		_, planned, err := Plan(opened(t, r), tester(t).Caps())
		must(t, err)
		if notes != "" && !strings.Contains(strings.Join(planned, "\n"), notes) {
			t.Errorf("%s: the plan says %q", name, planned)
		}
	}
}

// early is a sampler that can begin, and tells what it is asked.
type early struct {
	rollout.Sampler
	told func(what string, key random.Key)
}

func (e early) Begin(_ context.Context, requests []rollout.Request) error {
	e.told("begin", requests[0].Key)
	return nil
}

func (e early) Pick(ctx context.Context, requests []rollout.Request, _, _, _ int) ([][]rollout.Segment, error) {
	return e.Sample(ctx, requests)
}

func (e early) Sample(ctx context.Context, requests []rollout.Request) ([][]rollout.Segment, error) {
	e.told("sample", requests[0].Key)
	return e.Sampler.Sample(ctx, requests)
}

// TestLagBegins: with a lag, what workers draw is handed out before the run learns, and taken
// before the weights change. The first step, by which the gain is measured, is not; those that
// are drawn with it are the workers'.
func TestLagBegins(t *testing.T) {
	for _, lag := range []int{0, 1, 3} {
		var got, want []string
		o := Options{Opened: opened(t, shortRecipe(t, append(slices.Clone(small), "stage.rl.steps=6", fmt.Sprintf("stage.rl.lag=%d", lag))...)), Dir: t.TempDir(), Device: tester(t), Show: &bytes.Buffer{}}
		o.Workers = func(_ *recipe.Recipe, c *cast.Cast, _ func(string)) (rollout.Sampler, error) {
			return early{c.Own, func(what string, key random.Key) {
				if key.Purpose == random.Sample {
					got = append(got, fmt.Sprintf("%s %d by %d", what, key.Step, c.Policy.Version()))
				}
			}}, nil
		}
		if _, err := Train(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		for step := 1; step <= lag; step++ {
			want = append(want, fmt.Sprintf("sample %d by 0", step))
		}
		for version := 1; version+lag < 6; version++ { // one update a step
			if lag > 0 {
				want = append(want, fmt.Sprintf("begin %d by %d", version+lag, version))
			}
			want = append(want, fmt.Sprintf("sample %d by %d", version+lag, version))
		}
		if !slices.Equal(got, want) {
			t.Errorf("lag %d: the workers are asked to %q, want %q", lag, got, want)
		}
	}
}
