package box

import (
	"bufio"
	"errors"
	"io"
	"os/exec"
	"sync"

	"github.com/rlzero/rlzero/internal/lines"
)

// ErrUnsupported: this system lacks a layer of the box; the text names it.
var ErrUnsupported = errors.New("programs cannot be boxed on this system")

// Spec says what to run and under which limits.
type Spec struct {
	Path      string   // the program, absolute
	Args      []string // without the program's name
	Env       []string // all of its environment
	Read      []string // files and folders that it may read and run
	Scratch   int64    // bytes of /tmp, where namespaces are to be had
	Memory    int64    // bytes of address space of a process
	FileSize  int64    // bytes of a file
	Files     int      // open files of a process
	Processes int      // and threads
	Unsafe    bool     // run without the layers that this system lacks
}

// Box is a running program. Its standard error is dropped but for the end.
type Box struct {
	Stdin  io.WriteCloser
	Stdout *bufio.Reader
	// Namespaces says whether the program has namespaces of its own.
	Namespaces bool

	cmd    *exec.Cmd
	stderr *lines.Tail
	close  sync.Once
}

// Stderr is the end of what the program wrote there; for after Close.
func (b *Box) Stderr() string { return b.stderr.String() }

// attach makes the pipes of a command that is not started yet.
func attach(cmd *exec.Cmd) (*Box, error) {
	b := &Box{cmd: cmd, stderr: &lines.Tail{}}
	var err error
	if b.Stdin, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	b.Stdout = bufio.NewReader(out)
	cmd.Stderr = b.stderr
	return b, nil
}
