package natsd

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// roomy is a server without keys for many.
var roomy = Options{Name: "test", Address: "127.0.0.1:0", Connections: 100, OfUser: 3, Subscriptions: 4}

// talker is a client, byte for byte.
type talker struct {
	t *testing.T
	net.Conn
	in *bufio.Reader
}

// piped is a client of a server that does not listen. To the server it is one from outside.
func piped(t *testing.T, s *Server) *talker {
	t.Helper()
	near, far := net.Pipe()
	if !s.take(far, false) {
		t.Fatal("the server takes no connection")
	}
	return talks(t, near)
}

// talks has heard the greeting.
func talks(t *testing.T, conn net.Conn) *talker {
	t.Helper()
	k := talksTo(t, conn)
	if line := k.line(); !strings.HasPrefix(line, "INFO {") {
		t.Fatalf("the server begins with %q", line)
	}
	return k
}

func talksTo(t *testing.T, conn net.Conn) *talker {
	t.Cleanup(func() { conn.Close() })
	return &talker{t, conn, bufio.NewReader(conn)}
}

func (k *talker) line() string {
	k.t.Helper()
	line, err := k.in.ReadString('\n')
	if err != nil {
		k.t.Fatalf("%q, then %v", line, err)
	}
	return line
}

func (k *talker) say(text string) {
	k.t.Helper()
	if _, err := io.WriteString(k, text); err != nil {
		k.t.Fatal(err)
	}
}

// hears expects a text next.
func (k *talker) hears(text string) {
	k.t.Helper()
	got := make([]byte, len(text))
	if n, err := io.ReadFull(k.in, got); err != nil || string(got) != text {
		k.t.Fatalf("heard %q, %v; want %q", got[:n], err, text)
	}
}

// hearsEnd expects a text and the end of the connection.
func (k *talker) hearsEnd(text string) {
	k.t.Helper()
	if got, err := io.ReadAll(k.in); err != nil || string(got) != text {
		k.t.Errorf("heard %q, %v; want %q and the end", got, err, text)
	}
}

// here makes sure that the server has done all that was said, and says no more.
func (k *talker) here() {
	k.t.Helper()
	k.say("PING\r\n")
	k.hears("PONG\r\n")
}

const (
	quiet   = "CONNECT {\"verbose\":false}\r\n"
	headers = "CONNECT {\"verbose\":false,\"headers\":true,\"no_responders\":true}\r\n"
)

