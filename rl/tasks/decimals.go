package tasks

import (
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/verify"
)

// Fractions and decimals: fraction_simplification, number_sorting,
// number_filtering, number_format, decimal_arithmetic, decimal_chain_sum,
// power_function.

// fractionForm is a fraction, plain or in TeX, in any case as the original
// reads it.
var fractionForm = regexp.MustCompile(`(?i)^(?:(-?\d+)\s*/\s*(\d+)|(-?)\s*\\[dt]?frac\s*\{\s*(-?\d+)\s*\}\s*\{\s*(\d+)\s*\})$`)

var boxed = regexp.MustCompile(`^\\boxed\{(.*)\}$`)

// fractionOf reads numerator and denominator as written.
func fractionOf(text string) (over, under *big.Int, ok bool) {
	const maxBytes = 4096
	if len(text) > maxBytes {
		return nil, nil, false
	}
	text = strings.TrimSpace(strings.Trim(strings.TrimSuffix(text, "."), "$"))
	if m := boxed.FindStringSubmatch(text); m != nil {
		text = m[1]
	}
	if inside, open := strings.CutPrefix(text, "("); open {
		if text, open = strings.CutSuffix(inside, ")"); !open {
			return nil, nil, false
		}
	}
	m := fractionForm.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return nil, nil, false
	}
	over, ok = new(big.Int).SetString(m[1]+m[3]+m[4], 10) // it fails on two signs
	if !ok {
		return nil, nil, false
	}
	under, _ = new(big.Int).SetString(m[2]+m[5], 10) // digits only
	return over, under, under.Sign() != 0
}

func init() {
	type settings struct {
		MinValue  int `toml:"min_value" range:"[1,1000000]" about:"smallest numerator or denominator of the reduced fraction"`
		MaxValue  int `toml:"max_value" range:"[2,1000000]" about:"largest numerator or denominator of the reduced fraction"`
		MinFactor int `toml:"min_factor" range:"[1,1000000]" about:"smallest common factor"`
		MaxFactor int `toml:"max_factor" range:"[2,1000000]" about:"largest common factor"`
	}
	generate(family[settings]{
		name: "fraction_simplification", summary: "reduce a fraction to lowest terms",
		about: `reduce a fraction. Right: the reduced fraction, as a/b or \frac{a}{b}, and nothing
else.`,
		format:   "The answer is a fraction a/b in lowest terms.",
		defaults: settings{1, 1000, 1, 100},
		curriculum: []Attribute{
			{"value", []float64{100, 1000, 10000}, []string{"max_value"}},
			{"factor", []float64{10, 100, 1000}, []string{"max_factor"}},
		},
		check: func(row verify.Problem, answer string) error {
			wantOver, wantUnder, ok := fractionOf(row.Answer)
			if !ok {
				return lacks("the row's answer is not a fraction")
			}
			over, under, ok := fractionOf(answer)
			if !ok {
				return fmt.Errorf("%s is not a fraction a/b", short(answer))
			}
			return judged(row, over.Cmp(wantOver) == 0 && under.Cmp(wantUnder) == 0)
		},
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			a, b, f := r.Between(s.MinValue, s.MaxValue), r.Between(s.MinValue, s.MaxValue), r.Between(s.MinFactor, s.MaxFactor)
			d := gcd(a, b)
			return problem{
				key:      fmt.Sprintf("%d/%d", a*f, b*f),
				question: fmt.Sprintf("Reduce %d/%d.", a*f, b*f),
				answer:   fmt.Sprintf("%d/%d", a/d, b/d),
			}, b > d && a != b // whole numbers have no denominator to write
		},
	})
}

// decimal is a random number with so many decimals, as text and value.
func decimal(r *random.Rand, low, high float64, places int) (string, *big.Rat) {
	scale := 1
	for range places {
		scale *= 10
	}
	n := r.Between(int(low*float64(scale)), int(high*float64(scale)))
	x := big.NewRat(int64(n), int64(scale))
	return x.FloatString(places), x
}

// numbersOf reads the items of a list exactly.
func numbersOf(text string) ([]*big.Rat, error) {
	items, err := listOf(text)
	if err != nil {
		return nil, err
	}
	numbers := make([]*big.Rat, len(items))
	for i, item := range items {
		if numbers[i], err = verify.ParseNumber(item, true); err != nil {
			return nil, err
		}
	}
	return numbers, nil
}

