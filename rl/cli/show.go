package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/rl/record"
)

func showCommand() *cli.Command {
	return &cli.Command{
		Name: "show", Usage: "show the completions of a step, and what they were paid", ArgsUsage: "RUN",
		Description: `Prints the groups of a step of a run, finished or in progress. With --group, prints the
completions of one group; equal ones share a line, and episodes are told turn by turn. Below each
stands what judges said about it: how their answer was read, and what they wrote; below all of them
the rows that the run made of the group. Completions that
grew as a tree stand below what they share, node by node, each node with the mean reward of the
completions that go through it. With --tokens, prints what the step taught each token: ▲ more
likely, ▼ less likely, = clipped; what an episode read stands in brackets. With --calls, prints
what is kept in calls.jsonl: what tools that are not pure and programs of others answered, episode
by episode. Steps count through all stages, as in metrics.jsonl. Tokens
are recorded in one of every token_every steps. --json writes the lines of the run's logs:
completions, tokens with --tokens, or calls with --calls.

Examples:
   rlzero show runs/first                              the newest step
   rlzero show runs/first --step 1931 --group 4
   rlzero show runs/first --step 1931 --group 4 --tokens
   rlzero show runs/first --calls --failed`,
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "step", Usage: "step, counted through all stages", DefaultText: "the newest"},
			&cli.IntFlag{Name: "group", Usage: "group of the step, from 0", DefaultText: "all"},
			&cli.BoolFlag{Name: "tokens", Usage: "show the tokens of --group"},
			&cli.BoolFlag{Name: "calls", Usage: "show the calls of the run"},
			&cli.BoolFlag{Name: "failed", Usage: "of --calls, those that were mistakes or had no answer"},
			jsonFlag,
		},
		Action: func(c *cli.Context) error {
			dir, err := runArg(c)
			if err != nil {
				return err
			}
			if c.Bool("tokens") && !c.IsSet("group") {
				return usagef("%s --tokens needs --group G", c.Command.HelpName)
			}
			if c.Bool("failed") && !c.Bool("calls") {
				return usagef("%s --failed needs --calls", c.Command.HelpName)
			}
			if c.Bool("calls") {
				return showCalls(c, dir)
			}
			return show(c, dir)
		},
	}
}

func show(c *cli.Context, dir string) error {
	log, err := record.Open(filepath.Join(dir, record.CompletionsFile))
	if err != nil {
		return err
	}
	defer log.Close()
	step, steps := c.Int("step"), log.Steps()
	if step == 0 && len(steps) > 0 { // the newest
		step = steps[len(steps)-1].Step
	}
	var all []record.Completion
	err = record.Lines(log, step, record.AllGroups, func(_ int, l record.Completion) error {
		all = append(all, l)
		return nil
	})
	if err != nil {
		return err
	}
	if len(all) == 0 && c.IsSet("step") {
		return hint.With(usagef("run %s has no completions of step %d", dir, step), "steps count through all stages; without --step, the newest is shown")
	}
	if len(all) == 0 {
		return usagef("run %s has no completions yet", dir)
	}
	if !c.IsSet("group") {
		if c.Bool("json") {
			return printAll(c, all)
		}
		showGroups(c.App.Writer, all)
		return nil
	}
	group := slices.DeleteFunc(slices.Clone(all), func(l record.Completion) bool { return l.Group != c.Int("group") })
	if len(group) == 0 {
		return badValue("group", c.Int("group"), "0 to %d", all[len(all)-1].Group)
	}
	switch {
	case c.Bool("tokens"):
		return showTokens(c, dir, group)
	case c.Bool("json"):
		return printAll(c, group)
	}
	said, err := judgementsOf(dir, group[0])
	if err != nil {
		return err
	}
	showGroup(c.App.Writer, group, said)
	return showMade(c.App.Writer, dir, group[0])
}

