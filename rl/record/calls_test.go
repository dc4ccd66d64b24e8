package record

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// someCalls are calls in an order that is not theirs.
func someCalls() []Call {
	return []Call{
		{Purpose: 2, Step: 1, Stream: 3, Turn: 1, Number: 2, Tool: "a", Args: "01", Answer: "x <y> & \",\"sum\":\"\n"},
		{Purpose: 2, Step: 1, Stream: 3, Turn: 1, Number: 1, Tool: "a", Args: "02", Intent: true},
		{Purpose: 2, Step: 1, Stream: 3, Turn: 1, Number: 1, Tool: "a", Args: "02", Failed: true},
		{Purpose: 2, Step: 0, Stream: 9, Turn: 1, Number: 1, Tool: "b", Args: "03"},
		{Purpose: 2, Step: 0, Stream: 9, Turn: 1, Number: 1, Tool: "b", Args: "03", Greedy: true},
	}
}

// TestCalls: lines are read as they were written, half a line at the end is none, and every changed byte is
// refused at its line or the next.
func TestCalls(t *testing.T) {
	want := someCalls()
	text, err := CallsText(want)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), CallsFile)
	read := func(text []byte) (got []Call, sum string, err error) {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		sum, err = EachCall(file, func(c Call) error {
			sum = c.Sum
			c.Sum = ""
			got = append(got, c)
			return nil
		})
		return got, sum, err
	}
	for _, more := range []string{"", `{"purpose":2,"st`} {
		got, sum, err := read(append(bytes.Clone(text), more...))
		if err != nil || !reflect.DeepEqual(got, want) || !strings.HasSuffix(string(text), `"sum":"`+sum+"\"}\n") {
			t.Errorf("%+v, %v", got, err)
		}
	}
	for at := 0; at < len(text); at += 7 {
		changed, was := bytes.Clone(text), text[at]
		if changed[at] ^= 1; was == '\n' {
			continue // the lines are others then
		}
		line := bytes.Count(text[:at], []byte("\n")) + 1
		got, _, err := read(changed)
		if err == nil || len(got) != line-1 || !strings.Contains(err.Error(), fmt.Sprintf("line %d", line)) {
			t.Fatalf("byte %d, %q, of line %d: %d lines, %v", at, was, line, len(got), err)
		}
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	for i := range lines[:len(lines)-2] {
		if got, _, err := read(slices.Concat(slices.Concat(lines[:i]...), slices.Concat(lines[i+1:]...))); err == nil || len(got) != i {
			t.Errorf("without line %d: %d lines, %v", i+1, len(got), err)
		}
	}
}

// TestCallOrder: calls are ordered by their place, whatever order they were answered in, and an intent
// stands before its answer.
func TestCallOrder(t *testing.T) {
	got := someCalls()
	slices.SortStableFunc(got, Call.Compare)
	all := someCalls()
	if want := []Call{all[4], all[3], all[1], all[2], all[0]}; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}
