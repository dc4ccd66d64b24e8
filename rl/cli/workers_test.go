package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/recipe"
)

// tinyRun are settings of a run of a second.
var tinyRun = []string{"model.width=32", "model.heads=2", "model.head_dim=16", "model.mlp=64", "task.eval_problems=2", "task.eval_samples=2", "stage.warm-up.skip=true", "stage.rl.steps=2", "stage.rl.prompts_per_step=3", "stage.rl.group_size=4", "stage.rl.eval_every=0", "stage.rl.reward=random"}

// logsOf is all that a run wrote down but its times.
func logsOf(t *testing.T, dir string) string {
	t.Helper()
	text := ""
	for _, name := range []string{"metrics.jsonl", "completions.jsonl", "evaluations.jsonl", "recipe.toml", "receipt.json"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		text += string(data)
	}
	return text
}

// TestWorkers: a run with workers on its device has the logs of one without, and so has
// one with a worker whose device is wrong.
func TestWorkers(t *testing.T) {
	var logs []string
	for _, flags := range [][]string{nil, {"--workers", "local:2", "--audit", "0.5"}, {"--workers", "local:ref,ref", "--workers-mode", "draft"}, {"--workers", "local:broken", "--audit", "1"}} {
		dir := filepath.Join(t.TempDir(), "run")
		args := append([]string{"train", "--device", "ref", "--run", dir}, flags...)
		for _, set := range tinyRun {
			args = append(args, "--set", set)
		}
		code, _, stderr := rlzero(t, append(args, "countdown-short")...)
		if code != 0 || strings.Contains(stderr, "\nworkers answered ") != (flags != nil) {
			t.Fatalf("%v: exit code %d, %s", flags, code, stderr)
		}
		if refused := strings.Contains(stderr, "worker 1 (ref:0) is refused: item "); refused != slices.Contains(flags, "local:broken") {
			t.Errorf("%v: %s", flags, stderr)
		}
		logs = append(logs, logsOf(t, dir))
		if logs[len(logs)-1] != logs[0] {
			t.Errorf("%v: the run has other bytes", flags)
		}
	}
}

// TestWorkersOfTrees: a run of trees has the same logs whoever draws its branches, also drawn ahead.
func TestWorkersOfTrees(t *testing.T) {
	for lag, distinct := range map[string]string{"0": "true", "1": "false"} {
		want := ""
		for _, flags := range [][]string{nil, {"--workers", "local:2", "--audit", "0.5"}} {
			dir := filepath.Join(t.TempDir(), "run")
			args := append([]string{"train", "--device", "ref", "--run", dir}, flags...)
			for _, set := range append(slices.Clone(tinyRun), "stage.rl.group_size=6", "stage.rl.tree={rounds = 2, roots = 2, open = 1, width = 2, at = \"position > 1\", distinct = "+distinct+"}", "stage.rl.lag="+lag, "stage.rl.algorithm.weight=tis") {
				args = append(args, "--set", set)
			}
			if code, _, stderr := rlzero(t, append(args, "countdown-short")...); code != 0 || strings.Contains(stderr, "\nworkers answered ") != (flags != nil) {
				t.Fatalf("%v: exit code %d, %s", flags, code, stderr)
			}
			got := logsOf(t, dir)
			if want == "" {
				want = got
			}
			if got != want || !strings.Contains(got, `"branch":{"number":`) {
				t.Errorf("lag %s: with workers the run has other bytes", lag)
			}
		}
	}
}

