//go:build unix

package blackbox

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rlzero/rlzero/gpu"
)

// TestKill drives the real program: killed with SIGKILL at random moments, also
// while it writes a checkpoint, and resumed each time, or interrupted with
// SIGINT, it ends in the bytes of an undisturbed run.
//
// Half of RLZERO_KILLS, 4 if unset, is spent on the plain recipe, a quarter on each of those below that have more to
// lose, and three times as many on the one with the most. With -short there is one. RLZERO_KILL_SEED repeats the moments of another run as far as times
// can be repeated.
func TestKill(t *testing.T) {
	most := uint64(4)
	if testing.Short() {
		most = 1
	}
	kills, seed := number(t, "RLZERO_KILLS", most), number(t, "RLZERO_KILL_SEED", rand.Uint64())
	t.Logf("%d kills, RLZERO_KILL_SEED=%d", kills, seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	if dev, err := gpu.Open(""); err == nil {
		dev.Close()
	} else if os.Getenv("RLZERO_WANT_DEVICE") == "" {
		t.Logf("on the plain-Go device: %v", err)
		t.Setenv("RLZERO_DEVICE", "ref")
	}
	program := buildProgram(t)
	want, length := program.undisturbed(t)
	killed(t, program, kills-2*(kills/4), rng, want, length)
	if testing.Short() {
		return
	}
	t.Run("lag", func(t *testing.T) { // open steps are a part of the checkpoints
		late := program
		late.sets = []string{"stage.rl.lag=3", "stage.rl.algorithm.weight=tis"}
		want, length := late.undisturbed(t)
		killed(t, late, kills/4, rng, want, length)
	})
	t.Run("critic and average", func(t *testing.T) { // tensors of trainer/ that no model has
		ppo := program
		ppo.sets = []string{"stage.rl.algorithm.preset=ppo", "stage.rl.algorithm.penalty=kl_k3 + 0.1*square(logp - ema)", "stage.rl.ema_decay=0.5", "stage.rl.optimizer.rule=amsgrad"}
		want, length := ppo.undisturbed(t)
		killed(t, ppo, max(1, kills/4), rng, want, length)
	})
	t.Run("tree", func(t *testing.T) { // rounds of branches, in open steps too
		tree := program
		tree.sets = []string{"stage.rl.tree.rounds=2", "stage.rl.tree.roots=2", "stage.rl.tree.open=1", "stage.rl.tree.width=3", "stage.rl.tree.at=old_entropy > 0.2",
			"stage.rl.tree.choose=same_mean(reward, node) + segment_first(old_entropy)", "stage.rl.lag=1", "stage.rl.algorithm.weight=tis"}
		want, length := tree.undisturbed(t)
		killed(t, tree, max(1, kills/4), rng, want, length)
	})
	t.Run("episodes", func(t *testing.T) { // worlds with dice, turns whose keys the engine keeps
		played := program
		played.recipe = "guess-tiny"
		played.sets = []string{"task.eval_problems=5", "task.eval_samples=4", "stage.rl.eval_problems=5", "stage.rl.eval_every=3", "stage.rl.group_size=4",
			"stage.rl.reward=task + 0.1*sum(turn_reward)", "stage.rl.algorithm.advantage=own*turn_reward", "stage.rl.lag=1", "stage.rl.algorithm.weight=tis"}
		want, length := played.undisturbed(t)
		killed(t, played, max(1, kills/4), rng, want, length)
	})
	t.Run("seats", func(t *testing.T) { // games against earlier policies, whose weights are a part of the checkpoints
		games := program
		games.recipe = "nim-tiny"
		games.sets = []string{"task.eval_problems=5", "stage.rl.eval_problems=5", "stage.rl.eval_every=3", "stage.rl.group_size=4", "stage.warm-up.test_every=99",
			`models={past = {copy = "policy", renew = 4}, older = {copy = "policy", renew = 4, renew_first = 2}}`, `stage.rl.seats.second=["past", "older", "random"]`,
			"stage.rl.lag=1", "stage.rl.algorithm.weight=tis"}
		want, length := games.undisturbed(t)
		if !strings.Contains(want["completions.jsonl"], `"against":"older"`) {
			t.Fatal("nobody plays an earlier policy")
		}
		killed(t, games, max(1, kills/4), rng, want, length)
	})
	t.Run("propose", func(t *testing.T) { // problems that the policy writes, which are in no data
		written := program
		written.recipe = "chain-sum-tiny"
		written.sets = []string{"task.max_prompt_tokens=10", "task.eval_problems=5", "stage.rl.eval_problems=5", "stage.rl.eval_every=3", "stage.rl.group_size=4", "stage.rl.updates_per_rollout=1",
			"stage.warm-up.test_every=99", `stage.warm-up.propose={say = ">{question}"}`, `stage.rl.propose={say = ">{question}", count = 4, reward = "task.valid*(1 - task) + 0.1*random"}`,
			"stage.warm-up.optimizer.lr=0.01", "stage.rl.lag=1", "stage.rl.algorithm.weight=tis"}
		want, length := written.undisturbed(t)
		if !strings.Contains(want["completions.jsonl"], `"seat":"proposer"`) || !strings.Contains(want["completions.jsonl"], `"seat":"solver"`) {
			t.Fatal("nobody writes problems, or solves them")
		}
		killed(t, written, max(1, kills/4), rng, want, length)
	})
	// A judge that draws, a judge that another process serves, a reward model and a model of log-probs that learn beside the
	// policy, which learns by a second loss too, an average of it, and rows that later steps draw.
	t.Run("models", func(t *testing.T) {
		_, address := program.serves(t, chatting(t, want, "checkpoints/step-000072"), "127.0.0.1:0")
		judge := func(name, model string) string {
			return `{name = "` + name + `", verifier = "judge", options = {model = "` + model + `", source = "{question} {completion}", read = "[0-9]", between = [0, 9], votes = 2, temperature = 1.0, max_tokens = 6, context = 400}}`
		}
		co := program
		co.sets = []string{`models={rm = {copy = "policy", head = true}, prm = {copy = "policy"}, past = {copy = "policy", renew = 4}, slow = {copy = "policy", follow = 0.5}, far = {url = "` + address + `"}}`,
			"stage.rl.reward=task + 0.1*rm + 0.1*default(says, 0) + 0.1*default(good, 0)", "stage.rl.truth=task", "stage.rl.lag=1",
			"stage.rl.verifier=[" + judge("says", "past") + ", " + judge("good", "far") + "]",
			"stage.rl.algorithm.weight=tis", "stage.rl.algorithm.penalty=0.01*square(logp - prm) + 0.01*square(logp - slow)", `stage.rl.algorithm.metrics={"my/behind" = "step_token_mean(square(old - slow))"}`,
			`stage.rl.learn={rm = {algorithm = {preset = "bradley_terry", pair = "scored_group"}, reward = "truth", optimizer = {rule = "amsgrad", lr = 1e-3}, every = 2},
			prm = {first = true, algorithm = {preset = "", state = {seen = {start = 0, next = "seen + 1"}}, loss = "seq_mean(-(1 + 0*seen)*right(task)*log_sigmoid(sum(logp - ref)))"}, optimizer = {lr = 1e-3}},
			policy = {kind = "sft", weight = 0.1, batch_size = 4}}`,
			`stage.rl.make=[{rows = "drawn", where = "not right(task)", row = {question = "{question}", answer = "{answer}", numbers = "{row.numbers}", target = "{row.target}"}},
			{rows = "said", each = "group", by = "policy", say = "{question}", max_tokens = 8, row = {prompt = "{question}", completion = "{said}"}}]`,
			`stage.rl.source=[{rows = "drawn", share = 0.4}]`}
		want, length := co.undisturbed(t)
		for _, has := range []string{`"rm/loss"`, `"prm/loss"`, `"second/loss"`, `"my/behind"`} {
			if !strings.Contains(want["metrics.jsonl"], has) {
				t.Fatalf("no %s is measured", has)
			}
		}
		averages := map[string]bool{} // of different steps
		for name, data := range want {
			if strings.HasSuffix(name, "/models/slow.safetensors") {
				averages[data] = true
			}
		}
		if n := readings(want); n < 200 || len(averages) < 5 {
			t.Fatalf("%d answers can be read, and %d checkpoints have other averages", n, len(averages))
		}
		if n := strings.Count(want["rows.jsonl"], "\n"); n < 100 || !strings.Contains(want["completions.jsonl"], `"prompt_id":"drawn/`) {
			t.Fatalf("%d rows", n)
		}
		if n := strings.Count(want["calls.jsonl"], "\n"); n < 100 || strings.Contains(want["calls.jsonl"], `"fault"`) {
			t.Fatalf("%d answers of the server:\n%.2000s", n, want["calls.jsonl"])
		}
		killed(t, co, 3*kills, rng, want, length)
	})
	t.Run("tools", func(t *testing.T) { // programs in the box, whose answers a journal has
		if runtime.GOOS != "linux" {
			t.Skip("no box on " + runtime.GOOS)
		}
		small := []string{"task.eval_problems=4", "task.eval_samples=2", "stage.rl.eval_problems=4", "stage.rl.eval_every=3", "stage.rl.group_size=4", "task.settings.terms=2",
			"stage.warm-up.batch_size=16", "stage.warm-up.test_every=99", "stage.warm-up.optimizer.lr=0.01"}
		learned := program
		learned.recipe = "calculator-tiny"
		learned.sets = append(slices.Clone(small), `task.tool=[{tool = "calculator", name = "c", shown = "1"}]`, "stage.rl.steps=1")
		from := filepath.Join(t.TempDir(), "learned")
		if p := learned.start(t, from); p.wait() != 0 {
			t.Fatal(p.shown())
		}
		calls := learned
		calls.sets = append(slices.Clone(small), `task.tool=[{tool = "python", name = "c"}]`, "model.path="+from, "stage.warm-up.skip=true", "stage.rl.reward=task")
		want, length := calls.undisturbed(t)
		if n := strings.Count(want["calls.jsonl"], "\n"); n < 100 {
			t.Fatalf("%d calls", n)
		}
		killed(t, calls, max(1, kills/4), rng, want, length)
	})
	t.Run("endpoint that dies", func(t *testing.T) { // in the middle of a run, which goes on once there is another one
		taught := program // whose answers have a digit, so that none is unread, and any that is missing stops a step
		taught.sets = []string{"stage.warm-up.hold_steps=400", "stage.warm-up.checkpoint_every=0", "stage.rl.skip=true"}
		judging, _ := taught.undisturbed(t)
		folder := chatting(t, judging, "checkpoints/step-000420")
		if err := os.WriteFile(filepath.Join(folder, "chat_template.jinja"), []byte("{% for m in messages %}{{ m.content.split(' ')[-4:] | join(' ') }}{% endfor %}"), 0o600); err != nil { // it is shown the question alone, as it was taught
			t.Fatal(err)
		}
		server, address := program.serves(t, folder, "127.0.0.1:0")
		judged := program
		judged.sets = []string{`models={far = {url = "` + address + `"}}`, "stage.rl.reward=random + good", "stage.rl.truth=task", "stage.rl.group_size=4", "stage.rl.max_not_scored=0",
			`stage.rl.verifier=[{name = "good", verifier = "judge", options = {model = "far", source = "{completion} {question}", read = "[0-9]", between = [0, 9], max_tokens = 40, context = 400}}]`}
		want, _ := judged.undisturbed(t)
		dir := filepath.Join(t.TempDir(), "stopped")
		p := judged.start(t, dir)
		calls := func() int {
			text, _ := os.ReadFile(filepath.Join(dir, "calls.jsonl"))
			return bytes.Count(text, []byte("\n"))
		}
		p.until(func() bool { return calls() > strings.Count(want["calls.jsonl"], "\n")/2 })
		server.cmd.Process.Kill()
		server.wait()
		if code := p.wait(); code != 1 || !strings.Contains(p.shown(), address+" cannot be asked: ") || !strings.Contains(p.shown(), "if the server of far is gone, start it again at "+address+" and continue with --resume") {
			t.Fatalf("exit code %d:\n%s", code, p.shown())
		}
		program.serves(t, folder, address)
		if p = judged.start(t, dir); p.wait() != 0 {
			t.Fatal(p.shown())
		}
		sameButOneCheckpoint(t, filesOf(t, dir), want)
	})
	t.Run("interrupt", func(t *testing.T) {
		dir, p := program.interrupted(t, rng, length/2)
		_, command, ok := strings.Cut(p.shown(), "to continue: rlzero ")
		command, _, _ = strings.Cut(command, "\n")
		if args := strings.Fields(command); !ok || len(args) == 0 {
			t.Fatalf("nothing says how to continue:\n%s", p.shown())
		} else if p = program.run(t, args...); p.wait() != 0 {
			t.Fatalf("rlzero %s:\n%s", command, p.shown())
		}
		sameButOneCheckpoint(t, filesOf(t, dir), want)
	})
}

// sameButOneCheckpoint is sameFiles of a run that stopped somewhere: the checkpoint of that step is one more.
func sameButOneCheckpoint(t *testing.T, got, want map[string]string) {
	t.Helper()
	maps.DeleteFunc(got, func(name, _ string) bool {
		_, known := want[name]
		return !known && strings.HasPrefix(name, "checkpoints/")
	})
	got["receipt.json"] = withCheckpoints(t, got["receipt.json"], got)
	want = maps.Clone(want)
	want["receipt.json"] = withCheckpoints(t, want["receipt.json"], want)
	sameFiles(t, got, want)
}

// serves starts a server of a model, and returns its address too.
func (pr program) serves(t *testing.T, folder, listen string) (server *process, address string) {
	t.Helper()
	server = pr.run(t, "serve", folder, "--listen", listen)
	shown := regexp.MustCompile(`http://(127\.0\.0\.1:[0-9]+)`)
	if !server.until(func() bool { return shown.MatchString(server.shown()) }) {
		t.Fatal(server.shown())
	}
	return server, shown.FindStringSubmatch(server.shown())[1]
}

// chatting is a folder with the model of a checkpoint, to which the text of a message is the prompt.
func chatting(t *testing.T, files map[string]string, checkpoint string) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("chat_template.jinja", "{% for m in messages %}{{ m.content }}{% endfor %}")
	for _, name := range []string{"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"} {
		write(name, files[checkpoint+"/"+name])
	}
	return dir
}

