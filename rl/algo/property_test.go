package algo

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

const eps = 0x1p-52 // rounding of float64, relative

// randomBatch has sequences of 1 to 6 tokens, some masked, one all masked;
// log-probabilities in −2..0, log-ratios to ±0.35, advantages to ±1.5.
func randomBatch(seed uint64, sequences int) Batch {
	rng := rand.New(rand.NewPCG(seed, 1))
	var b Batch
	for i := range sequences {
		n := 1 + rng.IntN(6)
		stream := func(center, width float64) []float64 {
			row := make([]float64, n)
			for t := range row {
				row[t] = center + width*(2*rng.Float64()-1)
			}
			return row
		}
		around := func(base []float64, width float64) []float64 {
			row := stream(0, width)
			for t := range row {
				row[t] += base[t]
			}
			return row
		}
		now := stream(-1, 1)
		mask := make([]bool, n)
		for t := range mask {
			mask[t] = i > 0 && rng.IntN(5) > 0
		}
		b.Logprob = append(b.Logprob, now)
		b.OldLogprob = append(b.OldLogprob, around(now, 0.35))
		b.SamplerLogprob = append(b.SamplerLogprob, around(now, 0.1))
		b.RefLogprob = append(b.RefLogprob, around(now, 0.5))
		b.Entropy = append(b.Entropy, stream(1, 1))
		b.Mask = append(b.Mask, mask)
		b.Advantage = append(b.Advantage, 3*rng.Float64()-1.5)
	}
	return b
}

// part is rows from..to of b.
func part(b Batch, from, to int) Batch {
	b.Logprob, b.OldLogprob, b.SamplerLogprob = b.Logprob[from:to], b.OldLogprob[from:to], b.SamplerLogprob[from:to]
	b.RefLogprob, b.Entropy, b.Mask, b.Advantage = b.RefLogprob[from:to], b.Entropy[from:to], b.Mask[from:to], b.Advantage[from:to]
	return b
}

// everyComposition is each loss × level × normaliser that Validate accepts, with all
// other parts on. It fails the test unless every loss, every level and every normaliser
// is in one of them: tests over nothing would pass.
func everyComposition(t *testing.T) map[string]Config {
	t.Helper()
	all, covered := map[string]Config{}, map[string]bool{}
	for _, loss := range choices("loss") {
		for _, level := range choices("ratio_level") {
			for _, normalize := range choices("normalize") {
				c := Default()
				c.Loss, c.RatioLevel, c.Normalize, c.MaxCompletionTokens = loss, level, normalize, 6
				c.KLCoef, c.EntropyCoef, c.TopEntropyShare, c.OffPolicyKLMax = 0.05, 0.01, 0.8, 0.2
				c.Mismatch, c.MismatchMin, c.MismatchCap = "token_truncate", 0.95, 1.05
				if c.Validate() == nil {
					all[fmt.Sprintf("%s/%s/%s", loss, level, normalize)] = c
					covered["loss "+loss], covered["ratio_level "+level], covered["normalize "+normalize] = true, true, true
				}
			}
		}
	}
	for _, part := range []string{"loss", "ratio_level", "normalize"} {
		if len(choices(part)) == 0 {
			t.Fatalf("there is no %s to test", part)
		}
		for _, name := range choices(part) {
			if !covered[part+" "+name] {
				t.Fatalf("no composition that Validate accepts has %s = %s", part, name)
			}
		}
	}
	return all
}

