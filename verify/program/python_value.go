package program

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// fromPython is the value of the harness's notation: null, true, false and text stand
// for themselves, everything else is an object of one member that names its type:
//
//	{"i":"12"}  {"f":"0.5"}  {"l":[..]}  {"t":[..]}  {"s":[..]}  {"fs":[..]}  {"d":[[key,value],..]}
//
// The program may have written the text itself; it is a value all the same. shown is
// the value for a reason.
func fromPython(text string) (v value, shown string, err error) {
	nodes := 0
	v, err = pythonValue(json.RawMessage(text), 0, &nodes)
	return v, showValue(v), err
}

func pythonValue(raw json.RawMessage, depth int, nodes *int) (value, error) {
	if *nodes++; *nodes > maxValueNodes || depth > maxValueDepth {
		return nil, fmt.Errorf("a value of more than %d parts or nested deeper than %d", maxValueNodes, maxValueDepth)
	}
	var plain any
	if err := json.Unmarshal(raw, &plain); err != nil {
		return nil, errors.New("it is no value")
	}
	if isPlain(plain) {
		return plain, nil
	}
	var tagged map[string]json.RawMessage
	if err := json.Unmarshal(raw, &tagged); err != nil || len(tagged) != 1 {
		return nil, errors.New("it is no value")
	}
	for tag, content := range tagged { // of one
		return taggedValue(tag, content, depth, nodes)
	}
	return nil, nil
}

func taggedValue(tag string, content json.RawMessage, depth int, nodes *int) (value, error) {
	switch tag {
	case "i", "f":
		var text string
		if err := json.Unmarshal(content, &text); err != nil {
			return nil, errors.New("it is no value")
		}
		return readNumber(text)
	case "l", "t", "s", "fs":
		var raw []json.RawMessage
		if err := json.Unmarshal(content, &raw); err != nil {
			return nil, errors.New("it is no value")
		}
		items := make([]value, len(raw))
		for i, r := range raw {
			var err error
			if items[i], err = pythonValue(r, depth+1, nodes); err != nil {
				return nil, err
			}
		}
		if tag == "s" || tag == "fs" {
			return unordered(items), nil
		}
		return items, nil
	case "d":
		var raw [][2]json.RawMessage
		if err := json.Unmarshal(content, &raw); err != nil {
			return nil, errors.New("it is no value")
		}
		object := make(map[string]value, len(raw))
		for _, member := range raw {
			key, err := pythonKey(member[0])
			if err != nil {
				return nil, err
			}
			if _, taken := object[key]; taken {
				return nil, fmt.Errorf("a dict with two keys that are %.40q as text", key)
			}
			if object[key], err = pythonValue(member[1], depth+1, nodes); err != nil {
				return nil, err
			}
		}
		return object, nil
	case "other":
		return nil, fmt.Errorf("a value of type %.60s", content)
	}
	return nil, fmt.Errorf("a value of type %.20q, which JSON does not have", map[string]string{"b": "bytes", "c": "complex"}[tag])
}

// pythonKey is a dict's key as json.dumps of Python writes it.
func pythonKey(raw json.RawMessage) (string, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil && string(raw) != "null" {
		return text, nil
	}
	var tagged map[string]string
	if json.Unmarshal(raw, &tagged) == nil && len(tagged) == 1 {
		for _, tag := range []string{"i", "f"} {
			if number, ok := tagged[tag]; ok {
				return number, nil
			}
		}
	}
	if s := string(raw); s == "null" || s == "true" || s == "false" {
		return s, nil
	}
	return "", errors.New("a dict with keys that JSON does not have")
}

// showValue writes a value about as Python does, and not much more than fits a reason.
func showValue(v value) string {
	list := func(open, end string, items []value) string {
		var parts []string
		for _, item := range items[:min(len(items), 20)] {
			parts = append(parts, showValue(item))
		}
		return open + strings.Join(parts, ", ") + end
	}
	switch x := v.(type) {
	case nil:
		return "None"
	case bool:
		return map[bool]string{true: "True", false: "False"}[x]
	case []value:
		return list("[", "]", x)
	case unordered:
		return list("{", "}", x)
	case map[string]value:
		var parts []string
		for _, key := range slices.Sorted(maps.Keys(x))[:min(len(x), 20)] {
			parts = append(parts, fmt.Sprintf("%q: %s", key, showValue(x[key])))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case number:
		if x.rat == nil {
			return fmt.Sprint(x.float)
		}
		if x.rat.IsInt() {
			return x.rat.RatString()
		}
		return x.rat.FloatString(6)
	}
	return fmt.Sprintf("%q", v)
}
