//go:build !js

package outside

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/rlzero/rlzero/internal/awake"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/terminal"
)

// Bounds of what a program says.
const (
	// MaxLine is the length of the longest line, in bytes, its end included.
	MaxLine = 1 << 20
	// maxQueue is how many lines wait for a program to read them.
	maxQueue = 4096
)

// endClock is how long it has to end by itself.
const endClock = 2 * time.Second

// child is a program that runs, and lines to and from it.
type child struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	log     *lines.Tail
	secrets secrets
	queue   chan []byte
	longest int // line that is read, in bytes

	dead chan struct{} // closed when it is over
	once sync.Once
	err  error // why, after dead

	reaping sync.Mutex
	reaped  bool // its number may be another's
}

// begin starts a program whose lines have at most so many bytes. Somebody has to call serve.
func begin(c Command, longest int) (*child, error) {
	env, values, err := c.environment()
	if err != nil {
		return nil, err
	}
	p := &child{cmd: exec.Command(c.Words[0], c.Words[1:]...), log: &lines.Tail{}, queue: make(chan []byte, maxQueue), dead: make(chan struct{}), longest: longest}
	p.secrets = newSecrets(values)
	p.cmd.Env, p.cmd.Stderr, p.cmd.WaitDelay = env, p.log, endClock
	ownGroup(p.cmd)
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	if c.Told != nil {
		c.Told(c.String())
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s cannot be started: %w", terminal.Quote(c.Words[0]), err)
	}
	go p.write()
	return p, nil
}

// write writes what is sent, until the program is over or a nil line ends its input.
func (p *child) write() {
	defer p.in.Close()
	for {
		select {
		case <-p.dead:
			return
		case line := <-p.queue:
			if line == nil {
				return
			}
			if _, err := p.in.Write(line); err != nil {
				return // it reads no more: what it wrote before is read first
			}
		}
	}
}

// send sends a line, with its end. It waits for nobody: a program that does not read is ended.
func (p *child) send(line []byte) {
	select {
	case p.queue <- line:
	default:
		p.end(fmt.Errorf("it does not read what it is asked: %d lines wait; accepted: at most that many", maxQueue))
	}
}

// errEnded is that a program has ended by itself.
var errEnded = errors.New("the program has ended")

// serve gives each line of the program to heard, without its end and without secrets, until that returns an error or there are no
// more. It returns after the program is over.
func (p *child) serve(heard func(line []byte) error) {
	var err error
	for err == nil {
		var line []byte
		if line, err = p.read(); err == nil {
			err = heard(p.secrets.line(line))
		}
	}
	p.reaping.Lock()
	killGroup(p.cmd.Process) // what it started, and itself if it goes on
	status := p.cmd.Wait()
	p.reaped = true
	p.reaping.Unlock()
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w (%s)%s", errEnded, ended(status), p.lastWords())
	}
	p.end(err)
}

// ended says how a program ended.
func ended(status error) string {
	if status == nil {
		return "exit status 0"
	}
	return status.Error()
}

// lastWords is the last line of the program's log.
func (p *child) lastWords() string {
	text := strings.TrimSpace(p.secrets.text.Replace(p.log.String()))
	if text == "" {
		return ""
	}
	return ": " + terminal.Line(text[strings.LastIndexByte(text, '\n')+1:], 200)
}

// read reads a line that is not too long.
func (p *child) read() ([]byte, error) {
	var line []byte
	for {
		part, err := p.out.ReadSlice('\n')
		if line = append(line, part...); len(line) > p.longest {
			return nil, fmt.Errorf("it says a line of more than %d bytes; accepted: at most that many", p.longest)
		}
		if err == nil {
			return line[:len(line)-1], nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, io.EOF // also where the pipe breaks
		}
	}
}

// end ends the program for a reason, unless it is over already.
func (p *child) end(why error) {
	p.once.Do(func() {
		p.err = why
		close(p.dead)
	})
	p.reaping.Lock()
	defer p.reaping.Unlock()
	if !p.reaped {
		killGroup(p.cmd.Process)
	}
}

// close lets the program end by itself, for a moment.
func (p *child) close() {
	p.send(nil)
	ctx, cancel := awake.WithTimeout(context.Background(), endClock, errors.New("it does not end with its input"))
	defer cancel()
	select {
	case <-p.dead:
	case <-ctx.Done():
		p.end(context.Cause(ctx))
	}
}
