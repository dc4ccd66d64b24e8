package program

import (
	"context"
	_ "embed"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rlzero/rlzero/internal/awake"
	"github.com/rlzero/rlzero/verify/box"
)

//go:embed harness.py
var harness string

// Limits of an interpreter's box; a test has narrower ones.
const (
	boxMemory    = 4 << 30
	boxScratch   = 16 << 20
	boxFile      = 64 << 20
	boxFiles     = 64
	boxProcesses = 12      // of a test: with the interpreter and the test itself
	testFile     = 1 << 20 // bytes of a file that a test writes, at least
	resultFile   = 8 << 20 // the same where the file is the value that a function returns
	maxFrame     = 16<<20 + 1<<12
	maxUses      = 500 // tests before an interpreter is started anew
)

// job is a request to the harness.
type job struct {
	Mode    string  `json:"mode"` // program, call, serve, check, test
	Setup   string  `json:"setup"`
	Program string  `json:"program"`
	Stdin   string  `json:"stdin"`
	Call    string  `json:"call"`
	Args    string  `json:"args"`   // a JSON list
	Kwargs  string  `json:"kwargs"` // a JSON object
	CPU     float64 `json:"cpu"`    // seconds
	Memory  int     `json:"memory"` // bytes
	Output  int     `json:"output"`
	File    int     `json:"file"`
}

// end is the harness's word on a program that has ended.
type end struct {
	Exit    int     `json:"exit"`    // below 0: the signal
	Seconds float64 `json:"seconds"` // of processor time
	Stdout  string  `json:"stdout"`
	Flood   bool    `json:"flood"`
	Error   string  `json:"error"` // last line of standard error
	Left    bool    `json:"left"`  // processes or files are left
	Result  string  `json:"result"`
	Passed  bool    `json:"passed"`
	Fault   string  `json:"fault"` // of test code, whatever the program is
}

// interpreter is a Python in a box that forks itself for each program.
type interpreter struct {
	box     *box.Box
	release string // of the interpreter and its C library
	uses    int
	renewed int  // of the pool, when it was started
	bad     bool // not to be used again
	gone    *end // of a program that has ended while it was asked
}

// errors of a conversation with an interpreter.
var (
	errOverTime = errors.New("it runs longer than the limit by the clock")
	errBusy     = errors.New("the machine is too busy to give the program its time")
	errBroken   = errors.New("it broke the interpreter that runs it")
)

// send writes a frame.
func (p *interpreter) send(frame []byte) error {
	var size [4]byte
	binary.LittleEndian.PutUint32(size[:], uint32(len(frame)))
	_, err := p.box.Stdin.Write(append(size[:], frame...))
	return err
}

// receive reads a frame; ended says whether it is the harness's last word.
func (p *interpreter) receive() (frame []byte, ended bool, err error) {
	var size [4]byte
	if _, err := io.ReadFull(p.box.Stdout, size[:]); err != nil {
		return nil, false, err
	}
	n := binary.LittleEndian.Uint32(size[:])
	if n == 0 || n > maxFrame {
		return nil, false, fmt.Errorf("a frame of %d bytes", n)
	}
	frame = make([]byte, n)
	if _, err := io.ReadFull(p.box.Stdout, frame); err != nil {
		return nil, false, err
	}
	return frame[1:], frame[0] == 'F', nil
}

// watch kills the box when limit is over. The returned function ends the watch and
// says what became of err: a machine that is too busy is no excuse for a program that
// has had its processor time.
func (p *interpreter) watch(limit, processor time.Duration) func(err error) error {
	ctx, cancel := awake.WithTimeout(context.Background(), limit, errOverTime)
	var ran, waited float64
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		if context.Cause(ctx) == errOverTime {
			ran, waited = p.box.Times()
			p.box.Kill()
		}
	})
	return func(err error) error {
		over := context.Cause(ctx) == errOverTime
		if stop() {
			close(done)
		}
		cancel()
		<-done
		switch {
		case !over && err == nil:
			return nil
		case over && waited > limit.Seconds()/2 && ran < processor.Seconds():
			err = errBusy
		case over:
			err = errOverTime
		default:
			err = errBroken
		}
		p.bad = true
		return err
	}
}

// run runs a job that holds no conversation.
func (p *interpreter) run(j job, limit time.Duration) (end, error) {
	settle := p.watch(limit, time.Duration(j.CPU*float64(time.Second)))
	e, err := p.exchange(j)
	return e, settle(err)
}

func (p *interpreter) exchange(j job) (end, error) {
	var e end
	request, err := json.Marshal(j)
	if err != nil {
		return e, err
	}
	if err := p.send(request); err != nil {
		return e, err
	}
	frame, ended, err := p.receive()
	if err == nil && !ended {
		err = errors.New("an answer to no question")
	}
	if err == nil {
		err = json.Unmarshal(frame, &e)
	}
	p.bad = p.bad || e.Left
	return e, err
}

