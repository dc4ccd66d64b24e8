package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/rl/audit/worlds"
	"github.com/rlzero/rlzero/rl/progress"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/resolve"
	"github.com/rlzero/rlzero/rl/tasks"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/rl/world/outside"
	"github.com/rlzero/rlzero/verify"
)

const worldsHelp = `A world is a task that is played in turns: it answers each turn, and judges the episode. Every
world has a player that always wins, and one that takes random turns. rlzero tasks show NAME has
the rules and settings. rlzero worlds show NAME --json writes one object per player: player,
question, turns (text, reply, reward, state, facts), verdict.

Examples:
   rlzero worlds
   rlzero worlds show grid
   rlzero worlds play rooms
   rlzero worlds check --all`

const checkHelp = `Plays a world with players that need no model, and says what it does not keep of this:

   - The best player earns 1 in every episode.
   - Random turns earn what the world says they do, within the interval that
     chance leaves once in 100 checks. The interval is that of the normal
     distribution: with few problems, where random turns hardly ever win, it
     is too narrow.
   - No attack earns more than random turns: silence, an echo, a claim of
     victory, a forged reply or end of a turn, one move many times in a turn
     or for ever, turns that are cut off.
   - Episodes that are played in turns with others are the same as alone, and
     other seeds make other episodes.
   - Demonstrations have the form that they should, and everything that is
     said has tokens in the vocabulary of the task.

A recipe in place of NAME has its program of [task.world] checked: that it works; that an
episode begins with the same words under every chance; that its episodes are the same side by
side and again, and copies as their originals, if it promises that; and that no attack breaks
it or wins every episode. A player that says numbers and short words takes the place of the
best one. --json writes name, problems, guesses, attacks, notes, faults.

The exit code is 1 if there is a fault. --json writes one object per world: name, problems, best,
random, stated, within, demonstrations, attacks (attack, mean), faults.

Examples:
   rlzero worlds check nim
   rlzero worlds check nim --set heaps=4
   rlzero worlds check --all --problems 100
   rlzero worlds check guess.toml`

const bridgeHelp = `The program is a world for command in [task.world]. Its argument is the name of an environment, and
of openenv the address of a server on this machine, such as 127.0.0.1:8000; --help prints its
options. It needs a Python that has the library; that of openenv is websockets. A return from
--low (0) to --high (1) is the score of an episode.

   - gymnasium: observations are told as numbers, or as a text where the
     environment has render_mode = "ansi". An action is a name of --actions,
     a number, a text, or a list of numbers.
   - openenv: a turn is the field --say of an action, and --show is what is
     told of an observation.
   - textarena: games for one player.
   - verifiers: environments of several turns without tools, which versions
     before 0.4 have.

Examples:
   rlzero worlds bridge gymnasium > bridge.py
   python3 bridge.py FrozenLake-v1 --actions left,down,right,up --help`

func worldsCommand() *cli.Command {
	command := worldCatalogue.lister("list, show, play and check the worlds", "grid", listWorlds, showWorld)
	command.Description = worldsHelp
	command.ArgsUsage = "[show NAME | play NAME | check NAME | bridge LIBRARY]"
	set := &cli.StringSliceFlag{Name: "set", Usage: "change a setting of the world: `KEY=VALUE`"}
	seed := &cli.Uint64Flag{Name: "seed", Usage: "seed of the problem and of what is random in the episode", Value: tasks.HeldOutSeed}
	show := command.Subcommands[0]
	show.Usage, show.Flags = "show an episode of the best player, and one of random turns", []cli.Flag{set, seed, jsonFlag}
	command.Subcommands = append(command.Subcommands,
		&cli.Command{
			Name: "play", Usage: "play an episode in the terminal", ArgsUsage: "NAME",
			Description: `Prints what the world says, and reads a turn from each line, until the episode is over.

Examples:
   rlzero worlds play guess
   rlzero worlds play nim --seed 7`,
			Flags: []cli.Flag{set, seed}, Action: playWorld,
		},
		&cli.Command{
			Name: "check", Usage: "try whether a world keeps what worlds promise", ArgsUsage: "NAME|RECIPE", Description: checkHelp,
			Flags: []cli.Flag{set,
				&cli.BoolFlag{Name: "all", Usage: "check every world, in place of NAME"},
				&cli.IntFlag{Name: "problems", Usage: fmt.Sprintf("problems that each player is tried on; of a program of others %d", othersProblems), Value: 1000},
				jsonFlag},
			Action: checkWorlds,
		},
		&cli.Command{
			Name: "bridge", Usage: "print a Python program that plays environments of a library", ArgsUsage: strings.Join(outside.Bridges(), "|"), Description: bridgeHelp,
			Action: func(c *cli.Context) error {
				args, err := positional(c, "LIBRARY")
				if err != nil {
					return err
				}
				if known := outside.Bridges(); !slices.Contains(known, args[0]) {
					return usage(hint.Unknown("library", args[0], known, ""))
				}
				_, err = io.WriteString(c.App.Writer, outside.Bridge(args[0]))
				return err
			},
		})
	return command
}

