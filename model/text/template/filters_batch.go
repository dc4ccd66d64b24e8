package template

import (
	"fmt"
	"slices"
)

// batchFilter cuts items into lists of a size.
func batchFilter(r *run, v any, c call) (any, error) {
	values, _, err := c.params("batch", "linecount fill_with=")
	if err != nil {
		return nil, err
	}
	size, err := (call{args: values}).number("batch", 0, 0)
	if err == nil && (size < 1 || size > maxRange) {
		err = fmt.Errorf("batch needs a size from 1 to %d, found %d", maxRange, size)
	}
	if err != nil {
		return nil, err
	}
	items, err := r.all(v)
	if err != nil {
		return nil, err
	}
	var out []any
	for chunk := range slices.Chunk(items, int(size)) {
		chunk = slices.Clone(chunk)
		for values[1] != nil && int64(len(chunk)) < size {
			chunk = append(chunk, values[1])
		}
		if err := r.grow(valueSize * len(chunk)); err != nil {
			return nil, err
		}
		out = append(out, &list{chunk})
	}
	return ofSlice("generator", out), nil
}

// sliceFilter cuts items into a number of lists of nearly equal length.
func sliceFilter(r *run, v any, c call) (any, error) {
	values, _, err := c.params("slice", "slices fill_with=")
	if err != nil {
		return nil, err
	}
	n, err := (call{args: values}).number("slice", 0, 0)
	if err == nil && (n < 1 || n > maxRange) {
		err = fmt.Errorf("slice needs a count from 1 to %d, found %d", maxRange, n)
	}
	if err != nil {
		return nil, err
	}
	items, err := r.all(v)
	if err != nil {
		return nil, err
	}
	count := int(n)
	each, extra := len(items)/count, len(items)%count
	var out []any
	for i := range count {
		size := each
		if i < extra {
			size++
		}
		part := slices.Clone(items[:size])
		items = items[size:]
		if values[1] != nil && i >= extra {
			part = append(part, values[1])
		}
		if err := r.grow(valueSize * (1 + len(part))); err != nil {
			return nil, err
		}
		out = append(out, &list{part})
	}
	return ofSlice("generator", out), nil
}
