package template

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// globals are the functions that every template has: Jinja's, without lipsum,
// and transformers' raise_exception and strftime_now.
func globals() map[string]any {
	table := map[string]func(*run, call) (any, error){
		"range": rangeFunction, "dict": dictFunction, "namespace": namespaceFunction, "cycler": cyclerFunction,
		"joiner": joinerFunction, "raise_exception": raiseFunction, "strftime_now": strftimeFunction,
	}
	out := map[string]any{}
	for name, f := range table { // into a map: no order
		out[name] = function(name, f)
	}
	return out
}

func rangeFunction(_ *run, c call) (any, error) {
	if err := c.positional("range", 1, 3); err != nil {
		return nil, err
	}
	var n [3]int64
	for i := range c.args {
		var err error
		if n[i], err = c.number("range", i, 0); err != nil {
			return nil, err
		}
		if n[i] > 1<<53 || n[i] < -1<<53 {
			return nil, fmt.Errorf("range() needs numbers within 2**53, found %d", n[i])
		}
	}
	r := &span{n[0], n[1], 1, 0}
	switch len(c.args) {
	case 1:
		r.start, r.stop = 0, n[0]
	case 3:
		r.step = n[2]
	}
	switch {
	case r.step == 0:
		return nil, errors.New("range() arg 3 must not be zero")
	case r.step > 0 && r.stop > r.start:
		r.n = (r.stop-r.start-1)/r.step + 1
	case r.step < 0 && r.stop < r.start:
		r.n = (r.start-r.stop-1)/-r.step + 1
	}
	if r.n > maxRange {
		return nil, fmt.Errorf("the range has %d items, accepted: up to %d", r.n, maxRange)
	}
	return r, nil
}

// dictFunction is dict(), dict(other), dict(pairs) and dict(name=value).
func dictFunction(r *run, c call) (any, error) {
	if len(c.args) > 1 {
		return nil, fmt.Errorf("dict expected at most 1 argument, got %d", len(c.args))
	}
	out := NewDict()
	if len(c.args) == 1 {
		v := c.args[0]
		if d, ok := v.(*Dict); ok {
			v = &view{d, "dict_items"}
		}
		pairs, err := r.all(v)
		if err != nil {
			return nil, err
		}
		for _, pair := range pairs {
			items, err := r.all(pair)
			if err == nil && len(items) != 2 {
				err = fmt.Errorf("dict needs pairs of key and value, found %d items", len(items))
			}
			if err != nil {
				return nil, err
			}
			h, err := r.hashKey(items[0])
			if err != nil {
				return nil, err
			}
			out.set(h, items[0], items[1])
		}
	}
	if c.kw != nil {
		for i, key := range c.kw.keys {
			out.Set(key.(string), c.kw.vals[i])
		}
	}
	return out, r.grow(2 * valueSize * len(out.keys))
}

func namespaceFunction(r *run, c call) (any, error) {
	attrs, err := dictFunction(r, c)
	if err != nil {
		return nil, err
	}
	return &namespace{attrs.(*Dict)}, nil
}

func cyclerFunction(_ *run, c call) (any, error) {
	if len(c.args) == 0 {
		return nil, errors.New("cycler needs at least one item")
	}
	return &cycler{items: c.args}, nil
}

func joinerFunction(_ *run, c call) (any, error) {
	values, given, err := c.params("joiner", "sep=")
	if !given[0] {
		values[0] = ", "
	}
	return &joiner{separator: values[0]}, err
}

// raiseFunction ends the rendering with the template's own message.
func raiseFunction(r *run, c call) (any, error) {
	values, _, err := c.params("raise_exception", "message")
	if err != nil {
		return nil, err
	}
	text, err := r.str(values[0])
	if err != nil {
		return nil, err
	}
	return nil, &placed{pos: -1, text: text, raised: true}
}

func strftimeFunction(r *run, c call) (any, error) {
	values, _, err := c.params("strftime_now", "format")
	if err != nil {
		return nil, err
	}
	format, err := (call{args: values}).mustText("strftime_now", 0)
	if err != nil {
		return nil, err
	}
	text, err := strftime(r.now, format)
	return text, firstError(err, r.grow(len(text)))
}

// layouts are the directives that are layouts of package time.
var layouts = map[byte]string{
	'a': "Mon", 'A': "Monday", 'b': "Jan", 'h': "Jan", 'B': "January", 'c': "Mon Jan _2 15:04:05 2006", 'd': "02",
	'D': "01/02/06", 'e': "_2", 'F': "2006-01-02", 'H': "15", 'I': "03", 'j': "002", 'm': "01", 'M': "04", 'p': "PM",
	'r': "03:04:05 PM", 'R': "15:04", 'S': "05", 'T': "15:04:05", 'x': "01/02/06", 'X': "15:04:05", 'y': "06", 'Y': "2006",
	'z': "-0700", 'Z': "MST",
}

// strftime writes a time as C's strftime does in the C locale. "-" after the
// percent sign drops a zero or blank in front.
func strftime(t time.Time, format string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		bare := format[i] == '-' && i+1 < len(format)
		if bare {
			i++
		}
		text, ok := directive(t, format[i])
		if !ok {
			return "", fmt.Errorf("strftime_now has no directive %%%c", format[i])
		}
		if bare && len(text) > 1 {
			text = strings.TrimLeft(text[:len(text)-1], "0 ") + text[len(text)-1:]
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

func directive(t time.Time, c byte) (string, bool) {
	weekday := int(t.Weekday())
	switch c {
	case '%':
		return "%", true
	case 'n':
		return "\n", true
	case 't':
		return "\t", true
	case 'f':
		return fmt.Sprintf("%06d", t.Nanosecond()/1000), true
	case 's':
		return strconv.FormatInt(t.Unix(), 10), true
	case 'w':
		return strconv.Itoa(weekday), true
	case 'u':
		return strconv.Itoa((weekday+6)%7 + 1), true
	case 'C':
		return fmt.Sprintf("%02d", t.Year()/100), true
	case 'U': // week of the year from its first Sunday
		return fmt.Sprintf("%02d", (t.YearDay()+6-weekday)/7), true
	case 'W': // from its first Monday
		return fmt.Sprintf("%02d", (t.YearDay()+6-(weekday+6)%7)/7), true
	case 'V':
		_, week := t.ISOWeek()
		return fmt.Sprintf("%02d", week), true
	case 'G':
		year, _ := t.ISOWeek()
		return strconv.Itoa(year), true
	case 'k':
		return fmt.Sprintf("%2d", t.Hour()), true
	case 'l':
		return fmt.Sprintf("%2d", (t.Hour()+11)%12+1), true
	case 'P':
		return strings.ToLower(t.Format("PM")), true
	}
	layout, ok := layouts[c]
	return t.Format(layout), ok
}
