package memory_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/gpu/refdev"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/learn"
	"github.com/rlzero/rlzero/model/memory"
	"github.com/rlzero/rlzero/model/sample"
	"github.com/rlzero/rlzero/model/seq"
)

// workload is a step of training that is planned and then done.
type workload struct {
	name   string
	config hf.Config
	use    memory.Use
	most   int // bytes, of the plan and of what is taken; 0: any
	long   bool
}

// shapeOf is a model of published sizes.
func shapeOf(family string, width, layers, heads, kv, mlp, vocab int, dtype hf.Dtype) hf.Config {
	return hf.Config{Family: family, Vocab: vocab, Width: width, Layers: layers, Heads: heads, KVHeads: kv, HeadDim: 64, MLP: mlp,
		MaxPositions: 8192, NormEps: 0x1p-20, RopeTheta: 1e6, TieEmbeddings: true, BOS: -1, PAD: -1, InitStd: 0.02, Dtype: dtype}
}

// workloads are a step with an adapter on four completions of each of four prompts, and one
// of a whole model: small, and of published shapes.
func workloads() []workload {
	const gib = 1 << 30
	sampled := memory.Use{Positions: 80, TrainRows: 320, Adapter: &hf.AdapterConfig{Rank: 16, Alpha: 32}, Members: []memory.Member{{Kind: memory.Reference}}, Engine: &sample.Options{Sequences: 16, Context: 80}}
	shared := sampled
	shared.Shared = true
	leaving := shared
	leaving.TrainRows = 640
	leaving.Members = []memory.Member{{Kind: memory.Folder, Name: "judge", Config: shapeOf("qwen2", 512, 8, 8, 2, 2048, 16384, hf.BF16), Leaves: true, Engine: &sample.Options{Sequences: 16, Context: 80}}}
	return []workload{
		{"adapter", shapeOf("qwen2", 256, 8, 4, 2, 1024, 16384, hf.Q8), sampled, 0, false},
		{"adapter, in phases", shapeOf("qwen2", 256, 8, 4, 2, 1024, 16384, hf.Q8), shared, 0, false},
		{"judge that leaves", shapeOf("qwen2", 256, 8, 4, 2, 1024, 16384, hf.Q8), leaving, 0, false},
		{"whole", shapeOf("llama", 320, 8, 5, 1, 864, 8192, hf.BF16), memory.Use{Positions: 128, TrainRows: 256}, 0, false},
		{"learner beside", shapeOf("llama", 320, 8, 5, 1, 864, 8192, hf.BF16), memory.Use{Positions: 128, TrainRows: 256,
			Members: []memory.Member{{Kind: memory.Average, Learns: &memory.Learning{Optimizes: []learn.Rule{learn.AMSGrad}, ValueHead: true}}}}, 0, false},
		{"learner of another shape", shapeOf("llama", 128, 1, 2, 1, 256, 8192, hf.F32), memory.Use{Positions: 128, TrainRows: 256,
			Members: []memory.Member{{Kind: memory.Novice, Config: shapeOf("llama", 320, 8, 5, 1, 864, 8192, hf.F32), Learns: &memory.Learning{Optimizes: []learn.Rule{learn.AMSGrad}}}}}, 0, false},
		// huggingface.co/Qwen/Qwen2.5-0.5B and HuggingFaceTB/SmolLM2-135M, config.json
		{"Qwen2.5-0.5B", shapeOf("qwen2", 896, 24, 14, 2, 4864, 151936, hf.Q8), sampled, 3 * gib, true},
		{"SmolLM2-135M", shapeOf("llama", 576, 30, 9, 3, 1536, 49152, hf.BF16), memory.Use{Positions: 128, TrainRows: 256}, 3 * gib, true},
	}
}

// residentCase names the workload that the test's own process does when it is started
// again: the peak of a process is of all that it has done.
const residentCase = "RLZERO_RESIDENT_CASE"

// residentFolder names the folder of the workload's model of a folder, if it has one: its own process would count what
// writing it takes.
const residentFolder = "RLZERO_RESIDENT_FOLDER"

// resident is what such a process reports, bytes.
type resident struct {
	Device        string
	Before, After int // resident before the first buffer, at the most
}

