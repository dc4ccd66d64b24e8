package parquet

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// File is an open Parquet file.
type File struct {
	in     io.ReaderAt
	root   *node
	leaves []*node
	groups []rowGroup
	zstd   *zstd.Decoder
	held   int // bytes of the pages and dictionaries of the row group that is read

	inflated, most int64 // bytes of pages and rows that were made so far, and may be made
}

// What a file may be inflated to: text shrinks to a tenth, and a dictionary makes long texts that
// many rows share a few bits. A file whose every byte stands for a million others, by a codec or
// by run lengths, ends here before it fills memory or takes hours.
const (
	mostInflated = 1 << 30 // bytes, whatever the size of the file
	mostTimes    = 32      // for each byte of the file, beside
	rowBytes     = 64      // that a row counts as, beside its values
)

// spend accounts for bytes that the file was inflated to.
func (f *File) spend(n int64) error {
	if f.inflated += n; f.inflated > f.most {
		return fmt.Errorf("the file inflates to more than %d bytes; accepted: at most %d for each of its own and %d beside", f.most, mostTimes, mostInflated)
	}
	return nil
}

// Open reads the footer of a file of the given size in bytes.
func Open(in io.ReaderAt, size int64) (*File, error) {
	schema, groups, err := readFooter(in, size)
	if err != nil {
		return nil, err
	}
	f := &File{in: in, groups: groups, most: mostInflated + mostTimes*size}
	if f.root, f.leaves, err = buildSchema(schema); err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, n := range f.root.children {
		if names[n.name] {
			return nil, fmt.Errorf("two columns are called %q", n.name)
		}
		names[n.name] = true
	}
	for g, group := range groups {
		if len(group.chunks) != len(f.leaves) || group.rows < 0 {
			return nil, fmt.Errorf("row group %d has %d columns and %d rows; the schema has %d columns", g+1, len(group.chunks), group.rows, len(f.leaves))
		}
		for i, c := range group.chunks {
			if c.values == 0 { // it may have no pages
				group.chunks[i] = chunk{}
				continue
			}
			if c.start < 4 || c.size < 0 || c.size > size || c.start > size-c.size || c.values < 0 {
				return nil, fmt.Errorf("row group %d, column %s: %d bytes from byte %d on are not inside the file of %d bytes: it was cut or damaged", g+1, f.leaves[i].path, c.size, c.start, size)
			}
		}
	}
	return f, nil
}

// Columns are the names of the columns, in the order of the file.
func (f *File) Columns() []string {
	names := make([]string, len(f.root.children))
	for i, n := range f.root.children {
		names[i] = n.name
	}
	return names
}

// Each calls do for every row, counted from 1, with one JSON value a column in the order
// of Columns. The values are valid during the call. A row of more than most bytes is an
// error.
func (f *File) Each(most int, do func(row int64, values []json.RawMessage) error) error {
	if f.zstd != nil {
		defer f.zstd.Close()
	}
	row := int64(0)
	r := reader{File: f, most: most, columns: make([]column, len(f.leaves))}
	for _, group := range f.groups {
		f.held = 0
		for i, c := range group.chunks {
			in := io.NewSectionReader(f.in, c.start, c.size)
			r.columns[i] = column{leaf: f.leaves[i], file: f, in: bufio.NewReaderSize(in, maxHeader), size: c.size, codec: c.codec, left: c.values}
		}
		for range group.rows {
			row++
			values, err := r.row()
			if err == nil {
				err = f.spend(rowBytes + int64(len(r.buf)))
			}
			if err != nil {
				return fmt.Errorf("row %d: %w", row, err)
			}
			if err := do(row, values); err != nil {
				return err
			}
		}
		for i := range r.columns {
			if _, end, err := r.columns[i].peek(); err != nil || !end {
				return fmt.Errorf("column %s has values after the last of its row group's %d rows: the file is damaged", f.leaves[i].path, group.rows)
			}
		}
	}
	return nil
}

// reader puts rows together from the entries of the leaves.
type reader struct {
	*File
	columns []column
	most    int
	buf     []byte
	ends    []int
	values  []json.RawMessage
}

