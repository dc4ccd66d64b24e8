package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// KeepFile is the name of a file that marks a checkpoint: one that has it is
// never removed. SaveCheckpoint takes it among its files, and a person may put
// it there later.
const KeepFile = "keep"

const (
	manifestFile    = "manifest.json"
	manifestVersion = 1
	mostManifest    = 16 << 20 // bytes that are read: a line of some 100 for each file
	stepPrefix      = "step-"
	oldSuffix       = ".old"
)

// manifest is what a checkpoint says of itself.
type manifest struct {
	Version  int         `json:"version"`
	Step     int         `json:"step"`
	Files    []fileEntry `json:"files"` // sorted by name
	Logs     []logEntry  `json:"logs"`  // sorted by name
	Checksum string      `json:"checksum"`
}

type fileEntry struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

type logEntry struct {
	Name  string `json:"name"`
	Lines int    `json:"lines"`
}

// encode is the manifest as text; its checksum is the SHA-256 of the same text
// with the checksum empty.
func (m manifest) encode() []byte {
	m.Checksum = ""
	m.Checksum = sum(sha256.Sum256(m.text()))
	return m.text()
}

func (m manifest) text() []byte {
	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil { // strings and numbers always encode
		panic(err)
	}
	return append(data, '\n')
}

func sum(s [sha256.Size]byte) string { return hex.EncodeToString(s[:]) }

// Checkpoint is a whole checkpoint.
type Checkpoint struct {
	fs       FS
	dir      string
	manifest manifest
}

// Dir is the checkpoint's folder.
func (c *Checkpoint) Dir() string { return c.dir }

// Step is the step after which it was saved.
func (c *Checkpoint) Step() int { return c.manifest.Step }

// Open opens one of its files.
func (c *Checkpoint) Open(name string) (io.ReadCloser, error) {
	p := filepath.Join(c.dir, filepath.FromSlash(name))
	in, err := c.fs.Open(p)
	return in, failed("open", p, err)
}

// stepName is the folder's name of a step.
func stepName(step int) string { return fmt.Sprintf("%s%06d", stepPrefix, step) }

// SaveCheckpoint writes the files as the checkpoint of a step, then removes
// checkpoints that are not to be kept. Names may contain one folder, as in
// trainer/state.json. One of the same step is replaced.
func (r *Run) SaveCheckpoint(step int, files map[string]func(io.Writer) error) (err error) {
	defer func() { err = r.cause(err) }()
	m := manifest{Version: manifestVersion, Step: step, Files: []fileEntry{}, Logs: []logEntry{}}
	for _, l := range r.logs {
		if err := l.Sync(); err != nil {
			return err
		}
		m.Logs = append(m.Logs, logEntry{l.name, l.lines})
	}
	slices.SortFunc(m.Logs, func(a, b logEntry) int { return strings.Compare(a.Name, b.Name) })
	parent := r.path(checkpointsDir)
	tmp := filepath.Join(parent, stepName(step)+tmpSuffix)
	if err := r.fill(tmp, m, files); err != nil {
		r.fs.Remove(tmp) // frees the space; the first error is the one to report
		return err
	}
	if err := r.publish(tmp, filepath.Join(parent, stepName(step))); err != nil {
		return err
	}
	return r.prune(step)
}

// fill writes a checkpoint's folder, its manifest last.
func (r *Run) fill(dir string, m manifest, files map[string]func(io.Writer) error) error {
	if err := remove(r.fs, dir); err != nil {
		return err
	}
	if err := makeBelow(r.fs, r.path(""), dir); err != nil {
		return err
	}
	folders := []string{dir}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !fs.ValidPath(name) || strings.Count(name, "/") > 1 || name == "." || name == manifestFile {
			return fmt.Errorf("checkpoint file name %q; accepted: NAME or FOLDER/NAME, except %s", name, manifestFile)
		}
		if sub := filepath.Join(dir, path.Dir(name)); !slices.Contains(folders, sub) {
			if err := makeBelow(r.fs, r.path(""), sub); err != nil {
				return err
			}
			folders = append(folders, sub)
		}
		count := counter{hash: sha256.New()}
		err := create(r.fs, filepath.Join(dir, filepath.FromSlash(name)), func(w io.Writer) error {
			return files[name](io.MultiWriter(w, &count))
		})
		if err != nil {
			return err
		}
		m.Files = append(m.Files, fileEntry{name, count.n, count.sum()})
	}
	// The manifest's name is durable only after every other's.
	for _, folder := range folders {
		if err := syncDir(r.fs, folder); err != nil {
			return err
		}
	}
	err := create(r.fs, filepath.Join(dir, manifestFile), func(w io.Writer) error { _, err := w.Write(m.encode()); return err })
	if err != nil {
		return err
	}
	return syncDir(r.fs, dir)
}

