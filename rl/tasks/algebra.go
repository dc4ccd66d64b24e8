package tasks

import (
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/verify"
)

// Algebra and series: simple_equations, polynomial_multiplication,
// polynomial_equations, complex_arithmetic, number_sequence, simple_geometry.

var assigned = regexp.MustCompile(`^[A-Za-z]\s*=\s*`)

func init() {
	type settings struct {
		MinTerms int `toml:"min_terms" range:"[1,20]" about:"minimum number of terms of the left side"`
		MaxTerms int `toml:"max_terms" range:"[2,20]" about:"maximum number of terms of the left side"`
		MinValue int `toml:"min_value" range:"[1,100000000]" about:"smallest number"`
		MaxValue int `toml:"max_value" range:"[2,100000000]" about:"largest number"`
	}
	generate(family[settings]{
		name: "simple_equations", summary: "solve a linear equation",
		about:    "solve a linear equation whose solution is a whole number. Right: a number equal to it, also after \"x =\".",
		format:   wholeNumber,
		defaults: settings{2, 4, 1, 100},
		curriculum: []Attribute{
			{"min_terms", []float64{2, 3, 4, 5}, []string{"min_terms"}},
			{"max_terms", []float64{5, 10, 15, 20}, []string{"max_terms"}},
			{"min_value", []float64{1, 10, 100, 1000}, []string{"min_value"}},
			{"max_value", []float64{100, 10000, 1000000, 100000000}, []string{"max_value"}},
		},
		check: func(row verify.Problem, answer string) error {
			return sameNumber(row, assigned.ReplaceAllString(answer, ""))
		},
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			x := string("abkmnpqrstuvwxyz"[r.Between(0, 15)])
			solution := r.Between(s.MinValue, s.MaxValue)
			n := r.Between(s.MinTerms, s.MaxTerms)
			unknown := r.Between(0, n-1)
			text, slope, value := "", 0, 0
			for i := range n {
				c, sign := r.Between(s.MinValue, s.MaxValue), 1
				if i > 0 && r.Chance(0.5) {
					sign = -1
				}
				if i > 0 {
					text += map[int]string{1: " + ", -1: " - "}[sign]
				}
				if i == unknown || i > 0 && r.Chance(0.2) {
					text += fmt.Sprintf("%d*%s", c, x)
					slope += sign * c
					value += sign * c * solution
				} else {
					text += strconv.Itoa(c)
					value += sign * c
				}
			}
			return problem{
				question: fmt.Sprintf("Which %s solves %s = %d?", x, text, value),
				answer:   strconv.Itoa(solution),
			}, slope != 0
		},
	})
}

// polynomialText writes a polynomial in one variable, highest power first.
func polynomialText(coefficients []int, x string) string {
	var b strings.Builder
	for power := len(coefficients) - 1; power >= 0; power-- {
		c := coefficients[power]
		switch {
		case c == 0:
			continue
		case b.Len() == 0 && c < 0:
			b.WriteString("-")
		case b.Len() > 0 && c < 0:
			b.WriteString(" - ")
		case b.Len() > 0:
			b.WriteString(" + ")
		}
		c = max(c, -c)
		switch {
		case power == 0:
			b.WriteString(strconv.Itoa(c))
		case c != 1:
			fmt.Fprintf(&b, "%d*", c)
			fallthrough
		default:
			b.WriteString(x)
			if power > 1 {
				fmt.Fprintf(&b, "**%d", power)
			}
		}
	}
	if b.Len() == 0 {
		return "0"
	}
	return b.String()
}

// randomPolynomial has terms different powers with coefficients up to high.
func randomPolynomial(r *random.Rand, terms, minDegree, maxDegree, low, high int) []int {
	coefficients := make([]int, maxDegree+1)
	powers := countTo(maxDegree + 1)[minDegree:]
	for _, p := range sample(r, powers, min(terms, len(powers))) {
		if coefficients[p] = r.Between(low, high); r.Chance(0.5) {
			coefficients[p] = -coefficients[p]
		}
	}
	return coefficients
}

// univariate writes the polynomial of an algebra in its first variable.
func univariate(p polynomial, x string) string {
	highest := 0
	for m := range p {
		highest = max(highest, m[0])
	}
	text := ""
	for power := highest; power >= 0; power-- {
		c := p[monomial{power}]
		if c == nil {
			continue
		}
		one := polynomialText(append(make([]int, power), 1), x)
		size := new(big.Rat).Abs(c).RatString()
		if power > 0 && size == "1" {
			size = one
		} else if power > 0 {
			size += "*" + one
		}
		switch {
		case text == "" && c.Sign() < 0:
			text = "-" + size
		case text == "":
			text = size
		case c.Sign() < 0:
			text += " - " + size
		default:
			text += " + " + size
		}
	}
	if text == "" {
		return "0"
	}
	return text
}

func init() {
	type settings struct {
		MinTerms       int `toml:"min_terms" range:"[1,16]" about:"minimum number of terms of a factor"`
		MaxTerms       int `toml:"max_terms" range:"[2,16]" about:"maximum number of terms of a factor"`
		MinValue       int `toml:"min_value" range:"[1,100000000]" about:"smallest absolute coefficient"`
		MaxValue       int `toml:"max_value" range:"[2,100000000]" about:"largest absolute coefficient"`
		MinDegree      int `toml:"min_degree" range:"[0,10]" about:"smallest power in a factor"`
		MaxDegree      int `toml:"max_degree" range:"[1,10]" about:"largest power in a factor"`
		MinPolynomials int `toml:"min_polynomials" range:"[2,10]" about:"minimum number of factors"`
		MaxPolynomials int `toml:"max_polynomials" range:"[2,10]" about:"maximum number of factors"`
	}
	generate(family[settings]{
		name: "polynomial_multiplication", summary: "expand a product of polynomials",
		about: `multiply polynomials. Right: a polynomial equal to the product, in ** or ^ or TeX
notation. For rows with expanded = true, as this task draws them, it has to be expanded.
Other rows, such as reasoning-gym's, accept every equal form.`,
		format:   "The answer is the product multiplied out, such as 3*x**2 - x + 5.",
		defaults: settings{2, 4, 1, 100, 0, 3, 2, 3},
		curriculum: []Attribute{
			{"min_terms", []float64{2, 4, 6, 8}, []string{"min_terms"}}, {"max_terms", []float64{4, 8, 12, 16}, []string{"max_terms"}},
			{"min_value", []float64{1, 10, 100, 1000}, []string{"min_value"}}, {"max_value", []float64{100, 10000, 1000000, 100000000}, []string{"max_value"}},
			{"min_degree", []float64{0, 1, 2, 3}, []string{"min_degree"}}, {"max_degree", []float64{2, 4, 8, 10}, []string{"max_degree"}},
			{"min_polynomials", []float64{2, 3, 4, 5}, []string{"min_polynomials"}}, {"max_polynomials", []float64{4, 6, 8, 10}, []string{"max_polynomials"}},
		},
		check: func(row verify.Problem, answer string) error {
			var a algebra
			want, err := a.read(row.Answer)
			if err != nil {
				return lacks("the row's answer: %v", err)
			}
			if _, err := row.Field("expanded", &a.expanded); err != nil {
				return &rowError{err}
			}
			got, err := a.read(answer)
			if err != nil {
				return err
			}
			return judged(row, got.equal(want))
		},
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			x := pick(r, []string{"x", "y", "z"})
			factors := make([]string, r.Between(s.MinPolynomials, s.MaxPolynomials))
			for i := range factors {
				c := randomPolynomial(r, r.Between(s.MinTerms, s.MaxTerms), s.MinDegree, s.MaxDegree, s.MinValue, s.MaxValue)
				factors[i] = "(" + polynomialText(c, x) + ")"
			}
			product, err := new(algebra).read(strings.Join(factors, "*"))
			return problem{
				key:      strings.Join(slices.Sorted(slices.Values(factors)), "*"),
				question: "Multiply out " + strings.Join(factors, " * ") + ".",
				answer:   univariate(product, x),
				metadata: map[string]any{"expanded": true},
			}, err == nil
		},
	})
}

var listWords = regexp.MustCompile(`(?i)\band\b|\bor\b|\\cup|[;\s]+`)

