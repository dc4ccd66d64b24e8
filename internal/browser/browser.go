package browser

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"
)

// patience bounds every wait: a run that is waited for trains on the processor, and the machine
// may be busy.
const patience = 5 * time.Minute

// TB is what a browser needs of a test or a benchmark, or of a program that stands in
// for one.
type TB interface {
	Helper()
	Cleanup(func())
	Fatal(...any)
	Fatalf(string, ...any)
	Skip(...any)
}

// WebGPU are flags with which a browser offers WebGPU without a GPU, by SwiftShader.
var WebGPU = []string{"--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader", "--enable-features=Vulkan"}

// Browser is a headless Chromium with one page.
type Browser struct {
	t       TB
	process *exec.Cmd
	out     *os.File // commands
	replies chan reply
	next    int
	session string

	mu         sync.Mutex
	complaints []string
}

// domains are the parts of the protocol that tell of the page unasked.
var domains = []string{"Page", "Runtime", "Log", "Network"}

type reply struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct{ Message string }
}

// Start starts a browser that ends with the test; with -short the test is skipped. Without
// flags of its own, such as WebGPU, it does without a GPU.
func Start(t TB, flags ...string) *Browser {
	t.Helper()
	if testing.Testing() && testing.Short() {
		t.Skip("-short: needs a browser")
	}
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		if os.Getenv("CI") != "" {
			t.Fatal("no Chromium is installed, which the tests of pages need: apt install chromium")
		}
		t.Skip("no Chromium is installed")
	}
	toBrowser, out, err := os.Pipe()
	must(t, err)
	in, fromBrowser, err := os.Pipe()
	must(t, err)
	b := &Browser{t: t, out: out, replies: make(chan reply, 100)}
	profile, err := os.MkdirTemp("", "browser")
	must(t, err)
	if len(flags) == 0 {
		flags = []string{"--disable-gpu"}
	}
	b.process = exec.Command(path, append(flags, "--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--hide-scrollbars", "--force-color-profile=srgb", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
		"--user-data-dir="+profile, "--remote-debugging-pipe")...)
	b.process.ExtraFiles = []*os.File{toBrowser, fromBrowser} // 3 and 4, as the flag has it
	must(t, b.process.Start())
	toBrowser.Close()
	fromBrowser.Close()
	go b.read(in)
	t.Cleanup(func() {
		out.Close() // the browser ends with its pipe, and so do the processes that it has started
		end := time.AfterFunc(10*time.Second, func() { b.process.Process.Kill() })
		b.process.Wait()
		end.Stop()
		in.Close()
		os.RemoveAll(profile) // what a killed browser's processes still write stays
	})
	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var session struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &session)
	b.session = session.SessionID
	for _, domain := range domains {
		b.call(domain+".enable", nil, nil)
	}
	return b
}

func must(t TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// read takes what the browser says: messages that end with a zero byte.
func (b *Browser) read(in *os.File) {
	defer close(b.replies)
	r := bufio.NewReaderSize(in, 1<<20)
	for {
		data, err := r.ReadBytes(0)
		if err != nil {
			return
		}
		var m reply
		if json.Unmarshal(data[:len(data)-1], &m) != nil {
			continue
		}
		if m.ID != 0 {
			b.replies <- m
			continue
		}
		b.note(m)
	}
}

// note keeps what a page should not do: exceptions, errors on the console, requests that
// a policy has refused or that failed.
func (b *Browser) note(m reply) {
	var p struct {
		Type             string
		Args             []struct{ Value, Description any }
		ExceptionDetails struct {
			Text      string
			Exception struct{ Description string }
		}
		Entry     struct{ Level, Text, URL string }
		ErrorText string
	}
	if json.Unmarshal(m.Params, &p) != nil {
		return
	}
	text := ""
	switch {
	case m.Method == "Runtime.exceptionThrown":
		text = p.ExceptionDetails.Text + " " + p.ExceptionDetails.Exception.Description
	case m.Method == "Runtime.consoleAPICalled" && (p.Type == "error" || p.Type == "assert"):
		text = fmt.Sprint("console: ", p.Args)
	case m.Method == "Log.entryAdded" && p.Entry.Level == "error":
		text = p.Entry.Text + " " + p.Entry.URL
	case m.Method == "Network.loadingFailed" && p.ErrorText != "net::ERR_ABORTED": // a page that was left
		text = p.ErrorText
	}
	if text != "" {
		b.mu.Lock()
		b.complaints = append(b.complaints, text)
		b.mu.Unlock()
	}
}

// Complaints are what the browser has complained about since the last call.
func (b *Browser) Complaints() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := b.complaints
	b.complaints = nil
	return out
}

// call asks the browser for something and waits for the answer.
func (b *Browser) call(method string, params map[string]any, into any) {
	b.t.Helper()
	if err := b.try(method, params, into); err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
}

