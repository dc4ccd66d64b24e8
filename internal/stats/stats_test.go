package stats

import (
	"math"
	"strconv"
	"testing"

	"github.com/rlzero/rlzero/internal/fixtures"
)

type golden struct {
	Hyper struct {
		Op      string
		N, C, K int
	}
	In struct {
		Correct [][]int
		Answers []*string
		Weights []float64
	}
	Out struct {
		Value          float64
		PassAt         map[string]float64 `json:"pass_at"`
		PassHat        map[string]float64 `json:"pass_hat"`
		Answer         *string
		WeightedAnswer *string `json:"weighted_answer"`
		Count          float64
	}
}

func TestGolden(t *testing.T) {
	fixtures.Each(t, "losses", func(t *testing.T, dir string) {
		fixtures.Losses(t, dir, "statistics", func(t *testing.T, f *fixtures.LossFile, c *fixtures.Case) {
			var g golden
			c.Decode(t, &g)
			g.check(t, func(t *testing.T, what string, got, want float64) {
				t.Helper()
				if math.IsNaN(got) || math.Abs(got-want) > f.Tolerance.Abs+f.Tolerance.Rel*math.Abs(want) {
					t.Errorf("%s = %.17g, want %.17g", what, got, want)
				}
			})
		})
	})
}

