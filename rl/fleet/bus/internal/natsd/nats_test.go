package natsd

import (
	"bytes"
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// certificate is one that nobody has signed.
func certificate(t *testing.T) tls.Certificate {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Unix(1<<33, 0)}
	der, err := x509.CreateCertificate(nil, form, form, public, private)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}
}

// TestClient: what the client library of NATS does with a server, it does with this one, with
// keys and TLS, without them, and from within the process.
func TestClient(t *testing.T) {
	t.Parallel()
	pair, public := newPair(t)
	locked := encrypts(t)
	locked.Users = []User{{Key: public, Publish: []string{">"}, Subscribe: []string{">"}}}
	locked.OfUser, locked.Subscriptions = 10, 10
	open := roomy
	open.Subscriptions = 10
	sign := nats.Nkey(public, pair.Sign)
	for name, c := range map[string]struct {
		opt    Options
		inside bool
		with   []nats.Option
	}{
		"open":         {open, false, nil},
		"open, inside": {open, true, nil},
		"keys and TLS": {locked, false, []nats.Option{sign, nats.Secure(&tls.Config{InsecureSkipVerify: true})}},
		"keys, inside": {locked, true, []nats.Option{sign}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := Listen(c.opt)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			connect := func(t *testing.T) *nats.Conn {
				t.Helper()
				with := c.with
				if c.inside {
					with = append(with[:len(with):len(with)], nats.InProcessServer(s))
				}
				nc, err := nats.Connect("nats://"+s.Addr().String(), append(with[:len(with):len(with)], nats.MaxReconnects(0), nats.Timeout(patience))...)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(nc.Close)
				return nc
			}
			requests(t, connect)
			features(t, connect)
		})
	}
	s, err := Listen(locked)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := nats.Connect("nats://"+s.Addr().String(), nats.Secure(&tls.Config{InsecureSkipVerify: true})); !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("without a key: %v", err)
	}
}

// requests are answered, many at once and of all sizes.
func requests(t *testing.T, connect func(*testing.T) *nats.Conn) {
	server := connect(t)
	if _, err := server.Subscribe("double.*", func(m *nats.Msg) { m.Respond(append(m.Data, m.Data...)) }); err != nil {
		t.Fatal(err)
	}
	if err := server.Flush(); err != nil {
		t.Fatal(err)
	}
	var asking sync.WaitGroup
	for who := range 4 {
		nc := connect(t)
		asking.Go(func() {
			for i, size := range []int{0, 1, 100, chunkBytes - 1, chunkBytes, chunkBytes + 1, 3 * chunkBytes, maxPayload / 2} {
				data := bytes.Repeat([]byte{byte(who), byte(i)}, size/2)
				m, err := nc.Request(fmt.Sprint("double.", who), data, patience)
				if err != nil || !bytes.Equal(m.Data, append(data, data...)) {
					t.Errorf("%d bytes: %v", size, err)
				}
			}
		})
	}
	asking.Wait()
}

// features are those that clients count on.
func features(t *testing.T, connect func(*testing.T) *nats.Conn) {
	nc := connect(t)
	if nc.MaxPayload() != maxPayload || nc.ConnectedServerName() != "test" || !nc.HeadersSupported() {
		t.Errorf("max payload %d, name %q, headers %t", nc.MaxPayload(), nc.ConnectedServerName(), nc.HeadersSupported())
	}
	if err := nc.Publish("a", make([]byte, maxPayload+1)); !errors.Is(err, nats.ErrMaxPayload) {
		t.Errorf("too large a message: %v", err)
	}
	if _, err := nc.Request("nobody", nil, patience); !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("nobody answers: %v", err)
	}
	sub, err := nc.SubscribeSync("two")
	if err == nil {
		err = sub.AutoUnsubscribe(2)
	}
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		m := nats.NewMsg("two")
		m.Header.Set("Number", fmt.Sprint(i))
		m.Data = make([]byte, i)
		if err := nc.PublishMsg(m); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 2 {
		m, err := sub.NextMsg(patience)
		if err != nil || m.Header.Get("Number") != fmt.Sprint(i) || len(m.Data) != i {
			t.Fatalf("message %d: %+v, %v", i, m, err)
		}
	}
	if _, err := nc.Request("two", nil, patience); !errors.Is(err, nats.ErrNoResponders) { // nobody is left
		t.Errorf("a subscription that has ended: %v", err)
	}
	last, err := nc.SubscribeSync("last")
	if err != nil {
		t.Fatal(err)
	}
	_ = nc.Publish("last", nil)
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := nc.Drain(); err != nil {
		t.Fatal(err)
	}
	if _, err := last.NextMsg(patience); err != nil {
		t.Errorf("what came before Drain: %v", err)
	}
	closed := make(chan error, 1)
	nc = connect(t)
	nc.SetClosedHandler(func(nc *nats.Conn) { closed <- nc.LastError() })
	if _, err := nc.QueueSubscribeSync("a", "group"); err != nil {
		t.Fatal(err)
	}
	if err := <-closed; err == nil || !strings.Contains(err.Error(), string(queueGroup)) {
		t.Errorf("a queue group: %v", err)
	}
}
