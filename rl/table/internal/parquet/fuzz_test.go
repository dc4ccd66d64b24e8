package parquet

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/rlzero/rlzero/internal/fixtures"
)

// FuzzRead: whatever the bytes, the rows that are read are valid JSON, and nothing
// panics. A file may claim any number of rows, so it is left after some.
func FuzzRead(f *testing.F) {
	names, err := filepath.Glob(filepath.Join(fixtures.Dir(f, "tables"), "*.parquet"))
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	enough := errors.New("enough")
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Open(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		columns := len(file.Columns())
		_ = file.Each(1<<16, func(row int64, values []json.RawMessage) error {
			if len(values) != columns {
				t.Fatalf("row %d has %d values of %d columns", row, len(values), columns)
			}
			for i, v := range values {
				if !json.Valid(v) {
					t.Fatalf("row %d, column %d: %q is not JSON", row, i, v)
				}
			}
			if row == 200 {
				return enough
			}
			return nil
		})
	})
}
