package model

import (
	"fmt"

	"github.com/rlzero/rlzero/gpu"
)

// tensors places a set of parameters in arenas: those of a model, or of an adapter.
// Matrices (with weight decay) and vectors (without) lie in different chunks, so that one
// update kernel serves a whole chunk.
type tensors struct {
	chunks     []chunk
	pieces     []piece // in the order of the files; the pieces of a region follow each other
	maxBinding int     // bytes
	align      int     // bytes; 256 for views, twice that where halves of the offsets are views too
}

// region is a matrix inside an arena.
type region struct {
	rows, cols int // padded
	chunk      int
	off        int // bytes, multiple of tensors.align
}

func (r region) bytes() int { return r.rows * r.cols * 4 }

// piece says where one tensor of a model file, or a slab of it, lies inside a region.
type piece struct {
	name       string // as in the file
	shape      []int  // as in the file
	region     *region
	row, col   func(int) int
	vector     bool    // factors of a norm or a bias: no weight decay
	start      float32 // initial value of a vector
	projection bool    // output projection of a block, smaller initial values
}

func (p piece) size() (rows, cols int) {
	if len(p.shape) == 1 {
		return 1, p.shape[0]
	}
	return p.shape[0], p.shape[1]
}

// chunk is one buffer of an arena.
type chunk struct {
	size    int // bytes, as float32
	decay   bool
	storage Dtype
}

// What of a chunk an arena holds, bytes.

func (c chunk) whole() int  { return c.size }
func (c chunk) packed() int { return c.storage.packed(c.size / 4) }

func (c chunk) unpacked() int {
	if c.packed() > 0 {
		return 0
	}
	return c.size
}

// place reserves a region in the last chunk of its kind, or in a new one.
func (l *tensors) place(rows, cols int, decay bool) *region {
	return l.placeAs(rows, cols, decay, F32)
}

// placeAs is place for numbers that are kept in another storage.
func (l *tensors) placeAs(rows, cols int, decay bool, storage Dtype) *region {
	r := &region{rows: rows, cols: cols, chunk: -1}
	for i := len(l.chunks) - 1; i >= 0; i-- {
		if c := l.chunks[i]; c.decay == decay && c.storage == storage && c.size+r.bytes() <= l.maxBinding {
			r.chunk, r.off = i, c.size
			break
		}
	}
	if r.chunk < 0 {
		r.chunk = len(l.chunks)
		l.chunks = append(l.chunks, chunk{decay: decay, storage: storage})
	}
	l.chunks[r.chunk].size = (r.off + r.bytes() + l.align - 1) / l.align * l.align
	return r
}

// vector adds a tensor of n numbers that lie in a row of a region.
func (l *tensors) vector(name string, r *region, row, n int, col func(int) int, start float64) {
	l.pieces = append(l.pieces, piece{name: name, shape: []int{n}, region: r,
		row: func(int) int { return row }, col: col, vector: true, start: float32(start)})
}

// arena is device memory laid out by a layout: a buffer for each chunk.
type arena []gpu.Buffer

// newArena allocates what size says of each chunk; no buffer for nothing.
func (l *tensors) newArena(dev gpu.Device, label string, size func(chunk) int) (arena, error) {
	a := make(arena, len(l.chunks))
	for i, c := range l.chunks {
		n := size(c)
		if n == 0 {
			continue
		}
		var err error
		if a[i], err = dev.NewBuffer(fmt.Sprintf("%s %d", label, i), n); err != nil {
			a[:i].free()
			return nil, err
		}
	}
	return a, nil
}

func (a arena) free() {
	for _, b := range a {
		if b != nil {
			b.Free()
		}
	}
}

// copyFrom overwrites an arena with another of the same layout.
func (a arena) copyFrom(src arena) error {
	for i, to := range a {
		if to == nil {
			continue
		}
		data := make([]byte, to.Size())
		if err := src[i].Read(0, data); err != nil {
			return err
		}
		if err := to.Write(0, data); err != nil {
			return err
		}
	}
	return nil
}

func (a arena) write(r *region, data []float32) error { return a[r.chunk].Write(r.off, f32Bytes(data)) }

func (a arena) read(r *region, data []float32) error { return readF32(a[r.chunk], r.off, data) }

func (a arena) view(r *region) gpu.View {
	return gpu.View{Buffer: a[r.chunk], Offset: r.off, Size: r.bytes()}
}

// bytes is the size of an arena.
func (l *tensors) bytes(size func(chunk) int) int {
	n := 0
	for _, c := range l.chunks {
		n += size(c)
	}
	return n
}

// writePieces fills a store from the tensors get returns, region by region.
// row0 is the first row of the file's tensor that the piece holds.
func (l *tensors) writePieces(to store, get func(p piece, row0 int) ([]float32, error)) error {
	next := map[string]int{}
	var host []float32
	for i, p := range l.pieces {
		rows, cols := p.size()
		data, err := get(p, next[p.name])
		if err != nil {
			return err
		}
		next[p.name] += rows
		if host == nil {
			host = make([]float32, p.region.rows*p.region.cols)
		}
		for r := range rows {
			base := p.row(r) * p.region.cols
			for c := range cols {
				host[base+p.col(c)] = data[r*cols+c]
			}
		}
		if i+1 < len(l.pieces) && l.pieces[i+1].region == p.region {
			continue // a region's pieces follow each other
		}
		if err := to.write(p.region, host); err != nil {
			return err
		}
		host = nil
	}
	return nil
}

// named lists a store's tensors under their file names with a prefix;
// slabs of one table become one tensor again.
func (l *tensors) named(from store, prefix string) []NamedTensor {
	var out []NamedTensor
	for i := 0; i < len(l.pieces); {
		p := l.pieces[i]
		j := i + 1
		for j < len(l.pieces) && l.pieces[j].name == p.name {
			j++
		}
		parts := l.pieces[i:j]
		shape := append([]int(nil), p.shape...)
		for _, q := range parts[1:] {
			shape[0] += q.shape[0]
		}
		out = append(out, NamedTensor{Name: prefix + p.name, Shape: shape, Data: func() ([]float32, error) {
			var all []float32
			for _, q := range parts {
				data, err := readPiece(from, q)
				if err != nil {
					return nil, err
				}
				all = append(all, data...)
			}
			return all, nil
		}})
		i = j
	}
	return out
}

func readPiece(from store, p piece) ([]float32, error) {
	host := make([]float32, p.region.rows*p.region.cols)
	if err := from.read(p.region, host); err != nil {
		return nil, err
	}
	rows, cols := p.size()
	data := make([]float32, rows*cols)
	for r := range rows {
		base := p.row(r) * p.region.cols
		for c := range cols {
			data[r*cols+c] = host[base+p.col(c)]
		}
	}
	return data, nil
}
