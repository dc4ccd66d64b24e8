package watch

import (
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/metrics"
)

// row is the row of a step; at wiggles a value by a thousandth, so that means have errors.
type row = map[string]float64

func at(i int, v float64) float64 { return v * (1 + 0.001*float64(i%2)) }

// steps are n rows whose values go from one row's to another's in the middle.
func steps(n int, from, to row) []row {
	var out []row
	for i := range n {
		src := from
		if i >= n/2 {
			src = to
		}
		r := row{}
		for name, v := range src {
			r[name] = at(i, v)
		}
		out = append(out, r)
	}
	return out
}

// measured is an evaluation of 100 problems.
func measured(pass, passK, half float64) row {
	return row{"eval/pass@1": pass, "eval/pass@8": passK, "eval/problems": 100, "eval/mean": pass, "eval/mean_low": pass - half, "eval/mean_high": pass + half}
}

// early are n rows of which all but the first have changed.
func early(n int, to row) []row {
	changed := row{"rollout/tokens": 10_000}
	maps.Copy(changed, to)
	return append([]row{steady(nil)}, slices.Repeat([]row{steady(changed)}, n-1)...)
}

func raised(rows []row) map[string]int {
	out := map[string]int{}
	w := New(nil)
	for i, r := range rows {
		for _, a := range w.Add(i, "rl", r) {
			out[a.Rule]++
		}
	}
	return out
}

// steady is a step of a healthy run.
func steady(changes row) row {
	r := row{
		"reward/mean": 0.5, "reward/group_std": 0.4, "reward/verdict_correlation": 1, "reward/template_share": 0.2, "groups/uniform_share": 0.3,
		"rollout/right_share": 0.5, "rollout/tokens": 1000, "rollout/length_mean": 10, "rollout/truncated_share": 0.01, "rollout/not_scored": 0,
		"policy/entropy": 1, "policy/clip_fraction": 0.1, "policy/compared": 500, "policy/equal": 500, "policy/mismatch_kl": 0, "policy/grad_norm": 1,
	}
	maps.Copy(r, changes)
	return r
}

// scattered are rows whose truth goes up and down by 0.1 in a fixed order, with means that differ by
// less than four errors.
func scattered(rows []row) []row {
	for i := range rows {
		rows[i] = maps.Clone(rows[i])
		rows[i]["reward/truth"] += 0.1*float64(i*7%10-4)/4.5 - 0.02*float64(i/30)
	}
	return rows
}

// rareCalls are rows of a policy that called a tool in two of its first steps.
func rareCalls(rows []row) []row {
	for i := range rows {
		rows[i] = maps.Clone(rows[i])
		rows[i]["rollout/calls_mean"] = 0
		if i == 3 || i == 8 {
			rows[i]["rollout/calls_mean"] = 0.1
		}
	}
	return rows
}

// TestUnread: of several judges the alert names the one with the most answers that cannot be read.
func TestUnread(t *testing.T) {
	w := New(nil)
	var all []Alert
	for i, r := range steps(10, steady(row{"judge/unread/a": 0.1, "judge/unread/b": 0.2, "judge/unread/c": 0.15}), steady(nil)) {
		all = append(all, w.Add(i+1, "rl", r)...)
	}
	if len(all) != 1 || all[0].Seen != "20.0 % of the answers to verifier b cannot be read" {
		t.Errorf("%+v", all)
	}
}

