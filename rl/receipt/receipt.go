package receipt

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
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/rl/algo"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/record"
	"github.com/rlzero/rlzero/rl/store"
	"github.com/rlzero/rlzero/verify"
)

// File is the receipt's name in a run folder.
const File = "receipt.json"

const version = 3

// Receipt says what a finished run was made of and what it made, as hashes: of
// two runs of one recipe on one device, killed and resumed or not, the receipts
// are equal byte for byte. (A run that was interrupted has one checkpoint more,
// that of the step after which it was.) Hashes are SHA-256 in hexadecimal.
type Receipt struct {
	Version     int                  `json:"version"` // of this format
	Program     string               `json:"program"` // version of rlzero
	Device      string               `json:"device"`
	Driver      string               `json:"driver"`
	Tier        string               `json:"tier"`
	Numerics    gpu.Numerics         `json:"numerics"`
	Formulas    int                  `json:"formulas"`         // version of their language; the formulas themselves are in the recipe
	Recipe      string               `json:"recipe"`           // hash of recipe.toml, which also holds the text of scripts
	Data        string               `json:"data"`             // hash of the task, its settings and the held-out problems
	Model       *Origin              `json:"model"`            // null: random weights
	Models      map[string][]*Origin `json:"models,omitempty"` // what models of [models] were read from, by their names; of the policy the adapter that it began with
	Logs        []Hash               `json:"logs"`
	Checkpoints []Hash               `json:"checkpoints"`         // hash of each one's manifest, oldest first
	Continued   []Continuation       `json:"continued,omitempty"` // where the run went on with other lengths, its optimizer's state kept
	Best        *Hash                `json:"best,omitempty"`      // likewise of the best model, if one was kept
}

// Continuation is a place where a run went on with other lengths of its schedules than it had.
type Continuation struct {
	Step    int       `json:"step"`  // of the run, the last with the old ones
	Stage   string    `json:"stage"` // in progress then
	Changes []Changed `json:"changes"`
	From    string    `json:"from"` // identity of the recipe before
	To      string    `json:"to"`   // and after
}

// Changed is a key of the recipe, with its values as TOML.
type Changed struct {
	Key  string `json:"key"`
	From string `json:"from"`
	To   string `json:"to"`
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

// Of hashes a finished run: its folder, what it learnt from, the model it began with
// (nil: random weights), its other models, and the device and version of the program that it ran on.
// continued says where it went on with other lengths.
func Of(dir string, task recipe.Task, heldOut []verify.Problem, began *Origin, models map[string][]*Origin, continued []Continuation, c gpu.Caps, program string) (*Receipt, error) {
	r := &Receipt{Version: version, Program: program, Device: c.Name, Driver: c.Driver, Tier: string(c.Tier), Numerics: c.Numerics, Formulas: algo.Version,
		Model: began, Models: models, Continued: continued, Logs: []Hash{}, Checkpoints: []Hash{}}
	var err error
	if r.Recipe, err = fileHash(filepath.Join(dir, recipe.File)); err != nil {
		return nil, err
	}
	if r.Data, err = dataHash(task, heldOut); err != nil {
		return nil, err
	}
	names := slices.Clone(record.Logs)
	for _, name := range append(slices.Clone(record.SomeLogs), store.ResultFile) {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			names = append(names, name)
		}
	}
	for _, name := range names {
		sum, err := fileHash(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		r.Logs = append(r.Logs, Hash{name, sum})
	}
	list, err := store.List(store.OS(), dir)
	if err != nil {
		return nil, err
	}
	for _, l := range list {
		if l.Err == nil {
			r.Checkpoints = append(r.Checkpoints, Hash{l.Name, l.Checkpoint.Digest()})
		}
	}
	best, err := store.BestModel(store.OS(), dir)
	if err == nil && best != nil {
		r.Best = &Hash{bestName(best), best.Digest()}
	}
	return r, err
}

// bestName is the name of a best model in a receipt.
func bestName(best *store.Checkpoint) string { return "best/" + filepath.Base(best.Dir()) }

// Text is the receipt as it stands in its file.
func (r *Receipt) Text() ([]byte, error) {
	data, err := json.MarshalIndent(r, "", "  ")
	return append(data, '\n'), err
}

// dataHash hashes what a run learns from and is measured on. Training problems
// are drawn by the recipe's seed, so the task's settings stand for them.
func dataHash(task recipe.Task, heldOut []verify.Problem) (string, error) {
	var b bytes.Buffer
	fmt.Fprintln(&b, cmp.Or(task.Name, task.SHA256))
	if task.Settings != nil {
		if err := toml.NewEncoder(&b).Encode(task.Settings); err != nil {
			return "", err
		}
	}
	rows := json.NewEncoder(&b) // maps by key
	for _, row := range heldOut {
		if err := rows.Encode(row); err != nil {
			return "", err
		}
	}
	return Sum(b.Bytes()), nil
}

// sourceEndings are those of the files that a model is read from.
var sourceEndings = []string{".json", ".jinja", ".model", ".safetensors", ".txt"}

// OriginOf hashes the files of a Hugging Face folder, or a GGUF file.
func OriginOf(dir string) (*Origin, error) {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		sum, err := fileHash(dir)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", lines.ErrInput, err)
		}
		return &Origin{Folder: filepath.Dir(dir), Files: []Hash{{filepath.Base(dir), sum}}}, nil
	}
	entries, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		return nil, fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	src := &Origin{Folder: dir, Files: []Hash{}}
	for _, e := range entries {
		if e.IsDir() || !slices.Contains(sourceEndings, filepath.Ext(e.Name())) {
			continue
		}
		sum, err := fileHash(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, fmt.Errorf("%w: %w", lines.ErrInput, err)
		}
		src.Files = append(src.Files, Hash{e.Name(), sum})
	}
	return src, nil
}

// Sum is the SHA-256 of some bytes in hexadecimal.
func Sum(data []byte) string {
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

// Read reads the receipt of a run folder.
func Read(dir string) (*Receipt, error) {
	file := filepath.Join(dir, File)
	const most = 64 << 20 // bytes: far more than one of the longest run
	data, err := files.Read(file, most)
	if errors.Is(err, os.ErrNotExist) {
		return nil, hint.With(fmt.Errorf("%w: %s has no %s: it is written when a run ends", lines.ErrInput, dir, File), "finish the run: rlzero train --resume --run %s", terminal.ShellWord(dir))
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var r Receipt
	if err := dec.Decode(&r); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", lines.ErrInput, file, err)
	}
	if r.Version != version {
		return nil, fmt.Errorf("%w: %s has format version %d, but this program reads version %d", lines.ErrInput, file, r.Version, version)
	}
	return &r, nil
}
