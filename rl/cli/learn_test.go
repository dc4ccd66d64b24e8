package cli

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/internal/llamacpp"
	"github.com/rlzero/rlzero/rl/record"
)

// mathSystem is the system message of lora-math.
const mathSystem = `Reason step by step, and put the final answer within \boxed{}.`

// TestLoRAMathLearns goes the whole way of a real model. A small one with a tokenizer, a chat
// template and end tokens as published ones have them learns by imitation to answer word
// problems, and is sometimes right. lora-math then teaches it from rewards, by an adapter,
// and it answers held-out problems better. Exported, it answers the same in llama.cpp.
//
// The long form runs the recipe as it is, with three seeds. The short form has one seed,
// fewer steps and a higher learning rate, which a model as small as this takes.
func TestLoRAMathLearns(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains for half a minute, and needs llama.cpp")
	}
	seeds, imitation, sets := uint64(1), []int{110, 40, 24}, []string{"stage.rl.steps=40", "stage.rl.optimizer.lr=1e-3", "stage.rl.eval_every=0", "stage.rl.sampling.max_completion_tokens=64", "task.eval_problems=8"}
	if gputest.Long() {
		seeds, imitation, sets = 3, []int{150, 50, 32}, nil
	}
	for seed := uint64(1); seed <= seeds; seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			p := newPipeline(t, seed)
			p.imitate(imitation[0], imitation[1], imitation[2])
			before := p.measure("sft")
			p.train("rl", "lora-math", append(sets, "model.path="+p.file("sft"), "task.data="+p.file("problems.jsonl"))...)
			after := p.measure("rl")
			t.Logf("of %d held-out problems %d right after imitation, %d after lora-math", heldOutProblems, before, after)
			if z := rise(before, after, heldOutProblems); z < 3.09 {
				t.Errorf("a rise of %.2f standard errors, want 3.09: by chance it comes once in 1,000 times", z)
			}
			p.takeOut()
		})
	}
}

// TestGuessLearns: a minute of guess-tiny, most of it imitation, finds more hidden numbers of held-out
// ranges than the random weights that it begins from: by chance such a rise comes once in 1,000 times.
// With RLZERO_LONG=1 the whole recipe finds nine of ten, from three seeds.
func TestGuessLearns(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains for a minute")
	}
	quick := []string{"stage.rl.eval_every=0", "stage.rl.optimizer.warmup_steps=1", "task.eval_samples=8"}
	p := &pipeline{t: t, dir: t.TempDir(), seed: 1}
	if gputest.Long() {
		for p.seed = 1; p.seed <= 3; p.seed++ {
			run := fmt.Sprint("seed-", p.seed)
			p.train(run, "guess-tiny")
			share := 0.0
			all := p.heldOut(run)
			for _, x := range all[len(all)-1] {
				share += x / float64(len(all[0]))
			}
			t.Logf("seed %d: %.3f of the numbers of held-out ranges are found", p.seed, share)
			if share < 0.9 {
				t.Errorf("seed %d: %.3f of the numbers are found, want at least 0.9", p.seed, share)
			}
		}
		return
	}
	p.train("random", "guess-tiny", append(quick, "stage.warm-up.skip=true", "stage.rl.steps=1")...)
	p.train("minute", "guess-tiny", append(quick, "stage.warm-up.hold_steps=70", "stage.warm-up.decay_steps=30", "stage.warm-up.test_every=1000", "stage.rl.steps=2")...)
	before, after := p.heldOut("random")[0], p.heldOut("minute")[1]
	var mean, square float64 // of the rise of a range: samples of one range are not independent
	n := float64(len(before))
	for i := range before {
		mean += (after[i] - before[i]) / n
	}
	for i := range before {
		square += (after[i] - before[i] - mean) * (after[i] - before[i] - mean) / (n - 1)
	}
	x := mean / math.Sqrt(square/n)
	t.Logf("found %v of each held-out range before, %v after: a rise of %.3f, %.1f standard errors", before, after, mean, x)
	if len(before) != 20 || !(x > 3.58) { // Student's t with 19 degrees of freedom: 0.001 above it
		t.Errorf("a rise of %.3f on %d ranges is %.2f standard errors, want 3.58", mean, len(before), x)
	}
}

// heldOut are the evaluations of a run, the share of right ones of each held-out problem.
func (p *pipeline) heldOut(run string) (all [][]float64) {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(p.file(run), record.HeldOutFile))
	if err != nil {
		p.t.Fatal(err)
	}
	for _, line := range splitLines(string(text)) {
		var l record.HeldOut
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			p.t.Fatal(err)
		}
		var shares []float64
		for _, o := range l.Problems {
			shares = append(shares, float64(o.Right)/float64(o.Scored))
		}
		all = append(all, shares)
	}
	return all
}

// heldOutProblems are sampled once each, so that they are independent of each other.
const heldOutProblems = 512

// rise is by how many standard errors the share of right ones of n is larger afterwards: the
// test of two proportions with a pooled share.
func rise(before, after, n int) float64 {
	pooled := float64(before+after) / float64(2*n)
	return float64(after-before) / float64(n) / math.Sqrt(pooled*(1-pooled)*2/float64(n))
}

// pipeline is a folder with the files of a test.
type pipeline struct {
	t    *testing.T
	dir  string
	seed uint64
	asks []string // questions that no training has seen
}

