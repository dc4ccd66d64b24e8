package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/gpu/refdev"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/sample"
	"github.com/rlzero/rlzero/rl/infer"
)

// line is one of rlzero sample.
type line struct {
	IDs      []int
	Text     string
	Logprobs []float32
	Stop     string
}

// sampled are the lines of rlzero sample.
func sampled(t *testing.T, m *model.Model, in string, o infer.SampleOptions) (all []line) {
	t.Helper()
	ends := m.Config.EOS
	defer func() { m.Config.EOS = ends }() // which sample changes where it reads messages
	var out bytes.Buffer
	if err := infer.Sample(t.Context(), m, "test", strings.NewReader(in), &out, o); err != nil {
		t.Fatal(err)
	}
	for dec := json.NewDecoder(&out); dec.More(); {
		var l line
		if err := dec.Decode(&l); err != nil {
			t.Fatal(err)
		}
		all = append(all, l)
	}
	return all
}

// TestSample: an answer has the tokens, the log-probs and the text of rlzero sample.
func TestSample(t *testing.T) {
	s := plain(t, func(o *Options) { o.Engine.Sequences = 3 }) // fewer than n
	const messages = `[{"role":"user","content":"hello"}]`
	for _, c := range []struct {
		path, body, line string
		o                infer.SampleOptions
	}{
		{"/v1/completions", `"prompt":"ab","n":5,"max_tokens":20,"logprobs":0`, `{"prompt":"ab"}`,
			infer.SampleOptions{N: 5, MaxTokens: 20, Sampling: sample.Settings{Temperature: 1, TopP: 1, Seed: 9}}},
		{"/v1/completions", `"prompt":[65,66],"max_tokens":30,"temperature":0.5,"top_p":0.9,"top_k":40,"min_p":0.01,"logprobs":0`, `{"ids":[65,66]}`,
			infer.SampleOptions{N: 1, MaxTokens: 30, Sampling: sample.Settings{Temperature: 0.5, TopP: 0.9, TopK: 40, MinP: 0.01, Seed: 9}}},
		{"/v1/completions", `"prompt":"ab","max_tokens":30,"temperature":0,"logprobs":2`, `{"prompt":"ab"}`,
			infer.SampleOptions{N: 1, MaxTokens: 30, Sampling: sample.Settings{Seed: 9}}},
		{"/v1/chat/completions", `"messages":` + messages + `,"n":2,"max_tokens":25,"logprobs":true`, `{"messages":` + messages + `}`,
			infer.SampleOptions{N: 2, MaxTokens: 25, Sampling: sample.Settings{Temperature: 1, TopP: 1, Seed: 9}}},
	} {
		answer := got[spoken](t, s, c.path, `{"seed":9,"return_token_ids":true,`+c.body+`}`)
		want := sampled(t, s.m, c.line, c.o)
		if len(answer.Choices) != len(want) || answer.Seed != 9 {
			t.Fatalf("%s: %d choices with seed %d, want %d", c.body, len(answer.Choices), answer.Seed, len(want))
		}
		for i, w := range want {
			a := answer.Choices[i]
			var logprobs []float32
			for _, l := range a.Logprobs.Logprob {
				logprobs = append(logprobs, *l)
			}
			for _, l := range a.Logprobs.Content {
				logprobs = append(logprobs, l.Logprob)
			}
			if a.Index != i || !slices.Equal(a.IDs, w.IDs) || a.Text+a.Message.Content != w.Text || !slices.Equal(logprobs, w.Logprobs) || a.Finish != finish(w.Stop) {
				t.Errorf("%s: choice %d: %+v, want %+v", c.body, i, a, w)
			}
		}
	}
}

