package store

import (
	"fmt"
	"io"
	"path/filepath"
)

// bestDir holds the best model of a run, beside its checkpoints: it is no checkpoint that a run goes
// on from, and changes nothing about those.
const bestDir = "best"

// SaveBest keeps the files of a model, that after a step, as the best one so far. The previous best
// model stays until the next checkpoint, since until then a resumed run may go back to before the
// step.
func (r *Run) SaveBest(step int, files map[string]func(io.Writer) error) (err error) {
	defer func() { err = r.cause(err) }()
	if err := r.Present(); err != nil {
		return err
	}
	parent := r.path(bestDir)
	if err := makeBelow(r.fs, r.path(""), parent); err != nil {
		return err
	}
	dir := filepath.Join(parent, stepName(step))
	if err := r.fill(dir+tmpSuffix, manifest{Version: manifestVersion, Step: step, Files: []fileEntry{}, Logs: []logEntry{}}, files); err != nil {
		r.fs.Remove(dir + tmpSuffix) // frees the space; the first error is the one to report
		return err
	}
	if err := r.publish(dir+tmpSuffix, dir); err != nil {
		return err
	}
	return r.pruneBest()
}

// pruneBest removes the best models that neither are the newest nor become it again where the run goes
// on from its newest checkpoint.
func (r *Run) pruneBest() error {
	checkpoints, err := listCheckpoints(r.fs, r.dir)
	if err != nil {
		return err
	}
	back := -1
	if len(checkpoints) > 0 {
		back = checkpoints[0].step
	}
	last, again := -1, false // the step listed before; one up to back was
	return r.removeBest(func(f folder) bool {
		newest, replaced, needed := last < 0, f.step == last, f.step <= back && !again
		last, again = f.step, again || f.step <= back
		return replaced || !newest && !needed
	})
}

// removeBest removes the best models that a function chooses, which is asked about the newest first.
func (r *Run) removeBest(chosen func(folder) bool) error {
	folders, err := listBest(r.fs, r.dir)
	if err != nil {
		return err
	}
	var doomed []folder
	for _, f := range folders {
		if chosen(f) {
			doomed = append(doomed, f)
		}
	}
	return r.removeFolders(r.path(bestDir), doomed)
}

// listBest lists the best models of a run, the newest first.
func listBest(fsys FS, run string) ([]folder, error) {
	infos, err := fsys.ReadDir(run)
	if err != nil {
		return nil, failed("read folder", run, err)
	}
	for _, info := range infos {
		if info.Name() == bestDir && info.IsDir() {
			return listSteps(fsys, filepath.Join(run, bestDir))
		}
	}
	return nil, nil
}

// BestModel is the best model of the run in dir, nil if it has kept none. One that is damaged is an error.
// It takes no lock.
func BestModel(fsys FS, dir string) (*Checkpoint, error) {
	folders, err := listBest(fsys, dir)
	if err != nil || len(folders) == 0 {
		return nil, err
	}
	c, err := load(fsys, folders[0].dir)
	if err == nil && c.manifest.Step != folders[0].step {
		err = fmt.Errorf("%s belongs to step %d", manifestFile, c.manifest.Step)
	}
	if err != nil {
		return nil, fmt.Errorf("the best model %s is incomplete or damaged: %w", folders[0].dir, err)
	}
	return c, nil
}
