package tasks

import (
	"fmt"
	"math/big"
	"math/bits"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/verify"
)

// Whole numbers: gcd, lcm, products, prime_factorization, count_primes,
// count_bits, base_conversion, bitwise_arithmetic, basic_arithmetic,
// leg_counting.

const wholeNumber = "The answer is one whole number."

// digitsBetween is a number of min to max digits without a leading zero.
func digitsBetween(r *random.Rand, low, high int) int {
	n := r.Between(low, high)
	from := 1
	for range n - 1 {
		from *= 10
	}
	return r.Between(from, 10*from-1)
}

// several draws low to high whole numbers of a range.
func several(r *random.Rand, low, high, min, max int) []int {
	numbers := make([]int, r.Between(low, high))
	for i := range numbers {
		numbers[i] = r.Between(min, max)
	}
	return numbers
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// someNumbers are the settings of gcd and lcm.
type someNumbers struct {
	MinNumbers int `toml:"min_numbers" range:"[2,20]" about:"minimum count of numbers"`
	MaxNumbers int `toml:"max_numbers" range:"[2,20]" about:"maximum count of numbers"`
	MinValue   int `toml:"min_value" range:"[1,1000000]" about:"smallest number"`
	MaxValue   int `toml:"max_value" range:"[2,1000000]" about:"largest number"`
}

func (s *someNumbers) draw(r *random.Rand) []int {
	return several(r, s.MinNumbers, s.MaxNumbers, s.MinValue, s.MaxValue)
}

// overNumbers generates a family that asks for one number made of some; quantity
// is the curriculum's name for how many, highest the default of max_value.
func overNumbers(name, summary, quantity, question string, highest int, draw func(s *someNumbers, r *random.Rand) (numbers []int, answer string)) {
	generate(family[someNumbers]{
		name: name, summary: summary,
		about:    summary + " of some numbers. Right: a number equal to it.",
		format:   wholeNumber,
		defaults: someNumbers{2, 2, 1, highest},
		curriculum: []Attribute{
			{quantity, []float64{2, 3, 4, 5}, []string{"min_numbers", "max_numbers"}},
			{"value", []float64{100, 1000, 10000, 100000}, []string{"max_value"}},
		},
		check: sameNumber,
		draw: func(s *someNumbers, r *random.Rand) (problem, bool) {
			numbers, answer := draw(s, r)
			return problem{
				key:      joined(slices.Sorted(slices.Values(numbers)), ","),
				question: question + joined(numbers, ", ") + "?",
				answer:   answer,
			}, slices.Max(numbers) <= s.MaxValue
		},
	})
}

func init() {
	overNumbers("gcd", "find the greatest common divisor", "num_terms", "What is the largest whole number that divides all of ", 1000,
		func(s *someNumbers, r *random.Rand) ([]int, string) {
			numbers := s.draw(r)
			if factor := r.Between(1, 30); factor <= s.MaxValue/2 { // most random numbers share nothing
				for i, n := range numbers {
					numbers[i] = max(n/factor*factor, (s.MinValue+factor-1)/factor*factor)
				}
			}
			d := 0
			for _, n := range numbers {
				d = gcd(d, n)
			}
			return numbers, strconv.Itoa(d)
		})
	overNumbers("lcm", "find the least common multiple", "numbers", "What is the smallest positive number that is a multiple of each of ", 100,
		func(s *someNumbers, r *random.Rand) ([]int, string) {
			numbers := s.draw(r)
			m := big.NewInt(1)
			for _, n := range numbers {
				x := big.NewInt(int64(n))
				m.Mul(m, new(big.Int).Div(x, new(big.Int).GCD(nil, nil, m, x)))
			}
			return numbers, m.String()
		})
}

func init() {
	type settings struct {
		MinTerms      int  `toml:"min_terms" range:"[2,20]" about:"minimum number of factors"`
		MaxTerms      int  `toml:"max_terms" range:"[2,20]" about:"maximum number of factors"`
		MinDigits     int  `toml:"min_digits" range:"[1,15]" about:"minimum number of digits of a factor"`
		MaxDigits     int  `toml:"max_digits" range:"[1,15]" about:"maximum number of digits of a factor"`
		AllowNegation bool `toml:"allow_negation" about:"factors may be negative"`
	}
	generate(family[settings]{
		name: "products", summary: "multiply whole numbers",
		about:    "multiply whole numbers. Right: a number equal to the product.",
		format:   wholeNumber,
		defaults: settings{2, 2, 1, 5, false},
		curriculum: []Attribute{
			{"num_terms", []float64{2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, []string{"min_terms", "max_terms"}},
			{"num_digits", []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, []string{"min_digits", "max_digits"}},
		},
		check: sameNumber,
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			product := big.NewInt(1)
			factors := make([]string, r.Between(s.MinTerms, s.MaxTerms))
			for i := range factors {
				n := digitsBetween(r, s.MinDigits, s.MaxDigits)
				if s.AllowNegation && r.Chance(0.5) {
					n = -n
				}
				product.Mul(product, big.NewInt(int64(n)))
				if factors[i] = strconv.Itoa(n); n < 0 && i > 0 {
					factors[i] = "(" + factors[i] + ")"
				}
			}
			return problem{question: "Work out " + strings.Join(factors, " * ") + ".", answer: product.String()}, true
		},
	})
}

// A factor with its power, and what may stand between two: a sign, a comma, spaces.
var (
	primePower  = regexp.MustCompile(`^(\d+)(?:(?:\^|\*\*)(?:(\d+)|\{(\d+)\}))?`)
	primeSign   = regexp.MustCompile(`^\s*,?\s*(?:\\times|\\cdot|[×·⋅*xX])?\s*,?\s*`)
	superscript = strings.NewReplacer("⁰", "^0", "¹", "^1", "²", "^2", "³", "^3", "⁴", "^4", "⁵", "^5", "⁶", "^6", "⁷", "^7", "⁸", "^8", "⁹", "^9")
)

// primeFactors is what the text lists, in rising order, with powers written out; the
// error says what is no prime, or where the text is no list.
func primeFactors(text string) ([]int, error) {
	var primes []int
	for rest := superscript.Replace(strings.TrimSpace(text)); ; {
		m := primePower.FindStringSubmatch(rest)
		if m == nil {
			return nil, fmt.Errorf("found %s where a prime number is expected", short(rest))
		}
		p, err := strconv.Atoi(m[1])
		if err != nil || p > 1<<40 || !isPrime(p) {
			return nil, fmt.Errorf("%s is not a prime number", short(m[1]))
		}
		n := 1
		if exponent := m[2] + m[3]; exponent != "" {
			if n, err = strconv.Atoi(exponent); err != nil || n < 1 || n > mostPrimes {
				return nil, fmt.Errorf("power %s is out of range; accepted: 1 to %d", short(m[0]), mostPrimes)
			}
		}
		if len(primes)+n > mostPrimes {
			return nil, fmt.Errorf("there are more than %d factors", mostPrimes)
		}
		primes = append(primes, slices.Repeat([]int{p}, n)...)
		if rest = rest[len(m[0]):]; rest == "" {
			slices.Sort(primes)
			return primes, nil
		}
		sign := primeSign.FindString(rest)
		if sign == "" {
			return nil, fmt.Errorf("found %s where a multiplication sign is expected", short(rest))
		}
		rest = rest[len(sign):]
	}
}

// mostPrimes is how many factors a list may have: 2^63 has 63.
const mostPrimes = 64

// isPrime is exact below 2^64 (big.Int.ProbablyPrime with n = 0, Baillie-PSW).
func isPrime(n int) bool { return big.NewInt(int64(n)).ProbablyPrime(0) }

func init() {
	type settings struct {
		MinValue int `toml:"min_value" range:"[2,1000000000]" about:"smallest number"`
		MaxValue int `toml:"max_value" range:"[2,1000000000]" about:"largest number"`
	}
	generate(family[settings]{
		name: "prime_factorization", summary: "split a number into its prime factors",
		about: `write a number as a product of primes. Right: a list of primes, in any order,
whose product is the number, separated by ×, *, x or commas. Powers are accepted.`,
		format:     "The answer is the prime factors with × between, each as often as it divides the number: 2 × 3 × 3 for 18.",
		defaults:   settings{2, 1000},
		curriculum: []Attribute{{"value", []float64{100, 1000, 5000, 10000}, []string{"max_value"}}},
		check: func(row verify.Problem, answer string) error {
			want, err := primeFactors(row.Answer)
			if err != nil || len(want) == 0 {
				return lacks("the row's answer is not a list of primes")
			}
			if left, right, found := strings.Cut(answer, "="); found { // 12 = 2 × 2 × 3, or the other way round
				n := 1
				for _, p := range want {
					n *= p
				}
				switch number := strconv.Itoa(n); number {
				case strings.TrimSpace(left):
					answer = right
				case strings.TrimSpace(right):
					answer = left
				default:
					return fmt.Errorf("the product has to be %d", n)
				}
			}
			got, err := primeFactors(answer)
			if err != nil {
				return err
			}
			return judged(row, slices.Equal(got, want))
		},
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			n := r.Between(s.MinValue, s.MaxValue)
			var factors []int
			rest := n
			for d := 2; d*d <= rest; d++ {
				for ; rest%d == 0; rest /= d {
					factors = append(factors, d)
				}
			}
			if rest > 1 {
				factors = append(factors, rest)
			}
			return problem{key: strconv.Itoa(n), question: fmt.Sprintf("Split %d into its prime factors.", n), answer: joined(factors, " × ")}, true
		},
	})
}

