//go:build js && wasm

// Command web is rlzero in a browser: the same packages, compiled to WebAssembly, on the
// visitor's GPU through WebGPU or, without one, on the plain-Go device.
//
//	page (rl/page and web/internal/site) ── messages ──> worker ──> this program ──> rl/run
//	     <── files of runs, as rl/page gives them out ──┘        writes run folders
//
// make web puts it into dist/web with its page. A run there is an ordinary one: it writes
// an ordinary folder below /runs through package os, which the worker keeps in the
// browser's private file system (web/internal/site/assets/disk.js), and a closed tab is a
// killed run, which Continue resumes to the same bytes.
//
// # Requests
//
// The worker calls program({id, do, args, files}): do is a row of actions, args its JSON.
// The answer is {id, value, bytes} or {id, error, hints}, and {id, note} before it where
// there is progress to tell. {event: "job"} tells what a run does.
//
// # Threads
//
// Go runs on the one thread of the worker. Messages come in only while every goroutine
// waits, so a device gives the event loop a turn between its programs (gate.go). Several
// runs share the thread and the GPU; each has a device of its own.
package main

import (
	"encoding/json"
	"strings"
	"syscall/js"

	"github.com/rlzero/rlzero/gpu"
	_ "github.com/rlzero/rlzero/gpu/refdev"
	_ "github.com/rlzero/rlzero/gpu/webgpu"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/rl/page"
	"github.com/rlzero/rlzero/web/internal/advice"
)

// version of the program; the build sets it.
var version = "dev"

// call is a request of the page.
type call struct {
	id    js.Value
	args  []byte
	files js.Value // [{name, bytes}]
}

// action answers a request: a value for JSON, and bytes.
type action func(*program, call) (value any, bytes []byte, err error)

var actions = map[string]action{
	"about":    about,
	"check":    check,
	"continue": resume,
	"control":  control,
	"discard":  discard,
	"doctor":   certify,
	"fetch":    fetch,
	"go":       steer(running),
	"import":   importModel,
	"models":   models,
	"pause":    steer(paused),
	"remove":   remove,
	"rows":     importRows,
	"sample":   continuePrompt,
	"standing": standing,
	"step":     steer(stepping),
	"train":    train,
	"watch":    watch,
	"zip":      pack,
}

// program is what the requests work on.
type program struct {
	runs *page.Runs
	jobs map[string]*job // by the name of the run's folder
	used map[string]bool // folders whose names this program has given out
	caps gpu.Caps        // of the device, once it was asked for
}

func main() {
	p := &program{runs: &page.Runs{}, jobs: map[string]*job{}, used: map[string]bool{}}
	p.runs.Add(runsDir)
	js.Global().Set("program", js.FuncOf(func(_ js.Value, args []js.Value) any {
		go p.answer(args[0])
		return nil
	}))
	js.Global().Call("begun")
	select {}
}

// answer does what a message asks for and says how it ended.
func (p *program) answer(message js.Value) {
	c := call{id: message.Get("id"), args: []byte(message.Get("args").String()), files: message.Get("files")}
	value, bytes, err := actions[message.Get("do").String()](p, c)
	if err != nil {
		text, hints := explained(err)
		list := make([]any, len(hints))
		for i, h := range hints {
			list[i] = h
		}
		post(map[string]any{"id": c.id, "error": text, "hints": list})
		return
	}
	text, err := json.Marshal(value)
	if err != nil { // structs of this program always encode
		panic(err)
	}
	reply := map[string]any{"id": c.id, "value": string(text)}
	if bytes != nil {
		reply["bytes"] = toJS(bytes)
	}
	post(reply)
}

// explained is an error and what can be done about it, in the page's words.
func explained(err error) (text string, hints []string) {
	for _, h := range hint.All(err) {
		if h = advice.OnPage(h); h != "" {
			hints = append(hints, h)
		}
	}
	return advice.OnPage(err.Error()), hints
}

// read takes the arguments of a request.
func (c call) read(into any) error { return json.Unmarshal(c.args, into) }

// Write tells the page what comes before the answer: a call is where progress is shown.
func (c call) Write(text []byte) (int, error) {
	post(map[string]any{"id": c.id, "note": strings.TrimRight(string(text), "\n")})
	return len(text), nil
}

func post(message map[string]any) { js.Global().Call("postMessage", message) }

func toJS(data []byte) js.Value {
	out := js.Global().Get("Uint8Array").New(len(data))
	js.CopyBytesToJS(out, data)
	return out
}
