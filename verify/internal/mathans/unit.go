package mathans

import (
	"math/big"
	"strings"
)

// unit is what a word or abbreviation behind a number stands for: factor times
// a base of its dimension. Words that are no unit are dropped: "12 apples".
type unit struct {
	base  string // "m", "s", "g", "usd" …; "1" for words that multiply, such as million
	over  int64  // factor = over/under
	under int64
}

var units = map[string]unit{}

func init() {
	for _, row := range []struct {
		base        string
		over, under int64
		words       string
	}{
		{"m", 1, 1, "m meter meters metre metres"}, {"m", 1, 100, "cm centimeter centimeters centimetre centimetres"},
		{"m", 1, 1000, "mm millimeter millimeters"}, {"m", 1000, 1, "km kilometer kilometers kilometre kilometres"},
		{"in", 1, 1, "inch inches"}, {"in", 12, 1, "ft foot feet"}, {"in", 36, 1, "yd yard yards"}, {"in", 63360, 1, "mi mile miles"},
		{"s", 1, 1, "s sec second seconds"}, {"s", 60, 1, "min minute minutes"}, {"s", 3600, 1, "h hr hrs hour hours"},
		{"s", 86400, 1, "day days"}, {"s", 604800, 1, "week weeks"},
		{"year", 1, 1, "year years yr yrs"}, {"year", 1, 12, "month months"},
		{"g", 1, 1, "g gram grams"}, {"g", 1000, 1, "kg kilogram kilograms"}, {"g", 1, 1000, "mg"},
		{"oz", 1, 1, "oz ounce ounces"}, {"oz", 16, 1, "lb lbs pound pounds"},
		{"usd", 1, 1, "dollar dollars usd USD"}, {"usd", 1, 100, "cent cents"}, {"eur", 1, 1, "euro euros EUR"},
		{"l", 1, 1, "L liter liters litre litres"}, {"l", 1, 1000, "mL ml milliliter milliliters"},
		{"deg", 1, 1, "deg degree degrees"}, {"rad", 1, 1, "rad radian radians"},
		{"mph", 1, 1, "mph"}, {"km/h", 1, 1, "kmh kph"},
		{"1", 1000, 1, "thousand"}, {"1", 1_000_000, 1, "million"}, {"1", 1_000_000_000, 1, "billion"},
		{"1", 1_000_000_000_000, 1, "trillion"}, {"1", 100, 1, "hundred"}, {"1", 12, 1, "dozen"},
	} {
		for _, word := range strings.Fields(row.words) {
			units[word] = unit{row.base, row.over, row.under}
		}
	}
}

// unitOf is the unit that words name: "cm", "square inches", "miles per hour".
// The zero unit is "none that is known".
func unitOf(words string) unit {
	words = strings.TrimSpace(strings.NewReplacer(".", "", "-", " ").Replace(words))
	power := ""
	for _, prefix := range []struct{ word, power string }{{"square ", "2"}, {"sq ", "2"}, {"cubic ", "3"}, {"cu ", "3"}} {
		if rest, ok := strings.CutPrefix(strings.ToLower(words), prefix.word); ok {
			words, power = rest, prefix.power
		}
	}
	u, ok := units[words]
	if !ok {
		u, ok = units[strings.ToLower(words)]
	}
	if !ok {
		return unit{}
	}
	return u.raised(power)
}

// raised is the unit to the power "2" or "3"; any other power leaves it as it is.
func (u unit) raised(power string) unit {
	v := u
	switch power {
	case "2":
		v = unit{u.base + "^2", u.over * u.over, u.under * u.under}
	case "3":
		v = unit{u.base + "^3", u.over * u.over * u.over, u.under * u.under * u.under}
	}
	return v
}

// quantity is value with a unit, whose factor stands in the node's value: a
// multiplying word is calculated at once.
func quantity(value *node, u unit) *node {
	factor := &node{kind: kNumber, value: big.NewRat(max(u.over, 1), max(u.under, 1))}
	switch u.base {
	case "":
		return value
	case "1":
		return of(kProduct, value, factor)
	}
	return &node{kind: kQuantity, name: u.base, value: factor.value, args: []*node{value}}
}
