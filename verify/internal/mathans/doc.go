// Package mathans reads mathematical answers, in LaTeX or plain text, and
// decides whether two of them are the same.
//
//	text ── tokens ── tree ─┬─ collections, relations, matrices: compared part by part
//	                        └─ scalars ─┬─ rationals: exactly (big.Rat)
//	                                    ├─ other constants: to a proven number of bits
//	                                    └─ expressions in variables: at seeded rational points
//
// No float64 decides an equality. Rational values are compared as rationals. Values with roots are
// calculated to as many bits as the separation bound of Burnikel, Funke, Mehlhorn, Schirra and
// Schmitt ("A separation bound for real algebraic expressions", ESA 2001) asks for: two different
// algebraic numbers differ by more than that bound, so agreement is a proof. No such bound is known
// for values that need π, e, logarithms or trigonometric functions. Two of them count as equal if
// they agree to transcendentalBits more bits than the size of their parts asks for.
//
// Expressions in variables are compared at rational points, with the same
// arithmetic; two different polynomials of degree d agree at one of our points
// with a probability of at most d/2^12 (Schwartz, "Fast probabilistic
// algorithms for verification of polynomial identities", 1980).
//
// A recursive-descent parser reads every text in one pass, with caps on length and depth. All
// arithmetic runs on a budget; a comparison that exceeds it ends as "not proven equal". The package
// keeps π and ln 2 and no other state: everything is safe for concurrent use.
package mathans

import "errors"

// Budgets. They are far above what honest answers need.
const (
	maxTextBytes       = 4096    // of one answer
	maxDepth           = 96      // of nesting in an answer
	maxDigits          = 400     // of one number
	maxExponent        = 400     // in scientific notation
	maxRatBits         = 1 << 15 // of a numerator or denominator: 2006! has 19,100
	maxFactorial       = 3000
	maxRootIndex       = 64
	maxPower           = 1 << 14 // of a value that is not rational
	maxPrecision       = 1 << 14 // bits that a proof of equality may take
	maxProbePrecision  = 1 << 11 // the same at one point of an expression in variables
	startPrecision     = 192     // bits of the first, refuting calculation
	transcendentalBits = 512     // agreement asked of constants without a separation bound
	probeBits          = 96      // the same at one point of an expression in variables
	maxWork            = 6_000   // units of arithmetic in one comparison, see budget.spend
	maxComparisons     = 4_000   // pairs of parts looked at in one comparison
	maxItems           = 200     // of a list, set or union
	maxVariants        = 16      // readings of an answer with several ±
	numProbes          = 6
)

var (
	errTooLong   = errors.New("it is longer than an answer may be")
	errTooDeep   = errors.New("it is nested too deeply")
	errBudget    = errors.New("it is too large to calculate")
	errUndefined = errors.New("it is undefined")
	errSymbolic  = errors.New("it is not a value")
)