func worldNames() []string {
	var names []string
	for _, f := range tasks.Worlds() {
		names = append(names, f.Name)
	}
	return names
}

func listWorlds(c *cli.Context) error {
	var all []named
	for _, f := range tasks.Worlds() {
		all = append(all, named{f.Name, f.Summary})
	}
	return printNamed(c, all)
}

// worldOf is the named world with the settings of the flags.
func worldOf(c *cli.Context, name string) (tasks.Episodic, error) {
	if err := worldCatalogue.check(name); err != nil {
		return nil, err
	}
	_, t, err := taskOf(c, name)
	if err != nil {
		return nil, err
	}
	return t.(tasks.Episodic), nil // all that are listed are
}

// diceOf are random numbers of the flag --seed, for a purpose of the command.
func diceOf(c *cli.Context, purpose uint64) *random.Rand {
	return random.At(c.Uint64("seed"), purpose, 0)
}

// Purposes of random numbers of the commands of worlds.
const (
	drawnProblem = iota
	worldDice
	playerDice
)

func showWorld(c *cli.Context, name string) error {
	w, err := worldOf(c, name)
	if err != nil {
		return err
	}
	row := w.Draw(diceOf(c, drawnProblem), tasks.Train)
	if !c.Bool("json") {
		fmt.Fprintln(c.App.Writer, row.Question)
	}
	for _, p := range []struct {
		name, key string
		player    world.Player
	}{{"the best player", "best", w.Best()}, {"random turns", "random", w.Random()}} {
		e, err := world.Play(c.Context, w, p.player, row, w.Turns(), diceOf(c, worldDice), diceOf(c, playerDice))
		if err != nil {
			return err
		}
		if c.Bool("json") {
			if err := printJSON(c, shownEpisode(p.key, row, e)); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(c.App.Writer, "\n%s:\n", p.name)
		printPlayed(c.App.Writer, e)
	}
	return nil
}

// playedTurn is a turn of rlzero worlds show --json.
type playedTurn struct {
	Text   string             `json:"text"`
	Reply  []string           `json:"reply"`
	Reward float64            `json:"reward"`
	State  string             `json:"state"`
	Facts  map[string]float64 `json:"facts"`
}

// playedEpisode is a line of rlzero worlds show --json.
type playedEpisode struct {
	Player   string         `json:"player"`
	Question string         `json:"question"`
	Turns    []playedTurn   `json:"turns"`
	Verdict  verify.Verdict `json:"verdict"`
}

func shownEpisode(player string, row verify.Problem, e world.Played) playedEpisode {
	out := playedEpisode{Player: player, Question: row.Question, Verdict: e.Verdict}
	for _, x := range e.Turns {
		turn := playedTurn{Text: x.Text, Reply: []string{}, Reward: x.Reply.Reward, State: x.Reply.State, Facts: x.Reply.Facts}
		for _, m := range x.Reply.Messages {
			turn.Reply = append(turn.Reply, m.Text)
		}
		out.Turns = append(out.Turns, turn)
	}
	return out
}

// printPlayed prints the turns of an episode, what they are told, and how it ends.
func printPlayed(w io.Writer, e world.Played) {
	for _, turn := range e.Turns {
		fmt.Fprintf(w, "   => %s\n", indented(turn.Text, 6))
		for _, m := range turn.Reply.Messages {
			fmt.Fprintf(w, "      %s\n", indented(m.Text, 6))
		}
	}
	fmt.Fprintf(w, "   %s: %s\n", e.Verdict.Verdict, e.Verdict.Reason)
}

// maxTurn bounds what is read of a turn, in bytes.
const maxTurn = 1 << 20

// playWorld has a person play an episode.
func playWorld(c *cli.Context) error {
	args, err := positional(c, "NAME")
	if err != nil {
		return err
	}
	w, err := worldOf(c, args[0])
	if err != nil {
		return err
	}
	row := w.Draw(diceOf(c, drawnProblem), tasks.Train)
	e, first, err := w.Begin(c.Context, row, diceOf(c, worldDice))
	if err != nil {
		return err
	}
	defer e.Close()
	if progress.Live(c.App.Reader) {
		fmt.Fprintf(c.App.ErrWriter, "%d turns, one a line; Ctrl-D ends the game; rlzero tasks show %s has the rules\n", w.Turns(), args[0])
	}
	tell := func(messages []world.Message) {
		for _, m := range messages {
			fmt.Fprintln(c.App.Writer, m.Text)
		}
	}
	tell([]world.Message{{Role: world.User, Text: row.Question}})
	tell(first.Messages)
	lines := bufio.NewScanner(c.App.Reader)
	lines.Buffer(nil, maxTurn)
	for range w.Turns() {
		if progress.Live(c.App.Reader) {
			fmt.Fprint(c.App.Writer, "> ")
		}
		if !lines.Scan() {
			break
		}
		reply, err := e.Step(c.Context, world.Turn{Text: lines.Text()})
		if err != nil {
			return err
		}
		tell(reply.Messages)
		if reply.Verdict != nil {
			return verdictOf(c, *reply.Verdict)
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return usagef("a turn has more than %d bytes; accepted: at most that many", maxTurn)
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("standard input: %w", err)
	}
	v, err := world.Ended(c.Context, e)
	if err != nil {
		return err
	}
	return verdictOf(c, v)
}

func verdictOf(c *cli.Context, v verify.Verdict) error {
	_, err := fmt.Fprintf(c.App.Writer, "%s: %s\n", v.Verdict, v.Reason)
	return err
}

func checkWorlds(c *cli.Context) error {
	names := worldNames()
	if !c.Bool("all") {
		var err error
		if names, err = positional(c, "NAME|RECIPE"); err != nil {
			return hint.With(err, "--all checks every world")
		}
	} else if _, err := positional(c); err != nil {
		return err
	}
	if c.Bool("all") && c.IsSet("set") {
		return usagef("--set changes one world: give its name in place of --all")
	}
	if c.Int("problems") < 1 {
		return badValue("problems", c.Int("problems"), "whole numbers from 1")
	}
	if file := names[0]; !c.Bool("all") && worldCatalogue.checkFile(file) == nil && !slices.Contains(worldNames(), file) {
		return checkOther(c, file)
	}
	faults, width := 0, 0
	for _, name := range names {
		width = max(width, len(name))
	}
	for _, name := range names {
		w, err := worldOf(c, name)
		if err != nil {
			return err
		}
		found, err := worlds.Check(c.Context, w, c.Int("problems"))
		if err != nil {
			return err
		}
		faults += len(found.Faults)
		if c.Bool("json") {
			if err := printJSON(c, found); err != nil {
				return err
			}
			continue
		}
		most, by := bestAttack(found.Attacks)
		fmt.Fprintf(c.App.Writer, "%-*s  best %.3f, random %.3f (stated %.3f ± %.3f), demonstrations %.3f, attacks at most %.3f%s\n",
			width, name, found.Best, found.Random, found.Stated, found.Within, found.Shown, most, by)
		for _, fault := range found.Faults {
			fmt.Fprintf(c.App.Writer, "   FAULT: %s\n", terminal.Text(fault))
		}
	}
	if faults > 0 {
		return fmt.Errorf("the check found %s", terminal.Count(faults, "fault", ""))
	}
	return nil
}

// bestAttack is what the best of some attacks earns, and its name in parentheses if that is more than nothing.
func bestAttack(all []worlds.Earned) (most float64, by string) {
	for _, a := range all {
		if a.Mean > most {
			most, by = a.Mean, " ("+a.Attack+")"
		}
	}
	return most, by
}

// othersProblems are tried of a program of others where nobody says how many: it may be slow.
const othersProblems = 30

// checkOther checks the program of others of a recipe.
func checkOther(c *cli.Context, file string) error {
	r, err := recipe.Load(file, c.StringSlice("set"))
	if err != nil {
		return err
	}
	if !r.Task.World.Given() {
		return hint.With(usagef("the task of %s is played by no program of others", file), "a recipe names one with command in [task.world]; rlzero worlds lists the worlds of this program")
	}
	opened, err := resolve.Open(r, programsTold(c))
	if err != nil {
		return err
	}
	defer opened.Close()
	problems := c.Int("problems")
	if !c.IsSet("problems") {
		problems = othersProblems
	}
	task := opened.Recipe.Task
	o := worlds.Other{Name: task.World.Label(), World: *opened.World, Pure: task.World.Pure, Turns: task.Episode.Turns, Clock: task.Episode.Clock(), Start: outside.StartClock}
	o.Rows, _ = opened.Source.Rows()
	if o.Rows = o.Rows[:min(len(o.Rows), problems)]; len(o.Rows) == 0 {
		o.Rows = prompts.Step(opened.Source, r.Seed, 0, 0, problems)
	}
	found := worlds.CheckOther(c.Context, o)
	if c.Bool("json") {
		if err := printJSON(c, found); err != nil {
			return err
		}
	} else {
		most, by := bestAttack(found.Attacks)
		fmt.Fprintf(c.App.Writer, "%s  %s, guesses %.3f, attacks at most %.3f%s\n", found.Name, terminal.Count(found.Problems, "problem", ""), found.Guesses, most, by)
		for _, note := range found.Notes {
			fmt.Fprintf(c.App.Writer, "   %s\n", note)
		}
		for _, fault := range found.Faults {
			fmt.Fprintf(c.App.Writer, "   FAULT: %s\n", terminal.Text(fault))
		}
	}
	if len(found.Faults) > 0 {
		return fmt.Errorf("the check found %s", terminal.Count(len(found.Faults), "fault", ""))
	}
	return c.Context.Err()
}
