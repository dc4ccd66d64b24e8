package programs

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/rl/world/tools"
	"github.com/rlzero/rlzero/verify"
	"github.com/rlzero/rlzero/verify/program"
)

// limits are those of a call.
type limits struct {
	Timeout  float64 `toml:"timeout" range:"[0.01,3600]" unit:"seconds" about:"processor time of a call, with the cells before it; by the clock five times that and five seconds"`
	MemoryMB int     `toml:"memory_mb" range:"[16,1048576]" unit:"MB" about:"memory of the program"`
	OutputKB int     `toml:"output_kb" range:"[1,1024]" unit:"KB" about:"longest text that it may print"`
}

func defaultLimits() limits { return limits{Timeout: 2, MemoryMB: 256, OutputKB: 16} }

// language is one in which cells are written.
type language struct {
	name, summary, about, example, doc string
	test, says                         string // a cell, and what it prints
	run                                func(cells []string, l program.Limits) (program.Ran, error)
}

var languages = []*language{
	{
		name: "python", summary: "Python cells in a box", example: "print(sum(range(10)))   45",
		about: "Runs Python code, after the code of the calls before it that did not fail, and shows what it prints and the value of its last line.",
		doc: `Cells run in the box of the verifier code:python, with the standard library alone and no network; it needs Linux
with landlock. The value of a last line that is an expression is shown, as at a prompt. The clock is the
real one, so what a cell printed is kept in calls.jsonl, and a run that is resumed reads it there.
`,
		test: "7*8", says: "56", run: runPython,
	},
	{
		name: "javascript", summary: "JavaScript cells in an engine of this program", example: "console.log(7*8)   56",
		about: "Runs JavaScript code, after the code of the calls before it that did not fail, and shows what it prints with console.log.",
		doc: `Cells run in the engine of the verifier code:javascript, which has no files, no network, no clock and a
fixed sequence of random numbers. Together they have one scope: a name that was declared by let or const
cannot be declared again. How much a cell can do in its time differs from machine to machine, so what it
printed is kept in calls.jsonl, and a run that is resumed reads it there.
`,
		test: "console.log(7*8)", says: "56", run: runJavaScript,
	},
}

func init() {
	for _, l := range languages {
		tools.Register(tools.Entry{
			Name:    l.name,
			Summary: l.summary,
			Doc: l.name + `: runs code, and shows what it prints.

    <` + l.name + `>` + strings.Replace(l.example, "   ", "</"+l.name+">   ", 1) + `

A call runs after those before it in the episode, in a new interpreter: names that they defined are there,
and what they print is not shown again. A cell that fails leaves nothing. The argument is code.

` + l.doc + `
A program that fails, takes too long or prints too much is a mistake, and its answer says so.

` + settings.Describe(&cellOptions{limits: defaultLimits()}),
			Options: func() tools.Options { return &cellOptions{limits: defaultLimits(), language: l} },
		})
	}
}

// cellOptions are the options of a language.
type cellOptions struct {
	limits
	language *language
}

// Validate implements [tools.Options].
func (o *cellOptions) Validate() error { return settings.Check(o) }

// Spec implements [tools.Options].
func (o *cellOptions) Spec() world.Spec {
	return world.Spec{Name: o.language.name, About: o.language.about, Text: "code",
		Args: json.RawMessage(`{"type":"object","properties":{"code":{"type":"string"}},"required":["code"],"additionalProperties":false}`)}
}

// Make implements [tools.Options].
func (o *cellOptions) Make(tools.Documents) (world.Tool, string, error) {
	return interpreter{*o}, "", nil
}

// interpreter is the tool.
type interpreter struct{ cellOptions }

// Spec implements [world.Tool].
func (i interpreter) Spec() world.Spec { return i.cellOptions.Spec() }

// Test implements [world.Tool].
func (i interpreter) Test(ctx context.Context) error {
	args, err := json.Marshal(map[string]string{"code": i.language.test})
	if err != nil {
		return err
	}
	return tools.Tested(ctx, i, string(args), i.language.says)
}

// Open implements [world.Tool].
func (i interpreter) Open(context.Context, verify.Problem) (world.Session, error) {
	return &session{interpreter: i}, nil
}

// session knows the cells that did not fail.
type session struct {
	interpreter
	cells []string
}

// Close implements [world.Session].
func (*session) Close() error { return nil }

// Told implements [world.Learner].
func (s *session) Told(args json.RawMessage, a world.Answer) {
	if cell, err := cellOf(args); err == nil && !a.Failed {
		s.cells = append(s.cells, cell)
	}
}

// cellOf is the code of a call.
func cellOf(args json.RawMessage) (string, error) {
	var a struct {
		Code string `toml:"code"`
	}
	err := settings.DecodeJSON(args, &a)
	if err == nil && a.Code == "" {
		err = errors.New("code is missing")
	}
	return a.Code, err
}

// Call implements [world.Session].
func (s *session) Call(_ context.Context, args json.RawMessage) (world.Answer, error) {
	cell, err := cellOf(args)
	if err != nil {
		return tools.Mistaken(err.Error()), nil
	}
	cells := append(s.cells[:len(s.cells):len(s.cells)], cell)
	ran, err := s.language.run(cells, program.Limits{Timeout: s.Timeout, MemoryMB: s.MemoryMB, OutputKB: s.OutputKB})
	if err != nil {
		return world.Answer{}, fmt.Errorf("%w: %w", world.ErrUnable, err)
	}
	printed, after, ended := strings.Cut(ran.Printed, ended)
	if !ended && ran.Failed == "" {
		ran.Failed = "it ends the interpreter"
	}
	said := strings.TrimRight(printed+after, "\n")
	if ran.Failed != "" {
		return tools.Mistaken(strings.TrimLeft(said+"\n"+ran.Failed, "\n")), nil
	}
	s.cells = cells
	if said == "" {
		said = "it prints nothing"
	}
	return world.Answer{Text: said}, nil
}

// ended is the last word of a run in which no cell ended the interpreter.
const ended = "\x00end"

//go:embed cells.py
var cellsOfPython string

func runPython(cells []string, l program.Limits) (program.Ran, error) {
	list, err := json.Marshal(cells)
	if err != nil {
		return program.Ran{}, err
	}
	text, err := json.Marshal(string(list)) // a string of JSON is one of Python
	if err != nil {
		return program.Ran{}, err
	}
	return program.RunPython(cellsOfPython+"_all(json.loads("+string(text)+"))\n", l)
}

func runJavaScript(cells []string, l program.Limits) (program.Ran, error) {
	last := len(cells) - 1
	return program.RunJavaScript(cells[:last], cells[last]+"\nprocess.stdout.write('\\0end')", l)
}