func (g golden) check(t *testing.T, same func(t *testing.T, what string, got, want float64)) {
	mean := func(k int, f func(n, c, k int) float64) (m float64) {
		for _, samples := range g.In.Correct {
			right := 0
			for _, r := range samples {
				right += r
			}
			m += f(len(samples), right, k) / float64(len(g.In.Correct))
		}
		return m
	}
	switch g.Hyper.Op {
	case "pass_at_k":
		same(t, "pass@k", PassAtK(g.Hyper.N, g.Hyper.C, g.Hyper.K), g.Out.Value)
	case "pass_at_k_mean", "pass_hat_k_mean":
		for text, want := range g.Out.PassAt {
			k, _ := strconv.Atoi(text)
			same(t, "pass@"+text, mean(k, PassAtK), want)
		}
		for text, want := range g.Out.PassHat {
			k, _ := strconv.Atoi(text)
			same(t, "pass^"+text, mean(k, PassHatK), want)
		}
	case "majority":
		answers := make([]string, len(g.In.Answers))
		for i, a := range g.In.Answers {
			answers[i] = text(a)
		}
		got, votes := Majority(answers, nil)
		if got != text(g.Out.Answer) {
			t.Errorf("majority = %q, want %q", got, text(g.Out.Answer))
		}
		same(t, "votes", votes, g.Out.Count)
		if got, _ := Majority(answers, g.In.Weights); got != text(g.Out.WeightedAnswer) {
			t.Errorf("weighted majority = %q, want %q", got, text(g.Out.WeightedAnswer))
		}
	default:
		t.Fatalf("unknown op %q", g.Hyper.Op)
	}
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func TestOutOfRangeIsNaN(t *testing.T) {
	for _, c := range [][3]int{{4, 1, 5}, {4, 5, 1}, {4, -1, 1}, {4, 1, 0}, {0, 0, 1}} {
		if got := PassAtK(c[0], c[1], c[2]); !math.IsNaN(got) {
			t.Errorf("PassAtK%v = %v, want NaN", c, got)
		}
		if got := PassHatK(c[0], c[1], c[2]); !math.IsNaN(got) {
			t.Errorf("PassHatK%v = %v, want NaN", c, got)
		}
	}
}

func TestMajorityRight(t *testing.T) {
	for _, c := range []struct {
		answers []string
		right   []bool
		want    bool
	}{
		{[]string{"4", "5", "5"}, []bool{true, false, false}, false},
		{[]string{"4", "5", "5", "4"}, []bool{true, false, false, true}, true}, // a tie: the first seen
		{[]string{"", "", "4"}, []bool{false, false, true}, true},              // no answer has no vote
		{[]string{"", ""}, []bool{false, false}, false},
		{nil, nil, false},
	} {
		if got := MajorityRight(c.answers, c.right); got != c.want {
			t.Errorf("MajorityRight(%q) = %v, want %v", c.answers, got, c.want)
		}
	}
}

// The ends of a Wilson interval are the q with (p − q)² = z²·q(1−q)/n.
func TestMeanCI95InvertsScoreTest(t *testing.T) {
	for _, c := range []struct{ right, n int }{{0, 5}, {1, 5}, {8, 10}, {41, 100}, {5, 5}} {
		scores := make([]float64, c.n)
		for i := range c.right {
			scores[i] = 1
		}
		mean, low, high := MeanCI95(scores, c.n)
		p, n := float64(c.right)/float64(c.n), float64(c.n)
		// A sum of n terms below 1 errs by at most n rounding errors.
		bound := n * 0x1p-52
		if math.Abs(mean-p) > bound {
			t.Errorf("mean of %v = %v", c, mean)
		}
		for _, q := range []float64{low, high} {
			if q < 0 || q > 1 {
				t.Errorf("interval of %v: %v is outside 0..1", c, q)
			}
			// Each side has 4 roundings of numbers below 2; the sum of scores adds its own.
			if a, b := (p-q)*(p-q), z95*z95*q*(1-q)/n; math.Abs(a-b) > (n+8)*0x1p-51 {
				t.Errorf("interval of %v: %v gives (p-q)² = %v, z²q(1-q)/n = %v", c, q, a, b)
			}
		}
	}
}

func TestMeanCI95CountsProblemsNotSamples(t *testing.T) {
	// Ten problems of eight samples that all agree carry ten observations.
	scores := []float64{1, 1, 0, 1, 0, 0, 1, 0, 1, 1}
	_, low, high := MeanCI95(scores, 80)
	_, wantLow, wantHigh := MeanCI95(scores, 10)
	if low != wantLow || high != wantHigh {
		t.Errorf("80 samples of 10 problems: [%v, %v], want [%v, %v]", low, high, wantLow, wantHigh)
	}
	// Problems that are all half right carry up to all their samples.
	half := []float64{0.5, 0.5, 0.5, 0.5}
	_, low, high = MeanCI95(half, 32)
	_, lowFew, highFew := MeanCI95(half, 4)
	if high-low >= highFew-lowFew {
		t.Errorf("32 samples: width %v, 4 samples: %v", high-low, highFew-lowFew)
	}
	if mean, low, high := MeanCI95(nil, 0); !math.IsNaN(mean) || !math.IsNaN(low) || !math.IsNaN(high) {
		t.Errorf("no problems: %v [%v, %v], want NaN", mean, low, high)
	}
}

// TestBestOfK: the mean of the greatest over all subsets of k scores; of scores 0 and 1 it is pass@k.
func TestBestOfK(t *testing.T) {
	scores := []float64{0.5, 0, 1, 0.25, 1}
	for k := 1; k <= len(scores); k++ {
		sum, n := 0.0, 0
		for set := range 1 << len(scores) {
			best, in := 0.0, 0
			for i, x := range scores {
				if set>>i&1 == 1 {
					best, in = max(best, x), in+1
				}
			}
			if in == k {
				sum, n = sum+best, n+1
			}
		}
		if got, want := BestOfK(scores, k), sum/float64(n); math.Abs(got-want) > 0x1p-50 { // some roundings of numbers of at most 1
			t.Errorf("the best of %d is %v, want %v", k, got, want)
		}
	}
	if got, want := BestOfK([]float64{1, 0, 1, 0, 0}, 3), PassAtK(5, 2, 3); math.Abs(got-want) > 0x1p-50 {
		t.Errorf("the best of 3 is %v, pass@3 %v", got, want)
	}
	for _, k := range []int{0, 6} {
		if x := BestOfK(scores, k); !math.IsNaN(x) {
			t.Errorf("the best of %d of 5 is %v", k, x)
		}
	}
}
