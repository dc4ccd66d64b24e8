package hf

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rlzero/rlzero/internal/files"
	"github.com/rlzero/rlzero/model/gguf"
	"github.com/rlzero/rlzero/model/internal/jsonfile"
)

// Files are the files of a Hugging Face folder with the model's weights as F32, F16 or
// BF16: the small ones by name, and the tensors of model.safetensors. An adapter is in them
// if it has been merged, and a head if the folder has one, whose kind may have no table of output tokens.
func (f *Folder) Files(typ gguf.Type) (small map[string][]byte, tensors []NamedTensor, err error) {
	for _, spec := range Tensors(f.Config) {
		if f.Head != nil && f.Head.form.suffix != causal && spec.Name == HeadName {
			continue
		}
		tensors = append(tensors, f.Tensors.named(spec.Name, typ))
	}
	if f.Head != nil {
		for _, t := range f.Head.Tensors() {
			t.Type = typ
			tensors = append(tensors, t)
		}
	}
	small, err = folderFiles(f.Config, f.Tokenizer, f.Head, typ)
	return small, tensors, err
}

// AdapterFiles are those of a PEFT folder with the adapter of the folder dir, as [Folder.Merge]
// takes it: the small ones, with the tokenizer, by name, and the tensors of
// adapter_model.safetensors. The tensors can be read until the folder's are closed. The model
// that it belongs to is named by its id on the Hugging Face hub, as a path means nothing
// elsewhere; notes say what the user should know about that name.
func (f *Folder) AdapterFiles(dir string, typ gguf.Type) (small map[string][]byte, tensors []NamedTensor, notes []string, err error) {
	cfg, ts, err := f.openAdapter(dir)
	if err != nil {
		return nil, nil, nil, err
	}
	if cfg.Base = hubID(cfg.Base, cmp.Or(dir, f.Adapter)); cfg.Base == "" {
		var origin string
		if raw, ok := f.Config.Raw["_name_or_path"]; ok && json.Unmarshal(raw, &origin) == nil {
			cfg.Base = hubID(origin, f.Dir)
		}
		note := "Nothing says what the adapter's model is called on the Hugging Face hub: write its id into base_model_name_or_path of " + adapterConfigFile + ", or name the model wherever the adapter is loaded."
		if cfg.Base != "" {
			note = fmt.Sprintf("%s names %s as the adapter's model, by _name_or_path of the model's config.json: write another id there if the model was trained further.", adapterConfigFile, cfg.Base)
		}
		notes = append(notes, note)
	}
	for _, name := range ts.Names() {
		tensors = append(tensors, ts.named(name, typ))
	}
	if cfg.Saved != nil {
		if dir != "" && dir != f.Adapter {
			if err := f.TakeHead(dir); err != nil {
				return nil, nil, nil, err
			}
		}
		head := f.Tensors.named(HeadName, typ)
		head.Name = adapterHead
		tensors = append(tensors, head)
	}
	small = map[string][]byte{}
	if f.Tokenizer != nil {
		small = f.Tokenizer.Files()
	}
	small[adapterConfigFile], err = jsonfile.Marshal(cfg)
	return small, tensors, notes, err
}

// hubID is a name if it can be an id on the hub, else "": not where it is the path of
// something, from a folder or from the current one.
func hubID(name, dir string) string {
	for _, path := range []string{name, filepath.Join(dir, name)} {
		if _, err := os.Lstat(path); err == nil || !files.HubName(name) {
			return ""
		}
	}
	return name
}

// named is a tensor of the set, to be written in a type.
func (ts *TensorSet) named(name string, typ gguf.Type) NamedTensor {
	return NamedTensor{Name: name, Shape: ts.shape(name), Type: typ, Data: func() ([]float32, error) { return ts.Read(name) }}
}
