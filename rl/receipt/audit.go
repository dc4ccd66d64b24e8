package receipt

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/resolve"
	"github.com/rlzero/rlzero/rl/store"
)

// Audited is one thing that a receipt has a hash of; Err says how what is there
// now differs from it.
type Audited struct {
	Name    string
	Hash    string // in the receipt; "" for what it does not know of
	Err     error
	Input   bool   // not written by the run: it was there before
	LeftOut string // why it could not be checked; "" if it was
}

// Audit hashes the run folder and the model that the run started from again and
// compares: one entry for each hash of the receipt, and one for each checkpoint
// that it does not know of. told is told of each program of others that is started for its problems, see
// [resolve.Open].
func (r *Receipt) Audit(dir string, told func(command string)) ([]Audited, error) {
	own := filepath.Join(dir, recipe.File)
	sum, err := fileHash(own)
	out := []Audited{audited(recipe.File, r.Recipe, sum, err)}
	sum, err = auditData(own, told)
	out = append(out, audited("data", r.Data, sum, err))
	out = append(out, r.Model.audit("model")...)
	for _, name := range slices.Sorted(maps.Keys(r.Models)) {
		for _, from := range r.Models[name] {
			out = append(out, from.audit("model "+name)...)
		}
	}
	for _, l := range r.Logs {
		if l.Name != filepath.Base(l.Name) { // a receipt must not lead out of its folder
			return nil, fmt.Errorf("%w: %s names the log %q; accepted: a file in the run folder", lines.ErrInput, filepath.Join(dir, File), l.Name)
		}
		sum, err := fileHash(filepath.Join(dir, l.Name))
		out = append(out, audited(l.Name, l.SHA256, sum, err))
	}
	list, err := store.List(store.OS(), dir)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	found := map[string]store.Listed{}
	for _, l := range list {
		found[l.Name] = l
	}
	for _, c := range r.Checkpoints {
		l, ok := found[c.Name]
		switch {
		case !ok:
			out = append(out, Audited{Name: c.Name, Hash: c.SHA256, Err: errors.New("the folder does not exist")})
		case l.Err != nil:
			out = append(out, Audited{Name: c.Name, Hash: c.SHA256, Err: l.Err})
		default:
			out = append(out, audited(c.Name, c.SHA256, l.Checkpoint.Digest(), nil))
		}
		delete(found, c.Name)
	}
	if r.Best != nil {
		a := Audited{Name: r.Best.Name, Hash: r.Best.SHA256}
		switch best, err := store.BestModel(store.OS(), dir); {
		case err != nil:
			a.Err = err
		case best == nil || bestName(best) != r.Best.Name:
			a.Err = errors.New("the folder does not exist")
		default:
			a = audited(a.Name, a.Hash, best.Digest(), nil)
		}
		out = append(out, a)
	}
	for _, l := range list {
		if _, unknown := found[l.Name]; unknown {
			out = append(out, Audited{Name: l.Name, Err: errors.New("the receipt does not list it")})
		}
	}
	return out, nil
}

// audit compares the files of a model that the run started from, nil for random weights. Its
// folder is no part of the run's, so it may be elsewhere by now.
func (src *Origin) audit(name string) []Audited {
	if src == nil {
		return nil
	}
	if _, err := os.Stat(src.Folder); err != nil {
		return []Audited{{Name: name, Input: true, LeftOut: fmt.Sprintf("the %d files that the run started from are not here: %v", len(src.Files), err)}}
	}
	var out []Audited
	for _, f := range src.Files {
		a := Audited{Name: name + " " + f.Name, Hash: f.SHA256, LeftOut: "the receipt names a file outside its folder"}
		if f.Name == filepath.Base(f.Name) {
			sum, err := fileHash(filepath.Join(src.Folder, f.Name))
			a = audited(a.Name, f.SHA256, sum, err)
		}
		a.Input = true
		out = append(out, a)
	}
	return out
}

// auditData is the data hash of a recipe.
func auditData(file string, told func(command string)) (string, error) {
	r, err := recipe.Load(file, nil)
	if err != nil {
		return "", err
	}
	opened, err := resolve.OpenAgain(r, told)
	if err != nil {
		return "", err
	}
	defer opened.Close()
	rows, err := opened.Source.HeldOut(opened.Recipe.Task.EvalProblems)
	if err != nil {
		return "", err
	}
	return dataHash(opened.Recipe.Task, rows)
}

func audited(name, want, got string, err error) Audited {
	if err == nil && got != want {
		err = fmt.Errorf("its SHA-256 is %s, but the receipt has %s", short(got), short(want))
	}
	return Audited{Name: name, Hash: want, Err: err}
}

// short is the beginning of a hash, for people.
func short(hash string) string { return hash[:min(len(hash), 12)] }

// Repeatable returns nil if this program on a device would repeat the run byte
// for byte, and else what differs. Another version of the program will, as long
// as its numerics version is the same.
func (r *Receipt) Repeatable(c gpu.Caps) error {
	var errs []error
	differ := func(what, then, now string) {
		if then != now {
			errs = append(errs, fmt.Errorf("%s was %q, is now %q", what, then, now))
		}
	}
	differ("device", r.Device, c.Name)
	differ("driver", r.Driver, c.Driver)
	differ("tier", r.Tier, string(c.Tier))
	differ("numerics version", string(r.Numerics), string(c.Numerics))
	return errors.Join(errs...)
}
