package hf

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/model/gguf"
	"github.com/rlzero/rlzero/model/internal/jsonfile"
	"github.com/rlzero/rlzero/model/text"
)

// Folder is an opened Hugging Face model folder. Close Tensors after use.
type Folder struct {
	Dir       string          // of the weights
	Adapter   string          // PEFT folder whose adapter belongs to the model; "": none
	Config    Config          // EOS as generation_config.json has it, if it does
	Tensors   *TensorSet      // checked against Config: names and shapes
	Tokenizer *text.Tokenizer // nil without a tokenizer.json
	Head      *Head           // of [ReadHeaded]; else nil

	architecture string // that config.json names; "": none
}

// GenerationConfig is what generation_config.json recommends; nil or absent
// for what it does not mention.
type GenerationConfig struct {
	EOS         []int // eos_token_id
	Temperature *float64
	TopP        *float64
	TopK        *int
	MinP        *float64

	// Raw holds all its keys but those of token ids, which Config has. They are written
	// back unchanged.
	Raw map[string]json.RawMessage
}

// tokenKeys are the keys of generation_config.json that Config stands for.
var tokenKeys = []string{"bos_token_id", "eos_token_id", "pad_token_id"}

// ReadFolder opens a Hugging Face folder, or a GGUF file as if it were one, and checks it: every
// tensor the config asks for is there in its shape, and no other. Values are checked when read. The
// folder may also be that of a PEFT adapter: the model is then the one that it names as its base,
// and other files of the adapter's folder (config.json, a tokenizer) take precedence over those of
// the base, unless the base is a GGUF file.
func ReadFolder(dir string) (*Folder, error) {
	if info, err := os.Stat(dir); err == nil && info.Mode().IsRegular() {
		return readGGUF(dir) // which says what else it is
	}
	return readFolder(dir, false)
}

// readFolder opens a folder, with a head or without one.
func readFolder(dir string, headed bool) (*Folder, error) {
	f := &Folder{Dir: dir}
	small := dir // where config.json and tokenizer are
	if exists(filepath.Join(dir, adapterConfigFile)) {
		f.Adapter = dir
		if headed {
			return nil, hint.With(fmt.Errorf("%s is an adapter; accepted: the folder of a whole model with a head", dir), "if a run trained a reward model beside its policy, write that: rlzero export --member NAME --out FOLDER RUN; merge any other adapter into its model, as merge_and_unload of PEFT does")
		}
		if err := f.findBase(); err != nil {
			return nil, err
		}
		if gguf.IsFile(f.Dir) {
			base, err := readGGUF(f.Dir)
			if err != nil {
				return nil, err
			}
			base.Adapter = dir
			return base.headed()
		}
		if !exists(filepath.Join(small, configFile)) {
			small = f.Dir
		}
	}
	if err := f.readConfig(filepath.Join(small, configFile), small, headed); err != nil {
		return nil, err
	}
	if err := f.readTokenizer(small); err != nil {
		return nil, err
	}
	var err error
	f.Tensors, err = openTensors(f.Dir)
	if err != nil {
		return nil, err
	}
	if headed {
		if err := f.takeHead(); err != nil {
			f.Tensors.Close()
			return nil, err
		}
	}
	if err := CheckTensors(f.Config, f.Tensors); err != nil {
		f.Tensors.Close()
		return nil, fmt.Errorf("%s: %w", f.Dir, err)
	}
	return f.headed()
}

// headed is the folder with the output head that its own adapter brings, if it brings one.
func (f *Folder) headed() (*Folder, error) {
	if f.Adapter == "" {
		return f, nil
	}
	if err := f.TakeHead(f.Adapter); err != nil {
		f.Tensors.Close()
		return nil, err
	}
	return f, nil
}

// ReadConfig reads the config of a Hugging Face folder, which need not have weights, of a
// GGUF file, or of a config.json itself.
func ReadConfig(path string) (Config, error) {
	if info, err := os.Stat(path); err == nil && !info.IsDir() && !gguf.IsFile(path) {
		f := &Folder{}
		err := f.readConfig(path, filepath.Dir(path), false)
		return f.Config, err
	}
	if file := filepath.Join(path, configFile); exists(file) {
		return ReadConfig(file)
	}
	f, err := ReadFolder(path)
	if err != nil {
		return Config{}, err
	}
	return f.Config, f.Tensors.Close()
}

