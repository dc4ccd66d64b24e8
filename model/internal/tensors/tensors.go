package tensors

import (
	"fmt"
	"iter"
	"sort"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/internal/device"
)

// Set places a set of parameters in arenas: those of a model, or of an adapter.
// Matrices (with weight decay) and vectors (without) lie in different chunks, so that one
// update kernel serves a whole chunk.
type Set struct {
	Chunks     []Chunk
	Pieces     []Piece // in the order of the files; the pieces of a region follow each other
	MaxBinding int     // bytes
	Align      int     // bytes; 256 for views, twice that where halves of the offsets are views too
}

// Region is a matrix inside an arena.
type Region struct {
	Rows, Cols int // padded
	Chunk      int
	off        int // bytes, multiple of tensors.align
}

// Bytes is the size of the region as float32.
func (r Region) Bytes() int { return r.Rows * r.Cols * 4 }

// Piece says where one tensor of a model file, or a slab of it, lies inside a region.
type Piece struct {
	Name       string // as in the file
	From       int    // first row of the file's tensor that the piece holds
	Shape      []int  // of the piece
	Region     *Region
	Row, Col   func(int) int
	Vector     bool    // factors of a norm or a bias: no weight decay
	Start      float32 // initial value of a vector
	Projection bool    // output projection of a block, smaller initial values
}

// Size is the shape of the piece; a vector is one row.
func (p Piece) Size() (rows, cols int) {
	if len(p.Shape) == 1 {
		return 1, p.Shape[0]
	}
	return p.Shape[0], p.Shape[1]
}

// Cols is the length of its rows.
func (p Piece) Cols() int {
	_, cols := p.Size()
	return cols
}

// Chunk is one buffer of an arena.
type Chunk struct {
	Size    int // bytes, as float32
	Decay   bool
	Storage Storage
}

// Whole is what an arena takes that has the chunk as float32, bytes.
func (c Chunk) Whole() int { return c.Size }

// Packed is what an arena takes that has the chunk in its storage; 0: that is float32.
func (c Chunk) Packed() int { return c.Storage.packed(c.Size / 4) }

// Unpacked is what an arena takes beside packed ones: all of a chunk that is not packed.
func (c Chunk) Unpacked() int {
	if c.Packed() > 0 {
		return 0
	}
	return c.Size
}

// bound is the larger of its buffers. What is kept in blocks is frozen, and never float32.
func (c Chunk) bound() int {
	if c.Storage.Blocked() {
		return c.Packed()
	}
	return c.Size
}

// With is the chunk with so many bytes of float32 more, up to where the next region begins.
func (l *Set) With(c Chunk, bytes int) Chunk {
	c.Size = (c.Size + bytes + l.Align - 1) / l.Align * l.Align
	return c
}

// Place reserves a region in the last chunk of its kind, or in a new one.
func (l *Set) Place(rows, cols int, decay bool) *Region {
	return l.PlaceAs(rows, cols, decay, F32)
}

// PlaceAs is place for numbers that are kept in another storage.
func (l *Set) PlaceAs(rows, cols int, decay bool, kept Storage) *Region {
	r := &Region{Rows: rows, Cols: cols, Chunk: -1}
	for i := len(l.Chunks) - 1; i >= 0; i-- {
		if c := l.Chunks[i]; c.Decay == decay && c.Storage == kept && l.With(c, r.Bytes()).bound() <= l.MaxBinding {
			r.Chunk, r.off = i, c.Size
			break
		}
	}
	if r.Chunk < 0 {
		r.Chunk = len(l.Chunks)
		l.Chunks = append(l.Chunks, Chunk{Decay: decay, Storage: kept})
	}
	l.Chunks[r.Chunk] = l.With(l.Chunks[r.Chunk], r.Bytes())
	return r
}