// publish gives a finished folder its name. A folder cannot be renamed onto
// another, so an older one of this name steps aside first; Latest finds it
// there if the process ends in between.
func (r *Run) publish(tmp, dir string) error {
	parent := filepath.Dir(dir)
	if _, err := r.fs.ReadDir(dir); err == nil {
		// One that stepped aside earlier is needed only while dir is not whole.
		if _, err := load(r.fs, dir); err == nil {
			if err := remove(r.fs, dir+oldSuffix); err != nil {
				return err
			}
			if err := rename(r.fs, dir, dir+oldSuffix); err != nil {
				return err
			}
		} else if err := remove(r.fs, dir); err != nil {
			return err
		}
		if err := syncDir(r.fs, parent); err != nil {
			return err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return failed("read folder", dir, err)
	}
	if err := rename(r.fs, tmp, dir); err != nil {
		return err
	}
	return syncDir(r.fs, parent)
}

// prune removes the checkpoints that are not to be kept, now that the one of
// step is durable. Those of later steps, which were damaged or the run would
// have gone on from them, wait until the run has passed them.
func (r *Run) prune(step int) error {
	folders, err := listCheckpoints(r.fs, r.dir)
	if err != nil {
		return err
	}
	kept, doomed := 0, []folder(nil)
	for _, f := range folders {
		if f.step > step {
			continue
		}
		if !f.old && kept < r.keep {
			kept++
			continue
		}
		if !f.old && marked(r.fs, f.dir) {
			continue
		}
		doomed = append(doomed, f)
	}
	if err := r.removeFolders(r.path(checkpointsDir), doomed); err != nil {
		return err
	}
	return r.pruneBest()
}

// removeFolders removes folders of steps.
func (r *Run) removeFolders(parent string, doomed []folder) error {
	for _, f := range doomed {
		// Renamed before its files go: a checkpoint's name never stands for half.
		if err := rename(r.fs, f.dir, f.dir+tmpSuffix); err != nil {
			return err
		}
	}
	if len(doomed) == 0 {
		return nil
	}
	if err := syncDir(r.fs, parent); err != nil {
		return err
	}
	for _, f := range doomed {
		if err := remove(r.fs, f.dir+tmpSuffix); err != nil {
			return err
		}
	}
	return nil
}

func marked(fsys FS, dir string) bool {
	infos, err := fsys.ReadDir(dir)
	return err == nil && slices.ContainsFunc(infos, func(i fs.FileInfo) bool { return i.Name() == KeepFile })
}

type folder struct {
	dir  string
	step int
	old  bool
}

// listCheckpoints lists the run's checkpoint folders, newest first.
func listCheckpoints(fsys FS, run string) ([]folder, error) {
	return listSteps(fsys, filepath.Join(run, checkpointsDir))
}

// listSteps lists the folders of steps in a folder, newest first.
func listSteps(fsys FS, parent string) ([]folder, error) {
	infos, err := fsys.ReadDir(parent)
	if err != nil {
		return nil, failed("read folder", parent, err)
	}
	var out []folder
	for _, info := range infos {
		name, old := strings.CutSuffix(info.Name(), oldSuffix)
		step, err := strconv.Atoi(strings.TrimPrefix(name, stepPrefix))
		if err != nil || name != stepName(step) || !info.IsDir() {
			continue
		}
		out = append(out, folder{filepath.Join(parent, info.Name()), step, old})
	}
	slices.SortFunc(out, func(a, b folder) int {
		if a.step != b.step {
			return b.step - a.step
		}
		return len(a.dir) - len(b.dir) // the one that stepped aside is older
	})
	return out, nil
}

// Latest is the newest whole checkpoint of the run in dir, nil if there is none. Newer ones that
// are damaged or incomplete are skipped, each with a warning. It takes no lock.
func Latest(fsys FS, dir string) (*Checkpoint, []string, error) {
	if err := isRun(fsys, dir); err != nil {
		return nil, nil, err
	}
	folders, err := listCheckpoints(fsys, dir)
	if err != nil {
		return nil, nil, err
	}
	var warnings []string
	for _, f := range folders {
		c, err := load(fsys, f.dir)
		if err == nil && c.manifest.Step != f.step {
			err = fmt.Errorf("%s belongs to step %d", manifestFile, c.manifest.Step)
		}
		if err == nil {
			return c, warnings, nil
		}
		warnings = append(warnings, fmt.Sprintf("checkpoint %s is incomplete or damaged and was skipped: %v", f.dir, err))
	}
	return nil, warnings, nil
}

// load reads a checkpoint's manifest and checks every file against it.
func load(fsys FS, dir string) (*Checkpoint, error) {
	c := &Checkpoint{fs: fsys, dir: dir}
	in, err := c.Open(manifestFile)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(in, mostManifest+1))
	in.Close()
	if err != nil {
		return nil, failed("read", filepath.Join(dir, manifestFile), err)
	}
	if len(data) > mostManifest {
		return nil, fmt.Errorf("%s has more than %d bytes; accepted: at most so many", manifestFile, mostManifest)
	}
	if err := json.Unmarshal(data, &c.manifest); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", manifestFile, err)
	}
	if c.manifest.Version > manifestVersion {
		return nil, fmt.Errorf("%s has version %d; this program reads versions up to %d", manifestFile, c.manifest.Version, manifestVersion)
	}
	if !bytes.Equal(data, c.manifest.encode()) {
		return nil, fmt.Errorf("%s is damaged: its checksum does not match", manifestFile)
	}
	for _, want := range c.manifest.Files {
		if err := c.check(want); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *Checkpoint) check(want fileEntry) error {
	in, err := c.Open(want.Name)
	if err != nil {
		return err
	}
	defer in.Close()
	count := counter{hash: sha256.New()}
	if _, err := io.Copy(&count, in); err != nil {
		return failed("read", filepath.Join(c.dir, want.Name), err)
	}
	if count.n != want.Size {
		return fmt.Errorf("%s has a size of %d bytes, expected %d", want.Name, count.n, want.Size)
	}
	if count.sum() != want.SHA256 {
		return fmt.Errorf("%s is damaged: its SHA-256 does not match", want.Name)
	}
	return nil
}

