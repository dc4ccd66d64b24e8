package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/rl/algo"
	"github.com/rlzero/rlzero/rl/formula"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/reward"
)

func formulasCommand() *cli.Command {
	return &cli.Command{
		Name: "formulas", Aliases: []string{"rewards"}, Usage: "explain the formulas of rewards and methods: facts, functions, sources", ArgsUsage: "[show NAME | eval --in FILE]",
		Description: `Explains the language of rewards, advantages, losses and filters, with worked examples. The
reward of a stage is its key reward; rlzero train RECIPE --dry-run checks it:

   reward = "if(right(form), task + 0.1*shortest_right(right(task)), -1)"
   [[stage.verifier]]
   name = "form"
   verifier = "format"

Examples:
   rlzero formulas
   rlzero formulas show token_mean
   rlzero formulas --json | jq -r 'select(.source) | .usage + "  " + .source'
   rlzero formulas eval --in questions.jsonl`,
		Flags: []cli.Flag{jsonFlag},
		Action: func(c *cli.Context) error {
			if _, err := positional(c); err != nil {
				return usagef("rlzero formulas takes no arguments; write rlzero formulas show NAME for one name, rlzero formulas eval --in FILE to evaluate formulas")
			}
			if c.Bool("json") {
				return formulasJSON(c)
			}
			printFormulas(c.App.Writer)
			return nil
		},
		Subcommands: []*cli.Command{formulaCatalogue.shower("token_mean", showFormula), {
			Name: "eval", Usage: "evaluate formulas on given columns, one JSON object per line",
			Description: `Evaluates formulas on numbers of your own, to compare them with a paper or with another
implementation. Prints the value, the derivatives by each token, the parts, the metrics, and
whether the loss is local. "preset" names a method; "formulas" and "parameters" beside it
replace its own. A missing value is null. Without "start", start equals old; without "own",
the policy wrote every token.

With --run, evaluates a recipe on the rows of a step as the run's logs have them, all in one
update whose first log-probs are those that were drawn. "recorded" has what the run made of
them, "computed" the answer: the same advantages, and where the step had one update the same
derivatives. What the logs do not have is refused: other models, values, the states of turns.

Examples:
   rlzero formulas eval --run runs/first
   rlzero formulas eval --run runs/first --step 1931 --recipe mine.toml
   echo '` + strings.NewReplacer(` "completion"`, "' \\\n      '\"completion\"", ` "token"`, "' \\\n      '\"token\"").Replace(algo.Examples[2].Question) + `' | \
      rlzero formulas eval --in -`,
			Flags: []cli.Flag{
				&cli.StringFlag{Name: "in", Usage: "`FILE` of JSON lines; - is standard input"},
				&cli.StringFlag{Name: "run", Usage: "evaluate on a step of this `RUN`, in place of --in"},
				&cli.IntFlag{Name: "step", Usage: "step of --run, counted through all stages", DefaultText: "the newest whose tokens are recorded"},
				&cli.StringFlag{Name: "recipe", Usage: "evaluate the method of a `RECIPE`, where a line names no preset; with --run in place of the run's own"},
				&cli.StringFlag{Name: "stage", Usage: "that of the stage of this `NAME`", DefaultText: "the last that learns from rewards"},
				alwaysJSON,
			},
			Action: evalFormulas,
		}},
	}
}

