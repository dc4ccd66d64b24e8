package serve

import (
	"bufio"
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/internal/web"
)

// settles says whether something comes true within a minute: what is waited for takes
// milliseconds.
func settles(there func() bool) bool {
	for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(5 * time.Millisecond) {
		if there() {
			return true
		}
	}
	return false
}

// live is the memory that is in use.
func live() uint64 {
	runtime.GC()
	runtime.GC() // what the first one found to be finished
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestAborts: clients that go away at any moment, while they wait, while a stream comes or
// before a body has arrived, leave no page, no goroutine, no request and no memory.
func TestAborts(t *testing.T) {
	s := plain(t, func(o *Options) { o.Engine.Sequences, o.Engine.CacheToken, o.Engine.Prefixes = 8, 32*24, 4 })
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	paths, bodies := mixed(20)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	ask := func(i int, ctx context.Context) {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+paths[i%len(paths)], strings.NewReader(bodies[i%len(bodies)]))
		if err != nil {
			t.Error(err)
			return
		}
		if answer, err := client.Do(r); err == nil {
			io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
		}
	}
	ask(0, t.Context())
	if !settles(func() bool { return s.engine.State().Active == 0 }) {
		t.Fatal("the engine does not come to rest")
	}
	before := runtime.NumGoroutine()
	n := 200
	if gputest.Long() {
		n = 10_000
	}
	rng := rand.New(rand.NewPCG(1, 2))
	var held uint64 // once all that is kept was made
	for i := 0; i < n; {
		if i == n/5 {
			held = live()
		}
		var all sync.WaitGroup
		for range 20 {
			k, after := i, time.Duration(rng.IntN(30))*time.Millisecond
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), after)
				defer cancel()
				ask(k, ctx)
			})
			i++
		}
		all.Wait()
	}
	clean := func() bool {
		e := s.engine.State()
		return s.inFlight.Load() == 0 && e.Active == 0 && e.Waiting == 0 && e.Used == 0 && runtime.NumGoroutine() <= before
	}
	if !settles(clean) {
		stacks := make([]byte, 1<<16)
		t.Errorf("%d in flight, %+v, %d goroutines and %d before\n%s", s.inFlight.Load(), s.engine.State(), runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
	}
	// The least that a request has of its own, its sequence in the engine, takes more than
	// 100 bytes.
	grown := int64(live()) - int64(held)
	t.Logf("%d requests: %d bytes more than after a fifth of them, %d tokens drawn", n, grown, s.engine.State().Tokens)
	if grown > int64(100*(n-n/5)) && gputest.Long() { // what is kept weighs more than a few requests
		t.Errorf("%d requests leave %d bytes", n-n/5, grown)
	}
	if s.engine.State().Tokens == 0 {
		t.Error("nothing was drawn: the requests ended too early to tell")
	}
}

// TestShutdown: a server that is told to end says so to those who wait, in a stream too,
// and answers nobody after it.
func TestShutdown(t *testing.T) {
	s := plain(t, nil)
	door, err := web.ListenAPI(web.Default, web.API{Refuse: Refuse})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- door.Serve(ctx, s.Handler()) }()
	const long = `{"prompt":"ab","n":100,"max_tokens":250,"seed":1}`
	stream, err := http.Post(door.URL()+"v1/completions", "application/json", strings.NewReader(strings.Replace(long, "{", `{"stream":true,`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	type reply struct {
		status int
		body   string
	}
	whole := make(chan reply)
	go func() {
		status, body := over(t, door.URL()+"v1/completions", long)
		whole <- reply{status, body}
	}()
	read := bufio.NewReader(stream.Body)
	if _, err := read.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if !settles(func() bool { return s.inFlight.Load() == 2 }) {
		t.Fatal("the requests do not arrive")
	}
	stop()
	if r := <-whole; r.status != http.StatusServiceUnavailable || !strings.Contains(r.body, "shutting_down") {
		t.Errorf("%d %s", r.status, r.body)
	}
	rest, err := io.ReadAll(read)
	if err != nil || !strings.Contains(string(rest), "shutting_down") || strings.Contains(string(rest), "[DONE]") {
		t.Errorf("%v %.500s", err, rest)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := http.Get(door.URL() + "health"); err == nil {
		t.Error("the server still answers")
	}
}

// TestDoor: what the door refuses has the shape of every refusal.
func TestDoor(t *testing.T) {
	for status, want := range map[int]string{401: `"code":"invalid_api_key","message":"why","param":null,"type":"authentication_error"`, 403: `"code":"forbidden_host","message":"why","param":null,"type":"permission_error"`} {
		w := httptest.NewRecorder()
		Refuse(w, httptest.NewRequest("GET", "/v1/models", nil), status, "why")
		if w.Code != status || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
}