// rootsOf reads the solutions of an equation: numbers between commas, "and" or
// white space, in brackets or not, each after "x =" or not.
func rootsOf(text string) ([]*big.Rat, error) {
	text = strings.TrimSpace(text)
	if strings.EqualFold(strings.TrimSuffix(text, "."), "none") || strings.EqualFold(strings.TrimSuffix(text, "."), "no real solutions") {
		return nil, nil
	}
	for _, pair := range []string{"[]", "{}", "()"} {
		if len(text) >= 2 && text[0] == pair[0] && text[len(text)-1] == pair[1] {
			text = text[1 : len(text)-1]
		}
	}
	if text = assignments.ReplaceAllString(text, " "); strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var roots []*big.Rat
	words := false
	for clause := range strings.SplitSeq(text, ",") {
		if !strings.ContainsFunc(clause, unicode.IsDigit) && !notFinite.MatchString(clause) { // such as ", and that is all"
			if denial.MatchString(clause) {
				return nil, fmt.Errorf("%s may negate a number", short(clause))
			}
			words = true
			continue
		}
		for _, part := range listWords.Split(clause, -1) {
			if part == "" {
				continue
			}
			x, err := verify.ParseNumber(part, true)
			if err != nil {
				return nil, err
			}
			if roots = append(roots, x); len(roots) > 64 {
				return nil, fmt.Errorf("there are more than 64 numbers")
			}
		}
	}
	if words && roots == nil {
		return nil, fmt.Errorf("%s has no number", short(text))
	}
	return roots, nil
}

var denial = regexp.MustCompile(`(?i)\b(?:no|not|none|without|never)\b|n't\b`)

var notFinite = regexp.MustCompile(`(?i)\b(?:nan|inf(?:inity)?)\b`)

var assignments = regexp.MustCompile(`\b[A-Za-z](?:_\{?\d\}?)?\s*=`)

// checkRoots: the reference's numbers in any order, each within half a unit of
// the fourth decimal, the last that is asked for.
func checkRoots(row verify.Problem, answer string) error {
	if row.Answer == "" && row.Question == "" {
		return lacks("the row is empty")
	}
	want, err := rootsOf(row.Answer) // "": there are none
	if err != nil {
		return lacks("the row's answer: %v", err)
	}
	got, err := rootsOf(answer)
	if err != nil {
		return err
	}
	if len(got) != len(want) {
		return fmt.Errorf("the answer has %d numbers, but there are %d solutions", len(got), len(want))
	}
	order := func(a, b *big.Rat) int { return a.Cmp(b) }
	slices.SortFunc(want, order)
	slices.SortFunc(got, order)
	tolerance := big.NewRat(1, 20_000)
	for i := range want {
		if d := new(big.Rat).Sub(got[i], want[i]); d.Abs(d).Cmp(tolerance) > 0 {
			return errDiffers
		}
	}
	return nil
}

func init() {
	type settings struct {
		MinDegree int `toml:"min_degree" range:"[1,4]" about:"smallest degree"`
		MaxDegree int `toml:"max_degree" range:"[1,4]" about:"largest degree"`
		MinValue  int `toml:"min_value" range:"[1,1000]" about:"smallest absolute numerator or denominator of a solution"`
		MaxValue  int `toml:"max_value" range:"[2,1000]" about:"largest absolute numerator or denominator of a solution"`
	}
	generate(family[settings]{
		name: "polynomial_equations", summary: "find the real solutions of a polynomial equation",
		about: `find the real solutions of a polynomial equation, or none. An equation is a product of
factors whose solutions are fractions and of quadratics without real solutions. Right: the
solutions in any order, each to within 0.00005; "x = 1.5" and {1, 2} are read too.`,
		format:     "The answer is the different real solutions with commas between, rounded to 4 decimals, or the word none.",
		defaults:   settings{1, 3, 1, 100},
		curriculum: []Attribute{{"degree", []float64{1, 2, 3, 4}, []string{"min_degree", "max_degree"}}},
		check:      checkRoots,
		empty:      true,
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			x := pick(r, []string{"x", "y", "z", "t"})
			degree := r.Between(s.MinDegree, s.MaxDegree)
			text, seen := "1", map[string]*big.Rat{}
			for left := degree; left > 0; {
				if left >= 2 && r.Chance(0.25) { // (x + b)^2 + c, c > 0
					text += fmt.Sprintf("*((%s+%d)**2+%d)", x, r.Between(-9, 9), r.Between(1, 9))
					left -= 2
					continue
				}
				root := big.NewRat(int64(r.Between(s.MinValue, s.MaxValue)*(1-2*r.Between(0, 1))), int64(pick(r, []int{1, 1, 2, 4, 5, 10})))
				seen[root.RatString()] = root
				text += fmt.Sprintf("*(%s*%s-(%s))", root.Denom(), x, root.Num())
				left--
			}
			p, err := new(algebra).read(strings.ReplaceAll(text, "+-", "-"))
			if err != nil {
				return problem{}, false
			}
			answer := "none"
			if len(seen) > 0 {
				var roots []*big.Rat
				for _, root := range seen {
					roots = append(roots, root)
				}
				slices.SortFunc(roots, func(a, b *big.Rat) int { return a.Cmp(b) })
				texts := make([]string, len(roots))
				for i, root := range roots {
					texts[i] = plainDecimal(root)
				}
				answer = strings.Join(texts, ", ")
			}
			return problem{question: fmt.Sprintf("Find all real %s with %s = 0.", x, univariate(p, x)), answer: answer}, true
		},
	})
}

