package algo

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// The golden cases have some combinations of options and not others. Here the sources that they
// name are written down once more as plain loops over rows, and every combination is held against
// them: TRL's GRPOTrainer and GMPOTrainer, open-instruct's correction, verl's rejection, prime-rl.

// rows is an update as a table of tokens.
type rows struct {
	mask, logp, start, old, ref, entropy, a [][]float64
	perToken                                bool // advantages
}

// drawRows has holes, a row without tokens, and advantages of both signs in all rows.
func drawRows(rng *rand.Rand, perToken bool) *rows {
	b := &rows{perToken: perToken, mask: [][]float64{{1, 1, 1, 1, 1}, {1, 0, 1, 1, 0}, {0, 0, 0, 0, 0}, {1, 1, 0, 0, 0}, {1, 1, 1, 0, 0}, {0, 1, 0, 1, 1}}}
	column := func(draw func() float64) (out [][]float64) {
		for range b.mask {
			row := make([]float64, len(b.mask[0]))
			for j := range row {
				row[j] = draw()
			}
			out = append(out, row)
		}
		return out
	}
	near := func(from [][]float64, by float64) [][]float64 {
		out := column(func() float64 { return 0 })
		for i := range from {
			for j := range from[i] {
				out[i][j] = from[i][j] + by*rng.NormFloat64()
			}
		}
		return out
	}
	b.logp = column(func() float64 { return -0.1 - 2*rng.Float64() })
	b.start, b.ref = near(b.logp, 0.3), near(b.logp, 0.3)
	b.old = near(b.start, 0.2)
	b.entropy = column(rng.Float64)
	b.a = column(rng.NormFloat64)
	if !perToken {
		for _, row := range b.a {
			for j := range row {
				row[j] = row[0]
			}
		}
	}
	return b
}

func (b *rows) step(t *testing.T, f *goldenFile) *step {
	s := newStep(t, f, b.mask, nil)
	for name, m := range map[string][][]float64{"logp": b.logp, "start": b.start, "old": b.old, "ref": b.ref, "entropy": b.entropy} {
		s.tokens(name, m)
	}
	if b.perToken {
		s.tokens("A", b.a)
		return s
	}
	var a []float64
	for _, row := range b.a {
		a = append(a, row[0])
	}
	s.completions("A", a)
	return s
}

// sum is over the tokens that count.
func (b *rows) sum(x func(i, j int) float64) (total, count float64) {
	for i := range b.mask {
		s, n := b.rowSum(i, x)
		total, count = total+s, count+n
	}
	return total, count
}

func (b *rows) rowSum(i int, x func(i, j int) float64) (total, count float64) {
	for j, m := range b.mask[i] {
		if m != 0 {
			total, count = total+x(i, j), count+1
		}
	}
	return total, count
}

func (b *rows) rowMean(i int, x func(i, j int) float64) float64 {
	total, count := b.rowSum(i, x)
	return total / max(count, 1)
}

func truth(x bool) float64 {
	if x {
		return 1
	}
	return 0
}

// product calls run with every choice of one value a key. A short test takes one in seven of
// them, which meets every value of every key, as no key has a multiple of seven.
func product(keys []string, options map[string][]any, run func(h map[string]any)) {
	h, at := map[string]any{}, 0
	var walk func(int)
	walk = func(k int) {
		if k == len(keys) {
			if at++; !testing.Short() || at%7 == 0 {
				run(h)
			}
			return
		}
		for _, v := range options[keys[k]] {
			h[keys[k]] = v
			walk(k + 1)
		}
	}
	walk(0)
}

// agree holds the value of a method, and metrics that are given, against a reference.
func (b *rows) agree(t *testing.T, name string, m Method, loss float64, metrics map[string]float64) {
	t.Helper()
	f := &goldenFile{}
	f.Tolerance.Rel, f.Tolerance.Abs = 1e-9, 1e-12 // those of the golden files
	s := b.step(t, f)
	u := s.update(m)
	got, _, err := u.Loss()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if !f.near(got, loss) {
		t.Errorf("%s: loss %.17g, want %.17g", name, got, loss)
	}
	found, err := u.Metrics()
	if err != nil {
		t.Fatal(err)
	}
	for metric, want := range metrics {
		if x, ok := found[metric]; !ok || !f.near(x, want) {
			t.Errorf("%s: %s = %v, want %v", name, metric, x, want)
		}
	}
}

