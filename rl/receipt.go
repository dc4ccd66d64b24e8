package rl

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/BurntSushi/toml"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/internal/files"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/store"
	"github.com/rlzero/rlzero/rl/tasks"
	"github.com/rlzero/rlzero/rl/terminal"
	"github.com/rlzero/rlzero/verify"
)

// ReceiptFile is the receipt's name in a run folder.
const ReceiptFile = "receipt.json"

const receiptVersion = 2

// Receipt says what a finished run was made of and what it made, as hashes: of
// two runs of one recipe on one device, killed and resumed or not, the receipts
// are equal byte for byte. (A run that was interrupted has one checkpoint more,
// that of the step after which it was.) Hashes are SHA-256 in hexadecimal.
type Receipt struct {
	Version     int     `json:"version"` // of this format
	Program     string  `json:"program"` // version of rlzero
	Device      string  `json:"device"`
	Driver      string  `json:"driver"`
	Tier        string  `json:"tier"`
	Numerics    int     `json:"numerics"`
	Recipe      string  `json:"recipe"` // hash of recipe.toml, which also holds the text of scripts
	Data        string  `json:"data"`   // hash of the task, its settings and the held-out problems
	Model       *Origin `json:"model"`  // null: random weights
	Logs        []Hash  `json:"logs"`
	Checkpoints []Hash  `json:"checkpoints"` // hash of each one's manifest, oldest first
}

// Origin is the model that a run started from, as it was then.
type Origin struct {
	Folder string `json:"folder"` // the Hugging Face folder that model.path led to
	Files  []Hash `json:"files"`  // config, tokenizer and weights, by name
}

// Hash is a file or checkpoint of the run folder and what it hashed to.
type Hash struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
}

// receiptLogs are the logs that equal runs write alike.
var receiptLogs = []string{"metrics.jsonl", "completions.jsonl", "evaluations.jsonl"}

// writeReceipt hashes the finished run.
func (s *session) writeReceipt(o Options) error {
	c := o.Device.Caps()
	r := Receipt{Version: receiptVersion, Program: o.Version, Device: c.Name, Driver: c.Driver, Tier: string(c.Tier), Numerics: c.Numerics,
		Model: s.state.Model, Logs: []Hash{}, Checkpoints: []Hash{}}
	var err error
	if r.Recipe, err = fileHash(filepath.Join(o.Dir, recipeFile)); err != nil {
		return err
	}
	if r.Data, err = dataHash(s.recipe.Task, s.heldOut); err != nil {
		return err
	}
	for _, name := range receiptLogs {
		sum, err := fileHash(filepath.Join(o.Dir, name))
		if err != nil {
			return err
		}
		r.Logs = append(r.Logs, Hash{name, sum})
	}
	list, err := store.List(store.OS(), o.Dir)
	if err != nil {
		return err
	}
	for _, l := range list {
		if l.Err == nil {
			r.Checkpoints = append(r.Checkpoints, Hash{l.Name, l.Checkpoint.Digest()})
		}
	}
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return s.run.WriteFile(ReceiptFile, append(data, '\n'))
}

// dataHash hashes what a run learns from and is measured on. Training problems
// are drawn by the recipe's seed, so the task's settings stand for them.
func dataHash(task recipe.Task, heldOut []verify.Problem) (string, error) {
	var b bytes.Buffer
	fmt.Fprintln(&b, cmp.Or(task.Name, task.SHA256))
	if err := toml.NewEncoder(&b).Encode(task.Settings); err != nil {
		return "", err
	}
	rows := json.NewEncoder(&b) // maps by key
	for _, row := range heldOut {
		if err := rows.Encode(row); err != nil {
			return "", err
		}
	}
	return sumOf(b.Bytes()), nil
}

// sourceEndings are those of the files that a model is read from.
var sourceEndings = []string{".json", ".jinja", ".model", ".safetensors", ".txt"}

// originOf hashes the files of a Hugging Face folder.
func originOf(dir string) (*Origin, error) {
	entries, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInput, err)
	}
	src := &Origin{Folder: dir, Files: []Hash{}}
	for _, e := range entries {
		if e.IsDir() || !slices.Contains(sourceEndings, filepath.Ext(e.Name())) {
			continue
		}
		sum, err := fileHash(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrInput, err)
		}
		src.Files = append(src.Files, Hash{e.Name(), sum})
	}
	return src, nil
}

