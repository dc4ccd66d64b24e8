package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// madeText is a MadeFile with rows.
func madeText(t testing.TB, rows ...Made) []byte {
	t.Helper()
	var b bytes.Buffer
	sum := ""
	for _, m := range rows {
		m, err := m.Chained(sum)
		if err != nil {
			t.Fatal(err)
		}
		text, err := plain(m)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(text, '\n'))
		sum = m.Sum
	}
	return b.Bytes()
}

func someMade() []Made {
	row := func(text string) map[string]json.RawMessage {
		return map[string]json.RawMessage{"question": json.RawMessage(text), "list": json.RawMessage("[1,2]")}
	}
	return []Made{
		{Step: 3, Stage: "a", Rows: "x", ID: "x/1", From: "1+2", Samples: []int{1}, By: "policy@3", Seed: 1 << 62, Row: row(`"<1> & \",\"sum\":\""`)},
		{Step: 3, Stage: "a", Rows: "y", ID: "y/1", From: "1+3", Group: 2, By: "past", Row: row(`"b"`)},
		{Step: 4, Stage: "b", Rows: "x", ID: "x/2", From: "1+4", Samples: []int{0, 2}, By: "policy@4", Row: row(`"c"`)},
	}
}

// TestMade: rows are read as they were written, and every changed byte is refused at its line.
func TestMade(t *testing.T) {
	want := someMade()
	text := madeText(t, want...)
	file := filepath.Join(t.TempDir(), MadeFile)
	read := func(text []byte) (got []Made, err error) {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err = EachMade(file, func(n int, raw []byte, m Made) error {
			if n != len(got)+1 || !bytes.HasPrefix(raw, []byte(`{"step":`)) {
				t.Errorf("line %d: %s", n, raw)
			}
			m.Sum = ""
			got = append(got, m)
			return nil
		})
		return got, err
	}
	if got, err := read(append(bytes.Clone(text), `{"step":4,"st`...)); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	end := []byte("\"}\n") // of each line
	for _, more := range []string{`,"row":{"question":"evil"}`, `,"from":"evil"`, ` `} {
		changed := bytes.Replace(text, end, []byte(`"`+more+"}\n"), 1)
		if got, err := read(changed); err == nil || len(got) != 0 || !strings.Contains(err.Error(), "line 1: the line is not as it was written: something stands after its sum") {
			t.Errorf("%s after the sum: %d lines, %v", more, len(got), err)
		}
	}
	for at := range text {
		changed, was := bytes.Clone(text), text[at]
		if changed[at] ^= 1; was == '\n' {
			continue // the lines are others then
		}
		line := bytes.Count(text[:at], []byte("\n")) + 1
		if got, err := read(changed); err == nil || len(got) != line-1 || !strings.Contains(err.Error(), fmt.Sprintf("line %d", line)) {
			t.Fatalf("byte %d, %q, of line %d: %d lines, %v", at, was, line, len(got), err)
		}
	}
}

// FuzzMade: whatever stands in the file, rows that are read of it are read again where they are written.
func FuzzMade(f *testing.F) {
	f.Add(madeText(f, someMade()...))
	f.Add([]byte(`{"step":1,"row":null}`))
	file := filepath.Join(f.TempDir(), MadeFile)
	f.Fuzz(func(t *testing.T, text []byte) {
		read := func(text []byte) (rows []Made, err error) {
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err = EachMade(file, func(_ int, _ []byte, m Made) error { rows = append(rows, m); return nil })
			return rows, err
		}
		rows, _ := read(text)
		again, err := read(madeText(t, rows...))
		if err != nil || len(again) != len(rows) {
			t.Fatalf("%q: %d rows, and %d where they are written again, %v", text, len(rows), len(again), err)
		}
		for i := range rows {
			if again[i].ID != rows[i].ID || again[i].Seed != rows[i].Seed || len(again[i].Row) != len(rows[i].Row) {
				t.Errorf("%+v, and again %+v", rows[i], again[i])
			}
		}
	})
}
