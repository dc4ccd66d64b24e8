package algo

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/fixtures"
)

var nan = math.NaN()

// Two groups that interleave, one all right, one mixed, one all wrong, one
// member not scored: worked out by hand.
func TestAdvantagesByHand(t *testing.T) {
	groups := []int{7, 3, 7, 3, 9, 9, 3, 3}
	rewards := []float64{1, 1, 1, 0, 0, 0, 0, nan}
	third := 1.0 / 3
	sd := math.Sqrt(third) // of 1, 0, 0 with divisor 2
	for _, c := range []struct {
		name   string
		change func(*Config)
		adv    []float64
		keep   string // + kept, − left out
	}{
		{"group_std", func(c *Config) { c.StdEps = 0 }, []float64{0, (1 - third) / sd, 0, -third / sd, 0, 0, -third / sd, 0}, "+++++++-"},
		{"group_mean", func(c *Config) { c.Estimator = "group_mean" }, []float64{0, 1 - third, 0, -third, 0, 0, -third, 0}, "+++++++-"},
		{"leave_one_out", func(c *Config) { c.Estimator = "leave_one_out" }, []float64{0, 1, 0, -0.5, 0, 0, -0.5, 0}, "+++++++-"},
		{"none", func(c *Config) { c.Estimator = "none" }, []float64{1, 1, 1, 0, 0, 0, 0, 0}, "+++++++-"},
		{"batch_mean", func(c *Config) { c.Estimator = "batch_mean" }, []float64{4. / 7, 4. / 7, 4. / 7, -3. / 7, -3. / 7, -3. / 7, -3. / 7, 0}, "+++++++-"},
		{"reinforce", preset("reinforce"), []float64{1, 1, 1, -1, -1, -1, -1, 0}, "+++++++-"},
		{"reinforce-rej", preset("reinforce-rej"), []float64{0, 1, 0, -1, 0, 0, -1, 0}, "-+-+--+-"},
		{"reinforce-rej masks", func(c *Config) { preset("reinforce-rej")(c); c.FilterMode = "mask" }, []float64{0, 1, 0, -1, 0, 0, -1, 0}, "+++++++-"},
		{"only all right", func(c *Config) { preset("reinforce-rej")(c); c.Filters = []string{"all_right"} }, []float64{0, 1, 0, -1, -1, -1, -1, 0}, "-+-++++-"},
		{"only all wrong", func(c *Config) { preset("reinforce-rej")(c); c.Filters = []string{"all_wrong"} }, []float64{1, 1, 1, -1, 0, 0, -1, 0}, "++++--+-"},
		{"raft", preset("raft"), []float64{1, 1, 1, 0, 0, 0, 0, 0}, "+++-----"},
		{"raft of ±1", func(c *Config) { preset("raft")(c); c.RewardScale, c.RewardOffset = 2, -1 }, []float64{1, 1, 1, 0, 0, 0, 0, 0}, "+++-----"},
		{"dapo", preset("dapo"), []float64{0, (1 - third) / (sd + 1e-4), 0, -third / (sd + 1e-4), 0, 0, -third / (sd + 1e-4), 0}, "-+-+--+-"},
		{"mistakes only", func(c *Config) { preset("reinforce")(c); c.PositiveWeight = 0 }, []float64{0, 0, 0, -1, -1, -1, -1, 0}, "+++++++-"},
	} {
		cfg := Default()
		c.change(&cfg)
		adv, keep, stats, err := Advantages(cfg, rewards, groups)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range c.adv {
			// A handful of roundings of numbers up to 2, divided by a deviation of 0.58.
			if math.Abs(adv[i]-want) > 16*eps || math.Signbit(adv[i]) && adv[i] == 0 {
				t.Errorf("%s: advantage %d = %v, want %v", c.name, i, adv[i], want)
			}
			if keep[i] != (c.keep[i] == '+') {
				t.Errorf("%s: keep %d = %v, want %c", c.name, i, keep[i], c.keep[i])
			}
		}
		stats.Filtered, stats.RewardMean, stats.RewardStd, stats.RewardGroupStd = 0, 0, 0, 0
		if want := (AdvantageStats{Groups: 3, Uniform: 2, AllRight: 1, AllWrong: 1, Scored: 7, NotScored: 1}); stats != want {
			t.Errorf("%s: statistics %+v, want %+v (taken before the filters)", c.name, stats, want)
		}
	}
}

