package tasks

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/verify"
)

// Probabilities: dice, coin_flip.

// probabilityOf reads a fraction, plain or in TeX, a decimal or a percentage.
// decimals is how many a decimal states, and -1 for an exact fraction.
func probabilityOf(text string) (p *big.Rat, decimals int, err error) {
	if over, under, ok := fractionOf(strings.Join(strings.Fields(text), " ")); ok {
		return new(big.Rat).SetFrac(over, under), -1, nil
	}
	number, percent := strings.CutSuffix(strings.TrimSpace(strings.ReplaceAll(text, `\%`, "%")), "%")
	if p, err = verify.ParseNumber(number, true); err != nil {
		return nil, 0, err
	}
	if _, fraction, found := strings.Cut(strings.TrimSpace(number), "."); found && !strings.ContainsAny(fraction, "eE") {
		decimals = len(fraction)
	}
	if percent {
		return p.Quo(p, big.NewRat(100, 1)), decimals + 2, nil
	}
	return p, decimals, nil
}

// halfUnit is half of one unit of a decimal place.
func halfUnit(decimals int) *big.Rat {
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(decimals, 0))), nil)
	return new(big.Rat).SetFrac(big.NewInt(1), scale.Lsh(scale, 1))
}

func distance(a, b *big.Rat) *big.Rat {
	d := new(big.Rat).Sub(a, b)
	return d.Abs(d)
}

func init() {
	type settings struct {
		NumDice     int `toml:"num_dice" range:"[1,12]" about:"number of dice"`
		MaxDiceSize int `toml:"max_dice_size" range:"[2,100]" about:"largest number of sides of a die"`
	}
	generate(family[settings]{
		name: "dice", summary: "find the probability that dice reach a sum",
		about: `find the probability that dice of different sizes reach a sum. Right: the fraction,
reduced or not, or a decimal that rounds it to at least 6 places.`,
		format:   "The answer is a fraction such as 5/36.",
		defaults: settings{4, 20},
		curriculum: []Attribute{
			{"num_dice", []float64{4, 6, 8, 10}, []string{"num_dice"}},
			{"max_dice_size", []float64{20, 25, 30, 35}, []string{"max_dice_size"}},
		},
		check: func(row verify.Problem, answer string) error {
			want, _, err := probabilityOf(row.Answer)
			if err != nil {
				return lacks("the row's answer: %v", err)
			}
			got, decimals, err := probabilityOf(answer)
			if err != nil {
				return err
			}
			// Beyond 12 places a program's own rounding shows.
			rounds := decimals >= 6 && distance(got, want).Cmp(halfUnit(min(decimals, 12))) <= 0
			return judged(row, got.Cmp(want) == 0 || rounds)
		},
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			names, most := make([]string, s.NumDice), 0
			ways := []*big.Int{big.NewInt(1)} // ways[n]: outcomes with the sum n
			total := big.NewInt(1)
			for i := range names {
				sides := r.Between(2, s.MaxDiceSize)
				names[i] = fmt.Sprintf("d%d", sides)
				most += sides
				next := make([]*big.Int, len(ways)+sides)
				for n := range next {
					next[n] = new(big.Int)
					for face := 1; face <= sides; face++ {
						if n-face >= 0 && n-face < len(ways) {
							next[n].Add(next[n], ways[n-face])
						}
					}
				}
				ways = next
				total.Mul(total, big.NewInt(int64(sides)))
			}
			target := r.Between(s.NumDice+1, most)
			reached := new(big.Int)
			for _, w := range ways[target:] {
				reached.Add(reached, w)
			}
			return problem{
				question: fmt.Sprintf("The fair dice %s are thrown at once; dN has the faces 1 to N. What is the probability of a sum of at least %d?", strings.Join(names, ", "), target),
				answer:   new(big.Rat).SetFrac(reached, total).String(),
			}, true
		},
	})
}

func init() {
	type settings struct {
		MinTrials    int  `toml:"min_trials" range:"[1,60]" about:"minimum number of flips"`
		MaxTrials    int  `toml:"max_trials" range:"[1,60]" about:"maximum number of flips"`
		AllowExact   bool `toml:"allow_exact" about:"ask for an exact number of heads"`
		AllowAtLeast bool `toml:"allow_at_least" about:"ask for at least a number of heads"`
	}
	generate(family[settings]{
		name: "coin_flip", summary: "find the probability of a number of heads",
		about: `find the probability of a number of heads. Right: the fraction, reduced or not, a decimal
or percentage that lies within 0.0001 and within 5 % of it, or one of 4 places or more that
rounds it; 0 is right only for 0.`,
		format:     "The answer is a fraction such as 3/8, or a decimal.",
		defaults:   settings{3, 15, true, true},
		curriculum: []Attribute{{"num_trials", []float64{8, 10, 12, 15, 20, 30}, []string{"max_trials"}}},
		valid: func(s *settings) error {
			if !s.AllowExact && !s.AllowAtLeast {
				return outOfRange("allow_at_least", false, "true if allow_exact is false")
			}
			return nil
		},
		check: func(row verify.Problem, answer string) error {
			want, places, err := probabilityOf(row.Answer)
			if err != nil {
				return lacks("the row's answer: %v", err)
			}
			got, decimals, err := probabilityOf(answer)
			if err != nil {
				return err
			}
			if decimals < 0 && places < 0 { // of two fractions none is rounded
				return judged(row, got.Cmp(want) == 0)
			}
			d := distance(got, want)
			near := d.Cmp(big.NewRat(1, 10_000)) <= 0 && d.Cmp(new(big.Rat).Mul(want, big.NewRat(1, 20))) <= 0
			rounds := decimals >= 4 && got.Sign() > 0 && d.Cmp(halfUnit(decimals)) <= 0
			return judged(row, near || rounds)
		},
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			n := r.Between(s.MinTrials, s.MaxTrials)
			k, exact := r.Between(0, n), s.AllowExact && (!s.AllowAtLeast || r.Chance(0.5))
			hits, how := new(big.Int).Binomial(int64(n), int64(k)), "exactly"
			if !exact {
				how = "at least"
				for i := k + 1; i <= n; i++ {
					hits.Add(hits, new(big.Int).Binomial(int64(n), int64(i)))
				}
			}
			return problem{
				key:      fmt.Sprintf("%s %d of %d", how, k, n),
				question: fmt.Sprintf("A fair coin is flipped %d times. What is the probability of %s %d heads?", n, how, k),
				answer:   new(big.Rat).SetFrac(hits, new(big.Int).Lsh(big.NewInt(1), uint(n))).RatString(),
			}, true
		},
	})
}
