//go:build unix

package model_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/model/hf"
)

// TestIrregularFiles: a pipe or a device in the place of a model's file is refused, and
// not waited for.
func TestIrregularFiles(t *testing.T) {
	const whole = "../testdata/models/qwen3_tied_f32"
	for _, name := range []string{"config.json", "generation_config.json", "tokenizer.json", "model.safetensors"} {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		for kind, place := range map[string]func() error{
			"a pipe":   func() error { return exec.Command("mkfifo", path).Run() },
			"a device": func() error { return os.Symlink("/dev/zero", path) },
			"a folder": func() error { return os.Mkdir(path, 0o700) },
		} {
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
			if err := place(); err != nil {
				t.Fatal(err)
			}
			if f, err := hf.ReadFolder(dir); err == nil || !strings.HasSuffix(err.Error(), name+" is "+kind+"; accepted: a regular file") {
				t.Errorf("%s is %s: %v, %v", name, kind, f, err)
			}
			if name == "config.json" && kind != "a folder" {
				for _, place := range []string{dir, path} {
					if _, err := hf.ReadConfig(place); err == nil || err.Error() != path+" is "+kind+"; accepted: a regular file" {
						t.Errorf("the config of %s, which is %s: %v", place, kind, err)
					}
				}
			}
		}
	}
}