func preset(name string) func(*Config) {
	return func(c *Config) {
		var err error
		if *c, err = Preset(name); err != nil {
			panic(err)
		}
	}
}

func TestAdvantageEdgeCases(t *testing.T) {
	for _, estimator := range []string{"group_mean", "group_std", "batch_std", "leave_one_out"} {
		cfg := Default()
		cfg.Estimator, cfg.StdEps = estimator, 0
		// A group of one, a group with one scored member, and a uniform group of a
		// number that has no exact sum: 0 each, also with nothing added to the deviation.
		adv, keep, stats, err := Advantages(cfg, []float64{0.7, nan, 0.3, 0.1, 0.1, 0.1}, []int{1, 2, 2, 3, 3, 3})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(adv, make([]float64, 6)) {
			t.Errorf("%s: advantages %v, want zeros", estimator, adv)
		}
		if !slices.Equal(keep, []bool{true, false, true, true, true, true}) || stats.Singleton != 2 || stats.NotScored != 1 {
			t.Errorf("%s: keep %v, statistics %+v", estimator, keep, stats)
		}
	}
	adv, keep, stats, err := Advantages(Default(), []float64{nan, nan}, []int{1, 1})
	if err != nil || keep[0] || keep[1] || adv[0] != 0 || stats.Groups != 0 {
		t.Errorf("nothing scored: %v, %v, %+v, %v", adv, keep, stats, err)
	}
	if _, there := stats.Means()["reward/mean"]; there {
		t.Error("nothing scored: reward/mean is reported")
	}
	if _, _, _, err := Advantages(Default(), []float64{1, math.Inf(1)}, []int{1, 1}); err == nil || !strings.Contains(err.Error(), "reward 1 is +Inf") {
		t.Errorf("infinite reward: %v", err)
	}
	if _, _, _, err := Advantages(Default(), []float64{1}, []int{1, 1}); err == nil {
		t.Error("2 group ids for 1 reward: no error")
	}
}

// The clip with its two further bounds, at clip_low 0.2 and clip_high 0.28.
func TestClipByHand(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		r, adv, ratioCap, dualClip float64
		value, slope               float64
		low, high                  bool
	}{
		{1, 2, inf, inf, -2, -2, false, false},
		{1.27, 1, inf, inf, -1.27, -1.27, false, false},
		{1.5, 1, inf, inf, -1.28, 0, false, true},
		{0.5, 1, inf, inf, -0.5, -0.5, false, false}, // below, but the advantage pulls back
		{0.5, -1, inf, inf, 0.8, 0, true, false},
		{5, -1, inf, inf, 5, 5, false, false}, // unbounded
		{5, -1, 3, inf, 3, 0, false, false},   // ratio_cap
		{5, -1, inf, 3, 3, 0, false, false},   // dual_clip
		{2, -1, 3, 3, 2, 2, false, false},     // below both
		{1.2, 1, 1.1, inf, -1.1, 0, false, false},
		{1.2, 1, inf, 1.1, -1.2, -1.2, false, false}, // dual_clip is for A < 0 alone
	} {
		cfg := Default()
		cfg.ClipHigh, cfg.RatioCap, cfg.DualClip = 0.28, c.ratioCap, c.dualClip
		got := clip(cfg, c.r, 0, c.adv)
		if want := (term{value: c.value, dRatio: c.slope, low: c.low, high: c.high}); got != want {
			t.Errorf("r %v, A %v, ratio_cap %v, dual_clip %v: %+v, want %+v", c.r, c.adv, c.ratioCap, c.dualClip, got, want)
		}
	}
}