// mixed are requests of every kind.
func mixed(n int) (paths, bodies []string) {
	rng := rand.New(rand.NewPCG(5, 6))
	head := strings.Repeat("the same beginning ", 3)
	for i := range n {
		path, body := "/v1/completions", map[string]any{"seed": i, "max_tokens": 1 + rng.IntN(60), "n": 1 + rng.IntN(3), "return_token_ids": true, "return_entropy": i%2 == 0}
		prompt := head[:rng.IntN(len(head))] + fmt.Sprint("<", i, ">")
		switch i % 5 {
		case 0:
			body["prompt"], body["logprobs"], body["echo"] = []string{prompt, "x"}, 3, true
		case 1:
			path, body["messages"] = "/v1/chat/completions", []map[string]string{{"role": "system", "content": head}, {"role": "user", "content": prompt}}
			body["logprobs"], body["top_logprobs"] = true, 2
		case 2:
			body["prompt"], body["temperature"], body["stop"] = prompt, 0, []string{"a", "é"}
		case 3:
			body["prompt"], body["top_k"], body["prompt_logprobs"] = prompt, 20, 1
		case 4:
			body["prompt"], body["stream"], body["n"] = prompt, true, 1
		}
		if i%7 == 3 {
			body["response_format"] = map[string]any{"type": "json_object"}
		}
		data, err := json.Marshal(body)
		if err != nil {
			panic(err)
		}
		paths, bodies = append(paths, path), append(bodies, string(data))
	}
	return paths, bodies
}

// TestLoad: 64 requests at once have the bytes that each has alone, whatever the cache
// has room for and keeps.
func TestLoad(t *testing.T) {
	m := tiny(t, refdev.New())
	paths, bodies := mixed(64)
	alone := serving(t, m, func(o *Options) { o.Engine.Sequences, o.Engine.Prefixes = 3, -1 })
	want := make([]string, len(paths))
	for i := range paths {
		var status int
		if status, want[i] = ask(t, alone, paths[i], bodies[i]); status != http.StatusOK {
			t.Fatalf("%s: %d %s", bodies[i], status, want[i])
		}
	}
	for _, c := range []struct {
		name             string
		sequences, cache int
		prefixes         int
	}{
		{"room for all", 256, 0, -1},
		{"four times the load", 16, 32 * 24, -1},
		{"a cache of prefixes", 64, 0, 0},
		{"a tiny cache of prefixes", 64, 0, 2},
		{"four times the load, prefixes that go", 16, 32 * 24, 12},
	} {
		s := serving(t, m, func(o *Options) {
			o.Engine = sample.Options{Sequences: c.sequences, CacheToken: c.cache, Prefixes: c.prefixes}
		})
		var all sync.WaitGroup
		for i := range paths {
			all.Go(func() {
				if _, body := ask(t, s, paths[i], bodies[i]); body != want[i] {
					t.Errorf("%s: %s: %s, want %s", c.name, bodies[i], body, want[i])
				}
			})
		}
		all.Wait()
		e := s.engine.State()
		if (c.cache > 0) != (e.SetBack > 0) || (c.prefixes >= 0) != (e.FromCache > 0) {
			t.Errorf("%s: %+v: the case does not show what it is for", c.name, e)
		}
	}
}

// TestDevices: the same on every device, in short.
func TestDevices(t *testing.T) {
	for _, dev := range gputest.Devices(t) {
		if gputest.Slow(dev) {
			continue
		}
		t.Run(gputest.Name(dev), func(t *testing.T) {
			s := serving(t, tiny(t, dev), func(o *Options) { o.Engine.CacheToken = 32 * 30 })
			paths, bodies := mixed(10)
			want := make([]string, len(paths))
			for i := range paths {
				_, want[i] = ask(t, s, paths[i], bodies[i])
			}
			var all sync.WaitGroup
			for i := range paths {
				all.Go(func() {
					if status, body := ask(t, s, paths[i], bodies[i]); status != http.StatusOK || body != want[i] {
						t.Errorf("%s: %d %s, want %s", bodies[i], status, body, want[i])
					}
				})
			}
			all.Wait()
		})
	}
}

