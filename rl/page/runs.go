package page

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/rlzero/rlzero/internal/files"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/rl/record"
)

// Files are the files of a run that the page shows.
var Files = []string{"recipe.toml", record.MetricsFile, record.TimingFile, record.CompletionsFile, record.EvaluationsFile, record.TokensFile, record.JudgementsFile, record.MadeFile, record.AlertsFile, "result.json", "receipt.json"}

// stepLogs are those of them that are read step by step.
var stepLogs = []string{record.CompletionsFile, record.TokensFile, record.JudgementsFile, record.MadeFile}

// held are those that it only holds against the receipt.
var held = slices.DeleteFunc(slices.Concat([]string{record.HeldOutFile}, record.SomeLogs), func(name string) bool { return slices.Contains(Files, name) })

// Runs are the runs that are shown.
type Runs struct {
	places []string // as the user gave them: runs, or folders of runs

	mu   sync.Mutex
	list []*run
	told map[string]told // comparisons, by two groups
}

// run is the folder of one.
type run struct {
	id, dir string
	group   string // of runs that differ in their seed alone
	seed    uint64
	indexes [4]index // of stepLogs
}

// Run is a run as the page lists it.
type Run struct {
	ID    string           `json:"id"` // a part of addresses
	Dir   string           `json:"dir"`
	Group string           `json:"group"` // equal for runs that differ in their seed alone
	State string           `json:"state"` // finished, running, stopped or gone; in a file finished or unfinished
	Files map[string]int64 `json:"files"` // bytes
}

// Open finds runs: each place is the folder of a run, or one that holds such folders. A
// run that appears in such a folder later is found later.
func Open(places ...string) (*Runs, error) {
	r := &Runs{places: places}
	for _, p := range places {
		if info, err := os.Stat(p); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("%w: %s is not a folder", lines.ErrInput, p)
		}
	}
	r.find()
	if len(r.list) == 0 {
		return nil, hint.With(fmt.Errorf("%w: there is no run in %s: no folder there holds a recipe.toml", lines.ErrInput, quoted(places)),
			"give the folder of a run, or one that holds such folders")
	}
	return r, nil
}

func quoted(places []string) string {
	text := ""
	for i, p := range places {
		if i > 0 {
			text += ", "
		}
		text += strconv.Quote(p)
	}
	return text
}

// isRun tells the folder of a run from any other.
func isRun(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, "recipe.toml"))
	return err == nil && info.Mode().IsRegular()
}

// Add adds a place, where a run may only begin.
func (r *Runs) Add(place string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.places, place) {
		r.places = append(r.places, place)
	}
}

// find adds the runs that it does not know yet.
func (r *Runs) find() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, place := range r.places {
		if isRun(place) {
			r.add(place)
			continue
		}
		entries, err := os.ReadDir(place) // sorted by name
		if err != nil {
			continue // it was there when the page was opened, and may come back
		}
		for _, e := range entries {
			if dir := filepath.Join(place, e.Name()); isRun(dir) {
				r.add(dir)
			}
		}
	}
}

func (r *Runs) add(dir string) {
	if slices.ContainsFunc(r.list, func(o *run) bool { return o.dir == dir }) {
		return
	}
	name := filepath.Base(filepath.Clean(dir))
	if abs, err := filepath.Abs(dir); err == nil { // "." has a name too
		name = filepath.Base(abs)
	}
	id := name
	for n := 2; slices.ContainsFunc(r.list, func(o *run) bool { return o.id == id }); n++ {
		id = fmt.Sprintf("%s-%d", name, n)
	}
	group, seed := recipeOf(dir)
	r.list = append(r.list, &run{id: id, dir: dir, group: group, seed: seed})
}

// known are the runs found so far.
func (r *Runs) known() []*run {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.list)
}

// byID is a run; nil: there is none.
func (r *Runs) byID(id string) *run {
	for _, o := range r.known() {
		if o.id == id {
			return o
		}
	}
	return nil
}

// fresh is how long after a change of its logs a run counts as being in progress: more
// than most steps take. A change that lies further ahead was made before the clock was set back.
const fresh = time.Minute

// describe looks at the files of a run. One whose folder was deleted or moved is gone: it
// had a recipe when it was found.
func (o *run) describe() Run {
	d := Run{ID: o.id, Dir: o.dir, Group: o.group, State: "stopped", Files: map[string]int64{}}
	for _, name := range slices.Concat(Files, held) {
		f, info, err := o.open(name)
		if err != nil {
			continue
		}
		f.Close()
		d.Files[name] = info.Size()
		if time.Since(info.ModTime()).Abs() < fresh && name != "recipe.toml" && d.State == "stopped" {
			d.State = "running"
		}
	}
	if _, done := d.Files["receipt.json"]; done {
		d.State = "finished"
	}
	if len(d.Files) == 0 {
		d.State = "gone"
	}
	return d
}

// open opens a file of a run that the page may read. What lies outside of the run's folder is none,
// though a link leads there.
func (o *run) open(name string) (*os.File, os.FileInfo, error) {
	if !slices.Contains(Files, name) && !slices.Contains(held, name) {
		return nil, nil, fs.ErrNotExist
	}
	f, err := files.OpenIn(o.dir, name)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}
