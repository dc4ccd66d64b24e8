package run

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/record"
	"github.com/rlzero/rlzero/rl/resolve"
)

// worldWord starts the binary of these tests as a program that plays, see playWorld.
const worldWord = "play-a-world"

func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == worldWord {
		playWorld(os.Args[2], os.Args[3])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// playWorld is a world of two turns that pays for digits, and dies of turns that begin with an equal sign. An
// impure one answers by a counter of its process, which begins at a number that is another in every process. It
// does not play where a file is not there.
func playWorld(kind, file string) {
	if _, err := os.Stat(file); err != nil {
		os.Exit(1)
	}
	fmt.Printf(`{"protocol":1,"name":"counter","pure":%v,"forks":false,"at_once":5}`+"\n", kind == "pure")
	turns, count := map[string]int{}, os.Getpid()
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var o struct{ ID, Op, Text string }
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			panic(err)
		}
		digits := strings.Count(o.Text, "1") + strings.Count(o.Text, "2")
		count++
		switch turns[o.ID]++; {
		case strings.HasPrefix(o.Text, "="):
			os.Exit(1)
		case o.Op == "begin":
			fmt.Printf(`{"id":"%s","messages":[{"text":"1+2="}]}`+"\n", o.ID)
		case o.Op != "step":
			fmt.Printf(`{"id":"%s"}`+"\n", o.ID)
		case turns[o.ID] == 3:
			fmt.Printf(`{"id":"%s","verdict":{"score":%v}}`+"\n", o.ID, 1/float64(1+digits))
		default:
			said := len(o.Text) % 10
			if kind != "pure" {
				said = count % 10
			}
			fmt.Printf(`{"id":"%s","messages":[{"text":"%d"}],"reward":%d,"facts":{"digits":%d}}`+"\n", o.ID, said, said, digits)
		}
	}
}

// TestWorldOfOthers: runs whose problems a program of others plays. Resumed or killed, a run ends in the same
// bytes; what is not pure is repeated by its journal without the program; another program is refused.
func TestWorldOfOthers(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains seven models")
	}
	from := t.TempDir()
	_, err := Train(t.Context(), Options{Opened: opened(t, callingRecipe(t, "learns", "stage.rl.skip=true", "stage.warm-up.hold_steps=1", "stage.warm-up.decay_steps=1")), Dir: from, Device: first(t), Show: &bytes.Buffer{}})
	must(t, err)
	self, err := os.Executable()
	must(t, err)
	file := filepath.Join(t.TempDir(), "game.lua")
	must(t, os.WriteFile(file, []byte("1"), 0o600))
	load := func(t *testing.T, kind string, sets ...string) *recipe.Recipe {
		t.Helper()
		command, err := json.Marshal([]string{self, worldWord, kind, file})
		must(t, err)
		r, err := recipe.Parse("world.toml", `
[model]
path = "x"
[task]
max_prompt_tokens = 8
eval_problems = 3
eval_samples = 2
[task.episode]
turns = 3
tokens = 40
[task.world]
facts = ["digits"]
command = `+string(command)+`
[[stage]]
kind = "rl"
reward = "task + 0.01*sum(turn_reward) - 0.001*sum(turn.digits)"
steps = 3
prompts_per_step = 3
group_size = 3
checkpoint_every = 1
eval_every = 2
eval_problems = 2
max_not_scored = 1
[stage.sampling]
max_completion_tokens = 6
[stage.algorithm]
preset = "grpo"
`, append(sets, "model.path="+from, "checkpoint.keep=99"))
		must(t, err)
		return r
	}
	train := func(t *testing.T, open func(*recipe.Recipe, func(string)) (*resolve.Opened, error), kind, dir string, o Options) error {
		t.Helper()
		r := load(t, kind)
		if o.Resume || o.Replay != "" { // the command does this
			var err error
			r, err = recipe.Load(filepath.Join(cmp.Or(o.Replay, dir), recipe.File), nil)
			must(t, err)
		}
		var err error
		if o.Opened, err = open(r, nil); err != nil {
			return err
		}
		defer o.Opened.Close()
		o.Dir, o.Device, o.Show = dir, first(t), &bytes.Buffer{}
		_, err = Train(t.Context(), o)
		return err
	}
	for _, kind := range []string{"pure", "impure"} {
		t.Run(kind, func(t *testing.T) {
			base := t.TempDir()
			must(t, train(t, resolve.Open, kind, base, Options{}))
			lines := journal(t, base)
			answered := slices.ContainsFunc(lines, func(c record.Call) bool { return c.Answer != "" })
			if answered == (kind == "pure") || !slices.ContainsFunc(lines, func(c record.Call) bool { return c.Refused }) {
				t.Errorf("%d lines of the journal, with answers: %v", len(lines), answered)
			}
			killed := copyRun(t, base)
			for _, c := range checkpointDirs(t, killed)[1:] {
				must(t, os.RemoveAll(c))
			}
			must(t, train(t, resolve.Open, kind, killed, Options{Resume: true}))
			sameRun(t, runFiles(t, killed), runFiles(t, base))
			if kind == "pure" {
				return
			}
			// Where some answers of the last steps are lost, others come in their place, and that is repeated.
			lost := copyRun(t, base)
			for _, c := range checkpointDirs(t, lost)[2:] {
				must(t, os.RemoveAll(c))
			}
			kept := slices.DeleteFunc(journal(t, lost), func(c record.Call) bool {
				return c.Purpose == int(random.Sample) && c.Step == 2 && c.Stream%2 == 0 && c.Turn > 0
			})
			text, err := record.CallsText(kept)
			must(t, err)
			must(t, os.WriteFile(filepath.Join(lost, record.CallsFile), text, 0o600))
			must(t, train(t, resolve.Open, kind, lost, Options{Resume: true}))
			if slices.Equal(journal(t, lost), journal(t, base)) {
				t.Error("the program answers by its counter, and nothing differs")
			}
			must(t, os.Remove(file))
			for _, of := range []string{base, lost} {
				again := filepath.Join(t.TempDir(), "again")
				must(t, train(t, resolve.OpenAgain, kind, again, Options{Replay: of}))
				sameRun(t, runFiles(t, again), runFiles(t, of))
			}
			if err := train(t, resolve.Open, kind, killed, Options{Resume: true}); err == nil || !strings.Contains(err.Error(), "the program has ended (exit status 1) before its first line") {
				t.Errorf("without the program: %v", err)
			}
			must(t, os.WriteFile(file, []byte("2"), 0o600))
			if err := train(t, resolve.Open, kind, killed, Options{Resume: true}); !errors.Is(err, recipe.ErrInvalid) || !strings.Contains(err.Error(), "task.world.sha256: the program") {
				t.Errorf("with another program: %v", err)
			}
		})
	}
}
