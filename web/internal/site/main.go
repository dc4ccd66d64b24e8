// Command site writes the page that trains in the browser: index.html, the scripts of
// rl/page and its own (assets), the program and Go's script that runs it.
//
//	site DIR WASM_EXEC.js
//
// Texts get a compressed copy beside them for servers that can send it. The
// program, DIR/rlzero.wasm, is replaced by its compressed form: the worker unpacks it, so
// that it is small on the way from any server. make web runs this; nothing else needs it.
package main

import (
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rlzero/rlzero/rl/page"
)

//go:embed assets
var assets embed.FS

// Scripts and styles of the page itself; the others are the worker's.
var (
	scripts = []string{"program.js", "try.js"}
	styles  = []string{"try.css"}
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: site DIR WASM_EXEC.js")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

func write(dir, exec string) error {
	files := map[string][]byte{}
	for _, name := range append([]string{"disk.js", "worker.js"}, append(scripts, styles...)...) {
		data, err := assets.ReadFile("assets/" + name)
		if err != nil {
			return err
		}
		files[name] = data
	}
	data, err := os.ReadFile(exec)
	if err != nil {
		return err
	}
	files["wasm_exec.js"] = data
	if files, err = page.Site(files, scripts, styles); err != nil {
		return err
	}
	for name, data := range files {
		if err := put(dir, name, data); err != nil {
			return err
		}
		if err := put(dir, name+".gz", packed(data)); err != nil {
			return err
		}
	}
	program := filepath.Join(dir, "rlzero.wasm")
	wasm, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	if err := put(dir, "rlzero.wasm.gz", packed(wasm)); err != nil {
		return err
	}
	return os.Remove(program)
}

func put(dir, name string, data []byte) error {
	return os.WriteFile(filepath.Join(dir, name), data, 0o644)
}

// packed is data compressed, without a time or a name in it.
func packed(data []byte) []byte {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil { // the level is one that there is
		panic(err)
	}
	w.Write(data) // to memory: it never fails
	w.Close()
	return out.Bytes()
}