// PlaceVector adds a tensor of n numbers that lie in a row of a region.
func (l *Set) PlaceVector(name string, r *Region, row, n int, col func(int) int, start float64) {
	l.Pieces = append(l.Pieces, Piece{Name: name, Shape: []int{n}, Region: r,
		Row: func(int) int { return row }, Col: col, Vector: true, Start: float32(start)})
}

// Arena is device memory laid out by a layout: a view for each chunk, without a buffer for those of which it has nothing.
type Arena []gpu.View

// NewArena allocates what size says of each chunk; no buffer for nothing.
func (l *Set) NewArena(dev gpu.Device, label string, size func(Chunk) int) (Arena, error) {
	a := make(Arena, len(l.Chunks))
	for i, c := range l.Chunks {
		n := size(c)
		if n == 0 {
			continue
		}
		b, err := dev.NewBuffer(fmt.Sprintf("%s %d", label, i), n)
		if err != nil {
			a[:i].Free()
			return nil, err
		}
		a[i] = gpu.View{Buffer: b, Size: n}
	}
	return a, nil
}

// newArenaIn is NewArena in a pool, which has the memory.
func (l *Set) newArenaIn(p *device.Pool, label string, size func(Chunk) int) Arena {
	a := make(Arena, len(l.Chunks))
	for i, c := range l.Chunks {
		if n := size(c); n > 0 {
			a[i] = p.Wide(fmt.Sprintf("%s %d", label, i), (n+3)/4)
			a[i].Size = n
		}
	}
	return a
}

// Free frees the buffers.
func (a Arena) Free() {
	for _, v := range a {
		if v.Buffer != nil {
			v.Buffer.Free()
		}
	}
}

// CopyFrom overwrites an arena with another of the same layout.
func (a Arena) CopyFrom(src Arena) error {
	for i, to := range a {
		if to.Buffer == nil {
			continue
		}
		data := make([]byte, to.Size)
		if err := src[i].Buffer.Read(src[i].Offset, data); err != nil {
			return err
		}
		if err := to.Buffer.Write(to.Offset, data); err != nil {
			return err
		}
	}
	return nil
}

func (a Arena) write(r *Region, b band) error {
	return device.Upload(device.Put(device.At(a.View(r), b.first*r.Cols), b.data))
}

func (a Arena) read(r *Region, b band) error {
	return device.Read(device.At(a.View(r), b.first*r.Cols), b.data)
}

// View is where a region lies.
func (a Arena) View(r *Region) gpu.View {
	return gpu.View{Buffer: a[r.Chunk].Buffer, Offset: a[r.Chunk].Offset + r.off, Size: r.Bytes()}
}

