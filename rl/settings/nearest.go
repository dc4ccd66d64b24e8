package settings

import (
	"strings"

	"github.com/rlzero/rlzero/internal/hint"
)

// DidYouMean is put behind an error about a name: the nearest of the known names,
// or all of them where none is near and they are few.
func DidYouMean(name string, known []string) string {
	const few = 12
	if near := hint.Nearest(name, known); near != "" {
		return "; did you mean " + near + "?"
	}
	if len(known) > 0 && len(known) <= few {
		return "; known here: " + strings.Join(known, ", ")
	}
	return ""
}