// trl is TRL's loss of one micro-batch, with the shares that it counts as clipped.
func (b *rows) trl(h map[string]any) (loss float64, metrics map[string]float64) {
	kind, beta := h["loss_type"].(string), h["beta"].(float64)
	epsilon, high := h["epsilon"].(float64), h["epsilon_high"].(float64)
	logRatio := func(i, j int) float64 { return b.logp[i][j] - b.start[i][j] }
	k3 := func(i, j int) float64 { d := b.ref[i][j] - b.logp[i][j]; return math.Exp(d) - d - 1 }
	focus := b.focus(h["top_entropy_quantile"].(float64))
	if kind == "gmpo" {
		return b.gmpo(epsilon, high, beta, focus, logRatio, k3)
	}
	sequence := h["importance_sampling_level"] == "sequence"
	ratio := func(i, j int) float64 {
		if sequence {
			return math.Exp(b.rowMean(i, logRatio))
		}
		return math.Exp(logRatio(i, j))
	}
	capped := ratio
	if delta, is := h["delta"].(float64); is {
		capped = func(i, j int) float64 { return min(ratio(i, j), delta) }
	}
	token := func(i, j int) float64 {
		a, r := b.a[i][j], ratio(i, j)
		var l float64
		switch kind {
		case "cispo":
			l = -min(r, high) * a * b.logp[i][j]
		case "sapo":
			temperature := 1.05
			if a > 0 {
				temperature = 1
			}
			l = -a * 4 / temperature / (1 + math.Exp(-temperature*(r-1)))
		default:
			l = -min(capped(i, j)*a, min(max(r, 1-epsilon), 1+high)*a)
		}
		if bound, is := h["off_policy_mask_threshold"].(float64); is {
			gap := b.rowMean(i, func(i, j int) float64 { return b.old[i][j] - b.logp[i][j] })
			l *= truth(a >= 0 || gap <= bound)
		}
		l *= truth(focus(i, j)) * b.samplerRatio(h["is_mode"], i, j)
		if h["use_bias_correction_kl"] == true {
			return l + beta*k3(i, j)*r
		}
		return l + beta*k3(i, j)
	}
	if kind != "cispo" && kind != "sapo" {
		metrics = b.clipped(sequence && !b.perToken, func(i, j int) (low, up bool) {
			return capped(i, j) < 1-epsilon && b.a[i][j] < 0, capped(i, j) > 1+high && b.a[i][j] > 0
		})
	}
	return b.normalised(kind, token), metrics
}

// focus tells the tokens whose entropy is at least the quantile of those that count.
func (b *rows) focus(share float64) func(i, j int) bool {
	var all []float64
	b.sum(func(i, j int) float64 { all = append(all, b.entropy[i][j]); return 0 })
	slices.Sort(all)
	at := (1 - share) * float64(len(all)-1)
	low := int(at)
	bound := all[low]
	if low+1 < len(all) {
		bound += (at - float64(low)) * (all[low+1] - all[low])
	}
	return func(i, j int) bool { return share >= 1 || b.entropy[i][j] >= bound }
}

// samplerRatio is the mode's correction, from 0.8 to 1.3.
func (b *rows) samplerRatio(mode any, i, j int) float64 {
	gap := func(i, j int) float64 { return b.start[i][j] - b.old[i][j] }
	u := math.Exp(gap(i, j))
	if mode == "sequence_mask" {
		total, _ := b.rowSum(i, gap)
		u = math.Exp(total)
	}
	if mode == nil {
		return 1
	}
	return u * truth(u >= 0.8 && u <= 1.3)
}

func (b *rows) normalised(kind string, token func(i, j int) float64) (loss float64) {
	total, count := b.sum(token)
	n := float64(len(b.mask))
	switch kind {
	case "grpo", "sapo":
		for i := range b.mask {
			loss += b.rowMean(i, token) / n
		}
		return loss
	case "dr_grpo":
		return total / n / 16
	case "luspo":
		return total / n
	}
	return total / count
}

