package program

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rlzero/rlzero/internal/worker"
	"github.com/rlzero/rlzero/verify"
	"github.com/rlzero/rlzero/verify/program/internal/wasm"
)

func init() {
	worker.Register(wasmEngine, wasm.Run)
	verify.Register(verify.Entry{
		Name:    "code:wasm",
		Summary: "a WebAssembly module, or a program for an interpreter in WebAssembly, that passes its tests",
		Doc:     wasmDoc,
		Paths:   map[string]string{"runtime": "", "folder": ""},
		New:     newWasm,
	})
}

const wasmDoc = `code:wasm: right when the completion's WebAssembly module passes the row's tests.

` + testsDoc + formsDoc + optionsDoc + `  runtime     path of a .wasm file that runs in place of the module, such as a language's
              interpreter built for WASI: the completion's block is then its program.
  language    language of that block (default "python").
  argv        arguments of the runtime, "{program}" being the program's text (default
              ["python", "-c", "{program}"]).
  folder      a folder that the runtime may read, as /: its library. Default: none.

Without a runtime the block is fenced as wasm and holds the module's bytes in base64,
white space ignored. Text of WebAssembly (wat) is not assembled.

A test calls an exported function with numbers, i32 and i64 (signed or unsigned), f32 and
f64; results are compared as numbers, integers signed, several as a list, none as null.
Or it gives stdin to _start and compares stdout; the exit code has to be 0. Tests
that are code are not scored, and a module has no setup. A runtime is tested by stdin and
stdout.

A module may import only WASI preview 1: stdin, stdout, arguments. It has no files except
the folder and no network. The clock and the random numbers are the same in every run.
Every test has a new instance in its own process, which is this program started again. A
module that traps, is not valid or crashes the engine twice is wrong. Not scored: the row
has no tests or tests of another kind, the runtime cannot be
read, or the process cannot be started.
`

const (
	wasmEngine  = "wasm"
	programMark = "{program}"

	// readyTime is what a big runtime may take to be compiled, once for a process.
	readyTime = 2 * time.Minute
)

// module is the verifier "code:wasm".
type module struct {
	options
	Runtime  string   `toml:"runtime"`
	Language string   `toml:"language"`
	Argv     []string `toml:"argv"`
	Folder   string   `toml:"folder"`

	given json.RawMessage // the options, as they were given
}

var wasmPool = worker.NewPool(wasmEngine)

func newWasm(raw json.RawMessage) (verify.Verifier, error) {
	v := module{options: defaultOptions(), given: raw, Language: "python", Argv: []string{"python", "-c", programMark}}
	if err := decode(raw, &v, &v.options); err != nil {
		return nil, err
	}
	if v.Runtime == "" {
		if v.Folder != "" {
			return nil, errors.New("option folder needs a runtime, but none is given")
		}
		return v, nil
	}
	return v, v.runtime().Check()
}

// runtime is that of the options.
func (v module) runtime() Runtime { return Runtime{Path: v.Runtime, Folder: v.Folder, Argv: v.Argv} }

// Check implements [verify.Checker].
func (v module) Check(row verify.Problem) error {
	_, err := v.suite(row)
	return err
}

// suite is the row's tests, which a module has to be able to run.
func (v module) suite(row verify.Problem) (suite, error) {
	s, err := readSuite(row)
	if err == nil {
		err = v.runnable(s)
	}
	return s, err
}

// Engine implements [verify.Portable]: a module runs in this binary, a runtime is a file.
func (v module) Engine() (verify.Engine, error) {
	if v.Runtime != "" {
		return verify.Engine{}, errors.New("option runtime names a file of one machine")
	}
	return verify.Engine{Verifier: "code:wasm", Options: v.given, Release: ownRelease("code:wasm")}, nil
}

// Verify implements [verify.Verifier].
func (v module) Verify(row verify.Problem, completion string) verify.Verdict {
	verdict, _ := v.Judge(row, completion)
	return verdict
}

// Judge implements [verify.Portable].
func (v module) Judge(row verify.Problem, completion string) (_ verify.Verdict, settled bool) {
	s, err := v.suite(row)
	if err != nil {
		return verify.Abstain("%v", err), false
	}
	languages := []string{"wasm"}
	if v.Runtime != "" {
		languages = []string{strings.ToLower(v.Language)}
	}
	program, rule, err := extract(completion, v.Extract, languages...)
	if err != nil {
		return verify.Reject(program, rule, "%v", err), true
	}
	task := wasm.Task{
		Runtime: v.Runtime, Folder: v.Folder, Argv: []string{"program"},
		Time: v.processorTime(), Memory: v.MemoryMB << 20,
	}
	ready := time.Duration(0)
	if v.Runtime != "" {
		ready, task.Argv = readyTime, v.runtime().argv(strings.TrimPrefix(s.setup+"\n"+program, "\n"))
	} else if task.Module, err = base64.StdEncoding.DecodeString(strings.Join(strings.Fields(program), "")); err != nil {
		return verify.Reject(program, rule, "the block is not a module in base64: %v", err), true
	}
	return v.judge(s, program, rule, func(t test) outcome {
		task.Stdin, task.Call, task.Args, task.Output = t.stdin, t.call, t.args, v.outputFor(t.stdout)
		return v.engine(wasmPool, t, task, ready)
	})
}

// runnable says which tests a module cannot be given.
func (v module) runnable(s suite) error {
	for i, t := range s.tests {
		switch {
		case t.assert != "":
			return fmt.Errorf("test %d of the row is code, which a module does not run", i+1)
		case len(t.kwargs) > 0:
			return fmt.Errorf("test %d of the row has keyword arguments, which a module does not have", i+1)
		case t.call != "" && v.Runtime != "":
			return fmt.Errorf("test %d of the row is a call: a runtime is tested by stdin and stdout", i+1)
		}
	}
	return nil
}
