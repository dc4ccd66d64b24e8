package algebra

import (
	"slices"
	"strings"
	"testing"
)

// TestWeights: a formula tells which models it reads and which functions it calls, with their arguments.
func TestWeights(t *testing.T) {
	w, err := CompileWeights("d = b - a; c + 2*d + ties(a, 0.5, b, c) - random_like(a, 3, b)", []string{"a", "b", "c", "unread"})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(w.Models, []string{"a", "b", "c"}) {
		t.Errorf("it reads %v", w.Models)
	}
	if len(w.Calls) != 2 || w.Calls[0].Function != "ties" || !slices.Equal(w.Calls[0].Models, []string{"a", "b", "c"}) || !slices.Equal(w.Calls[0].Numbers, []float64{0.5}) ||
		w.Calls[1].Column != "random_like(a, 3, b)" || !slices.Equal(w.Calls[1].Numbers, []float64{3}) {
		t.Errorf("it calls %+v", w.Calls)
	}
	if _, err := CompileWeights("a", []string{"a", "dare"}); err == nil || !strings.Contains(err.Error(), "a model cannot be called dare") {
		t.Error(err)
	}
}