// clipped are shares of the rows or of the tokens.
func (b *rows) clipped(byRow bool, at func(i, j int) (low, high bool)) map[string]float64 {
	low, high, n := 0.0, 0.0, 0.0
	for i := range b.mask {
		l, count := b.rowSum(i, func(i, j int) float64 { l, _ := at(i, j); return truth(l) })
		h, _ := b.rowSum(i, func(i, j int) float64 { _, h := at(i, j); return truth(h) })
		if byRow {
			l, h, count = truth(l > 0), truth(h > 0), 1
		}
		low, high, n = low+l, high+h, n+count
	}
	return map[string]float64{"policy/clip_low_share": low / n, "policy/clip_high_share": high / n, "policy/clip_fraction": (low + high) / n}
}

// gmpo is TRL's GMPOTrainer, which has neither masks of sequences nor corrections.
func (b *rows) gmpo(epsilon, high, beta float64, focus func(i, j int) bool, logRatio, k3 func(i, j int) float64) (loss float64, metrics map[string]float64) {
	for i := range b.mask {
		total, count := 0.0, 0.0
		for j, m := range b.mask[i] {
			if m == 0 || !focus(i, j) {
				continue
			}
			x := max(logRatio(i, j), -epsilon)
			if b.a[i][0] > 0 {
				x = min(logRatio(i, j), high)
			}
			total, count = total+x, count+1
		}
		loss += -b.a[i][0]*math.Exp(total/max(count, 1)) + beta*b.rowMean(i, k3)
	}
	return loss / float64(len(b.mask)), b.clipped(false, func(i, j int) (low, up bool) {
		return logRatio(i, j) < -epsilon && b.a[i][j] < 0, logRatio(i, j) > high && b.a[i][j] > 0
	})
}

func TestEveryCombinationTRL(t *testing.T) {
	rng, cases := rand.New(rand.NewPCG(1, 2)), 0
	keys := []string{"loss_type", "importance_sampling_level", "delta", "beta", "use_bias_correction_kl", "off_policy_mask_threshold", "top_entropy_quantile", "is_mode"}
	options := map[string][]any{"loss_type": {"grpo", "bnpo", "dr_grpo", "dapo", "luspo", "cispo", "sapo", "gmpo"}, "importance_sampling_level": {"token", "sequence"}, "delta": {nil, 1.2},
		"beta": {0.0, 0.3}, "use_bias_correction_kl": {false, true}, "off_policy_mask_threshold": {nil, 0.02}, "top_entropy_quantile": {1.0, 0.4}, "is_mode": {nil, "token_mask", "sequence_mask"}}
	for _, perToken := range []bool{false, true} {
		b := drawRows(rng, perToken)
		_, tokens := b.sum(func(i, j int) float64 { return 0 })
		product(keys, options, func(h map[string]any) {
			kind := h["loss_type"]
			switch {
			case kind == "gmpo" && (perToken || h["importance_sampling_level"] == "sequence"): // it has advantages of rows and one level
				return
			case h["delta"] != nil && (kind == "cispo" || kind == "sapo" || kind == "gmpo"): // they have no second bound
				return
			case h["use_bias_correction_kl"] == true && h["beta"] == 0.0: // there is nothing to correct
				return
			}
			h["epsilon"], h["epsilon_high"], h["max_completion_length"], h["gradient_accumulation_steps"], h["steps_per_generation"], h["entropy_coef"] = 0.1, 0.15, 16.0, 1.0, 1.0, 0.0
			h["sapo_temperature_pos"], h["sapo_temperature_neg"], h["is_min"], h["is_max"] = 1.0, 1.05, 0.8, 1.3
			loss, metrics := b.trl(h)
			b.agree(t, fmt.Sprint(perToken, h), trlMethod(t, newHyper(h, h), int(tokens), perToken), loss, metrics)
			cases++
		})
	}
	if cases < 800 && !testing.Short() {
		t.Errorf("%d cases", cases)
	}
}

