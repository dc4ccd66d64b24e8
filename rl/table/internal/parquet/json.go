package parquet

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"time"
	"unicode/utf8"
)

// appendJSON writes a leaf's value.
func appendJSON(buf []byte, leaf *node, v value) ([]byte, error) {
	l := leaf.logical
	if l.kind == logicalDecimal {
		return appendDecimal(buf, leaf, v)
	}
	switch leaf.kind {
	case typeBoolean:
		return strconv.AppendBool(buf, v.bits != 0), nil
	case typeInt32, typeInt64:
		return appendInteger(buf, leaf, v)
	case typeInt96: // nanoseconds of the day, Julian day: a timestamp of old writers
		const epoch = 2440588 // Julian day of 1970-01-01
		days := int64(binary.LittleEndian.Uint32(v.bytes[8:])) - epoch
		return appendTime(buf, time.Unix(days*86400, int64(binary.LittleEndian.Uint64(v.bytes)))), nil
	case typeFloat:
		return appendFloat(buf, float64(math.Float32frombits(uint32(v.bits)))), nil
	case typeDouble:
		return appendFloat(buf, math.Float64frombits(v.bits)), nil
	}
	switch {
	case l.kind == logicalFloat16 && len(v.bytes) == 2:
		return appendFloat(buf, halfFloat(binary.LittleEndian.Uint16(v.bytes))), nil
	case l.kind == logicalUUID && len(v.bytes) == 16:
		b := v.bytes
		return fmt.Appendf(buf, `"%x-%x-%x-%x-%x"`, b[:4], b[4:6], b[6:8], b[8:10], b[10:]), nil
	case l.kind == logicalJSON:
		if !json.Valid(v.bytes) || !utf8.Valid(v.bytes) {
			return nil, errors.New("a value of type JSON is not valid JSON")
		}
		return append(buf, v.bytes...), nil
	case utf8.Valid(v.bytes):
		return appendString(buf, string(v.bytes)), nil
	case l.kind == logicalString || l.kind == logicalEnum:
		return nil, errors.New("the text is not UTF-8")
	}
	buf = append(buf, '"')
	buf = base64.StdEncoding.AppendEncode(buf, v.bytes)
	return append(buf, '"'), nil
}

func appendInteger(buf []byte, leaf *node, v value) ([]byte, error) {
	n := int64(v.bits)
	switch l := leaf.logical; l.kind {
	case logicalInteger:
		switch {
		case l.unsigned && leaf.kind == typeInt32:
			return strconv.AppendUint(buf, uint64(uint32(n)), 10), nil
		case l.unsigned:
			return strconv.AppendUint(buf, uint64(n), 10), nil
		}
	case logicalDate:
		return append(time.Unix(n*86400, 0).UTC().AppendFormat(append(buf, '"'), time.DateOnly), '"'), nil
	case logicalTime:
		of := time.Unix(0, 0).UTC().Add(time.Duration(n) * unitOf(l))
		return append(of.AppendFormat(append(buf, '"'), "15:04:05.999999999"), '"'), nil
	case logicalTimestamp:
		perSecond := int64(time.Second / unitOf(l))
		return appendTime(buf, time.Unix(n/perSecond, n%perSecond*int64(unitOf(l)))), nil
	}
	return strconv.AppendInt(buf, n, 10), nil
}

// unitOf is the unit of a time.
func unitOf(l logical) time.Duration {
	switch l.unit {
	case 1:
		return time.Millisecond
	case 2:
		return time.Microsecond
	}
	return time.Nanosecond
}

func appendTime(buf []byte, t time.Time) []byte {
	return append(t.UTC().AppendFormat(append(buf, '"'), time.RFC3339Nano), '"')
}

// appendFloat writes null for what JSON has no number for.
func appendFloat(buf []byte, x float64) []byte {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return append(buf, "null"...)
	}
	text, _ := json.Marshal(x) // a finite number always has one
	return append(buf, text...)
}

// halfFloat is the value of an IEEE 754 binary16.
func halfFloat(h uint16) float64 {
	exponent, fraction := int(h>>10&31), float64(h&1023)
	x := math.Ldexp(fraction, -24)
	switch {
	case exponent == 31 && fraction == 0:
		x = math.Inf(1)
	case exponent == 31:
		x = math.NaN()
	case exponent > 0:
		x = math.Ldexp(1024+fraction, exponent-25)
	}
	if h>>15 != 0 {
		x = -x
	}
	return x
}

// appendDecimal writes an integer times ten to the minus scale, as a number.
func appendDecimal(buf []byte, leaf *node, v value) ([]byte, error) {
	unscaled := new(big.Int)
	switch leaf.kind {
	case typeInt32, typeInt64:
		unscaled.SetInt64(int64(v.bits))
	default: // two's complement, most significant byte first
		if len(v.bytes) > 64 {
			return nil, fmt.Errorf("a decimal has %d bytes; accepted: at most 64", len(v.bytes))
		}
		unscaled.SetBytes(v.bytes)
		if len(v.bytes) > 0 && v.bytes[0]>>7 != 0 {
			unscaled.Sub(unscaled, new(big.Int).Lsh(big.NewInt(1), uint(8*len(v.bytes))))
		}
	}
	scale := leaf.logical.scale
	if scale < 0 || scale > 200 {
		return nil, fmt.Errorf("a decimal has scale %d; accepted: 0 to 200", scale)
	}
	digits := unscaled.String()
	if digits[0] == '-' {
		buf, digits = append(buf, '-'), digits[1:]
	}
	for len(digits) <= scale {
		digits = "0" + digits
	}
	buf = append(buf, digits[:len(digits)-scale]...)
	if scale > 0 {
		buf = append(append(buf, '.'), digits[len(digits)-scale:]...)
	}
	return buf, nil
}

// appendString writes a JSON string with <, > and & as they are.
func appendString(buf []byte, text string) []byte {
	const hex = "0123456789abcdef"
	buf = append(buf, '"')
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			buf = append(buf, '\\', c)
		case c == '\n':
			buf = append(buf, '\\', 'n')
		case c < ' ':
			buf = append(buf, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			buf = append(buf, c)
		}
	}
	return append(buf, '"')
}
