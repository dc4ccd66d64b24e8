package run

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/rl/receipt"
	"github.com/rlzero/rlzero/rl/recipe"
)

// TestModelsFile: what a run noted of its models is refused with the name of the file where it is not as it was written,
// and what it is too large to be.
func TestModelsFile(t *testing.T) {
	r := shortRecipe(t)
	r.Models = map[string]recipe.Member{"reader": {Path: "there"}}
	now := origins{"reader": {{Folder: "there", Files: []receipt.Hash{{Name: "config.json", SHA256: "1"}}}}}
	const same = `{"reader": [{"folder": "there", "files": [{"name": "config.json", "sha256": "1"}]}]}`
	for _, c := range []struct {
		text, want string
		size       int64
	}{
		{text: same},
		{text: strings.ReplaceAll(same, `"1"`, `"2"`), want: "models.reader.path: there has changed since run "},
		{text: `{"reader": [{}]}`, want: "models.reader.path: there has changed since run "},
		{text: `{"reader": null}`, want: "models.reader.path: there has changed since run "},
		{text: `{"reader": [null]}`, want: `models.json: "reader" has null; accepted: a list of objects`},
		{text: `{"a": [], "reader": [{}, null]}`, want: `models.json: "reader" has null; accepted: a list of objects`},
		{text: "null", want: "models.json: found null; accepted: an object"},
		{text: `{"reader": 1}`, want: "models.json: json: cannot unmarshal number"},
		{text: `{"reader": [`, want: "models.json: unexpected end of JSON input"},
		{text: same, size: mostNoted + 1, want: "models.json has 67108865 bytes; accepted: at most 67108864"},
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, modelsFile)
		must(t, os.WriteFile(file, []byte(c.text), 0o600))
		if c.size > 0 {
			must(t, os.Truncate(file, c.size))
		}
		then, err := originsIn(dir)
		if err == nil {
			err = then.unchanged(now, r, dir)
		}
		if c.want == "" {
			must(t, err)
		} else if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(c.want, modelsFile) && !errors.Is(err, lines.ErrInput) {
			t.Errorf("%s: %v, want %s", c.text, err, c.want)
		}
	}
	if then, err := originsIn(t.TempDir()); then != nil || err != nil {
		t.Errorf("without the file: %v, %v", then, err)
	}
}
