package run

import (
	"errors"
	"fmt"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/rollout"
)

// back takes a run to before completions that it has used and that are found wrong: the
// checkpoints that may hold something of them are set aside, so that the run can only
// continue from one before. Other errors stay as they are.
func (r *run) back(err error) error {
	var late *rollout.LateError
	if !errors.As(err, &late) {
		return err
	}
	n, left, failed := r.folder.SetAside(func(dir string) bool {
		version, err := cast.SavedVersion(dir)
		return err != nil || version >= late.Since
	})
	if failed != nil {
		return errors.Join(err, failed)
	}
	from := "the beginning"
	if left != nil {
		from = fmt.Sprintf("step %d", left.Step())
	}
	if n > 0 {
		err = fmt.Errorf("%w; checkpoints that may contain some of it were set aside: %s, renamed to step-NNNNNN.aside", err, terminal.Count(n, "checkpoint", ""))
	}
	return hint.With(err, "to continue from %s: rlzero train --resume --run %s", from, terminal.ShellWord(r.folder.Dir()))
}