func sumOf(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

func fileHash(path string) (string, error) {
	f, err := files.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// ReadReceipt reads the receipt of a run folder.
func ReadReceipt(dir string) (*Receipt, error) {
	file := filepath.Join(dir, ReceiptFile)
	const most = 64 << 20 // bytes: far more than one of the longest run
	data, err := files.Read(file, most)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s has no %s: a run gets it when it ends; finish it with rlzero train --resume --run %s", ErrInput, dir, ReceiptFile, terminal.ShellWord(dir))
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInput, err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var r Receipt
	if err := dec.Decode(&r); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrInput, file, err)
	}
	if r.Version != receiptVersion {
		return nil, fmt.Errorf("%w: %s has format version %d, this program reads %d", ErrInput, file, r.Version, receiptVersion)
	}
	return &r, nil
}

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
// that it does not know of.
func (r *Receipt) Audit(dir string) ([]Audited, error) {
	own := filepath.Join(dir, recipeFile)
	sum, err := fileHash(own)
	out := []Audited{audited(recipeFile, r.Recipe, sum, err)}
	sum, err = auditData(own)
	out = append(out, audited("data", r.Data, sum, err))
	out = append(out, r.Model.audit()...)
	for _, l := range r.Logs {
		if l.Name != filepath.Base(l.Name) { // a receipt must not lead out of its folder
			return nil, fmt.Errorf("%w: %s names the log %q, accepted is a file of the run folder", ErrInput, filepath.Join(dir, ReceiptFile), l.Name)
		}
		sum, err := fileHash(filepath.Join(dir, l.Name))
		out = append(out, audited(l.Name, l.SHA256, sum, err))
	}
	list, err := store.List(store.OS(), dir)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInput, err)
	}
	found := map[string]store.Listed{}
	for _, l := range list {
		found[l.Name] = l
	}
	for _, c := range r.Checkpoints {
		l, ok := found[c.Name]
		switch {
		case !ok:
			out = append(out, Audited{Name: c.Name, Hash: c.SHA256, Err: errors.New("the folder is gone")})
		case l.Err != nil:
			out = append(out, Audited{Name: c.Name, Hash: c.SHA256, Err: l.Err})
		default:
			out = append(out, audited(c.Name, c.SHA256, l.Checkpoint.Digest(), nil))
		}
		delete(found, c.Name)
	}
	for _, l := range list {
		if _, unknown := found[l.Name]; unknown {
			out = append(out, Audited{Name: l.Name, Err: errors.New("the receipt does not know of it")})
		}
	}
	return out, nil
}

// audit compares the files of the starting model, nil for random weights. Its
// folder is no part of the run's, so it may be elsewhere by now.
func (src *Origin) audit() []Audited {
	if src == nil {
		return nil
	}
	if _, err := os.Stat(src.Folder); err != nil {
		return []Audited{{Name: "model", Input: true, LeftOut: fmt.Sprintf("the %d files that the run started from are not here: %v", len(src.Files), err)}}
	}
	var out []Audited
	for _, f := range src.Files {
		a := Audited{Name: "model " + f.Name, Hash: f.SHA256, LeftOut: "the receipt names a file outside its folder"}
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
func auditData(file string) (string, error) {
	r, err := recipe.Load(file, nil)
	if err != nil {
		return "", err
	}
	rows, err := tasks.HeldOutRows(r.Task.Settings, r.Task.EvalProblems)
	if err != nil {
		return "", err
	}
	return dataHash(r.Task, rows)
}

func audited(name, want, got string, err error) Audited {
	if err == nil && got != want {
		err = fmt.Errorf("its SHA-256 is %s, the receipt has %s", short(got), short(want))
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
			errs = append(errs, fmt.Errorf("%s then %q, now %q", what, then, now))
		}
	}
	differ("device", r.Device, c.Name)
	differ("driver", r.Driver, c.Driver)
	differ("tier", r.Tier, string(c.Tier))
	differ("numerics version", fmt.Sprint(r.Numerics), fmt.Sprint(c.Numerics))
	return errors.Join(errs...)
}
