//go:build unix

package serve

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/internal/fixtures"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/sample"
	"github.com/rlzero/rlzero/model/text"
)

// measured is a model of the demo's size on the best device, for so many sequences at once.
func measured(b *testing.B, sequences int) *Server {
	dev := gputest.Devices(b)[0]
	if dev.Caps().Kind == gpu.Reference {
		b.Skip("no device but plain Go")
	}
	m, err := model.New(dev, hf.Config{Family: "qwen3", Vocab: 261, Width: 96, Layers: 2, Heads: 3, KVHeads: 3, HeadDim: 32, MLP: 256,
		MaxPositions: 512, NormEps: 0x1p-20, RopeTheta: 1e4, TieEmbeddings: true, QKNorm: true, BOS: -1, PAD: -1, InitStd: 0.1,
		Dtype: hf.F32, KVDtype: hf.F32}, 7, 512)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(m.Close)
	if m.Tokenizer, err = text.ReadFolder(fixtures.Selection(b, "chat")); err != nil {
		b.Fatal(err)
	}
	return serving(b, m, func(o *Options) { o.Engine.Sequences, o.Engine.Prefixes = sequences, -1 })
}

// engineAlone is the engine of a server without the server.
func engineAlone(b *testing.B, s *Server) *sample.Engine {
	o := s.o.Engine
	o.Gather = nil
	e, err := sample.NewEngine(s.m, o)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(e.Close)
	return e
}

const (
	batch     = 64
	newTokens = 64
)

// benchRequest asks for one completion of the benchmark, after as many tokens as those of "rlzero
// bench decode" come.
func benchRequest(i, tokens int) sample.Request {
	return sample.Request{Prompt: []int{65, 66, 67, 68, 69, 70, i}, MaxTokens: tokens, Sampling: sample.Settings{Temperature: 1, Seed: uint64(i)}}
}

// BenchmarkThroughput: the same 64 completions at once from the engine alone, as answers
// and as streams, in turns. The clients are another process (TestClients) with a connection
// for each, which stays open.
//
// "rate" is the engine's rate at that batch: completions as long as the context allows, of
// which the beginning and the end are 2 %. "short" has completions of 64 tokens: what it costs
// more is that requests come one after the other. Processor time is told beside: what the
// server takes more than the engine, its kernel's for it included, and that of the clients,
// which is spent on the same cores.
func BenchmarkThroughput(b *testing.B) {
	s := measured(b, batch)
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	for _, one := range []struct {
		name   string
		tokens int
	}{{"rate", 248}, {"short", newTokens}} {
		b.Run(one.name, func(b *testing.B) { throughput(b, s, server.URL, one.tokens) })
	}
}

func throughput(b *testing.B, s *Server, address string, tokens int) {
	c, e := startClients(b, address), engineAlone(b, s)
	engine := func() {
		generateAll(b, e, batch, tokens)
	}
	engine()
	c.ask(batch, 1, tokens, false)
	var alone, whole, streams turns
	for b.Loop() {
		a := alone.take(engine)
		whole.part = append(whole.part, 100*a/whole.take(func() { whole.clients += c.ask(batch, 1, tokens, false) }))
		streams.part = append(streams.part, 100*a/streams.take(func() { streams.clients += c.ask(batch, 1, tokens, true) }))
	}
	n := float64(batch * tokens * len(alone.seconds))
	more := func(t turns) float64 { return 1e6 * (t.used - alone.used).Seconds() / n }
	b.ReportMetric(median(whole.part), "%-of-engine")
	b.ReportMetric(median(streams.part), "%-of-engine-streamed")
	b.ReportMetric(batch*float64(tokens)/median(alone.seconds), "engine-tok/s")
	b.ReportMetric(1e6*alone.used.Seconds()/n, "engine-cpu-us/tok")
	b.ReportMetric(more(whole), "more-cpu-us/tok")
	b.ReportMetric(more(streams), "more-cpu-us/tok-streamed")
	b.ReportMetric(1e6*whole.clients.Seconds()/n, "clients-cpu-us/tok")
	b.ReportMetric(1e6*streams.clients.Seconds()/n, "clients-cpu-us/tok-streamed")
}