// pool keeps interpreters that wait for work. Test code and programs never share
// one: what an interpreter has seen stays in its memory.
type pool struct {
	sync.Mutex
	idle    map[string][]*interpreter
	renewed int // times
}

var pythons = pool{idle: map[string][]*interpreter{}}

// running bounds how many programs run at once, so that each has a processor.
var running = make(chan struct{}, runtime.GOMAXPROCS(0))

// take is an interpreter for a purpose ("program" or "test").
func (p *pool) take(purpose, name string, unsafe bool) (*interpreter, error) {
	key := fmt.Sprint(purpose, unsafe, name)
	p.Lock()
	if n := len(p.idle[key]); n > 0 {
		it := p.idle[key][n-1]
		p.idle[key] = p.idle[key][:n-1]
		p.Unlock()
		return it, nil
	}
	renewed := p.renewed
	p.Unlock()
	it, err := startPython(name, unsafe)
	if err == nil {
		it.renewed = renewed
	}
	return it, err
}

// renew closes the interpreters that wait, and lets those that do not wait no more.
func (p *pool) renew() {
	p.Lock()
	defer p.Unlock()
	for _, idle := range p.idle {
		for _, it := range idle {
			it.box.Close()
		}
	}
	clear(p.idle)
	p.renewed++
}

// give takes an interpreter back; one that is bad or old is closed.
func (p *pool) give(purpose, name string, unsafe bool, it *interpreter) {
	it.uses++
	p.Lock()
	defer p.Unlock()
	if it.bad || it.uses >= maxUses || it.renewed != p.renewed {
		it.box.Close()
		return
	}
	key := fmt.Sprint(purpose, unsafe, name)
	p.idle[key] = append(p.idle[key], it)
}

// candidates are the interpreters to try: the one asked for, or those there are.
// The user's own may lie in a folder that the box's user cannot reach.
func candidates(name string) []string {
	if name == "" {
		name = os.Getenv("RLZERO_PYTHON")
	}
	if name != "" {
		return []string{name}
	}
	return []string{"python3", "/usr/bin/python3", "/usr/local/bin/python3"}
}

const startLimit = 30 * time.Second

func startPython(name string, unsafe bool) (*interpreter, error) {
	var failures []string
	for _, candidate := range candidates(name) {
		path, folders, err := resolvePython(candidate)
		if err == nil {
			var it *interpreter
			if it, err = bootPython(path, folders, unsafe); err == nil {
				return it, nil
			}
			if errors.Is(err, box.ErrUnsupported) {
				return nil, fmt.Errorf("%w; option unsafe_local = true runs programs without a box", err)
			}
		}
		if failure := fmt.Sprintf("%s: %v", candidate, err); !slices.Contains(failures, failure) {
			failures = append(failures, failure)
		}
	}
	return nil, fmt.Errorf("no Python runs in the box (option python or RLZERO_PYTHON names one): %s", strings.Join(failures, "; "))
}

// resolvePython asks an interpreter, which may be a script that chooses one, where
// it is and where its library lies.
func resolvePython(name string) (path string, folders []string, err error) {
	const question = `import os, sys, sysconfig
print(os.path.realpath(sys.executable))
print(os.path.realpath(sysconfig.get_path("stdlib")))
print(os.path.realpath(sysconfig.get_config_var("LIBDIR") or sys.base_prefix))`
	out, err := exec.Command(name, "-I", "-S", "-c", question).Output()
	if err != nil {
		return "", nil, err
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != 3 || !filepath.IsAbs(lines[0]) {
		return "", nil, fmt.Errorf("it says %.100q when asked where it is", out)
	}
	return lines[0], lines, nil
}

func bootPython(path string, folders []string, unsafe bool) (*interpreter, error) {
	filter := hex.EncodeToString(box.OneProcess())
	if unsafe { // there may be no filters of system calls
		filter = ""
	}
	b, err := box.Start(box.Spec{
		Path: path, Args: []string{"-s", "-S", "-B", "-c", harness, filter}, Read: folders, Unsafe: unsafe,
		Env:    []string{"PYTHONHASHSEED=0", "PYTHONUTF8=1", "LC_ALL=C.UTF-8", "PATH=/usr/bin:/bin", "HOME=/tmp", "TZ=UTC"},
		Memory: boxMemory, Scratch: boxScratch, FileSize: boxFile, Files: boxFiles, Processes: boxProcesses,
	})
	if err != nil {
		return nil, err
	}
	it := &interpreter{box: b}
	settle := it.watch(startLimit, startLimit)
	frame, ended, err := it.receive()
	var hello struct{ Release string }
	if err = settle(err); err == nil && (!ended || json.Unmarshal(frame, &hello) != nil || hello.Release == "") {
		err = fmt.Errorf("it says %.100q at the start", frame)
	}
	it.release = hello.Release
	if err != nil {
		b.Close()
		return nil, fmt.Errorf("%w: %s", err, lastLine(b.Stderr()))
	}
	return it, nil
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}
