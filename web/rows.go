//go:build js && wasm

package main

import (
	_ "embed"
	"errors"
	"io"
	"path/filepath"
	"strings"

	"github.com/rlzero/rlzero/rl/fresh"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/resolve"
	"github.com/rlzero/rlzero/rl/store"
)

// dataDir holds the rows that were dropped on the page.
const dataDir = "/data"

// rows is the recipe of rows that were dropped. In the place of ROWS it has their name.
//
//go:embed rows.toml
var rows string

// importRows writes a file of rows to a folder of its own and makes a model whose tokenizer has learned
// them: {name}, files -> {name, text}, a recipe that trains it. Where no answer can be judged,
// as in conversations, the recipe imitates alone.
func importRows(p *program, c call) (any, []byte, error) {
	name, _, err := nameOf(c, dataDir)
	if err != nil {
		return nil, nil, err
	}
	name = p.free(dataDir, name)
	data, start := filepath.Join(dataDir, name), filepath.Join(modelsDir, p.free(modelsDir, name+"-start"))
	text := strings.NewReplacer("ROWS", data, "START", start).Replace(rows)
	if err = c.writeFiles(data); err == nil {
		if err = freshModel(data, start); err == nil {
			text, err = judged(name, text)
		}
	}
	if err != nil {
		disk := store.OS()
		err = errors.Join(err, disk.Remove(data), disk.Remove(start))
		delete(p.used, data)
		delete(p.used, start)
		return nil, nil, err
	}
	return map[string]string{"name": name, "text": text}, nil, nil
}

// freshModel writes a model of random weights whose tokenizer has learned rows.
func freshModel(data, dir string) error {
	tok, _, err := fresh.Learn([]string{data}, fresh.Sizes[0].Tokens)
	if err != nil {
		return err
	}
	cfg, err := fresh.Sizes[0].Config(tok)
	if err != nil {
		return err
	}
	return fresh.Write(cfg, tok, 1, func(files map[string]func(io.Writer) error) error {
		return store.WriteFolder(store.OS(), dir, files)
	})
}

// judged is the recipe without rewards, where only that can be opened: its last stage is the one with
// rewards.
func judged(name, text string) (string, error) {
	_, err := openText(name, text)
	if err == nil {
		return text, nil
	}
	without := text[:strings.LastIndex(text, "\n[[stage]]")]
	if _, failed := openText(name, without); failed != nil {
		return "", err
	}
	return without, nil
}

// openText opens a recipe that stands in an editor.
func openText(name, text string) (*resolve.Opened, error) {
	r, err := recipe.Parse(fileOf(name), text, nil)
	if err != nil {
		return nil, err
	}
	return resolve.Open(r, nil)
}