// TestWorkersOfGames: a run of games of several seats, against a pool of earlier policies too, and one whose problems the
// policy writes, have the same logs whoever draws their turns: one machine, or 1, 2 or 8 workers, also drawn ahead. What a
// group of a seat shows says which seat it is, and against whom.
func TestWorkersOfGames(t *testing.T) {
	for name, c := range map[string]struct {
		recipe string
		sets   []string
		shown  string
	}{
		"seats": {"nim-tiny", []string{`models={past = {copy = "policy", renew = 2}, older = {copy = "policy", renew = 2, renew_first = 1}}`, `stage.rl.seats.second=["past", "older"]`}, "seat: first, against "},
		"propose": {"chain-sum-tiny", []string{"task.max_prompt_tokens=10", "stage.rl.updates_per_rollout=1", `stage.warm-up.propose={say = ">{question}"}`,
			`stage.rl.propose={say = ">{question}", count = 4, reward = "task.valid*(1 - task) + 0.1*random"}`}, "seat: "},
	} {
		for _, lag := range []string{"0", "1"} {
			want := ""
			for _, flags := range [][]string{nil, {"--workers", "local:1", "--audit", "0.5"}, {"--workers", "local:2"}, {"--workers", "local:8", "--audit", "0.2"}} {
				if testing.Short() && flags != nil && flags[1] != "local:8" {
					continue
				}
				dir := filepath.Join(t.TempDir(), "run")
				args := append([]string{"train", "--device", "ref", "--run", dir}, flags...)
				for _, set := range slices.Concat(tinyRun, []string{"stage.rl.lag=" + lag, "stage.rl.algorithm.weight=tis", "stage.rl.steps=3"}, c.sets) {
					args = append(args, "--set", set)
				}
				if code, _, stderr := rlzero(t, append(args, c.recipe)...); code != 0 || strings.Contains(stderr, "\nworkers answered ") != (flags != nil) {
					t.Fatalf("%s %v: exit code %d, %s", name, flags, code, stderr)
				}
				got := logsOf(t, dir)
				if want == "" {
					want = got
				}
				if got != want {
					t.Errorf("%s, lag %s, %v: the run has other bytes", name, lag, flags)
				}
				if _, shown, _ := rlzero(t, "show", dir, "--group", "0"); !strings.Contains(shown, "\n"+c.shown) {
					t.Errorf("%s: shown as %s", name, shown)
				}
			}
		}
	}
}

// aheadText is shown where workers play whole episodes.
const aheadText = " turns of episodes were drawn ahead"

