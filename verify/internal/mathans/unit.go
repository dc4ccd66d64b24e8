package mathans

import (
	"math/big"
	"strings"
)

// unit is what a word or abbreviation after a number stands for: factor times
// a base of its dimension. Words that are no unit are dropped: "12 apples".
type unit struct {
	base   string   // "m", "s", "m/s^2", "g", "usd" …; "1" for words that multiply, such as million
	factor *big.Rat // not to be changed
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
		// The international inch and pound of 1959 are 0.0254 m and 453.59237 g.
		{"m", 254, 10000, "in inch inches"}, {"m", 3048, 10000, "ft foot feet"}, {"m", 9144, 10000, "yd yard yards"}, {"m", 1609344, 1000, "mi mile miles"},
		{"s", 1, 1, "s sec second seconds"}, {"s", 60, 1, "min minute minutes"}, {"s", 3600, 1, "h hr hrs hour hours"},
		{"s", 86400, 1, "day days"}, {"s", 604800, 1, "week weeks"},
		{"year", 1, 1, "year years yr yrs"}, {"year", 1, 12, "month months"}, {"am", 1, 1, "am AM"}, {"pm", 1, 1, "pm PM"},
		{"g", 1, 1, "g gram grams"}, {"g", 1000, 1, "kg kilogram kilograms"}, {"g", 1, 1000, "mg"},
		{"g", 45359237, 1600000, "oz ounce ounces"}, {"g", 45359237, 100000, "lb lbs pound pounds"},
		{"usd", 1, 1, "dollar dollars usd USD"}, {"usd", 1, 100, "cent cents"}, {"eur", 1, 1, "eur euro euros EUR"}, {"gbp", 1, 1, "gbp GBP"}, {"jpy", 1, 1, "jpy JPY yen"},
		{"l", 1, 1, "L liter liters litre litres"}, {"l", 1, 1000, "mL ml milliliter milliliters"},
		{"deg", 1, 1, "deg degree degrees"}, {"rad", 1, 1, "rad radian radians"}, {"degC", 1, 1, "degC"}, {"degF", 1, 1, "degF"},
		{"m/s", 1609344, 3600000, "mph"}, {"m/s", 1000, 3600, "kmh kph"},
		{"1", 1000, 1, "thousand"}, {"1", 1_000_000, 1, "million"}, {"1", 1_000_000_000, 1, "billion"},
		{"1", 1_000_000_000_000, 1, "trillion"}, {"1", 100, 1, "hundred"}, {"1", 12, 1, "dozen"},
		{"1", 1, 2, "half halves"}, {"1", 1, 10, "tenth tenths"}, {"1", 1, 100, "hundredth hundredths"}, {"1", 1, 1000, "thousandth thousandths"},
	} {
		for _, word := range strings.Fields(row.words) {
			units[word] = unit{row.base, big.NewRat(row.over, row.under)}
		}
	}
}

// unitOf is the unit that words name: "cm", "square inches", "m/s^2", "miles per
// hour". The zero unit is "none that is known".
func unitOf(words string) unit {
	words = strings.NewReplacer(".", "", "-", " ", " per ", "/", "²", "^2", "³", "^3", "{", "", "}", "").Replace(words)
	over, under, isRate := strings.Cut(words, "/")
	u := simpleUnit(strings.TrimSpace(over))
	if !isRate || u.base == "" {
		return u
	}
	v := simpleUnit(strings.TrimSpace(under))
	if v.base == "" {
		return unit{}
	}
	return unit{u.base + "/" + v.base, new(big.Rat).Quo(u.factor, v.factor)}
}

func simpleUnit(words string) unit {
	power := ""
	for _, prefix := range []struct{ word, power string }{{"square ", "2"}, {"sq ", "2"}, {"cubic ", "3"}, {"cu ", "3"}} {
		if rest, ok := strings.CutPrefix(strings.ToLower(words), prefix.word); ok {
			words, power = rest, prefix.power
		}
	}
	if base, exponent, ok := strings.Cut(words, "^"); ok {
		words, power = base, exponent
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
	if power != "2" && power != "3" || u.base == "" {
		return u
	}
	square := new(big.Rat).Mul(u.factor, u.factor)
	if power == "3" {
		square.Mul(square, u.factor)
	}
	return unit{u.base + "^" + power, square}
}

// quantity is value with a unit, whose factor stands in the node's value: a
// multiplying word is calculated at once, and of two units the first counts, as in
// "12 feet long".
func quantity(value *node, u unit) *node {
	switch {
	case u.base == "":
		return value
	case value.kind == kQuantity && u.base == "1": // $5 million
		return value.withArgs([]*node{quantity(value.args[0], u)})
	case value.kind == kQuantity:
		return value
	case u.base == "1":
		return of(kProduct, value, &node{kind: kNumber, value: u.factor})
	}
	return &node{kind: kQuantity, name: u.base, value: u.factor, args: []*node{value}}
}

// unitFraction is the unit in \frac{\text{km}}{\text{h}}, else the zero unit.
func unitFraction(n *node) unit {
	if n.kind != kQuotient || n.args[0].kind != kText || n.args[1].kind != kText && n.args[1].kind != kSymbol {
		return unit{}
	}
	return unitOf(n.args[0].name + "/" + n.args[1].name)
}

// currencies are the signs of money, before a number or after it.
var currencies = map[string]string{`\$`: "usd", "€": "eur", "£": "gbp", "¥": "jpy"}

// IsUnit says that words name a unit of measure, money, or a word that multiplies.
func IsUnit(words string) bool { return unitOf(words).base != "" }
