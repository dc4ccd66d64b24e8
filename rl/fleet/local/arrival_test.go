package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/fleet"
	"github.com/rlzero/rlzero/rl/receipt"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/resolve"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/rl/run"
)

// juggler is a carrier that brings every third result after the nine that follow it.
type juggler struct {
	*fleet.Memory
	n     int
	held  []fleet.Delivery
	ready []fleet.Delivery
}

func (j *juggler) Next(ctx context.Context) (fleet.Delivery, error) {
	for len(j.ready) == 0 {
		d, err := j.Memory.Next(ctx)
		if err != nil {
			return d, err
		}
		if j.n++; j.n%3 == 0 {
			if j.held = append(j.held, d); len(j.held) > 3 {
				j.ready, j.held = j.held[:1], j.held[1:]
			}
			continue
		}
		j.ready = append(j.ready, d)
	}
	d := j.ready[0]
	j.ready = j.ready[1:]
	return d, nil
}

// juggled are three workers with a juggler before them.
func juggled(t *testing.T, r *recipe.Recipe, c *cast.Cast, note func(string)) rollout.Sampler {
	m := &juggler{Memory: fleet.NewMemory()}
	f := fleet.New(m, TrainerOf(c), fleet.Options{Mode: fleet.Exact, Audit: 0.1, Slots: func() int { return 3 }, Patience: 100 * time.Millisecond, Note: note})
	var running sync.WaitGroup
	ctx, stop := context.WithCancel(context.Background())
	for i, dev := range open(t, c.Policy.Model.Device().Caps().ID, 3) {
		w, err := openWorker(r, c.Folder, dev)
		if err != nil {
			t.Fatal(err)
		}
		running.Go(func() {
			defer w.Close()
			fleet.Work(ctx, m, fmt.Sprint(i), w)
		})
	}
	t.Cleanup(func() { stop(); f.Close(); m.Close(); running.Wait() })
	return f
}

// arriving runs the recipe with order = "arrival" in a folder.
func arriving(t *testing.T, ctx context.Context, dir string, o run.Options, with workers) error {
	t.Helper()
	r, err := recipe.Load("countdown-short", slices.Concat(tiny, []string{"stage.warm-up.skip=true", "stage.rl.steps=10", "stage.rl.lag=2", "stage.rl.order=arrival",
		"stage.rl.algorithm.weight=tis", "stage.rl.checkpoint_every=3", "checkpoint.keep=100", `stage.rl.numbers={temperature = "0.7 + 0.01*step"}`,
		`stage.rl.curriculum={pool = 60, weight = "if(seen > 0, 0.2, 1)"}`, "stage.rl.reward=random + 0.01*step_mean(tokens)"}))
	if err != nil {
		t.Fatal(err)
	}
	if o.Opened, err = resolve.Open(r, nil); err != nil {
		t.Fatal(err)
	}
	show := &bytes.Buffer{}
	o.Dir, o.Device, o.Show = dir, gputest.Devices(t)[0], show
	if with != nil {
		o.Workers = func(r *recipe.Recipe, c *cast.Cast, note func(string)) (rollout.Sampler, error) {
			return with(t, r, c, note), nil
		}
	}
	if _, err = run.Train(ctx, o); err != nil && !errors.Is(err, run.ErrInterrupted) {
		t.Fatalf("%v after\n%s", err, show)
	}
	return err
}

// group is a group of a step in the schedule of a run.
type group struct{ Step, Prompt, Version int }

// scheduled is a line of it.
type scheduled struct {
	Step   int
	Groups []group
}

// scheduleOf is the schedule of a run.
func scheduleOf(t *testing.T, dir string) (out []scheduled) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "schedule.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for d := json.NewDecoder(bytes.NewReader(data)); ; {
		var l scheduled
		if err := d.Decode(&l); err == io.EOF {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		out = append(out, l)
	}
}

// withoutExtra are the files of a run but a checkpoint of an interrupt, and what lists it.
func withoutExtra(files, of map[string]string) map[string]string {
	files = maps.Clone(files)
	maps.DeleteFunc(files, func(name, _ string) bool {
		_, known := of[name]
		return name == receipt.File || strings.HasPrefix(name, "checkpoints") && !known
	})
	return files
}

