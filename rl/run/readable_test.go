package run

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/rl/recipe"
)

// TestModelOf: a run that goes on is told to put its model back, in one hint with where that may be.
func TestModelOf(t *testing.T) {
	t.Chdir(t.TempDir())
	const near = "chat.moved"
	must(t, os.Mkdir(near, 0o700))
	must(t, os.WriteFile(filepath.Join(near, "config.json"), nil, 0o600))
	r := &recipe.Recipe{Model: recipe.Model{Path: "chat"}}
	for resumed, want := range map[bool][]string{
		true:  {"a run goes on with the model that it began with; it may be " + near + ": put it back there"},
		false: {"did you mean " + near + "?", "--set model.path=" + near},
	} {
		if _, err := modelOf(r, resumed); !slices.Equal(hint.All(err), want) {
			t.Errorf("resumed %v: %v, hints %q, want %q", resumed, err, hint.All(err), want)
		}
	}
}
