package gguf

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"os"
	"slices"

	"github.com/rlzero/rlzero/internal/files"
	"github.com/rlzero/rlzero/internal/hint"
)

// Bounds of what a header may claim.
const (
	maxHeader    = 1 << 30 // bytes
	maxName      = 1 << 16 // bytes of a key or of a tensor's name
	maxDims      = 4       // GGML_MAX_DIMS
	maxAlignment = 1 << 20 // bytes
)

// alignmentKey is the metadata key of the alignment, which is 32 without it.
const (
	alignmentKey     = "general.alignment"
	defaultAlignment = 32
)

// Tensor is a tensor of a file.
type Tensor struct {
	Name  string
	Type  Type
	Shape []int // slowest dimension first

	offset int64 // in the file
	size   int64 // bytes
}

// File is an open GGUF file.
type File struct {
	Metadata Metadata
	Tensors  []Tensor // in the order of the file

	in     io.ReaderAt
	kept   files.Kept // of Open
	byName map[string]int
}

// Open opens a file and reads its header. Errors name the file.
func Open(path string) (*File, error) {
	in, err := files.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := in.Stat()
	if err == nil {
		var f *File
		if f, err = Parse(in, info.Size()); err == nil {
			f.kept = files.Kept{File: in, Was: info}
			return f, nil
		}
	}
	in.Close()
	return nil, fmt.Errorf("%s: %w", path, err)
}

// Close closes a file that Open opened.
func (f *File) Close() error {
	if f.kept.File == nil {
		return nil
	}
	return f.kept.Close()
}

// Unchanged is an error, which names the file, if one that Open opened was written to since.
func (f *File) Unchanged() error {
	if f.kept.File == nil {
		return nil
	}
	return f.kept.Unchanged()
}

// Tensor finds a tensor by its name.
func (f *File) Tensor(name string) (Tensor, bool) {
	i, ok := f.byName[name]
	if !ok {
		return Tensor{}, false
	}
	return f.Tensors[i], true
}

// Read returns a tensor as float32, row-major.
func (f *File) Read(name string) ([]float32, error) {
	t, ok := f.Tensor(name)
	if !ok {
		return nil, fmt.Errorf("tensor %s is not in the file", name)
	}
	rows, _ := t.rows()
	data, err := f.Rows(t, 0, rows)
	if err != nil {
		return nil, err
	}
	return t.Type.Dequantize(data)
}

// Rows returns n rows of a tensor as they lie in the file, from row from on. A vector is
// one row.
func (f *File) Rows(t Tensor, from, n int) ([]byte, error) {
	rows, size := t.rows()
	if from < 0 || n < 0 || from+n > rows {
		return nil, fmt.Errorf("tensor %s has %d rows; asked for are %d from row %d on", t.Name, rows, n, from)
	}
	data := make([]byte, int64(n)*size)
	if _, err := f.in.ReadAt(data, t.offset+int64(from)*size); err != nil {
		return nil, fmt.Errorf("tensor %s: %w", t.Name, err)
	}
	return data, nil
}

// rows are how many there are, and the bytes of each.
func (t Tensor) rows() (rows int, size int64) {
	rows = 1
	if len(t.Shape) > 1 {
		rows = t.Shape[0]
	}
	return rows, t.size / int64(max(rows, 1))
}

// Parse reads the header of a file of the given size in bytes.
func Parse(in io.ReaderAt, size int64) (*File, error) {
	r := &header{in: bufio.NewReaderSize(io.NewSectionReader(in, 0, size), 1<<16), left: min(size, maxHeader)}
	f := &File{in: in, byName: map[string]int{}}
	tensors := r.start()
	if r.err == nil {
		f.Metadata = r.metadata()
	}
	if r.err == nil {
		f.Tensors = r.tensors(tensors)
	}
	if r.err != nil {
		return nil, r.err
	}
	for i, t := range f.Tensors {
		f.byName[t.Name] = i
	}
	return f, f.place(r.read, size)
}

