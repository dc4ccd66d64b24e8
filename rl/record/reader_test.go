package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

// gap is a file of one text, a line of so many x, and another text.
type gap struct {
	before, after string
	x             int64
	most          int // bytes that were asked for at once
}

func (g *gap) size() int64 { return int64(len(g.before)) + g.x + int64(len(g.after)) }

func (g *gap) ReadAt(p []byte, off int64) (int, error) {
	g.most = max(g.most, len(p))
	for i := range p {
		at := off + int64(i)
		switch {
		case at >= g.size():
			return i, io.EOF
		case at < int64(len(g.before)):
			p[i] = g.before[at]
		case at < int64(len(g.before))+g.x:
			rest := p[i:min(int64(len(p)), int64(len(g.before))+g.x-off)]
			for j := range rest {
				rest[j] = 'x'
			}
			n, err := len(p), error(nil)
			if end := i + len(rest); end < len(p) {
				n, err = g.ReadAt(p[end:], off+int64(end))
				n += end
			}
			return n, err
		default:
			p[i] = g.after[at-int64(len(g.before))-g.x]
		}
	}
	return len(p), nil
}

// TestReaderTooLong: a line of 2 GB is refused with file, line and bound, takes no more room than
// the bound, and can be passed over.
func TestReaderTooLong(t *testing.T) {
	in := &gap{before: "{}\n\n[1]\n{\"step\":7,", x: 2 << 30, after: "\nlast\ntorn"}
	r := Reader{Name: "f"}
	var got []string
	note := func(n int, line []byte) error {
		got = append(got, fmt.Sprint(n, string(line)))
		return nil
	}
	err := r.Each(in, in.size(), note)
	long := isTooLong(err)
	if long == nil || err.Error() != "f: line 4 has more than 67108864 bytes; accepted: at most that many" || !bytes.HasPrefix(long.Head, []byte(`{"step":7,x`)) {
		t.Fatalf("%v", err)
	}
	if cap(r.buf) > 2*MaxBytes || in.most > MaxBytes {
		t.Errorf("%d bytes are held, %d were read at once", cap(r.buf), in.most)
	}
	if ended, err := r.Skip(in, in.size()); !ended || err != nil || r.Line != 4 {
		t.Fatalf("%v, %v, line %d", ended, err, r.Line)
	}
	if err := r.Each(in, in.size(), note); err != nil || !slices.Equal(got, []string{"1{}", "3[1]", "5last"}) {
		t.Errorf("%q, %v", got, err)
	}
}

// TestReaderBound: a line of the greatest length is read, and one that is a byte longer is not.
func TestReaderBound(t *testing.T) {
	for _, n := range []int{7, 8, 9, 17} {
		in := strings.NewReader("a\n" + strings.Repeat("x", n-1) + "\nb\n")
		r := Reader{Name: "f", chunk: 4, most: 8}
		err := r.Each(in, in.Size(), func(int, []byte) error { return nil })
		if (n > 8) != (isTooLong(err) != nil) || n > 8 && err.Error() != "f: line 2 has more than 8 bytes; accepted: at most that many" {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

// TestReaderErrors: an error of do names file and line, and one of the file is the file's.
func TestReaderErrors(t *testing.T) {
	own := errors.New("own")
	r := Reader{Name: "f"}
	err := r.Each(strings.NewReader("1\n2\n"), 4, func(n int, _ []byte) error {
		if n == 2 {
			return own
		}
		return nil
	})
	if !errors.Is(err, own) || err.Error() != "f: line 2: own" {
		t.Errorf("%v", err)
	}
	if err := r.Each(failing{own}, 4, nil); err != own {
		t.Errorf("%v", err)
	}
	if _, err := r.Skip(failing{own}, 4); err != own {
		t.Errorf("%v", err)
	}
	r = Reader{Name: "f"}
	if err := r.Each(strings.NewReader("1\n"), 9, func(int, []byte) error { return nil }); err != nil || r.At != 2 {
		t.Errorf("a file that has become shorter: %v, at %d", err, r.At)
	}
}

type failing struct{ err error }

func (f failing) ReadAt([]byte, int64) (int, error) { return 0, f.err }

// FuzzReader: whatever the bytes, and wherever the file grows, a reader's lines are those of the
// text that end and are not too long, with their numbers.
func FuzzReader(f *testing.F) {
	f.Add([]byte("{}\n\n[1]\r\nlonger than that\nlast\ntorn"), 7)
	f.Add([]byte("\n\n\n"), 1)
	f.Add([]byte("no end"), 3)
	f.Add([]byte("00000000\n\n00000000\n"), 104) // 1: a line too long after a short one in a piece
	f.Fuzz(func(t *testing.T, data []byte, grows int) {
		const most = 8
		var want, got []string
		all := bytes.SplitAfter(data, []byte{'\n'})
		for i, line := range all[:len(all)-1] {
			if text := bytes.TrimSpace(line); len(line) <= most && len(text) > 0 {
				want = append(want, fmt.Sprint(i+1, string(text)))
			}
		}
		r := Reader{Name: "f", chunk: 4, most: most}
		for _, size := range []int64{int64(max(0, min(grows, len(data)))), int64(len(data))} {
			for {
				err := r.Each(bytes.NewReader(data), size, func(n int, line []byte) error {
					got = append(got, fmt.Sprint(n, string(line)))
					return nil
				})
				if err == nil {
					break
				}
				if isTooLong(err) == nil {
					t.Fatal(err)
				}
				ended, err := r.Skip(bytes.NewReader(data), size)
				if err != nil {
					t.Fatal(err)
				}
				if !ended {
					break
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", data, got, want)
		}
	})
}
