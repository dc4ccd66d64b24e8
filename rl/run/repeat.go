package run

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/rlzero/rlzero/internal/files"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/rl/lines"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/store"
	"github.com/rlzero/rlzero/rl/terminal"
	"github.com/rlzero/rlzero/rl/train"
)

// replayFile is the schedule that a run repeats, as it was when the run began: where it is
// continued it goes on by that.
const replayFile = "replay.jsonl"

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

// schedule reads which groups the steps take: of the run that is repeated, or of this one as far
// as it got, so that steps that are done again take the same. text is what was read.
func (r *run) schedule(o Options) (text []byte, err error) {
	var name string
	switch {
	case !r.parts.Recipe.Arrives():
		return nil, nil
	case o.Replay != "":
		name = filepath.Join(o.Replay, train.ScheduleFile)
	case o.Resume:
		name = filepath.Join(o.Dir, replayFile)
		if _, err := os.Stat(name); errors.Is(err, os.ErrNotExist) {
			name = filepath.Join(o.Dir, train.ScheduleFile)
		}
	default:
		return nil, nil
	}
	f, err := files.Open(name)
	if errors.Is(err, os.ErrNotExist) && o.Replay == "" { // it was killed before its first step
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	defer f.Close()
	if text, err = io.ReadAll(f); err != nil {
		return nil, err
	}
	if r.parts.Schedule, err = train.ReadSchedule(name, bytes.NewReader(text)); err == nil && o.Replay != "" {
		r.parts.Notes = append(r.parts.Notes, fmt.Sprintf("repeating run %s by its schedule, to step %d", o.Replay, r.parts.Schedule.Last()))
		r.parts.Notes = append(r.parts.Notes, elsewhere(o.Replay, r.want)...)
	}
	return text, err
}

// elsewhere warns where the bytes of a run will not come again, by what its newest checkpoint
// says: this is another kind of device, or another release.
func elsewhere(dir string, here State) []string {
	ckpt, _, err := store.Latest(store.OS(), dir)
	if err != nil || ckpt == nil { // nothing says what it was computed on
		return nil
	}
	there, err := ReadState(ckpt.Dir())
	if err != nil || there.Device == here.Device && there.Numerics == here.Numerics && there.Formulas == here.Formulas {
		return nil
	}
	about := func(s State) string {
		return fmt.Sprintf("%s, numerics version %s, formulas version %d", s.Device, s.Numerics, s.Formulas)
	}
	return []string{fmt.Sprintf("warning: run %s was computed on %s; this is %s: the steps take the same groups, and come to other bytes", dir, about(there), about(here))}
}
