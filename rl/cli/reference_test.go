package cli

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/rl/algo"
	"github.com/rlzero/rlzero/rl/formula"
	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/reward"
	"github.com/rlzero/rlzero/rl/tasks"
	"github.com/rlzero/rlzero/rl/watch"
	"github.com/rlzero/rlzero/rl/world/tools"
	"github.com/rlzero/rlzero/verify"
)

var update = flag.Bool("update", false, "rewrite docs/reference")

// referencePages are the pages of docs/reference, made of the tables that the program itself
// works with.
var referencePages = []struct {
	file, title, about string
	write              func(*markdown)
}{
	{"commands.md", "Commands", "The help of every command, as `rlzero help COMMAND` prints it.", commandPage},
	{"keys.md", "Keys of recipes", "Every key that a recipe can have, table by table, as `rlzero recipes keys` lists them. The settings of a task are in [tasks](tasks.md), the options of a verifier in [verifiers](verifiers.md), those of a tool in [tools](tools.md).", keyPage},
	{"formulas.md", "Formulas", "The language of rewards, advantages, losses and filters: its rules, and every fact, function and named formula, as `rlzero formulas` prints them.", formulaPage},
	{"algorithms.md", "Algorithms", "Every published method with its numbers and formulas, as `rlzero algorithms show NAME` prints it. The name is what `preset` in `[stage.algorithm]` takes.", algorithmPage},
	{"metrics.md", "Metrics", "Every metric of `metrics.jsonl`: unit, meaning, and how to read it, as `rlzero metrics` prints them.", metricPage},
	{"logs.md", "Logs", "Every key of the lines that a run writes to `completions.jsonl`, `tokens.jsonl`, `updates.jsonl`, `evaluations.jsonl`, `heldout.jsonl`, `schedule.jsonl`, `calls.jsonl`, `judgements.jsonl` and `rows.jsonl`. [Metrics](metrics.md) and [alerts](alerts.md) have pages of their own.", logPage},
	{"alerts.md", "Alerts", "The rules by which a run raises alerts, as `rlzero watch --rules` lists them. Each compares the run with itself, and names what to do.", alertPage},
	{"verifiers.md", "Verifiers", "What each verifier accepts, its options and what it reads of a row, as `rlzero verifiers show NAME` prints it.", verifierPage},
	{"tools.md", "Tools", "The tools that a policy may call before it answers, and their options, as `rlzero tools show NAME` prints them. A recipe has them in `[[task.tool]]`.", toolPage},
	{"tasks.md", "Tasks", "The procedural tasks with their settings, as `rlzero tasks show NAME` prints them. Each has a verifier of its own, `task:NAME`.", taskPage},
}