// TestTalk: what is said and what is heard, said at once and byte by byte.
func TestTalk(t *testing.T) {
	t.Parallel()
	const hello = "NATS/1.0\r\n\r\n"
	for name, c := range map[string]struct{ says, hears string }{
		"a message":           {quiet + "SUB a 1\r\nPUB a 2\r\nhi\r\n", "MSG a 1 2\r\nhi\r\n"},
		"no bytes, a reply":   {quiet + "SUB a 1\r\nPUB a r.1 0\r\n\r\n", "MSG a 1 r.1 0\r\n\r\n"},
		"wildcards":           {quiet + "SUB a.* s\r\nSUB a.> t\r\nPUB a.b 1\r\nx\r\nPUB a.b.c 1\r\ny\r\n", "MSG a.b s 1\r\nx\r\nMSG a.b t 1\r\nx\r\nMSG a.b.c t 1\r\ny\r\n"},
		"other spelling":      {"connect\t{\"verbose\":false}\nsub  a\t1 \npub a 1\nx\r\nping\n", "MSG a 1 1\r\nx\r\nPONG\r\n"},
		"bytes like commands": {quiet + "SUB a 1\r\nPUB a 8\r\nPING\r\n\x00\xff\r\n", "MSG a 1 8\r\nPING\r\n\x00\xff\r\n"},
		"it ends":             {quiet + "SUB a 1\r\nUNSUB 1\r\nPUB a 1\r\nx\r\nUNSUB 1\r\n", ""},
		"it ends by itself":   {quiet + "SUB a 1\r\nPUB a 1\r\nx\r\nUNSUB 1 2\r\nPUB a 1\r\ny\r\nPUB a 1\r\nz\r\n", "MSG a 1 1\r\nx\r\nMSG a 1 1\r\ny\r\n"},
		"it had enough":       {quiet + "SUB a 1\r\nPUB a 1\r\nx\r\nUNSUB 1 1\r\nPUB a 1\r\ny\r\n", "MSG a 1 1\r\nx\r\n"},
		"a name twice":        {quiet + "SUB a 1\r\nSUB b 1\r\nPUB b 1\r\nx\r\nPUB a 1\r\ny\r\n", "MSG a 1 1\r\ny\r\n"},
		"no echo":             {"CONNECT {\"verbose\":false,\"echo\":false}\r\nSUB a 1\r\nPUB a 1\r\nx\r\n", ""},
		"verbose":             {"CONNECT {}\r\nPING\r\nSUB a 1\r\nPUB a 1\r\nx\r\nSUB a. 2\r\nUNSUB 1\r\n", "+OK\r\nPONG\r\n+OK\r\nMSG a 1 1\r\nx\r\n+OK\r\n-ERR 'Invalid Subject'\r\n+OK\r\n"},
		"headers":             {headers + "SUB a 1\r\nHPUB a 12 14\r\n" + hello + "hi\r\nHPUB a r 12 12\r\n" + hello + "\r\n", "HMSG a 1 12 14\r\n" + hello + "hi\r\nHMSG a 1 r 12 12\r\n" + hello + "\r\n"},
		"headers left out":    {quiet + "SUB a 1\r\nHPUB a 12 14\r\n" + hello + "hi\r\n", "MSG a 1 2\r\nhi\r\n"},
		"nobody hears":        {headers + "SUB r.* 1\r\nPUB a r.7 1\r\nx\r\nPUB a 1\r\nx\r\n", "HMSG r.7 1 16 16\r\n" + noResponders + "\r\n"},
		"nobody asks":         {quiet + "SUB r.* 1\r\nPUB a r.7 1\r\nx\r\n", ""},
		"no subject":          {quiet + "PUB a..b 1\r\nx\r\nPUB a.* 1\r\nx\r\nPUB a .r 1\r\nx\r\nSUB a.>.b 1\r\n", strings.Repeat("-ERR 'Invalid Subject'\r\n", 4)},
		"too many":            {quiet + "SUB a 1\r\nSUB a 2\r\nSUB a 3\r\nSUB a 4\r\nSUB a 5\r\nUNSUB 1\r\nSUB a 6\r\n", "-ERR 'Maximum Subscriptions Exceeded'\r\n"},
	} {
		s := newServer(roomy, usual)
		for _, step := range []int{len(c.says), 1} {
			k := piped(t, s)
			go func() {
				for i := 0; i < len(c.says); i += step {
					_, _ = io.WriteString(k, c.says[i:i+step])
				}
				_, _ = io.WriteString(k, "PING\r\n")
			}()
			want := c.hears + "PONG\r\n"
			got := make([]byte, len(want))
			if n, err := io.ReadFull(k.in, got); err != nil || string(got) != want {
				t.Errorf("%s, in parts of %d: heard %q, %v; want %q", name, step, got[:n], err, want)
			}
			k.Close()
		}
		s.end()
	}
}