// TestStream: the events of a stream, joined, are the answer in one piece.
func TestStream(t *testing.T) {
	s := plain(t, nil)
	for _, c := range []struct{ path, body string }{
		{"/v1/completions", `"prompt":"ab","n":3,"max_tokens":40,"logprobs":2,"return_token_ids":true,"return_entropy":true`},
		{"/v1/completions", `"prompt":["ab","c"],"n":2,"max_tokens":40,"stop":["a","bb","é","\ufffd"]`},
		{"/v1/completions", `"prompt":"é€","max_tokens":40,"echo":true`},
		{"/v1/completions", `"prompt":"ab","max_tokens":0,"echo":true`},
		{"/v1/chat/completions", `"messages":[{"role":"user","content":"hello"}],"n":2,"max_tokens":30,"logprobs":true,"top_logprobs":3,"return_token_ids":true`},
	} {
		for seed := range 8 {
			body := fmt.Sprintf(`"seed":%d,%s`, seed, c.body)
			want := got[spoken](t, s, c.path, "{"+body+"}")
			status, stream := ask(t, s, c.path, `{"stream":true,"stream_options":{"include_usage":true},`+body+"}")
			if status != http.StatusOK {
				t.Fatalf("%s: %d %s", body, status, stream)
			}
			events := eventsOf(t, stream)
			if last := events[len(events)-1]; last != "[DONE]" {
				t.Fatalf("%s: the last event is %s", body, last)
			}
			joined := joinedEvents(t, events[:len(events)-1], len(want.Choices))
			joined.ID = want.ID // the bodies differ
			if a, b := fmt.Sprintf("%+v", flat(joined)), fmt.Sprintf("%+v", flat(want)); a != b {
				t.Errorf("%s:\n%s\nwant\n%s", body, a, b)
			}
		}
	}
}

// flat writes an answer so that two are compared by their values.
func flat(s spoken) string {
	data, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// joinedEvents puts the parts of a stream together.
func joinedEvents(t *testing.T, events []string, choices int) (all spoken) {
	t.Helper()
	all.Choices = make([]spokenChoice, choices)
	for _, e := range events {
		var a spoken
		text := strings.Replace(e, `"delta":`, `"message":`, 1)
		if err := json.Unmarshal([]byte(text), &a); err != nil {
			t.Fatalf("%v in %s", err, e)
		}
		all.Seed = a.Seed
		if len(a.Choices) == 0 {
			all.Usage = a.Usage
			continue
		}
		p := a.Choices[0]
		c := &all.Choices[p.Index]
		if c.Finish != "" {
			t.Fatalf("choice %d goes on after its end: %s", p.Index, e)
		}
		c.Index, c.Finish = p.Index, p.Finish
		c.Text += p.Text
		c.Message.Role += p.Message.Role
		c.Message.Content += p.Message.Content
		c.IDs = append(c.IDs, p.IDs...)
		c.Entropy = append(c.Entropy, p.Entropy...)
		c.Prompt = append(c.Prompt, p.Prompt...)
		l, m := &c.Logprobs, p.Logprobs
		l.Tokens, l.Logprob, l.Top, l.Offset, l.Content = append(l.Tokens, m.Tokens...), append(l.Logprob, m.Logprob...), append(l.Top, m.Top...), append(l.Offset, m.Offset...), append(l.Content, m.Content...)
	}
	return all
}

// TestSocket: through a real connection, a stream comes in parts, and a client that goes
// away frees what it had.
func TestSocket(t *testing.T) {
	s := plain(t, nil)
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	const body = `{"prompt":"ab","seed":3,"max_tokens":50}`
	_, want := ask(t, s, "/v1/completions", body)
	if status, text := over(t, server.URL+"/v1/completions", body); status != http.StatusOK || text != want {
		t.Errorf("%d %s, want %s", status, text, want)
	}
	r, err := http.Post(server.URL+"/v1/completions", "application/json", strings.NewReader(`{"prompt":"ab","n":16,"max_tokens":250,"stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Body.Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	s.working.Wait()
	if e := s.engine.State(); e.Tokens >= 16*250 {
		t.Errorf("all %d tokens were drawn for a client that had gone away", e.Tokens)
	}
}
