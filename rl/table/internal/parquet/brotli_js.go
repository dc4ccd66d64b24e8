package parquet

import (
	"errors"
	"io"
)

// unbrotli refuses a stream of codec brotli: the package that decodes it brings net/http with it, by
// which the page would be half a megabyte larger on the way.
func unbrotli(io.Reader) (io.Reader, error) {
	return nil, errors.New("the page does not read compression brotli; accepted: none, snappy, gzip, zstd, LZ4_RAW")
}
