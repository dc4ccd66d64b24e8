package bus

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
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

// raw is a connection with a worker's key, and what the server complained of last. A
// complaint comes before the answer to a Flush, so nothing here waits for the clock.
func raw(t *testing.T, s *site, k Key) (nc *nats.Conn, complaint func() string) {
	t.Helper()
	d := Door{URL: s.URL(), Key: k}
	p, err := d.place()
	if err != nil {
		t.Fatal(err)
	}
	nc, err = d.connect(p, k.Public(), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc, func() string {
		t.Helper()
		if err := nc.Flush(); err != nil {
			t.Fatal(err)
		}
		return strings.ToLower(fmt.Sprint(nc.LastError()))
	}
}

// TestPermissions: a worker can neither speak in another's name nor hear what is another's.
func TestPermissions(t *testing.T) {
	t.Parallel()
	s, a, b, _ := guarded(t)
	nc, complaint := raw(t, s, a)
	for _, subject := range []string{request("run", b.Public(), verbPart), request("run", s.opt.Door.Key.Public(), verbWho), say("run"), inbox(b.Public()) + ".x", "rl.other." + a.Public() + ".take"} {
		nc.Publish(subject, nil)
		if text := complaint(); !strings.Contains(text, strings.ToLower(`permissions violation for publish to "`+subject)) {
			t.Errorf("a worker publishes on %s: %q", subject, text)
		}
	}
	for _, subject := range []string{">", "rl.>", request("run", "*", "*"), inbox(b.Public()) + ".>", "_INBOX.>"} {
		sub, err := nc.SubscribeSync(subject)
		if err != nil {
			t.Fatal(err)
		}
		if text := complaint(); !strings.Contains(text, strings.ToLower(`permissions violation for subscription to "`+subject)) {
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
	if testing.Short() {
		t.Skip("-short: waits for connections that are refused")
	}
	t.Parallel()
	s, a, b, allow := guarded(t)
	for name, k := range map[string]Key{"no key": {}, "another key": newKey(t)} {
		if err := (Worker{Door: Door{URL: s.URL(), Key: k}, Card: card}).Work(t.Context()); !errors.Is(err, ErrShut) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, address, _ := strings.Cut(s.URL(), "@")
	if err := (Worker{Door: Door{URL: "nats://" + b.Public() + "@" + address, Key: a}, Card: card}).Work(t.Context()); !errors.Is(err, errOtherServer) {
		t.Errorf("another server: %v", err)
	}
	far := place{server: "nats://" + address, host: "far.example"}
	if nc, err := (Door{Key: a}).connect(far, a.Public()); !errors.Is(err, ErrShut) || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a certificate of no authority: %v, %v", nc, err)
	}
	open, err := embed(anyPort, defaultName, Key{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	for name, p := range map[string]place{"a pinned server": {server: open.url(), pin: b.Public(), host: "localhost"}, "a far server": {server: open.url(), host: "far.example"}} {
		if nc, err := (Door{}).connect(p, a.Public()); !errors.Is(err, ErrShut) {
			t.Errorf("%s that does not encrypt: %v, %v", name, nc, err)
		}
	}
	for _, address := range []string{"0.0.0.0:0", ":0", "192.0.2.1:0", "[::]:0", "example.com:0"} {
		if _, err := embed(address, defaultName, Key{}, nil); err == nil || !strings.Contains(err.Error(), "there are no keys") {
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
	case <-time.After(patience):
		t.Error("a revoked worker is still there")
	}
	s.joins(t, 1)
	s.step(t)
}

// TestClock: the clocks of trainer and worker may be apart, as no date in a certificate counts.
func TestClock(t *testing.T) {
	t.Parallel()
	s, a, _, _ := guarded(t)
	for _, apart := range []time.Duration{-time.Hour, time.Hour, -100 * 365 * 24 * time.Hour, 250 * 365 * 24 * time.Hour} {
		config := pinned(s.place.pin)
		config.Time = func() time.Time { return time.Now().Add(apart) }
		nc, err := (Door{Key: a}).connect(s.place, a.Public(), nats.Secure(config))
		if err != nil {
			t.Errorf("clocks that are %v apart: %v", apart, err)
			continue
		}
		if s := nc.ConnectedServerName(); s == "" {
			t.Errorf("clocks that are %v apart: there is no server", apart)
		}
		nc.Close()
	}
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
		if _, err := c.ask(t.Context(), verbHello, []byte(`{"release":"1.0","numerics":"2","drafts":true}`), replyWait); err != nil {
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
	sending := func(result []byte) func([]byte) error {
		return func([]byte) error { return c.Deliver(t.Context(), "", result) }
	}
	for name, c2 := range map[string]struct {
		answer  func(item []byte) error
		refused string
	}{
		"of another run": {sending(fleet.Result{Item: fleet.Digest{1, 2, 3}}.Encode()), ""},
		"no result":      {sending([]byte("RZX")), "malformed"},
		"no part":        {func([]byte) error { _, err := c.ask(t.Context(), verbPart, []byte("x"), replyWait); return err }, "malformed"},
		"endless":        {func(item []byte) error { return endless(t.Context(), c, item) }, "accepted for this item: at most"},
	} {
		s = again(t, s, fleet.Exact)
		s.Announce(t.Context(), fleet.Policy{}) // whom the last case refused is let in again
		hello()
		drawn := make(chan struct{})
		go func() {
			defer close(drawn)
			item, err := c.Take(t.Context(), "")
			if err == nil {
				err = c2.answer(item)
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
		why := s.policy.Refused[a.Public()]
		s.mu.Unlock()
		if n.Answered > 0 || n.Dropped == 0 || (n.Refused > 0) != (c2.refused != "") || !strings.Contains(why, c2.refused) {
			t.Errorf("%s: %+v, refused for %q", name, n, why)
		}
	}
}

// endless sends what begins like a result of the item, and never says that it is whole.
func endless(ctx context.Context, c *client, item []byte) error {
	i, err := fleet.DecodeItem(item)
	if err != nil {
		return err
	}
	data := append(fleet.Result{Item: i.ID()}.Encode()[:36], make([]byte, i.MaxResultBytes()+2*partBytes)...)
	for offset := 0; offset < len(data); offset += partBytes {
		part := encodePart(data, offset)
		binary.LittleEndian.PutUint64(part, maxBytes)
		if _, err := c.ask(ctx, verbPart, part, replyWait); err != nil {
			return err
		}
	}
	return nil
}

// TestCrowd: one worker takes neither all connections of the server nor endless
// subscriptions.
func TestCrowd(t *testing.T) {
	t.Parallel()
	s, a, b, _ := guarded(t)
	var mine []*nats.Conn
	for range maxOfOneKey {
		nc, _ := raw(t, s, a)
		mine = append(mine, nc)
	}
	for range 5 {
		if nc, err := (Door{Key: a}).connect(s.place, a.Public()); err == nil || !strings.Contains(err.Error(), "Maximum Connections Exceeded") {
			t.Errorf("one connection too many: %v, %v", nc, err)
		}
	}
	for _, nc := range mine {
		if err := nc.Flush(); err != nil {
			t.Error(err)
		}
	}
	nc, complaint := raw(t, s, b)
	for i := range maxSubjects + 1 {
		if _, err := nc.SubscribeSync(fmt.Sprintf("%s.%d", inbox(b.Public()), i)); err != nil {
			t.Fatal(err)
		}
	}
	if text := complaint(); !strings.Contains(text, "maximum subscriptions exceeded") {
		t.Errorf("%d subscriptions: %q", maxSubjects+1, text)
	}
}

// TestReload: a server lets in those whom it allows now, and cuts off those whom it no longer
// allows.
func TestReload(t *testing.T) {
	t.Parallel()
	a, b := newKey(t), newKey(t)
	e, err := embed(anyPort, defaultName, newKey(t), []string{a.Public()})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	d := Door{URL: e.url(), Key: a}
	p, err := d.place()
	if err != nil {
		t.Fatal(err)
	}
	cut := make(chan error, 1)
	nc, err := d.connect(p, a.Public(), nats.DisconnectErrHandler(func(_ *nats.Conn, err error) { cut <- err }))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	e.allow([]string{b.Public()})
	<-cut
	if err := (Worker{Door: d, Card: card}).Work(t.Context()); !errors.Is(err, ErrShut) {
		t.Errorf("a key that is no longer allowed: %v", err)
	}
	nc, err = Door{Key: b}.connect(p, b.Public())
	if err != nil {
		t.Fatal(err)
	}
	nc.Close()
}

// TestLengths: a worker takes no more from a trainer than a spec or its model's weights
// may have.
func TestLengths(t *testing.T) {
	t.Parallel()
	s, key, _, _ := guarded(t)
	s.Serve(make([]byte, 2*partBytes))
	nc, _ := raw(t, s, key)
	c := &client{nc: nc, place: s.place, name: key.Public()}
	id, err := c.hello(t.Context(), []byte(`{"release":"1.0","drafts":true,"system":"linux/amd64","arithmetic":"paper","numerics":"2"}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.fetch(t.Context(), id, 2*partBytes-1); err == nil || !strings.Contains(err.Error(), "accepts at most") {
		t.Errorf("too large a spec: %v", err)
	}
	if data, err := c.fetch(t.Context(), id, 2*partBytes); err != nil || len(data) != 2*partBytes {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}
