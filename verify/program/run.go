package program

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/internal/worker"
	"github.com/rlzero/rlzero/verify"
	"github.com/rlzero/rlzero/verify/program/internal/js"
	"github.com/rlzero/rlzero/verify/program/internal/sqlite"
	"github.com/rlzero/rlzero/verify/program/internal/wasm"
)

// Limits are those of a program that runs without tests. They mean what the options of the verifiers of
// the same names do.
type Limits struct {
	Timeout  float64 // seconds of processor time
	MemoryMB int
	OutputKB int
}

func (l Limits) options() options {
	o := defaultOptions()
	o.Timeout, o.MemoryMB, o.OutputKB = l.Timeout, l.MemoryMB, l.OutputKB
	return o
}

// Ran is what came of a program.
type Ran struct {
	Printed string
	Failed  string // why it failed: its doing; "": it did not
}

// RunPython runs a Python program in the box of code:python. An error says that it could not be run, which is
// not its doing: there is no box, or the machine is too busy.
func RunPython(program string, l Limits) (Ran, error) {
	v := python{options: l.options()}
	return twice(func() (Ran, bool, error) {
		e, err := v.run(v.job("program", "", program))
		out, done := v.settled(e, err)
		if done && out.unscored {
			return Ran{}, false, errors.New(out.reason)
		}
		return Ran{e.Stdout, out.reason}, out.broken, nil
	})
}

// RunJavaScript runs a JavaScript program in the engine of code:javascript, after others whose output is left
// out. The error is as that of RunPython.
func RunJavaScript(before []string, program string, l Limits) (Ran, error) {
	o := l.options()
	return twice(func() (Ran, bool, error) {
		report, err := javascriptPool.Do(js.Task{Before: before, Program: program, Time: o.processorTime(), Memory: o.MemoryMB << 20, Output: o.OutputKB << 10}, o.clock())
		return reported(report, err)
	})
}

// Runtime is an interpreter in WebAssembly, as the options of code:wasm name one.
type Runtime struct {
	Path   string   // of its module
	Folder string   // that it may read, as /: its library; "": nothing
	Argv   []string // its arguments, in which {program} is the program
}

// Check is an error if the runtime or its folder is not there, or if it never gets the program.
func (r Runtime) Check() error {
	if !slices.ContainsFunc(r.Argv, func(arg string) bool { return strings.Contains(arg, programMark) }) {
		return fmt.Errorf("option argv is %q: one of them has to hold %s", r.Argv, programMark)
	}
	if _, err := os.Stat(r.Path); err != nil {
		return fmt.Errorf("option runtime: %w", err)
	}
	if r.Folder == "" {
		return nil
	}
	info, err := os.Stat(r.Folder)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is a file; accepted: a folder", r.Folder)
	}
	if err != nil {
		return fmt.Errorf("option folder: %w", err)
	}
	return nil
}

// argv are the arguments for a program.
func (r Runtime) argv(program string) []string {
	all := make([]string, len(r.Argv))
	for i, arg := range r.Argv {
		all[i] = strings.ReplaceAll(arg, programMark, program)
	}
	return all
}

// RunWasm runs a program in a runtime. The error is as that of RunPython.
func RunWasm(program string, r Runtime, l Limits) (Ran, error) {
	o := l.options()
	task := wasm.Task{Runtime: r.Path, Folder: r.Folder, Argv: r.argv(program), Time: o.processorTime(), Memory: o.MemoryMB << 20, Output: o.OutputKB << 10}
	return twice(func() (Ran, bool, error) {
		return reported(wasmPool.Do(task, readyTime+o.clock()))
	})
}

// reported is what a child says of a program. broken: the program may have ended it.
func reported(report worker.Report, err error) (r Ran, broken bool, _ error) {
	switch {
	case errors.Is(err, worker.ErrTime):
		return Ran{Failed: "out of time"}, false, nil
	case errors.Is(err, worker.ErrDied):
		return Ran{Failed: "it breaks the engine that runs it"}, true, nil
	case err == nil && report.Broke != "":
		err = errors.New(report.Broke)
	}
	return Ran{report.Stdout, report.Failed}, false, err
}

// twice runs a program that breaks what runs it once more: it is its doing if it does so again. A processor
// is taken for as long.
func twice(run func() (r Ran, broken bool, err error)) (Ran, error) {
	running <- struct{}{}
	defer func() { <-running }()
	r, broken, err := run()
	if broken {
		r, _, err = run()
	}
	return r, err
}

const queryEngine = "query"

var queryPool = worker.NewPool(queryEngine)

func init() { worker.Register(queryEngine, runQuery) }

// Query is a query on the database of a row, which it has as the verifier sql reads it.
type Query struct {
	Metadata map[string]json.RawMessage // of the row
	Folder   string                     // of databases that the row names
	SQL      string
	Rows     int     // of the result, at most
	Timeout  float64 // seconds of processor time
}

// RunQuery runs a query on a database that is only read. It prints a line with the names of the columns and one
// for each row of the result. An error is not its doing: the row has no database that can be opened.
func RunQuery(q Query) (Ran, error) {
	v := sql{Timeout: q.Timeout}
	return twice(func() (Ran, bool, error) {
		return reported(queryPool.Do(q, patience+5*v.limit()))
	})
}

// runQuery is the child's side of RunQuery.
func runQuery(q Query) worker.Report {
	v, err := newSQL(json.RawMessage("{}"))
	if err != nil {
		return worker.Report{Broke: err.Error()}
	}
	v.Folder, v.Timeout, v.MaxRows = q.Folder, q.Timeout, q.Rows
	sources, err := v.sources(verify.Problem{Metadata: q.Metadata})
	if err != nil {
		return worker.Report{Broke: err.Error()}
	}
	db, err := sources[0].open()
	if err != nil {
		return worker.Report{Broke: fmt.Sprintf("the database: %v", err)}
	}
	defer db.Close()
	found, err := v.run(db, q.SQL)
	if err != nil {
		return worker.Report{Failed: err.Error()}
	}
	var b strings.Builder
	b.WriteString(strings.Join(found.Columns, " | "))
	for _, row := range found.Rows {
		cells := make([]string, len(row))
		for i, value := range row {
			cells[i] = cell(value)
		}
		b.WriteString("\n" + strings.Join(cells, " | "))
	}
	return worker.Report{Stdout: b.String()}
}

// cell is a value of a result as people read it.
func cell(value any) string {
	switch v := value.(type) {
	case nil:
		return "NULL"
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case sqlite.Blob:
		return fmt.Sprintf("x'%x'", string(v))
	}
	return fmt.Sprint(value)
}