// TestResident: a plan is what the process takes, to 5 % and 32 MiB, and real models fit
// where they are said to.
func TestResident(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: runs a process for each model")
	}
	if name := os.Getenv(residentCase); name != "" {
		doWorkload(t, name)
		return
	}
	if runtime.GOOS != "linux" {
		t.Skip("Linux is missing: the peak of a process is read from /proc/self/status")
	}
	caps := gpu.Caps{}
	for _, dev := range gputest.Devices(t) {
		if c := dev.Caps(); c.Kind == gpu.CPU && c.Tier == gpu.TierLanes && strings.HasPrefix(c.ID, "vulkan") {
			caps = c
		}
	}
	if caps.ID == "" {
		if os.Getenv("CI") != "" && os.Getenv("RLZERO_ONLY_BACKEND") == "" {
			t.Fatal("lavapipe is missing")
		}
		t.Skip("lavapipe is missing: its memory is that of the process")
	}
	for _, w := range workloads() {
		if w.long && !gputest.Long() {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			plan, err := memory.Plan(w.config, caps, w.use)
			if err != nil {
				t.Fatal(err)
			}
			folder := ""
			for i, m := range w.use.Members {
				if m.Kind != memory.Folder {
					continue
				}
				cfg := m.Config
				cfg.Dtype = hf.F32
				folder = written(t, refdev.New(), cfg, 8)
				stays := w.use
				stays.Members = slices.Clone(stays.Members)
				stays.Members[i].Leaves = false
				if all, err := memory.Plan(w.config, caps, stays); err != nil || all.Total()-plan.Total() < plan.Total()/20+32<<20 {
					t.Errorf("that the model leaves saves less than the test tells apart: %d MiB are planned where it stays, %d where it leaves, %v", all.Total()>>20, plan.Total()>>20, err)
				}
			}
			cmd := exec.Command(os.Args[0], "-test.run=^TestResident$", "-test.timeout=60m")
			cmd.Env = append(os.Environ(), residentCase+"="+w.name, residentFolder+"="+folder, "GOGC=100", "RLZERO_DEVICE="+caps.ID, "RLZERO_TIER="+string(caps.Tier))
			out, err := cmd.Output()
			var r resident
			line, _, _ := strings.Cut(string(out), "\n")
			if err == nil {
				err = json.Unmarshal([]byte(line), &r)
			}
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			taken, planned := r.After-r.Before, plan.Total()
			t.Logf("planned %d MiB, taken %d MiB beside %d MiB\n%s", planned>>20, taken>>20, r.Before>>20, plan)
			if tolerance := planned/20 + 32<<20; taken > planned+tolerance || taken < planned-tolerance {
				t.Errorf("%d MiB are taken and %d MiB planned", taken>>20, planned>>20)
			}
			if w.most > 0 && (taken > w.most || planned > w.most) {
				t.Errorf("%d MiB are taken and %d MiB planned; want at most %d MiB", taken>>20, planned>>20, w.most>>20)
			}
		})
	}
}

// doWorkload does a workload and prints what the process took.
func doWorkload(t *testing.T, name string) {
	for _, w := range workloads() {
		if w.name != name {
			continue
		}
		dev, err := gpu.Open("")
		if err != nil {
			t.Fatal(err)
		}
		defer dev.Close()
		r := resident{Device: dev.Caps().ID, Before: status(t, "VmRSS")}
		if err := w.run(dev); err != nil {
			t.Fatal(err)
		}
		r.After = status(t, "VmHWM")
		line, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println(string(line))
	}
}

// status is a line of /proc/self/status, bytes.
func status(t *testing.T, key string) int {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), key+":"); ok {
			n, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(value, "kB")))
			if err != nil {
				t.Fatal(err)
			}
			return n << 10
		}
	}
	t.Fatalf("no %s", key)
	return 0
}

// run makes what the plan counts and does one step with it.
func (w workload) run(dev gpu.Device) error {
	m, err := w.open(dev)
	if err != nil {
		return err
	}
	defer m.Close()
	var scratch *model.Scratch // nil: nothing is shared
	if w.use.Shared {
		plan, err := memory.Plan(w.config, dev.Caps(), w.use)
		if err == nil {
			scratch, err = model.NewScratch(dev, plan.Blocks)
		}
		if err != nil {
			return err
		}
		defer scratch.Close()
	}
	options := []learn.Option{learn.In(scratch.Phase(memory.Training))}
	if w.use.Recompute {
		options = append(options, learn.Recompute)
	}
	tr, err := learn.NewTrainer(m, w.use.TrainRows, options...)
	if err != nil {
		return err
	}
	defer tr.Close()
	seqs, err := w.sequences(m, scratch.Phase(memory.Sampling))
	if err != nil {
		return err
	}
	for _, member := range w.use.Members {
		if by := member.Learns; member.Kind == memory.Novice {
			err = apart(dev, member, w.use, scratch, seqs)
		} else if member.Kind == memory.Folder {
			err = judges(dev, member, w.use, scratch, tr, seqs)
		} else if by != nil {
			err = besides(m, tr, *by, w.use.TrainRows, seqs)
		} else {
			err = refers(m, tr, seqs)
		}
		if err != nil {
			return err
		}
	}
	return step(tr, "", seqs)
}

// refers does what a reference does.
func refers(m *model.Model, tr *learn.Trainer, seqs []seq.Sequence) error {
	sc := tr.NewScorer(m, true)
	defer sc.Close()
	_, err := sc.Score(seqs)
	return err
}

// besides does what a model does that learns beside another one, and leaves it open, as a run does.
func besides(m *model.Model, tr *learn.Trainer, by memory.Learning, rows int, seqs []seq.Sequence) error {
	a, err := learn.NewAverage(m)
	if err != nil {
		return err
	}
	sc := tr.NewScorer(a.Model, false)
	if _, err := sc.Score(seqs); err != nil {
		return err
	}
	own, err := learn.NewTrainer(a.Model, rows, learn.Beside(tr), learn.Optimizes(by.Optimizes...), learn.ValueHead)
	if err != nil {
		return err
	}
	return step(own, by.Optimizes[0], seqs)
}