func (b *Browser) try(method string, params map[string]any, into any) error {
	b.next++
	message := map[string]any{"id": b.next, "method": method, "params": params}
	if params == nil {
		message["params"] = map[string]any{}
	}
	if b.session != "" {
		message["sessionId"] = b.session
	}
	data, err := json.Marshal(message)
	if err != nil {
		return err
	}
	if _, err := b.out.Write(append(data, 0)); err != nil {
		return err
	}
	late := time.After(patience)
	for {
		select {
		case m, ok := <-b.replies:
			switch {
			case !ok:
				return errors.New("the browser has ended")
			case m.ID != b.next:
				continue
			case m.Error != nil:
				return errors.New(m.Error.Message)
			case into == nil:
				return nil
			}
			return json.Unmarshal(m.Result, into)
		case <-late:
			return fmt.Errorf("no answer within %v", patience)
		}
	}
}

// View sets the size of the page in CSS pixels and the colour scheme.
func (b *Browser) View(width, height int, dark bool) {
	b.t.Helper()
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
	b.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": "reduce"}}}, nil)
}

// Open goes to an address and waits until a script is true there.
func (b *Browser) Open(url, until string) {
	b.t.Helper()
	b.call("Page.navigate", map[string]any{"url": url}, nil)
	b.Wait(until)
}

// Wait waits until a script is true on the page.
func (b *Browser) Wait(until string) {
	b.t.Helper()
	end := time.Now().Add(patience)
	for {
		var done bool
		if b.eval("!!("+until+")", &done) == nil && done {
			return
		}
		if time.Now().After(end) {
			var text string
			b.eval("document.body.innerText", &text)
			b.t.Fatalf("after %v it is not true that %s; the page says:\n%s\ncomplaints: %v", patience, until, text, b.Complaints())
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Eval evaluates a script, which may be a promise, into a value.
func (b *Browser) Eval(script string, into any) {
	b.t.Helper()
	if err := b.eval(script, into); err != nil {
		b.t.Fatalf("%s: %v", script[:min(len(script), 200)], err)
	}
}

func (b *Browser) eval(script string, into any) error {
	var out struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Exception struct{ Description string }
		}
	}
	if err := b.try("Runtime.evaluate", map[string]any{"expression": script, "awaitPromise": true, "returnByValue": true}, &out); err != nil {
		return err
	}
	if out.ExceptionDetails != nil {
		return errors.New(out.ExceptionDetails.Exception.Description)
	}
	if into == nil || out.Result.Value == nil {
		return nil
	}
	return json.Unmarshal(out.Result.Value, into)
}

// CrashGPU ends the browser's GPU process, as a driver that fails does: pages lose their
// devices.
func (b *Browser) CrashGPU() {
	b.t.Helper()
	session := b.session
	b.session = "" // a command to the browser, and not to its page
	b.call("Browser.crashGpuProcess", nil, nil)
	b.session = session
}

// codes of the keys that are no letters.
var codes = map[string]int{"Tab": 9, "Enter": 13, "Escape": 27}

// Key presses keys, one after the other: "j", "Enter", "Tab".
func (b *Browser) Key(keys ...string) {
	b.t.Helper()
	for _, k := range keys {
		text := k
		if codes[k] != 0 {
			text = ""
		}
		if k == "Enter" {
			text = "\r"
		}
		for _, kind := range []string{"keyDown", "keyUp"} {
			params := map[string]any{"type": kind, "key": k, "windowsVirtualKeyCode": codes[k]}
			if kind == "keyDown" {
				params["text"] = text
			}
			b.call("Input.dispatchKeyEvent", params, nil)
		}
	}
}

// Click clicks the first element that a selector finds.
func (b *Browser) Click(selector string) {
	b.t.Helper()
	quoted, err := json.Marshal(selector)
	must(b.t, err)
	b.Eval("document.querySelector("+string(quoted)+").click()", nil)
}

// Paper is the page as a PDF, as it is printed.
func (b *Browser) Paper() []byte {
	b.t.Helper()
	var out struct{ Data string }
	b.call("Page.printToPDF", map[string]any{"printBackground": true, "preferCSSPageSize": true}, &out)
	data, err := base64.StdEncoding.DecodeString(out.Data)
	must(b.t, err)
	return data
}

// Scripts lets pages that are opened from now on run theirs, or not.
func (b *Browser) Scripts(run bool) {
	b.t.Helper()
	b.call("Emulation.setScriptExecutionDisabled", map[string]any{"value": !run}, nil)
}

// Picture is the page as a PNG; whole: down to its end.
func (b *Browser) Picture(whole bool) []byte {
	b.t.Helper()
	var out struct{ Data string }
	b.call("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": whole}, &out)
	data, err := base64.StdEncoding.DecodeString(out.Data)
	must(b.t, err)
	return data
}