// primesBelow marks the primes below n (sieve of Eratosthenes).
func primesBelow(n int) []bool {
	prime := make([]bool, n)
	for i := 2; i < n; i++ {
		prime[i] = true
	}
	for i := 2; i*i < n; i++ {
		if prime[i] {
			for j := i * i; j < n; j += i {
				prime[j] = false
			}
		}
	}
	return prime
}

func init() {
	type settings struct {
		MinN int `toml:"min_n" range:"[1,1000000]" about:"smallest bound of the range"`
		MaxN int `toml:"max_n" range:"[2,1000000]" about:"largest bound of the range"`
	}
	generate(family[settings]{
		name: "count_primes", summary: "count the primes in a range",
		about:      "count the primes in a range, both bounds included. Right: a number equal to the count.",
		format:     wholeNumber,
		defaults:   settings{1, 10000},
		curriculum: []Attribute{{"n", []float64{100, 1000, 10000, 50000, 100000}, []string{"max_n"}}},
		check:      sameNumber,
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			a, b := r.Between(s.MinN, s.MaxN), r.Between(s.MinN, s.MaxN)
			a, b = min(a, b), max(a, b)
			return problem{
				key:      fmt.Sprintf("%d-%d", a, b),
				question: fmt.Sprintf("How many primes p are there with %d <= p <= %d?", a, b),
				finish: func(p *problem) {
					count := 0
					for _, prime := range primesBelow(b + 1)[a:] {
						if prime {
							count++
						}
					}
					p.answer = strconv.Itoa(count)
				},
			}, true
		},
	})
}