// TestRules: each rule is raised once where both of its facts hold, and not where one is
// missing. Beside it, no rule but those named may be raised.
func TestRules(t *testing.T) {
	before, learned := measured(0.3, 0.9, 0.05), measured(0.6, 0.9, 0.05)
	pair := func(n int, from, to row) []row { return steps(n, steady(from), steady(to)) }
	evals := func(rows []row, after ...row) []row { return slices.Concat([]row{before}, rows, after) }
	for _, c := range []struct {
		name string
		rows []row
		want []string
	}{
		{"healthy", evals(pair(60, nil, row{"reward/mean": 0.8, "rollout/right_share": 0.8, "policy/entropy": 0.3}), measured(0.6, 0.95, 0.05)), nil},
		{"one token differs", append(pair(30, nil, nil), steady(row{"policy/equal": 499})), []string{"bits"}},
		{"the KL is not 0", append(pair(30, nil, nil), steady(row{"policy/mismatch_kl": 1e-9})), []string{"bits"}},
		{"accuracy falls", pair(60, nil, row{"rollout/right_share": 0.3}), nil},
		{"accuracy and agreement fall", pair(60, nil, row{"rollout/right_share": 0.3, "policy/entropy": 2}), []string{"falls_apart"}},
		{"half is lost at once", evals(early(5, row{"rollout/right_share": 0.14, "policy/entropy": 2})), []string{"falls_apart"}},
		{"half is lost, four steps", evals(early(4, row{"rollout/right_share": 0.14, "policy/entropy": 2})), nil},
		{"half is lost, few completions", evals(early(5, row{"rollout/right_share": 0.14, "policy/entropy": 2, "rollout/tokens": 1000})), nil},
		{"half is lost, no other sign", evals(early(5, row{"rollout/right_share": 0.14})), nil},
		{"half is lost but once", evals(slices.Concat(early(4, row{"rollout/right_share": 0.14, "policy/entropy": 2}), []row{steady(nil)}, early(4, row{"rollout/right_share": 0.14, "policy/entropy": 2})[1:])), nil},
		{"half is lost, no evaluation before", early(5, row{"rollout/right_share": 0.14, "policy/entropy": 2}), nil},
		{"harder problems than those held out", evals(slices.Repeat([]row{steady(row{"rollout/right_share": 0.14, "rollout/tokens": 10_000})}, 5)), nil},
		{"held-out accuracy falls", evals(early(10, row{"policy/entropy": 2}), measured(0.1, 0.9, 0.05)), []string{"falls_apart"}},
		{"held-out accuracy falls within the intervals", evals(early(10, row{"policy/entropy": 2}), measured(0.2, 0.9, 0.05)), nil},
		{"a collapse and its symptoms", evals(early(60, row{"rollout/right_share": 0, "reward/mean": 0, "groups/uniform_share": 1, "rollout/truncated_share": 1, "rollout/length_mean": 20, "policy/grad_norm": 0, "optim/updates": 2}), measured(0, 0, 0.01)), []string{"falls_apart"}},
		{"random rewards", pair(30, row{"reward/verdict_correlation": 0.01}, row{"reward/verdict_correlation": -0.01}), []string{"reward_ignores_verdict"}},
		{"one for everything", pair(30, row{"reward/verdict_correlation": 0.01, "reward/group_std": 0}, row{"reward/group_std": 0}), nil},
		{"a control learns", evals(pair(30, row{"reward/verdict_correlation": 0.01}, row{"reward/verdict_correlation": 0.01}), measured(0.5, 0.95, 0.05)), []string{"control_learns", "reward_ignores_verdict"}},
		{"reward alone", pair(60, nil, row{"reward/mean": 0.8, "reward/verdict_correlation": 0.5}), []string{"reward_without_accuracy"}},
		{"reward, held-out accuracy too", evals(pair(60, nil, nil), slices.Concat([]row{measured(0.6, 0.95, 0.05)}, pair(60, row{"reward/mean": 0.8}, row{"reward/mean": 0.8}))...), nil},
		{"a paid pattern", pair(60, nil, row{"reward/mean": 0.8, "reward/template_share": 0.6}), []string{"paid_template", "reward_without_accuracy"}},
		{"a pattern of right answers", pair(60, nil, row{"reward/mean": 0.8, "rollout/right_share": 0.8, "reward/template_share": 0.6}), nil},
		{"collapse", evals(pair(60, nil, row{"policy/entropy": 0.1, "groups/uniform_share": 0.7}), before, before, before), []string{"entropy_collapse"}},
		{"certain and better", evals(pair(60, nil, row{"policy/entropy": 0.1, "groups/uniform_share": 0.7}), before, before, measured(0.31, 0.9, 0.05)), nil},
		{"certain, and learned before", evals(pair(60, nil, row{"policy/entropy": 0.1, "groups/uniform_share": 0.7}), learned, learned, learned, learned), []string{"converged"}},
		{"certain, learned and lost it", evals(pair(60, nil, row{"policy/entropy": 0.1, "groups/uniform_share": 0.7}), learned, learned, learned, before), []string{"entropy_collapse"}},
		{"longer", pair(60, nil, row{"rollout/length_mean": 20}), []string{"length"}},
		{"longer and paid more", pair(60, nil, row{"rollout/length_mean": 20, "reward/mean": 0.8, "rollout/right_share": 0.8}), nil},
		{"shorter", pair(60, nil, row{"rollout/length_mean": 4}), []string{"length"}},
		{"cut off", pair(60, nil, row{"rollout/truncated_share": 0.3}), []string{"length"}},
		{"not scored", pair(30, nil, row{"rollout/not_scored": 6}), []string{"not_scored"}},
		{"few not scored", pair(30, nil, row{"rollout/not_scored": 4}), nil},
		{"paid by a judge that errs", pair(60, row{"reward/truth": 0.5}, row{"reward/mean": 0.8, "rollout/right_share": 0.8, "reward/truth": 0.3}), []string{"truth_falls"}},
		{"paid by a judge, and right", pair(60, row{"reward/truth": 0.5}, row{"reward/mean": 0.8, "rollout/right_share": 0.8, "reward/truth": 0.6}), nil},
		{"paid less, and less right", pair(60, row{"reward/truth": 0.5}, row{"reward/mean": 0.4, "reward/truth": 0.3}), nil},
		{"paid less and less right, after more of both", slices.Concat(pair(30, row{"reward/truth": 0.5}, row{"reward/mean": 0.9, "rollout/right_share": 0.9, "reward/truth": 0.9}), pair(30, row{"reward/mean": 0.9, "rollout/right_share": 0.9, "reward/truth": 0.9}, row{"reward/mean": 0.7, "rollout/right_share": 0.7, "reward/truth": 0.7})), nil},
		{"paid more, the truth within its scatter", scattered(pair(60, row{"reward/truth": 0.5}, row{"reward/mean": 0.8, "rollout/right_share": 0.8, "reward/truth": 0.5})), nil},
		{"calls and reward fall", pair(60, row{"rollout/calls_mean": 1}, row{"rollout/calls_mean": 0.1, "reward/mean": 0.3, "rollout/right_share": 0.3}), []string{"calls_fall"}},
		{"no calls ever, less reward", pair(60, row{"rollout/calls_mean": 0}, row{"rollout/calls_mean": 0, "reward/mean": 0.3, "rollout/right_share": 0.3}), nil},
		{"few calls, which scatter, less reward", rareCalls(pair(60, nil, row{"reward/mean": 0.3, "rollout/right_share": 0.3})), nil},
		{"fewer calls, as much reward", pair(60, row{"rollout/calls_mean": 1}, row{"rollout/calls_mean": 0.1}), nil},
		{"less reward, as many calls", pair(60, row{"rollout/calls_mean": 1}, row{"rollout/calls_mean": 0.9, "reward/mean": 0.3, "rollout/right_share": 0.3}), nil},
		{"right episodes grow unlikely", pair(60, row{"rollout/right_logprob": -0.3}, row{"rollout/right_logprob": -0.7}), []string{"right_unlikely"}},
		{"right episodes grow less likely", pair(60, row{"rollout/right_logprob": -0.3}, row{"rollout/right_logprob": -0.5}), nil},
		{"right episodes grow unlikely, and more are right", pair(60, row{"rollout/right_logprob": -0.3}, row{"rollout/right_logprob": -0.7, "rollout/right_share": 0.8, "reward/mean": 0.8}), nil},
		{"a judge that cannot be read", pair(30, row{"judge/unread/a": 0.01, "judge/unread/b": 0.2}, row{"judge/unread/a": 0.02, "judge/unread/b": 0.2}), []string{"judge_unread"}},
		{"few answers that cannot be read", pair(30, row{"judge/unread/a": 0.04}, row{"judge/unread/a": 0.04}), nil},
		{"clipped and worse", pair(60, nil, row{"policy/clip_fraction": 0.4, "reward/mean": 0.4}), []string{"step_too_big"}},
		{"clipped", pair(60, nil, row{"policy/clip_fraction": 0.4}), nil},
		{"a spike and worse", append(pair(120, nil, row{"reward/mean": 0.4}), steady(row{"policy/grad_norm": 11, "reward/mean": 0.4})), []string{"step_too_big"}},
		{"a spike", append(pair(120, nil, nil), steady(row{"policy/grad_norm": 11})), nil},
		{"no updates", slices.Repeat([]row{{"optim/updates": 0, "rollout/right_share": 0.2}}, 3), []string{"stands_still"}},
		{"no updates in two steps", slices.Repeat([]row{{"optim/updates": 0, "rollout/right_share": 0.2}}, 2), nil},
		{"no updates, all right", slices.Repeat([]row{{"optim/updates": 0, "rollout/right_share": 1}}, 3), nil},
		{"no gradient", slices.Repeat([]row{{"optim/updates": 2, "policy/grad_norm": 0, "rollout/right_share": 0.2}}, 4), []string{"stands_still"}},
		{"a gradient in one of three steps", []row{{"optim/updates": 2, "policy/grad_norm": 0, "rollout/right_share": 0.2}, {"optim/updates": 2, "policy/grad_norm": 0.1, "rollout/right_share": 0.2}, {"optim/updates": 2, "policy/grad_norm": 0, "rollout/right_share": 0.2}}, nil},
		{"equal rewards", pair(60, nil, row{"groups/uniform_share": 0.9}), []string{"nothing_to_learn"}},
		{"equal rewards, almost all right", pair(60, nil, row{"groups/uniform_share": 0.9, "rollout/right_share": 0.9}), []string{"converged"}},
		{"equal rewards, after learning", slices.Concat([]row{before}, pair(60, nil, nil), []row{learned}, pair(60, row{"groups/uniform_share": 0.9}, row{"groups/uniform_share": 0.9})), []string{"converged"}},
		{"equal rewards, and for some steps none", slices.Concat(slices.Repeat([]row{{"groups/uniform_share": 0.9}}, 10), pair(14, row{"groups/uniform_share": 0.9}, row{"groups/uniform_share": 0.9})), nil},
		{"less variety", evals(pair(30, nil, nil), measured(0.6, 0.7, 0.05)), []string{"diversity"}},
		{"worse at both", evals(pair(30, nil, nil), measured(0.2, 0.7, 0.05)), nil},
	} {
		got := raised(c.rows)
		if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, c.want) {
			t.Errorf("%s: %v, want %v", c.name, names, c.want)
		}
		for rule, n := range got {
			if n != 1 {
				t.Errorf("%s: %s is raised %d times", c.name, rule, n)
			}
		}
	}
}

