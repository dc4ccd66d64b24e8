package model

import (
	"github.com/rlzero/rlzero/model/gguf"
	"github.com/rlzero/rlzero/model/internal/jsonfile"
)

// Files are the files of a Hugging Face folder with the model's weights as F32, F16 or
// BF16: the small ones by name, and the tensors of model.safetensors. An adapter is in them
// if it has been merged.
func (f *Folder) Files(typ gguf.Type) (small map[string][]byte, tensors []NamedTensor, err error) {
	for _, spec := range Tensors(f.Config) {
		tensors = append(tensors, f.Tensors.named(spec.Name, typ))
	}
	small, err = folderFiles(f.Config, f.Tokenizer, typ)
	return small, tensors, err
}

// AdapterFiles are those of a PEFT folder with the adapter of the folder dir, as [Folder.Merge]
// takes it: the small ones, with the tokenizer, by name, and the tensors of
// adapter_model.safetensors. The tensors can be read until the folder's are closed.
func (f *Folder) AdapterFiles(dir string, typ gguf.Type) (small map[string][]byte, tensors []NamedTensor, err error) {
	cfg, ts, err := f.openAdapter(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range ts.Names() {
		tensors = append(tensors, ts.named(name, typ))
	}
	small = map[string][]byte{}
	if f.Tokenizer != nil {
		small = f.Tokenizer.Files()
	}
	small[adapterConfigFile], err = jsonfile.Marshal(cfg)
	return small, tensors, err
}

// named is a tensor of the set, to be written in a type.
func (ts *TensorSet) named(name string, typ gguf.Type) NamedTensor {
	return NamedTensor{Name: name, Shape: ts.Shape(name), Type: typ, Data: func() ([]float32, error) { return ts.Read(name) }}
}
