package jsonfile

import (
	"bytes"
	"encoding/json"

	"github.com/rlzero/rlzero/internal/files"
)

// maxSize bounds a file; the largest tokenizer.json in use is 35 MB.
const maxSize = 256 << 20

// Read reads a regular file of at most 256 MiB.
func Read(path string) ([]byte, error) { return files.Read(path, maxSize) }

// Marshal is JSON as transformers writes it: two spaces, a final line end, no
// escapes for HTML.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	return b.Bytes(), err
}

// Describe names a JSON value for an error message, cut to a readable length.
func Describe(raw json.RawMessage) string {
	s := string(raw)
	if len(s) > 60 {
		s = s[:57] + "..."
	}
	switch raw[0] {
	case '"':
		return s + " (a string)"
	case '[':
		return s + " (a list)"
	case '{':
		return s + " (an object)"
	}
	return s
}