// TestReference: docs/reference is what the program says of itself today.
func TestReference(t *testing.T) {
	for _, name := range []string{"RLZERO_DEVICE", "RLZERO_TIER"} { // which help would show as defaults
		t.Setenv(name, "")
		os.Unsetenv(name)
	}
	folder := filepath.Join("..", "..", "docs", "reference")
	want := map[string]string{}
	index := &markdown{}
	index.head("Reference", "Made by the program from its own tables (`make reference`), and compared with them by a test.")
	for _, r := range referencePages {
		p := &markdown{}
		p.head(r.title, r.about)
		r.write(p)
		want[r.file] = p.String()
		index.line("- [%s](%s): %s", r.title, r.file, r.about)
	}
	index.line("")
	index.line("The built-in recipes, by the papers that they follow, are in [papers](../papers.md); the [guides](../guide/first-run.md) show how all of it is used.")
	want["README.md"] = index.String()
	if *update {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range want {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	have, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range have {
		if _, known := want[file.Name()]; !known {
			t.Errorf("docs/reference/%s is none of the pages: remove it", file.Name())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Errorf("%v: make reference writes it", err)
			continue
		}
		if line, old, now := firstDifference(string(text), want[name]); line > 0 {
			t.Errorf("docs/reference/%s:%d is\n%s\nand the program says\n%s\nmake reference writes it anew", name, line, old, now)
		}
	}
}

// firstDifference is the first line in which two texts differ, from 1; 0: they are equal.
func firstDifference(have, want string) (line int, old, now string) {
	a, b := strings.Split(have, "\n"), strings.Split(want, "\n")
	for i := range max(len(a), len(b)) {
		old, now = "nothing", "nothing"
		if i < len(a) {
			old = a[i]
		}
		if i < len(b) {
			now = b[i]
		}
		if old != now || i >= len(a) || i >= len(b) {
			return i + 1, old, now
		}
	}
	return 0, "", ""
}

// TestReferenceDiffers: a page that says something else is told with the first line that does.
func TestReferenceDiffers(t *testing.T) {
	for _, c := range []struct {
		have, want, old, now string
		line                 int
	}{
		{"a\nb\n", "a\nb\n", "", "", 0},
		{"a\nb\n", "a\nc\n", "b", "c", 2},
		{"a\n", "a\nb\n", "", "b", 2},
		{"a", "a\n", "nothing", "", 2},
	} {
		if line, old, now := firstDifference(c.have, c.want); line != c.line || old != c.old || now != c.now {
			t.Errorf("%q and %q: line %d, %q, %q", c.have, c.want, line, old, now)
		}
	}
}

// markdown is a page.
type markdown struct{ strings.Builder }

func (p *markdown) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// head is the title of a page with a sentence or two.
func (p *markdown) head(title, about string) { p.line("# %s\n\n%s\n", title, about) }

// block is a text that stands as it is.
func (p *markdown) block(text string) { p.line("```text\n%s\n```\n", strings.TrimSpace(text)) }

// table has a row for each thing.
func (p *markdown) table(head []string, rows [][]string) {
	p.line("| %s |\n|%s", strings.Join(head, " | "), strings.Repeat("---|", len(head)))
	for _, cells := range rows {
		p.line("| %s |", strings.Join(cells, " | "))
	}
	p.line("")
}

// prose is a text that stands in a line of Markdown.
func prose(text string) string {
	return strings.NewReplacer("\n", " ", "|", `\|`, "<", "&lt;", "*", `\*`, "[", `\[`).Replace(text)
}

// inline is a text as code in the cell of a table.
func inline(text string) string {
	if text == "" {
		return ""
	}
	return "`" + strings.NewReplacer("\n", " ", "|", `\|`).Replace(text) + "`"
}

func commandPage(p *markdown) {
	var help func(args []string, c *cli.Command)
	say := func(args ...string) {
		var out, errs bytes.Buffer
		if exit := Main(append([]string{"rlzero"}, args...), nil, &out, &errs); exit != 0 {
			panic(errs.String())
		}
		p.block(out.String())
	}
	help = func(args []string, c *cli.Command) {
		args = append(slices.Clone(args), c.Name)
		p.line("## rlzero %s\n", strings.Join(args, " "))
		say(append([]string{"help"}, args...)...)
		for _, sub := range c.Subcommands {
			help(args, sub)
		}
	}
	p.line("## rlzero\n")
	say("--help")
	for _, c := range commands() {
		help(nil, c)
	}
}

func keyPage(p *markdown) {
	table := recipe.Key{}
	for i, k := range recipe.Keys() {
		if i == 0 || k.Table != table.Table {
			table = k
			if i > 0 {
				p.line("")
			}
			p.line("## %s\n", strings.TrimSpace(tableHead(k)))
		}
		p.line("- `%s`: %s", k.Key, prose(keyText(k, table)))
	}
}

func formulaPage(p *markdown) {
	for _, g := range []struct{ title, text string }{{"The language", formula.Guide}, {"Rewards", reward.Guide}, {"Methods", algo.Guide}} {
		p.line("## %s\n", g.title)
		p.block(g.text)
	}
	for _, v := range vocabularies() {
		p.line("## %s\n", v.title[:1]+strings.ToLower(v.title[1:]))
		var rows [][]string
		for level := formula.Run; level <= formula.Token; level++ {
			for _, f := range v.facts {
				if f.Level == level {
					rows = append(rows, []string{inline(f.Usage()), level.String(), prose(f.Meaning), f.Unit, inline(f.Formula), prose(f.Source)})
				}
			}
		}
		p.table([]string{"fact", "of a", "meaning", "unit", "formula", "source"}, rows)
	}
	p.line("## Functions\n\nWhat stands in [ ] may be left out.\n")
	var rows [][]string
	for _, f := range formula.Functions() {
		rows = append(rows, []string{inline(f.Usage), prose(f.Meaning), inline(f.Formula), prose(f.Slope), prose(f.Source)})
	}
	p.table([]string{"function", "meaning", "formula", "derivative", "source"}, rows)
	kind := ""
	for _, e := range namedFormulas() {
		if e.For != kind {
			kind = e.For
			p.line("## Named formulas: %s\n", kind)
		}
		p.block(e.Name + " = " + indented(e.Formula, 3))
		var said []string
		for _, s := range []string{e.Meaning, numbersText(e.Numbers), e.Source} {
			if s != "" {
				said = append(said, s)
			}
		}
		if len(said) > 0 {
			p.line("%s\n", prose(strings.Join(said, "; ")))
		}
	}
}

func algorithmPage(p *markdown) {
	for _, name := range algo.MethodNames() {
		p.line("## %s\n", name)
		var out, errs bytes.Buffer
		if exit := Main([]string{"rlzero", "algorithms", "show", name}, nil, &out, &errs); exit != 0 {
			panic(errs.String())
		}
		p.block(out.String())
	}
}

func metricPage(p *markdown) {
	var rows [][]string
	for _, m := range metrics.Table() {
		rows = append(rows, []string{inline(m.Name), m.Unit, prose(m.Meaning), prose(m.Reading)})
	}
	p.table([]string{"metric", "unit", "meaning", "how to read it"}, rows)
}

func alertPage(p *markdown) {
	var rows [][]string
	for _, r := range watch.Rules() {
		rows = append(rows, []string{inline(r.Rule), string(r.Level), prose(r.Why), prose(r.Do)})
	}
	p.table([]string{"alert", "level", "what it means", "what to do"}, rows)
}

func toolPage(p *markdown) {
	for _, e := range tools.Entries() {
		p.line("## %s\n\n%s\n", e.Name, prose(e.Summary))
		p.block(e.Doc)
	}
}

func verifierPage(p *markdown) {
	for _, g := range verifierGroups {
		p.line("## %s\n", g.title)
		for _, e := range verify.Entries() {
			if strings.HasPrefix(e.Name, "task:") || groupOf(e.Name) != g.title {
				continue
			}
			p.line("### %s\n\n%s\n", e.Name, prose(e.Summary))
			p.block(e.Doc)
		}
		if g.title == "tasks" {
			p.line("`task:NAME` judges the answers of the task NAME; [tasks](tasks.md) has them all.")
		}
	}
}

func taskPage(p *markdown) {
	for _, f := range tasks.Families() {
		p.line("## %s\n\n%s\n", f.Name, prose(f.Summary))
		p.block(f.Doc)
	}
}
