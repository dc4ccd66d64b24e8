package algo_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/rlzero/rlzero/rl/algo"
)

// scored is a step of a head: what it says after each token of completions, and their rewards.
type scored struct {
	group  []int
	reward []float64
	score  [][]float64
}

// of evaluates a preset with changes.
func (s scored) of(t *testing.T, preset string, changes map[string]string, center float64) (loss float64, slopes [][]float64, metrics map[string]float64) {
	t.Helper()
	q := map[string]any{"preset": preset, "group": s.group, "completion": map[string]any{"reward": s.reward}, "token": map[string]any{"score": s.score}}
	if changes != nil {
		q["formulas"] = changes
	}
	if center != 0 {
		q["parameters"] = map[string]float64{"center": center}
	}
	line, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	answered, err := algo.Method{}.Evaluate(line)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(answered)
	if err != nil {
		t.Fatal(err)
	}
	var out struct {
		Loss    float64
		Dscore  [][]float64
		Metrics map[string]float64
	}
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out.Loss, out.Dscore, out.Metrics
}

// TestHeadLosses: the losses that train heads are, in float64, those of TRL 1.16's RewardTrainer
// (reward_trainer.py: -logsigmoid(chosen - rejected), and center_rewards_coefficient times the square of
// the sum), of InstructGPT for all pairs of a group, and binary cross-entropy; their gradients are
// differences of the losses. Only the last token of a completion counts.
func TestHeadLosses(t *testing.T) {
	logSigmoid := func(x float64) float64 { return -math.Log1p(math.Exp(-x)) }
	pairs := scored{[]int{0, 0, 1, 1}, []float64{1, 0, 0, 1}, [][]float64{{3, 0.7}, {-0.4}, {1, 2, 1.25}, {0.5, -0.5}}}
	groups := scored{[]int{0, 0, 0, 0}, []float64{1, 0, 0, 1}, [][]float64{{0.7}, {-0.4}, {1, 1.25}, {0.5, -0.5}}}
	more := scored{[]int{0, 0, 1, 1, 1}, []float64{0, 0, 1, 0, 0}, [][]float64{{9}, {0}, {2}, {1}, {-1}}}
	between := scored{[]int{0, 0, 1, 1, 2, 2, 3, 3}, []float64{0.2, 0.5, 0, 0.5, 1, 0.5, 1, 0}, [][]float64{{1}, {2}, {1}, {2}, {1}, {2}, {-0.5}, {0.5}}} // only the last group has a right and a wrong one
	for _, c := range []struct {
		about, preset string
		changes       map[string]string
		center        float64
		step          scored
		want          float64
		metrics       map[string]float64
	}{
		{"pairs", "bradley_terry", nil, 0, pairs, -(logSigmoid(0.7+0.4) + logSigmoid(-0.5-1.25)) / 2,
			map[string]float64{"preference/accuracy": 0.5, "preference/margin": (1.1 - 1.75) / 2, "preference/chosen": 0.1, "preference/rejected": 0.425}},
		{"pairs near 0", "bradley_terry", nil, 0.01, pairs, (-logSigmoid(1.1) + 0.01*0.3*0.3 - logSigmoid(-1.75) + 0.01*0.75*0.75) / 2, nil},
		{"all pairs of a group", "bradley_terry", map[string]string{"pair": "scored_group"}, 0, groups,
			-(logSigmoid(0.7+0.4) + logSigmoid(0.7-1.25) + logSigmoid(-0.5+0.4) + logSigmoid(-0.5-1.25)) / 4,
			map[string]float64{"preference/one_of_n": 0, "preference/reciprocal_rank": 0.5}},
		{"groups without a right completion", "bradley_terry", map[string]string{"pair": "scored_group"}, 0, more, -(logSigmoid(1) + logSigmoid(3)) / 2,
			map[string]float64{"preference/one_of_n": 1, "preference/reciprocal_rank": 1, "preference/chance_of_n": 1.0 / 3}},
		{"groups with other rewards than 0 and 1", "bradley_terry", map[string]string{"pair": "scored_group"}, 0, between, -(2*logSigmoid(1) + 2*logSigmoid(-1)) / 4,
			map[string]float64{"preference/one_of_n": 0, "preference/reciprocal_rank": 0.5, "preference/chance_of_n": 0.5}},
		{"alone", "pointwise", nil, 0, pairs, -(logSigmoid(0.7) + logSigmoid(0.4) + logSigmoid(-1.25) + logSigmoid(-0.5)) / 4,
			map[string]float64{"preference/accuracy": 0.5}},
	} {
		near := func(what string, got, want, bound float64) {
			if !(math.Abs(got-want) <= bound) {
				t.Errorf("%s: %s is %.17g, want %.17g", c.about, what, got, want)
			}
		}
		loss, slopes, metrics := c.step.of(t, c.preset, c.changes, c.center)
		near("the loss", loss, c.want, 1e-14) // a few roundings of numbers near 1
		for name, want := range c.metrics {
			near(name, metrics[name], want, 1e-14)
		}
		for i, row := range c.step.score {
			for j := range row {
				const h = 0x1p-20 // central differences are off by h*h and by 2^-52/h, both near 1e-10
				was := row[j]
				row[j] = was + h
				up, _, _ := c.step.of(t, c.preset, c.changes, c.center)
				row[j] = was - h
				down, _, _ := c.step.of(t, c.preset, c.changes, c.center)
				row[j] = was
				near("a derivative", slopes[i][j], (up-down)/(2*h), 1e-8)
				if compared := c.about != "groups without a right completion" || i > 1; (slopes[i][j] != 0) != (compared && j == len(row)-1) {
					t.Errorf("%s: completion %d, token %d has the derivative %v", c.about, i, j, slopes[i][j])
				}
			}
		}
	}
}

