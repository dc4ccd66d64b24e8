package blackbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/rlzero/rlzero/gpu"
	_ "github.com/rlzero/rlzero/gpu/refdev" // the devices of main.go
	_ "github.com/rlzero/rlzero/gpu/vulkan"
	_ "github.com/rlzero/rlzero/gpu/webgpu"
	"github.com/rlzero/rlzero/internal/fixtures"
	"github.com/rlzero/rlzero/rl/cli"
)

// TestMain makes the test binary stand for the commands of the scripts: rlzero
// itself, interrupt and sockets, which see.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"rlzero":    func() { os.Exit(cli.Main(os.Args, os.Stdin, os.Stdout, os.Stderr)) },
		"interrupt": func() { os.Exit(interrupt(os.Args[1], os.Args[2], os.Args[3:])) },
		"sockets":   func() { os.Exit(sockets(os.Args[1:])) },
	})
}

// TestScript runs testdata/script/*.txt: the command line as people meet it.
// Beside the commands of testscript there are
//
//	code N COMMAND...     runs the command, which must end in exit code N
//	json FILE KEY...      every line of FILE (or stdout) is a JSON object with these keys
//	lines N FILE          FILE (or stdout) has N lines
//	await FILE            waits until FILE is there
//	interrupt FILE N COMMAND...  (to be run by exec or code) runs the command,
//	                      sends SIGINT when FILE has N more lines, ends in its exit code
//	sockets COMMAND...    (likewise) runs the command, lets its calls of socket for a
//	                      network fail, tells how many there were, ends in its exit code
//
// and the conditions [device], a Vulkan device is there, [webgpu], WebGPU is
// compiled in and has a device, and [tmpfs], a file system of one's own can be
// mounted.
func TestScript(t *testing.T) {
	root := fixtures.Root(t)
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("ROOT", root)
			e.Setenv("MODELS", filepath.Join(root, "testdata", "models"))
			e.Setenv("CHAT", filepath.Join(root, "testdata", "chat"))
			e.Setenv("BAD", filepath.Join(root, "testdata", "models_bad"))
			for _, name := range []string{"RLZERO_DEVICE", "RLZERO_TIER"} {
				e.Setenv(name, os.Getenv(name))
			}
			// Scripts get a new home each; without this each would compile every
			// shader again.
			cache := os.Getenv("MESA_SHADER_CACHE_DIR")
			if cache == "" {
				if dir, err := os.UserCacheDir(); err == nil {
					cache = dir
				}
			}
			e.Setenv("MESA_SHADER_CACHE_DIR", cache)
			return nil
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "device":
				return haveDevice(t), nil
			case "webgpu":
				infos, _ := gpu.List()
				return slices.ContainsFunc(infos, func(i gpu.Info) bool { return i.Usable && strings.HasPrefix(i.ID, "webgpu:") }), nil
			case "curl":
				_, err := exec.LookPath("curl")
				if err != nil && os.Getenv("CI") != "" {
					t.Error("curl is missing")
				}
				return err == nil, nil
			case "tmpfs":
				return exec.Command("unshare", "-rm", "mount", "-t", "tmpfs", "tmpfs", "/tmp").Run() == nil, nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code": code, "json": jsonLines, "lines": lineCount, "await": await,
		},
	})
}

// haveDevice says whether a Vulkan device is there; where one is required, it
// must be.
func haveDevice(t *testing.T) bool {
	infos, err := gpu.List()
	for _, i := range infos {
		if i.Usable && i.Kind != gpu.Reference {
			return true
		}
	}
	if os.Getenv("CI") != "" || os.Getenv("RLZERO_WANT_DEVICE") != "" {
		t.Fatalf("no Vulkan device, which CI or RLZERO_WANT_DEVICE asks for: %v", err)
	}
	return false
}

func code(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func jsonLines(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: json FILE KEY...")
	}
	text := ts.ReadFile(args[0])
	if strings.TrimSpace(text) == "" {
		ts.Fatalf("%s is empty", args[0])
	}
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		var object map[string]json.RawMessage
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			ts.Fatalf("%s: line %d: %v: %s", args[0], i+1, err, line)
		}
		for _, key := range args[1:] {
			if _, ok := object[key]; !ok {
				ts.Fatalf("%s: line %d has no key %q: %s", args[0], i+1, key, line)
			}
		}
	}
}

func lineCount(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: lines N FILE")
	}
	if n := strings.Count(ts.ReadFile(args[1]), "\n"); strconv.Itoa(n) != args[0] {
		ts.Fatalf("%s has %d lines, want %s", args[1], n, args[0])
	}
}

// patience bounds waiting for a program on a busy machine; what is waited for
// takes seconds, or a minute where every shader has to be compiled.
const patience = 3 * time.Minute

// waitFor polls, and says whether it came true in time.
func waitFor(there func() bool) bool {
	for began := time.Now(); time.Since(began) < patience; time.Sleep(20 * time.Millisecond) {
		if there() {
			return true
		}
	}
	return false
}

func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: await FILE")
	}
	file := ts.MkAbs(args[0])
	if !waitFor(func() bool { _, err := os.Stat(file); return err == nil }) {
		ts.Fatalf("%s does not appear", args[0])
	}
}

// interrupt runs a command, sends it SIGINT once file has so many more lines, and
// returns its exit code.
func interrupt(file, lines string, command []string) int {
	want, err := strconv.Atoi(lines)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 99
	}
	before := linesOf(file)
	c := exec.Command(command[0], command[1:]...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := c.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 99
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	go func() {
		waitFor(func() bool { return linesOf(file) >= before+want })
		_ = c.Process.Signal(os.Interrupt) // it may have ended: its exit code tells
	}()
	err = <-ended
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return 0
}

func linesOf(file string) int {
	data, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	return bytes.Count(data, []byte("\n"))
}