// TestEpisodes: an alert comes again only after ten steps without its cause, and in a
// new stage the run is compared with the new beginning.
func TestEpisodes(t *testing.T) {
	sick, well := steady(row{"policy/equal": 1}), steady(nil)
	for healthy, want := range map[int]int{0: 1, 9: 1, 10: 2, 30: 2} {
		rows := append([]row{sick}, slices.Repeat([]row{well}, healthy)...)
		if got := raised(append(rows, sick))["bits"]; got != want {
			t.Errorf("after %d healthy steps: raised %d times, want %d", healthy, got, want)
		}
	}
	w := New(nil)
	for i, r := range steps(60, steady(nil), steady(row{"rollout/length_mean": 20})) {
		stage := "first"
		if i >= 30 {
			stage = "second"
		}
		if alerts := w.Add(i, stage, r); len(alerts) > 0 {
			t.Errorf("step %d: %v: a stage is compared with its own beginning", i, alerts)
		}
	}
}

// TestOwnEvaluations: what a policy is measured at is held against what it was, and not against a judge that a stage
// trained before.
func TestOwnEvaluations(t *testing.T) {
	for trains, want := range map[string]int{"": 1, "judge": 0} {
		w, raised := New(map[string]string{"judge": trains}), 0
		w.Add(0, "judge", measured(0.9, 0.95, 0.02))
		for i, r := range append(early(10, row{"policy/entropy": 2}), measured(0.1, 0.9, 0.05)) {
			for _, a := range w.Add(1+i, "rl", r) {
				if a.Rule == "falls_apart" {
					raised++
				}
			}
		}
		if raised != want {
			t.Errorf("the first stage trains %q: raised %d times, want %d", trains, raised, want)
		}
	}
}

