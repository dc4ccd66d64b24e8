//go:build js && wasm

package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/rl/page"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/recipe/presets"
	"github.com/rlzero/rlzero/rl/resolve"
	"github.com/rlzero/rlzero/rl/run"
	"github.com/rlzero/rlzero/rl/store"
)

// runsDir holds the runs of this browser.
const runsDir = "/runs"

// job is a run that this program works on.
type job struct {
	id   string
	gate *gate
}

// tell says what a job does: its state is a pace, "finished" or "failed".
func (j *job) tell(state, key, text string) {
	message := map[string]any{"event": "job", "run": j.id, "state": state}
	if key != "" {
		message[key] = text
	}
	post(message)
}

// Write shows the progress of the run.
func (j *job) Write(text []byte) (int, error) {
	for line := range bytes.Lines(text) {
		to, _ := j.gate.now()
		j.tell(string(to), "line", strings.TrimSpace(string(line)))
	}
	return len(text), nil
}

// train begins a run of a recipe: {text, name} -> the name of its folder.
func train(p *program, c call) (any, []byte, error) {
	var a struct{ Name, Text string }
	if err := c.read(&a); err != nil {
		return nil, nil, err
	}
	r, err := recipe.Parse(fileOf(a.Name), a.Text, nil)
	if err != nil {
		return nil, nil, err
	}
	id, err := p.begin(r)
	return id, nil, err
}

// fileOf is what the recipe of the editor is called in errors, and what names its runs.
func fileOf(name string) string { return name + ".toml" }

// begin runs a recipe in a folder of its own.
func (p *program) begin(r *recipe.Recipe) (id string, err error) {
	opened, err := resolve.Open(r, nil)
	if err != nil {
		return "", err
	}
	id = p.free(runsDir, r.Name)
	return id, p.start(id, opened, false)
}

// free is a name for a folder that no other in its folder has.
func (p *program) free(parent, name string) string {
	id := name
	for n := 2; ; n++ {
		dir := filepath.Join(parent, id)
		_, err := os.Stat(dir)
		if os.IsNotExist(err) && !p.used[dir] {
			p.used[dir] = true
			return id
		}
		id = fmt.Sprintf("%s-%d", name, n)
	}
}

// claim takes a run for one job. Until p.jobs has lost it again no other begins: work
// that waits for the browser lets other requests in.
func (p *program) claim(id string) (*job, error) {
	if p.jobs[id] != nil {
		return nil, fmt.Errorf("%w: the run %s is in progress", lines.ErrInput, id)
	}
	j := &job{id: id, gate: newGate(filepath.Join(runsDir, id))}
	j.gate.stepped = func() { j.tell(string(paused), "", "") }
	p.jobs[id] = j
	return j, nil
}

// start opens a device and trains beside the requests.
func (p *program) start(id string, opened *resolve.Opened, again bool) error {
	j, err := p.claim(id)
	if err != nil {
		return err
	}
	dev, err := openDevice(j.gate)
	if err != nil {
		delete(p.jobs, id)
		return err
	}
	caps := dev.Caps()
	j.tell(string(running), "device", caps.Name)
	go func() {
		_, err := run.Train(context.Background(), run.Options{Opened: opened, Dir: filepath.Join(runsDir, id), Resume: again, Device: dev, Show: j, Verbose: true, Version: version, Report: reportOf})
		dev.Close() // of one that is lost nothing is left to free
		delete(p.jobs, id)
		if err != nil {
			j.tell("failed", "error", ending(err))
			return
		}
		j.tell("finished", "", "")
	}()
	return nil
}

// reportOf is the report of a run, which goes along when it is downloaded.
func reportOf(dir string) ([]byte, error) {
	runs, err := page.Open(dir)
	if err != nil {
		return nil, err
	}
	return runs.File(page.Room)
}

// ending is why a run has ended, and on lines of their own what can be done about it.
func ending(err error) string {
	text, hints := explained(err)
	if errors.Is(err, gpu.ErrDeviceLost) {
		hints = []string{"The browser took the GPU away. Press Continue to open it again and go on from the last checkpoint."}
	}
	return strings.Join(append([]string{text}, hints...), "\n")
}

// named is the run of a request: {run}.
func named(c call) (id, dir string, err error) {
	var a struct{ Run string }
	if err := c.read(&a); err != nil {
		return "", "", err
	}
	dir = filepath.Join(runsDir, a.Run)
	if a.Run == "" || filepath.Dir(dir) != runsDir {
		return "", "", fmt.Errorf("%w: %q is not the name of a run", lines.ErrInput, a.Run)
	}
	return a.Run, dir, nil
}