// generateAll draws the completions of so many requests with the engine alone.
func generateAll(b *testing.B, e *sample.Engine, n, tokens int) {
	var reqs []sample.Request
	for i := range n {
		reqs = append(reqs, benchRequest(i, tokens))
	}
	if _, err := e.GenerateAll(b.Context(), reqs); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkClients: 16 clients, each of which asks again when it has its answer, or once, beside the engine's
// rate of decoding at batch 16, in turns. That is measured as "rlzero bench decode" does: what all
// tokens after the first take, of completions of 14 tokens, which that benchmark has ("of-decode"),
// and of as many as an answer has ("of-decode-as-long"): a token with more before it takes longer.
// "prompts" are the same completions begun together with the engine alone: what it falls behind is that
// prompts are read too. "loop" is the engine alone in the place of the server: what that falls behind
// is not HTTP's. On a busy machine processor time says more than the rates.
func BenchmarkClients(b *testing.B) {
	const clients, decoded = 16, 14
	s := measured(b, clients)
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	c, e := startClients(b, server.URL), engineAlone(b, s)
	for _, one := range []struct{ tokens, rounds int }{{decoded, 1}, {decoded, 10}, {256, 2}} {
		tokens, rounds := one.tokens, one.rounds
		b.Run(fmt.Sprintf("%dx%d", rounds, tokens), func(b *testing.B) {
			loop := func() {
				var all sync.WaitGroup
				for i := range clients {
					all.Go(func() {
						for range rounds {
							if _, err := e.Generate(b.Context(), benchRequest(i, tokens)); err != nil {
								b.Error(err)
							}
						}
					})
				}
				all.Wait()
			}
			for range 2 { // programs are recorded
				c.ask(clients, rounds, tokens, false)
				loop()
				generateAll(b, e, clients, tokens)
			}
			drawn := float64(clients * rounds * tokens)
			short, long := decoding{b: b, e: e, n: clients, tokens: decoded}, decoding{b: b, e: e, n: clients, tokens: tokens}
			var ofDecode, asLong, prompts, looped []float64
			var asked, alone turns
			before := s.engine.State()
			for b.Loop() {
				short.take()
				long.take()
				got := drawn / asked.take(func() { asked.clients += c.ask(clients, rounds, tokens, false) })
				ofDecode, asLong = append(ofDecode, got/short.rate), append(asLong, got/long.rate)
				prompts = append(prompts, long.whole/long.rate)
				looped = append(looped, drawn/alone.take(loop)/long.rate)
			}
			after := s.engine.State()
			n := drawn * float64(len(asked.seconds))
			b.ReportMetric(median(ofDecode), "of-decode")
			b.ReportMetric(median(asLong), "of-decode-as-long")
			b.ReportMetric(median(prompts), "prompts-of-decode-as-long")
			b.ReportMetric(median(looped), "loop-of-decode-as-long")
			b.ReportMetric(float64(after.Tokens-before.Tokens)/float64(after.Steps-before.Steps), "tok/step")
			b.ReportMetric(short.cpu(), "decode-cpu-us/tok")
			b.ReportMetric(long.cpu(), "decode-as-long-cpu-us/tok")
			b.ReportMetric(1e6*asked.used.Seconds()/n, "cpu-us/tok")
			b.ReportMetric(1e6*alone.used.Seconds()/n, "loop-cpu-us/tok")
			b.ReportMetric(1e6*asked.clients.Seconds()/n, "clients-cpu-us/tok")
		})
	}
}

// decoding measures what the tokens after the first take of n completions that begin together.
type decoding struct {
	b           *testing.B
	e           *sample.Engine
	n, tokens   int
	rate, whole float64 // of the last turn, tokens a second: of decoding, and with prompts

	used  time.Duration // processor time
	drawn int
}

func (d *decoding) take() {
	times := max(1, 140/d.tokens)
	var t, used [2]time.Duration
	for i, tokens := range []int{1, d.tokens} {
		before, began := processor(), time.Now()
		for range times {
			generateAll(d.b, d.e, d.n, tokens)
		}
		t[i], used[i] = time.Since(began), processor()-before
	}
	drawn := times * d.n * (d.tokens - 1)
	d.rate, d.whole = float64(drawn)/(t[1]-t[0]).Seconds(), float64(times*d.n*d.tokens)/t[1].Seconds()
	d.used += used[1] - used[0]
	d.drawn += drawn
}

// cpu is the processor time of a token, microseconds.
func (d *decoding) cpu() float64 { return 1e6 * d.used.Seconds() / float64(d.drawn) }

// turns are those of one way to draw.
type turns struct {
	seconds []float64     // of each
	part    []float64     // of the engine's rate, percent
	used    time.Duration // processor time of this process
	clients time.Duration // and of theirs
}

func (t *turns) take(do func()) (seconds float64) {
	used, began := processor(), time.Now()
	do()
	seconds = time.Since(began).Seconds()
	t.used += processor() - used
	t.seconds = append(t.seconds, seconds)
	return seconds
}

// processor is the processor time of this process, in user and system mode.
func processor() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// median is the middle one: others use the machine too.
func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}

