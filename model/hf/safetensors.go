package hf

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/rlzero/rlzero/internal/files"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/model/gguf"
	"github.com/rlzero/rlzero/model/internal/jsonfile"
)

// The safetensors format: 8 bytes little-endian length of the header, the
// header as JSON {"name": {"dtype", "shape", "data_offsets": [begin, end]}, ...},
// the data without holes. https://huggingface.co/docs/safetensors
const (
	maxHeader   = 100_000_000 // bytes, the limit of the reference implementation
	WeightsFile = "model.safetensors"
	indexFile   = "model.safetensors.index.json"
	written     = 1 << 20 // numbers that are converted and written at once
)

// TensorSet reads tensors by name from one or several safetensors files, or from a GGUF
// file. Data is read when asked for; opening checks the headers alone. Safe for use by
// several goroutines.
type TensorSet struct {
	tensors map[string]storedTensor
	files   []keptFile
}

// keptFile is what tensors are read from: a file, or a set of its own.
type keptFile interface {
	io.Closer
	Unchanged() error
}

// tensorFile is a file that is open, or one in memory.
type tensorFile interface {
	io.ReaderAt
	Name() string
}

type storedTensor struct {
	file   tensorFile
	dtype  string
	shape  []int
	offset int64 // in the file
	size   int64 // bytes

	// read returns rows as float32. Set for tensors that are not numbers of a safetensors
	// file, which have file, dtype, offset and size.
	read   func(from, n int) ([]float32, error)
	blocks func(kind gguf.Type, from, n int) ([]byte, error) // rows as blocks of a kind; nil, or returns nil: they are not kept so
}

// rows are how many there are, and the numbers in each; a vector is one row.
func (t storedTensor) rows() (rows, cols int) {
	if len(t.shape) < 2 {
		return 1, product(t.shape)
	}
	return t.shape[0], product(t.shape[1:])
}

// dtypeSizes are the element types that convert to float32 exactly, in bytes.
var dtypeSizes = map[string]int{"F32": 4, "BF16": 2, "F16": 2}

// openTensors opens the weights of a Hugging Face folder: model.safetensors, or
// without it the shards that model.safetensors.index.json names.
func openTensors(dir string) (*TensorSet, error) {
	single := filepath.Join(dir, WeightsFile)
	if exists(single) {
		return OpenTensorFile(single)
	}
	index, err := jsonfile.Read(filepath.Join(dir, indexFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, noWeights(dir)
	}
	if err != nil {
		return nil, err
	}
	set, err := openShards(dir, index)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, indexFile), err)
	}
	return set, nil
}

// noWeights says what a folder without safetensors has in their place.
func noWeights(dir string) error {
	for _, name := range []string{"pytorch_model.bin", "pytorch_model.bin.index.json"} {
		if exists(filepath.Join(dir, name)) {
			err := fmt.Errorf("%s has its weights in %s, a Python pickle that can run any code when it is read; accepted: %s or %s", dir, name, WeightsFile, indexFile)
			return hint.With(err, "download the model's safetensors files, or convert it with transformers: AutoModelForCausalLM.from_pretrained(%q).save_pretrained(%[1]q)", dir)
		}
	}
	return fmt.Errorf("%s has no weights: %s and %s are missing", dir, WeightsFile, indexFile)
}

// OpenTensorFile opens a single safetensors file.
func OpenTensorFile(path string) (*TensorSet, error) {
	set := &TensorSet{tensors: map[string]storedTensor{}}
	if err := set.add(path); err != nil {
		set.Close()
		return nil, err
	}
	return set, nil
}

// ReadTensors reads what WriteSafetensors wrote, so many bytes of r. The name stands in
// errors.
func ReadTensors(name string, r io.ReaderAt, size int64) (*TensorSet, error) {
	f := named{r, name}
	tensors, err := readHeader(f, size)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for key, t := range tensors {
		t.file = f
		tensors[key] = t
	}
	return &TensorSet{tensors: tensors}, nil
}

type named struct {
	io.ReaderAt
	name string
}

func (f named) Name() string { return f.name }

func openShards(dir string, index []byte) (*TensorSet, error) {
	keys, err := readObject(index, 1)
	if err != nil {
		return nil, err
	}
	weights, ok := keys["weight_map"]
	if !ok {
		return nil, errors.New("weight_map is missing; accepted: an object from tensor to file name")
	}
	var fileOf map[string]string
	if err := json.Unmarshal(weights.raw, &fileOf); err != nil {
		return nil, fmt.Errorf("line %d: weight_map: %w; accepted: an object from tensor to file name", weights.line, err)
	}
	var names []string
	for _, file := range fileOf {
		names = append(names, file)
	}
	slices.Sort(names)
	set := &TensorSet{tensors: map[string]storedTensor{}}
	for _, name := range slices.Compact(names) {
		if name != filepath.Base(name) { // an index must not lead out of its folder
			set.Close()
			return nil, fmt.Errorf("weight_map: found the file %q, accepted: a file of the same folder", name)
		}
		if err := set.add(filepath.Join(dir, name)); err != nil {
			set.Close()
			return nil, err
		}
	}
	if err := set.matchIndex(fileOf); err != nil {
		set.Close()
		return nil, err
	}
	return set, nil
}