// TestWorkersOfJudges: what judges say of completions that workers drew is what they say of the same ones on one machine:
// of a head that is shown the drawn tokens, of probabilities, and of an answer that the judge draws. Judges are asked where
// the run is.
func TestWorkersOfJudges(t *testing.T) {
	text := "base = \"countdown-short\"\n[models.rm]\ncopy = \"policy\"\nhead = true\n[models.past]\ncopy = \"policy\"\n[[stage]]\nname = \"warm-up\"\n" +
		"[[stage]]\nname = \"rm\"\nkind = \"rl\"\ntrains = \"rm\"\nsteps = 1\nprompts_per_step = 4\ngroup_size = 4\nreward = \"random\"\neval_every = 0\nalgorithm = {preset = \"pointwise\"}\n[[stage]]\nname = \"rl\"\n" +
		"verifier = [{name = \"liked\", verifier = \"judge\", options = {model = \"rm\", read = \"head\"}}, " +
		"{name = \"says\", verifier = \"judge\", options = {model = \"past\", source = \"{question}{completion}\", read = {1 = 1, 2 = 0}}}, " +
		"{name = \"said\", verifier = \"judge\", options = {model = \"past\", source = \"{question}{completion}=\", read = \"[0-9]\", between = [0, 9], votes = 3, temperature = 1.0, max_tokens = 6}}]\n"
	file := filepath.Join(t.TempDir(), "judged.toml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	want := ""
	for _, flags := range [][]string{nil, {"--workers", "local:2", "--audit", "0.5"}} {
		dir := filepath.Join(t.TempDir(), "run")
		args := append([]string{"train", "--device", "ref", "--run", dir}, flags...)
		for _, set := range append(slices.Clone(tinyRun), "stage.rl.reward=says + default(said, 0) + liked + 0.1*random", "stage.rl.max_not_scored=1") {
			args = append(args, "--set", set)
		}
		if code, _, stderr := rlzero(t, append(args, file)...); code != 0 || strings.Contains(stderr, "\nworkers answered ") != (flags != nil) {
			t.Fatalf("%v: exit code %d, %s", flags, code, stderr)
		}
		said, err := os.ReadFile(filepath.Join(dir, "judgements.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		got := logsOf(t, dir) + string(said)
		if want == "" {
			want = got
		}
		if got != want {
			t.Errorf("%v: the run has other bytes", flags)
		}
		for name, least := range map[string]int{"liked": 24, "says": 1, "said": 1} {
			if n := strings.Count(string(said), `"verifier":"`+name+`"`); n < least {
				t.Errorf("%v: %d judgements of %s", flags, n, name)
			}
		}
	}
}

// TestWorkersOfEpisodes: a run of episodes has the same logs whoever plays them: one machine, or 1, 2 or 5 workers that
// play them whole, also drawn ahead, and as drafts.
func TestWorkersOfEpisodes(t *testing.T) {
	for _, lag := range []string{"0", "1"} {
		want := ""
		for _, flags := range [][]string{nil, {"--workers", "local:1", "--audit", "0.5"}, {"--workers", "local:2", "--workers-mode", "draft"}, {"--workers", "local:5"}} {
			if testing.Short() && flags != nil && flags[1] != "local:2" {
				continue
			}
			dir := filepath.Join(t.TempDir(), "run")
			args := append([]string{"train", "--device", "ref", "--run", dir}, flags...)
			for _, set := range append(slices.Clone(tinyRun), "stage.rl.lag="+lag, "stage.rl.algorithm.weight=tis", "stage.rl.steps=3", "task.settings.size=7", "task.settings.turns=3") {
				args = append(args, "--set", set)
			}
			code, _, stderr := rlzero(t, append(args, "guess-tiny")...)
			if code != 0 || strings.Contains(stderr, aheadText) != (flags != nil) || strings.Contains(stderr, "refused:") {
				t.Fatalf("lag %s, %v: exit code %d, %s", lag, flags, code, stderr)
			}
			got := logsOf(t, dir)
			if want == "" {
				want = got
			}
			if got != want {
				t.Errorf("lag %s, %v: the run has other bytes", lag, flags)
			}
		}
	}
}

// coresBackend has one device, which names the arithmetic of matrix cores.
type coresBackend struct{}

func (coresBackend) Name() string { return "cores" }

func (coresBackend) List() ([]gpu.Info, error) {
	return []gpu.Info{{ID: "cores:0", Name: "a device with matrix cores", Kind: gpu.Reference, Usable: true}}, nil
}

func (coresBackend) Open(int) (gpu.Device, error) {
	ref, err := gpu.Open("ref")
	return cores{ref}, err
}

type cores struct{ gpu.Device }

func (c cores) Caps() gpu.Caps {
	caps := c.Device.Caps()
	caps.ID, caps.Numerics = "cores:0", "2-mma16" // its tier would be tried
	return caps
}

func init() { gpu.Register(coresBackend{}) }

// TestWorkersOfAsking: episodes in which a policy asks itself have the same logs whoever draws their turns, also drawn
// ahead: what is asked is answered where the run is.
func TestWorkersOfAsking(t *testing.T) {
	train := func(dir string, flags []string, sets ...string) string {
		t.Helper()
		args := append([]string{"train", "--device", "ref", "--run", dir}, flags...)
		for _, set := range append(sets, "task.settings.terms=2", "task.eval_problems=3", "task.eval_samples=2") {
			args = append(args, "--set", set)
		}
		if code, _, stderr := rlzero(t, append(args, "calculator-tiny")...); code != 0 {
			t.Fatalf("%v: exit code %d, %s", flags, code, stderr)
		}
		return logsOf(t, dir)
	}
	from := filepath.Join(t.TempDir(), "calls") // a model that has learned to call a tool of this name
	train(from, nil, "model.width=32", "model.heads=2", "model.head_dim=16", "model.mlp=48", `task.tool=[{tool = "calculator", name = "ask", options = {digits = 2}, shown = "{id}"}]`,
		"stage.warm-up.batch_size=16", "stage.warm-up.hold_steps=55", "stage.warm-up.decay_steps=5", "stage.warm-up.test_every=99", "stage.warm-up.optimizer.lr=0.01", "stage.rl.skip=true")
	for _, lag := range []string{"0", "1"} {
		want := ""
		for _, flags := range [][]string{nil, {"--workers", "local:1", "--audit", "1"}, {"--workers", "local:2", "--audit", "0.5"}, {"--workers", "local:5"}} {
			got := train(filepath.Join(t.TempDir(), "run"), flags, "model.path="+from, "stage.warm-up.skip=true", `task.tool=[{tool = "ask", options = {model = "policy", context = 40, max_tokens = 3, temperature = 1.0}}]`,
				"stage.rl.prompts_per_step=3", "stage.rl.group_size=4", "stage.rl.steps=2", "stage.rl.eval_every=0", "stage.rl.algorithm.weight=tis", "stage.rl.lag="+lag)
			if want == "" {
				want = got
			}
			if got != want || strings.Count(got, `"calls":[{"tool":"ask"`) < 10 {
				t.Errorf("lag %s, %v: the run has other bytes than without workers, or asks little", lag, flags)
			}
		}
	}
}

// TestWorkerOfOtherNumerics: a worker whose completions would be others is refused before the
// run, in each mode, and not as one that draws wrongly.
func TestWorkerOfOtherNumerics(t *testing.T) {
	for _, mode := range []string{"exact", "draft"} {
		dir := filepath.Join(t.TempDir(), "run")
		code, _, stderr := rlzero(t, "train", "--device", "ref", "--run", dir, "--workers", "local:ref,cores", "--workers-mode", mode, "countdown-short")
		want := "--workers: cores:0 computes by numerics version 2-mma16 (tier ref), but the run's device ref:0 by 2 (tier ref), so it would draw other completions\nrlzero: hint: "
		if code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit code %d, %s", mode, code, stderr)
		}
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: the run has a folder: %v", mode, err)
		}
	}
}

// TestReplay: a run that took groups as they came is repeated by its folder alone; another has no
// schedule.
func TestReplay(t *testing.T) {
	var dirs []string
	do := func(want int, text string, args ...string) {
		t.Helper()
		dirs = append(dirs, filepath.Join(t.TempDir(), "run"))
		code, _, stderr := rlzero(t, append([]string{"train", "--device", "ref", "--run", dirs[len(dirs)-1]}, args...)...)
		if code != want || !strings.Contains(stderr, text) {
			t.Fatalf("%v: exit code %d, %s", args, code, stderr)
		}
	}
	sets := []string{"countdown-short", "--workers", "local:2", "--set", "stage.rl.lag=1"}
	for _, set := range tinyRun {
		sets = append(sets, "--set", strings.Replace(set, "steps=2", "steps=5", 1))
	}
	do(0, "order = \"arrival\": step t learns from the first 3 groups that arrive for steps t-1 to t+1", append(sets, "--set", "stage.rl.order=arrival")...)
	do(0, "repeating run "+dirs[0]+" by its schedule, to step 5", "--replay", dirs[0])
	if logsOf(t, dirs[1]) != logsOf(t, dirs[0]) {
		t.Error("the run that is repeated has other bytes")
	}
	do(exitUsage, "this is not the recipe of the run", "--replay", dirs[0], "--set", "stage.rl.steps=4")
	do(0, "lag = 1: step t learns", sets...)
	do(exitUsage, "has no schedule to repeat it by", "--replay", dirs[len(dirs)-1])
	do(exitUsage, "there is no such folder", "--replay", "nosuch")
	if code, _, stderr := rlzero(t, "train", "--device", "ref", "--resume", "--run", dirs[1], "--replay", dirs[0]); code != exitUsage || !strings.Contains(stderr, "--replay is for new runs") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}

func TestWorkersUsage(t *testing.T) {
	for want, args := range map[string][]string{
		"--workers is \"3\"; accepted: local:N":                      {"--workers", "3"},
		"--workers is \"local:\"; accepted: local:N":                 {"--workers", "local:"},
		"--workers is \"local:0\"; accepted: local:1 to local:64":    {"--workers", "local:0"},
		"--workers is \"local:1000\"; accepted: local:1 to local:64": {"--workers", "local:1000"},
		"--workers: unknown device \"nosuch\"":                       {"--workers", "local:ref,nosuch"},
		"--workers: address \"x\" is not HOST:PORT":                  {"--workers", "nats:x"},
		"there are no keys":                                          {"--workers", "nats:0.0.0.0:0"},
		"--workers-mode is \"fast\"; accepted: exact, draft":         {"--workers", "local:1", "--workers-mode", "fast"},
		"--audit is 2; accepted: numbers from 0 to 1":                {"--audit", "2"},
	} {
		args = append([]string{"train", "--device", "ref", "--run", filepath.Join(t.TempDir(), "run"), "countdown-short"}, args...)
		if code, _, stderr := rlzero(t, args...); code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%v: exit code %d, %q", args, code, stderr)
		}
	}
}

