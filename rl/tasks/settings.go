package tasks

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// The settings of a generated family are a struct whose fields carry
//
//	toml    the key
//	range   accepted numbers, "[low,high]", ends included
//	choice  accepted words, "a,b"
//	about   what the setting is, for "rlzero tasks show NAME"
//
// Of two whole-number or float fields min_x and max_x the first is not above
// the second.

// setting is one field of a settings struct.
type setting struct {
	key       string
	about     string
	value     reflect.Value
	low, high float64 // of a number
	choice    []string
}

// settingsOf lists the settings of a struct in order.
func settingsOf(v reflect.Value) []setting {
	var out []setting
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag
		s := setting{key: tag.Get("toml"), about: tag.Get("about"), value: v.Field(i)}
		if r := tag.Get("range"); r != "" {
			low, high, _ := strings.Cut(strings.Trim(r, "[]"), ",")
			var errLow, errHigh error
			s.low, errLow = strconv.ParseFloat(low, 64)
			s.high, errHigh = strconv.ParseFloat(high, 64)
			if errLow != nil || errHigh != nil {
				panic("tasks: bad range tag of setting " + s.key)
			}
		}
		if c := tag.Get("choice"); c != "" {
			s.choice = strings.Split(c, ",")
		}
		out = append(out, s)
	}
	return out
}

// number is the value of a number as a float; isNumber is false for others.
func (s setting) number() (x float64, isNumber bool) {
	switch s.value.Kind() {
	case reflect.Int:
		return float64(s.value.Int()), true
	case reflect.Float64:
		return s.value.Float(), true
	}
	return 0, false
}

// accepted says in words what the setting may be.
func (s setting) accepted(low float64) string {
	switch {
	case s.choice != nil:
		return "one of " + strings.Join(s.choice, ", ")
	case s.value.Kind() == reflect.Bool:
		return "true or false"
	case s.value.Kind() == reflect.Int:
		return fmt.Sprintf("a whole number from %s to %s", formatNumber(low), formatNumber(s.high))
	}
	return fmt.Sprintf("a number from %s to %s", formatNumber(low), formatNumber(s.high))
}

func (s setting) text() string {
	if x, ok := s.number(); ok {
		return formatNumber(x)
	}
	return fmt.Sprint(s.value.Interface())
}

func formatNumber(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// atLeast raises the least value of a setting, where another one asks for it.
type atLeast struct {
	key string
	low int
}

// checkSettings is a *SettingError for the first setting out of its range, which raised
// may narrow, or a max_x below its min_x.
func checkSettings(settings []setting, raised ...atLeast) error {
	lows := map[string]float64{}
	for _, r := range raised {
		lows[r.key] = float64(r.low)
	}
	for _, s := range settings {
		low := s.low
		if least, ok := lows[s.key]; ok {
			low = max(low, least)
		}
		x, isNumber := s.number()
		wrong := isNumber && !(low <= x && x <= s.high) // NaN included
		if s.choice != nil {
			wrong = true
			for _, c := range s.choice {
				wrong = wrong && c != s.value.String()
			}
		}
		if wrong {
			return &SettingError{s.key, s.text(), s.accepted(low)}
		}
		if name, isMin := strings.CutPrefix(s.key, "min_"); isMin {
			lows["max_"+name] = x
		}
	}
	return nil
}

// Setting describes one setting of a task.
type Setting struct {
	Key      string `json:"key"`
	About    string `json:"about"`
	Accepted string `json:"accepted"` // in words
	Value    any    `json:"value"`    // an int, a float64, a bool or a string
}

// Settings are a task's settings in order, with their present values.
func Settings(t Task) []Setting {
	var out []Setting
	for _, s := range t.settings() {
		out = append(out, Setting{s.key, s.about, s.accepted(s.low), s.value.Interface()})
	}
	return out
}

// Set changes one setting, given as text. The error is for a key that the task
// does not have and for text of another kind; Validate tells whether the value
// will do.
func Set(t Task, key, value string) error {
	var keys []string
	for _, s := range t.settings() {
		if keys = append(keys, s.key); s.key != key {
			continue
		}
		new := reflect.New(s.value.Type())
		if _, err := fmt.Sscanf(value+"\n", "%v\n", new.Interface()); err != nil {
			return &SettingError{key, value, s.accepted(s.low)}
		}
		s.value.Set(new.Elem())
		return nil
	}
	if keys == nil {
		keys = []string{"none"}
	}
	return fmt.Errorf("task %s has no setting %q: accepted are %s", t.Name(), key, strings.Join(keys, ", "))
}

// describeSettings is the part "Settings" of a family's text.
func describeSettings(settings []setting) string {
	if len(settings) == 0 {
		return "There are no settings.\n"
	}
	width := 0
	for _, s := range settings {
		width = max(width, len(s.key))
	}
	var b strings.Builder
	b.WriteString("Settings\n")
	for _, s := range settings {
		fmt.Fprintf(&b, "%-*s   %s: %s. Default %s.\n", width, s.key, s.about, s.accepted(s.low), s.text())
	}
	return b.String()
}

// Attribute is one way to make the problems of a family harder, in steps.
type Attribute struct {
	Name   string
	Levels []float64 // from easy to hard
	// Fields are the settings that a level sets: one, or the lower and the upper
	// end of a range, which then spans all levels up to the one asked for.
	Fields []string
}

// set gives the settings the attribute's level; levels beyond the last count as
// the last.
func (a Attribute) set(settings []setting, level int) {
	reached := a.Levels[:min(level, len(a.Levels)-1)+1]
	values := []float64{reached[len(reached)-1]}
	if len(a.Fields) == 2 {
		low, high := reached[0], reached[0]
		for _, x := range reached {
			low, high = min(low, x), max(high, x)
		}
		values = []float64{low, high}
	}
	for i, key := range a.Fields {
		for _, s := range settings {
			switch {
			case s.key != key:
			case s.value.Kind() == reflect.Int:
				s.value.SetInt(int64(values[i]))
			default:
				s.value.SetFloat(values[i])
			}
		}
	}
}

// describeCurriculum is the part "Curriculum" of a family's text.
func describeCurriculum(curriculum []Attribute) string {
	if len(curriculum) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\nCurriculum: values at the levels 0, 1, 2 ... and the settings that they set\n")
	for _, a := range curriculum {
		levels := make([]string, len(a.Levels))
		for i, x := range a.Levels {
			levels[i] = formatNumber(x)
		}
		fmt.Fprintf(&b, "%s: %s (%s)\n", a.Name, strings.Join(levels, ", "), strings.Join(a.Fields, ", "))
	}
	return b.String()
}
