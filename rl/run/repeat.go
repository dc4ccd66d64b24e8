package run

import (
	"fmt"
	"path/filepath"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/rl/lines"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/terminal"
)

// repeats refuses to repeat a run that has no schedule, or that has another recipe.
func repeats(r *recipe.Recipe, dir string) error {
	if err := sameRecipe(r, dir); err != nil {
		return err
	}
	if r.Arrives() {
		return nil
	}
	return hint.With(fmt.Errorf("%w: run %s has no schedule to repeat it by: no stage of its recipe has order = \"arrival\"", lines.ErrInput, dir),
		"its recipe alone repeats it: rlzero train %s", terminal.ShellWord(filepath.Join(dir, recipe.File)))
}