// complexForm is one or two terms with at most one i among them.
var complexForm = regexp.MustCompile(`^\(?\s*[-+]?\s*[\d.]*\s*\*?\s*(i?)\s*(?:[-+]\s*[\d.]*\s*\*?\s*(i?)\s*)?\)?$`)

// complexOf reads a + b i; i is written i, I or j. An expression that has yet to
// be worked out is none.
func complexOf(text string) (re, im *big.Rat, err error) {
	text = strings.NewReplacer("I", "i", "j", "i", "J", "i", "−", "-").Replace(text)
	m := complexForm.FindStringSubmatch(text)
	if m == nil || strings.ContainsAny(strings.Trim(text, "+-( "), "+-") && m[1]+m[2] != "i" {
		return nil, nil, fmt.Errorf("%s is not in the form a + bi", short(text))
	}
	p, err := new(algebra).read(text)
	if err != nil {
		return nil, nil, err
	}
	re, im = new(big.Rat), new(big.Rat)
	for m, c := range p {
		switch m {
		case monomial{}:
			re = c
		case monomial{1}:
			im = c
		default:
			return nil, nil, fmt.Errorf("%s is not in the form a + bi", short(text))
		}
	}
	return re, im, nil
}

func init() {
	type settings struct {
		MinReal int `toml:"min_real" range:"[-1000000,1000000]" about:"smallest real part"`
		MaxReal int `toml:"max_real" range:"[-1000000,1000000]" about:"largest real part"`
		MinImag int `toml:"min_imag" range:"[-1000000,1000000]" about:"smallest imaginary part"`
		MaxImag int `toml:"max_imag" range:"[-1000000,1000000]" about:"largest imaginary part"`
	}
	show := func(a, b int) string { return strings.ReplaceAll(fmt.Sprintf("(%d + %di)", a, b), "+ -", "- ") }
	generate(family[settings]{
		name: "complex_arithmetic", summary: "add, subtract, multiply and divide complex numbers",
		about: `work out an operation on two complex numbers; quotients have whole parts. Right: a number
a + bi with both parts right, in either order.`,
		format:   "The answer is a complex number a + bi.",
		defaults: settings{-10, 10, -10, 10},
		curriculum: []Attribute{
			{"min_real", []float64{-10, -100, -10000}, []string{"min_real"}}, {"max_real", []float64{10, 100, 10000}, []string{"max_real"}},
			{"min_imag", []float64{-10, -100, -10000}, []string{"min_imag"}}, {"max_imag", []float64{10, 100, 10000}, []string{"max_imag"}},
		},
		check: func(row verify.Problem, answer string) error {
			wantRe, wantIm, err := complexOf(row.Answer)
			if err != nil {
				return lacks("the row's answer: %v", err)
			}
			re, im, err := complexOf(answer)
			if err != nil {
				return err
			}
			return judged(row, re.Cmp(wantRe) == 0 && im.Cmp(wantIm) == 0)
		},
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			a, b := r.Between(s.MinReal, s.MaxReal), r.Between(s.MinImag, s.MaxImag)
			c, d := r.Between(s.MinReal, s.MaxReal), r.Between(s.MinImag, s.MaxImag)
			op := pick(r, []string{"+", "+", "-", "-", "*", "/"})
			re, im := a+c, b+d
			switch op {
			case "-":
				re, im = a-c, b-d
			case "*":
				re, im = a*c-b*d, a*d+b*c
			case "/": // the dividend is made from the quotient
				re, im, a, b = a, b, a*c-b*d, a*d+b*c
				if c == 0 && d == 0 {
					return problem{}, false
				}
			}
			return problem{
				question: "Work out " + show(a, b) + " " + op + " " + show(c, d) + ".",
				answer:   strings.Trim(show(re, im), "()"),
			}, true
		},
	})
}