// TestArrival: groups of a run come in another order than they were drawn in, and the run that
// its schedule repeats on one machine has the same bytes. So has one that was killed and goes on
// from any of its checkpoints, and one that was interrupted.
func TestArrival(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains for seconds on each device")
	}
	live := ""
	// What comes when is a race, which a slow machine may run in order.
	for tries := 0; live == "" || !mixed(t, live); tries++ {
		if tries == 5 {
			t.Fatal("in five runs no groups came before their step, after it and by weights of before: the test shows nothing")
		}
		live = filepath.Join(t.TempDir(), "run")
		arriving(t, t.Context(), live, run.Options{}, juggled)
	}
	want := written(t, live)
	again := filepath.Join(t.TempDir(), "run")
	arriving(t, t.Context(), again, run.Options{Replay: live}, nil)
	sameFiles(t, "repeated", written(t, again), want)

	checkpoints, err := filepath.Glob(filepath.Join(live, "checkpoints", "step-*"))
	if err != nil || len(checkpoints) < 4 {
		t.Fatal(checkpoints, err)
	}
	for _, keep := range []int{0, 2} {
		killed := t.TempDir()
		if err := os.CopyFS(killed, os.DirFS(live)); err != nil {
			t.Fatal(err)
		}
		for _, c := range checkpoints[keep:] {
			if err := os.RemoveAll(filepath.Join(killed, "checkpoints", filepath.Base(c))); err != nil {
				t.Fatal(err)
			}
		}
		if keep == 0 { // killed before there was one
			if err := os.Truncate(filepath.Join(killed, "metrics.jsonl"), 0); err != nil {
				t.Fatal(err)
			}
		}
		arriving(t, t.Context(), killed, run.Options{Resume: true}, nil)
		sameFiles(t, fmt.Sprintf("killed, from checkpoint %d", keep), written(t, killed), want)
	}
	interrupted(t)
}

// mixed checks the schedule of a run and says whether its groups came before their steps,
// after them, and by weights that were not the newest.
func mixed(t *testing.T, live string) bool {
	early, late, older := 0, 0, 0
	used, drawnBy := map[group]bool{}, map[int]bool{}
	for i, l := range scheduleOf(t, live) {
		if l.Step != i+1 || len(l.Groups) != 5 {
			t.Errorf("line %d is of step %d, with %d groups", i+1, l.Step, len(l.Groups))
		}
		for _, g := range l.Groups {
			switch {
			case g.Step < l.Step-2 || g.Step > l.Step+2:
				t.Errorf("step %d has a group of step %d", l.Step, g.Step)
			case g.Step < l.Step:
				late++
			case g.Step > l.Step:
				early++
			}
			if drawnBy[g.Version] = true; g.Version < 2*(l.Step-1) { // two updates a step
				older++
			}
			g.Version = 0
			if used[g] {
				t.Errorf("prompt %d of step %d is learned from twice", g.Prompt, g.Step)
			}
			used[g] = true
		}
	}
	if len(used) != 50 {
		t.Errorf("%d groups are used, want 50", len(used))
	}
	return early > 0 && late > 0 && older > 0 && len(drawnBy) >= 4
}

// interrupted stops a run while workers draw, goes on and repeats what came of it.
func interrupted(t *testing.T) {
	dir, again := filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "run")
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	if arriving(t, ctx, dir, run.Options{}, func(t *testing.T, r *recipe.Recipe, c *cast.Cast, note func(string)) rollout.Sampler {
		return picking{juggled(t, r, c, note).(rollout.Early), func() {
			if calls++; calls == 4 {
				cancel()
			}
		}}
	}) == nil {
		t.Fatal("the run was not interrupted")
	}
	arriving(t, t.Context(), dir, run.Options{Resume: true}, juggled)
	arriving(t, t.Context(), again, run.Options{Replay: dir}, nil)
	whole := written(t, again)
	delete(whole, receipt.File)
	sameFiles(t, "interrupted", withoutExtra(written(t, dir), whole), whole)
}

// picking tells of each call of Pick, before it.
type picking struct {
	rollout.Early
	each func()
}

func (p picking) Pick(ctx context.Context, requests []rollout.Request, first, count, since int) ([][]rollout.Segment, error) {
	p.each()
	return p.Early.Pick(ctx, requests, first, count, since)
}

// TestArrivalAlone: on one device groups come in their order, and the run learns what it would
// with order = "drawn".
func TestArrivalAlone(t *testing.T) {
	sets := []string{"stage.rl.lag=2", "stage.rl.algorithm.weight=tis", "stage.warm-up.skip=true"}
	want, _ := filesOf(t, nil, sets...)
	got, shown := filesOf(t, nil, append(sets, "stage.rl.order=arrival")...)
	for _, name := range []string{"metrics.jsonl", "completions.jsonl", "tokens.jsonl", "heldout.jsonl"} {
		if got[name] != want[name] || got[name] == "" {
			t.Errorf("%s has other bytes", name)
		}
	}
	if !strings.Contains(shown, `order = "arrival" changes nothing without --workers`) {
		t.Errorf("shown:\n%s", shown)
	}
}
