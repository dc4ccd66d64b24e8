//go:build js && wasm

package main

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall/js"
	"time"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/rl/record"
)

// pace is what a run may do.
type pace string

const (
	running  pace = "running"
	paused   pace = "paused"
	stepping pace = "stepping" // running, until metrics.jsonl has another line
)

// gate lets a run through between two programs of its device, or holds it there.
type gate struct {
	metrics string // file of the run; there may be none
	stepped func() // is told that a step has ended

	mu      sync.Mutex
	pace    pace
	size    int64         // of metrics, when a step was asked for
	changed chan struct{} // closed at the next change of the pace
	turn    time.Time     // of the event loop, the last
}

// newGate is the gate of a run in a folder, or of other work: "".
func newGate(dir string) *gate {
	return &gate{metrics: filepath.Join(dir, record.MetricsFile), stepped: func() {}, pace: running, changed: make(chan struct{})}
}

// set changes the pace.
func (g *gate) set(to pace) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pace, g.size = to, g.written()
	close(g.changed)
	g.changed = make(chan struct{})
}

// now is the pace, and what is closed when it changes.
func (g *gate) now() (pace, <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pace == stepping && g.written() > g.size {
		g.pace = paused
		g.stepped()
	}
	return g.pace, g.changed
}

// written is how long metrics.jsonl is.
func (g *gate) written() int64 {
	info, err := os.Stat(g.metrics)
	if err != nil {
		return 0
	}
	return info.Size()
}

// frame is how long the program may compute before messages get a turn: less than a
// person notices.
const frame = 20 * time.Millisecond

// pass gives the event loop its turn, and waits while the run is held.
func (g *gate) pass() {
	if time.Since(g.turn) > frame {
		breathe()
		g.turn = time.Now()
	}
	for {
		to, changed := g.now()
		if to != paused {
			return
		}
		<-changed
	}
}

// breathe returns once the event loop has handled what had come.
func breathe() {
	done := make(chan struct{})
	turn := js.FuncOf(func(js.Value, []js.Value) any { close(done); return nil })
	defer turn.Release()
	js.Global().Call("soon", turn)
	<-done
}

// gated is a device with a gate.
type gated struct {
	gpu.Device
	gate *gate
}

func (d gated) Submit(p gpu.Program) error {
	d.gate.pass()
	return d.Device.Submit(p)
}

// software is the name of a GPU that the browser offers and computes on the processor itself; "": it
// offers none.
func software() string {
	infos, _ := gpu.List() // what cannot be listed is not there
	if i := slices.IndexFunc(infos, func(i gpu.Info) bool { return i.Usable && i.Kind == gpu.CPU }); i >= 0 {
		return infos[i].Name
	}
	return ""
}

// openDevice opens the visitor's GPU. Where the browser offers none, or one that it
// computes on the processor itself, the plain-Go device is there: it is ten times as fast
// as SwiftShader. RLZERO_DEVICE, from the address of the page, names another.
func openDevice(g *gate) (gpu.Device, error) {
	spec := os.Getenv("RLZERO_DEVICE")
	if infos, _ := gpu.List(); spec == "" { // what cannot be listed is not there
		spec = "ref"
		if i := slices.IndexFunc(infos, func(i gpu.Info) bool { return i.Usable && i.Kind != gpu.CPU && i.Kind != gpu.Reference }); i >= 0 {
			spec = infos[i].ID
		}
	}
	dev, err := gpu.Open(spec)
	if err != nil {
		return nil, err
	}
	return gated{dev, g}, nil
}
