package model

import (
	"fmt"
	"math"
	"testing"

	"github.com/rlzero/rlzero/model/hf"
)

// TestLayoutHasFiles: a layout places the tensors that the files have, in their order and with
// their shapes, and an adapter those of PEFT's files.
func TestLayoutHasFiles(t *testing.T) {
	for _, q := range quirkModels() {
		l := newLayout(q.config, math.MaxInt)
		if got, want := specsOf(l.tensors), fmt.Sprint(hf.Tensors(q.config)); got != want {
			t.Errorf("%s: the layout has %s, the files %s", q.name, got, want)
		}
		if n := l.count(); n != q.config.Parameters() {
			t.Errorf("%s: the layout has %d parameters, the config %d", q.name, n, q.config.Parameters())
		}
		if q.adapter == nil {
			continue
		}
		a, err := newAdapter(*q.adapter, q.config, l)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := specsOf(a.tensors), fmt.Sprint(a.files); got != want {
			t.Errorf("%s: the adapter has %s, its files %s", q.name, got, want)
		}
	}
}

func specsOf(l tensors) string {
	var specs []hf.TensorSpec
	for _, p := range l.pieces {
		specs = append(specs, hf.TensorSpec{Name: p.name, Shape: p.shape})
	}
	return fmt.Sprint(specs)
}