// sameNumbers: a list of numbers equal to the reference's, in its order.
func sameNumbers(row verify.Problem, answer string) error {
	want, err := numbersOf(row.Answer)
	if err != nil {
		return lacks("the row's answer: %v", err)
	}
	got, err := numbersOf(answer)
	if err != nil {
		return err
	}
	return judged(row, slices.EqualFunc(got, want, func(a, b *big.Rat) bool { return a.Cmp(b) == 0 }))
}

// decimalList draws different numbers, as texts and values.
func decimalList(r *random.Rand, n int, low, high float64, minPlaces, maxPlaces int) ([]string, map[string]*big.Rat) {
	texts, values, seen := []string{}, map[string]*big.Rat{}, map[string]bool{}
	for range 50 * n {
		text, x := decimal(r, low, high, r.Between(minPlaces, maxPlaces))
		if len(texts) < n && !seen[x.RatString()] {
			seen[x.RatString()] = true
			texts, values[text] = append(texts, text), x
		}
	}
	return texts, values
}

const numberList = "The answer is a list such as [3, 10.5]; write each number as it stands in the question."

func init() {
	type settings struct {
		MinNumbers  int     `toml:"min_numbers" range:"[2,1000]" about:"minimum count of numbers"`
		MaxNumbers  int     `toml:"max_numbers" range:"[2,1000]" about:"maximum count of numbers"`
		MinDecimals int     `toml:"min_decimals" range:"[0,7]" about:"minimum number of decimals"`
		MaxDecimals int     `toml:"max_decimals" range:"[0,7]" about:"maximum number of decimals"`
		MinValue    float64 `toml:"min_value" range:"[-1000000,1000000]" about:"smallest number"`
		MaxValue    float64 `toml:"max_value" range:"[-1000000,1000000]" about:"largest number"`
	}
	generate(family[settings]{
		name: "number_sorting", summary: "put numbers in order",
		about: `sort numbers in ascending or descending order. Right: a list of exactly these numbers in that
order, with or without brackets and quotes.`,
		format:   numberList,
		defaults: settings{3, 10, 0, 2, -100, 100},
		curriculum: []Attribute{
			{"numbers", []float64{10, 100, 500, 1000}, []string{"min_numbers", "max_numbers"}},
			{"decimals", []float64{0, 1, 2, 3, 4, 5, 6, 7}, []string{"min_decimals", "max_decimals"}},
			{"min_value", []float64{-100, -500, -1000, -10000}, []string{"min_value"}},
			{"max_value", []float64{100, 500, 1000, 10000}, []string{"max_value"}},
		},
		check: sameNumbers,
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			texts, values := decimalList(r, r.Between(s.MinNumbers, s.MaxNumbers), s.MinValue, s.MaxValue, s.MinDecimals, s.MaxDecimals)
			order, sign := "smallest to largest", 1
			if r.Chance(0.5) {
				order, sign = "largest to smallest", -1
			}
			question := "Sort these numbers from " + order + ": " + strings.Join(texts, ", ")
			key := order + ":" + strings.Join(slices.Sorted(slices.Values(texts)), ",")
			slices.SortFunc(texts, func(a, b string) int { return sign * values[a].Cmp(values[b]) })
			return problem{key: key, question: question, answer: "[" + strings.Join(texts, ", ") + "]"}, len(texts) >= s.MinNumbers
		},
	})
	generate(family[settings]{
		name: "number_filtering", summary: "keep the numbers on one side of a bound",
		about: `keep or remove the numbers of a list that are larger or smaller than a bound. Right: a
list of exactly the numbers left, in their order.`,
		format:   numberList + " An empty list is [].",
		defaults: settings{3, 10, 0, 4, -100, 100},
		curriculum: []Attribute{
			{"numbers", []float64{10, 50, 100, 200}, []string{"min_numbers", "max_numbers"}},
			{"decimals", []float64{0, 2, 4, 6}, []string{"min_decimals", "max_decimals"}},
			{"min_value", []float64{-100, -500, -1000, -10000}, []string{"min_value"}},
			{"max_value", []float64{100, 500, 1000, 10000}, []string{"max_value"}},
		},
		check: sameNumbers,
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			texts, values := decimalList(r, r.Between(s.MinNumbers, s.MaxNumbers), s.MinValue, s.MaxValue, s.MinDecimals, s.MaxDecimals)
			bound, limit := decimal(r, s.MinValue, s.MaxValue, r.Between(s.MinDecimals, s.MaxDecimals))
			keep, larger := r.Chance(0.5), r.Chance(0.5)
			var left []string
			for _, t := range texts {
				c := values[t].Cmp(limit)
				if c == 0 {
					return problem{}, false
				}
				if (c > 0) == larger == keep {
					left = append(left, t)
				}
			}
			verb := map[bool]string{true: "Keep only", false: "Leave out"}[keep]
			side := map[bool]string{true: "larger", false: "smaller"}[larger]
			return problem{
				question: fmt.Sprintf("%s the numbers that are %s than %s: [%s]", verb, side, bound, strings.Join(texts, ", ")),
				answer:   "[" + strings.Join(left, ", ") + "]",
			}, len(texts) >= s.MinNumbers
		},
	})
}

