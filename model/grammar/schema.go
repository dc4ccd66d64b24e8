package grammar

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// SchemaError says which part of a schema is not supported.
type SchemaError struct {
	Pointer string // JSON pointer to it; "": the whole
	Why     string
}

func (e *SchemaError) Error() string {
	if e.Pointer == "" {
		return "the schema: " + e.Why
	}
	return "the schema at " + e.Pointer + ": " + e.Why
}

// schemas makes rules of a JSON schema.
type schemas struct {
	b     *builder
	root  value
	rules map[string]int32    // entries of rules by the pointers that refer to them
	heads map[string][]string // references that a referred schema begins with
}

func unsupported(at, format string, args ...any) error {
	const most = 400 // bytes: what is found may be long
	why := fmt.Sprintf(format, args...)
	if len(why) > most {
		why = strings.ToValidUTF8(why[:most], "") + " ..."
	}
	return &SchemaError{at, why}
}

// annotations say nothing about what is valid.
var annotations = []string{"title", "description", "default", "examples", "$schema", "$id", "$comment", "$defs", "definitions", "deprecated", "readOnly", "writeOnly"}

// kinds are the keywords by the type that they are about.
var kinds = []struct {
	name string
	keys []string
}{
	{"object", []string{"properties", "required", "additionalProperties"}},
	{"array", []string{"items", "minItems", "maxItems"}},
	{"string", []string{"pattern", "format", "minLength", "maxLength"}},
	{"number", []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}},
	{"integer", nil},
	{"boolean", nil},
	{"null", nil},
}

// alone are keywords that stand without those of a type.
var alone = []string{"$ref", "anyOf", "enum", "const"}

// schema reads a value of a schema. head is the pointer of the rule that begins here, if
// nothing was read since.
func (c *schemas) schema(v value, at, head string, from, to int32) error {
	if c.b.large() {
		return errLarge
	}
	if v.kind == 't' {
		c.b.called(from, ruleValue, to)
		return nil
	}
	if v.kind != '{' {
		return unsupported(at, "found %s; accepted: an object", v.json())
	}
	var given []string // keywords that say something
	for _, m := range v.members {
		if slices.Contains(annotations, m.key) {
			continue
		}
		if !known(m.key) {
			return unsupported(at+"/"+escapePointer(m.key), "the keyword %q is not supported; accepted: %s", m.key, accepted())
		}
		given = append(given, m.key)
	}
	for _, key := range alone {
		if !slices.Contains(given, key) {
			continue
		}
		for _, other := range given {
			if other != key && !(other == "type" && (key == "enum" || key == "const")) {
				return unsupported(at, "%q and %q are both given; accepted: one of them", other, key)
			}
		}
		return c.alone(v, key, at, head, from, to)
	}
	return c.typed(v, given, at, from, to)
}

func known(key string) bool {
	for _, k := range kinds {
		if slices.Contains(k.keys, key) {
			return true
		}
	}
	return key == "type" || slices.Contains(alone, key)
}

func accepted() string {
	list := slices.Concat([]string{"type"}, alone)
	for _, k := range kinds {
		list = append(list, k.keys...)
	}
	return strings.Join(list, ", ")
}

// alone reads a schema of $ref, anyOf, enum or const.
func (c *schemas) alone(v value, key, at, head string, from, to int32) error {
	what, _ := v.get(key)
	here := at + "/" + key
	switch key {
	case "$ref":
		if what.kind != '"' || !strings.HasPrefix(what.text, "#") {
			return unsupported(here, `found %s; accepted: a pointer within the schema, such as "#/$defs/name"`, what.json())
		}
		target := what.text[1:]
		if head != none {
			c.heads[head] = append(c.heads[head], target)
		}
		entry, err := c.rule(target, here)
		if err != nil {
			return err
		}
		c.b.through(from, entry, to)
		return nil
	case "anyOf":
		const most = 64
		if what.kind != '[' || len(what.items) == 0 || len(what.items) > most {
			return unsupported(here, "accepted: a list of 1 to %d schemas", most)
		}
		for i, s := range what.items {
			if err := c.schema(s, here+"/"+strconv.Itoa(i), head, from, to); err != nil {
				return err
			}
		}
		return nil
	}
	values := []value{what}
	if key == "enum" {
		if values = what.items; what.kind != '[' || len(values) == 0 {
			return unsupported(here, "accepted: a list of at least one value")
		}
	}
	types, err := typesOf(v, at)
	if err != nil {
		return err
	}
	var texts []string
	for _, x := range values {
		if types == nil || slices.ContainsFunc(types, x.isType) {
			texts = append(texts, x.json())
		}
	}
	slices.Sort(texts)
	c.b.texts(from, slices.Compact(texts), to)
	return nil
}

// none is no pointer of a rule.
const none = "none"