func init() {
	type settings struct {
		MinN int `toml:"min_n" range:"[1,1000000000000000]" about:"smallest number"`
		MaxN int `toml:"max_n" range:"[1,1000000000000000]" about:"largest number"`
	}
	generate(family[settings]{
		name: "count_bits", summary: "count the ones of a binary number",
		about:      "count the ones in a number's binary form. Right: a number equal to the count.",
		format:     wholeNumber,
		defaults:   settings{1, 1<<31 - 1},
		curriculum: []Attribute{{"n", []float64{100, 1000, 1000000, 100000000, 2147483647}, []string{"max_n"}}},
		check:      sameNumber,
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			n := r.Between(s.MinN, s.MaxN)
			return problem{
				key:      strconv.Itoa(n),
				question: fmt.Sprintf("Written in base 2, how many digits 1 does %d have?", n),
				answer:   strconv.Itoa(bits.OnesCount64(uint64(n))),
			}, true
		},
	})
}

func init() {
	type settings struct {
		MinBase  int `toml:"min_base" range:"[2,36]" about:"smallest base"`
		MaxBase  int `toml:"max_base" range:"[3,36]" about:"largest base"`
		MinValue int `toml:"min_value" range:"[0,1000000000]" about:"smallest number"`
		MaxValue int `toml:"max_value" range:"[1,1000000000]" about:"largest number"`
	}
	generate(family[settings]{
		name: "base_conversion", summary: "write a number in another base",
		about: `convert a number from one base to another. Right: the numeral; letters may be of either
case.`,
		format:   "Digits above 9 are the letters a to z. The answer is the numeral alone, without a prefix.",
		defaults: settings{2, 16, 0, 1000},
		curriculum: []Attribute{
			{"base", []float64{9, 18, 27, 36}, []string{"max_base"}},
			{"value", []float64{1000, 10000, 100000, 1000000}, []string{"max_value"}},
		},
		check: sameFold,
		valid: func(s *settings) error {
			if s.MinBase == s.MaxBase {
				return outOfRange("max_base", s.MaxBase, "a whole number above min_base")
			}
			return nil
		},
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			n, from, to := r.Between(s.MinValue, s.MaxValue), r.Between(s.MinBase, s.MaxBase), r.Between(s.MinBase, s.MaxBase)
			return problem{
				question: fmt.Sprintf("The number %s is written in base %d. Write it in base %d.", strconv.FormatInt(int64(n), from), from, to),
				answer:   strconv.FormatInt(int64(n), to),
			}, from != to
		},
	})
}

