package lines

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestEach(t *testing.T) {
	var got []string
	note := func(n int, line []byte) error {
		got = append(got, fmt.Sprint(n, string(line)))
		return nil
	}
	long := strings.Repeat("x", 1<<20)
	if err := Each("f", strings.NewReader("\uFEFF{}\r\n\n \t\n [1] \n"+long), note); err != nil {
		t.Fatal(err)
	}
	if want := []string{"1{}", "4[1]", "5" + long}; !slices.Equal(got, want) {
		t.Errorf("%.100q", got)
	}
	if err := Each("f", strings.NewReader("{}\n\xff"), note); err == nil || err.Error() != "f: line 2: not UTF-8 text" {
		t.Errorf("%v", err)
	}
	own := errors.New("own")
	err := Each("f", strings.NewReader("{}\n{}"), func(int, []byte) error { return own })
	if !errors.Is(err, own) || err.Error() != "f: line 1: own" {
		t.Errorf("%v", err)
	}
}

// endless has one line that never ends.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	e.read += len(p)
	return copy(p, strings.Repeat("x", len(p))), nil
}

// TestLongLine: a line is read up to its bound, and no further.
func TestLongLine(t *testing.T) {
	ignore := func(int, []byte) error { return nil }
	var in endless
	err := Each("f", io.MultiReader(strings.NewReader("{}\n"), &in), ignore)
	if err == nil || err.Error() != "f: line 2 has more than 67108864 bytes; accepted: at most that many" || in.read > MaxBytes+1<<17 {
		t.Errorf("%v, %d bytes read", err, in.read)
	}
	if err := Each("f", io.LimitReader(&in, MaxBytes), ignore); err != nil {
		t.Errorf("a line of the greatest length: %v", err)
	}
	if err := Each("f", io.LimitReader(&in, MaxBytes+1), ignore); err == nil {
		t.Error("a longer line is accepted")
	}
}

// FuzzEach: lines are those of the text without their ends, in order, and what is not
// UTF-8 is refused.
func FuzzEach(f *testing.F) {
	f.Add([]byte("\uFEFFa\n\n b \r\nc"))
	f.Add([]byte("a\n\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var want []string
		for i, line := range strings.Split(strings.TrimPrefix(string(data), "\uFEFF"), "\n") {
			if line = strings.TrimSpace(line); line != "" {
				want = append(want, fmt.Sprint(i+1, line))
			}
		}
		var got []string
		err := Each("f", strings.NewReader(string(data)), func(n int, raw []byte) error {
			got = append(got, fmt.Sprint(n, string(raw)))
			return nil
		})
		if valid := utf8.Valid(data); valid != (err == nil) || valid && !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v; want %q", data, got, err, want)
		}
	})
}
