package shaders

import (
	"fmt"
	"strconv"
	"strings"
)

// Number works out an expression of the table, such as a part of Size: sums of products
// of parameters, numbers and brackets, and ceil(a/b). It fails where something else is
// in it.
func (k *Kernel) Number(text string, params []uint32) (int, error) {
	e := expression{kernel: k, params: params, rest: strings.ReplaceAll(text, " ", "")}
	n, err := e.sum()
	if err == nil && e.rest != "" {
		err = fmt.Errorf("%q is not expected in %q", e.rest, text)
	}
	return n, err
}

// Bytes is the size of what a binding's shape describes, from its start. It fails where
// the shape does not follow from the parameters: a table that is read by index.
func (k *Kernel) Bytes(binding int, params []uint32) (int, error) {
	shape, n := k.Bindings[binding].Shape, 1
	for dims := shape; strings.HasPrefix(dims, "["); {
		dim, rest, _ := strings.Cut(dims[1:], "]")
		size, err := k.Number(dim, params)
		if err != nil {
			return 0, err
		}
		n, dims = n*size, rest
	}
	if !strings.HasPrefix(shape, "[") {
		return 0, fmt.Errorf("%q is no shape", shape)
	}
	return n * k.Bindings[binding].Bits() / 8, nil
}

// expression is what is left to read of one.
type expression struct {
	kernel *Kernel
	params []uint32
	rest   string
}

func (e *expression) take(text string) bool {
	rest, found := strings.CutPrefix(e.rest, text)
	e.rest = rest
	return found
}

func (e *expression) sum() (int, error) {
	total, err := e.product()
	for err == nil && e.take("+") {
		var n int
		n, err = e.product()
		total += n
	}
	return total, err
}

func (e *expression) product() (int, error) {
	total, err := e.factor()
	for err == nil && e.take("*") {
		var n int
		n, err = e.factor()
		total *= n
	}
	return total, err
}

func (e *expression) factor() (int, error) {
	ceil := e.take("ceil")
	if e.take("(") {
		a, err := e.sum()
		if err == nil && ceil {
			var b int
			e.take("/")
			if b, err = e.sum(); err == nil {
				a = ceilDiv(a, max(b, 1))
			}
		}
		if err == nil && !e.take(")") {
			err = fmt.Errorf("a bracket is open before %q", e.rest)
		}
		return a, err
	}
	end := strings.IndexAny(e.rest, "+*/()")
	if end < 0 {
		end = len(e.rest)
	}
	name := e.rest[:end]
	e.rest = e.rest[end:]
	for i, p := range e.kernel.Params {
		if p == name {
			return int(e.params[i]), nil
		}
	}
	n, err := strconv.Atoi(name)
	if err != nil {
		return 0, fmt.Errorf("%q is neither a parameter nor a number", name)
	}
	return n, nil
}
