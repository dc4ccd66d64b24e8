//go:build js && wasm

package main

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall/js"

	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/sample"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/doctor"
	"github.com/rlzero/rlzero/rl/infer"
	"github.com/rlzero/rlzero/rl/page"
	"github.com/rlzero/rlzero/rl/store"
)

// modelsDir holds the models that were dropped on the page.
const modelsDir = "/models"

// fetch answers what the page would ask a server: {path, range} -> {status} and the body.
func fetch(p *program, c call) (any, []byte, error) {
	var a struct{ Path, Range string }
	if err := c.read(&a); err != nil {
		return nil, nil, err
	}
	status, body := p.runs.Ask(a.Path, a.Range)
	return map[string]int{"status": status}, append([]byte{}, body...), nil
}

// watch tells which runs have changed, as notes, and does not end.
func watch(p *program, c call) (any, []byte, error) {
	return nil, nil, p.runs.Watch(context.Background(), func(changed []page.Run) error {
		if len(changed) == 0 {
			return nil
		}
		line, err := json.Marshal(changed)
		if err != nil { // texts and numbers always encode
			panic(err)
		}
		_, err = c.Write(line)
		return err
	})
}

// pack is a folder as a zip file: {run, model} -> the run, or its newest model as a Hugging
// Face folder.
func pack(_ *program, c call) (any, []byte, error) {
	id, dir, err := named(c)
	if err != nil {
		return nil, nil, err
	}
	var a struct{ Model bool }
	if err := c.read(&a); err != nil {
		return nil, nil, err
	}
	name := id
	if a.Model {
		name += "-model"
		found, err := store.FindModel(dir, "")
		if err != nil {
			return nil, nil, err
		}
		dir = found.Dir
	}
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	if err := errors.Join(z.AddFS(os.DirFS(dir)), z.Close()); err != nil {
		return nil, nil, err
	}
	return map[string]string{"name": name + ".zip"}, out.Bytes(), nil
}

// models are the names of the models that were dropped, or made for rows.
func models(*program, call) (any, []byte, error) {
	entries, err := os.ReadDir(modelsDir)
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, nil, err
}

// importModel writes the files of a model to a folder of their own: {name}, files -> the
// name that it got, which is another where there is one of that name.
func importModel(p *program, c call) (any, []byte, error) {
	name, _, err := nameOf(c, modelsDir)
	if err != nil {
		return nil, nil, err
	}
	name = p.free(modelsDir, name)
	dir := filepath.Join(modelsDir, name)
	if err = c.writeFiles(dir); err == nil {
		err = whole(dir)
	}
	if err != nil {
		err = errors.Join(err, store.OS().Remove(dir))
		delete(p.used, dir)
		return nil, nil, err
	}
	return name, nil, nil
}

// whole checks that a folder has all that Ask a model needs, so that what lacks a file is
// refused while its files are at hand.
func whole(dir string) error {
	found, err := store.FindModel(dir, "")
	if err != nil {
		return err
	}
	f, err := hf.ReadFolder(found.Dir)
	if err != nil {
		return fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	if err := f.Tensors.Close(); err != nil {
		return err
	}
	if f.Tokenizer == nil {
		return fmt.Errorf("%w: %s has no tokenizer.json, which is needed to read prompts", lines.ErrInput, found.Dir)
	}
	return nil
}

// writeFiles writes the files of a request to an empty folder.
func (c call) writeFiles(dir string) error {
	seen := map[string]bool{}
	for i := range c.files.Length() {
		file := c.files.Index(i)
		name := file.Get("name").String()
		if !fs.ValidPath(name) || name == "." {
			return fmt.Errorf("%w: %q is not the name of a file", lines.ErrInput, name)
		}
		if seen[name] {
			return fmt.Errorf("%w: two files are called %s; bring one model at a time", lines.ErrInput, name)
		}
		seen[name] = true
		data := make([]byte, file.Get("bytes").Get("length").Int())
		js.CopyBytesToGo(data, file.Get("bytes"))
		if err := store.Write(store.OS(), filepath.Join(dir, filepath.FromSlash(name)), data); err != nil {
			return err
		}
	}
	return nil
}

// discard removes a model that was dropped: {name}.
func discard(p *program, c call) (any, []byte, error) {
	_, dir, err := nameOf(c, modelsDir)
	if err != nil {
		return nil, nil, err
	}
	disk := store.OS()
	err = errors.Join(disk.Remove(dir), disk.SyncDir(modelsDir))
	delete(p.used, dir)
	return nil, nil, err
}

// nameOf is the name of a request, {name}, and its folder below another.
func nameOf(c call, parent string) (name, dir string, err error) {
	var a struct{ Name string }
	if err := c.read(&a); err != nil {
		return "", "", err
	}
	if !fs.ValidPath(a.Name) || strings.Contains(a.Name, "/") || a.Name == "." {
		return "", "", fmt.Errorf("%w: %q is not the name of a folder", lines.ErrInput, a.Name)
	}
	return a.Name, filepath.Join(parent, a.Name), nil
}

// continuePrompt lets a model continue a prompt: {model, prompt, chat, n, temperature, tokens,
// seed} -> [text].
func continuePrompt(_ *program, c call) (any, []byte, error) {
	var a struct {
		Model, Prompt string
		Chat          bool
		N, Tokens     int
		Temperature   float64
		Seed          uint64
	}
	if err := c.read(&a); err != nil {
		return nil, nil, err
	}
	found, err := store.FindModel(a.Model, "")
	if err != nil {
		return nil, nil, err
	}
	dev, err := openDevice(newGate(""))
	if err != nil {
		return nil, nil, err
	}
	defer dev.Close()
	m, err := cast.OpenModel(dev, found.Dir, "", "", "")
	if err != nil {
		return nil, nil, err
	}
	defer m.Close()
	var in any = map[string]any{"prompt": a.Prompt}
	if a.Chat {
		in = map[string]any{"messages": []map[string]string{{"role": "user", "content": a.Prompt}}}
	}
	line, err := json.Marshal(in)
	if err != nil {
		return nil, nil, err
	}
	var out bytes.Buffer
	o := infer.SampleOptions{N: max(1, a.N), MaxTokens: a.Tokens, Sampling: sample.Settings{Temperature: a.Temperature, TopP: 1, Seed: a.Seed}}
	if err := infer.Sample(context.Background(), m, "the prompt", bytes.NewReader(line), &out, o); err != nil {
		return nil, nil, err
	}
	texts := []string{}
	for l := range bytes.Lines(out.Bytes()) {
		var completion struct{ Text string }
		if err := json.Unmarshal(l, &completion); err != nil {
			return nil, nil, err
		}
		texts = append(texts, completion.Text)
	}
	return texts, nil, nil
}

// certify is rlzero doctor: {quick} -> {ok, text}; notes tell the checks as they end.
func certify(_ *program, c call) (any, []byte, error) {
	var a struct{ Quick bool }
	if err := c.read(&a); err != nil {
		return nil, nil, err
	}
	dev, err := openDevice(newGate(""))
	if err != nil {
		return nil, nil, err
	}
	defer dev.Close()
	r, err := doctor.Run(context.Background(), dev, doctor.Options{Quick: a.Quick, Version: version, Show: c})
	if err != nil {
		return nil, nil, err
	}
	var text bytes.Buffer
	if err := r.Print(&text); err != nil {
		return nil, nil, err
	}
	return map[string]any{"ok": r.OK, "verdict": r.Verdict(), "text": text.String()}, nil, nil
}