// matchIndex checks that the index and the shards' headers say the same.
func (ts *TensorSet) matchIndex(fileOf map[string]string) error {
	for _, name := range ts.Names() {
		if _, ok := fileOf[name]; !ok {
			return fmt.Errorf("tensor %s is in %s but not in the index", name, filepath.Base(ts.tensors[name].file.Name()))
		}
	}
	for name, file := range fileOf {
		t, ok := ts.tensors[name]
		if !ok {
			return fmt.Errorf("tensor %s is not in %s", name, file)
		}
		if found := filepath.Base(t.file.Name()); found != file {
			return fmt.Errorf("tensor %s is in %s, but the index says %s", name, found, file)
		}
	}
	return nil
}

// add opens a file and takes in its tensors.
func (ts *TensorSet) add(path string) error {
	f, err := files.Open(path)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return err
	}
	ts.files = append(ts.files, files.Kept{File: f, Was: info})
	tensors, err := readHeader(f, info.Size())
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for name, t := range tensors {
		if other, ok := ts.tensors[name]; ok {
			return fmt.Errorf("tensor %s is in two files, %s and %s", name, filepath.Base(other.file.Name()), filepath.Base(path))
		}
		t.file = f
		ts.tensors[name] = t
	}
	return nil
}

// readHeader reads and checks the header of a safetensors file of the given
// size. It allocates no more than a multiple of the file's size.
func readHeader(r io.ReaderAt, size int64) (map[string]storedTensor, error) {
	var prefix [8]byte
	if size < int64(len(prefix)) {
		return nil, fmt.Errorf("header: the file has %d bytes, accepted: at least %d", size, len(prefix))
	}
	if _, err := r.ReadAt(prefix[:], 0); err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	n := binary.LittleEndian.Uint64(prefix[:])
	if n > maxHeader || int64(n) > size-8 {
		return nil, fmt.Errorf("header: found a length of %d bytes, accepted: up to %d (the file has %d bytes)", n, min(maxHeader, size-8), size)
	}
	header := make([]byte, n)
	if _, err := r.ReadAt(header, 8); err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	keys, err := readObject(header, 1)
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	tensors := map[string]storedTensor{}
	for _, name := range slices.Sorted(maps.Keys(keys)) { // so that of several faults the same one is named each time
		if name == "__metadata__" {
			continue
		}
		t, err := parseTensor(keys[name].raw, size-8-int64(n))
		if err != nil {
			return nil, fmt.Errorf("tensor %s: %w", name, err)
		}
		t.offset += 8 + int64(n)
		tensors[name] = t
	}
	return tensors, checkTiling(tensors, 8+int64(n), size)
}

// parseTensor reads one entry of a header; dataSize is the size of the data part.
func parseTensor(raw json.RawMessage, dataSize int64) (storedTensor, error) {
	var e struct {
		Dtype   string   `json:"dtype"`
		Shape   []uint32 `json:"shape"`
		Offsets []int64  `json:"data_offsets"`
	}
	if err := json.Unmarshal(raw, &e); err != nil {
		return storedTensor{}, fmt.Errorf("found %s, accepted: {\"dtype\", \"shape\": [sizes], \"data_offsets\": [begin, end]}: %w", jsonfile.Describe(raw), err)
	}
	if e.Shape == nil {
		return storedTensor{}, fmt.Errorf("found %s, accepted: an entry with a shape", jsonfile.Describe(raw))
	}
	width, ok := dtypeSizes[e.Dtype]
	if !ok {
		return storedTensor{}, fmt.Errorf("found dtype %q, accepted: F32, BF16, F16", e.Dtype)
	}
	if len(e.Offsets) != 2 || e.Offsets[0] < 0 || e.Offsets[1] < e.Offsets[0] || e.Offsets[1] > dataSize {
		err := fmt.Errorf("found data_offsets %v, accepted: [begin, end] within the file's %d bytes of data", e.Offsets, dataSize)
		if len(e.Offsets) == 2 && 0 <= e.Offsets[0] && e.Offsets[0] <= e.Offsets[1] {
			err = hint.With(err, "the file seems to be cut off: copy or download it again")
		}
		return storedTensor{}, err
	}
	t := storedTensor{dtype: e.Dtype, offset: e.Offsets[0], size: e.Offsets[1] - e.Offsets[0], shape: make([]int, len(e.Shape))}
	bytes, overflow := uint64(width), false
	for i, n := range e.Shape {
		t.shape[i] = int(n)
		hi, lo := bits.Mul64(bytes, uint64(n))
		bytes, overflow = lo, overflow || hi != 0
	}
	if overflow || bytes != uint64(t.size) {
		return storedTensor{}, fmt.Errorf("shape %v of %s does not fit data_offsets %v, which span %d bytes", e.Shape, e.Dtype, e.Offsets, t.size)
	}
	return t, nil
}