// thousands writes a decimal with separators.
func thousands(text string) string {
	whole, fraction, _ := strings.Cut(text, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	return whole + "." + fraction
}

func init() {
	type settings struct {
		MinNumCandidates int     `toml:"min_num_candidates" range:"[2,1000]" about:"minimum count of numbers"`
		MaxNumCandidates int     `toml:"max_num_candidates" range:"[2,1000]" about:"maximum count of numbers"`
		MinN             float64 `toml:"min_n" range:"[1,1000000000]" about:"smallest number"`
		MaxN             float64 `toml:"max_n" range:"[2,1000000000]" about:"largest number"`
		MaxDelta         float64 `toml:"max_delta" range:"[0.01,1000]" about:"largest distance between the numbers"`
	}
	generate(family[settings]{
		name: "number_format", summary: "compare numbers in different notations",
		about: `pick the largest or smallest of numbers written plainly, with separators and in
scientific notation. Right: that number to within 0.0000005, because stored references
were rounded.`,
		format:   "The answer is that number alone, in any of these notations.",
		defaults: settings{2, 5, 1000, 1e9, 10},
		curriculum: []Attribute{
			{"num_candidates", []float64{5, 25, 100, 500}, []string{"min_num_candidates", "max_num_candidates"}},
			{"n", []float64{1000, 100000, 1000000, 1e9}, []string{"min_n", "max_n"}},
			{"max_delta", []float64{10, 1, 0.1}, []string{"max_delta"}},
		},
		check: within(big.NewRat(1, 2_000_000)),
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			_, base := decimal(r, s.MinN, s.MaxN, 3)
			var texts []string
			var low, high *big.Rat
			for range r.Between(s.MinNumCandidates, s.MaxNumCandidates) {
				_, x := decimal(r, 0, s.MaxDelta, 3)
				x.Add(x, base)
				if low == nil || x.Cmp(low) < 0 {
					low = x
				}
				if high == nil || x.Cmp(high) > 0 {
					high = x
				}
				plain := x.FloatString(3)
				f, _ := x.Float64()
				texts = append(texts, pick(r, []string{plain + "000", thousands(plain), strconv.FormatFloat(f, 'e', 15, 64)}))
			}
			which, best := "largest", high
			if r.Chance(0.5) {
				which, best = "smallest", low
			}
			return problem{
				question: "Which of these numbers is the " + which + "? " + strings.Join(texts, "  "),
				answer:   best.FloatString(3),
			}, low.Cmp(high) != 0
		},
	})
}

