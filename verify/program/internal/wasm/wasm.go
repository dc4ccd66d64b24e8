package wasm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"

	"github.com/rlzero/rlzero/internal/worker"
)

// Task is a module and one test of it. Without Call the module's _start reads Stdin
// and prints.
type Task struct {
	Module  []byte
	Runtime string   // path of a module that runs in place of Module
	Folder  string   // that the module may read, as /; or ""
	Argv    []string // with the name of the program
	Stdin   string
	Call    string // an exported function
	Args    []json.RawMessage

	Time   time.Duration // of the processor
	Memory int           // bytes
	Output int           // bytes
}

const (
	pageBytes     = 64 << 10
	maxErrorBytes = 300
)

// runtimes are compiled runtimes, by memory limit and path. A child serves one task
// at a time.
var runtimes = map[string]compiled{}

type compiled struct {
	wazero.Runtime
	module wazero.CompiledModule
}

// Run runs a task. It ends the process when the engine cannot be stopped, and a fault
// of the engine ends it too: what is left of one cannot be trusted with another task.
func Run(t Task) worker.Report {
	worker.LimitMemory(worker.EngineBytes + 3*t.Memory)
	if t.Runtime != "" {
		c, err := open(t)
		if err != nil {
			return worker.Report{Broke: err.Error()}
		}
		return guarded(t, func(ctx context.Context, out *output) (string, error) { return run(ctx, c, t, out) })
	}
	return guarded(t, func(ctx context.Context, out *output) (string, error) {
		c, err := compile(ctx, t.Module, t.Memory)
		if err != nil {
			return "", err
		}
		defer c.Close(context.Background())
		return run(ctx, c, t, out)
	})
}

// open is the runtime of a task, compiled.
func open(t Task) (compiled, error) {
	key := strconv.Itoa(t.Memory) + " " + t.Runtime
	if c, ok := runtimes[key]; ok {
		return c, nil
	}
	data, err := os.ReadFile(t.Runtime)
	if err != nil {
		return compiled{}, err
	}
	c, err := compile(context.Background(), data, t.Memory)
	if err != nil {
		return compiled{}, fmt.Errorf("%s: %w", t.Runtime, err)
	}
	runtimes[key] = c
	return c, nil
}

func compile(ctx context.Context, module []byte, memory int) (compiled, error) {
	config := wazero.NewRuntimeConfig().WithCloseOnContextDone(true).WithMemoryLimitPages(uint32(memory / pageBytes))
	c := compiled{Runtime: wazero.NewRuntimeWithConfig(ctx, config)}
	_, err := wasi_snapshot_preview1.Instantiate(ctx, c.Runtime)
	if err == nil {
		c.module, err = c.CompileModule(ctx, module)
	}
	if err != nil {
		c.Close(context.Background())
	}
	return c, err
}

// guarded runs within the limits of the task.
func guarded(t Task, do func(context.Context, *output) (string, error)) worker.Report {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	out := &output{most: t.Output, stop: cancel}
	done := worker.Guard(t.Time, cancel)
	result, err := do(ctx, out)
	switch over := done(); {
	case out.flooded:
		return worker.Report{Failed: fmt.Sprintf("it prints more than %d bytes", t.Output)}
	case over:
		return worker.Report{Failed: fmt.Sprintf("over its %v of processor time", t.Time)}
	case err != nil:
		text, _, _ := strings.Cut(err.Error(), "\n") // without the stack
		return worker.Report{Failed: fmt.Sprintf("%.*s", maxErrorBytes, text)}
	}
	return worker.Report{Stdout: out.String(), Result: result}
}

// output keeps what is printed, up to a limit.
type output struct {
	bytes.Buffer
	most    int
	stop    func()
	flooded bool
}

func (o *output) Write(p []byte) (int, error) {
	if o.Len()+len(p) > o.most {
		o.flooded = true
		o.stop()
		return 0, errors.New("too much output")
	}
	return o.Buffer.Write(p)
}

