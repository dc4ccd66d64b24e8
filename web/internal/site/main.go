// Command site writes the page that trains in the browser: index.html, the scripts of
// rl/page and its own (assets), the program and Go's script that runs it.
//
//	site DIR WASM_EXEC.js
//
// Texts get compressed copies beside them, .br and .gz, for servers that can send them. The
// program, DIR/rlzero.wasm, is replaced by its compressed forms: the worker unpacks the .gz, so
// that it is small on the way from any server, and a server that can sends the .br in its place.
// make web runs this; nothing else needs it.
package main

import (
	"bytes"
	"compress/gzip"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/andybalholm/brotli"

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
		if err := putPacked(dir, name, data, brotli.BestCompression); err != nil {
			return err
		}
	}
	program := filepath.Join(dir, "rlzero.wasm")
	wasm, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	if err := putPacked(dir, "rlzero.wasm", wasm, programLevel); err != nil {
		return err
	}
	return os.Remove(program)
}

// programLevel is brotli's for the program: the best takes minutes and saves a twentieth more.
const programLevel = 6

// putPacked writes the compressed forms of a file, without a time or a name in them.
func putPacked(dir, name string, data []byte, level int) error {
	var br, gz bytes.Buffer
	g, err := gzip.NewWriterLevel(&gz, gzip.BestCompression)
	if err != nil {
		return err
	}
	for _, w := range []io.WriteCloser{brotli.NewWriterLevel(&br, level), g} {
		if _, err := w.Write(data); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
	}
	return errors.Join(put(dir, name+".br", br.Bytes()), put(dir, name+".gz", gz.Bytes()))
}

func put(dir, name string, data []byte) error {
	return os.WriteFile(filepath.Join(dir, name), data, 0o644)
}
