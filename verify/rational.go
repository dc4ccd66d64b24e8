package verify

import (
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// decimal is a number without its sign: digits (plain, in groups of three
// between commas, or with single underscores between digits), a fraction and an
// exponent, each optional where the rest stands.
var decimal = regexp.MustCompile(`^(\d+(?:_\d+)*|\d{1,3}(?:,\d{3})+)?(?:(\.)(\d*))?(?:[eE]([-+]?\d+))?$`)

// parseNumber reads one number exactly: an optional sign (+, - or U+2212), a
// decimal ("12", "1,234.5", "1_000", ".5", "12.", "1.5e3"), or, unless plain, a
// fraction of two decimals ("1/2", "-50/100"). Decimal digits of any script
// count as digits, as in Python's int and Decimal. Spaces around the number are
// dropped; a full stop may follow it.
func parseNumber(text string, plain bool) (*big.Rat, error) {
	s := asciiDigits(strings.TrimSpace(text))
	negative := false
	for _, sign := range []string{"-", "−", "+"} {
		if rest, ok := strings.CutPrefix(s, sign); ok {
			s, negative = rest, sign != "+"
			break
		}
	}
	s = strings.ReplaceAll(s, "{,}", ",") // TeX's comma without a space
	over, under, isFraction := strings.Cut(s, "/")
	if isFraction && plain {
		return nil, fmt.Errorf("%s is a fraction; accepted: a decimal number", quote(text))
	}
	value, err := parseDecimal(strings.TrimRight(over, " "))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", quote(text), err)
	}
	if isFraction {
		divisor, err := parseDecimal(strings.TrimLeft(under, " "))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", quote(text), err)
		}
		if divisor.Sign() == 0 {
			return nil, fmt.Errorf("%s divides by zero", quote(text))
		}
		value.Quo(value, divisor)
	}
	if negative {
		value.Neg(value)
	}
	return value, nil
}

var errNotNumber = errors.New("not a number")

var separators = strings.NewReplacer(",", "", "_", "") // of thousands

// tenTo is 10 to the power n, for n up to [maxLiteralDigits].
func tenTo(n int) int64 {
	p := int64(1)
	for range n {
		p *= 10
	}
	return p
}

func parseDecimal(s string) (*big.Rat, error) {
	if n, err := strconv.ParseUint(s, 10, 63); err == nil { // most are such, and matching takes longer
		return new(big.Rat).SetInt64(int64(n)), nil
	}
	if whole, fraction, cut := strings.Cut(s, "."); cut && whole != "" && fraction != "" && len(s) <= maxLiteralDigits {
		if n, err := strconv.ParseUint(whole+fraction, 10, 63); err == nil {
			return big.NewRat(int64(n), tenTo(len(fraction))), nil
		}
	}
	m := decimal.FindStringSubmatch(s)
	if m == nil {
		return nil, errNotNumber
	}
	whole, fraction, exponent := m[1], m[3], m[4]
	if whole == "" && fraction == "" {
		return nil, errNotNumber
	}
	whole = separators.Replace(whole)
	if len(whole)+len(fraction) > maxDigits {
		return nil, fmt.Errorf("more than %d digits", maxDigits)
	}
	power := 0
	if exponent != "" {
		e, err := strconv.Atoi(exponent)
		if err != nil || e > maxExponent || e < -maxExponent {
			return nil, fmt.Errorf("an exponent beyond ±%d", maxExponent)
		}
		power = e
	}
	digits, _ := new(big.Int).SetString(whole+fraction, 10) // digits only, so it cannot fail
	power -= len(fraction)
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(power, -power))), nil)
	if power < 0 {
		return new(big.Rat).SetFrac(digits, scale), nil
	}
	return new(big.Rat).SetInt(digits.Mul(digits, scale)), nil
}

// asciiDigits writes decimal digits of other scripts as 0 to 9. The ranges of
// Unicode's category Nd consist of whole runs 0 to 9 (Unicode Standard, 4.6).
func asciiDigits(text string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x80 || !unicode.Is(unicode.Nd, r) {
			return r
		}
		for _, t := range unicode.Nd.R16 {
			if rune(t.Lo) <= r && r <= rune(t.Hi) {
				return '0' + (r-rune(t.Lo))%10
			}
		}
		for _, t := range unicode.Nd.R32 {
			if rune(t.Lo) <= r && r <= rune(t.Hi) {
				return '0' + (r-rune(t.Lo))%10
			}
		}
		return r
	}, text)
}

// exact writes a rational for people: "3", "-1/2".
func exact(x *big.Rat) string { return shown(x.RatString()) }