// checkTiling sees to it that the tensors cover the data without gap or overlap,
// as the format demands: else bytes would be read twice, or hidden from the reader.
func checkTiling(tensors map[string]storedTensor, begin, end int64) error {
	type placed struct {
		name string
		storedTensor
	}
	var order []placed
	for name, t := range tensors {
		order = append(order, placed{name, t})
	}
	slices.SortFunc(order, func(a, b placed) int {
		return cmp.Or(cmp.Compare(a.offset, b.offset), cmp.Compare(a.size, b.size), strings.Compare(a.name, b.name))
	})
	last := "the header"
	for _, t := range order {
		if t.offset < begin {
			return fmt.Errorf("tensor %s overlaps %s", t.name, last)
		}
		if t.offset > begin {
			return fmt.Errorf("%d bytes between %s and tensor %s belong to no tensor", t.offset-begin, last, t.name)
		}
		begin, last = t.offset+t.size, "tensor "+t.name
	}
	if begin != end {
		return fmt.Errorf("%d bytes after %s belong to no tensor", end-begin, last)
	}
	return nil
}

// SetOf is a set of tensors that are read when they are asked for. It keeps the one that was read last.
func SetOf(tensors []NamedTensor) *TensorSet {
	ts := &TensorSet{tensors: map[string]storedTensor{}}
	var lock sync.Mutex
	var name string
	var data []float32
	for _, t := range tensors {
		stored := storedTensor{shape: t.Shape}
		_, cols := stored.rows()
		stored.read = func(from, n int) ([]float32, error) {
			lock.Lock()
			defer lock.Unlock()
			if name != t.Name {
				all, err := t.Data()
				if err != nil {
					return nil, err
				}
				name, data = t.Name, all
			}
			return slices.Clone(data[from*cols : (from+n)*cols]), nil
		}
		ts.tensors[t.Name] = stored
	}
	return ts
}

