package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/verify"
)

// verifierGroups sort the verifiers by what they judge. A name that ends in a
// colon stands for all that begin so; the list shows them as one line.
var verifierGroups = []struct {
	title string
	names []string
}{
	{"answers", []string{"math", "number", "gsm8k", "multiple_choice", "exact", "json_equal", "countdown", "iou", "ordering", "retrieval"}},
	{"formats", []string{"format", "regex", "json_schema", "tool_call"}},
	{"text metrics", []string{"squad_exact", "f1", "edit_similarity", "bleu", "chrf", "rouge_1", "rouge_2", "rouge_l"}},
	{"programs", []string{"code:python", "code:javascript", "code:wasm", "sql"}},
	{"of your own", []string{"starlark"}},
	{"judges", []string{"judge", "erring"}},
	{"instructions", []string{"instructions", "ifeval:", "ifrlvr:", "ifbench:"}},
	{"tasks", []string{"task:"}},
}

// families say what the verifiers of a prefix are.
var families = map[string]string{
	"ifeval:":  "the instructions of IFEval",
	"ifrlvr:":  "the instructions of IF-RLVR",
	"ifbench:": "the instructions of IFBench",
	"task:":    "the procedural tasks; rlzero tasks lists them",
}

func verifiersCommand() *cli.Command {
	return verifierCatalogue.lister("list or show the verifiers", "number", listVerifiers, showVerifier)
}

// groupOf is the group of a verifier.
func groupOf(name string) string {
	for _, g := range verifierGroups {
		for _, member := range g.names {
			if name == member || strings.HasSuffix(member, ":") && strings.HasPrefix(name, member) {
				return g.title
			}
		}
	}
	return ""
}

func listVerifiers(c *cli.Context) error {
	if c.Bool("json") {
		for _, e := range verify.Entries() {
			err := printJSON(c, struct {
				named
				Group string `json:"group"`
			}{named{e.Name, e.Summary}, groupOf(e.Name)})
			if err != nil {
				return err
			}
		}
		return nil
	}
	summaries := map[string]string{}
	for _, e := range verify.Entries() {
		summaries[e.Name] = e.Summary
	}
	for i, g := range verifierGroups {
		if i > 0 {
			fmt.Fprintln(c.App.Writer)
		}
		fmt.Fprintf(c.App.Writer, "%s\n", g.title)
		for _, name := range g.names {
			if what, many := families[name]; many {
				fmt.Fprintf(c.App.Writer, "   %-16s %s: %s\n", name+"NAME", terminal.Count(len(below(name)), "verifier", ""), what)
			} else {
				fmt.Fprintf(c.App.Writer, "   %-16s %s\n", name, summaries[name])
			}
		}
	}
	fmt.Fprintln(c.App.Writer, "\nrlzero verifiers show NAME explains one; rlzero verifiers show ifeval lists a family.")
	return nil
}

// verifierNames are the names of the verifiers and of their families: ifeval for
// those that begin with ifeval:.
func verifierNames() []string {
	var names []string
	for _, e := range verify.Entries() {
		for i, r := range e.Name {
			if r == ':' && !slices.Contains(names, e.Name[:i]) {
				names = append(names, e.Name[:i])
			}
		}
		names = append(names, e.Name)
	}
	return names
}

// checkVerifier checks the name of --verifier, if one is given.
func checkVerifier(c *cli.Context) error {
	if c.String("verifier") == "" {
		return nil
	}
	name, options, err := verify.Parse(c.String("verifier"))
	if err == nil {
		_, err = verify.Lookup(name)
	}
	if err == nil && options != nil {
		_, err = verify.New(name, options)
	}
	if err != nil {
		return usage(err)
	}
	return nil
}

// below are the verifiers whose names begin with a prefix.
func below(prefix string) []named {
	var list []named
	for _, e := range verify.Entries() {
		if strings.HasPrefix(e.Name, prefix) {
			list = append(list, named{e.Name, e.Summary})
		}
	}
	return list
}

func showVerifier(c *cli.Context, name string) error {
	if family := below(name + ":"); family != nil {
		return printNamed(c, family)
	}
	e, err := verify.Lookup(name)
	if err != nil {
		return err
	}
	doc := strings.TrimSpace(e.Doc)
	if c.Bool("json") {
		return printJSON(c, struct {
			named
			Group string `json:"group"`
			Doc   string `json:"doc"`
		}{named{e.Name, e.Summary}, groupOf(name), doc})
	}
	_, err = fmt.Fprintf(c.App.Writer, "%s: %s\n\n%s\n", e.Name, e.Summary, doc)
	return err
}
