package natsd

import (
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"strconv"
	"sync/atomic"

	"github.com/nats-io/nkeys"
)

// client is one connection. Its reading goroutine owns what has no other owner.
type client struct {
	server *Server
	id     uint64
	socket net.Conn // what conn goes over
	conn   net.Conn // encrypted, or the socket itself
	inside bool     // the other end is in this process
	out    *outbox
	nonce  string // which it signs; "": nobody has to

	user *User                    // who it is; nil: not known yet. Changed once, under server.mu
	subs map[string]*subscription // by its own names; under server.mu

	verbose, echo, headers, noResponders bool // as it asked for in CONNECT

	met  []*subscription // of the last message
	line []byte          // the last line that was made
}

// subscription is what a client listens to.
type subscription struct {
	client  *client
	sid     string
	pattern string
	sent    atomic.Int64
	most    atomic.Int64 // messages, then it ends; 0: as many as come
}

// serve talks to the client until its connection has ended.
func (c *client) serve() {
	written := make(chan struct{})
	err := c.greet()
	go func() {
		defer close(written)
		half, ok := c.conn.(interface{ CloseWrite() error })
		if c.out.write(c.conn) == nil && ok {
			_ = half.CloseWrite() // it has gone, or reads to the end what it was sent
		} else {
			c.socket.Close()
		}
	}()
	if err == nil {
		err = c.listen()
	}
	var why refusal
	if errors.As(err, &why) {
		c.out.end(complaint(why))
	}
	if c.out.over() { // a connection that is closed with something unread loses what it was sent
		_, _ = io.Copy(io.Discard, c.conn)
	}
	c.socket.Close()
	c.out.end("")
	<-written
	c.server.forget(c)
}

// greet tells a client where it is, and encrypts.
func (c *client) greet() error {
	config := c.server.opt.TLS
	if c.inside {
		config = nil
	}
	if _, err := c.socket.Write(c.server.info(c, config != nil)); err != nil || config == nil {
		return err
	}
	conn := tls.Server(c.socket, config)
	c.conn = conn
	return conn.Handshake()
}

// listen does what the client says.
func (c *client) listen() error {
	p := newParser(c)
	for {
		m, err := p.next(c.user != nil)
		if err != nil {
			return err
		}
		if c.out.over() {
			return nil
		}
		err = c.do(m)
		var told objection
		switch {
		case errors.As(err, &told):
			c.out.add([]byte(complaint(err)))
		case err != nil:
			return err
		case c.verbose && m.verb != "PING" && m.verb != "PONG":
			c.out.add([]byte("+OK\r\n"))
		}
	}
}

// Read reads from the connection. A client that says nothing for a while is asked whether it is
// there.
func (c *client) Read(p []byte) (int, error) {
	for asked := 0; ; asked++ {
		if c.user != nil && !c.inside {
			c.out.awake(c.server.bounds.wait)
		}
		n, err := c.conn.Read(p)
		switch {
		case n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) || c.out.over():
			return n, err
		case c.user == nil:
			return 0, late
		case asked == timesAsked:
			return 0, stale
		}
		c.out.add([]byte("PING\r\n"))
	}
}

// timesAsked is how often a silent client is asked whether it is there.
const timesAsked = 2

// do does what a client said. An error ends the connection, unless it is an objection.
func (c *client) do(m command) error {
	switch m.verb {
	case "CONNECT":
		if c.user != nil {
			return malformed // it has connected
		}
		return c.connect(m.body)
	case "PING":
		c.out.add([]byte("PONG\r\n"))
	case "SUB":
		return c.subscribe(m)
	case "UNSUB":
		c.unsubscribe(m)
	case "PUB", "HPUB":
		return c.publish(m)
	}
	return nil
}

// connect lets a client in.
func (c *client) connect(text []byte) error {
	asks := struct {
		Verbose      bool   `json:"verbose"`
		Echo         bool   `json:"echo"`
		Headers      bool   `json:"headers"`
		NoResponders bool   `json:"no_responders"`
		Key          string `json:"nkey"`
		Signature    string `json:"sig"`
	}{Verbose: true, Echo: true} // for what is left out
	if err := json.Unmarshal(text, &asks); err != nil {
		return malformed
	}
	if c.nonce != "" && !signed(c.nonce, asks.Key, asks.Signature) {
		return unauthorized
	}
	c.verbose, c.echo, c.headers, c.noResponders = asks.Verbose, asks.Echo, asks.Headers, asks.Headers && asks.NoResponders
	return c.server.admit(c, asks.Key)
}