// Bytes is the size of an arena.
func (l *Set) Bytes(size func(Chunk) int) int {
	n := 0
	for _, c := range l.Chunks {
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
func (r *Region) bands(do func(b band) error) error {
	rows := max(1, bandNumbers/r.Cols)
	for first := 0; first < r.Rows; first += rows {
		if err := do(band{first: first, data: make([]float32, min(rows, r.Rows-first)*r.Cols)}); err != nil {
			return err
		}
	}
	return nil
}

// within are the rows of a piece that lie in a band: those from low up to high. Rows of a
// piece lie in their order.
func (p Piece) within(b band) (low, high int) {
	rows, _ := p.Size()
	end := b.first + len(b.data)/p.Region.Cols
	low = sort.Search(rows, func(r int) bool { return p.Row(r) >= b.first })
	return low, low + sort.Search(rows-low, func(r int) bool { return p.Row(low+r) >= end })
}

// Write fills a store from the rows that get returns: n rows of the tensor of a
// file, from row from on. Those of a piece are asked for once, in their order. A vector is
// one row.
func (l *Set) Write(to Store, get func(p Piece, from, n int) ([]float32, error)) error {
	return l.WriteRows(to, get, nil)
}

// WriteRows is writePieces for tensors that may be in blocks already: blocks, if it is not
// nil, returns rows as the blocks of a storage, or nil for a tensor that is kept otherwise.
func (l *Set) WriteRows(to Store, get func(p Piece, from, n int) ([]float32, error), blocks func(p Piece, d Storage, from, n int) ([]byte, error)) error {
	for parts := range l.regions() {
		r := parts[0].Region
		err := r.bands(func(b band) error {
			for _, p := range parts {
				low, high := p.within(b)
				if low == high {
					continue
				}
				_, cols := p.Size()
				if d := l.Chunks[r.Chunk].Storage; blocks != nil && d.Blocked() && cols == r.Cols {
					raw, err := blocks(p, d, p.From+low, high-low)
					if err != nil {
						return err
					}
					if raw != nil {
						b.putBlocks(p, low, high, raw)
						continue
					}
				}
				data, err := get(p, p.From+low, high-low)
				if err != nil {
					return err
				}
				for i := range high - low {
					base := (p.Row(low+i) - b.first) * r.Cols
					for c := range cols {
						b.data[base+p.Col(c)] = data[i*cols+c]
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
func (b *band) putBlocks(p Piece, low, high int, raw []byte) {
	if b.blocks == nil {
		b.blocks = make([][]byte, len(b.data)/p.Region.Cols)
	}
	size := len(raw) / (high - low)
	for i := range high - low {
		b.blocks[p.Row(low+i)-b.first] = raw[i*size:][:size]
	}
}

// regions are the pieces of each region, which follow each other.
func (l *Set) regions() iter.Seq[[]Piece] {
	return func(yield func([]Piece) bool) {
		for i := 0; i < len(l.Pieces); {
			j := i + 1
			for j < len(l.Pieces) && l.Pieces[j].Region == l.Pieces[i].Region {
				j++
			}
			if !yield(l.Pieces[i:j]) {
				return
			}
			i = j
		}
	}
}

// Named lists a store's tensors under their file names with a prefix;
// slabs of one table become one tensor again.
func (l *Set) Named(from Store, prefix string) []hf.NamedTensor {
	var out []hf.NamedTensor
	for i := 0; i < len(l.Pieces); {
		p := l.Pieces[i]
		j := i + 1
		for j < len(l.Pieces) && l.Pieces[j].Name == p.Name {
			j++
		}
		parts := l.Pieces[i:j]
		shape, size := append([]int(nil), p.Shape...), 0
		for _, q := range parts[1:] {
			shape[0] += q.Shape[0]
		}
		for _, q := range parts {
			rows, cols := q.Size()
			size += rows * cols
		}
		out = append(out, hf.NamedTensor{Name: prefix + p.Name, Shape: shape, Data: func() ([]float32, error) {
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
func appendPiece(data []float32, from Store, p Piece) ([]float32, error) {
	_, cols := p.Size()
	err := p.Region.bands(func(b band) error {
		low, high := p.within(b)
		if low == high {
			return nil
		}
		if err := from.read(p.Region, b); err != nil {
			return err
		}
		for r := low; r < high; r++ {
			base := (p.Row(r) - b.first) * p.Region.Cols
			for c := range cols {
				data = append(data, b.data[base+p.Col(c)])
			}
		}
		return nil
	})
	return data, err
}

// Fill overwrites an arena with tensors that have the names of the pieces after a prefix.
func (l *Set) Fill(to Arena, prefix string, ts *hf.TensorSet) error {
	return l.Write(to, func(p Piece, from, n int) ([]float32, error) { return ts.Rows(prefix+p.Name, p.Cols(), from, n) })
}

// Count is the number of parameters, padding left out.
func (l *Set) Count() int {
	n := 0
	for _, p := range l.Pieces {
		rows, cols := p.Size()
		n += rows * cols
	}
	return n
}

// RecordBlend records that every number moves a share of the way to another arena's.
func (a Arena) RecordBlend(r *device.Recorder, to Arena, share float64) {
	for i, v := range a {
		n := v.Size / 4
		r.Op("blend", n, 1, []gpu.View{v, to[i]}, uint32(n), device.Float(share))
	}
}
