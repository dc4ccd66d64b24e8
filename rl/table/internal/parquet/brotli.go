//go:build !js

package parquet

import (
	"io"

	"github.com/andybalholm/brotli"
)

// unbrotli decodes a stream of codec brotli.
func unbrotli(in io.Reader) (io.Reader, error) { return brotli.NewReader(in), nil }
