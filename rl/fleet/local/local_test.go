package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/fleet"
	"github.com/rlzero/rlzero/rl/receipt"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/resolve"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/rl/run"
)

// tiny is a run of a second that has everything that workers have to do with: a warm-up,
// whose test of form samples too, filters, a reference policy, evaluations.
var tiny = []string{
	"model.width=32", "model.heads=2", "model.head_dim=16", "model.mlp=64",
	"task.eval_problems=6", "task.eval_samples=4",
	"stage.warm-up.batch_size=6", "stage.warm-up.hold_steps=5", "stage.warm-up.test_every=2", "stage.warm-up.decay_steps=3",
	"stage.rl.steps=4", "stage.rl.prompts_per_step=5", "stage.rl.group_size=4", "stage.rl.updates_per_rollout=2", "stage.rl.reward=random",
	"stage.rl.eval_every=2", "stage.rl.eval_problems=5", "stage.rl.checkpoint_every=1",
	"sampler_sequences=4", // so that a step has several items for each worker
	"stage.rl.sampling.temperature=0.7", "stage.rl.sampling.top_k=20", "stage.rl.algorithm.penalty=kl_k3", "stage.rl.algorithm.beta=0.05",
}

// workers makes those of a run.
type workers func(t *testing.T, r *recipe.Recipe, c *cast.Cast, note func(string)) rollout.Sampler