// findBase finds the weights below an adapter: in its own folder, or in the one that it
// names, from its own or from the current folder.
func (f *Folder) findBase() error {
	if exists(filepath.Join(f.Adapter, WeightsFile)) || exists(filepath.Join(f.Adapter, indexFile)) {
		return nil
	}
	path := filepath.Join(f.Adapter, adapterConfigFile)
	cfg, err := readAdapterConfig(path)
	if err != nil {
		return err
	}
	for _, dir := range []string{filepath.Join(f.Adapter, cfg.Base), cfg.Base} {
		if cfg.Base != "" && (exists(filepath.Join(dir, configFile)) || gguf.IsFile(dir)) {
			f.Dir = dir
			return nil
		}
	}
	err = fmt.Errorf("%s: base_model_name_or_path: found %q, where there is no model; accepted: the folder or GGUF file of the model that the adapter belongs to", path, cfg.Base)
	return hint.With(err, "put that model there, or give it as MODEL to a command that has --adapter, with --adapter %s", terminal.ShellWord(f.Adapter))
}

const configFile = "config.json"

// readConfig reads a config.json, and the generation_config.json of a folder if there is
// one.
func (f *Folder) readConfig(path, dir string, headed bool) error {
	data, err := jsonfile.Read(path)
	if err != nil {
		return err
	}
	if f.Config, f.architecture, err = parseConfig(data, headed); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	path = filepath.Join(dir, "generation_config.json")
	data, err = jsonfile.Read(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	g, err := parseGenerationConfig(data)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	f.Config.Generation = g
	if g.EOS != nil { // it is what transformers' generate looks at
		f.Config.EOS = g.EOS
		if err := f.Config.validateIDs(); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

func parseGenerationConfig(data []byte) (GenerationConfig, error) {
	keys, err := readObject(data, 1)
	if err != nil {
		return GenerationConfig{}, err
	}
	r := configReader{keys: keys}
	optional := func(key string) *float64 {
		if v, ok := keys[key]; !ok || string(v.raw) == "null" {
			return nil
		}
		x := r.number(key, 0)
		return &x
	}
	g := GenerationConfig{
		EOS:         r.ids("eos_token_id"),
		Temperature: optional("temperature"),
		TopP:        optional("top_p"),
		MinP:        optional("min_p"),
	}
	if k := optional("top_k"); k != nil {
		n := int(*k)
		g.TopK = &n
	}
	for key, v := range keys {
		if !slices.Contains(tokenKeys, key) {
			if g.Raw == nil {
				g.Raw = map[string]json.RawMessage{}
			}
			g.Raw[key] = v.raw
		}
	}
	return g, r.err
}

// readTokenizer reads tokenizer.json, if there is one, and checks that its model
// fits the embedding. Added tokens may lie beyond it (Gemma 3 has one for images).
func (f *Folder) readTokenizer(dir string) error {
	var err error
	if f.Tokenizer, err = text.ReadFolder(dir); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if n := f.Tokenizer.Base(); n > f.Config.Vocab {
		return fmt.Errorf("%s: found %d tokens, accepted: up to vocab_size %d of config.json", filepath.Join(dir, "tokenizer.json"), n, f.Config.Vocab)
	}
	return nil
}

// FolderFiles are the small files of a Hugging Face folder, by name: everything
// but the weights, which are float32. tok may be nil.
func FolderFiles(c Config, tok *text.Tokenizer) (map[string][]byte, error) {
	return folderFiles(c, tok, nil, gguf.F32)
}

// Contents are small files, and tensors in a file weights, as they are written.
func Contents(small map[string][]byte, weights string, tensors []NamedTensor) map[string]func(io.Writer) error {
	files := map[string]func(io.Writer) error{}
	for _, name := range slices.Sorted(maps.Keys(small)) {
		files[name] = func(w io.Writer) error { _, err := w.Write(small[name]); return err }
	}
	files[weights] = func(w io.Writer) error { return WriteSafetensors(w, tensors) }
	return files
}

// folderFiles are those of a folder whose weights are stored as F32, F16 or BF16, of a model with a head
// unless that is nil.
func folderFiles(c Config, tok *text.Tokenizer, head *Head, stored gguf.Type) (map[string][]byte, error) {
	generation := map[string]any{}
	for key, v := range c.Generation.Raw {
		generation[key] = v
	}
	for i, id := range []any{idOrNull(c.BOS), idsOrNull(c.EOS), idOrNull(c.PAD)} {
		generation[tokenKeys[i]] = id
	}
	files := map[string][]byte{}
	if tok != nil {
		files = tok.Files()
	}
	keys := c.keys(stored)
	if head != nil {
		head.keys(families[c.Family], keys)
	}
	for name, v := range map[string]any{configFile: keys, "generation_config.json": generation} {
		data, err := jsonfile.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		files[name] = data
	}
	return files, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
