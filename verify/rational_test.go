package verify

import (
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestDecimals: a decimal number is the fraction that it stands for, whether it is short or long.
func TestDecimals(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	digits := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte('0' + r.IntN(10))
		}
		return string(b)
	}
	for range 2000 {
		text := digits(1+r.IntN(12)) + "." + digits(1+r.IntN(12))
		want, _ := new(big.Rat).SetString(text)
		if got, err := parseDecimal(text); err != nil || got.Cmp(want) != 0 {
			t.Errorf("%s is %v, %v; want %v", text, got, err, want)
		}
	}
}
