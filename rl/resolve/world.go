//go:build !js

package resolve

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/rl/world/outside"
)

// openWorld starts the program of a task, tries it, and opens the problems that it plays; nil, with a fault, if
// it cannot. again says that a journal has the answers of a program that is not pure: it is not started then,
// unless its problems are its own. told is told of its command before it starts.
func openWorld(r *recipe.Recipe, again bool, told func(command string), faults *recipe.Faults) (*outside.World, prompts.Source, []string) {
	const key = "task.world"
	own := &r.Task.World
	command := outside.Command{Words: own.Command, Env: own.Env, Told: told}
	w := outside.New(command, own.Facts)
	fail := func(key string, err error) (*outside.World, prompts.Source, []string) {
		w.Close()
		faults.Fail(key, "%w", err)
		return nil, nil, nil
	}
	known := again && own.SHA256 != "" && !own.Pure
	var hello outside.Hello
	var notes []string
	if !known || !r.Task.FromData() && own.Problems == recipe.ProblemsOwn {
		var err error
		if hello, err = w.Hello(); err != nil {
			return fail(key+".command", fmt.Errorf("%s: %w", command, err))
		}
		notes = append(notes, fmt.Sprintf("the world is %s: %s", hello.Name, command))
	}
	if own.Problems == recipe.ProblemsAuto {
		if own.Problems = recipe.ProblemsNumbers; hello.Rows {
			own.Problems = recipe.ProblemsOwn
		}
	}
	source, found, err := problemsOf(r, w, faults)
	notes = append(notes, found...)
	if err != nil {
		return fail(key, err)
	}
	if source == nil {
		w.Close()
		return nil, nil, nil
	}
	if known {
		return &w, source, notes
	}
	sum, err := command.Digest()
	if err != nil {
		return fail(key+".command", err)
	}
	if !r.Task.FromData() { // data has a hash of its own
		whole := sha256.Sum256([]byte(sum + source.Hash()))
		sum = hex.EncodeToString(whole[:])
	}
	switch {
	case own.SHA256 == "":
		own.SHA256, own.Pure = sum, hello.Pure
	case own.SHA256 != sum:
		return fail(key+".sha256", hint.With(fmt.Errorf("the program %s or its problems have changed: their SHA-256 is %s, the recipe has %s", command, sum, own.SHA256), "put them back as they were, or start a new run without this key"))
	case own.Pure != hello.Pure:
		return fail(key+".pure", fmt.Errorf("= %v, but the program says pure = %v now", own.Pure, hello.Pure))
	}
	for i := range r.Stages {
		if st := &r.Stages[i]; st.Grows() && !st.Skip && !own.Pure {
			return fail(fmt.Sprintf("stage.%d.tree", i), fmt.Errorf("needs a world that repeats itself, since a branch plays the turns before it again, but the program does not say pure = true"))
		}
	}
	since := fmt.Sprintf("the program holds at_once = %d in a process", hello.AtOnce)
	if key, err := tooMany(r, hello.Most(), since, "have the program hold more at once, or "); err != nil {
		return fail(key, err)
	}
	train, _ := source.Rows()
	row := source.Draw(random.At(0, 0, 0))
	if len(train) > 0 {
		row = train[0]
	}
	if err := w.Try(context.Background(), row, r.Task.Episode.Clock()); err != nil {
		return fail(key+".command", fmt.Errorf("%s: tried with %s: %w", command, placeOf(row), err))
	}
	return &w, source, notes
}

// problemsOf are the problems that the program of a task plays; nil without an error: it has been told why there
// are none.
func problemsOf(r *recipe.Recipe, w outside.World, faults *recipe.Faults) (source prompts.Source, notes []string, err error) {
	task := &r.Task
	switch {
	case task.FromData():
		source, notes = openTask(r, faults)
		return source, notes, nil
	case task.World.Problems == recipe.ProblemsNumbers:
		source = prompts.Numbers(task.World.Label())
	default:
		rows, err := w.Rows(context.Background())
		if err != nil {
			return nil, nil, fmt.Errorf("the problems of the program: %w", err)
		}
		if source, err = prompts.Rows(task.World.Label(), rows); err != nil {
			return nil, nil, err
		}
	}
	rows, err := source.HeldOut(task.EvalProblems)
	task.EvalProblems = len(rows)
	return source, nil, err
}

// openServer makes the tools of a server, as it lists them. again says that the list of the recipe is not compared with
// that of the server, which need not be there.
func openServer(t *recipe.Tool, key string, again bool, told func(command string), faults *recipe.Faults) []world.Tool {
	command := outside.Command{Words: t.MCP, Env: t.Env, Told: told}
	server := outside.NewServer(command, t.Effects)
	if !again || t.Listed == "" {
		text, err := server.List(context.Background(), t.Only)
		var sum string
		if err == nil {
			sum, err = command.Digest()
		}
		switch {
		case err != nil:
			faults.Fail(key+".mcp", "%s: %w", command, err)
			return nil
		case t.SHA256 != "" && t.SHA256 != sum:
			faults.Fail(key+".sha256", "%w", hint.With(fmt.Errorf("the server %s has changed: its SHA-256 is %s, the recipe has %s", command, sum, t.SHA256), "put its files back as they were, or start a new run without this key"))
			return nil
		case t.Listed != "" && t.Listed != text:
			faults.Fail(key+".listed", "%w", hint.With(fmt.Errorf("the server %s lists other tools than the recipe has", command), "use the server as it was, or start a new run without this key"))
			return nil
		}
		t.Listed, t.SHA256 = text, sum
	}
	made, err := server.Tools(t.Listed)
	if err != nil {
		faults.Fail(key+".listed", "%w", err)
	}
	return made
}

// AtOnce is how many episodes its programs of others can have at once; 0: any number, as far as is known.
func (o *Opened) AtOnce() int {
	switch {
	case o.World != nil:
		return o.World.Most()
	case slices.ContainsFunc(o.Recipe.Task.Tools, recipe.Tool.Served):
		return outside.MostTalks
	}
	return 0
}

// Close ends the programs of others.
func (o *Opened) Close() {
	if o.World != nil {
		o.World.Close()
	}
}

// playedByOthers has episodes played by the program of the task.
func (o *Opened) playedByOthers(out *rollout.Episodes) {
	out.World, out.Prompt, out.Start = *o.World, o.Recipe.Task.MaxPromptTokens, outside.StartClock
}
