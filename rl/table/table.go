package table

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/files"
	"github.com/rlzero/rlzero/internal/lines"
)

// Row is a row of a table: JSON values by the names of their columns.
type Row map[string]json.RawMessage

// Data are the files of a data set by split.
type Data struct {
	name   string
	splits map[string][]string // paths, sorted
	folder bool
}

// Open finds the files of a data set: one file, whose split is "train", or a folder.
func Open(name string) (*Data, error) {
	info, err := os.Stat(name)
	if err == nil && info.IsDir() {
		splits, err := findSplits(name)
		if err != nil {
			return nil, err
		}
		return &Data{name: name, splits: splits, folder: true}, nil
	}
	f, err := files.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		err = files.MaybeHub(err, name, files.HubDataset, slices.Collect(maps.Keys(formats))...)
	}
	if err != nil {
		return nil, err
	}
	f.Close()
	if _, err := readerOf(name); err != nil {
		return nil, err
	}
	return &Data{name: name, splits: map[string][]string{Train: {name}}}, nil
}

// Name is the file or folder.
func (d *Data) Name() string { return d.name }

// Splits lists the names of the splits, sorted.
func (d *Data) Splits() []string { return slices.Sorted(maps.Keys(d.splits)) }

// Each calls do for each row of a split, in the order of the files' names and of the
// rows in them. number is the line that the row begins in, or of a Parquet file the row's
// place, both from 1. Errors, do's own too, begin with file and line or row.
func (d *Data) Each(split string, do func(number int, r Row) error) error {
	names, ok := d.splits[split]
	if !ok {
		return fmt.Errorf("%s has no split %q; it has %s", d.name, split, strings.Join(d.Splits(), ", "))
	}
	for _, name := range names {
		read, err := readerOf(name)
		if err != nil {
			return err
		}
		f, err := files.Open(name)
		if err != nil {
			return err
		}
		err = read(name, f, do)
		f.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// Hash is the SHA-256 of the data set in hexadecimal digits: that of the file, and of a
// folder that of lines with the hash and the name of each of its files.
func (d *Data) Hash() (string, error) {
	whole := sha256.New()
	for _, split := range d.Splits() {
		for _, name := range d.splits[split] {
			f, err := files.Open(name)
			if err != nil {
				return "", err
			}
			one := sha256.New()
			_, err = io.Copy(one, f)
			f.Close()
			if err != nil {
				return "", err
			}
			sum := hex.EncodeToString(one.Sum(nil))
			if !d.folder {
				return sum, nil
			}
			within, err := filepath.Rel(d.name, name)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(whole, "%s  %s\n", sum, filepath.ToSlash(within))
		}
	}
	return hex.EncodeToString(whole.Sum(nil)), nil
}

// reader reads the rows of an open file.
type reader func(name string, f *os.File, do func(number int, r Row) error) error

// formats are the formats by extension.
var formats = map[string]reader{
	".jsonl": readLines, ".ndjson": readLines, ".json": readJSON, ".csv": readCSV, ".tsv": readCSV, ".parquet": readParquet,
}

// Named tells whether a name is that of a data file, by its ending.
func Named(name string) bool {
	_, err := readerOf(name)
	return err == nil
}

func readerOf(name string) (reader, error) {
	read, ok := formats[strings.ToLower(filepath.Ext(name))]
	if !ok {
		return nil, fmt.Errorf("%s: the extension %q is not that of a data file; accepted: %s", name, filepath.Ext(name), strings.Join(slices.Sorted(maps.Keys(formats)), ", "))
	}
	return read, nil
}

// readLines reads JSON Lines.
func readLines(name string, f *os.File, do func(number int, r Row) error) error {
	return lines.Each(name, f, func(line int, raw []byte) error {
		row, err := parseObject(raw)
		if err != nil {
			return err
		}
		return do(line, row)
	})
}

// parseObject reads a JSON object.
func parseObject(raw []byte) (Row, error) {
	var row Row
	err := json.Unmarshal(raw, &row)
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return nil, fmt.Errorf("byte %d: not JSON: %w", syntax.Offset, err)
	case err != nil || row == nil:
		return nil, fmt.Errorf("found %s; accepted: a JSON object with the columns as keys", kindOf(raw))
	}
	return row, lines.Once(raw)
}

// kindOf names what kind of JSON value raw is.
func kindOf(raw json.RawMessage) string {
	switch bytes.TrimSpace(raw)[0] {
	case '[':
		return "a list"
	case '{':
		return "an object"
	case '"':
		return "a string"
	case 'n':
		return "null"
	case 't', 'f':
		return "true or false"
	}
	return "a number"
}