func (r *reader) row() ([]json.RawMessage, error) {
	r.buf, r.ends, r.values = r.buf[:0], r.ends[:0], r.values[:0]
	for _, n := range r.root.children {
		if err := r.field(n, 0); err != nil {
			return nil, err
		}
		r.ends = append(r.ends, len(r.buf))
	}
	begin := 0
	for _, end := range r.ends { // only now: the buffer may have moved
		r.values = append(r.values, r.buf[begin:end:end])
		begin = end
	}
	return r.values, nil
}

func (r *reader) put(text string) { r.buf = append(r.buf, text...) }

// level is the definition level of the next entry below a node.
func (r *reader) next(n *node) (*entry, error) {
	leaf := n.first()
	e, end, err := r.columns[leaf.column].peek()
	if err == nil && end {
		err = errors.New("the column has fewer values than its row group has rows")
	}
	if err != nil {
		return nil, fmt.Errorf("column %s: %w", leaf.path, err)
	}
	return e, nil
}

// take passes over the next entry of every leaf below a node, which must have the
// repetition level of this place.
func (r *reader) take(n *node, repetition int) error {
	if len(n.children) > 0 {
		for _, child := range n.children {
			if err := r.take(child, repetition); err != nil {
				return err
			}
		}
		return nil
	}
	e, err := r.next(n)
	if err != nil {
		return err
	}
	if e.repetition != repetition {
		return fmt.Errorf("column %s: a value has repetition level %d, where %d is due: the file is damaged", n.path, e.repetition, repetition)
	}
	r.columns[n.column].ready = false
	return nil
}

// field writes the field n, whose entries begin with a repetition level: null, an array
// where it is repeated, or its value.
func (r *reader) field(n *node, repetition int) error {
	if len(r.buf) > r.most {
		return fmt.Errorf("the row has more than %d bytes; accepted: at most that many", r.most)
	}
	if n.repetition == repeated {
		return r.array(n, n, repetition)
	}
	e, err := r.next(n)
	if err != nil {
		return err
	}
	if n.repetition == optional && e.definition < n.definitionLevel {
		r.put("null")
		return r.take(n, repetition)
	}
	return r.value(n, repetition)
}

// array writes the entries of a repeated field; element is what each of them shows of it.
func (r *reader) array(field, element *node, repetition int) error {
	e, err := r.next(field)
	if err != nil {
		return err
	}
	if e.definition < field.definitionLevel {
		r.put("[]")
		return r.take(field, repetition)
	}
	for r.put("["); ; r.put(",") {
		if element == field {
			err = r.value(field, repetition)
		} else {
			err = r.field(element, repetition)
		}
		if err != nil {
			return err
		}
		leaf := field.first()
		e, end, err := r.columns[leaf.column].peek()
		if err != nil {
			return fmt.Errorf("column %s: %w", leaf.path, err)
		}
		if end || e.repetition < field.repetitionLevel {
			break
		}
		repetition = field.repetitionLevel
		if len(r.buf) > r.most {
			return fmt.Errorf("the row has more than %d bytes; accepted: at most that many", r.most)
		}
	}
	r.put("]")
	return nil
}

// value writes a field that is there.
func (r *reader) value(n *node, repetition int) error {
	if len(n.children) == 0 {
		e, err := r.next(n)
		if err != nil {
			return err
		}
		if e.definition != n.definitionLevel {
			return fmt.Errorf("column %s: a value that is required is absent: the file is damaged", n.path)
		}
		if r.buf, err = appendJSON(r.buf, n, e.value); err != nil {
			return fmt.Errorf("column %s: %w", n.path, err)
		}
		return r.take(n, repetition)
	}
	if list, element := n.listElement(); list != nil {
		if element == nil {
			element = list
		}
		return r.array(list, element, repetition)
	}
	if entries := n.mapEntries(); entries != nil {
		return r.array(entries, entries, repetition)
	}
	for i, child := range n.children {
		if i == 0 {
			r.put("{")
		} else {
			r.put(",")
		}
		r.buf = appendString(r.buf, child.name)
		r.put(":")
		if err := r.field(child, repetition); err != nil {
			return err
		}
	}
	r.put("}")
	return nil
}
