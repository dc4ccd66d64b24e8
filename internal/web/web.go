package web

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/rlzero/rlzero/internal/hint"
)

// Default is where a server listens if nothing else is asked for: a free port.
const Default = "127.0.0.1:0"

// policy is the Content-Security-Policy of every reply.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Limits of a connection. A reply may take any time: events stay open.
const (
	headerTime  = 10 * time.Second
	idleTime    = 2 * time.Minute
	closingTime = 2 * time.Second
	headerBytes = 16 << 10
)

// Server is an address that is listened on.
type Server struct {
	listener net.Listener
	hosts    []string // that a request may name; nil: any
	token    string   // "": none is needed
	beyond   bool     // others than this machine can connect
	api      *API     // nil: a page
}

// Listen opens an address for a page, host:port. Port 0 is any free one.
func Listen(addr string) (*Server, error) { return listen(addr, nil) }

func listen(addr string, api *API) (*Server, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, hint.With(fmt.Errorf("address %q: %w", addr, err), "write HOST:PORT, such as 127.0.0.1:8080")
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, hint.With(fmt.Errorf("address %s: %w", addr, err), "choose another port, or port 0 for any that is free")
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	s := &Server{listener: l, api: api}
	for _, name := range []string{host, "127.0.0.1", "localhost", "::1"} {
		s.hosts = append(s.hosts, net.JoinHostPort(name, port))
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		s.beyond, s.token = true, rand.Text()
		s.hosts = nil // beyond loopback, the token decides: a host has many names
	}
	return s, nil
}

// URL is the link that opens the server's first page, or the address of an API.
func (s *Server) URL() string {
	if s.listener.Addr().Network() == "unix" {
		return "unix:" + s.listener.Addr().String()
	}
	scheme := "http://"
	if s.api != nil && s.api.Cert != "" {
		scheme = "https://"
	}
	u := scheme + s.listener.Addr().String() + "/"
	if s.token != "" && s.api == nil {
		u += "?token=" + s.token
	}
	return u
}

// Serve answers requests until the context ends, and theirs with it. It closes the
// address.
func (s *Server) Serve(ctx context.Context, h http.Handler) error {
	srv := &http.Server{Handler: s.enter(h), ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: headerBytes,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(closed)
		closing, done := context.WithTimeout(context.WithoutCancel(ctx), closingTime)
		defer done()
		if srv.Shutdown(closing) != nil {
			srv.Close()
		}
	})
	defer stop()
	serve := func() error { return srv.Serve(s.listener) }
	if s.api != nil && s.api.Cert != "" {
		serve = func() error { return srv.ServeTLS(s.listener, s.api.Cert, s.api.Key) }
	}
	if err := serve(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	<-closed // requests have ended, or were given up
	return nil
}

// Close closes an address that is not served.
func (s *Server) Close() error { return s.listener.Close() }

// cookie holds the token in a browser.
const cookie = "rlzero"

// enter is the way through the door of a page, or of an API.
func (s *Server) enter(h http.Handler) http.Handler {
	door := s.door(h)
	if s.api != nil {
		door = s.gate(h)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", policy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Cache-Control", "no-cache")
		door.ServeHTTP(w, r)
	})
}

// hostKnown says whether a request names this server.
func (s *Server) hostKnown(r *http.Request) bool {
	host, port := strings.ToLower(r.Host), "80"
	if r.TLS != nil {
		port = "443"
	}
	// A request leaves out the port that its scheme has of its own.
	return s.hosts == nil || slices.Contains(s.hosts, host) || slices.Contains(s.hosts, net.JoinHostPort(strings.Trim(host, "[]"), port))
}

// door lets a request for a page in or says why not.
func (s *Server) door(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "method "+r.Method+" is not accepted: everything here is read only", http.StatusMethodNotAllowed)
		case !s.hostKnown(r):
			http.Error(w, "the host of the request is not an address of this server", http.StatusForbidden)
		case !ownOrigin(r):
			http.Error(w, "requests from other web pages are not answered", http.StatusForbidden)
		case s.token == "":
			h.ServeHTTP(w, r)
		case s.knows(r.URL.Query().Get("token")):
			http.SetCookie(w, &http.Cookie{Name: cookie, Value: s.token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
			http.Redirect(w, r, r.URL.Path, http.StatusSeeOther)
		default:
			if c, err := r.Cookie(cookie); err != nil || !s.knows(c.Value) {
				http.Error(w, "open the link that the program printed: it holds the token", http.StatusUnauthorized)
				return
			}
			h.ServeHTTP(w, r)
		}
	})
}

func (s *Server) knows(token string) bool {
	return subtle.ConstantTimeCompare([]byte(token), []byte(s.token)) == 1
}

// ownOrigin says whether a request comes from a page of the same host, or from none.
func ownOrigin(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" && r.Header.Get("Sec-Fetch-Mode") != "navigate" {
		return false
	}
	origin := r.Header.Get("Origin")
	return origin == "" || origin == "http://"+r.Host
}