// readings is how many answers of judges a run could read.
func readings(files map[string]string) int {
	return len(regexp.MustCompile(`"reading":[0-9]`).FindAllString(files["judgements.jsonl"], -1))
}

// undisturbed are the files of a run that nothing happens to, and how long it takes.
func (pr program) undisturbed(t *testing.T) (files map[string]string, length time.Duration) {
	t.Helper()
	dir, began := filepath.Join(t.TempDir(), "undisturbed"), time.Now()
	p := pr.start(t, dir)
	if code := p.wait(); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, p.shown())
	}
	length = time.Since(began)
	if pr.sets == nil {
		exactOnPolicy(t, dir)
	}
	return filesOf(t, dir), length
}

// killed trains until so many kills are spent, and compares what the runs come to.
func killed(t *testing.T, pr program, kills uint64, rng *rand.Rand, want map[string]string, length time.Duration) {
	t.Helper()
	for kills > 0 {
		dir := filepath.Join(t.TempDir(), "killed")
		var spent uint64
		p := pr.start(t, dir)
		for spent < kills && p.kill(rng, length/2) {
			spent++
			p = pr.start(t, dir)
		}
		if code := p.wait(); code != 0 {
			t.Fatalf("exit code %d after %d kills:\n%s", code, spent, p.shown())
		}
		kills -= spent
		sameFiles(t, filesOf(t, dir), want)
		t.Logf("%d kills in one run", spent)
	}
}

