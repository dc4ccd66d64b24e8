package model_test

import (
	"cmp"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/internal/fixtures"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/internal/modeltest"
	"github.com/rlzero/rlzero/model/learn"
	"github.com/rlzero/rlzero/model/sample"
	"github.com/rlzero/rlzero/model/seq"
)

// expected is expected.json of a model fixture; its README defines the fields.
type expected struct {
	Bounds struct {
		Logprob     float64 `json:"bound_logprob"`
		Entropy     float64 `json:"bound_entropy"`
		Mean        float64 `json:"bound_meanlogsoftmax"`
		Temperature float64 `json:"bound_temperature"`
		L1          float64 `json:"bound_l1"`
		L2          float64 `json:"bound_l2"`
		GradRel     float64 `json:"bound_grad_rel"`
		GradRelL2   float64 `json:"bound_grad_rel_l2"`
		GradFloor   float64 `json:"grad_norm_floor"`
	}
	L1          struct{ Value float64 }
	L2          struct{ Value float64 }
	Temperature struct {
		Sequence         int
		Temperature      float64
		Logprob, Entropy []*float64
	}
	Greedy []struct {
		Prompt, Continuation []int
	}
	Sequences []struct {
		IDs            []int
		Logprob        []*float64
		Entropy        []*float64
		MeanLogsoftmax []*float64
		A, B, C        []*float64
	}
}

// TestParity compares log-probs, entropies, losses, greedy continuations and
// the gradient of every tensor with what transformers and a float64 pass give; with -short
// of the selection alone.
func TestParity(t *testing.T) {
	fixtures.Each(t, "models", func(t *testing.T, dir string) {
		for _, dev := range gputest.Devices(t) {
			if (gputest.Slow(dev) || testing.Short()) && dir != fixtures.Selection(t, "models") {
				continue
			}
			t.Run(dev.Caps().ID+" "+string(dev.Caps().Tier), func(t *testing.T) { parityAll(t, dev, dir) })
		}
	})
}

func parityAll(t *testing.T, dev gpu.Device, dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	matched, failed := 0, 0
	count := func(name, path, adapter string) {
		if t.Run(name, func(t *testing.T) { parity(t, dev, path, adapter) }) {
			matched++
		} else {
			failed++
		}
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if _, err := os.Stat(filepath.Join(path, "expected.json")); err != nil {
			continue
		}
		count(e.Name(), path, "")
		for _, file := range glob(t, path, "adapters/*/expected.json") {
			adapter := filepath.Dir(file)
			count(e.Name()+" with "+filepath.Base(adapter), path, adapter)
		}
	}
	fixtures.Report(t, "models", matched, failed, 0)
}

// expectation reads what a model has to compute, alone or with an adapter, whose file
// leaves out what is as in the model's.
func expectation(t *testing.T, dir, adapter string) (want expected) {
	readJSON(t, filepath.Join(dir, "expected.json"), &want)
	if adapter == "" {
		return want
	}
	var with expected
	readJSON(t, filepath.Join(adapter, "expected.json"), &with)
	for i := range with.Sequences {
		s, base := &with.Sequences[i], want.Sequences[i]
		s.IDs, s.A, s.B, s.C = base.IDs, base.A, base.B, base.C
	}
	return with
}

// parity compares a model, with the adapter of a folder unless that is "".
func parity(t *testing.T, dev gpu.Device, dir, adapter string) {
	want := expectation(t, dir, adapter)
	m, err := model.Load(dev, dir, model.LoadOptions{Adapter: adapter})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	grads := cmp.Or(adapter, dir)
	tr, err := learn.NewTrainer(m, 512)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()

	var seqs []seq.Sequence
	for _, s := range want.Sequences {
		seqs = append(seqs, seq.Predict(s.IDs, 1, 1))
	}
	checkScores(t, tr, seqs, &want)
	checkGradients(t, dev, tr, seqs, &want, grads)
	if !gputest.Slow(dev) { // the engine's log-probs are the trainer's (TestInvarianceHash)
		checkGreedy(t, m, &want)
	}
}

