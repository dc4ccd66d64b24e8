package files

import (
	"os"
	"path/filepath"

	"github.com/rlzero/rlzero/internal/hint"
)

// Near is what may have been meant by a path where nothing is: of what lies in its folder and is fit,
// that with the nearest name, or the only one. "": there is none.
func Near(path string, fit func(path string) bool) string {
	const most = 1000 // names that are looked at
	path = fromHere(path)
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return ""
	}
	defer dir.Close()
	entries, _ := dir.Readdirnames(most) // as many as can be read
	var names []string
	for _, name := range entries {
		if name != filepath.Base(path) && fit(filepath.Join(filepath.Dir(path), name)) {
			names = append(names, name)
		}
	}
	near := hint.Nearest(filepath.Base(path), names)
	if near == "" && len(names) == 1 {
		near = names[0]
	}
	if near == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(path), near)
}

// fromHere is an absolute path as it is written from the current folder on.
func fromHere(path string) string {
	if filepath.IsAbs(path) {
		if here, err := os.Getwd(); err == nil {
			if inside, err := filepath.Rel(here, path); err == nil {
				return inside
			}
		}
	}
	return path
}