func init() {
	type settings struct {
		MinTerms         int  `toml:"min_terms" range:"[2,50]" about:"minimum count of numbers"`
		MaxTerms         int  `toml:"max_terms" range:"[2,50]" about:"maximum count of numbers"`
		MinDigits        int  `toml:"min_digits" range:"[1,10]" about:"minimum number of digits before the point"`
		MaxDigits        int  `toml:"max_digits" range:"[1,10]" about:"maximum number of digits before the point"`
		MinDecimalPlaces int  `toml:"min_decimal_places" range:"[0,8]" about:"minimum number of decimals"`
		MaxDecimalPlaces int  `toml:"max_decimal_places" range:"[0,8]" about:"maximum number of decimals"`
		AllowNegation    bool `toml:"allow_negation" about:"numbers may be negative"`
	}
	generate(family[settings]{
		name: "decimal_chain_sum", summary: "add and subtract decimals",
		about:    "work out a chain of additions and subtractions of decimals. Right: a number equal to the total.",
		format:   "The answer is one number with all its decimals.",
		defaults: settings{2, 6, 1, 4, 1, 4, false},
		curriculum: []Attribute{
			{"num_terms", []float64{2, 5, 8, 10}, []string{"min_terms", "max_terms"}},
			{"num_digits", []float64{1, 2, 4, 8, 10}, []string{"min_digits", "max_digits"}},
			{"decimal_places", []float64{1, 2, 4, 6, 8}, []string{"min_decimal_places", "max_decimal_places"}},
		},
		check: sameNumber,
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			total, text, most := new(big.Rat), "", 0
			for i := range r.Between(s.MinTerms, s.MaxTerms) {
				places := r.Between(s.MinDecimalPlaces, s.MaxDecimalPlaces)
				most = max(most, places)
				whole := digitsBetween(r, s.MinDigits, s.MaxDigits)
				_, x := decimal(r, 0, 0.99999999, places)
				x.Add(x, new(big.Rat).SetInt64(int64(whole)))
				if s.AllowNegation && r.Chance(0.5) {
					x.Neg(x)
				}
				term := x.FloatString(places)
				if x.Sign() < 0 {
					term = "(" + term + ")"
				}
				switch {
				case i == 0:
					total, text = x, term
				case r.Chance(0.5):
					total, text = total.Add(total, x), text+" + "+term
				default:
					total, text = total.Sub(total, x), text+" - "+term
				}
			}
			return problem{question: "Work out " + text + ".", answer: total.FloatString(most)}, true
		},
	})
}

// significant rounds x to n significant digits, half away from 0, and gives the
// unit of the last one.
func significant(x *big.Rat, n int) (rounded, unit *big.Rat) {
	if x.Sign() == 0 {
		return new(big.Rat), big.NewRat(1, 1)
	}
	ten, size := big.NewRat(10, 1), new(big.Rat).Abs(x)
	low := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n-1)), nil))
	high := new(big.Rat).Mul(low, ten)
	unit = big.NewRat(1, 1)
	for size.Cmp(high) >= 0 {
		size.Quo(size, ten)
		unit.Mul(unit, ten)
	}
	for size.Cmp(low) < 0 {
		size.Mul(size, ten)
		unit.Quo(unit, ten)
	}
	size.Add(size, big.NewRat(1, 2))
	rounded = new(big.Rat).SetInt(new(big.Int).Quo(size.Num(), size.Denom()))
	if rounded.Mul(rounded, unit); x.Sign() < 0 {
		rounded.Neg(rounded)
	}
	return rounded, unit
}

// plainDecimal writes a number whose denominator is a power of 10 with no
// zeros at its end.
func plainDecimal(x *big.Rat) string {
	text := x.FloatString(60)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// decimalPrecision is how many digits reasoning-gym's answers have: the
// setting "precision", which its rows do not carry, is 12 unless changed.
const decimalPrecision = 12

func init() {
	type settings struct {
		MinNumDecimalPlaces int `toml:"min_num_decimal_places" range:"[1,8]" about:"minimum number of decimals"`
		MaxNumDecimalPlaces int `toml:"max_num_decimal_places" range:"[1,8]" about:"maximum number of decimals"`
		MinTerms            int `toml:"min_terms" range:"[2,20]" about:"minimum count of numbers"`
		MaxTerms            int `toml:"max_terms" range:"[2,20]" about:"maximum count of numbers"`
	}
	generate(family[settings]{
		name: "decimal_arithmetic", summary: "work out an expression over decimals to 12 digits",
		about: `work out + - * / and brackets over decimals to 12 significant digits. Right: a number
within one unit of the reference's twelfth digit.`,
		format:   "The answer is one number, rounded to 12 significant digits.",
		defaults: settings{3, 3, 2, 6},
		curriculum: []Attribute{
			{"decimal_places", []float64{2, 4, 6, 8}, []string{"min_num_decimal_places", "max_num_decimal_places"}},
			{"num_terms", []float64{2, 5, 8, 10}, []string{"min_terms", "max_terms"}},
		},
		check: func(row verify.Problem, answer string) error {
			want, err := referenceNumber(row)
			if err != nil {
				return err
			}
			_, unit := significant(want, decimalPrecision)
			if want.Sign() == 0 {
				unit = new(big.Rat)
			}
			return within(unit)(row, answer)
		},
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			text := ""
			open := false
			for i := range r.Between(s.MinTerms, s.MaxTerms) {
				if i > 0 {
					text += " " + string("+-*/"[r.Between(0, 3)]) + " "
				}
				opens := !open && r.Chance(0.2)
				if opens {
					text, open = text+"(", true
				}
				term, _ := decimal(r, 0.1, 10, r.Between(s.MinNumDecimalPlaces, s.MaxNumDecimalPlaces))
				text += term
				if open && !opens {
					text, open = text+")", false
				}
			}
			if open {
				return problem{}, false
			}
			value, ok := evaluate(text)
			if !ok || value.Sign() == 0 {
				return problem{}, false
			}
			rounded, _ := significant(value, decimalPrecision)
			return problem{question: "Work out " + text + ".", answer: plainDecimal(rounded)}, true
		},
	})
}