// opened loads the recipe and opens what it names.
func opened(t *testing.T, sets ...string) *resolve.Opened {
	t.Helper()
	r, err := recipe.Load("countdown-short", append(sets, tiny...))
	if err != nil {
		t.Fatal(err)
	}
	o, err := resolve.Open(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// filesOf runs the recipe and returns its files but those of times, and what was shown.
func filesOf(t *testing.T, with workers, sets ...string) (map[string]string, string) {
	t.Helper()
	dir, show := filepath.Join(t.TempDir(), "run"), &bytes.Buffer{}
	o := run.Options{Opened: opened(t, sets...), Dir: dir, Device: gputest.Devices(t)[0], Show: show}
	if with != nil {
		o.Workers = func(r *recipe.Recipe, c *cast.Cast, note func(string)) (rollout.Sampler, error) {
			return with(t, r, c, note), nil
		}
	}
	if _, err := run.Train(t.Context(), o); err != nil {
		t.Fatalf("%v after\n%s", err, show)
	}
	return written(t, dir), show.String()
}

// written are the files of a run but those of times, and the schedule that it repeats.
func written(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		if data, err := os.ReadFile(path); err != nil {
			return err
		} else if name != "timing.jsonl" && name != "lock" && name != "replay.jsonl" {
			files[name] = string(data)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func sameFiles(t *testing.T, name string, got, want map[string]string) {
	t.Helper()
	for file := range want {
		if got[file] != want[file] {
			t.Errorf("%s: %s has other bytes", name, file)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s: %d files, want %d", name, len(got), len(want))
	}
}

// plain are the files of runs without workers, by their settings.
var plain = map[string]map[string]string{}

func plainFiles(t *testing.T, sets ...string) map[string]string {
	t.Helper()
	key := strings.Join(sets, " ")
	if plain[key] == nil {
		plain[key], _ = filesOf(t, nil, sets...)
	}
	return plain[key]
}

// started are n workers of Start on the device of the run.
func started(n int, o fleet.Options, counts *fleet.Counts) workers {
	return func(t *testing.T, r *recipe.Recipe, c *cast.Cast, note func(string)) rollout.Sampler {
		o.Note = note
		w, err := Start(r, c, open(t, c.Policy.Model.Device().Caps().ID, n), o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(w.Close)
		return counting{w, counts}
	}
}

// counting notes the counts after each call.
type counting struct {
	counted
	counts *fleet.Counts
}

type counted interface {
	rollout.Early
	Counts() fleet.Counts
}

func (c counting) Begin(ctx context.Context, requests []rollout.Request) error {
	return c.counted.Begin(ctx, requests)
}

func (c counting) Sample(ctx context.Context, requests []rollout.Request) ([][]rollout.Segment, error) {
	defer func() { *c.counts = c.Counts() }()
	return c.counted.Sample(ctx, requests)
}

func open(t *testing.T, id string, n int) []gpu.Device {
	t.Helper()
	var out []gpu.Device
	for range n {
		dev, err := gpu.Open(id)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { dev.Close() })
		out = append(out, dev)
	}
	return out
}

// TestEqualBytes: a run has the bytes of one machine with 1, 2 and 5 workers, in both
// modes, in float32, with a lag, in bf16, and where an adapter of a model in q8_0 is trained.
func TestEqualBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains for seconds on each device")
	}
	lag := []string{"stage.rl.lag=1", "stage.rl.algorithm.weight=tis", "stage.rl.refill.tries=2", "stage.rl.algorithm.keep=group_std(reward) > 0"}
	for i, sets := range [][]string{nil, lag, {"model.dtype=bf16", "model.kv_dtype=bf16"}, {"model.dtype=q8_0", "model.lora.rank=3"}} {
		want := plainFiles(t, sets...)
		for _, c := range []struct {
			n    int
			mode fleet.Mode
		}{{1, fleet.Exact}, {2, fleet.Draft}, {5, fleet.Exact}} {
			if i > 1 && c.n != 2 {
				continue
			}
			name := fmt.Sprintf("%d workers, %s, %v", c.n, c.mode, sets)
			var counts fleet.Counts
			got, _ := filesOf(t, started(c.n, fleet.Options{Mode: c.mode, Audit: 0.5}, &counts), sets...)
			sameFiles(t, name, got, want)
			if i == 1 { // canaries are answered when others have drawn the step beside the learning
				counts.Dropped = 0
			}
			if counts.Answered == 0 || counts.Refused > 0 || counts.Dropped > 0 || c.mode == fleet.Exact && counts.Audited == 0 || counts.KeptTokens != counts.DraftTokens {
				t.Errorf("%s: %+v", name, counts)
			}
		}
	}
}

// meeting is a worker's engine that waits in its first item until all others have one too,
// so that each of them draws something.
type meeting struct {
	fleet.Engine
	once  sync.Once
	all   *sync.WaitGroup
	items *atomic.Int32
}

func (m *meeting) Sample(ctx context.Context, requests []rollout.Request, seed uint64) ([][]rollout.Segment, error) {
	m.once.Do(func() { m.all.Done(); m.all.Wait() })
	m.items.Add(1)
	return m.Engine.Sample(ctx, requests, seed)
}

// TestMixedDevices: in mode draft all devices there are, in each tier, work for one run,
// whatever bits their log-probs have.
func TestMixedDevices(t *testing.T) {
	devices := gputest.Devices(t)
	if len(devices) < 2 {
		if os.Getenv("CI") != "" {
			t.Fatal("there is one device alone; CI has lavapipe and the plain-Go device")
		}
		t.Skip("there is one device alone: a Vulkan driver is missing, such as Mesa's lavapipe")
	}
	want := plainFiles(t)
	items := make([]atomic.Int32, len(devices))
	var counts fleet.Counts
	got, _ := filesOf(t, func(t *testing.T, r *recipe.Recipe, c *cast.Cast, note func(string)) rollout.Sampler {
		m := fleet.NewMemory()
		f := fleet.New(m, TrainerOf(c), fleet.Options{Mode: fleet.Draft, Slots: func() int { return len(devices) }, Patience: time.Hour, Note: note})
		var all, running sync.WaitGroup
		all.Add(len(devices))
		for i, dev := range devices {
			if i == 0 { // the trainer has it
				dev = open(t, dev.Caps().ID, 1)[0]
			}
			w, err := openWorker(r, c.Folder, dev)
			if err != nil {
				t.Fatal(err)
			}
			running.Go(func() {
				defer w.Close()
				fleet.Work(t.Context(), m, fmt.Sprint(i), &meeting{Engine: w, all: &all, items: &items[i]})
			})
		}
		t.Cleanup(func() { f.Close(); m.Close(); running.Wait() })
		return counting{f, &counts}
	})
	sameFiles(t, "mixed devices", got, want)
	for i, dev := range devices {
		c := dev.Caps()
		t.Logf("%s, tier %s: %d items", c.Name, c.Tier, items[i].Load())
		if items[i].Load() == 0 {
			t.Errorf("%s draws nothing", c.ID)
		}
	}
	t.Log(counts)
	if counts.KeptTokens == 0 {
		t.Errorf("%+v", counts)
	}
}

// TestResume: a run that is interrupted while workers draw, and goes on with others or
// with none, has the bytes of one machine.
func TestResume(t *testing.T) {
	want := plainFiles(t)
	for _, c := range []struct{ stopAt, before, after int }{{1, 2, 1}, {9, 0, 2}} {
		dir := filepath.Join(t.TempDir(), "run")
		part := func(ctx context.Context, n int, resume bool, each func()) error {
			o := run.Options{Opened: opened(t), Dir: dir, Resume: resume, Device: gputest.Devices(t)[0], Show: io.Discard}
			o.Workers = func(r *recipe.Recipe, c *cast.Cast, note func(string)) (rollout.Sampler, error) {
				if n == 0 {
					return calling{c.Own, each}, nil
				}
				var counts fleet.Counts
				return calling{started(n, fleet.Options{}, &counts)(t, r, c, note), each}, nil
			}
			_, err := run.Train(ctx, o)
			return err
		}
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		err := part(ctx, c.before, false, func() {
			if calls++; calls == c.stopAt {
				cancel()
			}
		})
		if !errors.Is(err, run.ErrInterrupted) {
			t.Fatalf("%+v: %v", c, err)
		}
		if err := part(t.Context(), c.after, true, func() {}); err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		got := written(t, dir)
		for file := range got {
			if _, extra := want[file]; !extra && strings.HasPrefix(file, "checkpoints") { // of the interrupt
				delete(got, file)
			}
		}
		delete(got, receipt.File) // it lists that checkpoint
		for file := range got {
			if got[file] != want[file] {
				t.Errorf("%+v: %s has other bytes", c, file)
			}
		}
	}
}

// calling tells of each call, before it.
type calling struct {
	rollout.Sampler
	each func()
}

func (c calling) Sample(ctx context.Context, requests []rollout.Request) ([][]rollout.Segment, error) {
	c.each()
	return c.Sampler.Sample(ctx, requests)
}

func openWorker(r *recipe.Recipe, folder string, dev gpu.Device) (*cast.Worker, error) {
	spec, err := cast.SpecOf(r, folder)
	if err != nil {
		return nil, err
	}
	return spec.Open(folder, dev)
}

// bad is a worker's engine that goes wrong: it lies, fails or hangs.
type bad struct {
	fleet.Engine
	items int
	how   func(item int, out [][]rollout.Segment) error
}

func (b *bad) Sample(ctx context.Context, requests []rollout.Request, seed uint64) ([][]rollout.Segment, error) {
	out, err := b.Engine.Sample(ctx, requests, seed)
	if requests[0].Key.Stream >= 1<<31 { // a canary
		return out, err
	}
	if b.items++; err == nil {
		err = b.how(b.items, out)
	}
	return out, err
}

// TestBadWorkers: a run has the bytes of one machine with a worker that lies, one that
// fails and one that hangs, in both modes; in mode Exact with every item checked.
func TestBadWorkers(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains with each kind of bad worker")
	}
	want := plainFiles(t)
	for _, mode := range []fleet.Mode{fleet.Exact, fleet.Draft} {
		got, shown := filesOf(t, func(t *testing.T, r *recipe.Recipe, c *cast.Cast, note func(string)) rollout.Sampler {
			m := fleet.NewMemory()
			hang := make(chan struct{})
			f := fleet.New(m, TrainerOf(c),
				fleet.Options{Mode: mode, Audit: 1, Slots: func() int { return 4 }, Patience: 50 * time.Millisecond, Note: note})
			for i, how := range []func(item int, out [][]rollout.Segment) error{
				func(int, [][]rollout.Segment) error { return nil },
				func(item int, out [][]rollout.Segment) error {
					s := &out[0][0]
					s.IDs[0] = (s.IDs[0] + item) % c.Policy.Model.Config.Vocab
					return nil
				},
				func(item int, _ [][]rollout.Segment) error {
					if item > 3 {
						return errors.New("the device is gone")
					}
					return nil
				},
				func(item int, _ [][]rollout.Segment) error {
					if item > 2 {
						<-hang
					}
					return nil
				},
			} {
				w, err := openWorker(r, c.Folder, open(t, c.Policy.Model.Device().Caps().ID, 1)[0])
				if err != nil {
					t.Fatal(err)
				}
				done := make(chan struct{})
				go func() {
					defer close(done)
					defer w.Close()
					fleet.Work(t.Context(), m, fmt.Sprint(i), &bad{Engine: w, how: how})
				}()
				t.Cleanup(func() { <-done })
			}
			t.Cleanup(func() { f.Close(); m.Close(); close(hang) })
			return f
		})
		sameFiles(t, string(mode), got, want)
		if lie := strings.Contains(shown, "worker 1 is refused: item "); lie != (mode == fleet.Exact) {
			t.Errorf("%s: shown is\n%s", mode, shown)
		}
	}
}

// TestStartRefuses: a device with too little memory.
func TestStartRefuses(t *testing.T) {
	r, err := recipe.Load("countdown-short", tiny)
	if err != nil {
		t.Fatal(err)
	}
	ref := open(t, "ref", 2)
	c, err := cast.Open(r, "", ref[0])
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	small := changed{ref[1], func(c *gpu.Caps) { c.Memory = 1 << 20 }}
	if _, err = Start(r, c, []gpu.Device{small}, fleet.Options{}); !errors.Is(err, gpu.ErrOutOfMemory) || !strings.Contains(err.Error(), "worker 1") {
		t.Errorf("too little memory: %v", err)
	}
}

// changed is a device with other capabilities.
type changed struct {
	gpu.Device
	change func(*gpu.Caps)
}

func (c changed) Caps() gpu.Caps {
	caps := c.Device.Caps()
	c.change(&caps)
	return caps
}

// forger changes one token of a result, at a place that it tells.
type forger struct {
	fleet.Engine
	rng   *rand.Rand
	vocab int
	at    chan int // place of the changed token
}

func (f *forger) Sample(ctx context.Context, requests []rollout.Request, seed uint64) ([][]rollout.Segment, error) {
	out, err := f.Engine.Sample(ctx, requests, seed)
	if err != nil {
		return nil, err
	}
	ids := out[0][0].IDs
	if requests[0].Key.Stream >= 1<<31 { // a canary
		return out, nil
	}
	at := f.rng.IntN(len(ids))
	ids[at] = (ids[at] + 1 + f.rng.IntN(f.vocab-1)) % f.vocab
	f.at <- at
	return out, nil
}

// TestForged: of 1,000 items with one forged token each, mode Draft takes what is before it
// and draws the rest itself.
func TestForged(t *testing.T) {
	r, err := recipe.Load("countdown-short", tiny)
	if err != nil {
		t.Fatal(err)
	}
	dev := open(t, "ref", 2)
	c, err := cast.Open(r, "", dev[0])
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	w, err := openWorker(r, "", dev[1])
	if err != nil {
		t.Fatal(err)
	}
	m := fleet.NewMemory()
	forges := &forger{w, rand.New(rand.NewPCG(1, 0)), c.Policy.Model.Config.Vocab, make(chan int, 1)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer w.Close()
		fleet.Work(t.Context(), m, "forger", forges)
	}()
	f := fleet.New(m, TrainerOf(c), fleet.Options{Mode: fleet.Draft, Slots: func() int { return 1 }, Patience: time.Hour})
	defer func() { f.Close(); m.Close(); <-done }()
	rng, wrong := rand.New(rand.NewPCG(2, 0)), 0
	for i := range 1000 {
		prompt := []int{rng.IntN(forges.vocab), rng.IntN(forges.vocab)}
		request := []rollout.Request{{Prompt: prompt, N: 1, Params: rollout.Params{Temperature: 1, MaxTokens: 6}, Key: random.Key{Purpose: random.Sample, Stream: uint32(i)}}}
		kept := f.Counts().KeptTokens
		got, err := f.Sample(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		want, err := c.Own.Sample(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		if at := <-forges.at; f.Counts().KeptTokens-kept != at || !reflect.DeepEqual(got, want) {
			wrong++
		}
	}
	if n := f.Counts(); wrong > 0 || n.Answered != 1000 {
		t.Errorf("%d of 1,000 forged items are not refused at their token: %+v", wrong, n)
	}
}

// TestSentWeights: the weights of a policy in bf16 are sent in bf16, but for the few that
// are kept in float32.
func TestSentWeights(t *testing.T) {
	size := map[string]int{}
	for _, dtype := range []string{"f32", "bf16"} {
		c, err := cast.Open(opened(t, "model.dtype="+dtype).Recipe, "", gputest.Devices(t)[0])
		if err != nil {
			t.Fatal(err)
		}
		data, err := c.Policy.Weights()
		c.Close()
		if err != nil {
			t.Fatal(err)
		}
		size[dtype] = len(data)
	}
	if ratio := float64(size["bf16"]) / float64(size["f32"]); ratio < 0.5 || ratio > 0.6 {
		t.Errorf("%v bytes", size)
	}
}
