package natsd

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// tight is usual but for what may wait to be sent.
var tight = bounds{wait: usual.wait, farewell: usual.farewell, pending: 4 << 10}

// encrypts is roomy with TLS.
func encrypts(t *testing.T) Options {
	o := roomy
	o.TLS = &tls.Config{Certificates: []tls.Certificate{certificate(t)}}
	return o
}

// secret is a client that has heard the greeting and encrypts from then on.
func secret(t *testing.T, s *Server) *talker {
	t.Helper()
	k := piped(t, s)
	conn := tls.Client(k.Conn, &tls.Config{InsecureSkipVerify: true})
	return &talker{t, conn, bufio.NewReader(conn)}
}

// TestLate: who does not connect in time is closed, though it says a little each second.
func TestLate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		opt   Options
		says  string
		hears string
	}{
		{"nothing", roomy, "", complaint(late)},
		{"a byte a second", roomy, "CONNECT {" + strings.Repeat(" ", 100), complaint(late)},
		{"no handshake", encrypts(t), "", ""},
		{"a slow handshake", encrypts(t), "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + strings.Repeat("\x01", 100), ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			s := newServer(c.opt, usual)
			k := piped(t, s)
			said := make(chan struct{})
			go func() {
				defer close(said)
				for _, b := range []byte(c.says) {
					if _, err := k.Write([]byte{b}); err != nil {
						return
					}
					time.Sleep(time.Second)
				}
			}()
			k.hearsEnd(c.hears)
			if took := time.Since(began); took != usual.wait {
				t.Errorf("%s: closed after %v", c.name, took)
			}
			s.end()
			<-said
		})
	}
}

// TestSilent: a client that says no more, in the midst of a line or of a message, is asked twice
// and closed. One that answers stays, encrypted or not.
func TestSilent(t *testing.T) {
	t.Parallel()
	for _, says := range []string{"", "PUB a", "PUB a 5\r\nhi"} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(roomy, usual)
			k := piped(t, s)
			k.say(quiet + says)
			began := time.Now()
			k.hearsEnd("PING\r\nPING\r\n" + complaint(stale))
			if took := time.Since(began); took != 3*usual.wait {
				t.Errorf("%q: closed after %v", says, took)
			}
			s.end()
		})
	}
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			opt   Options
			enter func(*testing.T, *Server) *talker
		}{{roomy, piped}, {encrypts(t), secret}} {
			s := newServer(c.opt, usual)
			k := c.enter(t, s)
			k.say(quiet)
			for range 100 {
				k.hears("PING\r\n")
				k.say("PONG\r\n")
			}
			k.here()
			k.Close()
			s.end()
		}
	})
}

// TestSlow: one that does not read is closed, at once when too much waits for it and after a while
// in any case. Others are served meanwhile, and no time passes for them.
func TestSlow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(roomy, tight)
		slow, stuck, good, from := piped(t, s), piped(t, s), piped(t, s), piped(t, s)
		began := time.Now()
		for _, k := range []*talker{slow, stuck, good, from} {
			k.say(quiet)
		}
		for k, subject := range map[*talker]string{slow: "a", stuck: "b", good: "*"} {
			k.say("SUB " + subject + " 1\r\n")
			k.here()
		}
		from.say("PUB b 1\r\nx\r\n")
		good.hears("MSG b 1 1\r\nx\r\n")
		body := strings.Repeat("x", 1000)
		for range 20 {
			from.say("PUB a 1000\r\n" + body + "\r\n")
			good.hears("MSG a 1 1000\r\n" + body + "\r\n")
		}
		synctest.Wait()
		if _, err := io.Copy(io.Discard, slow); err != nil { // what waited in the pipe, and its end
			t.Error(err)
		}
		stuck.say("PUB c 1\r\nx\r\n") // it is still there, and says something
		good.hears("MSG c 1 1\r\nx\r\n")
		if took := time.Since(began); took != 0 {
			t.Errorf("others waited for %v", took)
		}
		_ = stuck.SetWriteDeadline(time.Now().Add(time.Hour))
		for n := time.Duration(0); ; n += time.Second {
			if _, err := io.WriteString(stuck, "PONG\r\n"); err != nil {
				if n != usual.wait {
					t.Errorf("closed after %v", n)
				}
				break
			}
			time.Sleep(time.Second)
			synctest.Wait()
		}
		good.hears("PING\r\n")
		good.here()
		good.Close()
		from.Close()
		s.end()
	})
}