func init() {
	type settings struct {
		MinTerms int `toml:"min_terms" range:"[4,20]" about:"minimum number of terms shown"`
		MaxTerms int `toml:"max_terms" range:"[4,20]" about:"maximum number of terms shown"`
		MinValue int `toml:"min_value" range:"[-10000,10000]" about:"smallest first term"`
		MaxValue int `toml:"max_value" range:"[-10000,10000]" about:"largest first term"`
	}
	generate(family[settings]{
		name: "number_sequence", summary: "continue a sequence of numbers",
		about: `continue a sequence that follows one of a few rules: a constant step, a constant factor, a
step that grows by a constant, two alternating steps, or the sum of the two previous terms.
Right: a number equal to the next term. Other continuations may be plausible; only this one
is right.`,
		format:   wholeNumber,
		defaults: settings{4, 8, -100, 100},
		curriculum: []Attribute{
			{"terms", []float64{4, 8, 12, 16}, []string{"min_terms", "max_terms"}},
			{"min_value", []float64{-100, -500, -1000, -10000}, []string{"min_value"}},
			{"max_value", []float64{100, 500, 1000, 10000}, []string{"max_value"}},
		},
		check: sameNumber,
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			n := r.Between(s.MinTerms, s.MaxTerms)
			first, step, other := r.Between(s.MinValue, s.MaxValue), r.Between(-12, 12), r.Between(-12, 12)
			factor := pick(r, []int{-3, -2, 2, 3})
			terms := []int{first, first + step}
			kind := r.Between(0, 4)
			if kind == 1 {
				terms[1] = first * factor
			}
			for i := 2; i <= n; i++ {
				last := terms[i-1]
				switch kind {
				case 0:
					last += step
				case 1:
					last *= factor
				case 2:
					last += step + (i-1)*other
				case 3:
					last += map[bool]int{true: step, false: other}[i%2 == 1]
				case 4:
					last += terms[i-2]
				}
				terms = append(terms, last)
			}
			return problem{
				question: "Which number comes next: " + joined(terms[:n], ", ") + "?",
				answer:   strconv.Itoa(terms[n]),
			}, step != 0 && other != 0 && first != 0
		},
	})
}

func init() {
	type settings struct {
		MinSides int `toml:"min_sides" range:"[3,60]" about:"minimum number of sides"`
		MaxSides int `toml:"max_sides" range:"[3,60]" about:"maximum number of sides"`
		MinAngle int `toml:"min_angle" range:"[1,179]" about:"smallest given angle, in degrees"`
		MaxAngle int `toml:"max_angle" range:"[1,179]" about:"largest given angle, in degrees"`
	}
	generate(family[settings]{
		name: "simple_geometry", summary: "find the last angle of a convex polygon",
		about:      "find the last interior angle of a convex polygon from the others. Right: a number equal to it.",
		format:     "The answer is a number of degrees, without a unit.",
		defaults:   settings{3, 6, 10, 170},
		curriculum: []Attribute{{"sides", []float64{5, 10, 15, 30}, []string{"min_sides", "max_sides"}}},
		check:      sameNumber,
		valid: func(s *settings) error {
			// All angles but one are given: they have to be able to leave less than
			// 180 degrees, so a polygon of n sides needs (n-1) max_angle > (n-3) 180.
			if n := s.MaxSides; (n-1)*s.MaxAngle <= (n-3)*180 {
				return outOfRange("max_angle", s.MaxAngle, fmt.Sprintf("a whole number above %d for %d sides", (n-3)*180/(n-1), n))
			}
			return nil
		},
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			// The last angle is drawn first: what the others leave is mostly 179.
			n := r.Between(s.MinSides, s.MaxSides)
			sum, given := (n-2)*180, make([]int, n-1)
			low, high := max(1, sum-len(given)*s.MaxAngle), min(179, sum-len(given)*s.MinAngle)
			if low > high {
				return problem{}, false
			}
			last := r.Between(low, high)
			sum -= last
			for i := range given {
				left := n - 2 - i // given angles still to come
				given[i] = r.Between(max(s.MinAngle, sum-left*s.MaxAngle), min(s.MaxAngle, sum-left*s.MinAngle))
				sum -= given[i]
			}
			shuffle(r, given)
			return problem{
				key:      joined(slices.Sorted(slices.Values(given)), ","),
				question: fmt.Sprintf("A convex polygon has %d sides. All its interior angles but one measure, in degrees, %s. How large is the last one?", n, joined(given, ", ")),
				answer:   strconv.Itoa(last),
			}, true
		},
	})
}
