package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/tasks"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

const tasksHelp = `Examples:
   rlzero tasks
   rlzero tasks show countdown
   rlzero tasks show gcd --form chat
   rlzero tasks draw gcd --n 1000 --level 2 > gcd.jsonl

With --json, rlzero tasks writes {"name":...,"summary":...} lines, and rlzero tasks show writes
one object: name, summary, doc, settings (key, about, accepted, value), curriculum (name,
levels, settings), and samples (rows as rlzero tasks draw writes them).`

const drawHelp = `Writes one row per line, each problem once:

   {"id":"...","verifier":"task:NAME","prompt":"...","answer":"...",
    "metadata":{...}}

--form chat writes "question" in place of "prompt", and adds

   "messages":[{"role":"system","content":"..."},
               {"role":"user","content":"..."}]

rlzero verify reads such lines once they have a "completion".

Example:
   rlzero tasks draw gcd --n 3 | \
      jq -c '. + {completion: ("<answer>" + .answer + "</answer>")}' | \
      rlzero verify --in -

The two splits never share a problem, whatever the seed. With the default seed, --split
held-out gives the first problems of rlzero eval --task NAME.`

var formFlag = &cli.StringFlag{Name: "form", Usage: "text, or chat: messages with a system prompt", Value: "text"}

func tasksCommand() *cli.Command {
	command := taskCatalogue.lister("list or show the procedural tasks; draw problems", "countdown", listTasks, showTask)
	command.Description = tasksHelp
	command.ArgsUsage = "[show NAME | draw NAME]"
	command.Subcommands[0].Usage = "show the settings, curriculum and three problems of a task"
	command.Subcommands[0].Flags = append(settingFlags(), formFlag, jsonFlag)
	command.Subcommands = append(command.Subcommands, &cli.Command{
		Name: "draw", Usage: "write problems of a task as JSON lines", ArgsUsage: "NAME", Description: drawHelp,
		Flags: append(settingFlags(), formFlag,
			&cli.IntFlag{Name: "n", Usage: "number of problems", Value: 10},
			&cli.Uint64Flag{Name: "seed", Usage: "seed of the draws", Value: tasks.HeldOutSeed},
			&cli.StringFlag{Name: "split", Usage: "train or held-out", Value: tasks.Train.String()},
			alwaysJSON,
		),
		Action: drawTask,
	})
	return command
}

// settingFlags change the settings of a task.
func settingFlags() []cli.Flag {
	return []cli.Flag{
		&cli.IntFlag{Name: "level", Usage: "level of the curriculum, counted from 0", DefaultText: "the default settings"},
		&cli.StringSliceFlag{Name: "set", Usage: "change a setting, after --level is applied: `KEY=VALUE`"},
	}
}

func listTasks(c *cli.Context) error {
	var all []named
	for _, f := range tasks.Families() {
		all = append(all, named{f.Name, f.Summary})
	}
	return printNamed(c, all)
}

// taskOf is the named task with the settings of the flags.
func taskOf(c *cli.Context, name string) (tasks.Family, tasks.Task, error) {
	f, err := tasks.Lookup(name)
	if err != nil {
		return f, nil, usage(err)
	}
	t := f.New()
	if c.IsSet("level") {
		levels := 0
		for _, a := range f.Curriculum {
			levels = max(levels, len(a.Levels))
		}
		if levels == 0 {
			return f, nil, usagef("--level does not go with the task %s, which has no levels", name)
		}
		if level := c.Int("level"); level < 0 || level >= levels {
			return f, nil, badValue("level", level, "0 to %d for the task %s", levels-1, name)
		}
		t = f.Level(c.Int("level"))
	}
	for _, pair := range c.StringSlice("set") {
		key, value, found := strings.Cut(pair, "=")
		if !found {
			return f, nil, badValue("set", pair, "KEY=VALUE")
		}
		if err := tasks.Set(t, strings.TrimSpace(key), strings.TrimSpace(value)); err != nil {
			return f, nil, usagef("--set %s: %w", pair, err)
		}
	}
	if err := t.Validate(); err != nil {
		return f, nil, usagef("task %s: %w", name, err)
	}
	if form := c.String("form"); c.IsSet("form") && form != "text" && form != "chat" {
		return f, nil, badChoice("form", form, "text", "chat")
	}
	return f, t, nil
}

// constantOf is the best constant answer on 100 problems, or on 500 where it is right for a
// good share: of one of two answers that has a standard deviation of 5 % and 2 %.
func constantOf(t tasks.Task) tasks.Constant {
	c := tasks.BestConstant(t, 100)
	if c.Share() > 0.4 {
		c = tasks.BestConstant(t, 500)
	}
	return c
}

func showTask(c *cli.Context, name string) error {
	f, t, err := taskOf(c, name)
	if err != nil {
		return err
	}
	rows, demonstrations, err := tasks.Samples(t, 3)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return showTaskJSON(c, f, t, rows)
	}
	w := c.App.Writer
	fmt.Fprintln(w, strings.TrimSpace(f.Doc))
	if c.IsSet("level") || c.IsSet("set") {
		fmt.Fprintf(w, "\nWith these settings: %s\n", t.Difficulty())
	}
	if played, ok := t.(tasks.Episodic); ok {
		return showPlayed(w, played, rows)
	}
	fmt.Fprintf(w, "\nBest constant answer, a baseline: %s\n", constantOf(t))
	_, teaches := t.(tasks.Demonstrator)
	what := "the reference answer"
	if teaches {
		what = "a demonstration"
	}
	fmt.Fprintf(w, "\nThree problems, each with %s:\n", what)
	for i, row := range rows {
		switch {
		case c.String("form") == "chat":
			fmt.Fprintf(w, "\n%d.", i+1)
			for _, m := range tasks.Chat(t, row) {
				fmt.Fprintf(w, " %s: %s\n  ", m.Role, indented(m.Content, 3))
			}
			fmt.Fprintf(w, " => %s\n", indented(demonstrations[i], 6))
		case teaches:
			fmt.Fprintf(w, "   %s %s\n", row.Question, demonstrations[i])
		default:
			fmt.Fprintf(w, "\n%d. %s\n   => %s\n", i+1, indented(row.Question, 3), indented(demonstrations[i], 6))
		}
	}
	return nil
}

