package model

import (
	"fmt"
	"iter"
	"sort"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model/hf"
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
	from       int    // first row of the file's tensor that the piece holds
	shape      []int  // of the piece
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

func (p piece) cols() int {
	_, cols := p.size()
	return cols
}

// chunk is one buffer of an arena.
type chunk struct {
	size    int // bytes, as float32
	decay   bool
	storage storage
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

// bound is the larger of its buffers. What is kept in blocks is frozen, and never float32.
func (c chunk) bound() int {
	if c.storage.blocked() {
		return c.packed()
	}
	return c.size
}

// with is the chunk with so many bytes of float32 more, up to where the next region begins.
func (l *tensors) with(c chunk, bytes int) chunk {
	c.size = (c.size + bytes + l.align - 1) / l.align * l.align
	return c
}

// place reserves a region in the last chunk of its kind, or in a new one.
func (l *tensors) place(rows, cols int, decay bool) *region {
	return l.placeAs(rows, cols, decay, f32)
}

// placeAs is place for numbers that are kept in another storage.
func (l *tensors) placeAs(rows, cols int, decay bool, kept storage) *region {
	r := &region{rows: rows, cols: cols, chunk: -1}
	for i := len(l.chunks) - 1; i >= 0; i-- {
		if c := l.chunks[i]; c.decay == decay && c.storage == kept && l.with(c, r.bytes()).bound() <= l.maxBinding {
			r.chunk, r.off = i, c.size
			break
		}
	}
	if r.chunk < 0 {
		r.chunk = len(l.chunks)
		l.chunks = append(l.chunks, chunk{decay: decay, storage: kept})
	}
	l.chunks[r.chunk] = l.with(l.chunks[r.chunk], r.bytes())
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

func (a arena) write(r *region, b band) error {
	return a[r.chunk].Write(r.off+b.first*r.cols*4, f32Bytes(b.data))
}

func (a arena) read(r *region, b band) error {
	return readF32(a[r.chunk], r.off+b.first*r.cols*4, b.data)
}

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

// band is some rows of a region on the host. A store is written and read band by band, so
// that no copy of a matrix has to be in the host's memory.
type band struct {
	first  int       // row of the region
	data   []float32 // [row][cols]
	blocks [][]byte  // [row] GGUF blocks in the region's storage, which stand in place of data; nil for rows, or all, that have none
}

// bandNumbers is how many numbers a band has, if a row has not more.
const bandNumbers = 1 << 20

// bands calls do for each band of a region, all of zeros.
func (r *region) bands(do func(b band) error) error {
	rows := max(1, bandNumbers/r.cols)
	for first := 0; first < r.rows; first += rows {
		if err := do(band{first: first, data: make([]float32, min(rows, r.rows-first)*r.cols)}); err != nil {
			return err
		}
	}
	return nil
}

// within are the rows of a piece that lie in a band: those from low up to high. Rows of a
// piece lie in their order.
func (p piece) within(b band) (low, high int) {
	rows, _ := p.size()
	end := b.first + len(b.data)/p.region.cols
	low = sort.Search(rows, func(r int) bool { return p.row(r) >= b.first })
	return low, low + sort.Search(rows-low, func(r int) bool { return p.row(low+r) >= end })
}

// writePieces fills a store from the rows that get returns: n rows of the tensor of a
// file, from row from on. Those of a piece are asked for once, in their order. A vector is
// one row.
func (l *tensors) writePieces(to store, get func(p piece, from, n int) ([]float32, error)) error {
	return l.writeRows(to, get, nil)
}

// writeRows is writePieces for tensors that may be in blocks already: blocks, if it is not
// nil, returns rows as the blocks of a storage, or nil for a tensor that is kept otherwise.
func (l *tensors) writeRows(to store, get func(p piece, from, n int) ([]float32, error), blocks func(p piece, d storage, from, n int) ([]byte, error)) error {
	for parts := range l.regions() {
		r := parts[0].region
		err := r.bands(func(b band) error {
			for _, p := range parts {
				low, high := p.within(b)
				if low == high {
					continue
				}
				_, cols := p.size()
				if d := l.chunks[r.chunk].storage; blocks != nil && d.blocked() && cols == r.cols {
					raw, err := blocks(p, d, p.from+low, high-low)
					if err != nil {
						return err
					}
					if raw != nil {
						b.putBlocks(p, low, high, raw)
						continue
					}
				}
				data, err := get(p, p.from+low, high-low)
				if err != nil {
					return err
				}
				for i := range high - low {
					base := (p.row(low+i) - b.first) * r.cols
					for c := range cols {
						b.data[base+p.col(c)] = data[i*cols+c]
					}
				}
			}
			return to.write(r, b)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// putBlocks takes in rows of a piece as blocks.
func (b *band) putBlocks(p piece, low, high int, raw []byte) {
	if b.blocks == nil {
		b.blocks = make([][]byte, len(b.data)/p.region.cols)
	}
	size := len(raw) / (high - low)
	for i := range high - low {
		b.blocks[p.row(low+i)-b.first] = raw[i*size:][:size]
	}
}

// regions are the pieces of each region, which follow each other.
func (l *tensors) regions() iter.Seq[[]piece] {
	return func(yield func([]piece) bool) {
		for i := 0; i < len(l.pieces); {
			j := i + 1
			for j < len(l.pieces) && l.pieces[j].region == l.pieces[i].region {
				j++
			}
			if !yield(l.pieces[i:j]) {
				return
			}
			i = j
		}
	}
}

// named lists a store's tensors under their file names with a prefix;
// slabs of one table become one tensor again.
func (l *tensors) named(from store, prefix string) []hf.NamedTensor {
	var out []hf.NamedTensor
	for i := 0; i < len(l.pieces); {
		p := l.pieces[i]
		j := i + 1
		for j < len(l.pieces) && l.pieces[j].name == p.name {
			j++
		}
		parts := l.pieces[i:j]
		shape, size := append([]int(nil), p.shape...), 0
		for _, q := range parts[1:] {
			shape[0] += q.shape[0]
		}
		for _, q := range parts {
			rows, cols := q.size()
			size += rows * cols
		}
		out = append(out, hf.NamedTensor{Name: prefix + p.name, Shape: shape, Data: func() ([]float32, error) {
			data := make([]float32, 0, size)
			for _, q := range parts {
				var err error
				if data, err = appendPiece(data, from, q); err != nil {
					return nil, err
				}
			}
			return data, nil
		}})
		i = j
	}
	return out
}

// appendPiece reads a piece, without its padding.
func appendPiece(data []float32, from store, p piece) ([]float32, error) {
	_, cols := p.size()
	err := p.region.bands(func(b band) error {
		low, high := p.within(b)
		if low == high {
			return nil
		}
		if err := from.read(p.region, b); err != nil {
			return err
		}
		for r := low; r < high; r++ {
			base := (p.row(r) - b.first) * p.region.cols
			for c := range cols {
				data = append(data, b.data[base+p.col(c)])
			}
		}
		return nil
	})
	return data, err
}
