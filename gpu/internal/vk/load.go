//go:build (linux || darwin || windows) && (amd64 || arm64)

package vk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// ErrNoLoader: no Vulkan library could be loaded.
var ErrNoLoader = errors.New("no Vulkan library")

// loader returns vkGetInstanceProcAddr of the first library that loads. The
// library stays loaded: drivers do not survive being unloaded.
var loader = sync.OnceValues(func() (uintptr, error) { return openFirst(libraryPaths()) })

func openFirst(paths []string) (uintptr, error) {
	var errs []error
	for _, path := range paths {
		proc, err := openLibrary(path)
		if err == nil {
			return proc, nil
		}
		errs = append(errs, err)
	}
	return 0, fmt.Errorf("%w: %w", ErrNoLoader, errors.Join(errs...))
}

// libraryPaths lists where to look: the system's search path by name, then
// folders outside it, then the program's own, where a release may put a driver.
func libraryPaths() []string {
	paths := append([]string(nil), libraryNames...)
	folders := libraryFolders
	if program, err := os.Executable(); err == nil {
		folders = append(folders[:len(folders):len(folders)], filepath.Dir(program))
	}
	for _, folder := range folders {
		for _, name := range libraryNames {
			paths = append(paths, filepath.Join(folder, name))
		}
	}
	return paths
}

// entryPoints are the names under which a loader, or a driver used without
// one, exports vkGetInstanceProcAddr.
var entryPoints = []string{"vkGetInstanceProcAddr", "vk_icdGetInstanceProcAddr"}