// playedProblems are those that players of a task are tried on.
const playedProblems = 200

// earned is the mean score of the players of a task that is played in turns.
type earned struct {
	Best   float64 `json:"best"`
	Random float64 `json:"random"`
	Shown  float64 `json:"demonstrations"`
}

// earnedBy is what the players of a task earn.
func earnedBy(t tasks.Episodic) (*earned, error) {
	mean := func(p world.Player) (sum float64, err error) {
		for i := range playedProblems {
			e, err := playedOnce(t, p, t.Draw(random.At(tasks.HeldOutSeed, 0, uint64(i)), tasks.Train), i)
			if err != nil {
				return 0, err
			}
			sum += e.Verdict.Score
		}
		return sum / playedProblems, nil
	}
	best, err := mean(t.Best())
	chance, other := mean(t.Random())
	shown, third := mean(t.Shown())
	return &earned{best, chance, shown}, errors.Join(err, other, third)
}

// playedOnce is the i-th episode of a player.
func playedOnce(t tasks.Episodic, p world.Player, row verify.Problem, i int) (world.Played, error) {
	dice := func(n uint64) *random.Rand { return random.At(tasks.HeldOutSeed, n, uint64(i)) }
	return world.Play(context.Background(), t, p, row, t.Turns(), dice(1), dice(2))
}

// showPlayed tells what the players of a task earn that is played in turns, and shows an episode of
// each of some problems.
func showPlayed(w io.Writer, t tasks.Episodic, rows []verify.Problem) error {
	earned, err := earnedBy(t)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\nOn %d problems the best player earns %.3f, random turns %.3f, demonstrations %.3f\n", playedProblems, earned.Best, earned.Random, earned.Shown)
	fmt.Fprintf(w, "\nThree problems, each with a demonstration:\n")
	for i, row := range rows {
		e, err := playedOnce(t, t.Shown(), row, i)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "\n%d. %s\n", i+1, indented(row.Question, 3))
		printPlayed(w, e)
	}
	return nil
}

// indented indents the lines after the first.
func indented(text string, columns int) string {
	return strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", columns))
}

func showTaskJSON(c *cli.Context, f tasks.Family, t tasks.Task, rows []verify.Problem) error {
	type attribute struct {
		Name     string    `json:"name"`
		Levels   []float64 `json:"levels"`
		Settings []string  `json:"settings"`
	}
	curriculum := []attribute{}
	for _, a := range f.Curriculum {
		curriculum = append(curriculum, attribute{a.Name, a.Levels, a.Fields})
	}
	var constant *tasks.Constant
	var players *earned
	if played, ok := t.(tasks.Episodic); ok {
		var err error
		if players, err = earnedBy(played); err != nil {
			return err
		}
	} else {
		best := constantOf(t)
		constant = &best
	}
	var samples []taskRow
	for _, row := range rows {
		samples = append(samples, rowOf(t, row, c.String("form")))
	}
	return printJSON(c, struct {
		Name       string          `json:"name"`
		Summary    string          `json:"summary"`
		Doc        string          `json:"doc"`
		Settings   []tasks.Setting `json:"settings"`
		Curriculum []attribute     `json:"curriculum"`
		Constant   *tasks.Constant `json:"best_constant,omitempty"`
		Players    *earned         `json:"players,omitempty"` // of a task that is played in turns
		Samples    []taskRow       `json:"samples"`
	}{f.Name, f.Summary, f.Doc, append([]tasks.Setting{}, tasks.Settings(t)...), curriculum, constant, players, samples})
}

// taskRow is a line of rlzero tasks draw.
type taskRow struct {
	ID       string          `json:"id"`
	Verifier string          `json:"verifier"`
	Prompt   string          `json:"prompt,omitempty"`
	Messages []tasks.Message `json:"messages,omitempty"`
	Question string          `json:"question,omitempty"` // the prompt's text beside messages
	Answer   string          `json:"answer"`
	Metadata any             `json:"metadata"`
}

func rowOf(t tasks.Task, row verify.Problem, form string) taskRow {
	out := taskRow{ID: row.ID, Verifier: "task:" + t.Name(), Answer: row.Answer, Metadata: row.Metadata}
	if form == "chat" {
		out.Messages, out.Question = tasks.Chat(t, row), row.Question
	} else {
		out.Prompt = row.Question
	}
	return out
}

func drawTask(c *cli.Context) error {
	args, err := positional(c, "NAME")
	if err != nil {
		return err
	}
	_, t, err := taskOf(c, args[0])
	if err != nil {
		return err
	}
	split := tasks.Train
	switch c.String("split") {
	case tasks.Train.String():
	case tasks.HeldOut.String():
		split = tasks.HeldOut
	default:
		return badChoice("split", c.String("split"), "train", "held-out")
	}
	if c.Int("n") < 1 {
		return badValue("n", c.Int("n"), "whole numbers from 1")
	}
	rows, err := tasks.Rows(t, split, c.Uint64("seed"), c.Int("n"))
	if err != nil {
		return usage(err)
	}
	for _, row := range rows {
		if err := printJSON(c, rowOf(t, row, c.String("form"))); err != nil {
			return err
		}
	}
	return nil
}
