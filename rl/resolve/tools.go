package resolve

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rlzero/rlzero/internal/files"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/rl/table"
	"github.com/rlzero/rlzero/rl/tasks"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/rl/world/outside"
	"github.com/rlzero/rlzero/rl/world/tools"
	"github.com/rlzero/rlzero/verify"
)

// Episodes are what the problems are played in under the seed of a run; nil: they have one answer.
// journal remembers calls of tools; nil: nobody does.
func (o *Opened) Episodes(renderer *prompts.Renderer, seed uint64, journal func(key random.Key, greedy bool) world.Journal) *rollout.Episodes {
	task := &o.Recipe.Task
	out := &rollout.Episodes{Journal: journal, Renderer: renderer, Turns: task.Episode.Turns, Tokens: task.Episode.Tokens, Clock: task.Episode.Clock(),
		Whole: task.Episode.History == recipe.HistoryTemplate, Sum: world.Summary(task.Episode.Summary),
		Dice: func(k random.Key, of random.Purpose) *random.Rand { return k.Dice(seed, of) }}
	switch played := task.Episodic(); {
	case o.World != nil:
		o.playedByOthers(out)
	case played != nil:
		out.World, out.Anywhere = played, !task.Episode.Restarts() && out.Clock == 0
		if w, asks := played.(tasks.Asker); asks && o.Answer != nil {
			out.World, out.Anywhere = w.Answered(o.Answer), false // who answers is here
		}
		out.Turns, out.Tokens = cmp.Or(out.Turns, played.Turns()), cmp.Or(out.Tokens, played.EpisodeTokens())
	case task.Blocks():
		b := world.Unnamed(o.Tools[0]).(tools.Blocks)
		b.Judge = o.Source.Verify
		out.World = b
	case len(o.Tools) > 0:
		w := world.Tooled{Tools: o.Tools, Judge: o.Source.Verify, Most: task.MaxCalls, Bytes: task.ReplyBytes, Reads: renderer.Reads}
		if task.Calls == recipe.CallsTemplate {
			w.Read, w.Apart = renderer.Calls, true
		}
		if out.World = w; slices.ContainsFunc(task.Tools, recipe.Tool.Served) {
			out.Start = outside.StartClock
		}
	default:
		return nil
	}
	return out
}

// Asking is o with tools and a world that ask those that who finds; where these ask nobody it is o.
func (o *Opened) Asking(who func(tools.Whom) (tools.Answerer, error)) (*Opened, error) {
	out := *o
	out.Tools = slices.Clone(o.Tools)
	var err error
	for i, t := range out.Tools {
		out.Tools[i] = world.Changed(t, func(t world.Tool) world.Tool {
			a, asks := t.(tools.Questioner)
			if !asks || err != nil {
				return t
			}
			var answer tools.Answerer
			answer, err = who(a.Asks())
			return a.Answered(answer)
		})
	}
	if w, can := o.Recipe.Task.Settings.(tasks.Asker); can && err == nil {
		if _, whom := w.Asks(); whom != nil {
			out.Answer, err = who(*whom)
		}
	}
	return &out, err
}

// openTools makes the tools of a task, and tries them on its first rows.
// again says that a journal has their answers: servers are not asked for their tools then. told is told of the
// command of each server that starts.
func openTools(r *recipe.Recipe, source prompts.Source, again bool, told func(command string), faults *recipe.Faults) []world.Tool {
	r.Task.Tools = slices.Clone(r.Task.Tools)
	if !again && slices.ContainsFunc(r.Task.Tools, recipe.Tool.Served) {
		if key, err := tooMany(r, outside.MostTalks, "each may have a process of a server of tools", ""); err != nil {
			faults.Fail(key, "%w", err)
			return nil
		}
	}
	var out []world.Tool
	for i := range r.Task.Tools {
		t, key := &r.Task.Tools[i], fmt.Sprintf("task.tool.%d", i)
		if t.Served() {
			out = append(out, openServer(t, key, again, told, faults)...)
			continue
		}
		made, sum, err := t.Options.Make(documents)
		switch {
		case err != nil:
			faults.Fail(key, "tool %s: %w", t.Name, err)
			continue
		case t.SHA256 != "" && t.SHA256 != sum:
			faults.Fail(key+".sha256", "%w", hint.With(fmt.Errorf("what tool %s reads has changed: its SHA-256 is %s, the recipe has %s", t.Name, sum, t.SHA256), "restore the files, or start a new run without this key"))
			continue
		}
		t.SHA256 = sum
		made = world.Named(made, t.Name)
		if err := tried(made, source); err != nil {
			faults.Fail(key, "tool %s: %w", t.Name, err)
		}
		out = append(out, made)
	}
	for i, t := range out {
		if name := t.Spec().Name; slices.ContainsFunc(out[:i], func(o world.Tool) bool { return o.Spec().Name == name }) {
			faults.Fail("task.tool", "%w", hint.With(fmt.Errorf("two tools are called %q", name), "leave one of them out with only, or give one that is no server's another name"))
		}
	}
	return out
}

