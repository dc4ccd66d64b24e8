package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/rl/reward"
)

func rewardsCommand() *cli.Command {
	return &cli.Command{
		Name: "rewards", Usage: "explain the reward language: names, functions, formulas, sources",
		Description: `A reward is an expression over the completions of a step. It is the key reward of a stage:

   reward = "if(right(form), task + 0.1*shortest_right(right(task)), -1)"
   [[stage.verifier]]
   name = "form"
   verifier = "format"

rlzero train RECIPE --dry-run checks it.

Examples:
   rlzero rewards
   rlzero rewards --json | jq -r 'select(.source) | .usage + "  " + .source'`,
		Flags: []cli.Flag{jsonFlag},
		Action: func(c *cli.Context) error {
			if _, err := positional(c); err != nil {
				return err
			}
			if c.Bool("json") {
				return rewardsJSON(c)
			}
			printRewards(c.App.Writer)
			return nil
		},
	}
}

// rewardEntry is a line of rlzero rewards --json.
type rewardEntry struct {
	Kind    string `json:"kind"` // fact or function
	Name    string `json:"name"`
	Usage   string `json:"usage"`
	Gives   string `json:"gives"` // number or condition
	Unit    string `json:"unit,omitempty"`
	Meaning string `json:"meaning"`
	Formula string `json:"formula,omitempty"`
	Source  string `json:"source,omitempty"`
}

func rewardsJSON(c *cli.Context) error {
	for _, f := range reward.Facts() {
		if err := printJSON(c, rewardEntry{Kind: "fact", Name: f.Name, Usage: f.Name, Gives: f.Gives(), Unit: f.Unit, Meaning: f.Meaning}); err != nil {
			return err
		}
	}
	for _, f := range reward.Functions() {
		err := printJSON(c, rewardEntry{Kind: "function", Name: f.Name, Usage: f.Usage, Gives: f.Gives(), Meaning: f.Meaning, Formula: f.Formula, Source: f.Source})
		if err != nil {
			return err
		}
	}
	return nil
}

func printRewards(w io.Writer) {
	fmt.Fprintf(w, "%s\n\nNAMES\n", strings.TrimSpace(reward.Guide))
	for _, f := range reward.Facts() {
		meaning := f.Meaning
		if f.Unit != "" {
			meaning += " (" + f.Unit + ")"
		}
		fmt.Fprintf(w, "   %-14s %s\n", f.Name, meaning)
	}
	fmt.Fprintln(w, "\nFUNCTIONS ([...] may be left out)")
	for _, f := range reward.Functions() {
		fmt.Fprintf(w, "   %s\n      %s\n", f.Usage, f.Meaning)
		if f.Formula != "" {
			fmt.Fprintf(w, "      = %s\n", f.Formula)
		}
		if f.Source != "" {
			fmt.Fprintf(w, "      source: %s\n", f.Source)
		}
	}
}
