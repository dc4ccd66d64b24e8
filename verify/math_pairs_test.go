package verify

import (
	"os"
	"strings"
	"testing"
)

// TestMathOwnPairs: the pairs of testdata/math_pairs.txt, over the whole grammar
// and every way to announce an answer.
func TestMathOwnPairs(t *testing.T) {
	raw, err := os.ReadFile("testdata/math_pairs.txt")
	if err != nil {
		t.Fatal(err)
	}
	v := made(t, "math", nil)
	for i, line := range strings.Split(strings.TrimSpace(string(raw)), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(line, "\t")
		if len(fields) != 3 || fields[0] != "=" && fields[0] != "!" {
			t.Fatalf("math_pairs.txt:%d: %q is not a pair", i+1, line)
		}
		got := v.Verify(Problem{Answer: fields[1]}, strings.ReplaceAll(fields[2], "⏎", "\n"))
		checkVerdict(t, got)
		if (got.Verdict == Right) != (fields[0] == "=") || got.Verdict == NotScored {
			t.Errorf("math_pairs.txt:%d: %s: %+v", i+1, line, got)
		}
	}
}