// parseInteger reads a whole number in base 2, 8, 10 or 16 by its prefix, as Go
// and Python write them.
func parseInteger(text string) (*big.Int, bool) {
	const maxBytes = 4096
	if len(text) > maxBytes {
		return nil, false
	}
	return new(big.Int).SetString(text, 0)
}

func init() {
	type settings struct {
		Difficulty int `toml:"difficulty" range:"[1,10]" about:"depth of the expression"`
	}
	var expression func(r *random.Rand, depth int) (string, *big.Int)
	expression = func(r *random.Rand, depth int) (string, *big.Int) {
		if depth == 0 {
			n := r.Between(0, 0xffff)
			return fmt.Sprintf("%#x", n), big.NewInt(int64(n))
		}
		left, x := expression(r, depth-1)
		if op := r.Between(0, 4); op < 3 {
			right, y := expression(r, r.Between(0, depth-1))
			z := [...]func(x, y *big.Int) *big.Int{new(big.Int).Add, new(big.Int).Sub, new(big.Int).Mul}[op](x, y)
			return "(" + left + " " + string("+-*"[op]) + " " + right + ")", z
		} else if n := r.Between(0, 3); op == 3 {
			return fmt.Sprintf("(%s << %#x)", left, n), new(big.Int).Lsh(x, uint(n))
		} else {
			return fmt.Sprintf("(%s >> %#x)", left, n), new(big.Int).Rsh(x, uint(n))
		}
	}
	generate(family[settings]{
		name: "bitwise_arithmetic", summary: "work out hexadecimal sums, products and shifts",
		about: `work out sums, differences, products and shifts of hexadecimal numbers. Right: a number
of that value, in base 16, 10, 8 or 2 according to its prefix.`,
		format:     "The answer is one hexadecimal number such as 0x1f or -0x1f.",
		defaults:   settings{2},
		curriculum: []Attribute{{"difficulty", []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, []string{"difficulty"}}},
		check: func(row verify.Problem, answer string) error {
			want, ok := parseInteger(row.Answer)
			if !ok {
				return lacks("the row's answer is not a whole number")
			}
			got, ok := parseInteger(answer)
			if !ok {
				return fmt.Errorf("%s is not a whole number with the prefix of its base", short(answer))
			}
			return judged(row, got.Cmp(want) == 0)
		},
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			text, value := expression(r, s.Difficulty)
			return problem{
				question: "Work out this expression over signed whole numbers of any size; << and >> shift bits, >> rounding down.\n" + text,
				answer:   fmt.Sprintf("%#x", value),
			}, true
		},
	})
}