// apart does what a model does that learns by a trainer of its own, and leaves it open, as a run does.
func apart(dev gpu.Device, member memory.Member, use memory.Use, scratch *model.Scratch, seqs []seq.Sequence) error {
	m, err := model.New(dev, member.Config, 2, use.Positions)
	if err != nil {
		return err
	}
	tr, err := learn.NewTrainer(m, use.TrainRows, learn.In(scratch.Phase(memory.LearningOf("model"))), learn.Optimizes(member.Learns.Optimizes...))
	if err != nil {
		return err
	}
	sc := tr.NewScorer(m, false)
	if _, err := sc.Score(seqs); err != nil {
		return err
	}
	return step(tr, member.Learns.Optimizes[0], seqs)
}

// judges does what a judge of a folder does, which scores and writes, before and after an update of the policy in another
// phase. It stays open, as it does in a run.
func judges(dev gpu.Device, member memory.Member, use memory.Use, scratch *model.Scratch, tr *learn.Trainer, seqs []seq.Sequence) error {
	whole := scratch.Phase(member.Name)
	m, err := model.Load(dev, os.Getenv(residentFolder), model.LoadOptions{Positions: use.Positions, Dtype: member.Config.Dtype, Frozen: true, Phase: whole})
	if err != nil {
		return err
	}
	sc, err := m.NewScorerIn(whole.Part(memory.Reading(member.Name)), use.TrainRows)
	if err != nil {
		return err
	}
	o := *member.Engine
	o.Phase = whole.Part(memory.Writing(member.Name))
	e, err := sample.NewEngine(m, o)
	if err != nil {
		return err
	}
	for range 2 {
		if _, err := sc.Score(seqs); err != nil {
			return err
		}
		if _, err := e.GenerateAll(context.Background(), []sample.Request{{Prompt: seqs[0].IDs[:16], N: 2, MaxTokens: 4, Sampling: sample.Settings{Temperature: 1, Seed: 1}}}); err != nil {
			return err
		}
		if err := step(tr, "", seqs); err != nil {
			return err
		}
	}
	return nil
}

// step is an update by a rule.
func step(tr *learn.Trainer, by learn.Rule, seqs []seq.Sequence) error {
	err := tr.Accumulate(seqs, func(first int, stats []seq.Stats) ([]learn.Weights, error) {
		out := make([]learn.Weights, len(stats))
		for i, s := range stats {
			out[i].Logprob = make([]float64, len(s.Logprob))
			for j := range out[i].Logprob {
				out[i].Logprob[j] = float64(1+(first+i)%2*-2) / 16
			}
		}
		return out, nil
	})
	if err == nil {
		_, err = tr.Step(learn.Optimizer{Rule: by, LR: 1e-5, Beta1: 0.9, Beta2: 0.99, Eps: 1e-8, ClipNorm: 1})
	}
	return err
}

func (w workload) open(dev gpu.Device) (*model.Model, error) {
	if w.use.Adapter == nil {
		return model.New(dev, w.config, 1, w.use.Positions)
	}
	m, err := model.NewFrozen(dev, w.config, w.use.Positions)
	if err == nil {
		err = m.Initialize(1)
	}
	if err == nil {
		err = m.AddAdapter(*w.use.Adapter, 1)
	}
	return m, err
}

// sequences are four completions of 64 tokens (8 in the small case) of each of four prompts, or rows of imitation.
// The engine stays open, as it does in a run.
func (w workload) sequences(m *model.Model, phase *model.Phase) ([]seq.Sequence, error) {
	var seqs []seq.Sequence
	if w.use.Engine == nil {
		for i := range w.use.TrainRows / w.use.Positions {
			ids := make([]int, w.use.Positions)
			for j := range ids {
				ids[j] = (31*i + 17*j) % w.config.Vocab
			}
			seqs = append(seqs, seq.Predict(ids, 1, 1))
		}
		return seqs, nil
	}
	o := *w.use.Engine
	o.Phase = phase
	e, err := sample.NewEngine(m, o)
	if err != nil {
		return nil, err
	}
	prompt, tokens := make([]int, 16), w.use.Engine.Context-16
	if !w.long { // what is allocated is the same
		tokens = 8
	}
	var reqs []sample.Request
	for i := range 4 {
		prompt[0] = i
		reqs = append(reqs, sample.Request{Prompt: slices.Clone(prompt), N: 4, MaxTokens: tokens, Stream: uint32(4 * i), Sampling: sample.Settings{Temperature: 1, Seed: 1}})
	}
	all, err := e.GenerateAll(context.Background(), reqs)
	for i, group := range all {
		for _, c := range group {
			s := seq.Predict(slices.Concat(reqs[i].Prompt, c.IDs), len(prompt), 1)
			s.Group = i + 1
			seqs = append(seqs, s)
		}
	}
	return seqs, err
}