func newPipeline(t *testing.T, seed uint64) *pipeline {
	p := &pipeline{t: t, dir: t.TempDir(), seed: seed}
	const train = 2000
	problems, conversations, texts := problemRows(seed, train+heldOutProblems, 0.75)
	rows := strings.SplitAfter(problems, "\n")
	p.write("problems.jsonl", strings.Join(rows[:train], ""))
	p.write("held-out.jsonl", strings.Join(rows[train:], ""))
	p.write("conversations.jsonl", strings.Join(strings.SplitAfter(conversations, "\n")[:train], ""))
	for i := range 8 {
		p.asks = append(p.asks, texts[2*(train+i)])
	}
	if err := os.Mkdir(p.file("start"), 0o755); err != nil {
		t.Fatal(err)
	}
	writeTiny(t, p.file("start"), append(texts[:2*train], mathSystem, "system\n", "user\n", "assistant\n"), seed)
	return p
}

func (p *pipeline) file(name string) string { return filepath.Join(p.dir, name) }

func (p *pipeline) write(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(p.file(name), []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// run runs a command, which has to succeed.
func (p *pipeline) run(args ...string) string {
	p.t.Helper()
	code, stdout, stderr := rlzero(p.t, args...)
	if code != 0 {
		p.t.Fatalf("rlzero %v: exit code %d\n%s", args, code, stderr)
	}
	return stdout
}

// train runs a recipe with changes, into a folder.
func (p *pipeline) train(into, recipe string, sets ...string) {
	p.t.Helper()
	args := []string{"train", recipe, "--run", p.file(into), "--seed", fmt.Sprint(p.seed)}
	for _, set := range sets {
		args = append(args, "--set", set)
	}
	p.run(args...)
}

// imitate teaches the random model the form of answers, whose signs are often wrong.
func (p *pipeline) imitate(hold, decay, batch int) {
	p.t.Helper()
	p.train("sft", "sft-chat", "model.path="+p.file("start"), "task.data="+p.file("conversations.jsonl"), `task.system="`+strings.ReplaceAll(mathSystem, `\`, `\\`)+`"`,
		"stage.sft.optimizer.lr=3e-3", "stage.sft.test_every=1000", fmt.Sprint("stage.sft.hold_steps=", hold), fmt.Sprint("stage.sft.decay_steps=", decay), fmt.Sprint("stage.sft.batch_size=", batch))
}

// measure is how many held-out problems a model answers right, sampled once each.
func (p *pipeline) measure(model string) int {
	p.t.Helper()
	out := p.run("eval", p.file(model), "--data", p.file("held-out.jsonl"), "--verifier", "math", "--system", mathSystem, "--n", "1", "--k", "1", "--max-tokens", "64", "--json")
	var result struct {
		N    int
		Mean float64
	}
	if err := json.Unmarshal([]byte(out), &result); err != nil || result.N != heldOutProblems {
		p.t.Fatalf("%v: %s", err, out)
	}
	return int(math.Round(result.Mean * heldOutProblems))
}

// takeOut exports the trained model in every form; each answers as the run does.
func (p *pipeline) takeOut() {
	p.t.Helper()
	const tokens = 32
	var prompts strings.Builder
	var texts []string
	for _, q := range p.asks {
		writeJSON(&prompts, map[string]any{"messages": []map[string]string{{"role": "system", "content": mathSystem}, {"role": "user", "content": q}}})
		texts = append(texts, "<|im_start|>system\n"+mathSystem+"<|im_end|>\n<|im_start|>user\n"+q+"<|im_end|>\n<|im_start|>assistant\n")
	}
	p.write("asked.jsonl", prompts.String())
	answers := func(model string, more ...string) [][]int {
		p.t.Helper()
		out := p.run(append([]string{"sample", model, "--greedy", "--max-tokens", fmt.Sprint(tokens), "--in", p.file("asked.jsonl")}, more...)...)
		var all [][]int
		for _, line := range splitLines(out) {
			var c struct {
				IDs  []int
				Stop string
			}
			if err := json.Unmarshal([]byte(line), &c); err != nil || c.Stop != "eos" {
				p.t.Fatalf("%v: %s", err, line)
			}
			all = append(all, c.IDs[:len(c.IDs)-1])
		}
		return all
	}
	want := answers(p.file("rl"))
	same := func(what string, got [][]int) {
		p.t.Helper()
		if !slices.EqualFunc(got, want, slices.Equal) {
			p.t.Errorf("%s answers %v, the run %v", what, got, want)
		}
	}
	p.run("export", p.file("rl"), "--format", "peft", "--out", p.file("peft"))
	same("the model with the exported adapter", answers(p.file("sft"), "--adapter", p.file("peft")))
	p.run("export", p.file("rl"), "--format", "hf", "--out", p.file("hf"))
	same("the merged model", answers(p.file("hf")))
	p.run("export", p.file("rl"), "--format", "gguf", "--type", "f32", "--out", p.file("gguf"))
	var got [][]int
	for _, c := range llamacpp.Continue(p.t, []string{filepath.Join(p.file("gguf"), "model-f32.gguf")}, tokens, texts...)[0] {
		got = append(got, c.Out)
	}
	same("llama.cpp", got)
}
