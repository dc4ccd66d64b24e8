package bus

import (
	"crypto/tls"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/rlzero/rlzero/internal/hint"
)

// embedded is a NATS server of this process. It keeps nothing.
type embedded struct {
	*server.Server
	options *server.Options
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

// startTime is how long a server may take to listen.
const startTime = 10 * time.Second

// embed starts a server on an address, host:port. Without keys it has to be loopback.
func embed(address, name string, key Key, allowed []string) (*embedded, error) {
	host, portText, err := net.SplitHostPort(address)
	port, portErr := strconv.ParseUint(portText, 10, 16)
	if err != nil || portErr != nil {
		return nil, hint.With(fmt.Errorf("address %q is not HOST:PORT", address), "write nats:HOST:PORT, such as nats:127.0.0.1:4222")
	}
	o := &server.Options{ServerName: "rlzero", Host: host, Port: int(port), NoLog: true, NoSigs: true, MaxPayload: 1 << 20, NoSystemAccount: true, MaxConn: maxConnections, MaxSubs: maxSubjects}
	if port == 0 {
		o.Port = server.RANDOM_PORT
	}
	if host == "" {
		o.Host = "0.0.0.0"
	}
	if key.pair == nil && !loopback(host) {
		return nil, hint.With(fmt.Errorf("address %s can be reached from other machines, and there are no keys", address),
			"give --key FILE, the key of this trainer, and --allow FILE, the public keys of the workers; rlzero worker --key-new FILE makes a key")
	}
	e := &embedded{options: o, name: name}
	if key.pair != nil {
		cert, err := key.certificate()
		if err != nil {
			return nil, err
		}
		o.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{cert}}
		o.TLSTimeout = startTime.Seconds()
		e.trainer = key.Public()
		e.permit(o, allowed)
		e.allowed = slices.Clone(allowed)
	}
	if e.Server, err = server.NewServer(o); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", net.JoinHostPort(o.Host, strconv.Itoa(max(o.Port, 0))))
	if err != nil { // the server itself would not say why it does not listen
		return nil, hint.With(fmt.Errorf("address %s: %w", address, err), "choose another port, or port 0 for any that is free")
	}
	l.Close()
	go e.Start()
	if !e.ReadyForConnections(startTime) {
		e.Shutdown()
		return nil, fmt.Errorf("the server did not listen on %s within %v", address, startTime)
	}
	return e, nil
}

// loopback says whether a host is this machine, for itself alone.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// permit lets the trainer do all and each worker what is its own.
func (e *embedded) permit(o *server.Options, allowed []string) {
	o.Nkeys = []*server.NkeyUser{{Nkey: e.trainer}}
	for _, key := range allowed {
		if key == e.trainer {
			continue
		}
		o.Nkeys = append(o.Nkeys, &server.NkeyUser{Nkey: key, Permissions: &server.Permissions{
			Publish:   &server.SubjectPermission{Allow: []string{request(e.name, key, ">")}},
			Subscribe: &server.SubjectPermission{Allow: []string{inbox(key) + ".>", say(e.name)}},
		}})
	}
}

// allow changes which workers are let in. Those that no longer are, are cut off.
func (e *embedded) allow(allowed []string) error {
	if e.trainer == "" || slices.Equal(allowed, e.allowed) {
		return nil
	}
	o := e.options.Clone()
	o.Port = e.Addr().(*net.TCPAddr).Port
	e.permit(o, allowed)
	if err := e.ReloadOptions(o); err != nil {
		return err
	}
	e.options, e.allowed = o, slices.Clone(allowed)
	return nil
}

// trim closes the newest connections of a key that has too many.
func (e *embedded) trim() error {
	if e.trainer == "" {
		return nil // all have the same name: none
	}
	open, err := e.Connz(&server.ConnzOptions{Username: true, Sort: server.ByCid, Limit: maxConnections})
	if err != nil {
		return err
	}
	has := map[string]int{}
	for _, c := range open.Conns {
		if has[c.AuthorizedUser]++; has[c.AuthorizedUser] > maxOfOneKey {
			_ = e.DisconnectClientByID(c.Cid) // it may have gone by itself
		}
	}
	return nil
}

// url is what a worker is given.
func (e *embedded) url() string {
	who := ""
	if e.trainer != "" {
		who = e.trainer + "@"
	}
	host := e.options.Host
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
