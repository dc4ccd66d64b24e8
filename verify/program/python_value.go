package program

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// fromPython is the value of the harness's notation: null, true, false and text stand
// for themselves, everything else is an object of one member that names its type:
//
//	{"i":"12"}  {"f":"0.5"}  {"l":[..]}  {"t":[..]}  {"s":[..]}  {"fs":[..]}  {"d":[[key,value],..]}  {"v":["Decimal","1.5"]}
//
// The program may have written the text itself; it is a value all the same. shown is
// the value for a reason.
func fromPython(text string) (v value, shown string, err error) {
	var tree any
	if err := json.Unmarshal([]byte(text), &tree); err != nil {
		return nil, "", errNoValue
	}
	nodes := 0
	v, err = pythonValue(tree, 0, &nodes)
	return v, showValue(v), err
}

var errNoValue = errors.New("it is not a value")

func pythonValue(tree any, depth int, nodes *int) (value, error) {
	if *nodes++; *nodes > maxValueNodes || depth > maxValueDepth {
		return nil, fmt.Errorf("a value of more than %d parts or nested deeper than %d", maxValueNodes, maxValueDepth)
	}
	if isPlain(tree) {
		return tree, nil
	}
	tagged, _ := tree.(map[string]any)
	if len(tagged) != 1 {
		return nil, errNoValue
	}
	for tag, content := range tagged { // of one
		switch list, isList := content.([]any); {
		case tag == "i" || tag == "f":
			text, _ := content.(string)
			return readNumber(text)
		case tag == "v":
			return pythonScalar(list)
		case tag == "b":
			return nil, errors.New("a value of type bytes, which JSON does not have")
		case tag == "c":
			return nil, errors.New("a value of type complex, which JSON does not have")
		case tag == "other":
			return nil, fmt.Errorf("a value of type %.60q", content)
		case !isList:
		case tag == "l" || tag == "t":
			return pythonItems(list, depth, nodes)
		case tag == "s" || tag == "fs":
			items, err := pythonItems(list, depth, nodes)
			return unordered(items), err
		case tag == "d":
			return pythonDict(list, depth, nodes)
		}
	}
	return nil, errNoValue
}

// pythonScalar is a value of a class of the standard library, by name and text.
func pythonScalar(list []any) (value, error) {
	if len(list) != 2 {
		return nil, errNoValue
	}
	name, _ := list[0].(string)
	text, _ := list[1].(string)
	if name != "Decimal" {
		return nil, fmt.Errorf("a value of type %.60q, which JSON does not have", name)
	}
	return readNumber(text)
}

func pythonItems(list []any, depth int, nodes *int) ([]value, error) {
	items := make([]value, len(list))
	for i, item := range list {
		var err error
		if items[i], err = pythonValue(item, depth+1, nodes); err != nil {
			return nil, err
		}
	}
	return items, nil
}

func pythonDict(list []any, depth int, nodes *int) (value, error) {
	object := make(map[string]value, len(list))
	for _, member := range list {
		pair, _ := member.([]any)
		if len(pair) != 2 {
			return nil, errNoValue
		}
		key, err := pythonKey(pair[0])
		if err != nil {
			return nil, err
		}
		if _, taken := object[key]; taken {
			return nil, fmt.Errorf("a dict with two keys that are %.40q as text", key)
		}
		if object[key], err = pythonValue(pair[1], depth+1, nodes); err != nil {
			return nil, err
		}
	}
	return object, nil
}

// pythonKey is a dict's key as json.dumps of Python writes it.
func pythonKey(tree any) (string, error) {
	switch key := tree.(type) {
	case string:
		return key, nil
	case bool:
		return strconv.FormatBool(key), nil
	case nil:
		return "null", nil
	case map[string]any:
		for _, tag := range []string{"i", "f"} {
			if number, ok := key[tag].(string); ok && len(key) == 1 {
				return number, nil
			}
		}
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
