package cli

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/rlzero/rlzero/rl/store"
)

// TestFirstFree: runs that begin in the same second, side by side or one after
// another, get folders of their own.
func TestFirstFree(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs", "demo-20260102-030405")
	var all sync.WaitGroup
	const runs = 5
	for range runs {
		all.Go(func() {
			err := firstFree(dir, func(at string) error {
				run, err := store.Create(store.OS(), at)
				if err != nil {
					return err
				}
				return run.WriteFile("recipe.toml", []byte(at)) // and stays open
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, name := range []string{dir, dir + "-2", dir + "-3", dir + "-4", dir + "-5"} {
		if text, err := os.ReadFile(filepath.Join(name, "recipe.toml")); err != nil || string(text) != name {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	if made, err := filepath.Glob(dir + "*"); err != nil || len(made) != runs {
		t.Errorf("%q, %v; want %d folders", made, err, runs)
	}
}