// interrupted trains until a run is interrupted, within a time of its first words on. A run
// that ends before leaves half of that time to the next: the machine may be less busy now.
func (pr program) interrupted(t *testing.T, rng *rand.Rand, within time.Duration) (dir string, p *process) {
	t.Helper()
	for ; ; within /= 2 {
		dir = filepath.Join(t.TempDir(), "interrupted")
		p = pr.start(t, dir)
		p.until(func() bool { return p.shown() != "" }) // from then on it handles signals
		time.Sleep(time.Duration(rng.Int64N(int64(within) + 1)))
		p.cmd.Process.Signal(os.Interrupt)
		p.until(func() bool { return strings.Contains(p.shown(), "stopping at") })
		p.cmd.Process.Signal(os.Interrupt) // as timeout(1) does: once to the program and once to its group
		switch code := p.wait(); {
		case code == 130:
			return dir, p
		case code != 0 || within == 0:
			t.Fatalf("exit code %d, want 130:\n%s", code, p.shown())
		}
	}
}

func number(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

type program struct {
	path   string
	recipe string   // "": countdown-short
	sets   []string // changes of the recipe besides those of start
}

// main is the package of the program.
const main = "github.com/rlzero/rlzero"

func buildProgram(t testing.TB) program {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rlzero")
	if out, err := exec.Command("go", "build", "-ldflags", "-s -w", "-o", path, main).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program{path: path}
}

// start trains in a folder, or resumes the run that is there. Random rewards
// give every update something to learn; frequent checkpoints give the kills something
// to hit. The model is small: what a kill can spoil does not depend on its size.
func (pr program) start(t *testing.T, dir string) *process {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dir, "recipe.toml")); err == nil {
		return pr.run(t, "train", "--resume", "--run", dir)
	}
	args := []string{"train", "--run", dir, cmp.Or(pr.recipe, "countdown-short")}
	for _, set := range append([]string{"stage.rl.reward=random", "checkpoint.keep=1000", "stage.warm-up.checkpoint_every=10", "stage.rl.checkpoint_every=2",
		"model.layers=2", "model.width=32", "model.heads=2", "model.head_dim=16", "model.mlp=64", "task.eval_problems=16", "stage.warm-up.batch_size=8",
		"stage.warm-up.hold_steps=40", "stage.warm-up.decay_steps=20", "stage.rl.steps=12", "stage.rl.prompts_per_step=8"}, pr.sets...) {
		args = append(args, "--set", set)
	}
	return pr.run(t, args...)
}