func mustLoss(t *testing.T, cfg Config, b Batch) Result {
	t.Helper()
	res, err := Loss(cfg, b)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// Cut anywhere, the parts give the very same derivatives: a sequence's
// arithmetic uses nothing of the batch but Global. The loss is a sum of the
// same numbers, one per sequence, in another order.
func TestSplitInvariance(t *testing.T) {
	const n = 7
	b := randomBatch(3, n)
	for name, cfg := range everyComposition(t) {
		if cfg.Normalize == "micro_token_mean" {
			continue // depends on the cut by definition
		}
		whole := mustLoss(t, cfg, b)
		g := totals(cfg, b)
		for _, cuts := range [][]int{{0, 1, 2, 3, 4, 5, 6, 7}, {0, 3, 7}, {0, 1, 6, 7}} {
			loss, magnitude, metrics := 0.0, 0.0, Metrics{}
			g.MicroBatches = len(cuts) - 1
			for k := range cuts[1:] {
				p := part(b, cuts[k], cuts[k+1])
				p.Global = &g
				res := mustLoss(t, cfg, p)
				loss += res.Loss
				magnitude += math.Abs(res.Loss)
				metrics = metrics.Add(res.Metrics)
				for i := range res.DLogprob {
					for j := range res.DLogprob[i] {
						if res.DLogprob[i][j] != whole.DLogprob[cuts[k]+i][j] || res.DEntropy[i][j] != whole.DEntropy[cuts[k]+i][j] {
							t.Fatalf("%s cut at %v: derivative of sequence %d, token %d differs from the whole batch's", name, cuts, cuts[k]+i, j)
						}
					}
				}
			}
			if len(cuts) == n+1 && math.Abs(loss-whole.Loss) > n*eps*magnitude {
				t.Errorf("%s: the loss is %v in parts and %v whole", name, loss, whole.Loss)
			}
			if metrics.Tokens != whole.Metrics.Tokens || metrics.ClipLow != whole.Metrics.ClipLow || metrics.ClipHigh != whole.Metrics.ClipHigh {
				t.Errorf("%s cut at %v: metrics %+v, whole %+v", name, cuts, metrics, whole.Metrics)
			}
		}
	}
}

// TestSum: a local loss in parts has the bits of the loss in one, its metrics and the
// sum itself included.
func TestSum(t *testing.T) {
	const n = 7
	b := randomBatch(3, n)
	tried := 0
	for name, cfg := range everyComposition(t) {
		cfg.TopEntropyShare = 1
		if !cfg.Local() {
			continue
		}
		tried++
		whole := mustLoss(t, cfg, b)
		g := totals(cfg, b)
		for _, cuts := range [][]int{{0, 7}, {0, 1, 2, 3, 4, 5, 6, 7}, {0, 3, 7}} {
			sum := NewSum(cfg, g.Sequences, g.Tokens)
			var last Result
			for k := range cuts[1:] {
				res, err := sum.Add(part(b, cuts[k], cuts[k+1]))
				if err != nil {
					t.Fatal(err)
				}
				for i := range res.DLogprob {
					if !slices.Equal(res.DLogprob[i], whole.DLogprob[cuts[k]+i]) || !slices.Equal(res.DEntropy[i], whole.DEntropy[cuts[k]+i]) {
						t.Fatalf("%s cut at %v: the derivatives of sequence %d differ from the whole batch's", name, cuts, cuts[k]+i)
					}
				}
				last = res
			}
			if last.Loss != whole.Loss || last.Metrics != whole.Metrics {
				t.Errorf("%s cut at %v: loss %v and metrics %+v, whole %v and %+v", name, cuts, last.Loss, last.Metrics, whole.Loss, whole.Metrics)
			}
		}
	}
	if tried == 0 {
		t.Error("no loss is local")
	}
	if cfg := (Config{TopEntropyShare: 0.5}); cfg.Local() {
		t.Error("a threshold over the batch's entropies is not local")
	}
}

// micro_token_mean gives every micro-batch its own token mean and the same say,
// so the cut matters; of one micro-batch it is token_mean.
func TestMicroTokenMeanDependsOnTheCut(t *testing.T) {
	b := randomBatch(3, 7)
	mean, micro := Default(), Default()
	micro.Normalize = "micro_token_mean"
	whole := mustLoss(t, mean, b).Loss
	if got := mustLoss(t, micro, b).Loss; got != whole {
		t.Errorf("one micro-batch: loss %v, token_mean gives %v", got, whole)
	}
	g := totals(micro, b)
	g.MicroBatches = 2
	sum, want := 0.0, 0.0
	for _, p := range []Batch{part(b, 0, 3), part(b, 3, 7)} {
		want += mustLoss(t, mean, p).Loss / 2
		p.Global = &g
		sum += mustLoss(t, micro, p).Loss
	}
	// Halving is exact and 1/(2n) is (1/n)/2, so both sum the same numbers.
	if sum != want || sum == whole {
		t.Errorf("two micro-batches give %v, want %v, and not %v as uncut", sum, want, whole)
	}
}

// On the policy that sampled, ratio, clip and mismatch are exact, not close.
func TestOnPolicyIsExact(t *testing.T) {
	for name, cfg := range everyComposition(t) {
		b := randomBatch(5, 6)
		b.OldLogprob, b.SamplerLogprob = b.Logprob, b.Logprob
		for _, old := range [][][]float64{b.Logprob, nil} {
			b.OldLogprob = old
			means := mustLoss(t, cfg, b).Metrics.Means()
			want := map[string]float64{"policy/ratio_mean": 1, "policy/clip_low_share": 0, "policy/clip_high_share": 0, "policy/clip_fraction": 0, "policy/mismatch_kl": 0}
			want["policy/equal"] = means["policy/compared"]
			for metric, w := range want {
				if got, there := means[metric]; got != w || !there {
					t.Errorf("%s: %s = %v, want exactly %v", name, metric, got, w)
				}
			}
		}
	}
}

// Derivatives against central differences. Where a part of the loss is held
// constant (weights of cispo and topr), the old log-probability moves along, so
// that the ratio does not. sequence_token gives each token its own share of a
// common ratio's derivative: there a whole row moves, and the shares add up.
func TestFiniteDifferences(t *testing.T) {
	b := randomBatch(11, 5)
	for name, cfg := range everyComposition(t) {
		cfg.Mismatch, cfg.OffPolicyKLMax = "off", math.Inf(1) // their weights move with old and policy
		weighted := cfg.Loss == "cispo" || cfg.Loss == "topr"
		cfg.KLTimesRatio = !weighted
		res := mustLoss(t, cfg, b)
		for i := range b.Logprob {
			rowSum := 0.0
			for j, got := range res.DLogprob[i] {
				rowSum += got
				if cfg.RatioLevel != "sequence_token" {
					checkDifference(t, fmt.Sprintf("%s: dlogprob[%d][%d]", name, i, j), cfg, b, got, i, j, j+1, weighted)
				}
			}
			checkDifference(t, fmt.Sprintf("%s: sum of dlogprob[%d]", name, i), cfg, b, rowSum, i, 0, len(b.Logprob[i]), weighted)
		}
	}
}

// checkDifference compares got with the change of the loss as tokens from..to
// of sequence i move together.
func checkDifference(t *testing.T, what string, cfg Config, b Batch, got float64, i, from, to int, moveOld bool) {
	t.Helper()
	const h = 1e-4
	moved := func(by float64) float64 {
		at := b
		at.Logprob, at.OldLogprob = scaled(b.Logprob, 1), scaled(b.OldLogprob, 1)
		for j := from; j < to; j++ {
			at.Logprob[i][j] += by
			if moveOld {
				at.OldLogprob[i][j] += by
			}
		}
		return mustLoss(t, cfg, at).Loss
	}
	coarse := (moved(h) - moved(-h)) / (2 * h)
	fine := (moved(h/2) - moved(-h/2)) / h
	// The fine difference errs by a third of their distance (leading term), and by
	// the rounding of the loss: at most tokens additions of terms below 20 in
	// magnitude (|A| <= 1.5, |logprob| <= 2, ratios of a sequence sum <= e^2.1).
	tokens := float64(totals(cfg, b).Tokens)
	bound := math.Abs(coarse-fine) + tokens*eps*tokens*20/h
	if bound > 1e-5 {
		t.Fatalf("%s lies at a kink (bound %v): the batch is a bad choice", what, bound)
	}
	if math.Abs(got-fine) > bound {
		t.Errorf("%s = %v, difference %v (bound %v)", what, got, fine, bound)
	}
}

// The entropy's derivative is −entropy_coef over the tokens, where it is trained.
func TestEntropyDerivative(t *testing.T) {
	b := randomBatch(11, 5)
	cfg := Default()
	cfg.EntropyCoef, cfg.TopEntropyShare = 0.01, 0.5
	res, totals := mustLoss(t, cfg, b), totals(cfg, b)
	trained := 0
	for i := range b.Entropy {
		for j := range b.Entropy[i] {
			want := 0.0
			if b.Mask[i][j] && b.Entropy[i][j] >= totals.EntropyThreshold {
				want = -cfg.EntropyCoef / float64(totals.Tokens)
				trained++
			}
			if res.DEntropy[i][j] != want {
				t.Errorf("dentropy[%d][%d] = %v, want %v", i, j, res.DEntropy[i][j], want)
			}
		}
	}
	if trained*2 < totals.Tokens || trained == totals.Tokens {
		t.Errorf("%d of %d tokens are trained, want the upper half", trained, totals.Tokens)
	}
}

// Tokens outside the mask are never read.
func TestMaskedTokensAreNotRead(t *testing.T) {
	b := randomBatch(7, 6)
	for name, cfg := range everyComposition(t) {
		want := mustLoss(t, cfg, b)
		poisoned := randomBatch(7, 6)
		for i := range poisoned.Mask {
			for j, counts := range poisoned.Mask[i] {
				if !counts {
					for _, stream := range [][][]float64{poisoned.Logprob, poisoned.OldLogprob, poisoned.SamplerLogprob, poisoned.RefLogprob, poisoned.Entropy} {
						stream[i][j] = math.NaN()
					}
				}
			}
		}
		if got := mustLoss(t, cfg, poisoned); got.Loss != want.Loss || got.Metrics != want.Metrics {
			t.Errorf("%s: NaN outside the mask changes the loss from %v to %v", name, want.Loss, got.Loss)
		}
	}
}

// Advantages relative to the group sum to 0 in each group, whatever the order
// and sizes of the groups.
func TestAdvantagesSumToZero(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	var rewards []float64
	var groups []int
	for range 60 {
		rewards = append(rewards, math.Round(8*rng.Float64())/8)
		groups = append(groups, 100-7*rng.IntN(9))
	}
	rewards[4], rewards[17] = math.NaN(), math.NaN()
	for _, estimator := range []string{"group_mean", "group_std", "batch_std", "leave_one_out"} {
		cfg := Default()
		cfg.Estimator = estimator
		adv, keep, _, err := Advantages(cfg, rewards, groups)
		if err != nil {
			t.Fatal(err)
		}
		sum, magnitude, members := map[int]float64{}, map[int]float64{}, map[int]float64{}
		for i, a := range adv {
			if keep[i] == math.IsNaN(rewards[i]) || (!keep[i] && a != 0) {
				t.Errorf("%s: reward %v: keep %v, advantage %v", estimator, rewards[i], keep[i], a)
			}
			sum[groups[i]] += a
			magnitude[groups[i]] += math.Abs(a) + 1
			members[groups[i]]++
		}
		for id, s := range sum {
			// The mean errs by n roundings of numbers up to 1, which every member repeats;
			// dividing by std >= 1/64 scales that up.
			if bound := members[id] * eps * magnitude[id] * 64; math.Abs(s) > bound {
				t.Errorf("%s: group %d sums to %v (bound %v)", estimator, id, s, bound)
			}
		}
	}
}
