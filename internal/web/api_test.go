package web

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func refuse(w http.ResponseWriter, _ *http.Request, status int, why string) {
	http.Error(w, why, status)
}

func listeningAPI(t *testing.T, addr string, a API) *Server {
	t.Helper()
	a.Refuse = refuse
	s, err := ListenAPI(addr, a)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestGate(t *testing.T) {
	s := listeningAPI(t, Default, API{Hosts: []string{"Box.example"}, Origins: []string{"https://app.example"}})
	_, port, _ := net.SplitHostPort(s.listener.Addr().String())
	from := func(origin string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Origin", origin) }
	}
	named := func(host string) func(*http.Request) { return func(r *http.Request) { r.Host = host } }
	for _, c := range []struct {
		name, method string
		change       func(*http.Request)
		want         int
	}{
		{"a program", "POST", nil, 200},
		{"any method is the handler's", "DELETE", nil, 200},
		{"rebound name", "POST", named("evil.example:" + port), 403},
		{"another port", "POST", named("localhost:1"), 403},
		{"named host", "POST", named("box.example:" + port), 200},
		{"named host of a proxy", "POST", named("BOX.example"), 200},
		{"a page", "POST", from("https://evil.example"), 403},
		{"a page of this host", "POST", func(r *http.Request) { r.Header.Set("Origin", "http://"+r.Host) }, 403},
		{"no origin's page", "POST", from("null"), 403},
		{"an image on a page", "GET", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, 403},
		{"named page", "POST", from("https://app.example"), 200},
		{"named page under a name that is not known", "POST", func(r *http.Request) {
			r.Header.Set("Origin", "https://app.example")
			r.Host = "evil.example"
		}, 403},
		{"a browser asks for a named page", "OPTIONS", from("https://app.example"), 204},
		{"a browser asks for another page", "OPTIONS", from("https://evil.example"), 403},
	} {
		got := answered(t, s, c.method, "/", c.change)
		allowed := got.Header.Get("Access-Control-Allow-Origin")
		if got.StatusCode != c.want || strings.Contains(c.name, "named page") != (allowed == "https://app.example") {
			t.Errorf("%s: status %d, want %d, headers %v", c.name, got.StatusCode, c.want, got.Header)
		}
	}
	if s.Token() != "" || s.Open() {
		t.Error("loopback needs a token")
	}
}

// TestHostWithoutPort: a request leaves out the port that its scheme has of its own.
func TestHostWithoutPort(t *testing.T) {
	for _, c := range []struct {
		port, host string
		tls, want  bool
	}{
		{"80", "localhost", false, true}, {"80", "localhost:80", false, true}, {"80", "[::1]", false, true}, {"80", "LOCALHOST", false, true},
		{"443", "localhost", true, true}, {"443", "localhost", false, false}, {"80", "localhost", true, false},
		{"8080", "localhost", false, false}, {"80", "evil.example", false, false},
	} {
		s := &Server{hosts: []string{"localhost:" + c.port, "[::1]:" + c.port}}
		r := &http.Request{Host: c.host}
		if c.tls {
			r.TLS = &tls.ConnectionState{}
		}
		if got := s.hostKnown(r); got != c.want {
			t.Errorf("port %s, host %s, TLS %v: %v", c.port, c.host, c.tls, got)
		}
	}
}

// TestPreflight: a browser is told all that the script of a named page may do.
func TestPreflight(t *testing.T) {
	s, err := ListenAPI(Default, API{Origins: []string{"https://app.example"}, Refuse: func(w http.ResponseWriter, _ *http.Request, status int, _ string) { w.WriteHeader(status) }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodOptions, s.URL(), nil)
	r.Header.Set("Origin", "https://app.example")
	r.Header.Set("Access-Control-Request-Headers", "authorization,x-stainless-os")
	r.Header.Set("Access-Control-Request-Private-Network", "true")
	s.gate(http.NotFoundHandler()).ServeHTTP(w, r)
	for name, want := range map[string]string{
		"Access-Control-Allow-Headers": "authorization,x-stainless-os", "Access-Control-Allow-Methods": "GET, POST", "Access-Control-Max-Age": "600",
		"Access-Control-Allow-Private-Network": "true", "Access-Control-Allow-Origin": "https://app.example", "Vary": "Origin, Access-Control-Request-Headers",
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if w.Code != http.StatusNoContent {
		t.Error(w.Code)
	}
}

// TestBearer: a token that is given, and one that is made beyond loopback, have to be
// carried, but for paths that are free; from an unknown host those are refused too.
func TestBearer(t *testing.T) {
	free := []string{"/health"}
	for _, s := range []*Server{listeningAPI(t, Default, API{Token: "a-given-token", Free: free}), listeningAPI(t, "0.0.0.0:0", API{Origins: []string{"https://app.example"}, Free: free})} {
		key := func(text string) func(*http.Request) {
			return func(r *http.Request) { r.Header.Set("X-Api-Key", text) }
		}
		for text, want := range map[string]int{"": 401, "x": 401, s.Token(): 200, "Bearer " + s.Token(): 401} {
			if got := answered(t, s, "POST", "/", key(text)); got.StatusCode != want {
				t.Errorf("key %q: %d, want %d", text, got.StatusCode, want)
			}
		}
		for path, want := range map[string]int{"/health": 200, "/health/": 401, "/healthy": 401} {
			if got := answered(t, s, "GET", path, nil); got.StatusCode != want {
				t.Errorf("%s without a token: %d, want %d", path, got.StatusCode, want)
			}
		}
		bearer := func(text string) func(*http.Request) {
			return func(r *http.Request) { r.Header.Set("Authorization", text) }
		}
		for text, want := range map[string]int{"": 401, "Bearer": 401, "Bearer x": 401, "Basic " + s.Token(): 401, "Bearer " + s.Token(): 200, "bearer  " + s.Token(): 200, "Bearer " + s.Token()[1:]: 401} {
			if got := answered(t, s, "POST", "/", bearer(text)); got.StatusCode != want {
				t.Errorf("%q: %d, want %d", text, got.StatusCode, want)
			}
		}
		if got := answered(t, s, "GET", "/?token="+s.Token(), nil); got.StatusCode != 401 {
			t.Errorf("a token in the address: %d", got.StatusCode)
		}
		if strings.Contains(s.URL(), s.Token()) || len(s.Token()) < 13 {
			t.Errorf("address %s, token %s", s.URL(), s.Token())
		}
	}
	s := listeningAPI(t, Default, API{Token: "a-given-token", Free: free})
	if got := answered(t, s, "GET", "/health", func(r *http.Request) { r.Host = "evil.example" }); got.StatusCode != 403 {
		t.Errorf("a free path under another host's name: %d", got.StatusCode)
	}
	if !listeningAPI(t, "0.0.0.0:0", API{}).Open() {
		t.Error("an address beyond loopback without TLS is open")
	}
}

// TestTLS: with a certificate the server speaks HTTPS, and nothing else.
func TestTLS(t *testing.T) {
	dir := t.TempDir()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	card := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, card, card, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	a := API{Cert: filepath.Join(dir, "cert"), Key: filepath.Join(dir, "key"), Refuse: refuse}
	for file, block := range map[string]*pem.Block{a.Cert: {Type: "CERTIFICATE", Bytes: der}, a.Key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := listeningAPI(t, Default, a)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		done <- s.Serve(ctx, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "inside") }))
	}()
	known := x509.NewCertPool()
	known.AppendCertsFromPEM(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: known}}}
	got, err := client.Get(s.URL())
	if err != nil || got.StatusCode != 200 || !strings.HasPrefix(s.URL(), "https://") || s.Open() {
		t.Fatalf("%v %v", got, err)
	}
	got.Body.Close()
	client.CloseIdleConnections()
	if got, err := http.Get(strings.Replace(s.URL(), "https", "http", 1)); err == nil && got.StatusCode == 200 {
		t.Error("the server answers without TLS")
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestSocketFile: a socket in the file system, for whom its folder lets in.
func TestSocketFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	s := listeningAPI(t, "unix:"+path, API{})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		done <- s.Serve(ctx, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "inside") }))
	}()
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}}
	got, err := client.Get("http://any/")
	if err != nil || got.StatusCode != 200 || s.URL() != "unix:"+path {
		t.Fatalf("%v %v %s", got, err, s.URL())
	}
	got.Body.Close()
	client.CloseIdleConnections()
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the socket is still there")
	}
}

func TestBadAPI(t *testing.T) {
	taken := listeningAPI(t, Default, API{})
	for name, c := range map[string]struct {
		addr string
		api  API
		says string
	}{
		"port in use":      {taken.listener.Addr().String(), API{}, "address already in use"},
		"no port":          {"localhost", API{}, "address"},
		"no such folder":   {"unix:" + filepath.Join(t.TempDir(), "no", "socket"), API{}, "socket"},
		"key alone":        {Default, API{Key: "key"}, "go together"},
		"no certificate":   {Default, API{Cert: "cert", Key: "key"}, "certificate cert"},
		"origin with path": {Default, API{Origins: []string{"https://app.example/x"}}, "origin"},
		"origin, no URL":   {Default, API{Origins: []string{"*"}}, "origin"},
	} {
		if s, err := ListenAPI(c.addr, c.api); err == nil || !strings.Contains(fmt.Sprint(err), c.says) {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
}

func TestChance(t *testing.T) {
	a, b := Chance(), Chance()
	if a == b || a >= 1<<53 || b >= 1<<53 {
		t.Errorf("%d, %d", a, b)
	}
}
