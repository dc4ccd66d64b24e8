package js

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"modernc.org/quickjs"

	"github.com/rlzero/rlzero/internal/worker"
)

// Task is a program and one test of it. Exactly one of Call and Assert is set, or
// none: then the program reads Stdin and prints.
type Task struct {
	Setup   string   // runs before the program
	Before  []string // programs that have run earlier, one after the other; what they print is left out
	Program string
	Stdin   string
	Call    string // a function that the program defines, or an expression for one
	Args    []json.RawMessage
	Assert  string // runs after the program and throws if it is wrong

	Time   time.Duration // of the processor
	Memory int           // bytes
	Output int           // bytes
}

//go:embed host.js
var host string

const (
	maxTurns      = 100_000 // timers run
	stackSlots    = 0       // QuickJS's default depth of calls
	maxErrorBytes = 300
)

// Run runs a task. It ends the process when the engine cannot be stopped, and a fault
// of the engine ends it too: what is left of one cannot be trusted with another task.
func Run(t Task) worker.Report {
	worker.LimitMemory(worker.EngineBytes + 3*t.Memory)
	vm, err := quickjs.NewVM()
	if err != nil {
		return worker.Report{Broke: err.Error()}
	}
	defer vm.Close()
	vm.SetMemoryLimit(uintptr(t.Memory))
	vm.SetMaxStackSize(stackSlots)
	vm.SetCanBlock(false)
	r := &running{Task: t, vm: vm}
	done := worker.Guard(t.Time, func() {
		r.stopped.Store(true)
		vm.Interrupt()
	})
	result, err := r.run()
	over := done()
	if !r.begun && (err != nil || over || r.flooded) {
		return worker.Report{Broke: fmt.Sprintf("%.*s", maxErrorBytes, cmp.Or(err, errStopped).Error())}
	}
	switch {
	case r.flooded:
		return worker.Report{Failed: fmt.Sprintf("it prints more than %d bytes", t.Output)}
	case over:
		return worker.Report{Failed: fmt.Sprintf("over its %v of processor time", t.Time)}
	case err != nil:
		text := strings.TrimSpace(err.Error())
		return worker.Report{Stdout: r.stdout.String(), Failed: fmt.Sprintf("%.*s", maxErrorBytes, text)}
	}
	return worker.Report{Stdout: r.stdout.String(), Result: result}
}

// running is a task under way.
type running struct {
	Task
	vm      *quickjs.VM
	stdout  strings.Builder
	flooded bool
	stopped atomic.Bool
	begun   bool // the program: what fails before is the row's fault
}

var errStopped = errors.New("the setup is over the limit of processor time or output")

// exported is "export" in front of a declaration. Programs are scripts, whose
// functions a test can reach.
var exported = regexp.MustCompile(`(?m)^[ \t]*export[ \t]+(default[ \t]+)?((?:async[ \t]+)?function|class|const|let|var)\b`)

// run returns what the call returned, as JSON.
func (r *running) run() (string, error) {
	if err := r.vm.RegisterHostFunc("print", r.print); err != nil {
		return "", err
	}
	setUp, err := r.vm.EvalValue(host, quickjs.EvalGlobal)
	if err != nil {
		return "", err
	}
	defer setUp.Free()
	api, err := setUp.CallValue(quickjs.UndefinedValue, r.Stdin)
	if err != nil {
		return "", err
	}
	defer api.Free()
	if err := r.evaluate(r.Setup, api); err != nil {
		return "", fmt.Errorf("the row's setup: %w", err)
	}
	names := ""
	if r.Assert != "" {
		compiled, err := r.vm.EvalValue("(async () => {"+r.Assert+"\n})", quickjs.EvalGlobal)
		if err != nil {
			return "", fmt.Errorf("the row's test cannot be compiled: %w", err)
		}
		compiled.Free()
		if err := r.own(api); err != nil {
			return "", err
		}
		if names, err = r.ask(api, "harden"); err != nil {
			return "", err
		}
	}
	r.begun = true
	for _, program := range r.Before {
		if err := r.evaluate(exported.ReplaceAllString(program, "$2"), api); err != nil {
			return "", err
		}
		r.stdout.Reset()
	}
	if err := r.evaluate(exported.ReplaceAllString(r.Program, "$2"), api); err != nil {
		return "", err
	}
	switch {
	case r.Assert != "":
		return "", r.finish(api, "(async ("+names+") => (async () => {"+r.Assert+"\n})())", "")
	case r.Call != "":
		args, err := json.Marshal(r.Args)
		if err != nil {
			return "", err
		}
		if err := r.finish(api, r.Call, string(args)); err != nil {
			return "", err
		}
		return r.ask(api, "result")
	}
	if code, err := r.ask(api, "exitCode"); err != nil || code != "0" {
		return "", errors.Join(err, fmt.Errorf("it exits with code %s", code))
	}
	return "", nil
}