// process is a running program.
type process struct {
	cmd   *exec.Cmd
	dir   string // run folder
	ended chan struct{}

	mu   sync.Mutex
	text bytes.Buffer
}

// hung is when a program that should have ended long ago is asked for its goroutines. The
// longest takes a minute on two busy cores.
const hung = 6 * time.Minute

// run starts the program. If it does not end it is told to print its goroutines and to exit
// with code 2, so that a test fails with them and not with the time limit of its package.
func (pr program) run(t testing.TB, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(pr.path, args...), ended: make(chan struct{})}
	if i := slices.Index(args, "--run"); i >= 0 {
		p.dir = args[i+1]
	}
	p.cmd.Stderr = p
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer time.AfterFunc(hung, func() { p.cmd.Process.Signal(syscall.SIGQUIT) }).Stop()
		p.cmd.Wait() // the exit code tells
		close(p.ended)
	}()
	t.Cleanup(func() { p.cmd.Process.Kill() })
	return p
}

// Write collects what the program shows.
func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

func (p *process) shown() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// wait returns the exit code, -1 if a signal ended the process.
func (p *process) wait() int {
	<-p.ended
	return p.cmd.ProcessState.ExitCode()
}

// ends says whether the process ends within the patience with a program. One that does not is asked
// where it stands: its goroutines are in what it has shown.
func (p *process) ends() bool {
	select {
	case <-p.ended:
		return true
	case <-time.After(patience):
		p.cmd.Process.Signal(syscall.SIGQUIT)
		<-p.ended
		return false
	}
}