// resume continues a run that a closed page, a lost device or an error has ended.
func resume(p *program, c call) (any, []byte, error) {
	id, dir, err := named(c)
	if err != nil {
		return nil, nil, err
	}
	r, err := recipe.Load(filepath.Join(dir, recipe.File), nil)
	if err != nil {
		return nil, nil, err
	}
	opened, err := resolve.Open(r, nil)
	if err != nil {
		return nil, nil, err
	}
	return nil, nil, p.start(id, opened, true)
}

// standing says what a run can go on from: {run} -> {checkpoint}, the step of its newest; -1: there
// is none, and it would begin anew.
func standing(_ *program, c call) (any, []byte, error) {
	_, dir, err := named(c)
	if err != nil {
		return nil, nil, err
	}
	found, _, err := store.Latest(store.OS(), dir)
	step := -1
	if found != nil {
		step = found.Step()
	}
	return map[string]int{"checkpoint": step}, nil, err
}

// control runs the recipe of a run again, with rewards that are random.
func control(p *program, c call) (any, []byte, error) {
	id, dir, err := named(c)
	if err != nil {
		return nil, nil, err
	}
	file := filepath.Join(dir, recipe.File)
	r, err := recipe.Load(file, nil)
	if err != nil {
		return nil, nil, err
	}
	sets := []string{"name=" + id + "-random"}
	for _, s := range r.Stages {
		if s.Kind == recipe.KindRL {
			sets = append(sets, "stage."+s.Name+".reward=random")
		}
	}
	if len(sets) == 1 {
		return nil, nil, fmt.Errorf("%w: the run %s has no stage that learns from rewards", lines.ErrInput, id)
	}
	if r, err = recipe.Load(file, sets); err != nil {
		return nil, nil, err
	}
	id, err = p.begin(r)
	return id, nil, err
}

// steer sets the pace of a run.
func steer(to pace) action {
	return func(p *program, c call) (any, []byte, error) {
		id, _, err := named(c)
		if err != nil {
			return nil, nil, err
		}
		j := p.jobs[id]
		if j == nil {
			return nil, nil, fmt.Errorf("%w: the run %s is not in progress", lines.ErrInput, id)
		}
		j.gate.set(to)
		j.tell(string(to), "", "")
		return nil, nil, nil
	}
}

// remove removes the folder of a run.
func remove(p *program, c call) (any, []byte, error) {
	id, dir, err := named(c)
	if err != nil {
		return nil, nil, err
	}
	if _, err := p.claim(id); err != nil {
		return nil, nil, err
	}
	defer delete(p.jobs, id)
	p.used[dir] = true // what was read of it stays with its name
	disk := store.OS()
	return nil, nil, errors.Join(disk.Remove(dir), disk.SyncDir(runsDir))
}

// check reads a recipe: {text, name} -> what is wrong, line by line, or what it needs.
func check(p *program, c call) (any, []byte, error) {
	var a struct{ Name, Text string }
	if err := c.read(&a); err != nil {
		return nil, nil, err
	}
	opened, err := openText(a.Name, a.Text)
	if err != nil {
		return nil, nil, err
	}
	caps, err := p.device()
	if err != nil {
		return nil, nil, err
	}
	plan, notes, err := run.Plan(opened, caps)
	if err != nil {
		return nil, nil, err
	}
	return map[string]any{"memory": plan.Total(), "notes": append([]string{}, notes...)}, nil, nil
}

// device describes what a run would get.
func (p *program) device() (gpu.Caps, error) {
	if p.caps.ID != "" {
		return p.caps, nil
	}
	dev, err := openDevice(newGate(""))
	if err != nil {
		return gpu.Caps{}, err
	}
	defer dev.Close()
	p.caps = dev.Caps()
	return p.caps, nil
}

// sums is the recipe that comes first: the presets take longer.
//
//go:embed sums.toml
var sums string

// shown are the presets after it: they need no files, and learn within minutes on a GPU.
var shown = []string{"countdown-short", "countdown-blind", "chain-sum-tiny", "countdown-tiny"}

// about says what there is: version, device and presets.
func about(p *program, _ call) (any, []byte, error) {
	type preset struct {
		Name  string `json:"name"`
		About string `json:"about"`
		Text  string `json:"text"`
	}
	caps, err := p.device()
	if err != nil {
		return nil, nil, err
	}
	first, err := recipe.Parse(fileOf("sums"), sums, nil)
	if err != nil { // it is part of the program
		panic(err)
	}
	list := []preset{{"sums", first.About, sums}}
	for _, name := range shown {
		p, _ := presets.Find(name)
		list = append(list, preset{p.Name, p.About, p.Text})
	}
	return map[string]any{"version": version, "device": caps.Name, "driver": caps.Driver, "tier": caps.Tier, "gpu": caps.Kind != gpu.Reference, "software": software(), "presets": list}, nil, nil
}
