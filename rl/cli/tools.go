package cli

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/rl/world/tools"
)

func toolsCommand() *cli.Command {
	return toolCatalogue.lister("list or show the tools that a policy may call", "calculator", listTools, showTool)
}

func listTools(c *cli.Context) error {
	var list []named
	for _, e := range tools.Entries() {
		list = append(list, named{e.Name, e.Summary})
	}
	if err := printNamed(c, list); err != nil || c.Bool("json") {
		return err
	}
	_, err := fmt.Fprintln(c.App.Writer, "\nA recipe has them in [[task.tool]]; rlzero tools show NAME explains one.")
	return err
}

func showTool(c *cli.Context, name string) error {
	e, _ := tools.Lookup(name) // which is known
	doc := strings.TrimSpace(e.Doc)
	if c.Bool("json") {
		return printJSON(c, struct {
			named
			Doc string `json:"doc"`
		}{named{e.Name, e.Summary}, doc})
	}
	_, err := fmt.Fprintln(c.App.Writer, doc)
	return err
}