// rule is the entry of the rule of a schema that is referred to.
func (c *schemas) rule(pointer, here string) (int32, error) {
	if entry, ok := c.rules[pointer]; ok {
		return entry, nil
	}
	v := c.root
	for _, part := range strings.Split(pointer, "/")[1:] {
		part = strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
		next, ok := v.get(part)
		if i, err := strconv.Atoi(part); err == nil && v.kind == '[' && i >= 0 && i < len(v.items) {
			next, ok = v.items[i], true
		}
		if !ok {
			return 0, unsupported(here, "there is nothing at %q", "#"+pointer)
		}
		v = next
	}
	if pointer != "" && pointer[0] != '/' {
		return 0, unsupported(here, "found %q; accepted: a pointer such as %q", "#"+pointer, "#/$defs/name")
	}
	from, to := c.b.node(), c.b.node()
	c.b.nodes[to].ends = true
	c.rules[pointer] = from
	if c.b.large() {
		return from, nil
	}
	return from, c.schema(v, pointer, pointer, from, to)
}

// circular finds a schema that begins with itself: it says nothing.
func (c *schemas) circular() error {
	state := map[string]int{} // 1: being followed, 2: found to end
	var follow func(p string) error
	follow = func(p string) error {
		switch state[p] {
		case 1:
			return unsupported(p, "it refers to itself before anything is written")
		case 2:
			return nil
		}
		state[p] = 1
		for _, next := range c.heads[p] {
			if err := follow(next); err != nil {
				return err
			}
		}
		state[p] = 2
		return nil
	}
	for _, p := range sortedKeys(c.heads) {
		if err := follow(p); err != nil {
			return err
		}
	}
	return nil
}

func sortedKeys(m map[string][]string) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// typesOf are those that "type" names; nil without it.
func typesOf(v value, at string) ([]string, error) {
	t, ok := v.get("type")
	if !ok {
		return nil, nil
	}
	list := []value{t}
	if t.kind == '[' {
		list = t.items
	}
	var out, names []string
	for _, k := range kinds {
		names = append(names, k.name)
	}
	for _, x := range list {
		if x.kind != '"' || !slices.Contains(names, x.text) {
			return nil, unsupported(at+"/type", "found %s; accepted: %s", x.json(), strings.Join(names, ", "))
		}
		if slices.Contains(out, x.text) {
			return nil, unsupported(at+"/type", "%q appears twice; accepted: each type once", x.text)
		}
		out = append(out, x.text)
	}
	if len(out) == 0 {
		return nil, unsupported(at+"/type", "found an empty list; accepted: %s", strings.Join(names, ", "))
	}
	return out, nil
}

