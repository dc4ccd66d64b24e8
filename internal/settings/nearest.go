package settings

import (
	"strings"

	"github.com/rlzero/rlzero/internal/hint"
)

// DidYouMean is put at the end of an error about a name: the nearest of the known names,
// and what is accepted in all, "" for no more. Without that it names all of them where none
// is near and they are few.
func DidYouMean(name string, known []string, accepted string) string {
	const few = 12
	near := hint.Nearest(name, known)
	switch {
	case near != "" && accepted != "":
		return "; did you mean " + near + "? (" + accepted + ")"
	case near != "":
		return "; did you mean " + near + "?"
	case accepted != "":
		return "; " + accepted
	}
	if len(known) > 0 && len(known) <= few {
		return "; known here: " + strings.Join(known, ", ")
	}
	return ""
}