// Weights of sequences whose sampler/trainer ratios are 1/4, 1 and 2, and
// whose policy has moved.
func TestWeightsByHand(t *testing.T) {
	ln2 := math.Ln2
	b := Batch{
		Logprob:        [][]float64{{-1, -1, -1}},
		SamplerLogprob: [][]float64{{-1 + 2*ln2, nan, -1 - ln2}},
		Advantage:      []float64{-1},
	}
	for _, c := range []struct {
		mode     string
		min, cap float64
		want     []float64
	}{
		{"off", 0, 1.5, []float64{1, 1, 1}},
		{"token_truncate", 0.5, 1.5, []float64{0.5, 1, 1.5}},
		{"token_mask", 0.5, 1.5, []float64{0, 1, 0}},
		{"sequence_truncate", 0.75, 1.5, []float64{0.75, 0.75, 0.75}}, // 1/4 · 2 = 1/2
		{"sequence_mask", 0.75, 1.5, []float64{0, 0, 0}},
	} {
		cfg := Default()
		cfg.Mismatch, cfg.MismatchMin, cfg.MismatchCap = c.mode, c.min, c.cap
		if got := weights(cfg, b, totals(cfg, b), 0, 3); !slices.Equal(got, c.want) {
			t.Errorf("%s: weights %v, want %v", c.mode, got, c.want)
		}
	}
	b.OldLogprob = [][]float64{{-1, -0.5, -0.9}} // mean log old − log policy = 0.2
	for limit, want := range map[float64]float64{0.19: 0, 0.21: 1} {
		cfg := Default()
		cfg.OffPolicyKLMax = limit
		for adv, want := range map[float64]float64{-1: want, 1: 1} {
			b.Advantage[0] = adv
			if got := weights(cfg, b, totals(cfg, b), 0, 3); !slices.Equal(got, []float64{want, want, want}) {
				t.Errorf("off_policy_kl_max %v, advantage %v: weights %v, want %v", limit, adv, got, want)
			}
		}
	}
}

// Metrics of one hand-made batch: ratios 2, 0.5, 1 and a masked token.
func TestMetricsByHand(t *testing.T) {
	ln2 := math.Ln2
	b := Batch{
		Logprob:        [][]float64{{-1, -1}, {-1, -1}},
		OldLogprob:     [][]float64{{-1 - ln2, -1 + ln2}, {-1, -9}},
		SamplerLogprob: [][]float64{{-1, -1 - ln2}, {nan, -9}},
		RefLogprob:     [][]float64{{-1, -1 + ln2}, {-1, -9}},
		Entropy:        [][]float64{{1, 2}, {3, 100}},
		Mask:           [][]bool{{true, true}, {true, false}},
		TokenAdvantage: [][]float64{{1, -1}, {1, 1}},
	}
	res := mustLoss(t, Default(), b)
	// −(1.2 − 0.8 + 1)/3: high clip at 1.2, low clip at 0.8, ratio 1.
	want := map[string]float64{
		"policy/loss":            -(1.2 - 0.8 + 1) / 3,
		"policy/ratio_mean":      3.5 / 3,
		"policy/clip_low_share":  1. / 3,
		"policy/clip_high_share": 1. / 3,
		"policy/clip_fraction":   2. / 3,
		"policy/kl_ref":          (2 - ln2 - 1) / 3,
		"policy/entropy":         2,
		"policy/mismatch_kl":     (2 - ln2 - 1) / 2, // over the two tokens whose sampler value is known
		"policy/compared":        2,
		"policy/equal":           1,
	}
	got := res.Metrics.Means()
	if len(got) != len(want) {
		t.Errorf("metrics %v, want %v", got, want)
	}
	for name, w := range want {
		if math.Abs(got[name]-w) > 8*eps { // a few roundings of numbers up to 4
			t.Errorf("%s = %v, want %v", name, got[name], w)
		}
	}
	if d := res.DLogprob; d[0][0] != 0 || d[0][1] != 0 || d[1][0] != -1./3 || d[1][1] != 0 {
		t.Errorf("derivatives %v, want only −1/3 where neither clip nor mask holds the token", d)
	}
	bare := mustLoss(t, Default(), Batch{Logprob: b.Logprob, Advantage: []float64{1, -1}})
	if means := bare.Metrics.Means(); len(means) != 5 || bare.DEntropy != nil || bare.DMeanLogprob != nil {
		t.Errorf("without optional streams: metrics %v", means)
	}
}

