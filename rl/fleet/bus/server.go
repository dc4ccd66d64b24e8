package bus

import (
	"crypto/tls"
	"fmt"
	"net"
	"slices"
	"strconv"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/rl/fleet/bus/internal/natsd"
)

// embedded is a NATS server of this process.
type embedded struct {
	*natsd.Server
	host    string // on which it listens
	name    string
	trainer string // public key
	allowed []string
}

// Bounds on what those who were let in take of the server.
const (
	maxConnections = 1024 // together
	maxOfOneKey    = 8    // connections: a worker has one, and those that broke until it is noticed
	maxSubjects    = 16   // that a connection listens to: a worker to two
)

// embed starts a server on an address, host:port. Without keys it has to be loopback.
func embed(address, name string, key Key, allowed []string) (*embedded, error) {
	host, port, err := net.SplitHostPort(address)
	_, portErr := strconv.ParseUint(port, 10, 16)
	if err != nil || portErr != nil {
		return nil, hint.With(fmt.Errorf("address %q is not HOST:PORT", address), "write nats:HOST:PORT, such as nats:127.0.0.1:4222")
	}
	if host == "" {
		host = "0.0.0.0"
	}
	if key.pair == nil && !loopback(host) {
		return nil, hint.With(fmt.Errorf("address %s can be reached from other machines, and there are no keys", address),
			"give --key FILE, the key of this trainer, and --allow FILE, the public keys of the workers; rlzero worker --key-new FILE makes a key")
	}
	e := &embedded{host: host, name: name, trainer: key.Public(), allowed: slices.Clone(allowed)}
	o := natsd.Options{Name: "rlzero", Address: net.JoinHostPort(host, port), Connections: maxConnections, OfUser: maxOfOneKey, Subscriptions: maxSubjects}
	if key.pair != nil {
		cert, err := key.certificate()
		if err != nil {
			return nil, err
		}
		o.TLS = &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{cert}}
		o.Users = e.users(allowed)
	}
	if e.Server, err = natsd.Listen(o); err != nil {
		return nil, hint.With(fmt.Errorf("address %s: %w", address, err), "choose another port, or port 0 for any that is free")
	}
	return e, nil
}

// loopback says whether a host is this machine, for itself alone.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// users lets the trainer do all and each worker what is its own.
func (e *embedded) users(allowed []string) []natsd.User {
	users := []natsd.User{{Key: e.trainer, Publish: []string{">"}, Subscribe: []string{">"}}}
	for _, key := range allowed {
		if key != e.trainer {
			users = append(users, natsd.User{Key: key, Publish: []string{request(e.name, key, ">")}, Subscribe: []string{inbox(key) + ".>", say(e.name)}})
		}
	}
	return users
}

// allow changes which workers are let in. Those that no longer are, are cut off.
func (e *embedded) allow(allowed []string) {
	if e.trainer != "" && !slices.Equal(allowed, e.allowed) {
		e.SetUsers(e.users(allowed))
		e.allowed = slices.Clone(allowed)
	}
}

// url is what a worker is given.
func (e *embedded) url() string {
	who := ""
	if e.trainer != "" {
		who = e.trainer + "@"
	}
	host := e.host
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = outside(host)
	}
	return "nats://" + who + net.JoinHostPort(host, strconv.Itoa(e.Addr().(*net.TCPAddr).Port))
}

// outside is an address at which other machines reach this one; the given one if there is
// none.
func outside(host string) string {
	addresses, _ := net.InterfaceAddrs() // it is for people, who know theirs
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() && n.IP.To4() != nil {
			return n.IP.String()
		}
	}
	return host
}
