package tasks

import (
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/random"
)

// TestComposition: results by hand; a demonstration shows the innermost functions as they are,
// and of the others as much as chance has it.
func TestComposition(t *testing.T) {
	for _, c := range []struct{ functions, letters, want string }{
		{".CA", "eabh", "hbae=icbf=icbf"}, {"ABCDE", "bjac", "bbbb=iiii=jjjj=jjjj=jjjj"}, {"B", "bjac", "jacb"}, {"BA", "bc", "cb=bc"}, {"CD", "aj", "ja=ab"},
	} {
		if got := strings.Join(apply(c.functions, c.letters), "="); got != c.want {
			t.Errorf("%s of %s: %s, want %s", c.functions, c.letters, got, c.want)
		}
	}
	const n = 4000
	task := validated(t, &composition{Letters: 4, MinDepth: 2, MaxDepth: 2, ShownDepth: 1})
	right := 0
	for i := range n {
		r := random.At(5, 0, uint64(i))
		row := task.Draw(r, Train)
		text, err := task.Demonstration(r, row)
		if err != nil {
			t.Fatal(err)
		}
		if inner := apply(row.Question[1:2], row.Question[2:6])[0]; !strings.HasPrefix(text, inner+"=") {
			t.Fatalf("%s %s: the innermost function gives %s", row.Question, text, inner)
		}
		if task.Verify(row, text, true).Score == 1 {
			right++
		}
	}
	// The same function is drawn once in five; others agree on some strings, such as bbbb backwards.
	if share := float64(right) / n; share < 0.2-binomialBound(0.2, n) || share > 0.4 {
		t.Errorf("%.3f of the demonstrations of depth 2 are right", share)
	}
	task.ShownDepth = 2
	for i := range 100 {
		r := random.At(6, 0, uint64(i))
		row := task.Draw(r, Train)
		if text, err := task.Demonstration(r, row); err != nil || task.Verify(row, text, true).Score != 1 {
			t.Fatalf("%s %s, %v", row.Question, text, err)
		}
	}
}