// typed reads a value of the types of a schema; without "type", of those that its
// keywords are about.
func (c *schemas) typed(v value, given []string, at string, from, to int32) error {
	types, err := typesOf(v, at)
	if err != nil {
		return err
	}
	if len(given) == 0 {
		c.b.called(from, ruleValue, to)
		return nil
	}
	if types == nil {
		for _, k := range kinds {
			if slices.ContainsFunc(given, func(key string) bool { return slices.Contains(k.keys, key) }) {
				types = append(types, k.name)
			}
		}
	}
	for _, t := range types {
		var err error
		switch t {
		case "object":
			err = c.object(v, at, from, to)
		case "array":
			err = c.list(v, at, from, to)
		case "string":
			err = c.text(v, at, from, to)
		case "boolean":
			c.b.texts(from, []string{"false", "true"}, to)
		case "null":
			c.b.text(from, "null", to)
		default:
			err = c.number(v, t == "integer", at, from, to)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// object reads the properties of a schema in their order.
func (c *schemas) object(v value, at string, from, to int32) error {
	properties, named := v.get("properties")
	more, closed := v.get("additionalProperties")
	switch {
	case named && properties.kind != '{':
		return unsupported(at+"/properties", "accepted: an object")
	case closed && more.kind != 'f':
		return unsupported(at+"/additionalProperties", "found %s; accepted: false", more.json())
	}
	needed := map[string]bool{}
	if list, ok := v.get("required"); ok {
		if list.kind != '[' {
			return unsupported(at+"/required", "accepted: a list of names of properties")
		}
		for _, name := range list.items {
			if _, ok := properties.get(name.text); !ok || name.kind != '"' {
				return unsupported(at+"/required", "there is no property %s", name.json())
			}
			needed[name.text] = true
		}
	}
	if !named && !closed {
		c.b.called(from, ruleObject, to)
		return nil
	}
	const most = 128
	if n := len(properties.members); n-len(needed) > most {
		return unsupported(at+"/properties", "%d properties are not required; accepted: at most %d", n-len(needed), most)
	}
	return c.properties(properties.members, needed, at, from, to)
}

func (c *schemas) properties(list []member, needed map[string]bool, at string, from, to int32) error {
	b := c.b
	end := b.node()
	b.text(end, "}", to)
	first := b.spaced(b.then(from, "{")) // no property is written yet
	var later int32 = -1                 // after a property that is written
	for _, p := range list {
		key := b.node()
		b.skip(first, key)
		if later >= 0 {
			b.skip(b.spaced(b.then(later, ",")), key)
		}
		value, after := b.spaced(b.then(key, literal(p.key)+":")), b.node()
		if err := c.schema(p.value, at+"/properties/"+escapePointer(p.key), none, value, after); err != nil {
			return err
		}
		if needed[p.key] {
			first, later = b.node(), after
			continue
		}
		if later >= 0 {
			b.skip(later, after)
		}
		later = after
		next := b.node()
		b.skip(first, next)
		first = next
	}
	b.skip(first, end)
	if later >= 0 {
		b.skip(b.spaced(later), end)
	}
	return nil
}

func (c *schemas) list(v value, at string, from, to int32) error {
	least, err := count(v, "minItems", at, 0)
	if err != nil {
		return err
	}
	most, err := count(v, "maxItems", at, -1)
	if err != nil {
		return err
	}
	element := c.b.entry(ruleValue)
	if items, ok := v.get("items"); ok {
		var end int32
		element, end = c.b.node(), c.b.node()
		c.b.nodes[end].ends = true
		if err := c.schema(items, at+"/items", none, element, end); err != nil {
			return err
		}
	}
	c.b.array(from, element, least, most, to)
	return nil
}

// count is the whole number of a keyword.
func count(v value, key, at string, otherwise int) (int, error) {
	n, ok := v.get(key)
	if !ok {
		return otherwise, nil
	}
	const most = 1000
	i, err := strconv.Atoi(n.text)
	if n.kind != '0' || err != nil || i < 0 || i > most {
		return 0, unsupported(at+"/"+key, "found %s; accepted: whole numbers from 0 to %d", n.json(), most)
	}
	return i, nil
}

// formats are strings of a form, as patterns: those whose values need no calendar.
var formats = map[string]string{
	"date":      `^` + date + `$`,
	"time":      `^` + clock + `$`,
	"date-time": `^` + date + `T` + clock + `$`,
	"uuid":      `^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`,
	"ipv4":      `^(` + octet + `\.){3}` + octet + `$`,
}

// Of RFC 3339, without leap seconds and without days that some years do not have.
const (
	date  = `[0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))`
	clock = `([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])`
	octet = `(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])`
)

func (c *schemas) text(v value, at string, from, to int32) error {
	var patterns, keys []string
	if p, ok := v.get("pattern"); ok {
		if p.kind != '"' {
			return unsupported(at+"/pattern", "found %s; accepted: a text", p.json())
		}
		patterns, keys = append(patterns, p.text), append(keys, "pattern")
	}
	if f, ok := v.get("format"); ok {
		p, known := formats[f.text]
		if f.kind != '"' || !known {
			return unsupported(at+"/format", "found %s; accepted: date, date-time, ipv4, time, uuid", f.json())
		}
		patterns, keys = append(patterns, p), append(keys, "format")
	}
	least, err := count(v, "minLength", at, 0)
	if err != nil {
		return err
	}
	most, err := count(v, "maxLength", at, -1)
	if err != nil {
		return err
	}
	if least > 0 || most >= 0 {
		upTo := ""
		if most >= 0 {
			upTo = strconv.Itoa(most)
		}
		if most >= 0 && least > most {
			return nil // no text is valid
		}
		patterns, keys = append(patterns, fmt.Sprintf("(?s)^.{%d,%s}$", least, upTo)), append(keys, "minLength and maxLength")
	}
	switch len(patterns) {
	case 0:
		c.b.called(from, ruleString, to)
		return nil
	case 1:
		if err := c.b.pattern(from, patterns[0], to); err != nil {
			return unsupported(at+"/"+keys[0], "%v", err)
		}
		return nil
	}
	return unsupported(at, "%s are given together; accepted: one of them", strings.Join(keys, " and "))
}

// exact is the largest whole number up to which float64 has all: the bound that zod writes for an
// integer (Number.MAX_SAFE_INTEGER in ECMAScript).
const exact = 1<<53 - 1

func (c *schemas) number(v value, wholly bool, at string, from, to int32) error {
	r := unbounded
	for _, key := range []string{"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"} {
		n, ok := v.get(key)
		if !ok {
			continue
		}
		x, err := strconv.ParseFloat(n.text, 64)
		if n.kind != '0' || err != nil || x != math.Trunc(x) || x > exact || x < -exact {
			return unsupported(at+"/"+key, "found %s; accepted: whole numbers from -(2^53-1) to 2^53-1", n.json())
		}
		limit, exclusive := int64(x), strings.HasPrefix(key, "exclusive")
		if strings.HasSuffix(strings.ToLower(key), "minimum") {
			if limit > r.low || limit == r.low && exclusive {
				r.low, r.aboveLow = limit, exclusive
			}
		} else if limit < r.high || limit == r.high && exclusive {
			r.high, r.belowHi = limit, exclusive
		}
	}
	switch {
	case r != unbounded:
		c.b.within(from, r, wholly, to)
	case wholly:
		c.b.called(from, ruleInteger, to)
	default:
		c.b.called(from, ruleNumber, to)
	}
	return nil
}

func escapePointer(key string) string {
	return strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
}