// TestFlood: publishers wait for a client within the process, and others are served meanwhile.
func TestFlood(t *testing.T) {
	t.Parallel()
	s := newServer(roomy, tight)
	conn, err := s.InProcessConn()
	if err != nil {
		t.Fatal(err)
	}
	inside := talks(t, conn)
	inside.say(quiet + "SUB a.* 1\r\n")
	inside.here()
	const many = 5000
	body := strings.Repeat("x", 1000)
	for n := range 3 {
		flood := piped(t, s)
		flood.say(quiet)
		go func() {
			for i := range many {
				fmt.Fprintf(flood, "PUB a.%d 1005\r\n%5d%s\r\n", n, i, body)
			}
		}()
	}
	other := piped(t, s)
	other.say(quiet + "SUB b 1\r\n")
	for range 100 {
		other.say("PUB b 1\r\nx\r\n")
		other.hears("MSG b 1 1\r\nx\r\n")
	}
	seen := map[string]int{}
	for range 3 * many {
		subject := strings.Fields(inside.line())[1]
		inside.hears(fmt.Sprintf("%5d%s\r\n", seen[subject], body))
		seen[subject]++
	}
	inside.here()
	inside.Close()
	other.Close()
}

// TestCrowd: the server has so many connections, and takes the next one when one has gone.
func TestCrowd(t *testing.T) {
	t.Parallel()
	o := roomy
	o.Connections = 2
	s, err := Listen(o)
	if err != nil {
		t.Fatal(err)
	}
	dial := func() net.Conn {
		conn, err := net.Dial("tcp", s.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(patience))
		return conn
	}
	first, second := talks(t, dial()), talks(t, dial())
	third := dial()
	talksTo(t, third).hearsEnd(complaint(crowded))
	first.Close()
	for again := true; again; { // the server has to see that it has gone
		conn := dial()
		line, err := bufio.NewReader(conn).ReadString('\n')
		if again = err != nil || !strings.HasPrefix(line, "INFO"); again {
			conn.Close()
		} else {
			defer conn.Close()
		}
	}
	second.say(quiet)
	second.here()
	if _, err := Listen(Options{Address: s.Addr().String()}); err == nil {
		t.Error("two servers listen at one address")
	}
	s.Close()
	second.hearsEnd("")
}

// TestEnd: what waits is still sent, and a client that does not take it is waited for no longer
// than a second.
func TestEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(roomy, usual)
		good, stuck := piped(t, s), piped(t, s)
		body := strings.Repeat("x", 2*chunkBytes)
		for _, k := range []*talker{good, stuck} {
			k.say(quiet + "SUB a 1\r\n")
			k.here()
		}
		good.say(fmt.Sprintf("PUB a %d\r\n%s\r\nPUB a 1\r\nx\r\n", len(body), body))
		synctest.Wait()
		began := time.Now()
		ended := make(chan struct{})
		go func() { s.end(); close(ended) }()
		synctest.Wait()
		good.hearsEnd(fmt.Sprintf("MSG a 1 %d\r\n%s\r\nMSG a 1 1\r\nx\r\n", len(body), body))
		<-ended
		if took := time.Since(began); took != usual.farewell {
			t.Errorf("it took %v", took)
		}
		if _, err := s.InProcessConn(); err == nil {
			t.Error("a server that has ended takes a connection")
		}
	})
}
