//go:build !js

package shaders

import (
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"io"
)

// A program in a browser has no use for them, and would be a tenth larger.
//
//go:embed spv
var binaries embed.FS

// SPIRV returns the module for Vulkan, entry point "main", parameters as push
// constants, binding i of the kernel at set 0 binding i.
func (v Variant) SPIRV() ([]byte, error) {
	packed, err := binaries.ReadFile("spv/" + v.ID + ".spv.gz")
	if err != nil {
		return nil, fmt.Errorf("shader %s is not built (run go generate ./shaders): %w", v.ID, err)
	}
	unpacker, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("shader %s: %w", v.ID, err)
	}
	code, err := io.ReadAll(unpacker)
	if err != nil {
		return nil, fmt.Errorf("shader %s: %w", v.ID, err)
	}
	return code, nil
}
