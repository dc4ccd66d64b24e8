//go:build amd64 || arm64

package box

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// A child that ends early has not become the program, whatever it wrote before.
func TestStageError(t *testing.T) {
	for _, c := range []struct {
		message string
		read    error
		says    string
		is      error
	}{
		{"", nil, "the box cannot be started: it ended before the program began", nil},
		{"", io.ErrUnexpectedEOF, "the box cannot be started: unexpected EOF", io.ErrUnexpectedEOF},
		{ready + "program: /no/such: no such file or directory", nil, "the box cannot be started: program: /no/such: no such file or directory", nil},
		{"rlimits: operation not permitted", nil, "the box cannot be started: rlimits: operation not permitted", nil},
		{"namespaces: a /tmp of its own: operation not permitted", nil, "a /tmp of its own: operation not permitted", errNamespaces},
		{"landlock: function not implemented", nil, "landlock: function not implemented", ErrUnsupported},
		{"seccomp: invalid argument", nil, "seccomp: invalid argument", ErrUnsupported},
	} {
		err := stageError(c.message, c.read)
		if err == nil || !strings.HasSuffix(err.Error(), c.says) || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%q: %v, want %s (%v)", c.message, err, c.says, c.is)
		}
	}
}

func TestNoProgram(t *testing.T) {
	b, err := Start(Spec{Path: "/no/such", Memory: 1 << 30, FileSize: 1 << 20, Files: 16, Processes: 1, Scratch: 1 << 20})
	if err == nil {
		b.Close()
		t.Fatal("a program that is not there has begun")
	}
	if want := "the box cannot be started: program: /no/such: no such file or directory"; err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