// TestTexts: what people read is whole.
func TestTexts(t *testing.T) {
	for _, r := range rules {
		if r.why == "" || r.do == "" || r.level == "" {
			t.Errorf("%s has no level, reason or advice", r.name)
		}
	}
	a := Alert{Rule: "length", Level: Warning, Seen: "a", Against: "b", Do: "C"}
	if got := a.String(); got != "warning: length: a; b. C" {
		t.Error(got)
	}
}

// TestUnmoved: where no completion is right, a run that stands still is not told to look at its method.
func TestUnmoved(t *testing.T) {
	for right, want := range map[float64]string{0: "this is meant. Otherwise no completion is right", 0.2: "look at keep and advantage"} {
		w := New(nil)
		var alerts []Alert
		for step := range still {
			alerts = append(alerts, w.Add(step+1, "rl", row{"policy/grad_norm": 0, "optim/updates": 1, "groups/uniform_share": 1, "rollout/right_share": right})...)
		}
		if len(alerts) != 1 || alerts[0].Rule != "stands_still" || !strings.Contains(alerts[0].Do, want) {
			t.Errorf("%g right: %+v, want %q", right, alerts, want)
		}
	}
}

// TestOf: every command that an alert names can be pasted once the run is known.
func TestOf(t *testing.T) {
	for _, a := range Rules() {
		a.Step = 12
		if got := a.Of("'my runs/a'").Do; regexp.MustCompile(`\b(RUN|N)\b`).MatchString(got) {
			t.Errorf("%s still says %q", a.Rule, got)
		}
	}
	a := Alert{Step: 12, Do: "Look: rlzero show RUN --step N"}
	if got, want := a.Of("'my runs/a'").Do, "Look: rlzero show 'my runs/a' --step 12"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestNotFinite: values that are not finite are none, whether they come from a run or from its
// log.
func TestNotFinite(t *testing.T) {
	w := New(nil)
	p, err := metrics.Parse([]byte(`{"step":1,"stage":"rl","policy/entropy":null,"policy/compared":3,"policy/equal":2,"policy/mismatch_kl":0}`))
	if err != nil {
		t.Fatal(err)
	}
	w.Add(p.Step, p.Stage, p.Values)
	if _, there := w.h.steps["policy/entropy"]; there {
		t.Error("null is a value")
	}
	if alerts := w.Add(2, "rl", row{"policy/entropy": math.NaN()}); len(alerts) > 0 || len(w.h.steps["policy/entropy"]) > 0 {
		t.Errorf("NaN is a value: %v", alerts)
	}
}
