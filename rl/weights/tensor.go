package weights

import (
	"fmt"
	"math"

	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/rl/formula"
)

// blockNumbers are about how many numbers of a tensor are computed at once: a few MB of columns.
const blockNumbers = 1 << 17

// source reads one tensor of each model.
type source struct {
	name       string
	rows, cols int // a vector is one row
	sets       map[string]*hf.TensorSet
}

// block is some rows of a tensor as the models have it.
type block struct {
	row    int // the first
	cols   int
	values map[string][]float32 // [model][row][column]
}

// size is how many numbers it has of each model.
func (b block) size() int {
	for _, v := range b.values {
		return len(v)
	}
	return 0
}

// each reads the tensor of some models block by block.
func (s source) each(models []string, do func(b block) error) error {
	step := max(1, blockNumbers/max(1, s.cols))
	for row := 0; row < s.rows; row += step {
		b := block{row: row, cols: s.cols, values: map[string][]float32{}}
		for _, name := range models {
			var err error
			if b.values[name], err = s.sets[name].Rows(s.name, s.cols, row, min(step, s.rows-row)); err != nil {
				return fmt.Errorf("model %s: %w", name, err)
			}
		}
		if err := do(b); err != nil {
			return err
		}
	}
	return nil
}

// tensor computes one tensor.
func (b *Blend) tensor(name string, shape []int) ([]float32, error) {
	s := source{name: name, rows: 1, cols: 1, sets: map[string]*hf.TensorSet{}}
	for _, n := range shape {
		s.cols *= n
	}
	if len(shape) > 1 {
		s.rows, s.cols = shape[0], s.cols/max(1, shape[0])
	}
	var names []string
	for _, m := range b.models {
		s.sets[m.Name] = m.Folder.Tensors
		names = append(names, m.Name)
	}
	columns := map[string]column{}
	for _, c := range b.formula.Calls {
		var err error
		if columns[c.Column], err = s.prepare(c); err != nil {
			return nil, fmt.Errorf("%s: %w", c.Column, err)
		}
	}
	out := make([]float32, 0, s.rows*s.cols)
	err := s.each(names, func(part block) error {
		values, err := b.evaluate(part, columns)
		if err != nil {
			return err
		}
		for i, v := range values {
			x := float32(v)
			if v != v || math.IsInf(float64(x), 0) {
				return fmt.Errorf("found %v at element %d, accepted: a finite float32", v, part.row*part.cols+i)
			}
			out = append(out, x)
		}
		return nil
	})
	return out, err
}

// evaluate computes the formula on a block.
func (b *Blend) evaluate(part block, columns map[string]column) ([]float64, error) {
	frame, err := formula.NewFrame([]int{0}, [][]int{{part.size()}}, nil)
	if err != nil {
		return nil, err
	}
	table := formula.NewTable(frame)
	for _, m := range b.models {
		v := make([]float64, part.size())
		for i, x := range part.values[m.Name] {
			v[i] = float64(x)
		}
		if err := table.Add(m.Name, formula.Column{Level: formula.Token, V: v}); err != nil {
			return nil, err
		}
	}
	for _, c := range b.formula.Calls {
		if err := table.Add(c.Column, formula.Column{Level: formula.Token, V: columns[c.Column](part)}); err != nil {
			return nil, err
		}
	}
	return b.formula.On(table)
}
