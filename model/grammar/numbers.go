package grammar

import (
	"strconv"
	"strings"
)

// digits is how many digits a number has before and after the point at most. A model may
// write them for ever.
const digits = 18

// most is the largest number that so many digits write.
const most = 1e18 - 1

// integer reads a whole number.
func (b *builder) integer(from, to int32) {
	b.skip(b.whole(from), to)
}

// whole reads a whole number and returns where it ends.
func (b *builder) whole(from int32) int32 {
	end, unsigned := b.node(), b.node()
	b.text(from, "-", unsigned)
	b.skip(from, unsigned)
	b.on(unsigned, '0', '0', end)
	at := b.node()
	b.on(unsigned, '1', '9', at)
	b.some(at, 0, digits-1, end)
	return end
}

// some reads from least to most digits.
func (b *builder) some(from int32, least, most int, to int32) {
	for n := 0; n <= most; n++ {
		if n >= least {
			b.skip(from, to)
		}
		if n < most {
			next := b.node()
			b.on(from, '0', '9', next)
			from = next
		}
	}
}

// number reads any number.
func (b *builder) number(from, to int32) {
	whole := b.whole(from)
	exponent := b.node()
	b.skip(whole, exponent)
	b.some(b.then(whole, "."), 1, digits, exponent)
	b.skip(exponent, to)
	sign, power := b.node(), b.node()
	b.on(exponent, 'e', 'e', sign)
	b.on(exponent, 'E', 'E', sign)
	b.texts(sign, []string{"+", "-"}, power)
	b.skip(sign, power)
	b.some(power, 1, 2, to)
}

// bounds are those of a number.
type bounds struct {
	low, high         int64 // within most
	aboveLow, belowHi bool  // low and high do not count
}

var unbounded = bounds{low: -most, high: most}

// within reads a number of a range; a whole one, or one with digits after the point.
func (b *builder) within(from int32, r bounds, wholly bool, to int32) {
	if wholly {
		if r.aboveLow {
			r.low++
		}
		if r.belowHi {
			r.high--
		}
		b.unsigned(from, max(r.low, 0), r.high, to)
		if r.low < 0 {
			b.unsigned(b.then(from, "-"), max(1, -r.high), -r.low, to)
		}
		return
	}
	b.real(from, bounds{max(r.low, 0), r.high, r.aboveLow && r.low >= 0, r.belowHi}, to)
	if r.low < 0 {
		b.real(b.then(from, "-"), bounds{max(0, -r.high), -r.low, r.belowHi || r.high >= 0, r.aboveLow}, to)
	}
}

// real reads a number of a range from 0, without a sign.
func (b *builder) real(from int32, r bounds, to int32) {
	if r.low > r.high {
		return
	}
	fraction := b.node()
	b.skip(fraction, to)
	b.some(b.then(fraction, "."), 1, digits, to)
	first := r.low
	if r.aboveLow && r.low < r.high { // low with a fraction that is not 0
		point := b.node()
		b.unsigned(from, r.low, r.low, point)
		zeros := b.then(point, ".")
		for n := range digits {
			after := b.node()
			b.on(zeros, '1', '9', after)
			b.some(after, 0, digits-1-n, to)
			next := b.node()
			b.on(zeros, '0', '0', next)
			zeros = next
		}
		first++
	}
	b.unsigned(from, first, r.high-1, fraction)
	if !r.belowHi && (r.low < r.high || !r.aboveLow) {
		end := b.node()
		b.unsigned(from, r.high, r.high, end)
		b.skip(end, to)
		zeros := b.then(end, ".")
		for range digits {
			next := b.node()
			b.on(zeros, '0', '0', next)
			b.skip(next, to)
			zeros = next
		}
	}
}

// unsigned reads a whole number from low to high, none below 0.
func (b *builder) unsigned(from int32, low, high int64, to int32) {
	if low > high || low < 0 {
		return
	}
	a, z := decimal(low), decimal(high)
	for n := len(a); n <= len(z); n++ {
		first, last := "1"+strings.Repeat("0", n-1), strings.Repeat("9", n)
		if n == len(a) {
			first = a
		}
		if n == len(z) {
			last = z
		}
		b.between(from, first, last, to)
	}
}

// between reads digits from first to last, which are as many.
func (b *builder) between(from int32, first, last string, to int32) {
	if first == "" {
		b.skip(from, to)
		return
	}
	if strings.Trim(first, "0") == "" && strings.Trim(last, "9") == "" {
		b.some(from, len(first), len(first), to)
		return
	}
	a, z := first[0], last[0]
	if a == z {
		next := b.node()
		b.on(from, a, a, next)
		b.between(next, first[1:], last[1:], to)
		return
	}
	rest := len(first) - 1
	low, high := b.node(), b.node()
	b.on(from, a, a, low)
	b.between(low, first[1:], strings.Repeat("9", rest), to)
	b.on(from, z, z, high)
	b.between(high, strings.Repeat("0", rest), last[1:], to)
	if a+1 < z {
		next := b.node()
		b.on(from, a+1, z-1, next)
		b.some(next, rest, rest, to)
	}
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }
