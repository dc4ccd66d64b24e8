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

// measured is a model of the demo's size on the best device.
func measured(b *testing.B) *Server {
	dev := gputest.Devices(b)[0]
	if dev.Caps().Kind == gpu.Reference {
		b.Skip("no device but plain Go")
	}
	m, err := model.New(dev, hf.Config{Family: "qwen3", Vocab: 261, Width: 96, Layers: 2, Heads: 3, KVHeads: 3, HeadDim: 32, MLP: 256,
		MaxPositions: 256, NormEps: 0x1p-20, RopeTheta: 1e4, TieEmbeddings: true, QKNorm: true, BOS: -1, PAD: -1, InitStd: 0.1,
		Dtype: hf.F32, KVDtype: hf.F32}, 7, 256)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(m.Close)
	if m.Tokenizer, err = text.ReadFolder(fixtures.Selection(b, "chat")); err != nil {
		b.Fatal(err)
	}
	return serving(b, m, func(o *Options) { o.Engine.Sequences, o.Engine.Prefixes = batch, -1 })
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

// benchRequest asks for one completion of the benchmark.
func benchRequest(i, tokens int) sample.Request {
	return sample.Request{Prompt: []int{65, 66, 67, i}, MaxTokens: tokens, Sampling: sample.Settings{Temperature: 1, Seed: uint64(i)}}
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
	s := measured(b)
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	for _, one := range []struct {
		name   string
		tokens int
	}{{"rate", 250}, {"short", newTokens}} {
		b.Run(one.name, func(b *testing.B) { throughput(b, s, server.URL, one.tokens) })
	}
}

func throughput(b *testing.B, s *Server, address string, tokens int) {
	c, e := startClients(b, address), engineAlone(b, s)
	engine := func() {
		var reqs []sample.Request
		for i := range batch {
			reqs = append(reqs, benchRequest(i, tokens))
		}
		if _, err := e.GenerateAll(b.Context(), reqs); err != nil {
			b.Fatal(err)
		}
	}
	engine()
	c.ask(tokens, false)
	var alone, whole, streams turns
	for b.Loop() {
		a := alone.take(engine)
		whole.part = append(whole.part, 100*a/whole.take(func() { whole.clients += c.ask(tokens, false) }))
		streams.part = append(streams.part, 100*a/streams.take(func() { streams.clients += c.ask(tokens, true) }))
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

// ask has all clients ask at once, waits for their answers and returns the processor time
// that the clients took for them.
func (c *clients) ask(tokens int, stream bool) (used time.Duration) {
	fmt.Fprintln(c.in, tokens, stream)
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
		var tokens int
		var stream bool
		if _, err := fmt.Scanln(&tokens, &stream); err != nil {
			return
		}
		used := processor()
		var all sync.WaitGroup
		for i := range batch {
			all.Go(func() {
				if err := askOne(&c, address, i, tokens, stream); err != nil {
					t.Error(err)
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
	body := fmt.Sprintf(`{"prompt":[65,66,67,%d],"max_tokens":%d,"seed":%d}`, i, tokens, i)
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
	s := measured(b)
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
		answer, err := http.Post(server.URL+"/v1/completions", "application/json", strings.NewReader(fmt.Sprintf(`{"prompt":[65,66,67,%d],"max_tokens":%d,"stream":true,"return_token_ids":true}`, i%200, newTokens)))
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