// clients are a process that sends the requests of the benchmark.
type clients struct {
	b   *testing.B
	in  io.Writer
	out *bufio.Reader
}

const clientsOf = "RLZERO_BENCH_CLIENTS" // URL of the server

func startClients(b *testing.B, address string) *clients {
	cmd := exec.Command(os.Args[0], "-test.run=^TestClientsOfBenchmark$")
	cmd.Env = append(os.Environ(), clientsOf+"="+address)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	return &clients{b, in, bufio.NewReader(out)}
}

// ask has n clients ask at once, so many times one after the other, waits for their answers and
// returns the processor time that the clients took for them.
func (c *clients) ask(n, times, tokens int, stream bool) (used time.Duration) {
	fmt.Fprintln(c.in, n, times, tokens, stream)
	if _, err := fmt.Fscanln(c.out, &used); err != nil {
		c.b.Fatal(err)
	}
	return used
}

// TestClientsOfBenchmark is the process of the benchmark's clients; as a test it does
// nothing. They look at no more of an answer than the number of its tokens.
func TestClientsOfBenchmark(t *testing.T) {
	address := os.Getenv(clientsOf)
	if address == "" {
		return
	}
	c := http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: batch}}
	for {
		var n, times, tokens int
		var stream bool
		if _, err := fmt.Scanln(&n, &times, &tokens, &stream); err != nil {
			return
		}
		used := processor()
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() {
				for range times {
					if err := askOne(&c, address, i, tokens, stream); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		if t.Failed() {
			return
		}
		fmt.Println(int64(processor() - used))
	}
}

// askOne sends the request of [benchRequest].
func askOne(c *http.Client, address string, i, tokens int, stream bool) error {
	body := fmt.Sprintf(`{"prompt":[65,66,67,68,69,70,%d],"max_tokens":%d,"seed":%d,"ignore_eos":true}`, i, tokens, i)
	if stream {
		body = strings.TrimSuffix(body, "}") + `,"stream":true,"stream_options":{"include_usage":true}}`
	}
	answer, err := c.Post(address+"/v1/completions", "application/json", strings.NewReader(body))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if want := fmt.Sprintf(`"completion_tokens":%d`, tokens); !strings.Contains(string(text), want) {
		return fmt.Errorf("%d tokens were asked for; the answer is %s", tokens, text)
	}
	return nil
}

// BenchmarkFirstToken: how long a client waits for the first token, beyond what the engine
// takes for it.
func BenchmarkFirstToken(b *testing.B) {
	s := measured(b, batch)
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	e := engineAlone(b, s)
	var alone, served []float64 // ms
	for i := 0; b.Loop(); i++ {
		first := make(chan time.Time, newTokens)
		r := benchRequest(i%200, newTokens)
		r.Each = func(int, sample.Token) { first <- time.Now() }
		ctx, cancel := context.WithCancel(b.Context())
		began := time.Now()
		go e.Generate(ctx, r)
		alone = append(alone, 1e3*(<-first).Sub(began).Seconds())
		cancel()
		settles(func() bool { return e.State().Active == 0 })
		began = time.Now()
		answer, err := http.Post(server.URL+"/v1/completions", "application/json", strings.NewReader(fmt.Sprintf(`{"prompt":[65,66,67,68,69,70,%d],"max_tokens":%d,"stream":true,"return_token_ids":true}`, i%200, newTokens)))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := bufio.NewReader(answer.Body).ReadString('\n'); err != nil {
			b.Fatal(err)
		}
		served = append(served, 1e3*time.Since(began).Seconds())
		answer.Body.Close()
		s.working.Wait()
	}
	b.ReportMetric(median(served)-median(alone), "ms-more")
	b.ReportMetric(median(alone), "engine-ms")
}
