//go:build amd64 || arm64

package vk

import (
	"fmt"

	"golang.org/x/sys/windows"
)

var libraryNames = []string{"vulkan-1.dll"}

var libraryFolders []string

func openLibrary(path string) (uintptr, error) {
	library, err := windows.LoadLibrary(path)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	for _, name := range entryPoints {
		if proc, err := windows.GetProcAddress(library, name); err == nil {
			return proc, nil
		}
	}
	return 0, fmt.Errorf("%s exports none of %v", path, entryPoints)
}
