// Command inside runs a Go program for GOOS=js in a worker of a headless Chromium that
// offers WebGPU. It is for tests:
//
//	go build -o inside ./internal/browser/inside
//	GOOS=js GOARCH=wasm go test -exec "$PWD/inside" ./gpu
//
// The program has this machine's files, as under node, by calls to a server on loopback
// whose address nobody else knows; its output goes where that of this command goes, and
// so does its exit code. A call of crashGPU, which returns a promise, ends the browser's
// GPU process. Of the environment it gets TMPDIR, CI and what begins with
// RLZERO_: Go has little room for it there. It ends with this command.
package main

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rlzero/rlzero/internal/browser"
)

//go:embed page.html worker.js
var assets embed.FS

func main() {
	c := &command{ended: make(chan int, 1), crash: make(chan struct{})}
	code := c.run(os.Args[1:])
	c.cleanup()
	os.Exit(code)
}

// command stands in for a test.
type command struct {
	cleanups []func()
	ended    chan int      // the program's exit code
	crash    chan struct{} // the program asks for the end of the browser's GPU process
}

func (c *command) Helper()          {}
func (c *command) Cleanup(f func()) { c.cleanups = append(c.cleanups, f) }
func (c *command) Skip(args ...any) { c.Fatal(args...) }

func (c *command) Fatalf(format string, args ...any) { c.Fatal(fmt.Sprintf(format, args...)) }

func (c *command) Fatal(args ...any) {
	fmt.Fprintln(os.Stderr, append([]any{"inside:"}, args...)...)
	c.cleanup()
	os.Exit(2)
}

func (c *command) cleanup() {
	for i := len(c.cleanups) - 1; i >= 0; i-- {
		c.cleanups[i]()
	}
}

// run runs a program with its arguments.
func (c *command) run(args []string) int {
	if len(args) == 0 {
		c.Fatal("usage: inside PROGRAM.wasm [ARGUMENT...]")
	}
	address := c.serve(args)
	b := browser.Start(c, browser.WebGPU...)
	b.Open(address, "document.title")
	interrupted, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for {
		select {
		case code := <-c.ended:
			return code
		case <-c.crash:
			b.CrashGPU()
		case <-interrupted.Done():
			return 2
		case <-look.C:
			b.Wait("true") // fails when the browser has ended
			for _, text := range b.Complaints() {
				fmt.Fprintln(os.Stderr, "browser:", text)
			}
		}
	}
}

// serve starts the server and returns the page's address.
func (c *command) serve(args []string) string {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		c.Fatal("go env GOROOT:", err)
	}
	folder, err := os.Getwd()
	if err != nil {
		c.Fatal(err)
	}
	prefix := fmt.Sprintf("/%016x%016x/", rand.Uint64(), rand.Uint64())
	mux := http.NewServeMux()
	mux.Handle(prefix, http.StripPrefix(prefix, http.FileServerFS(assets)))
	file := func(name, path string) {
		mux.HandleFunc(prefix+name, func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, path) })
	}
	file("wasm_exec.js", filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm", "wasm_exec.js"))
	file("program.wasm", args[0])
	mux.HandleFunc(prefix+"start", func(w http.ResponseWriter, _ *http.Request) {
		json.NewEncoder(w).Encode(map[string]any{"args": args, "env": environment(), "folder": folder, "constants": openFlags})
	})
	mux.HandleFunc(prefix+"end", func(_ http.ResponseWriter, r *http.Request) {
		code, err := strconv.Atoi(r.FormValue("code"))
		if err != nil {
			fmt.Fprintln(os.Stderr, "inside:", r.FormValue("text"))
			code = 2
		}
		select {
		case c.ended <- code:
		default: // it has ended already
		}
	})
	mux.HandleFunc(prefix+"crash", func(http.ResponseWriter, *http.Request) { c.crash <- struct{}{} })
	mux.Handle(prefix+"fs/", http.StripPrefix(prefix+"fs/", newDisk()))
	server := httptest.NewServer(mux)
	c.Cleanup(server.Close)
	return server.URL + prefix + "page.html"
}

func environment() map[string]string {
	env := map[string]string{"TMPDIR": os.TempDir()}
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		if name == "CI" || strings.HasPrefix(name, "RLZERO_") {
			env[name] = value
		}
	}
	return env
}

// errCall is a call that the server does not know.
var errCall = errors.New("unknown call")