// Names lists the tensors, sorted.
func (ts *TensorSet) Names() []string {
	names := make([]string, 0, len(ts.tensors))
	for name := range ts.tensors {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// shape is a tensor's shape, nil if the set does not hold it.
func (ts *TensorSet) shape(name string) []int {
	return slices.Clone(ts.tensors[name].shape)
}

// Read returns a tensor as float32, row-major; the conversion is exact. A value
// that is NaN or infinite is an error.
func (ts *TensorSet) Read(name string) ([]float32, error) {
	t, ok := ts.tensors[name]
	if !ok {
		return nil, fmt.Errorf("tensor %s: not in the files", name)
	}
	rows, _ := t.rows()
	return ts.readRows(name, 0, rows)
}

// Rows are n rows of a tensor as float32, from row from on; a vector is one row. Rows of
// another width than cols numbers are an error.
func (ts *TensorSet) Rows(name string, cols, from, n int) ([]float32, error) {
	t, ok := ts.tensors[name]
	if !ok {
		return nil, fmt.Errorf("tensor %s: not in the files", name)
	}
	if rows, found := t.rows(); found != cols || from+n > rows {
		return nil, fmt.Errorf("tensor %s: found shape %v, accepted: rows of %d numbers, at least %d", name, t.shape, cols, from+n)
	}
	return ts.readRows(name, from, n)
}

func (ts *TensorSet) readRows(name string, from, n int) ([]float32, error) {
	t := ts.tensors[name]
	if t.read == nil {
		t.read = t.decode
	}
	data, err := t.read(from, n)
	if err != nil {
		return nil, fmt.Errorf("tensor %s: %w", name, err)
	}
	for i, x := range data {
		if x != x || math.IsInf(float64(x), 0) {
			what := map[bool]string{true: "NaN", false: "an infinite value"}[x != x]
			_, cols := t.rows()
			return nil, fmt.Errorf("%stensor %s: found %s at element %d, accepted: finite numbers", t.where(), name, what, from*cols+i)
		}
	}
	return data, nil
}

// Blocks are rows of a tensor as GGUF blocks of a kind; nil if the file does not have it in such
// blocks. A scale that is NaN or infinite is an error.
func (ts *TensorSet) Blocks(name string, kind gguf.Type, from, n int) ([]byte, error) {
	t := ts.tensors[name]
	if t.blocks == nil {
		return nil, nil
	}
	raw, err := t.blocks(kind, from, n)
	if err != nil {
		return nil, fmt.Errorf("tensor %s: %w", name, err)
	}
	elements, size := kind.Block()
	for i := 0; i < len(raw); i += size {
		if binary.LittleEndian.Uint16(raw[i:])&0x7c00 == 0x7c00 { // the exponent of infinity and NaN
			_, cols := t.rows()
			return nil, fmt.Errorf("tensor %s: the scale of the block at element %d is NaN or infinite, accepted: finite numbers", name, from*cols+i/size*elements)
		}
	}
	return raw, nil
}

// decode reads rows of a tensor of a safetensors file.
func (t storedTensor) decode(from, n int) ([]float32, error) {
	_, cols := t.rows()
	row := int64(cols * dtypeSizes[t.dtype])
	raw := make([]byte, int64(n)*row)
	if _, err := t.file.ReadAt(raw, t.offset+int64(from)*row); err != nil {
		return nil, fmt.Errorf("%s%w", t.where(), err)
	}
	return decodeFloats(t.dtype, raw), nil
}

// where begins an error with the tensor's file.
func (t storedTensor) where() string {
	if t.file == nil {
		return ""
	}
	return t.file.Name() + ": "
}

// Unchanged is an error, which names the file, if one of the files was written to since it was opened.
func (ts *TensorSet) Unchanged() error {
	for _, f := range ts.files {
		if err := f.Unchanged(); err != nil {
			return err
		}
	}
	return nil
}

// Close closes the files.
func (ts *TensorSet) Close() error {
	var errs []error
	for _, f := range ts.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

func decodeFloats(dtype string, raw []byte) []float32 {
	data := make([]float32, len(raw)/dtypeSizes[dtype])
	switch dtype {
	case "F32":
		for i := range data {
			data[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
		}
	case "BF16":
		for i := range data {
			data[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(raw[2*i:])) << 16)
		}
	case "F16":
		for i := range data {
			data[i] = gguf.Half(raw[2*i:])
		}
	}
	return data
}

// NamedTensor is a tensor to be written; Data is called once, when its turn
// comes, so that no more than one tensor need be in memory.
type NamedTensor struct {
	Name  string
	Shape []int
	Data  func() ([]float32, error)
	Type  gguf.Type // how it is written: F32, F16 or BF16
}

// WriteSafetensors writes tensors in the order given. Equal tensors give equal bytes. A
// number that the type cannot hold is an error.
func WriteSafetensors(w io.Writer, tensors []NamedTensor) error {
	header, err := encodeHeader(tensors)
	if err != nil {
		return err
	}
	if _, err := w.Write(header); err != nil {
		return err
	}
	for _, t := range tensors {
		data, err := t.Data()
		if err != nil {
			return fmt.Errorf("tensor %s: %w", t.Name, err)
		}
		if len(data) != product(t.Shape) {
			return fmt.Errorf("tensor %s: found %d elements, its shape %v has %d", t.Name, len(data), t.Shape, product(t.Shape))
		}
		if err := checkRange(data, t.Type); err != nil {
			return fmt.Errorf("tensor %s: %w", t.Name, err)
		}
		for part := range slices.Chunk(data, written) {
			raw, err := t.Type.Quantize(part)
			if err != nil {
				return fmt.Errorf("tensor %s: %w", t.Name, err)
			}
			if _, err := w.Write(raw); err != nil {
				return err
			}
		}
	}
	return nil
}

func encodeHeader(tensors []NamedTensor) ([]byte, error) {
	// Older transformers refuse a file that does not say format pt.
	header := append(make([]byte, 8), `{"__metadata__":{"format":"pt"}`...)
	seen := map[string]bool{"__metadata__": true}
	offset := 0
	for _, t := range tensors {
		if seen[t.Name] {
			return nil, fmt.Errorf("tensor %s: there are two of this name", t.Name)
		}
		seen[t.Name] = true
		_, size := t.Type.Block()
		end := offset + size*product(t.Shape)
		name, err := json.Marshal(t.Name)
		if err != nil {
			return nil, err
		}
		shape := append([]int{}, t.Shape...) // [] and not null for a scalar
		entry, err := json.Marshal(struct {
			Dtype   string `json:"dtype"`
			Shape   []int  `json:"shape"`
			Offsets [2]int `json:"data_offsets"`
		}{t.Type.String(), shape, [2]int{offset, end}})
		if err != nil {
			return nil, err
		}
		header = append(append(append(append(header, ','), name...), ':'), entry...)
		offset = end
	}
	header = append(header, '}')
	for len(header)%8 != 0 { // the data begins at a multiple of 8
		header = append(header, ' ')
	}
	binary.LittleEndian.PutUint64(header, uint64(len(header)-8))
	return header, nil
}

func product(shape []int) int {
	n := 1
	for _, s := range shape {
		n *= s
	}
	return n
}
