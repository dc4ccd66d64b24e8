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
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/record"
	"github.com/rlzero/rlzero/rl/store"
	"github.com/rlzero/rlzero/rl/train"
)

// replayFile is the schedule that a run repeats, as it was when the run began: where it is
// continued it goes on by that. Without a schedule it is empty, and says that the run repeats another.
const replayFile = "replay.jsonl"

// Repeats says whether the run in a folder repeats another.
func Repeats(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, replayFile))
	return err == nil
}

// repeats refuses to repeat a run that has no schedule, or that has another recipe.
func repeats(r *recipe.Recipe, dir string) error {
	if err := sameRecipe(r, dir); err != nil {
		return err
	}
	if r.Arrives() || r.Remembers() {
		return nil
	}
	return hint.With(fmt.Errorf("%w: run %s has no schedule to repeat it by, and no calls: no stage of its recipe has order = \"arrival\", its task no tools that are not pure, and no judge is behind an address", lines.ErrInput, dir),
		"its recipe alone repeats it: rlzero train %s", terminal.ShellWord(filepath.Join(dir, recipe.File)))
}

// readSchedule reads which groups the steps take: of the run that is repeated, or of this one as far
// as it got, so that steps that are done again take the same. text is that of the former.
func (r *run) readSchedule(o Options) (text []byte, err error) {
	switch {
	case !r.parts.Recipe.Arrives():
		return nil, nil
	case o.Replay != "":
		if r.parts.Schedule, text, err = scheduleIn(filepath.Join(o.Replay, record.ScheduleFile)); err != nil {
			return nil, err
		}
		r.parts.Notes = append(r.parts.Notes, fmt.Sprintf("repeating run %s by its schedule, to step %d", o.Replay, r.parts.Schedule.Last()))
		r.parts.Notes = append(r.parts.Notes, elsewhere(o.Replay, r.want)...)
		return text, nil
	case !o.Resume:
		return nil, nil
	}
	// The longer one begins as the other does: after the end of what it repeats a run goes on by
	// what comes first, and has written that.
	for _, name := range []string{replayFile, record.ScheduleFile} {
		s, _, err := scheduleIn(filepath.Join(o.Dir, name))
		if errors.Is(err, os.ErrNotExist) { // it repeats none, or was killed before its first step
			continue
		}
		if err != nil {
			return nil, err
		}
		if r.parts.Schedule == nil || s.Last() > r.parts.Schedule.Last() {
			r.parts.Schedule = s
		}
	}
	return nil, nil
}

// scheduleIn reads a schedule, and its text.
func scheduleIn(name string) (*train.Schedule, []byte, error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		return nil, nil, err
	}
	s, err := train.ReadSchedule(name, bytes.NewReader(text))
	return s, text, err
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
	return []string{fmt.Sprintf("warning: run %s was computed on %s; this is %s: the steps take the same groups, but come to different bytes", dir, about(there), about(here))}
}