// defined is a name that the setup defines.
var defined = regexp.MustCompile(`(?m)^(?:async[ \t]+)?(?:function\*?|class|const|let|var)[ \t]+([A-Za-z_$][\w$]*)`)

// own tells host.js what the setup's names mean, before the program gives them another
// meaning.
func (r *running) own(api quickjs.Value) error {
	var names []string
	for _, match := range defined.FindAllStringSubmatch(r.Setup, -1) {
		names = append(names, match[1])
	}
	named, err := r.vm.EvalValue("({"+strings.Join(names, ",")+"})", quickjs.EvalGlobal)
	if err != nil {
		return fmt.Errorf("the row's setup: %w", err)
	}
	defer named.Free()
	own, err := r.method(api, "own")
	if err != nil {
		return err
	}
	defer own.Free()
	_, err = own.Call(quickjs.UndefinedValue, named)
	return err
}

// evaluate runs a script and the jobs and timers that it leaves.
func (r *running) evaluate(source string, api quickjs.Value) error {
	value, err := r.vm.EvalValue(source, quickjs.EvalGlobal)
	if err == nil {
		value.Free()
		err = r.drain(api)
	}
	if err != nil {
		if exited, _ := r.ask(api, "exited"); exited == "true" {
			return nil
		}
	}
	return err
}

// finish calls a function with arguments, a JSON list, or code of the row with none,
// and waits for what it promises.
func (r *running) finish(api quickjs.Value, function, args string) error {
	f, err := r.vm.EvalValue("("+function+")", quickjs.EvalGlobal)
	if err != nil && args != "" { // perhaps the program has exported it, or as a method
		var missing error
		if f, missing = r.exportedValue(api, function); missing != nil {
			f, missing = r.vm.EvalValue("{const s = new Solution(); (...args) => s."+function+"(...args)}", quickjs.EvalGlobal)
		}
		if missing == nil {
			err = nil
		}
	}
	if err != nil {
		return err
	}
	defer f.Free()
	call, err := r.method(api, "call")
	if err != nil {
		return err
	}
	defer call.Free()
	if _, err := call.Call(quickjs.UndefinedValue, f, args); err != nil {
		return err
	}
	if err := r.drain(api); err != nil {
		return err
	}
	failed, err := r.ask(api, "failure")
	if err == nil && failed != "" {
		err = errors.New(failed)
	}
	return err
}

func (r *running) exportedValue(api quickjs.Value, name string) (quickjs.Value, error) {
	find, err := r.method(api, "exported")
	if err != nil {
		return quickjs.Value{}, err
	}
	defer find.Free()
	return find.CallValue(quickjs.UndefinedValue, name)
}

// drain runs what is pending: jobs of promises, then one timer, and so on.
func (r *running) drain(api quickjs.Value) error {
	for range maxTurns {
		if _, err := r.vm.ExecutePendingJobs(); err != nil {
			return err
		}
		more, err := r.ask(api, "turn")
		if err != nil || more != "true" {
			return err
		}
	}
	return fmt.Errorf("more than %d timers", maxTurns)
}

// ask calls a function of host.js without arguments that returns a string.
func (r *running) ask(api quickjs.Value, name string) (string, error) {
	if r.flooded || r.stopped.Load() {
		return "", errStopped
	}
	f, err := r.method(api, name)
	if err != nil {
		return "", err
	}
	defer f.Free()
	answer, err := f.Call(quickjs.UndefinedValue)
	if err != nil {
		return "", err
	}
	text, _ := answer.(string)
	return text, nil
}

func (r *running) method(api quickjs.Value, name string) (quickjs.Value, error) {
	atom, err := r.vm.NewAtom(name)
	if err != nil {
		return quickjs.Value{}, err
	}
	return api.GetPropertyValue(atom)
}

// print is called by host.js with the text that the program prints.
func (r *running) print(args []any) (any, error) {
	text, _ := args[0].(string)
	if r.stdout.Len()+len(text) > r.Output {
		r.flooded = true
		r.vm.Interrupt()
		return nil, errors.New("too much output")
	}
	r.stdout.WriteString(text)
	return nil, nil
}
