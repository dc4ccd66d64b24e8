package natsd

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

// commands are all that a stream of one who has connected has until its first error.
func commands(r io.Reader) (all []command, end error) {
	p := newParser(r)
	for {
		c, err := p.next(true)
		if err != nil {
			return all, err
		}
		c.body = bytes.Clone(c.body)
		all = append(all, c)
	}
}

// text is a command as briefly as a client may write it.
func (c command) text() string {
	b := c.verb
	for _, word := range []string{c.subject, c.reply, c.sid} {
		if word != "" {
			b += " " + word
		}
	}
	switch c.verb {
	case "CONNECT":
		b += " " + string(c.body)
	case "UNSUB":
		if c.most > 0 {
			b += fmt.Sprint(" ", c.most)
		}
	case "HPUB":
		b += fmt.Sprint(" ", c.headers)
		fallthrough
	case "PUB":
		return b + fmt.Sprint(" ", len(c.body)-len(lineEnd)) + "\n" + string(c.body)
	}
	return b + "\n"
}

// FuzzParser: whatever a client sends is a row of commands and then an error; the same row where
// bytes come one by one, and where the commands are written again. No command is longer than it may be.
func FuzzParser(f *testing.F) {
	for _, text := range []string{
		"CONNECT {\"verbose\":false}\r\nPING\r\nPONG\r\n",
		"SUB a.* 1\r\nSUB > x\r\nSUB a q 1\r\n",
		"UNSUB 1\r\nUNSUB 1 20\r\n",
		"PUB a 2\r\nhi\r\nPUB a.b r 0\r\n\r\n",
		"HPUB a 12 14\r\nNATS/1.0\r\n\r\nhi\r\nHPUB a r 12 12\r\nNATS/1.0\r\n\r\n\r\n",
		"pub\ta \t 1\nx\r\n", "PUB a 3\r\nhi\r\n", "PUB a 1048577\r\n", "PUB a 9999999999\r\n", "HPUB a 3 2\r\nhi\r\n",
		"INFO {}\r\n", "\r\n", "PU", "PUB a\x00 0\r\n\r\n", strings.Repeat("a", maxLine) + "\r\n", "CONNECT\r\n", "connect  {} \r\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		all, end := commands(bytes.NewReader(data))
		if slowly, slowEnd := commands(iotest.OneByteReader(bytes.NewReader(data))); !reflect.DeepEqual(all, slowly) || end != slowEnd {
			t.Errorf("%+v, %v; byte by byte %+v, %v", all, end, slowly, slowEnd)
		}
		var again strings.Builder
		for _, c := range all {
			if line := len(c.subject) + len(c.reply) + len(c.sid); line > maxLine || len(c.body) > maxPayload+len(lineEnd) || c.headers > len(c.body) {
				t.Errorf("%+v", c)
			}
			again.WriteString(c.text())
		}
		if same, err := commands(strings.NewReader(again.String())); !reflect.DeepEqual(all, same) || err != io.EOF {
			t.Errorf("%q is read as %+v, %v, and was %+v", again.String(), same, err, all)
		}
	})
}