// rho is open-instruct's weight of a token.
func (b *rows) rho(h map[string]any, i, j int) float64 {
	if h["use_rho_correction"] != true {
		return 1
	}
	gap := func(i, j int) float64 { return min(max(b.start[i][j]-b.old[i][j], -10), 10) }
	low, high := h["rho_mask_lower_bound"].(float64), h["rho_mask_upper_bound"].(float64)
	out := func(x float64) bool { return low > 0 && x < low || high > 0 && x > high }
	u := math.Exp(gap(i, j))
	if h["rho_mask_sequence_level"] == true {
		u = math.Exp(b.rowMean(i, gap))
	}
	dropped := out(u)
	if h["rho_mask_tv_divergence"] == true {
		moved := b.rowMean(i, func(i, j int) float64 { return math.Abs(math.Exp(gap(i, j)) - 1) })
		dropped = out(moved) && gap(i, j)*b.a[i][j] > 0
	}
	if dropped {
		return 0
	}
	if x := h["rho_clamp_lower_bound"].(float64); x > 0 {
		u = max(u, x)
	}
	if x := h["rho_clamp_upper_bound"].(float64); x > 0 {
		u = min(u, x)
	}
	return u
}

func TestEveryCombinationOpenInstruct(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	keys := []string{"loss_type", "use_rho_correction", "rho_clamp_lower_bound", "rho_clamp_upper_bound", "rho_mask_lower_bound", "rho_mask_upper_bound", "rho_mask_sequence_level", "rho_mask_tv_divergence", "kl_estimator", "beta"}
	options := map[string][]any{"loss_type": {"open_instruct_dapo", "open_instruct_cispo"}, "use_rho_correction": {false, true}, "rho_clamp_lower_bound": {0.0, 0.9}, "rho_clamp_upper_bound": {0.0, 1.1},
		"rho_mask_lower_bound": {0.0, 0.12}, "rho_mask_upper_bound": {0.0, 0.2, 1.1}, "rho_mask_sequence_level": {false, true}, "rho_mask_tv_divergence": {false, true}, "kl_estimator": {2.0, 3.0}, "beta": {0.05}}
	for _, perToken := range []bool{false, true} {
		b := drawRows(rng, perToken)
		product(keys, options, func(h map[string]any) {
			h["clip_lower"], h["clip_higher"] = 0.1, 0.15
			total, count := b.sum(func(i, j int) float64 {
				a, r, d := b.a[i][j], math.Exp(b.logp[i][j]-b.start[i][j]), b.logp[i][j]-b.ref[i][j]
				l := max(-a*r, -a*min(max(r, 1-0.1), 1+0.15))
				if h["loss_type"] == "open_instruct_cispo" {
					l = -a * min(r, 1.15) * b.logp[i][j]
				}
				kl := []float64{d, d * d / 2, math.Expm1(-d) + d, r * d}[int(h["kl_estimator"].(float64))]
				return l*b.rho(h, i, j) + 0.05*kl
			})
			b.agree(t, fmt.Sprint(perToken, h), openInstructMethod(t, newHyper(h, h)), total/count, nil)
		})
	}
}

