package mathans

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// separators between groups of three digits. A bare comma or a space groups
// digits only where no bracket is open: (12,102) is a pair.
var separators = []string{`{,}`, `{, }`, ` {,}`, ` {, }`, `,\!`, `{,\!}`, `\,`, `{\,}`, `\ `, `,`, ` `, `~`, `\;`}

// number reads digits with separators, a decimal part and an exponent.
func (l *lexer) number() error {
	start := l.at
	groups := []string{l.digits()}
	used := ""
	for _, sep := range separators {
		if l.after("_", "^") { // \log_2 128
			break
		}
		if groups[0] == "" || len(groups[0]) > 3 || groups[0][0] == '0' && len(groups[0]) > 0 {
			break
		}
		if (sep == "," || sep == " ") && len(l.open) > 0 && l.open[len(l.open)-1] == '(' {
			continue
		}
		for {
			after, ok := l.beyond(sep)
			if !ok || !isGroup(after) {
				break
			}
			l.at = len(l.text) - len(after)
			groups = append(groups, l.digits())
			used = sep
		}
		if used != "" {
			break
		}
	}
	whole, fraction, decimal := strings.Join(groups, ""), "", false
	for _, point := range []string{".", `{,}`, "{.}"} {
		if after, ok := l.beyond(point); ok && after != "" && isDigit(after[0]) {
			l.at = len(l.text) - len(after)
			fraction, decimal = l.digits(), true
			break
		}
	}
	for _, over := range []string{`\overline`, `\bar`, `\dot`} { // 0.\overline{3}
		if after, ok := l.beyond("." + over); ok && !decimal {
			l.at, decimal = len(l.text)-len(after)-len(over), true
		}
	}
	value, err := decimalValue(whole, fraction, l.exponent())
	if err != nil {
		return err
	}
	t := token{kind: tNumber, text: l.text[start:l.at], value: value, decimal: decimal}
	if used == "," && !decimal {
		t.groups = groups
	}
	l.add(t)
	return nil
}

// beyond is the text after sep, which may have white space after it when it
// ends in a spacing command: 32,\! 349.
func (l *lexer) beyond(sep string) (string, bool) {
	rest, ok := strings.CutPrefix(l.text[l.at:], sep)
	if ok && strings.HasPrefix(sep, `,\`) {
		rest = strings.TrimLeft(rest, " ")
	}
	return rest, ok
}

// isGroup: exactly three digits stand there.
func isGroup(text string) bool {
	n := 0
	for n < len(text) && isDigit(text[n]) {
		n++
	}
	return n == 3
}

func (l *lexer) digits() string {
	start := l.at
	for l.at < len(l.text) && isDigit(l.text[l.at]) {
		l.at++
	}
	return l.text[start:l.at]
}

// exponent reads e-5 or E+3 right after a number.
func (l *lexer) exponent() string {
	rest := l.text[l.at:]
	if rest == "" || rest[0]|0x20 != 'e' {
		return ""
	}
	n := 1
	if n < len(rest) && (rest[n] == '-' || rest[n] == '+') {
		n++
	}
	first := n
	for n < len(rest) && isDigit(rest[n]) {
		n++
	}
	if n == first || n < len(rest) && isLetter(rest[n]) {
		return ""
	}
	l.at += n
	return rest[1:n]
}

func decimalValue(whole, fraction, exponent string) (*big.Rat, error) {
	if len(whole)+len(fraction) > maxDigits {
		return nil, fmt.Errorf("a number has more than %d digits", maxDigits)
	}
	power := -len(fraction)
	if exponent != "" {
		e, err := strconv.Atoi(exponent)
		if err != nil || e > maxExponent || e < -maxExponent {
			return nil, fmt.Errorf("an exponent is beyond ±%d", maxExponent)
		}
		power += e
	}
	digits, _ := new(big.Int).SetString("0"+whole+fraction, 10) // digits only
	value := new(big.Rat).SetInt(digits)
	scale := new(big.Rat).SetInt(powerOfTen(max(power, -power)))
	if power < 0 {
		return value.Quo(value, scale), nil
	}
	return value.Mul(value, scale), nil
}

func powerOfTen(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// repeating is a decimal that ends in a group of digits that repeats:
// 0.1\overline{6} is 1/6.
func repeating(shown *big.Rat, written, period string) *big.Rat {
	_, fraction, _ := strings.Cut(written, ".")
	digits, _ := new(big.Int).SetString(period, 10)
	nines := powerOfTen(len(period))
	nines.Sub(nines, big.NewInt(1))
	nines.Mul(nines, powerOfTen(len(fraction)))
	return new(big.Rat).Add(shown, new(big.Rat).SetFrac(digits, nines))
}
