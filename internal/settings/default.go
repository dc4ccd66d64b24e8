package settings

import (
	"fmt"
	"reflect"
)

// SetDefaults gives the settings of the struct that v points to, and of the tables in it, the
// values of their tags; kind is that of the table, for tags such as default_rl. Settings
// without such a tag, and those that tables of this kind do not have, keep their values.
func SetDefaults(v any, kind string) { setDefaults(structOf(v), kind) }

func setDefaults(v reflect.Value, kind string) {
	for _, f := range fieldsOf(v) {
		switch {
		case !f.In(kind):
		case f.value.Kind() == reflect.Struct:
			setDefaults(f.value, kind)
		case f.defaultText(kind) != "":
			f.value.Set(f.fallback(kind))
		}
	}
}

// defaultText is the default of tables of a kind, as TOML or as a text without quotes; "":
// there is none.
func (f Field) defaultText(kind string) string {
	if text, own := f.declared.Tag.Lookup("default_" + kind); own {
		return text
	}
	return f.declared.Tag.Get("default")
}

// fallback is the value that tables of a kind have without the key.
func (f Field) fallback(kind string) reflect.Value {
	value := reflect.New(f.value.Type()).Elem()
	if text := f.defaultText(kind); text != "" {
		var d Document
		if d.value(value, valueOf(text), Path{f.Key}, kind, f); d.Err() != nil {
			panic(fmt.Errorf("settings: the default of %s.%s: %w", f.owner, f.declared.Name, d.Err())) // it is part of the program
		}
	}
	return value
}

// Clear empties the settings of the struct that v points to that its variant does not have.
func Clear(v Variant) {
	variant := v.Variant()
	for _, f := range Fields(v) {
		if !f.Of(variant) {
			f.value.SetZero()
		}
	}
}