// TestEveryCombinationVerlRejection: a token that verl rejects leaves the divisors of every mode.
func TestEveryCombinationVerlRejection(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	refuse := map[any]func(b *rows, i, j int) bool{
		"token_k1": func(b *rows, i, j int) bool {
			k := b.old[i][j] - b.logp[i][j]
			return k < math.Log(0.8) || k > math.Log(1.2)
		},
		"token_k2": func(b *rows, i, j int) bool { k := b.old[i][j] - b.logp[i][j]; return k*k/2 > 0.03 },
		"seq_mean_k2": func(b *rows, i, j int) bool {
			return b.rowMean(i, func(i, j int) float64 { k := b.old[i][j] - b.logp[i][j]; return k * k / 2 }) > 0.05
		},
	}
	bounds := map[any]any{"token_k1": "0.8_1.2", "token_k2": "0.03", "seq_mean_k2": "0.05"}
	keys := []string{"agg", "loss_type", "rollout_rs", "dp_size", "global"}
	options := map[string][]any{"agg": {"token-mean", "token-sum", "seq-mean-token-sum", "seq-mean-token-mean", "seq-mean-token-sum-norm"}, "loss_type": {"reinforce", "ppo_clip"},
		"rollout_rs": {"token_k1", "token_k2", "seq_mean_k2"}, "dp_size": {1.0, 2.0}, "global": {false, true}}
	for _, perToken := range []bool{false, true} {
		b := drawRows(rng, perToken)
		product(keys, options, func(o map[string]any) {
			if o["dp_size"] == 2.0 && o["global"] == false {
				return // verl refuses several processes without the counts of all
			}
			h := map[string]any{"loss_mode": "bypass_mode", "agg": o["agg"], "dp_size": o["dp_size"], "clip_ratio_low": 0.1, "clip_ratio_high": 0.15, "clip_ratio_c": 3.0,
				"rollout_correction": map[string]any{"loss_type": o["loss_type"], "rollout_rs": o["rollout_rs"], "rollout_rs_threshold": bounds[o["rollout_rs"]]}}
			if o["global"] == true {
				h["batch_num_tokens"], h["global_batch_size"], h["loss_scale_factor"] = 40.0, 12.0, 9.0
			}
			kept := *b
			kept.mask = nil
			for i, row := range b.mask {
				left := slices.Clone(row)
				for j := range left {
					left[j] *= truth(!refuse[o["rollout_rs"]](b, i, j))
				}
				kept.mask = append(kept.mask, left)
			}
			own := *b
			own.start = b.logp // the policy's own log-prob as a constant
			m, _ := verlBypassMethod(t, newHyper(h, h), len(b.mask[0]), nil)
			own.agree(t, fmt.Sprint(perToken, o), m, kept.verl(h, o["loss_type"] == "reinforce"), nil)
		})
	}
}

// verl is the loss over what is left of the mask.
func (b *rows) verl(h map[string]any, reinforce bool) float64 {
	token := func(i, j int) float64 {
		a, r := b.a[i][j], math.Exp(b.logp[i][j]-b.old[i][j])
		if reinforce {
			return -a * b.logp[i][j]
		}
		l := max(-a*r, -a*min(max(r, 1-0.1), 1+0.15))
		if a < 0 {
			l = min(l, -a*3)
		}
		return l
	}
	total, tokens := b.sum(token)
	means, found := 0.0, 0.0
	for i := range b.mask {
		if s, n := b.rowSum(i, token); n > 0 {
			means, found = means+s/(n+1e-8), found+1
		}
	}
	if x, is := h["batch_num_tokens"].(float64); is {
		tokens = x
	}
	if x, is := h["global_batch_size"].(float64); is {
		found = x
	}
	length := float64(len(b.mask[0]))
	if x, is := h["loss_scale_factor"].(float64); is {
		length = x
	}
	return h["dp_size"].(float64) * map[any]float64{"token-mean": total / tokens, "token-sum": total, "seq-mean-token-sum": total / found,
		"seq-mean-token-mean": means / found, "seq-mean-token-sum-norm": total / found / length}[h["agg"]]
}

// TestEveryCombinationPrime: the scale of the advantage does not scale the quadratic term, and the
// mask goes by the advantage before it.
func TestEveryCombinationPrime(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	keys := []string{"loss_type", "kl_tau", "adv_tau"}
	options := map[string][]any{"loss_type": {"prime_dppo_kl", "prime_ipo"}, "kl_tau": {0.0, 0.1}, "adv_tau": {0.0, 0.5, 1.0, 3.0}}
	for _, perToken := range []bool{false, true} {
		b := drawRows(rng, perToken)
		product(keys, options, func(h map[string]any) {
			h["dppo_mask_low"], h["dppo_mask_high"], h["ipo_threshold"], h["denominator"] = 0.05, 0.02, 0.04, 17.0
			total, _ := b.sum(func(i, j int) float64 {
				d, a := b.logp[i][j]-b.old[i][j], b.a[i][j]
				moved := math.Exp(b.logp[i][j]) - math.Exp(b.old[i][j])
				masked := moved < -0.05
				if a > 0 {
					masked = moved > 0.02
				}
				if h["loss_type"] == "prime_ipo" {
					masked = math.Abs(moved) > 0.04
				}
				return -truth(!masked)*h["adv_tau"].(float64)*a*math.Exp(d) + h["kl_tau"].(float64)*d*d
			})
			m := primeMethod(t, newHyper(h, h))
			b.agree(t, fmt.Sprint(perToken, h), m, total/17, nil)
		})
	}
}
