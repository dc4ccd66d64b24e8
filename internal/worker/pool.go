//go:build !js

package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"time"

	"github.com/rlzero/rlzero/internal/awake"
)

// Pool starts children of one engine as they are needed and keeps them.
type Pool struct {
	name string
	idle chan *child // nil: one that is not started
}

type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// NewPool has as many children of the engine as there are processors.
func NewPool(name string) *Pool {
	p := &Pool{name: name, idle: make(chan *child, runtime.GOMAXPROCS(0))}
	for range cap(p.idle) {
		p.idle <- nil
	}
	return p
}

// Do gives a task to a child that is free and waits for its report, by the clock of
// internal/awake at most limit. A child that dies over it, and not of the limit, is replaced, and the
// next one tries again: ErrDied says that two died. The error is one of this package.
func (p *Pool) Do(task any, limit time.Duration) (Report, error) {
	request, err := json.Marshal(task)
	if err != nil {
		return Report{}, fmt.Errorf("the task: %w", err)
	}
	response, err := p.exchange(request, limit)
	if errors.Is(err, ErrDied) {
		response, err = p.exchange(request, limit)
	}
	var report Report
	if err == nil {
		err = json.Unmarshal(response, &report)
	}
	return report, err
}

func (p *Pool) exchange(request []byte, limit time.Duration) ([]byte, error) {
	c := <-p.idle
	defer func() { p.idle <- c }()
	if c == nil {
		var err error
		if c, err = p.start(); err != nil {
			return nil, fmt.Errorf("%w: %v", ErrStart, err)
		}
	}
	ctx, cancel := awake.WithTimeout(context.Background(), limit, ErrTime)
	defer cancel()
	process := c.cmd.Process
	release := context.AfterFunc(ctx, func() { process.Kill() })
	err := send(c.in, request)
	var response []byte
	if err == nil {
		response, err = receive(c.out)
	}
	if err == nil && release() {
		return response, nil
	}
	release()
	c.in.Close()
	c.cmd.Process.Kill()
	c.cmd.Wait()
	code := c.cmd.ProcessState.ExitCode()
	c = nil
	if ctx.Err() != nil || code == exitOverTime {
		return nil, ErrTime
	}
	return nil, fmt.Errorf("%w: exit code %d", ErrDied, code)
}

func (p *Pool) start() (*child, error) {
	binary, err := executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(binary)
	cmd.Env = []string{variable + "=" + p.name, "GOMAXPROCS=2", "TZ=UTC", "SYSTEMROOT=" + os.Getenv("SYSTEMROOT")}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &child{cmd, in, bufio.NewReader(out)}, nil
}

// executable is this program: on Linux as it was started, whatever has been put in its
// place since.
func executable() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	return os.Executable()
}