func checkScores(t *testing.T, tr *learn.Trainer, seqs []seq.Sequence, want *expected) {
	got, err := tr.Forward(seqs)
	if err != nil {
		t.Fatal(err)
	}
	var worst [3]float64
	compare := func(k int, got []float32, want []*float64) {
		for i, g := range got {
			worst[k] = math.Max(worst[k], math.Abs(float64(g)-*want[i+1]))
		}
	}
	l1, l2, n := 0.0, 0.0, 0
	for i, s := range want.Sequences {
		compare(0, got[i].Logprob, s.Logprob)
		compare(1, got[i].Entropy, s.Entropy)
		compare(2, got[i].MeanLogprob, s.MeanLogsoftmax)
		for j := range got[i].Logprob {
			l1 -= float64(got[i].Logprob[j])
			l2 += *s.A[j+1]*float64(got[i].Logprob[j]) + *s.B[j+1]*float64(got[i].Entropy[j]) + *s.C[j+1]*float64(got[i].MeanLogprob[j])
			n++
		}
	}
	within(t, "logprob", worst[0], want.Bounds.Logprob)
	within(t, "entropy", worst[1], want.Bounds.Entropy)
	within(t, "mean log-softmax", worst[2], want.Bounds.Mean)
	within(t, "L1", math.Abs(l1/float64(n)-want.L1.Value), want.Bounds.L1)
	within(t, "L2", math.Abs(l2-want.L2.Value), want.Bounds.L2)

	if want.Temperature.Temperature == 0 {
		return
	}
	worst = [3]float64{}
	warm := seqs[want.Temperature.Sequence]
	warm.Temperature = want.Temperature.Temperature
	hot, err := tr.Forward([]seq.Sequence{warm})
	if err != nil {
		t.Fatal(err)
	}
	compare(0, hot[0].Logprob, want.Temperature.Logprob)
	compare(1, hot[0].Entropy, want.Temperature.Entropy)
	within(t, "logprob at a temperature", worst[0], want.Bounds.Temperature)
	within(t, "entropy at a temperature", worst[1], want.Bounds.Temperature)
}

func within(t *testing.T, what string, diff, bound float64) {
	t.Helper()
	if !(diff <= bound) {
		t.Errorf("%s: difference %.3g, bound %.3g", what, diff, bound)
	}
}

func checkGradients(t *testing.T, dev gpu.Device, tr *learn.Trainer, seqs []seq.Sequence, want *expected, dir string) {
	total := 0
	for _, s := range seqs {
		total += len(s.IDs) - 1
	}
	l1 := func(i, j int) (a, b, c float64) { return -1 / float64(total), 0, 0 }
	l2 := func(i, j int) (a, b, c float64) {
		s := want.Sequences[i]
		return *s.A[j+1], *s.B[j+1], *s.C[j+1]
	}
	losses := []struct {
		name   string
		weight func(i, j int) (a, b, c float64)
		rel    float64
	}{{"l1", l1, want.Bounds.GradRel}, {"l2", l2, want.Bounds.GradRelL2}}
	if gputest.Slow(dev) {
		losses = losses[1:] // it has the log-probs too
	}
	for _, loss := range losses {
		if _, err := tr.Forward(seqs); err != nil {
			t.Fatal(err)
		}
		if err := tr.Backward(modeltest.TokenWeights(seqs, loss.weight)); err != nil {
			t.Fatal(err)
		}
		compareGradients(t, tr, loss.name, filepath.Join(dir, "grads_"+loss.name+".safetensors"), loss.rel, want.Bounds.GradFloor)
		if err := tr.ZeroGrad(); err != nil {
			t.Fatal(err)
		}
	}
}

// compareGradients holds each tensor's gradient against the file, in the
// Euclidean norm: |g - ref| <= rel * max(|ref|, floor * largest |ref|).
func compareGradients(t *testing.T, tr *learn.Trainer, loss, file string, rel, floor float64) {
	ref, err := hf.OpenTensorFile(file)
	if err != nil {
		t.Fatal(err)
	}
	defer ref.Close()
	values, largest := map[string][]float32{}, 0.0
	for _, name := range ref.Names() {
		if values[name], err = ref.Read(name); err != nil {
			t.Fatal(err)
		}
		largest = math.Max(largest, modeltest.Norm(values[name], nil))
	}
	grads, err := tr.Gradients()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, g := range grads {
		want, ok := values[g.Name]
		if !ok {
			continue
		}
		seen++
		got, err := g.Data()
		if err != nil {
			t.Fatal(err)
		}
		diff, bound := modeltest.Norm(got, want), rel*math.Max(modeltest.Norm(want, nil), floor*largest)
		within(t, loss+" gradient of "+g.Name, diff, bound)
	}
	if seen != len(values) {
		t.Errorf("%s: %d gradients compared, the file has %d", loss, seen, len(values))
	}
}

func checkGreedy(t *testing.T, m *model.Model, want *expected) {
	longest := 0
	for _, g := range want.Greedy {
		longest = max(longest, len(g.Prompt)+len(g.Continuation))
	}
	e, err := sample.NewEngine(m, sample.Options{Sequences: 8, Context: longest, PromptRows: 7})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for i, g := range want.Greedy {
		out, err := e.Generate(t.Context(), sample.Request{Prompt: g.Prompt, MaxTokens: len(g.Continuation)})
		if err != nil {
			t.Fatal(err)
		}
		for j, id := range out[0].IDs {
			if id != g.Continuation[j] {
				t.Errorf("greedy %d: token %d is %d, want %d", i, j, id, g.Continuation[j])
				break
			}
		}
		if len(out[0].IDs) != len(g.Continuation) {
			t.Errorf("greedy %d: %d tokens, want %d", i, len(out[0].IDs), len(g.Continuation))
		}
	}
}

func readJSON(t testing.TB, path string, v any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func glob(t testing.TB, dir, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		t.Fatal(err)
	}
	return files
}