// run makes an instance and runs the test; the result is that of a call, as JSON.
func run(ctx context.Context, c compiled, t Task, out *output) (string, error) {
	start := "_start"
	if t.Call != "" {
		start = "_initialize" // of modules that are libraries; others have none
	} else if c.module.ExportedFunctions()[start] == nil {
		return "", errors.New("the module exports no _start")
	}
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions().WithArgs(t.Argv...).
		WithStdin(strings.NewReader(t.Stdin)).WithStdout(out)
	if t.Folder != "" {
		config = config.WithFSConfig(wazero.NewFSConfig().WithReadOnlyDirMount(t.Folder, "/"))
	}
	m, err := c.InstantiateModule(ctx, c.module, config)
	if err != nil {
		return "", err
	}
	defer m.Close(context.Background())
	if f := m.ExportedFunction(start); f != nil {
		_, err := f.Call(ctx)
		if exit := (*sys.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == 0 && t.Call == "" {
			err = nil
		}
		if err != nil || t.Call == "" {
			return "", err
		}
	}
	f := m.ExportedFunction(t.Call)
	if f == nil {
		return "", fmt.Errorf("the module exports no function %q", t.Call)
	}
	return call(ctx, f, t.Args)
}

// call gives numbers to a function and returns its result as JSON: a number, a list
// of them when there are several, null when there is none.
func call(ctx context.Context, f api.Function, args []json.RawMessage) (string, error) {
	types := f.Definition().ParamTypes()
	if len(args) != len(types) {
		return "", fmt.Errorf("the function takes %d values, but the test gives %d", len(types), len(args))
	}
	stack := make([]uint64, len(args))
	for i, arg := range args {
		var err error
		if stack[i], err = encode(types[i], string(arg)); err != nil {
			return "", fmt.Errorf("argument %d: %w", i+1, err)
		}
	}
	results, err := f.Call(ctx, stack...)
	if err != nil {
		return "", err
	}
	texts := make([]string, len(results))
	for i, result := range results {
		if texts[i], err = decode(f.Definition().ResultTypes()[i], result); err != nil {
			return "", err
		}
	}
	switch len(texts) {
	case 0:
		return "null", nil
	case 1:
		return texts[0], nil
	}
	return "[" + strings.Join(texts, ",") + "]", nil
}

// encode is a number of JSON as a value of WebAssembly. An integer may be written
// signed or unsigned.
func encode(kind api.ValueType, text string) (uint64, error) {
	bits := 64
	switch kind {
	case api.ValueTypeI32:
		bits = 32
		fallthrough
	case api.ValueTypeI64:
		if n, err := strconv.ParseInt(text, 10, bits); err == nil {
			return uint64(n) & (math.MaxUint64 >> (64 - bits)), nil
		}
		n, err := strconv.ParseUint(text, 10, bits)
		return n, err
	case api.ValueTypeF32:
		x, err := strconv.ParseFloat(text, 32)
		return api.EncodeF32(float32(x)), err
	case api.ValueTypeF64:
		x, err := strconv.ParseFloat(text, 64)
		return api.EncodeF64(x), err
	}
	return 0, fmt.Errorf("the function takes a %s, which is not a number", api.ValueTypeName(kind))
}

// decode is a value of WebAssembly as a number of JSON. Integers are signed.
func decode(kind api.ValueType, value uint64) (string, error) {
	x, bits := 0.0, 64
	switch kind {
	case api.ValueTypeI32:
		return strconv.Itoa(int(int32(value))), nil
	case api.ValueTypeI64:
		return strconv.FormatInt(int64(value), 10), nil
	case api.ValueTypeF32:
		x, bits = float64(api.DecodeF32(value)), 32
	case api.ValueTypeF64:
		x = api.DecodeF64(value)
	default:
		return "", fmt.Errorf("the function returns a %s, which is not a number", api.ValueTypeName(kind))
	}
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return "", fmt.Errorf("it returns %v", x)
	}
	return strconv.FormatFloat(x, 'g', -1, bits), nil
}