// powerOfTen is a number times a power of ten, as people write it.
var powerOfTen = regexp.MustCompile(`^(.+?)\s*(?:\\times|\\cdot|[×*x·])\s*10\s*(?:\^|\*\*)\s*\{?\s*\(?([-+]?\d+)\)?\s*\}?$`)

// stated counts the significant digits that a decimal text gives; zeros at the
// end of a whole number do not count.
func stated(text string) int {
	mantissa, _, scientific := strings.Cut(strings.ToLower(text), "e")
	digits := strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' {
			return c
		}
		return -1
	}, mantissa)
	digits = strings.TrimLeft(digits, "0")
	if !scientific && !strings.Contains(mantissa, ".") {
		digits = strings.TrimRight(digits, "0")
	}
	return len(digits)
}

func init() {
	type settings struct {
		MinBase     float64 `toml:"min_base" range:"[-1000000,1000000]" about:"smallest base"`
		MaxBase     float64 `toml:"max_base" range:"[-1000000,1000000]" about:"largest base"`
		MinExponent int     `toml:"min_exponent" range:"[0,20]" about:"smallest absolute exponent"`
		MaxExponent int     `toml:"max_exponent" range:"[1,20]" about:"largest absolute exponent"`
	}
	generate(family[settings]{
		name: "power_function", summary: "raise a decimal to a power",
		about: `raise a decimal to a positive or negative power, to 3 significant digits. Right: a
number that agrees with the reference in every significant digit that it gives, to half a
unit of the last and at most 15 digits, and gives at least 3.`,
		format:     "The answer has 3 significant digits, in the notation of 1.23e+4.",
		defaults:   settings{-1000, 1000, 0, 8},
		curriculum: []Attribute{{"exponent", []float64{2, 4, 6, 8, 10}, []string{"min_exponent", "max_exponent"}}},
		check: func(row verify.Problem, answer string) error {
			want, err := referenceNumber(row)
			if err != nil {
				return err
			}
			if m := powerOfTen.FindStringSubmatch(strings.Trim(answer, "$ ")); len(answer) < 200 && m != nil {
				answer = m[1] + "e" + m[2]
			}
			got, err := verify.ParseNumber(answer, true)
			if err != nil || want.Sign() == 0 {
				return cmpErr(err, judged(row, err == nil && got.Sign() == 0))
			}
			digits := min(max(stated(answer), 3), 15)
			_, unit := significant(want, digits)
			distance := new(big.Rat).Sub(got, want)
			distance.Abs(distance)
			return judged(row, distance.Cmp(unit.Mul(unit, big.NewRat(1, 2))) <= 0)
		},
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			text, base := decimal(r, s.MinBase, s.MaxBase, 4)
			exponent := r.Between(s.MinExponent, s.MaxExponent)
			value := big.NewRat(1, 1)
			for range exponent {
				value.Mul(value, base)
			}
			if base.Sign() == 0 {
				return problem{}, false
			}
			if r.Chance(0.5) {
				value.Inv(value)
				exponent = -exponent
			}
			f, _ := value.Float64()
			return problem{
				key:      fmt.Sprintf("%s^%d", text, exponent),
				question: fmt.Sprintf("Work out (%s)^(%d).", text, exponent),
				answer:   strconv.FormatFloat(f, 'e', -1, 64),
			}, true
		},
	})
}

// cmpErr is the first error that is not nil.
func cmpErr(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
