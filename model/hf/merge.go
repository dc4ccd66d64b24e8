package hf

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/rlzero/rlzero/internal/hint"
)

// Merge adds a PEFT adapter to the folder's tensors: where the adapter has a module, Read
// returns W + scale B A, each number computed in float64 and rounded once. dir is the
// adapter's folder; "": that of the folder itself (Folder.Adapter), if it has one.
func (f *Folder) Merge(dir string) error {
	if dir == "" && f.Adapter == "" {
		return nil
	}
	cfg, ts, err := f.openAdapter(dir)
	if err == nil && dir != "" && dir != f.Adapter {
		err = f.TakeHead(dir)
	}
	if err != nil {
		return err
	}
	f.merge(cfg, ts)
	return nil
}

// MergeLike is [Folder.Merge] with the tensors of another file, of an adapter that is otherwise as the folder's own.
func (f *Folder) MergeLike(file string) error {
	cfg, ts, err := openAdapterFile(f.Config, f.Adapter, file)
	if err != nil {
		return err
	}
	f.Tensors.files = append(f.Tensors.files, ts)
	f.merge(cfg, ts)
	return nil
}

// merge has the folder's tensors read with an adapter added to them.
func (f *Folder) merge(cfg AdapterConfig, ts *TensorSet) {
	for name, t := range f.Tensors.tensors {
		module, weight := strings.CutSuffix(name, ".weight")
		a, b := AdapterTensor(module, "A"), AdapterTensor(module, "B")
		if !weight || ts.shape(a) == nil {
			continue
		}
		_, scale := cfg.Of(module)
		read := t.read
		if read == nil {
			read = t.decode
		}
		t.read = func(from, n int) ([]float32, error) {
			w, err := read(from, n)
			if err != nil {
				return nil, err
			}
			return w, mergeLoRA(w, from, ts, a, b, scale)
		}
		t.blocks = nil
		f.Tensors.tensors[name] = t
	}
}

// openAdapter opens the adapter of a PEFT folder, "": the one that the folder itself has. It
// is closed with the folder's tensors.
func (f *Folder) openAdapter(dir string) (AdapterConfig, *TensorSet, error) {
	switch {
	case f.Adapter != "" && dir != "" && dir != f.Adapter:
		return AdapterConfig{}, nil, hint.With(fmt.Errorf("%s is an adapter itself, and the adapter %s cannot be added to it", f.Adapter, dir), "name the folder of the model, without an adapter")
	case f.Adapter == "" && dir == "":
		return AdapterConfig{}, nil, errors.New("the model has no adapter")
	}
	cfg, ts, err := OpenAdapter(f.Config, cmp.Or(dir, f.Adapter))
	if err == nil {
		f.Tensors.files = append(f.Tensors.files, ts)
	}
	return cfg, ts, err
}

// mergeLoRA adds scale B A to rows of W, from row from on; W is [out][in], B [out][rank]
// and A [rank][in].
func mergeLoRA(w []float32, from int, ts *TensorSet, aName, bName string, scale float64) error {
	a, err := ts.Read(aName)
	if err != nil {
		return err
	}
	shape := ts.shape(aName)
	rank, in := shape[0], shape[1]
	b, err := ts.readRows(bName, from, len(w)/in)
	if err != nil {
		return err
	}
	sums := make([]float64, in)
	for row := range len(w) / in {
		clear(sums)
		for r := range rank {
			x := scale * float64(b[row*rank+r])
			for i, y := range a[r*in : (r+1)*in] {
				sums[i] += x * float64(y)
			}
		}
		for i, sum := range sums {
			w[row*in+i] = float32(float64(w[row*in+i]) + sum)
		}
	}
	return nil
}