func TestLossErrors(t *testing.T) {
	good := randomBatch(1, 3)
	for want, change := range map[string]func(*Config, *Batch){
		"loss = \"ppo\"":             func(c *Config, _ *Batch) { c.Loss = "ppo" },
		"no RefLogprob":              func(c *Config, b *Batch) { c.KLCoef, b.RefLogprob = 0.1, nil },
		"no SamplerLogprob":          func(c *Config, b *Batch) { c.Mismatch, b.SamplerLogprob = "token_mask", nil },
		"no Entropy":                 func(c *Config, b *Batch) { c.EntropyCoef, b.Entropy = 0.1, nil },
		"no TokenAdvantage":          func(_ *Config, b *Batch) { b.Advantage = nil },
		"2 rows in OldLogprob":       func(_ *Config, b *Batch) { b.OldLogprob = b.OldLogprob[:2] },
		"tokens in Mask[1]":          func(_ *Config, b *Batch) { b.Mask = [][]bool{b.Mask[0], nil, b.Mask[2]} },
		"1 values in Advantage":      func(_ *Config, b *Batch) { b.Advantage = []float64{1} },
		"Global totals of 1 tokens":  func(_ *Config, b *Batch) { b.Global = &counts{Tokens: 1, Sequences: 9, MicroBatches: 1} },
		"sequence 0, token 0 on":     func(_ *Config, b *Batch) { *b = overflow() },
		"logprob -1, old -2000, adv": func(_ *Config, b *Batch) { *b = overflow() },
	} {
		cfg, b := Default(), good
		change(&cfg, &b)
		if _, err := Loss(cfg, b); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	if res, err := Loss(Default(), Batch{}); err != nil || res.Loss != 0 {
		t.Errorf("empty batch: loss %v, error %v", res.Loss, err)
	}
	// An advantage of 0 has no loss, however far the ratio.
	b := overflow()
	b.Advantage[0] = 0
	if res, err := Loss(Default(), b); err != nil || res.Loss != 0 {
		t.Errorf("advantage 0 at an infinite ratio: loss %v, error %v", res.Loss, err)
	}
}

// overflow has a ratio of e^1999.
func overflow() Batch {
	return Batch{Logprob: [][]float64{{-1}}, OldLogprob: [][]float64{{-2000}}, Advantage: []float64{-1}}
}

// Every file of the fixture set is read by a test here or left to another
// package, for the reason given.
func TestEveryFixtureFileIsAccountedFor(t *testing.T) {
	read := []string{"trl_losses", "trl_sequence_losses", "trl_advantages", "trl_masks", "verl_policy_losses", "verl_advantages", "verl_misc", "other_losses", "schedules", "statistics"}
	elsewhere := map[string]string{
		"other_advantages":        "NeMo-RL, MaxRL, RAE, BNPO: not part of the library yet",
		"verl_rollout_correction": "rejection masks and diagnostics: not part of the library yet; the weights are those of trl_masks",
		"preference":              "DPO and its family: not part of the library yet",
		"optimizers":              "the optimizer's package",
		"sampling_filters":        "the sampler's package",
		"logits":                  "the model's package",
	}
	paths, err := filepath.Glob(filepath.Join(fixtures.Dir(t, "losses"), "*.json"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no fixture files: %v", err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".json")
		reason, left := elsewhere[name]
		switch {
		case left:
			var file struct{ Cases []json.RawMessage }
			data, err := os.ReadFile(path)
			if err == nil {
				err = json.Unmarshal(data, &file)
			}
			if err != nil {
				t.Error(err)
			}
			t.Logf("fixtures: losses/%s: %d cases, 0 matched, %d out of scope: %s", name, len(file.Cases), len(file.Cases), reason)
		case !slices.Contains(read, name):
			t.Errorf("no test reads %s: read it, or say why not", filepath.Base(path))
		}
	}
}
