package bus

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/rlzero/rlzero/internal/hint"
)

// Door is what a connection to a server needs.
type Door struct {
	URL string // nats://[TRAINER-KEY@]HOST:PORT[/NAME]
	Key Key    // of whoever connects; zero: none
	CA  []byte // PEM: the authorities of an external server's certificate; nil: those of the system
}

// place is a URL, taken apart.
type place struct {
	server, name string
	pin          string // public key of the server
	host         string
}

func (d Door) place() (place, error) {
	u, err := url.Parse(d.URL)
	if err == nil && (u.Scheme != "nats" && u.Scheme != "tls" || u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "") {
		err = errors.New("it is not of the form nats://HOST:PORT")
	}
	if err != nil {
		return place{}, fmt.Errorf("address %q: %w", d.URL, err)
	}
	p := place{server: "nats://" + u.Host, name: strings.Trim(u.Path, "/"), host: u.Hostname()}
	if p.name == "" {
		p.name = defaultName
	}
	if strings.ContainsAny(p.name, ".*> \t/") {
		return place{}, fmt.Errorf("address %q: the name of the fleet, %q, has one of . * > / or a space", d.URL, p.name)
	}
	if u.User != nil {
		if p.pin = u.User.Username(); !nkeys.IsValidPublicUserKey(p.pin) {
			return place{}, fmt.Errorf("address %q: %q is not the public key of a trainer", d.URL, p.pin)
		}
	}
	return p, nil
}

// connect reaches a server. Beyond loopback the connection is encrypted, or is none.
func (d Door) connect(p place, own string, more ...nats.Option) (*nats.Conn, error) {
	o := []nats.Option{nats.Name("rlzero"), nats.CustomInboxPrefix(inbox(own)), nats.MaxReconnects(-1), nats.ReconnectWait(250 * time.Millisecond),
		nats.ReconnectBufSize(-1), nats.PingInterval(replyWait), nats.MaxPingsOutstanding(2), nats.IgnoreDiscoveredServers(), nats.Timeout(replyWait),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})} // else they go to standard error; requests fail by themselves
	if d.Key.pair != nil {
		o = append(o, nats.Nkey(d.Key.Public(), d.Key.pair.Sign))
	}
	switch {
	case p.pin != "":
		o = append(o, nats.Secure(pinned(p.pin)))
	case !loopback(p.host) || d.CA != nil:
		config := &tls.Config{MinVersion: tls.VersionTLS12}
		if d.CA != nil {
			config.RootCAs = x509.NewCertPool()
			if !config.RootCAs.AppendCertsFromPEM(d.CA) {
				return nil, errors.New("the file of --tls-ca has no certificate in PEM")
			}
		}
		o = append(o, nats.Secure(config))
	}
	nc, err := nats.Connect(p.server, append(o, more...)...)
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &certificate):
		err = hint.With(fmt.Errorf("%w: the certificate of the server at %s: %w", ErrShut, p.server, certificate.Err),
			"use the whole address that rlzero train printed, with the trainer's key before the @; for an external server, --tls-ca names the file of its authority")
	case errors.Is(err, nats.ErrAuthorization):
		err = hint.With(fmt.Errorf("%w: the server at %s does not accept the key of this machine", ErrShut, p.server),
			"--key FILE names the key; its public half has to be in the trainer's file of --allow")
	case errors.Is(err, nats.ErrNkeysNotSupported):
		err = hint.With(fmt.Errorf("%w: the server at %s knows no keys", ErrShut, p.server), "leave out --key, or start the trainer with --key and --allow")
	case errors.Is(err, nats.ErrSecureConnWanted):
		err = fmt.Errorf("%w: the server at %s does not encrypt, and it is on another machine", ErrShut, p.server)
	}
	return nc, err
}

// ErrShut: a server does not let this machine in, or is not one to talk to, and trying
// again is of no use.
var ErrShut = errors.New("no connection")
