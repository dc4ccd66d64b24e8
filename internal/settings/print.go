package settings

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Print writes a struct as TOML with every value, defaults included. Decoded over
// any values it gives the same struct.
func Print(v any) string { return printed(v, func(Field) bool { return true }) }

// Hashed is what [Print] writes without the fields that are hashed where they are given, and are not.
func Hashed(v any) string {
	return printed(v, func(f Field) bool { return f.declared.Tag.Get("hashed") != "given" || !f.value.IsZero() })
}

func printed(v any, keep func(Field) bool) string {
	var w strings.Builder
	printTable(&w, "", structOf(v), "", keep)
	return strings.TrimLeft(w.String(), "\n")
}

// printTable writes the values of a table first, then the tables in it, as TOML
// asks for.
func printTable(w *strings.Builder, name string, v reflect.Value, around string, keep func(Field) bool) {
	fields := fieldsOf(v)
	kind := kindOf(fields, around)
	variant, varies := v.Interface().(Variant)
	var tables []Field
	for _, f := range fields {
		for f.value.Kind() == reflect.Interface || f.value.Kind() == reflect.Pointer {
			f.value = f.value.Elem()
		}
		switch {
		case !f.In(kind), varies && !f.Of(variant.Variant()), !keep(f):
		case f.rest:
			rest := f.value.Interface().(map[string]any)
			for _, key := range slices.Sorted(maps.Keys(rest)) {
				fmt.Fprintf(w, "%s = %s\n", printKey(key), printValue(reflect.ValueOf(rest[key])))
			}
		case f.value.Kind() == reflect.Struct, named(f.value.Type()), f.value.Kind() == reflect.Slice && f.value.Type().Elem().Kind() == reflect.Struct:
			tables = append(tables, f)
		default:
			fmt.Fprintf(w, "%s = %s\n", f.Key, printValue(f.value))
		}
	}
	for _, f := range tables {
		inner := strings.TrimPrefix(name+"."+f.Key, ".")
		if f.value.Kind() == reflect.Slice {
			for i := range f.value.Len() {
				fmt.Fprintf(w, "\n[[%s]]\n", inner)
				printTable(w, inner, f.value.Index(i), kind, keep)
			}
			continue
		}
		if named(f.value.Type()) {
			for _, key := range slices.SortedFunc(slices.Values(f.value.MapKeys()), func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) }) {
				head := inner + "." + printKey(key.String())
				fmt.Fprintf(w, "\n[%s]\n", head)
				printTable(w, head, f.value.MapIndex(key), kind, keep)
			}
			continue
		}
		fmt.Fprintf(w, "\n[%s]\n", inner)
		printTable(w, inner, f.value, kind, keep)
	}
}

func printValue(v reflect.Value) string {
	switch v.Kind() {
	case reflect.String:
		return quote(v.String())
	case reflect.Float64:
		return formatFloat(v.Float())
	case reflect.Slice, reflect.Array:
		var items []string
		for i := range v.Len() {
			items = append(items, printValue(v.Index(i)))
		}
		return "[" + strings.Join(items, ", ") + "]"
	case reflect.Interface:
		return printValue(v.Elem())
	case reflect.Map:
		var items []string
		for _, key := range slices.Sorted(maps.Keys(v.Interface().(map[string]any))) {
			items = append(items, printKey(key)+" = "+printValue(v.MapIndex(reflect.ValueOf(key)).Elem()))
		}
		return "{" + strings.Join(items, ", ") + "}"
	}
	return fmt.Sprint(v.Interface())
}

// Text is a value of a decoded text as messages show it: a string without quotes.
func Text(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case int64:
		return formatFloat(float64(v))
	case float64:
		return formatFloat(v)
	}
	return fmt.Sprint(value)
}

var bareKey = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

func printKey(key string) string {
	if bareKey.MatchString(key) {
		return key
	}
	return quoteLine(key)
}

// formatFloat is the shortest text that reads back as the same float in TOML.
func formatFloat(x float64) string {
	s := strconv.FormatFloat(x, 'g', -1, 64)
	switch {
	case s == "+Inf":
		return "inf"
	case s == "-Inf":
		return "-inf"
	case s == "NaN":
		return "nan"
	case !strings.ContainsAny(s, ".e"):
		return s + ".0"
	}
	return s
}

// quote is a TOML basic string (toml.io/en/v1.0.0#string), of several lines
// where the text has several.
func quote(s string) string {
	if strings.Contains(s, "\n") {
		return `"""` + "\n" + escape(s, true) + `"""`
	}
	return quoteLine(s)
}

// quoteLine is a basic string of one line, as keys have to be.
func quoteLine(s string) string { return `"` + escape(s, false) + `"` }

// escape writes what stands in a basic string. In one of several lines tabs, line
// feeds and quotes may stand as they are, but for quotes that another one or the
// end follows: three would end the string.
func escape(s string, several bool) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case several && (r == '\t' || r == '\n' || r == '"' && i+1 < len(s) && s[i+1] != '"'):
			b.WriteRune(r)
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