// showMade prints the rows that the run made of a group.
func showMade(w io.Writer, dir string, of record.Completion) error {
	log, err := record.Open(filepath.Join(dir, record.MadeFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	defer log.Close()
	return record.Lines(log, of.Step, of.Group, func(_ int, m record.Made) error {
		showRow(w, m)
		return nil
	})
}

// judgementsOf are what judges said about the completions of a group, [sample]; of a run without a
// judge there are none.
func judgementsOf(dir string, of record.Completion) (map[int][]record.Judgement, error) {
	log, err := record.Open(filepath.Join(dir, record.JudgementsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer log.Close()
	out := map[int][]record.Judgement{}
	err = record.Lines(log, of.Step, of.Group, func(_ int, l record.Judgement) error {
		out[l.Sample] = append(out[l.Sample], l)
		return nil
	})
	return out, err
}

// showJudgements prints what judges said about a completion, an answer a line.
func showJudgements(w io.Writer, indent string, said []record.Judgement) {
	for _, l := range said {
		parts := []string{"cannot be read: " + terminal.Line(l.Why, shownWidth)}
		if l.Reading != nil {
			parts[0] = strings.TrimSpace(shownNumber(l.Reading))
		}
		if l.About != "" {
			parts = append(parts, "about "+terminal.Line(l.About, shownWidth))
		}
		if l.Raw != nil {
			parts = append(parts, "its head says "+strings.TrimSpace(shownNumber(l.Raw)))
		}
		if l.Mass != nil {
			parts = append(parts, fmt.Sprintf("its answers have %.1f %% of the probability", 100**l.Mass))
		}
		if l.Text != "" {
			parts = append(parts, `it wrote "`+terminal.Line(l.Text, shownWidth)+`"`)
		}
		if l.Asked != "" {
			parts = append(parts, `it was asked "`+terminal.Line(l.Asked, shownWidth)+`"`)
		}
		fmt.Fprintf(w, "%sjudge %s: %s\n", indent, l.Verifier, strings.Join(parts, "; "))
	}
}

// printAll writes values as JSON lines.
func printAll[T any](c *cli.Context, all []T) error {
	for _, v := range all {
		if err := printJSON(c, v); err != nil {
			return err
		}
	}
	return nil
}

const shownWidth = 100 // characters of a text on one line

func showGroups(w io.Writer, all []record.Completion) {
	fmt.Fprintf(w, "step %d of stage %s\n", all[0].Step, all[0].Stage)
	for len(all) > 0 {
		n, sum, right := 0, 0.0, 0
		for ; n < len(all) && all[n].Group == all[0].Group; n++ {
			if r := all[n].Reward; r != nil {
				sum += *r
			}
			if all[n].Verdict == "right" {
				right++
			}
		}
		fmt.Fprintf(w, "group %3d  %2d of %2d right  mean reward %6.3f  %s\n", all[0].Group, right, n, sum/float64(n), terminal.Line(all[0].Prompt, shownWidth))
		all = all[n:]
	}
}

func showGroup(w io.Writer, group []record.Completion, said map[int][]record.Judgement) {
	showHead(w, group[0])
	if group[0].Nodes != nil {
		showTree(w, group, said)
		return
	}
	count, order := map[string]int{}, []record.Completion{}
	for _, l := range group {
		said := saidIn(l)
		if count[said]++; count[said] == 1 {
			order = append(order, l)
		}
	}
	for _, l := range order {
		fmt.Fprintf(w, "%3d x  reward %s  advantage %s  %s\n", count[saidIn(l)], shownNumber(l.Reward), shownNumber(l.Advantage), saidIn(l))
		fmt.Fprintf(w, "       %s: %s\n", l.Verdict, terminal.Line(l.Reason, shownWidth))
		showJudgements(w, "       ", said[l.Sample])
	}
}

// branch is a node of a tree as it is shown.
type branch struct {
	text     string
	paid     float64 // sum of the rewards of the completions that go through it
	scored   int     // of them
	leaves   int     // completions that go through it
	children []int   // numbers of nodes
}

// showTree prints the nodes of a group, each below the one that it comes after.
func showTree(w io.Writer, group []record.Completion, said map[int][]record.Judgement) {
	nodes, roots, ends := map[int]*branch{}, []int{}, map[int][]record.Completion{}
	for _, l := range group {
		before := (*branch)(nil)
		for _, n := range l.Nodes {
			b, known := nodes[n.Node]
			if !known {
				b = &branch{text: n.Text}
				nodes[n.Node] = b
				if before == nil {
					roots = append(roots, n.Node)
				} else {
					before.children = append(before.children, n.Node)
				}
			}
			b.leaves++
			if l.Reward != nil {
				b.paid, b.scored = b.paid+*l.Reward, b.scored+1
			}
			before = b
		}
		last := l.Nodes[len(l.Nodes)-1].Node
		ends[last] = append(ends[last], l)
	}
	var show func(number, depth int)
	show = func(number, depth int) {
		b, indent := nodes[number], strings.Repeat("  ", depth)
		if len(b.children) > 0 {
			mean := "     –"
			if b.scored > 0 {
				mean = fmt.Sprintf("%6.3f", b.paid/float64(b.scored))
			}
			fmt.Fprintf(w, "%s%s  mean reward %s of %s\n", indent, terminal.Line(b.text, shownWidth), mean, terminal.Count(b.leaves, "completion", ""))
		}
		for _, l := range ends[number] {
			fmt.Fprintf(w, "%s%s  sample %d  reward %s  advantage %s\n", indent, terminal.Line(b.text, shownWidth), l.Sample, shownNumber(l.Reward), shownNumber(l.Advantage))
			fmt.Fprintf(w, "%s  %s: %s\n", indent, l.Verdict, terminal.Line(l.Reason, shownWidth))
			showJudgements(w, indent+"  ", said[l.Sample])
		}
		for _, n := range b.children {
			show(n, depth+1)
		}
	}
	for _, n := range roots {
		show(n, 0)
	}
}

// saidIn is a completion on one line; of an episode its turns, each on a line, and what the world
// said, indented further.
func saidIn(l record.Completion) string {
	if l.Turns == nil {
		return terminal.Line(l.Text, shownWidth)
	}
	var b strings.Builder
	n := 0
	for _, t := range l.Turns {
		if t.By == record.ByPolicy {
			n++
		}
	}
	b.WriteString(terminal.Count(n, "turn", ""))
	n = 0
	for i, t := range l.Turns {
		text := terminal.Line(t.Text, shownWidth)
		if t.By != record.ByPolicy {
			var tools []string
			for _, c := range record.Answers(l.Turns, i) {
				tools = append(tools, terminal.Line(c.Tool, shownWidth))
				if c.Failed {
					tools[len(tools)-1] += ", a mistake"
				}
			}
			fmt.Fprintf(&b, "\n           %s: %s", cmp.Or(strings.Join(tools, "; "), t.Role, t.By), text)
			continue
		}
		n++
		turn := fmt.Sprintf("turn %d", n)
		if t.Summary {
			turn += ", a summary"
		}
		if t.Fresh {
			turn += ", in a new context"
		}
		fmt.Fprintf(&b, "\n       %s: %s", turn, text)
		if t.Reward != 0 {
			fmt.Fprintf(&b, "   pays %.3f", t.Reward)
		}
	}
	if l.Limit != "" {
		fmt.Fprintf(&b, "\n       out of %s", l.Limit)
	}
	return b.String()
}

func showHead(w io.Writer, l record.Completion) {
	fmt.Fprintf(w, "step %d of stage %s, group %d: %s\n", l.Step, l.Stage, l.Group, terminal.Line(l.Prompt, shownWidth))
	if l.Seat != "" {
		fmt.Fprintf(w, "seat: %s", terminal.Line(l.Seat, shownWidth))
		if l.Against != "" {
			fmt.Fprintf(w, ", against %s", terminal.Line(l.Against, shownWidth))
		}
		fmt.Fprintln(w)
	}
	if l.Answer != "" {
		fmt.Fprintf(w, "answer: %s\n", terminal.Line(l.Answer, shownWidth))
	}
}

func shownNumber(v *float64) string {
	if v == nil {
		return "     –"
	}
	return fmt.Sprintf("%6.3f", *v)
}

func showTokens(c *cli.Context, dir string, group []record.Completion) error {
	w := c.App.Writer
	log, err := record.Open(filepath.Join(dir, record.TokensFile))
	if err != nil {
		return err
	}
	defer log.Close()
	tokens := map[int]record.Tokens{} // [sample]
	largest := 0.0
	err = record.Lines(log, group[0].Step, group[0].Group, func(_ int, l record.Tokens) error {
		tokens[l.Sample] = l
		for _, x := range l.Weight {
			largest = math.Max(largest, math.Abs(float64(x)))
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(tokens) == 0 {
		return hint.With(usagef("the tokens of step %d were not recorded", group[0].Step), "the recipe's key token_every says which steps are recorded")
	}
	if c.Bool("json") {
		for _, l := range group {
			if t, ok := tokens[l.Sample]; ok {
				if err := printJSON(c, t); err != nil {
					return err
				}
			}
		}
		return nil
	}
	showHead(w, group[0])
	colour := colours(w)
	for _, l := range group {
		t, ok := tokens[l.Sample]
		if !ok {
			continue
		}
		fmt.Fprintf(w, "sample %d  reward %s  advantage %s\n ", l.Sample, shownNumber(l.Reward), shownNumber(l.Advantage))
		read := t.Read
		for i, text := range t.Text {
			if len(read) > 0 && read[0].Before == i {
				mark := ""
				if read[0].Fresh {
					mark = "a new context: "
				}
				fmt.Fprintf(w, " [%s%s]", mark, terminal.Line(read[0].Text, shownWidth))
				read = read[1:]
			}
			fmt.Fprintf(w, " %s", shownToken(t, i, text, largest, colour))
		}
		fmt.Fprintln(w)
	}
	return nil
}

// shownToken is a token with a mark and, on a terminal, a colour that say what the step
// did to it. Its brightness follows the weight, against the largest of the group.
func shownToken(t record.Tokens, i int, text string, largest float64, colour bool) string {
	text = terminal.Line(text, shownWidth)
	weight := 0.0
	if i < len(t.Weight) {
		weight = float64(t.Weight[i])
	}
	mark, hue := "", 0
	switch {
	case weight < 0:
		mark, hue = "▲", 4 // blue
	case weight > 0:
		mark, hue = "▼", 1 // red
	case slices.Contains(t.Clipped, i):
		mark = "="
	}
	if !colour || hue == 0 {
		return text + mark
	}
	bright := 30
	if math.Abs(weight) > largest/2 {
		bright = 90
	}
	return fmt.Sprintf("\x1b[%dm%s%s\x1b[0m", bright+hue, text, mark)
}

// colours says whether a writer is a terminal that wants colours (https://no-color.org).
func colours(w io.Writer) bool {
	if out, ok := w.(*writer); ok {
		w = out.Writer
	}
	f, ok := w.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" || strings.HasPrefix(os.Getenv("TERM"), "dumb") {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