// until polls until a condition holds; false: the process ended before.
func (p *process) until(holds func() bool) bool {
	for !holds() {
		select {
		case <-p.ended:
			return false
		case <-time.After(500 * time.Microsecond):
		}
	}
	return true
}

// kill ends the process at a random moment, or a little after it has begun to
// write a checkpoint. It is false if the process ended before.
func (p *process) kill(rng *rand.Rand, within time.Duration) bool {
	moment := time.Now().Add(time.Duration(rng.Int64N(int64(within))))
	atCheckpoint, delay := rng.IntN(2) == 0, time.Duration(rng.Int64N(int64(20*time.Millisecond)))
	come := p.until(func() bool {
		if !atCheckpoint {
			return time.Now().After(moment)
		}
		unfinished, _ := filepath.Glob(filepath.Join(p.dir, "checkpoints", "*.tmp"))
		return len(unfinished) > 0
	})
	if !come {
		return false
	}
	if atCheckpoint {
		time.Sleep(delay)
	}
	p.cmd.Process.Kill()
	return p.wait() == -1
}

// filesOf are the files of a run folder that equal runs have in common.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		switch path {
		case "timing.jsonl", "report.html", "lock":
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, path))
		files[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// withCheckpoints is a receipt with those of its checkpoints that are among the
// files.
func withCheckpoints(t *testing.T, receipt string, files map[string]string) string {
	t.Helper()
	var all map[string]any
	if err := json.Unmarshal([]byte(receipt), &all); err != nil {
		t.Fatalf("receipt.json: %v", err)
	}
	list, _ := all["checkpoints"].([]any)
	all["checkpoints"] = slices.DeleteFunc(list, func(c any) bool {
		_, ok := files[fmt.Sprintf("checkpoints/%s/manifest.json", c.(map[string]any)["name"])]
		return !ok
	})
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func sameFiles(t *testing.T, got, want map[string]string) {
	t.Helper()
	for name, data := range want {
		if have, ok := got[name]; !ok || have != data {
			t.Errorf("%s: found %v, %d bytes, want other %d", name, ok, len(have), len(data))
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s is too many", name)
		}
	}
}

// exactOnPolicy wants ratio 1 and divergence 0 from the sampler, exactly, in the
// first update of every step.
func exactOnPolicy(t *testing.T, dir string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "metrics.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	steps := 0
	for line := range bytes.Lines(data) {
		var row struct {
			Step    int
			Updates float64  `json:"optim/updates"`
			KL      *float64 `json:"policy/mismatch_kl"`
			Ratio   *float64 `json:"policy/ratio_first"`
			Norm    float64  `json:"policy/grad_norm"`
		}
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatal(err)
		}
		if row.Updates == 0 {
			continue
		}
		steps++
		if row.KL == nil || *row.KL != 0 || row.Ratio == nil || *row.Ratio != 1 || row.Norm == 0 {
			t.Errorf("want policy/mismatch_kl 0, policy/ratio_first 1 and a gradient: %s", line)
		}
	}
	if steps != 12 {
		t.Errorf("%d steps of reinforcement learning, want 12", steps)
	}
}
