package tasks

import (
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/verify"
)

// fuzzRows are problems of a family for the fuzz target: of the default
// settings and of the first two levels of its curriculum.
func fuzzRows(f Family) []verify.Problem {
	var rows []verify.Problem
	for i, task := range []Task{f.New(), f.Level(0), f.Level(1)} {
		for split := range 2 {
			if task.Validate() == nil {
				rows = append(rows, task.Draw(random.At(31, uint64(split), uint64(i)), Split(split)))
			}
		}
	}
	return rows
}

// FuzzAnswers gives the answer reader of any family any text: it ends, says the
// same twice, and judges. What the completion says never makes a sound row one
// that is not scored, and cut off it earns nothing. A row that was damaged on
// its way makes no reader panic either.
func FuzzAnswers(f *testing.F) {
	if testing.Short() {
		f.Skip("-short: an answer of every family; TestRows has them")
	}
	families := Families()
	rows := map[string][]verify.Problem{}
	verifiers := map[string][]verify.Verifier{}
	for _, family := range families {
		rows[family.Name] = fuzzRows(family)
		for _, how := range []string{"announced", "none"} {
			v, err := verify.New("task:"+family.Name, map[string]any{"extract": how})
			if err != nil { // a family whose answers have no such form
				v, err = verify.New("task:"+family.Name, nil)
			}
			if err != nil {
				f.Fatal(err)
			}
			verifiers[family.Name] = append(verifiers[family.Name], v)
		}
	}
	for i, family := range families {
		for j, row := range rows[family.Name] {
			f.Add(uint8(i), uint8(j), row.Answer)
		}
		f.Add(uint8(i), uint8(0), "Well: <answer>"+rows[family.Name][0].Answer+" </answer>.")
	}
	for i, text := range []string{"", "nan", "1e400", "[[1, 2], [3, 4]]", "(((1)))", "{\"a\": 1}", "True", "-0", "١٢", "A → B", "[]", "0 0\n0 0", "1/0", "x**2 + 3*x", "\xff"} {
		f.Add(uint8(5*i), uint8(i), text)
	}
	f.Fuzz(func(t *testing.T, which, index uint8, completion string) {
		name := families[int(which)%len(families)].Name
		row := rows[name][int(index)%len(rows[name])]
		for _, v := range verifiers[name] {
			got := v.Verify(row, completion)
			sound(t, name, completion, got)
			if got.Verdict == verify.NotScored {
				t.Errorf("%s: the completion %q escaped being scored: %s", name, completion, got.Reason)
			}
			if again := v.Verify(row, completion); !reflect.DeepEqual(again, got) {
				t.Errorf("%s: %q: %+v, then %+v", name, completion, got, again)
			}
		}
		if families[int(which)%len(families)].New().Verify(row, completion, false).Score != 0 {
			t.Errorf("%s: %q earns something though it was cut off", name, completion)
		}
		bad := damaged(row, index, completion)
		sound(t, name, completion, verifiers[name][1].Verify(bad, row.Answer))
	})
}

// damaged is a row one of whose values is another.
func damaged(row verify.Problem, at uint8, text string) verify.Problem {
	bad := row
	bad.Metadata = map[string]json.RawMessage{}
	i := 0
	for _, key := range slices.Sorted(maps.Keys(row.Metadata)) {
		bad.Metadata[key] = row.Metadata[key]
		if i == int(at/4)%(1+len(row.Metadata)) {
			raw := json.RawMessage(text)
			if !json.Valid(raw) {
				raw, _ = json.Marshal(text) // a string can be written
			}
			bad.Metadata[key] = raw
		}
		i++
	}
	if i == int(at/4)%(1+len(row.Metadata)) {
		bad.Answer = text
	}
	return bad
}

// sound: the verdict and the score go together, and there is a reason.
func sound(t *testing.T, name, completion string, v verify.Verdict) {
	t.Helper()
	ok := v.Reason != ""
	switch v.Verdict {
	case verify.Right:
		ok = ok && v.Score == 1
	case verify.Wrong:
		ok = ok && v.Score == 0
	case verify.Graded:
		ok = ok && 0 < v.Score && v.Score < 1
	case verify.NotScored:
		ok = ok && math.IsNaN(v.Score)
	default:
		ok = false
	}
	if !ok || strings.Contains(v.Reason, "%!") && !strings.Contains(completion, "%!") {
		t.Errorf("%s: %q: %+v", name, completion, v)
	}
}
