package natsd

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/nats-io/nkeys"
)

func newPair(t *testing.T) (pair nkeys.KeyPair, public string) {
	t.Helper()
	pair, err := nkeys.CreateUser()
	if err == nil {
		public, err = pair.PublicKey()
	}
	if err != nil {
		t.Fatal(err)
	}
	return pair, public
}

// nonceOf is a client that has not connected, and what it shall sign.
func nonceOf(t *testing.T, s *Server) (k *talker, nonce string) {
	t.Helper()
	near, far := net.Pipe()
	if !s.take(far, false) {
		t.Fatal("the server takes no connection")
	}
	k = talksTo(t, near)
	var info struct {
		Nonce string
		Auth  bool `json:"auth_required"`
	}
	line := k.line()
	if err := json.Unmarshal([]byte(strings.TrimPrefix(line, "INFO ")), &info); err != nil || !info.Auth || len(info.Nonce) < 16 {
		t.Fatalf("%q: %v", line, err)
	}
	return k, info.Nonce
}

// enter says CONNECT with a signature.
func (k *talker) enter(pair nkeys.KeyPair, public, nonce string) {
	k.t.Helper()
	k.signs(pair, public, nonce, base64.RawURLEncoding)
}

func (k *talker) signs(pair nkeys.KeyPair, public, nonce string, form *base64.Encoding) {
	k.t.Helper()
	signature, err := pair.Sign([]byte(nonce))
	if err != nil {
		k.t.Fatal(err)
	}
	k.say(fmt.Sprintf("CONNECT {\"verbose\":false,\"nkey\":%q,\"sig\":%q}\r\n", public, form.EncodeToString(signature)))
}

// TestUsers: who comes in, and what it may do then.
func TestUsers(t *testing.T) {
	t.Parallel()
	pair, public := newPair(t)
	other, otherPublic := newPair(t)
	o := roomy
	o.Users = []User{{Key: public, Publish: []string{"a.>", "x"}, Subscribe: []string{"b.*"}}}
	s := newServer(o, usual)
	old, oldNonce := nonceOf(t, s)
	for name, c := range map[string]func(k *talker, nonce string){
		"no key":           func(k *talker, _ string) { k.say(quiet) },
		"no signature":     func(k *talker, _ string) { k.say(fmt.Sprintf("CONNECT {\"nkey\":%q}\r\n", public)) },
		"another's key":    func(k *talker, nonce string) { k.enter(other, public, nonce) },
		"an unknown key":   func(k *talker, nonce string) { k.enter(other, otherPublic, nonce) },
		"another's nonce":  func(k *talker, _ string) { k.enter(pair, public, oldNonce) },
		"no base64":        func(k *talker, _ string) { k.say(fmt.Sprintf("CONNECT {\"nkey\":%q,\"sig\":\"?\"}\r\n", public)) },
		"a key of nothing": func(k *talker, nonce string) { k.enter(pair, "U", nonce) },
	} {
		k, nonce := nonceOf(t, s)
		if nonce == oldNonce {
			t.Error("a nonce is used twice")
		}
		t.Log(name)
		c(k, nonce)
		k.hearsEnd(complaint(unauthorized))
	}
	old.signs(pair, public, oldNonce, base64.StdEncoding)
	for _, subject := range []string{"b.c", "b.*"} {
		old.say("SUB " + subject + " " + subject + "\r\n")
		old.here()
	}
	for _, subject := range []string{"b", "b.>", ">", "*.c", "*.*", "b.c.d", "a.b"} {
		old.say("SUB " + subject + " 1\r\n")
		old.hears(complaint(objection(`Permissions Violation for Subscription to "` + subject + `"`)))
	}
	for _, subject := range []string{"a.b", "a.b.c", "x"} {
		old.say("PUB " + subject + " 0\r\n\r\n")
		old.here()
	}
	for _, subject := range []string{"a", "b.c", "y", "x.y"} {
		old.say("PUB " + subject + " 0\r\n\r\n")
		old.hears(complaint(objection(`Permissions Violation for Publish to "` + subject + `"`)))
	}
	for range o.OfUser - 1 {
		k, nonce := nonceOf(t, s)
		k.enter(pair, public, nonce)
		k.here()
	}
	k, nonce := nonceOf(t, s)
	k.enter(pair, public, nonce)
	k.hearsEnd(complaint(crowded))
	old.Close()
	for came := false; !came; { // the server has to see that it has gone
		k, nonce := nonceOf(t, s)
		k.enter(pair, public, nonce)
		k.say("PING\r\n")
		came = k.line() == "PONG\r\n"
	}
}

// TestSetUsers: those who are no longer let in are told and closed, and nothing that they say
// then is done; those who may do other things come again; the others notice nothing.
func TestSetUsers(t *testing.T) {
	t.Parallel()
	o := roomy
	var pairs []nkeys.KeyPair
	for range 3 {
		pair, public := newPair(t)
		pairs = append(pairs, pair)
		o.Users = append(o.Users, User{Key: public, Publish: []string{"a"}, Subscribe: []string{"a"}})
	}
	s := newServer(o, usual)
	enter := func(i int) *talker {
		k, nonce := nonceOf(t, s)
		k.enter(pairs[i], o.Users[i].Key, nonce)
		return k
	}
	gone, changed, same := enter(0), enter(1), enter(2)
	same.say("SUB a 1\r\n")
	for _, k := range []*talker{gone, changed, same} {
		k.here()
	}
	users := []User{o.Users[1], o.Users[2]}
	users[0].Publish = []string{"b"}
	s.SetUsers(users)
	for _, k := range []*talker{gone, changed} {
		go func() { _, _ = k.Write([]byte("PUB a 4\r\nlate\r\n")) }()
		k.hearsEnd(complaint(unauthorized))
	}
	same.say("PUB a 4\r\nmine\r\n")
	same.hears("MSG a 1 4\r\nmine\r\n")
	again := enter(0)
	again.hearsEnd(complaint(unauthorized))
	again = enter(1)
	again.say("PUB b 0\r\n\r\n")
	again.here()
}