// signed says whether a signature is of a public key. It is in base64, without padding for URLs in
// most clients, in the standard form in others.
func signed(nonce, key, signature string) bool {
	raw, err := base64.RawURLEncoding.DecodeString(signature)
	if err != nil {
		raw, err = base64.StdEncoding.DecodeString(signature)
	}
	if err != nil {
		return false
	}
	public, err := nkeys.FromPublicKey(key)
	return err == nil && public.Verify([]byte(nonce), raw) == nil
}

// objection is why something was not done. The client is told, and its connection goes on.
type objection string

func (o objection) Error() string { return string(o) }

const (
	noSubject objection = "Invalid Subject"
	tooMany   objection = "Maximum Subscriptions Exceeded"
)

// complaint is how a client is told of an error.
func complaint(err error) string { return "-ERR '" + err.Error() + "'\r\n" }

func (c *client) subscribe(m command) error {
	switch {
	case !wellFormed(m.subject):
		return noSubject
	case !covered(c.user.Subscribe, m.subject):
		return objection(`Permissions Violation for Subscription to "` + m.subject + `"`)
	case !c.server.subscribe(&subscription{client: c, sid: m.sid, pattern: m.subject}):
		return tooMany
	}
	return nil
}

func (c *client) unsubscribe(m command) {
	s := c.server.subscriptionOf(c, m.sid)
	if s == nil {
		return // it has ended by itself
	}
	s.most.Store(int64(m.most))
	if s.sent.Load() >= int64(m.most) {
		c.server.unsubscribe(s)
	}
}

// publish carries a message to all who subscribe to its subject.
func (c *client) publish(m command) error {
	switch {
	case !literal(m.subject) || m.reply != "" && !literal(m.reply):
		return noSubject
	case !covered(c.user.Publish, m.subject):
		return objection(`Permissions Violation for Publish to "` + m.subject + `"`)
	}
	c.met = c.server.match(m.subject, c.met[:0])
	heard := false
	for _, s := range c.met {
		if s.client != c || c.echo {
			heard = true
			c.deliver(s, m)
		}
	}
	if !heard && m.reply != "" && c.noResponders {
		c.nobody(m.reply)
	}
	return nil
}

// deliver sends a message to one who subscribes.
func (c *client) deliver(s *subscription, m command) {
	sent, most := s.sent.Add(1), s.most.Load()
	if most > 0 && sent > most {
		return
	}
	if most > 0 && sent == most {
		c.server.unsubscribe(s)
	}
	headers, body := m.headers, m.body
	if !s.client.headers {
		headers, body = 0, body[headers:]
	}
	c.line = messageLine(c.line[:0], m.subject, s.sid, m.reply, m.verb == "HPUB" && s.client.headers, headers, len(body)-len(lineEnd))
	if !s.client.out.add(c.line, body) {
		s.client.socket.Close() // it is too slow: a message that is not the next one is of no use to it
	}
}

// messageLine appends the line before a message: MSG or HMSG.
func messageLine(b []byte, subject, sid, reply string, withHeaders bool, headers, all int) []byte {
	if withHeaders {
		b = append(b, 'H')
	}
	b = append(b, "MSG "...)
	b = append(append(b, subject...), ' ')
	b = append(append(b, sid...), ' ')
	if reply != "" {
		b = append(append(b, reply...), ' ')
	}
	if withHeaders {
		b = append(strconv.AppendInt(b, int64(headers), 10), ' ')
	}
	return append(strconv.AppendInt(b, int64(all), 10), lineEnd...)
}

// noResponders is a message without a body, whose headers say that nobody subscribes to what was
// published (https://docs.nats.io/nats-concepts/core-nats/reqreply#no-responders).
const noResponders = "NATS/1.0 503\r\n\r\n"

// nobody tells a client that its request was heard by nobody.
func (c *client) nobody(reply string) {
	for _, s := range c.server.match(reply, nil) {
		if s.client == c {
			c.deliver(s, command{verb: "HPUB", subject: reply, headers: len(noResponders), body: []byte(noResponders + lineEnd)})
			return
		}
	}
}

// covered says whether one of some patterns covers another one.
func covered(patterns []string, other string) bool {
	for _, p := range patterns {
		if covers(p, other) {
			return true
		}
	}
	return false
}
