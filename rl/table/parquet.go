package table

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/rl/table/internal/parquet"
)

// readParquet reads a Parquet file.
func readParquet(name string, f *os.File, do func(number int, r Row) error) error {
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	file, err := parquet.Open(f, info.Size())
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	columns := file.Columns()
	err = file.Each(lines.MaxBytes, func(number int64, values []json.RawMessage) error {
		row := make(Row, len(values))
		for i, v := range values {
			row[columns[i]] = slices.Clone(v)
		}
		if err := do(int(number), row); err != nil {
			return fmt.Errorf("row %d: %w", number, err)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
