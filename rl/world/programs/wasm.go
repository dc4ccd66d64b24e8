package programs

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/rl/world/tools"
	"github.com/rlzero/rlzero/verify"
	"github.com/rlzero/rlzero/verify/program"
)

func init() {
	tools.Register(tools.Entry{
		Name:    "wasm",
		Summary: "programs for an interpreter in WebAssembly",
		Doc: `wasm: runs a program in an interpreter that is a WebAssembly module, and shows what it prints.

    <wasm>print(7*8)</wasm>   56

The module is a file of yours, such as a language's interpreter built for WASI preview 1. It has the
engine of the verifier code:wasm: no files except those of folder, which it reads, no network, and a clock and
random numbers that are the same in every run. Each call is a program of its own, which knows nothing of
those before it. How much it can do in its time differs from machine to machine, and the recipe has no hash of
the module, so what it printed is kept in calls.jsonl, and a run that is resumed reads it there. The argument is code.
A program that fails, takes too long or prints too much is a mistake, and its answer says so.

` + settings.Describe(defaultModule()),
		Options: func() tools.Options { return defaultModule() },
		Paths:   []string{"runtime", "folder"},
	})
}

func defaultModule() *moduleOptions {
	return &moduleOptions{Argv: []string{"python", "-c", "{program}"}, limits: defaultLimits()}
}

type moduleOptions struct {
	Runtime string   `toml:"runtime" about:"path of the module, a file .wasm"`
	Folder  string   `toml:"folder" about:"a folder that the module may read, as /: its library"`
	Argv    []string `toml:"argv" about:"arguments of the module; {program} in one of them is the code of the call"`
	limits
}

// Validate implements [tools.Options].
func (o *moduleOptions) Validate() error {
	if err := settings.Check(o); err != nil {
		return err
	}
	if o.Runtime == "" {
		return &settings.Error{Key: "runtime", Problem: `= ""; accepted: the path of a WebAssembly module`}
	}
	return nil
}

// Spec implements [tools.Options].
func (o *moduleOptions) Spec() world.Spec {
	return world.Spec{Name: "wasm", About: "Runs a program, and shows what it prints.", Text: "code",
		Args: json.RawMessage(`{"type":"object","properties":{"code":{"type":"string"}},"required":["code"],"additionalProperties":false}`)}
}

// Make implements [tools.Options].
func (o *moduleOptions) Make(tools.Documents) (world.Tool, string, error) {
	m := machine{*o}
	return m, "", m.runtime().Check()
}

// machine is the tool, and its session.
type machine struct{ moduleOptions }

func (m machine) runtime() program.Runtime {
	return program.Runtime{Path: m.Runtime, Folder: m.Folder, Argv: m.Argv}
}

func (m machine) run(code string) (program.Ran, error) {
	ran, err := program.RunWasm(code, m.runtime(), program.Limits{Timeout: m.Timeout, MemoryMB: m.MemoryMB, OutputKB: m.OutputKB})
	if err != nil {
		err = fmt.Errorf("%w: %w", world.ErrUnable, err)
	}
	return ran, err
}

// Spec implements [world.Tool].
func (m machine) Spec() world.Spec { return m.moduleOptions.Spec() }

// Test implements [world.Tool]. What the module prints for a program is not known: an empty one runs, and that is
// all. A module that fails of it, such as one that does not find its library, would fail of any.
func (m machine) Test(context.Context) error {
	ran, err := m.run("")
	if err == nil && ran.Failed != "" {
		err = fmt.Errorf("the module fails of an empty program: %s", ran.Failed)
	}
	return err
}

// Open implements [world.Tool].
func (m machine) Open(context.Context, verify.Problem) (world.Session, error) { return m, nil }

// Close implements [world.Session].
func (machine) Close() error { return nil }

// Call implements [world.Session].
func (m machine) Call(_ context.Context, args json.RawMessage) (world.Answer, error) {
	code, err := cellOf(args)
	if err != nil {
		return tools.Mistaken(err.Error()), nil
	}
	ran, err := m.run(code)
	said := strings.TrimRight(ran.Printed, "\n")
	switch {
	case err != nil:
		return world.Answer{}, err
	case ran.Failed != "":
		return tools.Mistaken(strings.TrimLeft(said+"\n"+ran.Failed, "\n")), nil
	case said == "":
		said = "it prints nothing"
	}
	return world.Answer{Text: said}, nil
}
