package natsd

import (
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net"
	"slices"
	"sync"
	"time"
)

// Options say where a server is and whom it lets in.
type Options struct {
	Name    string
	Address string      // host:port; port 0: any that is free
	TLS     *tls.Config // nil: nothing is encrypted
	Users   []User      // nil: everybody may do all

	Connections   int // together
	OfUser        int // connections of one user
	Subscriptions int // of one connection
}

// User is who may come in.
type User struct {
	Key       string   // public nkey
	Publish   []string // patterns of what it may publish on
	Subscribe []string // patterns of what it may subscribe to
}

func (u User) equal(other User) bool {
	return u.Key == other.Key && slices.Equal(u.Publish, other.Publish) && slices.Equal(u.Subscribe, other.Subscribe)
}

// everybody is the user of a server without users.
var everybody = &User{Publish: []string{">"}, Subscribe: []string{">"}}

// bounds are on what clients take, see the package comment.
type bounds struct {
	wait     time.Duration // to connect, for a MiB to be sent, until a silent client is asked
	farewell time.Duration // for a client that is to go to hear why
	pending  int           // bytes that wait to be sent to a client
}

var usual = bounds{wait: 10 * time.Second, farewell: time.Second, pending: 32 << 20}

// Server is a server that listens.
type Server struct {
	opt      Options
	bounds   bounds
	listener net.Listener
	running  sync.WaitGroup

	mu      sync.RWMutex
	closed  bool
	users   map[string]*User // by key; nil: everybody may do all
	clients map[*client]struct{}
	held    map[string]int // connections by key
	last    uint64         // id of a client
	index   node
}

// Listen starts a server. The error says why it cannot listen there.
func Listen(o Options) (*Server, error) {
	l, err := net.Listen("tcp", o.Address)
	if err != nil {
		return nil, err
	}
	s := newServer(o, usual)
	s.listener = l
	s.running.Go(s.accept)
	return s, nil
}

func newServer(o Options, b bounds) *Server {
	return &Server{opt: o, bounds: b, users: byKey(o.Users), clients: map[*client]struct{}{}, held: map[string]int{}}
}

func byKey(users []User) map[string]*User {
	if users == nil {
		return nil
	}
	keys := map[string]*User{}
	for _, u := range users {
		keys[u.Key] = &u
	}
	return keys
}

// Addr is where the server listens.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// InProcessConn is a connection to the server, as nats.InProcessServer asks for it.
func (s *Server) InProcessConn() (net.Conn, error) {
	near, far := net.Pipe()
	if !s.take(far, true) {
		near.Close()
		return nil, errors.New("the server takes no connection")
	}
	return near, nil
}

// SetUsers changes who may come in, at a server that has users. Those who no longer may are cut
// off; so are those who may do other things than before, and they can come again.
func (s *Server) SetUsers(users []User) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users = byKey(users)
	for c := range s.clients {
		if c.user == nil {
			continue
		}
		if u := s.users[c.user.Key]; u == nil || !u.equal(*c.user) {
			c.out.end(complaint(unauthorized))
		}
	}
}

// Close ends all connections, once what waits for them is sent or a second has passed, and
// returns when they have ended.
func (s *Server) Close() {
	s.listener.Close()
	s.end()
}

// end ends all connections, and no new one begins.
func (s *Server) end() {
	s.mu.Lock()
	s.closed = true
	for c := range s.clients {
		c.out.end("")
	}
	s.mu.Unlock()
	s.running.Wait()
}

// acceptPause is how long the server waits after a connection could not be taken from the system,
// which has no files left, say.
const acceptPause = 100 * time.Millisecond

func (s *Server) accept() {
	for {
		conn, err := s.listener.Accept()
		switch {
		case err == nil:
			s.take(conn, false)
		case errors.Is(err, net.ErrClosed):
			return
		default:
			time.Sleep(acceptPause)
		}
	}
}

// take makes a client of a connection, or closes it.
func (s *Server) take(conn net.Conn, inside bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.clients) >= s.opt.Connections {
		if !s.closed && !inside {
			_ = conn.SetDeadline(time.Now().Add(s.bounds.farewell))
			_, _ = conn.Write([]byte(complaint(crowded))) // a new socket has room for it
		}
		conn.Close()
		return false
	}
	if !inside {
		_ = conn.SetDeadline(time.Now().Add(s.bounds.wait)) // until the client has connected
	}
	s.last++
	c := &client{server: s, id: s.last, socket: conn, conn: conn, inside: inside, out: newOutbox(conn, inside, s.bounds), subs: map[string]*subscription{}}
	if s.users != nil {
		c.nonce = rand.Text()
	}
	s.clients[c] = struct{}{}
	s.running.Go(c.serve)
	return true
}

// version is that of the NATS server which first spoke what this one does: headers, and an answer
// where there are no responders.
const version = "2.2.0"

// info is the line that greets a client.
func (s *Server) info(c *client, encrypted bool) []byte {
	text, err := json.Marshal(map[string]any{
		"server_id": s.opt.Name, "server_name": s.opt.Name, "version": version, "proto": 1,
		"headers": true, "max_payload": maxPayload, "client_id": c.id, "nonce": c.nonce, "auth_required": c.nonce != "", "tls_required": encrypted,
	})
	if err != nil { // of plain values
		panic(err)
	}
	return append(append([]byte("INFO "), text...), lineEnd...)
}

// admit makes a client a user, who has signed by a key; "" where there are no keys.
func (s *Server) admit(c *client, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users == nil {
		c.user = everybody
		return nil
	}
	u := s.users[key]
	switch {
	case u == nil:
		return unauthorized
	case s.held[key] >= s.opt.OfUser:
		return crowded
	}
	s.held[key]++
	c.user = u
	return nil
}

// forget takes a client out of the server.
func (s *Server) forget(c *client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sub := range c.subs {
		s.index.remove(sub.pattern, sub)
	}
	c.subs = nil
	delete(s.clients, c)
	if c.user == nil || c.user == everybody {
		return
	}
	if s.held[c.user.Key]--; s.held[c.user.Key] == 0 {
		delete(s.held, c.user.Key)
	}
}

// subscribe adds a subscription, unless its client has one of this name. It returns false if the
// client has too many.
func (s *Server) subscribe(sub *subscription) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	subs := sub.client.subs
	if subs[sub.sid] != nil {
		return true
	}
	if len(subs) >= s.opt.Subscriptions {
		return false
	}
	subs[sub.sid] = sub
	s.index.add(sub.pattern, sub)
	return true
}

// subscriptionOf is what a client calls by a name; nil if there is none.
func (s *Server) subscriptionOf(c *client, sid string) *subscription {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return c.subs[sid]
}

// unsubscribe ends a subscription, if it has not ended.
func (s *Server) unsubscribe(sub *subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sub.client.subs[sub.sid] == sub {
		delete(sub.client.subs, sub.sid)
		s.index.remove(sub.pattern, sub)
	}
}

// match appends the subscriptions that a subject meets.
func (s *Server) match(subject string, found []*subscription) []*subscription {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.index.match(subject, found)
}
