package text

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/model/gguf"
	"github.com/rlzero/rlzero/model/internal/jsonfile"
)

const tokenizerFile = "tokenizer.json"

// companions are files beside tokenizer.json that go through unchanged from the
// folder that was read to those that are written.
var companions = []string{"tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
	"chat_template.jinja", "chat_template.json", "vocab.json", "merges.txt", "tokenizer.model"}

// ReadFolder reads the tokenizer of a folder, which needs to hold no more than
// tokenizer.json, or of a GGUF file. The error is [os.ErrNotExist] without a tokenizer,
// and another one if it has a form that is not read.
func ReadFolder(dir string) (*Tokenizer, error) {
	if gguf.IsFile(dir) {
		return readGGUFFile(dir)
	}
	path := filepath.Join(dir, tokenizerFile)
	data, err := jsonfile.Read(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, cmp.Or(otherTokenizer(dir), err)
	}
	if err != nil {
		return nil, err
	}
	t, err := ParseTokenizer(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, name := range companions {
		data, err := jsonfile.Read(filepath.Join(dir, name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		t.files[name] = data
	}
	return t, nil
}

// otherTokenizer says what a folder without tokenizer.json has in its place; nil: nothing.
func otherTokenizer(dir string) error {
	for _, name := range []string{"tokenizer.model", "vocab.json", "spiece.model"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			err := fmt.Errorf("%s has its tokenizer in %s; accepted: %s", dir, name, tokenizerFile)
			return hint.With(err, "download the model's tokenizer.json, or convert it with transformers: AutoTokenizer.from_pretrained(%q).save_pretrained(%[1]q)", dir)
		}
	}
	return nil
}

// readGGUFFile reads the tokenizer of a GGUF file.
func readGGUFFile(path string) (*Tokenizer, error) {
	file, err := gguf.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	t, err := ReadGGUF(file.Metadata)
	if err == nil && t == nil {
		err = fmt.Errorf("there is no tokenizer: %w", os.ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// Files are the files of a tokenizer by name: tokenizer.json, and those beside it
// that a copy of its folder keeps.
func (t *Tokenizer) Files() map[string][]byte { return maps.Clone(t.files) }
