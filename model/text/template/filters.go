package template

import (
	"errors"
	"fmt"
	"html"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// filter is what stands after a bar: a function of a value and arguments.
type filter func(r *run, v any, c call) (any, error)

// filters are Jinja's: https://jinja.palletsprojects.com/en/stable/templates/#builtin-filters
var filters map[string]filter

// refusedFilters are Jinja's filters that are not here, with the reason.
var refusedFilters = map[string]string{
	"random": "a prompt does not depend on chance",
	"urlize": "a prompt is not HTML", "xmlattr": "a prompt is not HTML", "striptags": "a prompt is not HTML",
	"pprint": "use tojson", "wordwrap": "wrap the text before it is given to the template",
}

func init() { // a table that refers to functions that refer to it
	filters = map[string]filter{
		"abs": absFilter, "attr": attrFilter, "batch": batchFilter, "capitalize": textFilter(capitalize),
		"center": centerFilter, "count": lengthFilter, "d": defaultFilter, "default": defaultFilter,
		"dictsort": dictsortFilter, "e": textFilter(escapeHTML), "escape": textFilter(escapeHTML),
		"filesizeformat": sizeFilter, "first": firstFilter, "float": floatFilter, "forceescape": textFilter(escapeHTML),
		"format": formatFilter, "groupby": groupbyFilter, "indent": indentFilter, "int": intFilter,
		"items": itemsFilter, "join": joinFilter, "last": lastFilter, "length": lengthFilter, "list": listFilter,
		"lower": textFilter(lower), "map": mapFilter, "max": extremeFilter(1), "min": extremeFilter(-1),
		"reject": selectFilter(false, false), "rejectattr": selectFilter(false, true), "replace": replaceFilter,
		"reverse": reverseFilter, "round": roundFilter, "safe": textFilter(func(s string) string { return s }),
		"select": selectFilter(true, false), "selectattr": selectFilter(true, true), "slice": sliceFilter,
		"sort": sortFilter, "string": textFilter(func(s string) string { return s }), "sum": sumFilter,
		"title": textFilter(titleFilter), "tojson": tojsonFilter, "trim": trimFilter, "truncate": truncateFilter,
		"unique": uniqueFilter, "upper": textFilter(upper), "urlencode": urlencodeFilter, "wordcount": wordcountFilter,
	}
}

// textFilter is a filter without arguments of str(value).
func textFilter(f func(string) string) filter {
	return func(r *run, v any, c call) (any, error) {
		if err := c.positional("the filter", 0, 0); err != nil {
			return nil, err
		}
		s, err := r.str(v)
		if err != nil {
			return nil, err
		}
		return f(s), r.grow(2 * len(s))
	}
}

// escapeHTML escapes as MarkupSafe does.
func escapeHTML(s string) string { return html.EscapeString(s) }

// titleFilter makes the first letter of a word a capital and the others small.
// Words end at white space, "-" and opening brackets.
func titleFilter(s string) string {
	var b strings.Builder
	start := true
	for _, c := range s {
		if start {
			b.WriteString(upper(string(c)))
		} else {
			b.WriteString(lower(string(c)))
		}
		start = isSpace(c) || strings.ContainsRune("-({[<", c)
	}
	return b.String()
}

func absFilter(_ *run, v any, c call) (any, error) {
	if f, ok := v.(float64); ok {
		return math.Abs(f), nil
	}
	if n, ok := asInt(v); ok {
		return fromBig(new(big.Int).Abs(n)), c.positional("abs", 0, 0)
	}
	return nil, fmt.Errorf("bad operand type for abs(): '%s'", typeName(v))
}

func attrFilter(r *run, v any, c call) (any, error) {
	values, _, err := c.params("attr", "name")
	if err != nil {
		return nil, err
	}
	text, ok := values[0].(string)
	if !ok {
		return nil, fmt.Errorf("attr needs the name of an attribute, found %s", typeName(values[0]))
	}
	if a, ok := attribute(v, text); ok {
		return a, nil
	}
	return missing(v, text), nil
}

func centerFilter(r *run, v any, c call) (any, error) {
	values, given, err := c.params("center", "width=")
	if err != nil {
		return nil, err
	}
	width := int64(80)
	if given[0] {
		if width, err = (call{args: values}).number("center", 0, 0); err != nil {
			return nil, err
		}
	}
	s, err := r.str(v)
	if err != nil {
		return nil, err
	}
	return r.padded("center", s, width, " ")
}

func lengthFilter(r *run, v any, c call) (any, error) {
	n, ok := length(v)
	if !ok {
		return nil, fmt.Errorf("object of type '%s' has no len()", typeName(v))
	}
	return int64(n), firstError(r.work(n), c.positional("length", 0, 0))
}

func defaultFilter(_ *run, v any, c call) (any, error) {
	values, given, err := c.params("default", "default_value= boolean=")
	if err != nil {
		return nil, err
	}
	if !given[0] {
		values[0] = ""
	}
	if _, ok := v.(*undefined); ok || truth(values[1]) && !truth(v) {
		return values[0], nil
	}
	return v, nil
}

// formatFilter is "%s, %s"|format(a, b).
func formatFilter(r *run, v any, c call) (any, error) {
	s, err := r.str(v)
	if err != nil {
		return nil, err
	}
	if c.kw != nil && len(c.kw.keys) > 0 {
		if len(c.args) > 0 {
			return nil, errors.New("can't handle positional and keyword arguments at the same time")
		}
		return r.percent(s, c.kw)
	}
	return r.percent(s, &tuple{items: c.args})
}

func indentFilter(r *run, v any, c call) (any, error) {
	values, given, err := c.params("indent", "width= first= blank=")
	if err != nil {
		return nil, err
	}
	s, ok := v.(string)
	if !ok {
		return nil, fmt.Errorf("indent needs a string, found %s", typeName(v))
	}
	indent, isText := values[0].(string)
	if !isText {
		width := int64(4)
		if given[0] {
			if width, err = (call{args: values}).number("indent", 0, 0); err != nil {
				return nil, err
			}
		}
		if indent, err = r.fill(width, " "); err != nil {
			return nil, err
		}
	}
	lines := splitLines(s+"\n", false)
	for i := range lines {
		if i > 0 && (lines[i] != "" || truth(values[2])) || i == 0 && truth(values[1]) {
			lines[i] = indent + lines[i]
		}
		if err := r.grow(len(lines[i])); err != nil {
			return nil, err
		}
	}
	return r.joined(lines, "\n")
}

func replaceFilter(r *run, v any, c call) (any, error) {
	values, given, err := c.params("replace", "old new count=")
	if err != nil {
		return nil, err
	}
	var texts [3]string
	for i, x := range []any{v, values[0], values[1]} {
		if texts[i], err = r.str(x); err != nil {
			return nil, err
		}
	}
	limit := int64(-1)
	if given[2] && values[2] != nil {
		if limit, err = (call{args: values}).number("replace", 2, 0); err != nil {
			return nil, err
		}
	}
	return r.replace(texts[0], texts[1], texts[2], limit)
}

func trimFilter(r *run, v any, c call) (any, error) {
	values, _, err := c.params("trim", "chars=")
	if err != nil {
		return nil, err
	}
	s, err := r.str(v)
	if err != nil {
		return nil, err
	}
	return strip("trim", true, true)(r, s, call{args: values})
}

func truncateFilter(r *run, v any, c call) (any, error) {
	values, given, err := c.params("truncate", "length= killwords= end= leeway=")
	if err != nil {
		return nil, err
	}
	s, ok := v.(string)
	if !ok {
		return nil, fmt.Errorf("truncate needs a string, found %s", typeName(v))
	}
	numbers := [2]int64{255, 5}
	for i, k := range []int{0, 3} {
		if given[k] && values[k] != nil {
			if numbers[i], err = (call{args: values}).number("truncate", k, 0); err != nil {
				return nil, err
			}
		}
	}
	end := "..."
	if given[2] {
		if end, err = (call{args: values}).mustText("truncate", 2); err != nil {
			return nil, err
		}
	}
	room := numbers[0] - int64(utf8.RuneCountInString(end))
	switch {
	case room < 0:
		return nil, fmt.Errorf("truncate needs a length that leaves room for its end %q, found %d", clip(end), numbers[0])
	case int64(utf8.RuneCountInString(s)) <= numbers[0]+numbers[1]:
		return s, r.work(len(s))
	}
	s = s[:byteOf(s, int(room))]
	if k := strings.LastIndexByte(s, ' '); k >= 0 && !truth(values[1]) {
		s = s[:k]
	}
	return s + end, r.grow(len(s))
}

// parseNumber reads a string as Python's int(s, base) does.
func parseInt(s string, base int) (any, bool) {
	s = strings.TrimFunc(s, isSpace)
	bare := strings.TrimLeft(s, "+-")
	if len(s)-len(bare) > 1 || bare == "" || len(bare) > maxDigits || bare[0] == '_' || strings.HasSuffix(bare, "_") || strings.Contains(bare, "__") {
		return nil, false
	}
	digits := strings.ToLower(strings.ReplaceAll(bare, "_", ""))
	if prefix := map[int]string{2: "0b", 8: "0o", 16: "0x"}[base]; prefix != "" {
		digits = strings.TrimPrefix(digits, prefix)
	}
	n, ok := new(big.Int).SetString(digits, base)
	if !ok || strings.HasPrefix(digits, "+") || strings.HasPrefix(digits, "-") {
		return nil, false
	}
	if strings.HasPrefix(s, "-") {
		n.Neg(n)
	}
	return fromBig(n), true
}

// parseFloat reads a string as Python's float(s) does.
func parseFloat(s string) (float64, bool) {
	s = strings.ToLower(strings.TrimFunc(s, isSpace))
	if strings.HasPrefix(s, "_") || strings.HasSuffix(s, "_") || strings.Contains(s, "__") || strings.ContainsAny(s, "xp") {
		return 0, false
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64)
	return f, err == nil || errors.Is(err, strconv.ErrRange)
}

func intFilter(_ *run, v any, c call) (any, error) {
	values, given, err := c.params("int", "default= base=")
	if err != nil {
		return nil, err
	}
	base := int64(10)
	if given[1] {
		if base, err = (call{args: values}).number("int", 1, 0); err != nil {
			return nil, err
		}
		if base < 2 || base > 36 {
			return nil, fmt.Errorf("int needs a base from 2 to 36, found %d", base)
		}
	}
	if !given[0] {
		values[0] = int64(0)
	}
	var f float64
	switch v := v.(type) {
	case *undefined:
		return nil, errors.New(v.message)
	case string:
		if n, ok := parseInt(v, int(base)); ok {
			return n, nil
		}
		ok := false
		if f, ok = parseFloat(v); !ok {
			return values[0], nil
		}
	case float64:
		f = v
	default:
		if n, ok := asInt(v); ok {
			return fromBig(n), nil
		}
		return values[0], nil
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return values[0], nil
	}
	n, _ := big.NewFloat(math.Trunc(f)).Int(nil)
	return fromBig(n), nil
}

func floatFilter(_ *run, v any, c call) (any, error) {
	values, given, err := c.params("float", "default=")
	if err != nil {
		return nil, err
	}
	if !given[0] {
		values[0] = 0.0
	}
	switch v := v.(type) {
	case *undefined:
		return nil, errors.New(v.message)
	case string:
		if f, ok := parseFloat(v); ok {
			return f, nil
		}
	default:
		if f, ok := asFloat(v); ok {
			return f, nil
		}
	}
	return values[0], nil
}

// roundFilter rounds to precision digits: "common" halves to even, as Python does.
func roundFilter(_ *run, v any, c call) (any, error) {
	values, given, err := c.params("round", "precision= method=")
	if err != nil {
		return nil, err
	}
	precision := int64(0)
	if given[0] {
		if precision, err = (call{args: values}).number("round", 0, 0); err != nil {
			return nil, err
		}
	}
	method := any("common")
	if given[1] {
		method = values[1]
	}
	f, ok := asFloat(v)
	if !ok {
		return nil, fmt.Errorf("round needs a number, found %s", typeName(v))
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return f, nil
	}
	_, isFloat := v.(float64)
	precision = max(-400, min(precision, 400))
	scale := math.Pow(10, float64(precision))
	switch method {
	case "common":
		if n, ok := asInt(v); ok && precision >= 0 {
			return fromBig(n), nil
		}
		out := roundTo(f, int(precision))
		if !isFloat {
			return int64(out), nil
		}
		return out, nil
	case "ceil":
		return math.Ceil(f*scale) / scale, nil
	case "floor":
		return math.Floor(f*scale) / scale, nil
	}
	return nil, errors.New("method must be common, ceil or floor")
}

// roundTo rounds the exact value of a float to decimal digits, halves to even.
func roundTo(f float64, precision int) float64 {
	if precision >= 0 {
		out, _ := strconv.ParseFloat(strconv.FormatFloat(f, 'f', precision, 64), 64)
		return out
	}
	scale := math.Pow(10, float64(-precision))
	return math.RoundToEven(f/scale) * scale
}

// sizeFilter writes a number of bytes with a unit.
func sizeFilter(_ *run, v any, c call) (any, error) {
	values, _, err := c.params("filesizeformat", "binary=")
	if err != nil {
		return nil, err
	}
	f, ok := asFloat(v)
	if s, isText := v.(string); isText {
		f, ok = parseFloat(s)
	}
	if !ok {
		return nil, fmt.Errorf("filesizeformat needs a number, found %s", typeName(v))
	}
	base, units := 1000.0, []string{"kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"}
	if truth(values[0]) {
		base, units = 1024.0, []string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"}
	}
	switch {
	case f == 1:
		return "1 Byte", nil
	case f < base:
		return fmt.Sprintf("%d Bytes", int64(f)), nil
	}
	unit := base * base
	for i := 0; ; i++ {
		if f < unit || i == len(units)-1 {
			return fmt.Sprintf("%.1f %s", base*f/unit, units[i]), nil
		}
		unit *= base
	}
}

func wordcountFilter(r *run, v any, c call) (any, error) {
	s, err := r.str(v)
	if err != nil {
		return nil, err
	}
	words := strings.FieldsFunc(s, func(c rune) bool { return !isNameRune(c) })
	return int64(len(words)), firstError(r.work(len(s)), c.positional("wordcount", 0, 0))
}

// urlencodeFilter quotes text for a URL; a dict or pairs become a query.
func urlencodeFilter(r *run, v any, c call) (any, error) {
	if err := c.positional("urlencode", 0, 0); err != nil {
		return nil, err
	}
	_, isText := v.(string)
	if d, ok := v.(*Dict); ok {
		v = &view{d, "dict_items"}
	}
	if _, err := iterate(v); isText || err != nil {
		s, err := r.str(v)
		return quoteURL(s, "/"), firstError(err, r.grow(3*len(s)))
	}
	pairs, err := r.all(v)
	if err != nil {
		return nil, err
	}
	var parts []string
	for _, pair := range pairs {
		items, err := r.all(pair)
		if err == nil && len(items) != 2 {
			err = errors.New("urlencode needs pairs of key and value")
		}
		var texts [2]string
		for i := 0; i < 2 && err == nil; i++ {
			texts[i], err = r.str(items[i])
			texts[i] = strings.ReplaceAll(quoteURL(texts[i], ""), "%20", "+")
		}
		if err != nil {
			return nil, err
		}
		parts = append(parts, texts[0]+"="+texts[1])
	}
	return r.joined(parts, "&")
}

func quoteURL(s, safe string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
		if letter || strings.IndexByte("_.-~"+safe, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