// TestRefused: what ends a connection, and what the client is told.
func TestRefused(t *testing.T) {
	t.Parallel()
	for says, hears := range map[string]refusal{
		"PING\r\n":                               unauthorized,
		"SUB a 1\r\n":                            unauthorized,
		"PUB a 1048576\r\n":                      unauthorized, // before there is memory for it
		"CONNECT\r\n":                            malformed,
		"CONNECT {\"verbose\":1}\r\n":            malformed,
		quiet + quiet:                            malformed,
		quiet + "INFO {}\r\n":                    unknownVerb,
		quiet + "\r\n":                           unknownVerb,
		quiet + "GET / HTTP/1.1\r\n":             unknownVerb,
		quiet + "PING 1\r\n":                     malformed,
		quiet + "SUB a\r\n":                      malformed,
		quiet + "SUB a q 1\r\n":                  queueGroup,
		quiet + "UNSUB 1 x\r\n":                  malformed,
		quiet + "PUB a\r\n":                      malformed,
		quiet + "PUB a b c 1\r\n":                malformed,
		quiet + "PUB a -1\r\n":                   malformed,
		quiet + "PUB a +1\r\n":                   malformed,
		quiet + "PUB a 0x1\r\n":                  malformed,
		quiet + "PUB a 99999999999999999999\r\n": malformed,
		quiet + "PUB a 1048577\r\n":              longPayload,
		quiet + "PUB a 2\r\nhi!\r\n":             malformed, // more than it says
		quiet + "PUB a 4\r\nhi\r\nPING\r\n":      malformed, // less
		quiet + "PUB a 2\r\nhi\n\n":              malformed,
		quiet + "HPUB a 1\r\n":                   malformed,
		quiet + "HPUB a 3 2\r\n":                 malformed,
		quiet + "SUB a\x00b 1\r\n":               malformed,
		quiet + "SUB a\rb 1\r\n":                 malformed,
		quiet + "SUB " + strings.Repeat("a", maxLine) + " 1\r\n": longLine,
		quiet + strings.Repeat("PUB ", 1<<20):                    longLine,
		"CONNECT {" + strings.Repeat(" ", readBytes):             longLine,
	} {
		s := newServer(roomy, usual)
		k := piped(t, s)
		go func() { _, _ = io.WriteString(k, says) }() // to the end, or until it is closed
		k.hearsEnd(complaint(hears))
		s.end()
	}
}

// TestPipelined: a thousand commands at once are done one after another.
func TestPipelined(t *testing.T) {
	t.Parallel()
	s := newServer(roomy, usual)
	k := piped(t, s)
	var says, hears strings.Builder
	says.WriteString(quiet + "SUB a 1\r\n")
	for i := range 1000 {
		fmt.Fprintf(&says, "PUB a %d\r\n%d\r\nPING\r\n", len(fmt.Sprint(i)), i)
		fmt.Fprintf(&hears, "MSG a 1 %d\r\n%d\r\nPONG\r\n", len(fmt.Sprint(i)), i)
	}
	go func() { _, _ = io.WriteString(k, says.String()) }()
	k.hears(hears.String())
	k.Close()
	s.end()
}

// FuzzSession: whatever a client says after it has connected, another one is served, and nothing
// is left of the first.
func FuzzSession(f *testing.F) {
	for _, text := range []string{
		"SUB a 1\r\nPUB a 2\r\nhi\r\n", "SUB > 1\r\nPUB a b 2\r\nhi\r\nUNSUB 1 1\r\n", "HPUB a.b r 2 4\r\nhihi\r\n",
		"UNSUB 1\r\nPING\r\nPONG\r\nPUB", "PUB a 5\r\nhi", "SUB other 1\r\nSUB o* 1\r\nPUB other 0\r\n\r\n", "CONNECT {}\r\n", "PUB a.> 0\r\n\r\n",
	} {
		f.Add([]byte(text), true)
		f.Add([]byte(text), false)
	}
	f.Fuzz(func(t *testing.T, says []byte, all bool) {
		s := newServer(roomy, usual)
		other := piped(t, s)
		other.say(quiet + "SUB other 1\r\n")
		other.here()
		k := piped(t, s)
		go func() {
			_, _ = io.WriteString(k, "CONNECT {\"verbose\":"+fmt.Sprint(all)+",\"headers\":"+fmt.Sprint(all)+",\"no_responders\":true}\r\n")
			_, _ = k.Write(says)
			k.Close()
		}()
		_, _ = io.Copy(io.Discard, k.in)
		other.say("UNSUB 1\r\nSUB last 2\r\nPUB last 4\r\nlast\r\n")
		for heard := ""; heard != "MSG last 2 4\r\n"; { // the first may have said something to it
			heard = other.line()
		}
		other.Close()
		s.end()
		if len(s.index.next) > 0 || len(s.clients) > 0 || len(s.held) > 0 {
			t.Errorf("left are %d nodes, %d clients", len(s.index.next), len(s.clients))
		}
	})
}

// patience bounds what takes milliseconds on an idle machine.
const patience = time.Minute