// place checks where tensors lie, after a header of so many bytes.
func (f *File) place(header, size int64) error {
	alignment := int64(defaultAlignment)
	if n, there, err := f.Metadata.Int(alignmentKey); err != nil {
		return err
	} else if there {
		if n < 1 || n > maxAlignment || n&(n-1) != 0 {
			return fmt.Errorf("%s: found %d; accepted: a power of two up to %d", alignmentKey, n, maxAlignment)
		}
		alignment = int64(n)
	}
	data := (header + alignment - 1) / alignment * alignment
	for i := range f.Tensors {
		t := &f.Tensors[i]
		if t.offset < 0 || t.offset%alignment != 0 || t.offset > size-data || t.size > size-data-t.offset {
			err := fmt.Errorf("tensor %s: %d bytes from byte %d of the data on; accepted: a multiple of %d inside the file, which has %d bytes of data", t.Name, t.size, t.offset, alignment, max(0, size-data))
			if t.offset >= 0 && t.offset%alignment == 0 {
				err = hint.With(err, "the file seems to be cut off: copy or download it again")
			}
			return err
		}
		t.offset += data
	}
	order := slices.Clone(f.Tensors)
	slices.SortFunc(order, func(a, b Tensor) int { return cmp.Compare(a.offset, b.offset) })
	for i := 1; i < len(order); i++ {
		if before := order[i-1]; before.offset+before.size > order[i].offset {
			return fmt.Errorf("tensors %s and %s overlap", before.Name, order[i].Name)
		}
	}
	return nil
}

// header reads the beginning of a file. After an error everything reads as zero.
type header struct {
	in    *bufio.Reader
	left  int64 // bytes that the header may still have
	read  int64
	pairs uint64
	err   error
}

func (h *header) fail(format string, args ...any) {
	if h.err == nil {
		h.err = fmt.Errorf("header, byte %d: %w", h.read, fmt.Errorf(format, args...))
	}
}

