package web

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// answered is the reply of a server's door to a request.
func answered(t *testing.T, s *Server, method, target string, change func(*http.Request)) *http.Response {
	t.Helper()
	r := httptest.NewRequest(method, target, nil)
	r.Host = s.listener.Addr().String()
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	s.enter(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "inside") })).ServeHTTP(w, r)
	return w.Result()
}

func listening(t *testing.T, addr string) *Server {
	t.Helper()
	s, err := Listen(addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestDoor(t *testing.T) {
	s := listening(t, Default)
	_, port, _ := net.SplitHostPort(s.listener.Addr().String())
	for _, c := range []struct {
		name, method string
		change       func(*http.Request)
		want         int
	}{
		{"own address", "GET", nil, 200},
		{"localhost", "HEAD", func(r *http.Request) { r.Host = "LOCALHOST:" + port }, 200},
		{"IPv6", "GET", func(r *http.Request) { r.Host = "[::1]:" + port }, 200},
		{"rebound name", "GET", func(r *http.Request) { r.Host = "evil.example:" + port }, 403},
		{"another port", "GET", func(r *http.Request) { r.Host = "localhost:1" }, 403},
		{"no port", "GET", func(r *http.Request) { r.Host = "localhost" }, 403},
		{"own page", "GET", func(r *http.Request) { r.Header.Set("Origin", "http://"+r.Host) }, 200},
		{"other page", "GET", func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }, 403},
		{"no origin's page", "GET", func(r *http.Request) { r.Header.Set("Origin", "null") }, 403},
		{"other site's image", "GET", func(r *http.Request) {
			r.Header.Set("Sec-Fetch-Site", "cross-site")
			r.Header.Set("Sec-Fetch-Mode", "no-cors")
		}, 403},
		{"link on another site", "GET", func(r *http.Request) {
			r.Header.Set("Sec-Fetch-Site", "cross-site")
			r.Header.Set("Sec-Fetch-Mode", "navigate")
		}, 200},
		{"writing", "POST", nil, 405},
		{"deleting", "DELETE", nil, 405},
	} {
		got := answered(t, s, c.method, "/", c.change)
		if got.StatusCode != c.want || got.Header.Get("Content-Security-Policy") != policy || got.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: status %d, want %d, headers %v", c.name, got.StatusCode, c.want, got.Header)
		}
	}
	if strings.Contains(s.URL(), "token") {
		t.Errorf("loopback needs a token: %s", s.URL())
	}
}

// Beyond loopback, the link's token is exchanged for a cookie and leaves the address.
func TestToken(t *testing.T) {
	s := listening(t, "0.0.0.0:0")
	_, token, found := strings.Cut(s.URL(), "?token=")
	if !found || len(token) < 26 {
		t.Fatalf("link %s", s.URL())
	}
	if got := answered(t, s, "GET", "/", nil); got.StatusCode != 401 {
		t.Errorf("without a token: %d", got.StatusCode)
	}
	if got := answered(t, s, "GET", "/?token="+token[:len(token)-1], nil); got.StatusCode != 401 {
		t.Errorf("with half a token: %d", got.StatusCode)
	}
	got := answered(t, s, "GET", "/?token="+token, nil)
	if got.StatusCode != 303 || got.Header.Get("Location") != "/" || len(got.Cookies()) != 1 || !got.Cookies()[0].HttpOnly {
		t.Fatalf("with the token: %d %v", got.StatusCode, got.Header)
	}
	if again := answered(t, s, "GET", "/", func(r *http.Request) { r.AddCookie(got.Cookies()[0]) }); again.StatusCode != 200 {
		t.Errorf("with the cookie: %d", again.StatusCode)
	}
}

func TestServe(t *testing.T) {
	s := listening(t, Default)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		done <- s.Serve(ctx, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "inside") }))
	}()
	got, err := http.Get(s.URL())
	if err != nil || got.StatusCode != 200 {
		t.Fatalf("%v %v", got, err)
	}
	got.Body.Close()
	if _, err := Listen(s.listener.Addr().String()); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("a port in use: %v", err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestBadAddress(t *testing.T) {
	for _, addr := range []string{"8080", "", "localhost"} {
		if _, err := Listen(addr); err == nil || !strings.Contains(err.Error(), "address") {
			t.Errorf("%q: %v", addr, err)
		}
	}
}