// listener is the standard error of a trainer: it starts a worker when the address is
// printed, and holds the run up after its first step until the worker takes part.
type listener struct {
	bytes.Buffer
	begin  func(url string)
	joined chan struct{}
	held   bool
}

func (l *listener) Write(p []byte) (int, error) {
	l.Buffer.Write(p)
	if _, url, ok := strings.Cut(string(p), "rlzero worker "); ok {
		l.begin(strings.Fields(url)[0])
	}
	if firstStep.Match(p) && !l.held {
		l.held = true
		<-l.joined
	}
	return len(p), nil
}

var firstStep = regexp.MustCompile(`^rl +1/`)

// TestNATS: a run with a worker that came over NATS has the logs of one without, and the
// worker leaves when it is complete.
func TestNATS(t *testing.T) {
	logs := map[string]string{} // of the run without workers
	for _, c := range []struct{ mode, set, recipe string }{{"", "seed=1", "countdown-short"}, {"exact", "seed=1", "countdown-short"}, {"draft", "seed=1", "countdown-short"}, {"", "model.lora.rank=3", "countdown-short"}, {"exact", "model.lora.rank=3", "countdown-short"},
		{"", "task.settings.recap=true", "guess-tiny"}, {"exact", "task.settings.recap=true", "guess-tiny"}} {
		mode := c.mode
		dir := filepath.Join(t.TempDir(), "run")
		args := []string{"rlzero", "train", "--device", "ref", "--run", dir, c.recipe}
		for _, set := range append(slices.Clone(tinyRun), "stage.rl.steps=4", c.set) {
			args = append(args, "--set", set)
		}
		ended := make(chan int, 1)
		var told bytes.Buffer
		l := &listener{joined: make(chan struct{})}
		l.begin = func(url string) {
			go func() {
				ended <- Main([]string{"rlzero", "worker", "--device", "ref", url}, nil, io.Discard, writerFunc(func(p []byte) {
					told.Write(p)
					if strings.HasPrefix(string(p), "takes part") {
						close(l.joined)
					}
				}))
			}()
		}
		if mode == "" {
			l.held = true
		} else {
			args = append(args, "--workers", "nats", "--workers-mode", mode)
		}
		if code := Main(args, nil, io.Discard, l); code != 0 {
			t.Fatalf("%s: exit code %d, %s", mode, code, l.String())
		}
		if mode != "" {
			if code := <-ended; code != 0 || !strings.HasSuffix(told.String(), "the run is complete\n") {
				t.Errorf("%s: the worker's exit code is %d: %s", mode, code, told.String())
			}
			if !answered.MatchString(l.String()) || (c.recipe == "guess-tiny") != strings.Contains(l.String(), aheadText) {
				t.Errorf("%s: %s", mode, l.String())
			}
		}
		if mode == "" {
			logs[c.set] = logsOf(t, dir)
		} else if logsOf(t, dir) != logs[c.set] {
			t.Errorf("%+v: the run has other bytes", c)
		}
	}
}