// bytes reads n bytes.
func (h *header) bytes(n uint64) []byte {
	if h.err != nil {
		return make([]byte, min(n, 8))
	}
	if n > uint64(h.left) {
		h.fail("%d bytes are needed, and %d are left", n, h.left)
		return make([]byte, min(n, 8))
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(h.in, b); err != nil {
		h.fail("%w", err)
	}
	h.left -= int64(n)
	h.read += int64(n)
	return b
}

func (h *header) u32() uint32 { return le.Uint32(h.bytes(4)) }
func (h *header) u64() uint64 { return le.Uint64(h.bytes(8)) }
func (h *header) text() string {
	return string(h.bytes(h.u64()))
}

// name reads a key or a tensor's name.
func (h *header) name() string {
	n := h.u64()
	if n > maxName {
		h.fail("a name has %d bytes; accepted: at most %d", n, maxName)
		return ""
	}
	return string(h.bytes(n))
}

// start reads what stands before the metadata and returns the number of tensors.
func (h *header) start() (tensors uint64) {
	if magic := string(h.bytes(4)); h.err == nil && magic != "GGUF" {
		h.err = fmt.Errorf("found %q in the first four bytes; a GGUF file has GGUF there", magic)
		return 0
	}
	switch version := h.u32(); {
	case h.err != nil:
	case version&0xffff == 0:
		h.fail("the file is big-endian; accepted: little-endian")
	case version != 2 && version != 3: // their layout is the same
		h.fail("found version %d; accepted: 2, 3", version)
	}
	tensors = h.u64()
	h.pairs = h.u64()
	return tensors
}

// Wire types of values (docs/gguf.md: gguf_metadata_value_type).
const (
	wireU8 = iota
	wireI8
	wireU16
	wireI16
	wireU32
	wireI32
	wireF32
	wireBool
	wireString
	wireArray
	wireU64
	wireI64
	wireF64
)

func (h *header) metadata() Metadata {
	var out Metadata
	seen := map[string]bool{}
	for range h.pairs {
		key := h.name()
		value := h.value(key, h.u32())
		if h.err != nil {
			return nil
		}
		if seen[key] {
			h.fail("there are two keys %q", key)
			return nil
		}
		seen[key] = true
		out = append(out, Pair{key, value})
	}
	return out
}

// value reads a value of a wire type.
func (h *header) value(key string, wire uint32) any {
	switch wire {
	case wireU8:
		return h.bytes(1)[0]
	case wireI8:
		return int8(h.bytes(1)[0])
	case wireU16:
		return le.Uint16(h.bytes(2))
	case wireI16:
		return int16(le.Uint16(h.bytes(2)))
	case wireU32:
		return h.u32()
	case wireI32:
		return int32(h.u32())
	case wireF32:
		return math.Float32frombits(h.u32())
	case wireBool:
		return h.bytes(1)[0] != 0
	case wireString:
		return h.text()
	case wireArray:
		return h.array(key)
	case wireU64:
		return h.u64()
	case wireI64:
		return int64(h.u64())
	case wireF64:
		return math.Float64frombits(h.u64())
	}
	h.fail("key %q has a value of type %d; accepted: 0 to 12", key, wire)
	return nil
}

// array reads a list. Its length is believed as far as the file has bytes for it.
func (h *header) array(key string) any {
	wire, n := h.u32(), h.u64()
	least := map[uint32]uint64{wireU8: 1, wireI8: 1, wireU16: 2, wireI16: 2, wireU32: 4, wireI32: 4, wireF32: 4, wireBool: 1, wireString: 8, wireU64: 8, wireI64: 8, wireF64: 8}[wire]
	if h.err == nil && least == 0 {
		h.fail("key %q is a list of values of type %d; accepted: lists of numbers, bools and strings", key, wire)
	}
	if h.err == nil && n > uint64(h.left)/least {
		h.fail("key %q is a list of %d values, for which %d bytes are not enough", key, n, h.left)
	}
	if h.err != nil {
		return nil
	}
	switch wire {
	case wireU8:
		return list[uint8](h, key, wire, n)
	case wireI8:
		return list[int8](h, key, wire, n)
	case wireU16:
		return list[uint16](h, key, wire, n)
	case wireI16:
		return list[int16](h, key, wire, n)
	case wireU32:
		return list[uint32](h, key, wire, n)
	case wireI32:
		return list[int32](h, key, wire, n)
	case wireF32:
		return list[float32](h, key, wire, n)
	case wireBool:
		return list[bool](h, key, wire, n)
	case wireU64:
		return list[uint64](h, key, wire, n)
	case wireI64:
		return list[int64](h, key, wire, n)
	case wireF64:
		return list[float64](h, key, wire, n)
	}
	return list[string](h, key, wire, n)
}

func list[T any](h *header, key string, wire uint32, n uint64) []T {
	out := make([]T, 0, n)
	for range n {
		if h.err != nil {
			return nil
		}
		out = append(out, h.value(key, wire).(T))
	}
	return out
}

// tensors reads the descriptions of n tensors, whose offsets count from the data on.
func (h *header) tensors(n uint64) []Tensor {
	const least = 8 + 4 + 8 + 4 + 8 // bytes of a description with one dimension
	if n > uint64(h.left)/(least-8) {
		h.fail("there are %d tensors, for which %d bytes are not enough", n, h.left)
		return nil
	}
	out := make([]Tensor, 0, n)
	seen := map[string]bool{}
	for range n {
		t := Tensor{Name: h.name()}
		dims := h.u32()
		if dims > maxDims {
			h.fail("tensor %s has %d dimensions; accepted: at most %d", t.Name, dims, maxDims)
		}
		if h.err != nil {
			return nil
		}
		t.Shape = make([]int, dims)
		elements := uint64(1)
		for i := range t.Shape {
			d := h.u64()
			hi, lo := bits.Mul64(elements, d)
			if elements = lo; hi != 0 || lo > math.MaxInt64/8 || d > math.MaxInt64 {
				h.fail("tensor %s has too many elements", t.Name)
				return nil
			}
			t.Shape[int(dims)-1-i] = int(d)
		}
		t.Type = Type(h.u32())
		t.offset = int64(h.u64())
		if h.err == nil {
			h.err = t.measure(elements)
		}
		if h.err == nil && seen[t.Name] {
			h.fail("there are two tensors %s", t.Name)
		}
		if h.err != nil {
			return nil
		}
		seen[t.Name] = true
		out = append(out, t)
	}
	return out
}

// measure sets a tensor's size in bytes.
func (t *Tensor) measure(elements uint64) error {
	block, size := t.Type.Block()
	if block == 0 {
		return fmt.Errorf("tensor %s: found %s; accepted: %s", t.Name, t.Type, accepted())
	}
	if block > 1 && (len(t.Shape) == 0 || t.Shape[len(t.Shape)-1]%block != 0) {
		return fmt.Errorf("tensor %s: rows of shape %v are not whole blocks of %s, which have %d elements", t.Name, t.Shape, t.Type, block)
	}
	blocks := elements / uint64(block)
	if blocks > math.MaxInt64/uint64(size) {
		return errors.New("tensor " + t.Name + " has too many elements")
	}
	t.size = int64(blocks) * int64(size)
	return nil
}

// IsFile says whether a path is a file that begins as GGUF files do.
func IsFile(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var magic [4]byte
	_, err = io.ReadFull(f, magic[:])
	return err == nil && string(magic[:]) == "GGUF"
}
