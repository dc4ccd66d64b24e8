package tasks

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/internal/settings"
)

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
	for _, f := range settings.Fields(t) {
		out = append(out, Setting{f.Key, f.About(), f.Accepted(), f.Value()})
	}
	return out
}

// Set changes one setting, given as text. The error is for a key that the task
// does not have and for a value of another type or out of its range; Validate
// tells whether the value goes with the others.
func Set(t Task, key, value string) error {
	if err := settings.Set(t, key, value); err != nil {
		return fmt.Errorf("task %s: %w", t.Name(), err)
	}
	return nil
}

// Changed is a task of the family with some settings put in place of its own; of one that is true or false,
// 1 is true and 0 false. The error is for a setting that the family does not have, that is no number, or out
// of range.
func (f Family) Changed(t Task, numbers map[string]float64) (Task, error) {
	out := f.New()
	for _, f := range settings.Fields(t) {
		if err := settings.Set(out, f.Key, f.Text()); err != nil {
			return nil, err
		}
	}
	fields := settings.Fields(out)
	for _, key := range slices.Sorted(maps.Keys(numbers)) {
		x := numbers[key]
		i := slices.IndexFunc(fields, func(f settings.Field) bool { return f.Key == key })
		if i < 0 {
			return nil, fmt.Errorf("task %s has no setting %s", t.Name(), key)
		}
		switch fields[i].Value().(type) {
		case int:
			if x != math.Trunc(x) {
				return nil, &settings.Error{Key: key, Problem: fmt.Sprintf("= %v is not a whole number; accepted: %s", x, fields[i].Accepted())}
			}
		case float64:
		case bool:
			if x != 0 && x != 1 {
				return nil, &settings.Error{Key: key, Problem: fmt.Sprintf("= %v is neither 1 nor 0; accepted: %s, as a condition", x, fields[i].Accepted())}
			}
			if err := settings.Set(out, key, strconv.FormatBool(x == 1)); err != nil {
				return nil, err
			}
			continue
		default:
			return nil, &settings.Error{Key: key, Problem: fmt.Sprintf("= %v is a number; accepted: %s", x, fields[i].Accepted())}
		}
		fields[i].SetNumber(x)
	}
	return out, out.Validate()
}

// outOfRange is the error for a setting that the others do not allow.
func outOfRange(key string, found any, accepted string) error {
	return settings.OutOfRange(key, found, accepted)
}

// describeSettings is the part "Settings" of a family's text.
func describeSettings(task any) string {
	text := settings.Describe(task)
	if text == "" {
		return "There are no settings.\n"
	}
	return "Settings\n" + text
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
func (a Attribute) set(task any, level int) {
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
		for _, f := range settings.Fields(task) {
			if f.Key == key {
				f.SetNumber(values[i])
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
	b.WriteString("\nCurriculum: values at levels 0, 1, 2 ... and the settings they change\n")
	for _, a := range curriculum {
		levels := make([]string, len(a.Levels))
		for i, x := range a.Levels {
			levels[i] = strconv.FormatFloat(x, 'f', -1, 64)
		}
		fmt.Fprintf(&b, "%s: %s (%s)\n", a.Name, strings.Join(levels, ", "), strings.Join(a.Fields, ", "))
	}
	return b.String()
}
