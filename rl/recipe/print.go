package recipe

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Resolved writes the recipe as TOML with every value, defaults included.
// Parse of it gives the same recipe.
func (r *Recipe) Resolved() string {
	var w strings.Builder
	printTable(&w, "", reflect.ValueOf(r).Elem(), "")
	return strings.TrimLeft(w.String(), "\n")
}

// printTable writes the values of a table first, then the tables in it, as TOML
// asks for.
func printTable(w *strings.Builder, name string, v reflect.Value, kind string) {
	if m, ok := v.Interface().(Model); ok && m.Path != "" {
		fmt.Fprintf(w, "path = %s\n", quote(m.Path))
		return
	}
	var tables []field
	for _, f := range fieldsOf(v) {
		for f.value.Kind() == reflect.Interface || f.value.Kind() == reflect.Pointer {
			f.value = f.value.Elem()
		}
		switch {
		case !f.in(kind):
		case f.value.Kind() == reflect.Struct, f.key == "stage":
			tables = append(tables, f)
		default:
			fmt.Fprintf(w, "%s = %s\n", f.key, printValue(f.value))
		}
	}
	for _, f := range tables {
		inner := strings.TrimPrefix(name+"."+f.key, ".")
		if stages, ok := f.value.Interface().([]Stage); ok {
			for i := range stages {
				fmt.Fprintf(w, "\n[[%s]]\n", inner)
				printTable(w, inner, reflect.ValueOf(stages[i]), stages[i].Kind)
			}
			continue
		}
		fmt.Fprintf(w, "\n[%s]\n", inner)
		printTable(w, inner, f.value, kind)
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
	}
	return fmt.Sprint(v.Interface())
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

// quote is a TOML basic string (toml.io/en/v1.0.0#string).
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
