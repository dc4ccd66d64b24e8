package web

import (
	"cmp"
	"crypto/rand"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/hint"
)

// API says who may call an API, and how it is refused. Programs call it, so the token is
// no part of an address: requests carry it as "Authorization: Bearer TOKEN" or, as Anthropic's
// clients do, as "X-Api-Key: TOKEN".
type API struct {
	Hosts   []string // names under which the server is reached, besides its address and loopback's
	Origins []string // pages of others whose scripts may call, such as https://app.example
	Token   string   // "": none is needed on loopback, and beyond it one is made
	Free    []string // paths that are answered without the token
	Cert    string   // PEM files of TLS; "": none
	Key     string
	Refuse  func(w http.ResponseWriter, r *http.Request, status int, why string)
}

// ListenAPI opens an address for an API, host:port or unix:PATH. A socket in the file
// system is for whom its folder lets in: no host is checked there, and no token is made.
func ListenAPI(addr string, a API) (*Server, error) {
	if (a.Cert == "") != (a.Key == "") {
		return nil, fmt.Errorf("a certificate and its key go together: %q and %q are given", a.Cert, a.Key)
	}
	if a.Cert != "" {
		if _, err := tls.LoadX509KeyPair(a.Cert, a.Key); err != nil {
			return nil, hint.With(fmt.Errorf("certificate %s with key %s: %w", a.Cert, a.Key, err), "both are PEM files")
		}
	}
	for _, o := range a.Origins {
		if u, err := url.Parse(o); err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+u.Host != o {
			return nil, hint.With(fmt.Errorf("origin %q", o), "write scheme and host alone, such as https://app.example")
		}
	}
	if path, ok := strings.CutPrefix(addr, "unix:"); ok {
		l, err := net.Listen("unix", path)
		if err != nil {
			what := "if no server uses it any more, remove the file"
			if errors.Is(err, fs.ErrNotExist) {
				what = "make its folder first"
			}
			return nil, hint.With(fmt.Errorf("socket %s: %w", path, err), "%s", what)
		}
		return &Server{listener: l, token: a.Token, api: &a}, nil
	}
	s, err := listen(addr, &a)
	if err != nil {
		return nil, err
	}
	s.token = cmp.Or(a.Token, s.token)
	if s.hosts != nil {
		_, port, err := net.SplitHostPort(s.listener.Addr().String())
		if err != nil {
			return nil, err
		}
		for _, name := range a.Hosts {
			name = strings.ToLower(name)
			s.hosts = append(s.hosts, name, net.JoinHostPort(name, port))
		}
	}
	return s, nil
}

// Token is what requests have to carry; "": nothing.
func (s *Server) Token() string { return s.token }

// Open says whether the server answers other machines without TLS, so that tokens and
// texts can be read on the way.
func (s *Server) Open() bool { return s.beyond && s.api != nil && s.api.Cert == "" }

// Chance is a number below 2^53 that nobody can guess, for what has to differ each time:
// such numbers are written in JSON without loss.
func Chance() uint64 {
	var b [8]byte
	rand.Read(b[:]) // it never fails
	return binary.LittleEndian.Uint64(b[:]) >> 11
}

// gate lets a call of an API in or says why not.
func (s *Server) gate(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin := r.Header.Get("Origin")
		listed := slices.Contains(s.api.Origins, origin)
		if listed {
			header := w.Header()
			header.Set("Access-Control-Allow-Origin", origin)
			header.Set("Access-Control-Expose-Headers", "Retry-After, X-Request-Id, X-Rlzero-Ignored, X-Should-Retry")
			header.Add("Vary", "Origin, Access-Control-Request-Headers")
			header.Set("Cross-Origin-Resource-Policy", "cross-origin")
		}
		switch {
		case !s.hostKnown(r):
			s.api.Refuse(w, r, http.StatusForbidden, fmt.Sprintf("the host of the request, %q, is not an address of this server; --host adds a name", r.Host))
		case !listed && (origin != "" || r.Header.Get("Sec-Fetch-Site") == "cross-site"):
			s.api.Refuse(w, r, http.StatusForbidden, fmt.Sprintf("requests from web pages are not answered; found origin %q; --origin adds one", origin))
		case listed && r.Method == http.MethodOptions: // a browser asks whether it may
			header := w.Header()
			header.Set("Access-Control-Allow-Methods", "GET, POST")
			header.Set("Access-Control-Allow-Headers", cmp.Or(r.Header.Get("Access-Control-Request-Headers"), "Authorization, Content-Type")) // clients add their own, and none has a meaning here
			header.Set("Access-Control-Max-Age", "600")
			if r.Header.Get("Access-Control-Request-Private-Network") == "true" { // https://wicg.github.io/private-network-access/
				header.Set("Access-Control-Allow-Private-Network", "true")
			}
			w.WriteHeader(http.StatusNoContent)
		case s.token != "" && !slices.Contains(s.api.Free, r.URL.Path) && !s.carries(r):
			w.Header().Set("WWW-Authenticate", "Bearer")
			s.api.Refuse(w, r, http.StatusUnauthorized, "the token is missing or wrong; accepted: the header Authorization: Bearer TOKEN or X-Api-Key: TOKEN, with the server's token")
		default:
			h.ServeHTTP(w, r)
		}
	})
}

// carries says whether a request has the token.
func (s *Server) carries(r *http.Request) bool {
	if key := r.Header.Get("X-Api-Key"); key != "" && s.knows(key) {
		return true
	}
	kind, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.EqualFold(kind, "Bearer") && s.knows(strings.TrimSpace(token))
}
