package bus

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/rlzero/rlzero/rl/fleet"
)

// guarded is a hub with keys, and the keys of two workers.
func guarded(t *testing.T) (s *site, a, b Key, allow func(...string)) {
	t.Helper()
	a, b = newKey(t), newKey(t)
	var mu sync.Mutex
	var allowed []string
	allow = func(keys ...string) {
		mu.Lock()
		defer mu.Unlock()
		allowed = keys
	}
	allow(a.Public(), b.Public())
	s = begin(t, Options{Listen: anyPort, Door: Door{Key: newKey(t)}, Allowed: func() ([]string, error) {
		mu.Lock()
		defer mu.Unlock()
		return allowed, nil
	}}, fleet.Exact)
	return s, a, b, allow
}

// raw is a connection with a worker's key and what the server complained of.
func raw(t *testing.T, s *site, k Key) (nc *nats.Conn, complaints func() string) {
	t.Helper()
	d := Door{URL: s.URL(), Key: k}
	p, err := d.place()
	if err != nil {
		t.Fatal(err)
	}
	heard := make(chan string, 10)
	nc, err = d.connect(p, k.Public(), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { heard <- err.Error() }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc, func() string {
		nc.Flush()
		select {
		case text := <-heard:
			return text
		case <-time.After(time.Second):
			return ""
		}
	}
}

// TestPermissions: a worker can neither speak in another's name nor hear what is another's.
func TestPermissions(t *testing.T) {
	t.Parallel()
	s, a, b, _ := guarded(t)
	nc, complaints := raw(t, s, a)
	for _, subject := range []string{request("run", b.Public(), verbPart), request("run", s.opt.Door.Key.Public(), verbWho), say("run"), inbox(b.Public()) + ".x", "rl.other." + a.Public() + ".take"} {
		nc.Publish(subject, nil)
		if text := complaints(); !strings.Contains(strings.ToLower(text), "permissions violation for publish") {
			t.Errorf("a worker publishes on %s: %q", subject, text)
		}
	}
	for _, subject := range []string{">", "rl.>", request("run", "*", "*"), inbox(b.Public()) + ".>", "_INBOX.>"} {
		sub, err := nc.SubscribeSync(subject)
		if err != nil {
			t.Fatal(err)
		}
		if text := complaints(); !strings.Contains(strings.ToLower(text), "permissions violation for subscription") {
			t.Errorf("a worker subscribes to %s: %q", subject, text)
		}
		sub.Unsubscribe()
	}
	own, _ := s.nc.SubscribeSync(inbox(b.Public()) + ".x")
	s.nc.Flush()
	nc.PublishRequest(request("run", a.Public(), verbWho), inbox(b.Public())+".x", nil)
	if m, err := own.NextMsg(time.Second); err == nil {
		t.Errorf("the hub answers into another's inbox: %q", m.Data)
	}
}

// TestAdmittance: nobody comes in without a key, with one that is not allowed or no more,
// and no worker works for another server than that it was told of.
func TestAdmittance(t *testing.T) {
	t.Parallel()
	s, a, b, allow := guarded(t)
	for name, k := range map[string]Key{"no key": {}, "another key": newKey(t)} {
		if err := (Worker{Door: Door{URL: s.URL(), Key: k}, Card: card}).Work(t.Context()); !errors.Is(err, errShut) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, address, _ := strings.Cut(s.URL(), "@")
	if err := (Worker{Door: Door{URL: "nats://" + b.Public() + "@" + address, Key: a}, Card: card}).Work(t.Context()); !errors.Is(err, errOtherServer) {
		t.Errorf("another server: %v", err)
	}
	open, err := embed(anyPort, DefaultName, Key{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Shutdown()
	for name, p := range map[string]place{"a pinned server": {server: open.url(), pin: b.Public(), host: "localhost"}, "a far server": {server: open.url(), host: "far.example"}} {
		if nc, err := (Door{}).connect(p, a.Public()); !errors.Is(err, errShut) {
			t.Errorf("%s that does not encrypt: %v, %v", name, nc, err)
		}
	}
	for _, address := range []string{"0.0.0.0:0", ":0", "192.0.2.1:0", "[::]:0", "example.com:0"} {
		if _, err := embed(address, DefaultName, Key{}, nil); err == nil || !strings.Contains(err.Error(), "there are no keys") {
			t.Errorf("%s without keys: %v", address, err)
		}
	}
	ended, _ := works(t, Door{URL: s.URL(), Key: a}, nil)
	works(t, Door{URL: s.URL(), Key: b}, nil)
	s.joins(t, 2)
	allow(b.Public())
	select {
	case err := <-ended:
		if !errors.Is(err, fleet.ErrRefused) {
			t.Errorf("a revoked worker ends with %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Error("a revoked worker is still there")
	}
	s.joins(t, 1)
	s.step(t)
}

// TestResults: what is no answer to the worker's item gets it refused, or is dropped; what
// was not asked for, too.
func TestResults(t *testing.T) {
	t.Parallel()
	s, a, _, _ := guarded(t)
	nc, _ := raw(t, s, a)
	c := &client{nc: nc, place: s.place, name: a.Public()}
	hello := func() {
		t.Helper()
		if _, err := c.ask(t.Context(), verbHello, []byte(`{"release":"1.0"}`), replyWait); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.ask(t.Context(), verbTake, nil, replyWait); !errors.Is(err, errStranger) {
		t.Errorf("a stranger takes an item: %v", err)
	}
	hello()
	if err := c.Deliver(t.Context(), "", []byte("nobody asked")); err != nil {
		t.Fatal(err)
	}
	foreign := fleet.Result{Item: fleet.Digest{1, 2, 3}}.Encode()
	for name, c2 := range map[string]struct {
		result  func(item []byte) []byte
		refused string
	}{
		"of another run": {func([]byte) []byte { return foreign }, ""},
		"no result":      {func([]byte) []byte { return []byte("RZX") }, "malformed"},
		"endless":        {func(item []byte) []byte { return endless(item) }, "accepted for this item: at most"},
	} {
		s = again(t, s, fleet.Exact)
		s.Announce(t.Context(), fleet.Policy{}) // whom the last case refused is let in again
		hello()
		drawn := make(chan struct{})
		go func() {
			defer close(drawn)
			item, err := c.Take(t.Context(), "")
			if err == nil {
				err = c.Deliver(t.Context(), "", c2.result(item))
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}()
		s.step(t)
		<-drawn
		s.step(t)
		n := s.fleet.Counts()
		s.mu.Lock()
		why := s.refused[a.Public()]
		s.mu.Unlock()
		if n.Answered > 0 || n.Dropped == 0 || (n.Refused > 0) != (c2.refused != "") || !strings.Contains(why, c2.refused) {
			t.Errorf("%s: %+v, refused for %q", name, n, why)
		}
	}
}

// endless begins like a result of the item and goes on far longer than one may.
func endless(item []byte) []byte {
	i, err := fleet.DecodeItem(item)
	if err != nil {
		panic(err)
	}
	return append(fleet.Result{Item: i.ID()}.Encode()[:36], bytes.Repeat([]byte{1}, i.MaxResultBytes()+2*partBytes)...)
}