// counter counts and hashes what is written to it.
type counter struct {
	hash hash.Hash
	n    int64
}

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return c.hash.Write(p)
}

func (c *counter) sum() string { return hex.EncodeToString(c.hash.Sum(nil)) }

// asideSuffix is that of a checkpoint that no run continues from.
const asideSuffix = ".aside"

// SetAside renames the checkpoints that a function of their folder chooses, to step-NNNNNN.aside:
// the run goes on from none of them. Best models that it chooses are removed. It returns how many
// checkpoints there are, and the newest that is left, or nil.
func (r *Run) SetAside(chosen func(dir string) bool) (n int, left *Checkpoint, err error) {
	if err := r.removeBest(func(f folder) bool { return chosen(f.dir) }); err != nil {
		return 0, nil, err
	}
	folders, err := listCheckpoints(r.fs, r.dir)
	if err != nil {
		return 0, nil, err
	}
	for _, f := range folders {
		if !chosen(f.dir) {
			continue
		}
		if err := remove(r.fs, f.dir+asideSuffix); err != nil {
			return n, nil, err
		}
		if err := rename(r.fs, f.dir, f.dir+asideSuffix); err != nil {
			return n, nil, err
		}
		n++
	}
	if err := syncDir(r.fs, r.path(checkpointsDir)); err != nil {
		return n, nil, err
	}
	left, _, err = r.Latest()
	return n, left, err
}