// tooMany says which key has more episodes played at once than there may be. since says why there may be no more, and
// another way out of it than smaller numbers, which may be "".
func tooMany(r *recipe.Recipe, most int, since, another string) (key string, err error) {
	refused := func(what string, n int, smaller string) error {
		return hint.With(fmt.Errorf("%s plays %d episodes at once; accepted: at most %d, since %s", what, n, most, since), "%smake %s smaller", another, smaller)
	}
	for i := range r.Stages {
		if st := &r.Stages[i]; st.Draws() && !st.Skip {
			if n := st.RL.PromptsPerStep * st.RL.GroupSize; n > most {
				return fmt.Sprintf("stage.%d.prompts_per_step", i), refused("a step", n, "prompts_per_step or group_size")
			}
			if n := st.Best.Problems; st.Best.Every > 0 && n > most {
				return fmt.Sprintf("stage.%d.best.problems", i), refused("a contest with the best policy", n, "best.problems")
			}
		}
	}
	if n := r.Task.EvalProblems * r.Task.EvalSamples; n > most {
		return "task.eval_problems", refused("an evaluation", n, "eval_problems or eval_samples")
	}
	return "", nil
}

// tried opens a tool for the first rows of a file: it may need a column of them.
func tried(t world.Tool, source prompts.Source) error {
	const most = 100
	train, heldOut := source.Rows()
	rows := slices.Concat(train, heldOut)
	if rows == nil {
		rows = []verify.Problem{source.Draw(random.At(0, 0, 0))}
	}
	for _, row := range rows[:min(len(rows), most)] {
		s, err := t.Open(context.Background(), row)
		if err == nil {
			err = s.Close()
		}
		if err != nil {
			return fmt.Errorf("%s: %w", placeOf(row), err)
		}
	}
	return nil
}

// maxDocument is the largest text of a folder, in bytes.
const maxDocument = 1 << 20

// documents implements [tools.Documents].
func documents(data, column string) (names, texts []string, hash string, err error) {
	data = filepath.FromSlash(data)
	if info, err := os.Stat(data); err == nil && info.IsDir() {
		if names, texts, hash, err = textsIn(data); err != nil || texts != nil {
			return names, texts, hash, err
		}
	}
	if column == "" {
		return nil, nil, "", fmt.Errorf("%s is no folder with files .txt or .md", data)
	}
	d, err := table.Open(data)
	if err != nil {
		return nil, nil, "", err
	}
	for _, split := range d.Splits() {
		err := d.Each(split, func(_ int, row table.Row) error {
			var text string
			raw, there := row[column]
			if !there {
				return hint.With(fmt.Errorf("there is no column %q; it has %s", column, verify.Columns(row)), `name the column of the documents: column = "NAME"`)
			}
			if err := json.Unmarshal(raw, &text); err != nil {
				return fmt.Errorf("column %q: accepted: text", column)
			}
			texts = append(texts, text)
			return nil
		})
		if err != nil {
			return nil, nil, "", err
		}
	}
	if texts == nil {
		return nil, nil, "", fmt.Errorf("%s has no documents", data)
	}
	hash, err = d.Hash()
	return nil, texts, hash, err
}

// textsIn are the texts of a folder in the order of their names, each one document; nil: it has none.
func textsIn(dir string) (names, texts []string, hash string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, "", err
	}
	whole := sha256.New()
	for _, e := range entries {
		if ext := strings.ToLower(filepath.Ext(e.Name())); e.IsDir() || ext != ".txt" && ext != ".md" {
			continue
		}
		text, err := files.Read(filepath.Join(dir, e.Name()), maxDocument)
		if err == nil && !utf8.Valid(text) {
			err = errors.New(e.Name() + " is not UTF-8 text")
		}
		if err != nil {
			return nil, nil, "", err
		}
		names, texts = append(names, e.Name()), append(texts, string(text))
		fmt.Fprintf(whole, "%x  %s\n", sha256.Sum256(text), e.Name())
	}
	return names, texts, hex.EncodeToString(whole.Sum(nil)), nil
}