var answered = regexp.MustCompile(`\nworkers answered [1-9]`)

type writerFunc func([]byte)

func (f writerFunc) Write(p []byte) (int, error) {
	f(p)
	return len(p), nil
}

// small is a device with next to no memory.
type small struct{ gpu.Device }

func (s small) Caps() gpu.Caps {
	c := s.Device.Caps()
	c.Memory = 1 << 10
	return c
}

// full is a device whose memory others have taken.
type full struct{ gpu.Device }

func (full) NewBuffer(string, int) (gpu.Buffer, error) { return nil, gpu.ErrOutOfMemory }

// TestUnfit: a machine that cannot hold the run's model leaves with exit code 4 and the
// figures.
func TestUnfit(t *testing.T) {
	r, err := recipe.Load("countdown-short", nil)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := cast.SpecOf(r, "")
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	dev, err := gpu.Open("ref")
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	_, err = openCopy(data, "", small{dev})
	if code(err) != exitRefused || !errors.Is(err, gpu.ErrOutOfMemory) {
		t.Errorf("too little memory: %v", err)
	}
	adapter := []byte(strings.Replace(string(data), `"seed"`, `"base":"folder","adapter":{"r":4,"lora_alpha":8,"peft_type":"LORA","target_modules":"all-linear"},"seed"`, 1))
	if _, err = openCopy(adapter, "", dev); code(err) != exitRefused || len(hint.All(err)) != 1 {
		t.Errorf("an adapter without its model: %v", err)
	}
	base, broken := newTiny(t, 1), t.TempDir()
	if err := os.WriteFile(filepath.Join(broken, "config.json"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(broken, "nosuch"), broken} {
		if engine, err := openCopy(adapter, path, dev); engine != nil || code(err) != exitRefused && code(err) != exitUsage {
			t.Errorf("an adapter of %s: %v, %v", path, engine, err)
		}
	}
	for _, path := range []string{base, withAdapter(t, base)} {
		engine, err := openCopy(adapter, path, dev)
		if err != nil {
			t.Fatal(err)
		}
		engine.Close()
	}
	if engine, err := openCopy(adapter, base, full{dev}); !errors.Is(err, gpu.ErrOutOfMemory) || engine != nil { // as an interface too
		t.Errorf("a device that others have filled: %v, %v", engine, err)
	}
	for _, bad := range []string{"", "{}", `{"config":{}}`, strings.Replace(string(data), `"seed"`, `"base":"here","seed"`, 1),
		regexp.MustCompile(`"context":\d+`).ReplaceAllString(string(data), `"context":-1`), regexp.MustCompile(`"sequences":\d+`).ReplaceAllString(string(data), `"sequences":99999999`)} {
		if _, err = openCopy([]byte(bad), "", dev); code(err) != exitRefused {
			t.Errorf("%.60q: %v", bad, err)
		}
	}
}

// TestWorkerLine: the command that starts a worker names what the worker must have beforehand.
func TestWorkerLine(t *testing.T) {
	base := newTiny(t, 1)
	for path, want := range map[string]string{base: base, withAdapter(t, base): base} {
		r, err := recipe.Load("lora-math", []string{"model.path=" + path, "task.data=rows.jsonl", "model.lora.rank=2", "model.lora.alpha=4", `model.lora.modules=["model.layers.0.mlp.down_proj"]`})
		if err != nil {
			t.Fatal(err)
		}
		if spec, err := cast.SpecOf(r, path); err != nil || spec.Base() != want {
			t.Errorf("a worker of an adapter that begins with %s needs %q, want %q (%v)", path, spec.Base(), want, err)
		}
	}
	for want, got := range map[string]string{
		"rlzero worker nats://a":            workerLine("nats://a", false, ""),
		"rlzero worker nats://a --key FILE": workerLine("nats://a", true, ""),
		"rlzero worker nats://a --key FILE --model DIR, where DIR is the model below the adapter, here models/mine": workerLine("nats://a", true, "models/mine"),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
