package algo

import (
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/settings"
)

func TestPresets(t *testing.T) {
	for _, name := range PresetNames() {
		cfg, err := Preset(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := cfg.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Preset("gpro"); err == nil || !strings.Contains(err.Error(), "grpo") {
		t.Errorf("unknown preset: %v, want an error that lists the names", err)
	}
}

func TestFormula(t *testing.T) {
	for name, want := range map[string]string{
		"grpo": `loss = mean over sequences of the token mean of -min(r*A, clip(r, 1-0.2, 1+0.2)*A), r = exp(logp - old)
A = (R - mean(group))/(std(group) + 0.0001)`,
		"dapo": `loss = mean over all tokens of -min(r*A, clip(r, 1-0.2, 1+0.28)*A), r = exp(logp - old)
A = (R - mean(group))/(std(group) + 0.0001); drop: uniform_groups`,
		"dr_grpo": `loss = sum/(sequences*512) of -min(r*A, clip(r, 1-0.2, 1+0.2)*A), r = exp(logp - old)
A = R - mean(group)`,
		"cispo": `loss = mean over all tokens of -[min(r, 5)]*A*logp, r = exp(logp - old)
A = (R - mean(group))/(std(group) + 0.0001)`,
		"raft": `loss = mean over all tokens of -A*logp
A = R, times 0 where < 0; drop: zero_advantage`,
		"reinforce-rej": `loss = mean over all tokens of -min(r*A, clip(r, 1-0.2, 1+0.2)*A), r = exp(logp - old)
A = R, R = 2*reward + -1; drop: all_right, all_wrong`,
	} {
		cfg, err := Preset(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := cfg.Formula(); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
	cfg := Default()
	cfg.RatioCap, cfg.DualClip, cfg.LogRatioClamp = 4, 3, 20
	cfg.KLCoef, cfg.KLTimesRatio, cfg.EntropyCoef = 0.001, true, 0.01
	cfg.Mismatch, cfg.MismatchCap, cfg.OffPolicyKLMax, cfg.TopEntropyShare = "token_truncate", 2, 0.1, 0.2
	want := `loss = mean over all tokens of -min(min(r, 4)*A, clip(r, 1-0.2, 1+0.2)*A), at most 3*|A| for A < 0, r = exp(logp - old) with |logp - old| <= 20 + 0.001*k3(policy||ref)*r - 0.01*(mean entropy)
A = (R - mean(group))/(std(group) + 0.0001)
times exp(old - sampler), token_truncate to [0, 2]; no sequence with A < 0 and mean(old - logp) > 0.1; only the 20 % of the tokens with the highest entropy`
	if got := cfg.Formula(); got != want {
		t.Errorf("all options:\n%s\nwant\n%s", got, want)
	}
}

// choices are the accepted words of a key.
func choices(key string) []string {
	for _, f := range settings.Fields(Config{}) {
		if f.Key == key && f.Choice != nil {
			return f.Choice
		}
	}
	panic("there is no key " + key + " that takes a word")
}

// Every field has a snake_case key of its own, and every loss a function.
func TestKeys(t *testing.T) {
	keys := map[string]bool{}
	for _, f := range settings.Fields(Config{}) {
		if f.Key != strings.ToLower(f.Key) || keys[f.Key] {
			t.Errorf("the key %q is not in snake_case, or two fields have it", f.Key)
		}
		keys[f.Key] = true
	}
	if n := reflect.TypeFor[Config]().NumField(); len(keys) != n {
		t.Errorf("%d keys for %d fields", len(keys), n)
	}
	if losses := choices("loss"); !slices.Equal(slices.Sorted(maps.Keys(surrogates)), slices.Sorted(slices.Values(losses))) {
		t.Errorf("the losses are %v, the functions those of %v", losses, slices.Sorted(maps.Keys(surrogates)))
	}
}

func TestValidateNamesKeyFoundAndAccepted(t *testing.T) {
	for _, c := range []struct {
		change func(*Config)
		want   []string
	}{
		{func(c *Config) { c.Loss = "ppo" }, []string{"loss", `"ppo"`, "clip, reinforce"}},
		{func(c *Config) { c.Estimator = "group" }, []string{"estimator", `"group"`, "group_std"}},
		{func(c *Config) { c.Normalize = "dapo" }, []string{"normalize", "token_mean"}},
		{func(c *Config) { c.Filters = []string{"uniform_groups", "easy"} }, []string{"filters", `"easy"`, "all_wrong"}},
		{func(c *Config) { c.ClipLow = -0.1 }, []string{"clip_low", "-0.1", "at least 0, or inf"}},
		{func(c *Config) { c.ClipHigh = math.NaN() }, []string{"clip_high", "nan"}},
		{func(c *Config) { c.DualClip = 0 }, []string{"dual_clip = 0", "above 1, or inf"}},
		{func(c *Config) { c.TopEntropyShare = 0 }, []string{"top_entropy_share", "above 0"}},
		{func(c *Config) { c.MismatchMin, c.MismatchCap = 3, 2 }, []string{"mismatch_min = 3", "mismatch_cap"}},
		{func(c *Config) { c.RewardScale = 0 }, []string{"reward_scale", "other than 0"}},
		{func(c *Config) { c.Normalize = "fixed_length" }, []string{"max_completion_tokens = 0", "fixed_length"}},
		{func(c *Config) { c.Loss = "geometric" }, []string{"ratio_level", "sequence"}},
		{func(c *Config) { c.KLIn, c.KLTimesRatio = "reward", true }, []string{"kl_times_ratio", "kl_in"}},
	} {
		cfg := Default()
		c.change(&cfg)
		err := cfg.Validate()
		if err == nil {
			t.Errorf("no error, want one with %q", c.want)
			continue
		}
		for _, part := range c.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("error %q does not mention %q", err, part)
			}
		}
	}
	both := Default()
	both.Loss, both.ClipLow = "ppo", -1
	if err := both.Validate(); err == nil || !strings.Contains(err.Error(), "ppo") || !strings.Contains(err.Error(), "clip_low") {
		t.Errorf("two faults: %v, want both named", err)
	}
	if (Config{}).Validate() == nil {
		t.Error("the zero Config is valid")
	}
}
