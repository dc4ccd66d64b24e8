//go:build (linux || darwin) && (amd64 || arm64)

package vk

import (
	"fmt"

	"github.com/ebitengine/purego"
)

func openLibrary(path string) (uintptr, error) {
	library, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return 0, err
	}
	for _, name := range entryPoints {
		if proc, err := purego.Dlsym(library, name); err == nil {
			return proc, nil
		}
	}
	return 0, fmt.Errorf("%s exports none of %v", path, entryPoints)
}