// TestStepLabels: binary cross-entropy at the tokens in which steps end, and at no others.
func TestStepLabels(t *testing.T) {
	score, label := [][]float64{{0.5, 2, -1}, {1.5, 0.25}}, [][]any{{nil, 1, 0.25}, {0, nil}}
	of := func() (loss float64, slopes [][]float64, accuracy float64) {
		line, err := json.Marshal(map[string]any{"preset": "step_labels", "group": []int{0, 1}, "completion": map[string]any{"reward": []int{0, 0}}, "token": map[string]any{"score": score, "label": label}})
		if err != nil {
			t.Fatal(err)
		}
		answered, err := algo.Method{}.Evaluate(line)
		if err != nil {
			t.Fatal(err)
		}
		var out struct {
			Loss    float64
			Dscore  [][]float64
			Metrics map[string]float64
		}
		data, err := json.Marshal(answered)
		if err == nil {
			err = json.Unmarshal(data, &out)
		}
		if err != nil {
			t.Fatal(err)
		}
		return out.Loss, out.Dscore, out.Metrics["preference/accuracy"]
	}
	bce := func(label, x float64) float64 {
		return label*math.Log1p(math.Exp(-x)) + (1-label)*math.Log1p(math.Exp(x))
	}
	loss, slopes, accuracy := of()
	if want := (bce(1, 2) + bce(0.25, -1) + bce(0, 1.5)) / 3; math.Abs(loss-want) > 1e-14 || accuracy != 2.0/3 {
		t.Errorf("loss %v, want %v; accuracy %v", loss, want, accuracy)
	}
	for i := range score {
		for j := range score[i] {
			want := 0.0
			if x, there := label[i][j].(float64); there {
				want = (1/(1+math.Exp(-score[i][j])) - x) / 3
			} else if x, there := label[i][j].(int); there {
				want = (1/(1+math.Exp(-score[i][j])) - float64(x)) / 3
			}
			const h = 0x1p-20 // as in TestHeadLosses
			was := score[i][j]
			score[i][j] = was + h
			up, _, _ := of()
			score[i][j] = was - h
			down, _, _ := of()
			score[i][j] = was
			if math.Abs(slopes[i][j]-want) > 1e-14 || math.Abs((up-down)/(2*h)-want) > 1e-8 {
				t.Errorf("completion %d, token %d: derivative %v, difference %v, want %v", i, j, slopes[i][j], (up-down)/(2*h), want)
			}
		}
	}
}