func evalFormulas(c *cli.Context) error {
	if _, err := positional(c); err != nil {
		return err
	}
	switch dir := c.String("run"); {
	case dir != "" && c.String("in") != "":
		return usagef("%s takes --in or --run, not both", c.Command.HelpName)
	case dir != "":
		return evalRun(c, dir)
	case c.IsSet("step"):
		return usagef("%s --step needs --run RUN", c.Command.HelpName)
	}
	method, err := methodOf(c)
	if err != nil {
		return err
	}
	in, err := input(c, c.String("in"))
	if err != nil {
		return err
	}
	defer in.Close()
	name := c.String("in")
	if name == "-" {
		name = "standard input"
	}
	err = lines.Each(name, in, func(_ int, raw []byte) error {
		answer, err := method.Evaluate(raw)
		if err != nil {
			return err
		}
		return printJSON(c, answer)
	})
	if err != nil {
		return fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	return nil
}

// methodOf is the method of the recipe that is named; without one it is empty.
func methodOf(c *cli.Context) (algo.Method, error) {
	name, wanted := c.String("recipe"), c.String("stage")
	if name == "" {
		return algo.Method{}, nil
	}
	if err := recipeCatalogue.checkFile(name); err != nil {
		return algo.Method{}, err
	}
	stage, err := learningStage(name, wanted)
	if err != nil {
		return algo.Method{}, err
	}
	compiled, err := stage.Compiled()
	if err != nil {
		return algo.Method{}, err
	}
	return compiled.Method, nil
}

// learningStage is a stage of a recipe, by its name; without one the last that learns from rewards, or
// the first that learns at all.
func learningStage(name, wanted string) (*recipe.Stage, error) {
	r, err := recipe.Load(name, nil)
	if err != nil {
		return nil, err
	}
	var stage *recipe.Stage
	var known []string
	for i := range r.Stages {
		st := &r.Stages[i]
		if st.Kind == recipe.KindEval {
			continue
		}
		known = append(known, st.Name)
		if st.Name == wanted || wanted == "" && (stage == nil || st.Kind == recipe.KindRL) {
			stage = st
		}
	}
	if stage == nil {
		return nil, usage(hint.Unknown("stage", wanted, known, "rlzero train --dry-run "+name))
	}
	return stage, nil
}

// formulaEntry is a line of rlzero formulas --json.
type formulaEntry struct {
	Kind    string `json:"kind"` // fact, function, part or example
	Name    string `json:"name,omitempty"`
	Usage   string `json:"usage,omitempty"`
	Level   string `json:"level,omitempty"` // of a fact
	For     string `json:"for,omitempty"`   // what it is meant for: reward, algorithm, or a part of an algorithm; "": all
	Gives   string `json:"gives,omitempty"` // number or condition
	Unit    string `json:"unit,omitempty"`
	Meaning string `json:"meaning,omitempty"`
	Formula string `json:"formula,omitempty"`
	Slope   string `json:"derivative,omitempty"` // its conventions
	Source  string `json:"source,omitempty"`

	Numbers defaults `json:"numbers,omitempty"` // that a named formula reads
}

// defaults are numbers by name. JSON has no infinity: it is the text "inf" there, or "-inf".
type defaults map[string]float64

func (d defaults) MarshalJSON() ([]byte, error) {
	out := map[string]any{}
	for name, x := range d {
		switch {
		case math.IsInf(x, 1):
			out[name] = "inf"
		case math.IsInf(x, -1):
			out[name] = "-inf"
		default:
			out[name] = x
		}
	}
	return json.Marshal(out)
}

func gives(condition bool) string {
	if condition {
		return "condition"
	}
	return "number"
}

// vocabulary is the facts of rewards or of methods.
type vocabulary struct {
	title, of string
	facts     []formula.Fact
}

// vocabularies lists every fact once: what rewards and methods share, and what one
// of them has alone.
func vocabularies() []vocabulary {
	has := func(facts []formula.Fact, f formula.Fact) bool {
		return slices.ContainsFunc(facts, func(other formula.Fact) bool { return other.Name == f.Name })
	}
	shared := slices.Concat(formula.Common(), formula.Structure())
	for _, f := range reward.Facts() {
		if has(algo.Facts(), f) && !has(shared, f) {
			shared = append(shared, f)
		}
	}
	alone := func(facts []formula.Fact) []formula.Fact {
		return slices.DeleteFunc(facts, func(f formula.Fact) bool { return has(shared, f) })
	}
	return []vocabulary{{"FACTS", "", shared}, {"FACTS OF REWARDS", "reward", alone(reward.Facts())}, {"FACTS OF METHODS", "algorithm", alone(algo.Facts())}}
}

// namedFormulas are those of rewards, then those of methods.
func namedFormulas() []formulaEntry {
	var out []formulaEntry
	for _, p := range reward.Parts() {
		out = append(out, formulaEntry{Kind: "part", Name: p.Name, Usage: p.Name, For: "reward", Meaning: p.Meaning, Formula: p.Formula, Source: p.Source})
	}
	for _, p := range algo.Library() {
		out = append(out, formulaEntry{Kind: "part", Name: p.Name, Usage: p.Name, For: p.Kind, Meaning: p.Differs, Formula: strings.TrimSpace(p.Formula), Source: p.Paper, Numbers: p.Parameters})
	}
	return out
}

// formulaEntries is the whole manual.
func formulaEntries() []formulaEntry {
	var all []formulaEntry
	for _, v := range vocabularies() {
		for _, f := range v.facts {
			all = append(all, formulaEntry{Kind: "fact", Name: f.Name, Usage: f.Usage(), Level: f.Level.String(), For: v.of, Gives: gives(f.Condition), Unit: f.Unit, Meaning: f.Meaning, Formula: f.Formula, Source: f.Source})
		}
	}
	for _, f := range formula.Functions() {
		all = append(all, formulaEntry{Kind: "function", Name: f.Name, Usage: f.Usage, Gives: gives(f.Condition()), Meaning: f.Meaning, Formula: f.Formula, Slope: f.Slope, Source: f.Source})
	}
	return append(all, namedFormulas()...)
}

func formulasJSON(c *cli.Context) error {
	for _, e := range formulaEntries() {
		if err := printJSON(c, e); err != nil {
			return err
		}
	}
	return nil
}

// plain is the name without arguments, as people ask for it.
func (e formulaEntry) plain() string {
	name, _, _ := strings.Cut(e.Name, "(")
	return name
}

func formulaNames() []string {
	var names []string
	for _, e := range formulaEntries() {
		names = append(names, e.plain())
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// showFormula prints what has a name: a fact, a function or a named formula, of rewards and of
// methods there may be one each.
func showFormula(c *cli.Context, name string) error {
	for _, e := range formulaEntries() {
		if e.plain() != name {
			continue
		}
		if c.Bool("json") {
			if err := printJSON(c, e); err != nil {
				return err
			}
			continue
		}
		of := map[string]string{"fact": "fact, one value for each " + e.Level, "function": "function", "part": "named formula"}[e.Kind]
		if e.Level == formula.Run.String() {
			of = "fact, one value for the run"
		}
		if e.For != "" {
			of += ", for " + e.For
		}
		w := c.App.Writer
		fmt.Fprintf(w, "%s (%s)\n", e.Usage, of)
		printUnlessEmpty(w, "   = ", indented(e.Formula, 3))
		printUnlessEmpty(w, "   ", e.Meaning)
		printUnlessEmpty(w, "   unit: ", e.Unit)
		printUnlessEmpty(w, "   derivative: ", e.Slope)
		printUnlessEmpty(w, "   numbers: ", numbersText(e.Numbers))
		printUnlessEmpty(w, "   source: ", e.Source)
	}
	return nil
}

func printFormulas(w io.Writer) {
	for _, guide := range []string{formula.Guide, reward.Guide, algo.Guide} {
		fmt.Fprintf(w, "%s\n\n", strings.TrimSpace(guide))
	}
	for _, v := range vocabularies() {
		printFacts(w, v)
	}
	fmt.Fprintln(w, "FUNCTIONS ([...] may be left out)")
	for _, f := range formula.Functions() {
		fmt.Fprintf(w, "   %s\n      %s\n", f.Usage, f.Meaning)
		printUnlessEmpty(w, "      = ", f.Formula)
		printUnlessEmpty(w, "      derivative: ", f.Slope)
		printUnlessEmpty(w, "      source: ", f.Source)
	}
	kind := ""
	for _, p := range namedFormulas() {
		if p.For != kind {
			kind = p.For
			fmt.Fprintf(w, "\nNAMED FORMULAS: %s\n", strings.ToUpper(kind))
		}
		fmt.Fprintf(w, "   %s = %s\n", p.Name, indented(p.Formula, 6))
		printUnlessEmpty(w, "      numbers: ", numbersText(p.Numbers))
		printUnlessEmpty(w, "      ", p.Meaning)
		printUnlessEmpty(w, "      source: ", p.Source)
	}
	fmt.Fprintln(w, "\nWORKED EXAMPLES, for rlzero formulas eval --in -")
	for _, e := range algo.Examples {
		fmt.Fprintf(w, "   %s\n   %s\n   gives loss %v\n\n", e.About, e.Question, e.Loss)
	}
}

// printFacts lists facts level by level.
func printFacts(w io.Writer, v vocabulary) {
	fmt.Fprintln(w, v.title)
	for level := formula.Run; level <= formula.Token; level++ {
		of := slices.DeleteFunc(slices.Clone(v.facts), func(f formula.Fact) bool { return f.Level != level })
		if len(of) > 0 {
			fmt.Fprintf(w, "  of a %s\n", level)
		}
		for _, f := range of {
			meaning := f.Meaning
			if f.Unit != "" {
				meaning += " (" + f.Unit + ")"
			}
			fmt.Fprintf(w, "   %-19s %s\n", f.Usage(), meaning)
			printUnlessEmpty(w, strings.Repeat(" ", 23)+"= ", f.Formula)
			printUnlessEmpty(w, strings.Repeat(" ", 23)+"source: ", f.Source)
		}
	}
	fmt.Fprintln(w)
}

func printUnlessEmpty(w io.Writer, before, text string) {
	if text != "" {
		fmt.Fprintf(w, "%s%s\n", before, text)
	}
}

func numbersText(numbers map[string]float64) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(numbers)) {
		out = append(out, fmt.Sprintf("%s = %v", name, numbers[name]))
	}
	return strings.Join(out, ", ")
}

func algorithmsCommand() *cli.Command {
	list := func(c *cli.Context) error {
		for _, name := range algo.MethodNames() {
			m, err := algo.LoadMethod(name)
			if err != nil {
				return err
			}
			if c.Bool("json") {
				err = printJSON(c, map[string]any{"name": name, "summary": m.About, "paper": m.Paper, "trains": m.Trains()})
			} else {
				_, err = fmt.Fprintf(c.App.Writer, "%-22s %-6s %-18s %s\n", name, map[bool]string{true: "train"}[m.Trains()], shortPaper(m.Paper), m.About)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	command := algorithmCatalogue.lister("list the published methods, or show the formulas of one", "dapo", list, showAlgorithm)
	command.Description = `Lists methods with their papers. A method marked "train" can be the preset of
[stage.algorithm] in a stage of kind rl. If it reads nothing of what was sampled, such as sft
and dft, or dpo and kto, it can also be the preset of a stage of kind sft or preference. The
other methods read facts that no stage supplies yet, or scores of verifiers that the stage has
to declare. rlzero formulas eval evaluates all of them.

` + command.Description
	return command
}

// shortPaper is a source in the width of a column.
func shortPaper(paper string) string {
	if len(paper) > 18 {
		return paper[:15] + "..."
	}
	return paper
}

// algorithmJSON is what rlzero algorithms show NAME --json prints.
type algorithmJSON struct {
	Name       string             `json:"name"`
	About      string             `json:"about"`
	Paper      string             `json:"paper,omitempty"`
	Parameters map[string]float64 `json:"parameters"`
	Formulas   []namedText        `json:"formulas"` // in reading order
	Metrics    []string           `json:"metrics"`
	Facts      []string           `json:"facts"` // that formulas and metrics read
	Local      bool               `json:"local"`
	Why        string             `json:"why,omitempty"`
	Differs    []string           `json:"differs,omitempty"` // where other trainers do something else
}

type namedText struct {
	Name    string `json:"name"`
	Formula string `json:"formula"`
}

// noMethod tells of what is no method, though it is known: a named formula, or another trainer's name.
func noMethod(name string) error {
	for _, p := range algo.Library() {
		if plain, _, _ := strings.Cut(p.Name, "("); plain == name {
			return usage(hint.With(fmt.Errorf("%s is a named formula, which methods use: %s = %s", name, p.Name, strings.TrimSpace(p.Formula)), "rlzero formulas show %s", name))
		}
	}
	if _, err := algo.LoadMethod(name); err != nil && !errors.Is(err, algo.ErrUnknownMethod) {
		return usage(err)
	}
	return nil
}

func showAlgorithm(c *cli.Context, name string) error {
	m, err := algo.LoadMethod(name)
	if err != nil {
		return usagef("%v", err)
	}
	// gdpo is about two rewards, which a recipe's verifiers supply.
	a, err := m.Compile(append(algo.Facts(), formula.Fact{Name: "first", Level: formula.Completion}, formula.Fact{Name: "second", Level: formula.Completion}))
	if err != nil {
		return err
	}
	local, why := a.Local()
	out := algorithmJSON{Name: name, About: m.About, Paper: m.Paper, Parameters: a.Parameters(), Metrics: a.Metrics(), Facts: a.Needs(), Local: local, Why: why}
	if m.Differs != "" {
		out.Differs = append(out.Differs, m.Differs)
	}
	library := map[string]algo.LibraryPart{}
	for _, p := range algo.Library() {
		library[p.Name] = p
	}
	for _, f := range a.Formulas() {
		out.Formulas = append(out.Formulas, namedText{f.Name, f.Formula})
		if p := library[f.Name]; p.Differs != "" {
			out.Differs = append(out.Differs, f.Name+": "+p.Differs)
		}
	}
	if c.Bool("json") {
		return printJSON(c, out)
	}
	printAlgorithm(c.App.Writer, out)
	return nil
}

func printAlgorithm(w io.Writer, a algorithmJSON) {
	fmt.Fprintf(w, "%s: %s\n", a.Name, a.About)
	printUnlessEmpty(w, "paper: ", a.Paper)
	fmt.Fprintln(w, "\nNUMBERS")
	for _, name := range slices.Sorted(maps.Keys(a.Parameters)) {
		value, _ := json.Marshal(a.Parameters[name])
		fmt.Fprintf(w, "   %s = %s\n", name, value)
	}
	fmt.Fprintln(w, "\nFORMULAS, in the order in which they are computed")
	for _, f := range a.Formulas {
		fmt.Fprintf(w, "   %s = %s\n", f.Name, indented(strings.TrimSpace(f.Formula), 6))
	}
	fmt.Fprintf(w, "\nMETRICS   %s\nFACTS     %s\n", strings.Join(a.Metrics, ", "), strings.Join(a.Facts, ", "))
	if a.Local {
		fmt.Fprintln(w, "LOCAL     yes: one forward and one backward pass for each micro-batch")
	} else {
		fmt.Fprintf(w, "LOCAL     no: %s\n", a.Why)
	}
	if len(a.Differs) > 0 {
		fmt.Fprintln(w, "\nWHERE TRAINERS DIFFER")
		for _, d := range a.Differs {
			fmt.Fprintf(w, "   %s\n", d)
		}
	}
}