func init() {
	type settings struct {
		MinTerms         int  `toml:"min_terms" range:"[2,20]" about:"minimum count of numbers"`
		MaxTerms         int  `toml:"max_terms" range:"[2,20]" about:"maximum count of numbers"`
		MinDigits        int  `toml:"min_digits" range:"[1,12]" about:"minimum number of digits of a number"`
		MaxDigits        int  `toml:"max_digits" range:"[1,12]" about:"maximum number of digits of a number"`
		AllowParentheses bool `toml:"allow_parentheses" about:"put some pairs of numbers in brackets"`
		AllowNegation    bool `toml:"allow_negation" about:"numbers may be negative"`
	}
	operand := func(s *settings, r *random.Rand) string {
		n := digitsBetween(r, s.MinDigits, s.MaxDigits)
		if s.AllowNegation && r.Chance(0.2) {
			return fmt.Sprintf("(-%d)", n)
		}
		return strconv.Itoa(n)
	}
	generate(family[settings]{
		name: "basic_arithmetic", summary: "work out an expression with + - * /",
		about: `work out an expression over whole numbers with + - * / and brackets whose value is whole.
Right: a number equal to the value.`,
		format:   wholeNumber,
		defaults: settings{2, 6, 1, 4, true, true},
		curriculum: []Attribute{
			{"num_terms", []float64{2, 3, 4, 5, 6}, []string{"min_terms", "max_terms"}},
			{"num_digits", []float64{1, 2, 3, 4}, []string{"min_digits", "max_digits"}},
		},
		check: sameNumber,
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			var parts []string
			for left := r.Between(s.MinTerms, s.MaxTerms); left > 0; left-- {
				if parts != nil {
					parts = append(parts, string("+-*"[r.Between(0, 2)]))
				}
				switch n := digitsBetween(r, s.MinDigits, s.MaxDigits); {
				case left > 1 && r.Chance(0.15): // a quotient that comes out even
					d := r.Between(1, 12)
					parts = append(parts, strconv.Itoa(n/d*d), "/", strconv.Itoa(d))
					left--
				case left > 1 && left < 20 && s.AllowParentheses && r.Chance(0.25):
					parts = append(parts, "("+operand(s, r), string("+-"[r.Between(0, 1)]), operand(s, r)+")")
					left--
				default:
					parts = append(parts, operand(s, r))
				}
			}
			text := strings.Join(parts, " ")
			value, ok := evaluate(text)
			if !ok || !value.IsInt() {
				return problem{}, false
			}
			return problem{question: "Work out " + text + ", with * and / before + and -.", answer: value.Num().String()}, true
		},
	})
}

// legs are the animals of leg_counting, by singular and plural.
var legs = []struct {
	one, many string
	legs      int
}{
	{"ant", "ants", 6}, {"bee", "bees", 6}, {"cat", "cats", 4}, {"chicken", "chickens", 2}, {"cow", "cows", 4},
	{"crab", "crabs", 10}, {"dog", "dogs", 4}, {"duck", "ducks", 2}, {"earthworm", "earthworms", 0}, {"elephant", "elephants", 4},
	{"frog", "frogs", 4}, {"goat", "goats", 4}, {"goose", "geese", 2}, {"horse", "horses", 4}, {"ladybird", "ladybirds", 6},
	{"lobster", "lobsters", 10}, {"moth", "moths", 6}, {"mouse", "mice", 4}, {"ostrich", "ostriches", 2}, {"owl", "owls", 2},
	{"pig", "pigs", 4}, {"rabbit", "rabbits", 4}, {"scorpion", "scorpions", 8}, {"shark", "sharks", 0}, {"sheep", "sheep", 4},
	{"snail", "snails", 0}, {"snake", "snakes", 0}, {"spider", "spiders", 8}, {"tick", "ticks", 8}, {"wasp", "wasps", 6},
}

func init() {
	type settings struct {
		MinAnimals   int `toml:"min_animals" range:"[1,30]" about:"minimum number of kinds of animals"`
		MaxAnimals   int `toml:"max_animals" range:"[1,30]" about:"maximum number of kinds of animals"`
		MinInstances int `toml:"min_instances" range:"[1,100000]" about:"minimum number of animals of a kind"`
		MaxInstances int `toml:"max_instances" range:"[1,100000]" about:"maximum number of animals of a kind"`
	}
	generate(family[settings]{
		name: "leg_counting", summary: "count the legs of some animals",
		about:    "count the legs of a list of animals. Right: a number equal to the sum.",
		format:   wholeNumber,
		defaults: settings{3, 10, 1, 15},
		curriculum: []Attribute{
			{"num_animals", []float64{3, 5, 10, 15, 20, 25, 30}, []string{"min_animals", "max_animals"}},
			{"num_instances", []float64{2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}, []string{"min_instances", "max_instances"}},
		},
		check: sameNumber,
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			total := 0
			var parts []string
			for _, a := range sample(r, legs, r.Between(s.MinAnimals, s.MaxAnimals)) {
				n := r.Between(s.MinInstances, s.MaxInstances)
				total += n * a.legs
				name := a.many
				if n == 1 {
					name = a.one
				}
				parts = append(parts, fmt.Sprintf("%d %s", n, name))
			}
			return problem{
				key:      strings.Join(slices.Sorted(slices.Values(parts)), ","),
				question: "A farm keeps " + strings.Join(parts, ", ") + ". None has lost a leg, and the large claws of crabs and lobsters count as legs, those of scorpions do not. How many legs are there?",
				answer:   strconv.Itoa(total),
			}, true
		},
	})
}
