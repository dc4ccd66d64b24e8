package serve

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/internal/fixtures"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/text"
)

// measured is a model of the demo's size on the best device.
func measured(b *testing.B) *Server {
	dev := gputest.Devices(b)[0]
	if dev.Caps().Kind == gpu.Reference {
		b.Skip("no device but plain Go")
	}
	m, err := model.New(dev, model.Config{Family: "qwen3", Vocab: 261, Width: 96, Layers: 2, Heads: 3, KVHeads: 3, HeadDim: 32, MLP: 256,
		MaxPositions: 256, NormEps: 0x1p-20, RopeTheta: 1e4, TieEmbeddings: true, QKNorm: true, BOS: -1, PAD: -1, InitStd: 0.1,
		Dtype: model.F32, KVDtype: model.F32}, 7, 256)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(m.Close)
	if m.Tokenizer, err = text.ReadFolder(fixtures.Selection(b, "chat")); err != nil {
		b.Fatal(err)
	}
	return serving(b, m, func(o *Options) { o.Engine.Sequences, o.Engine.Prefixes = 64, -1 })
}

const (
	batch     = 64
	newTokens = 64
)

// benchRequest asks for one completion of the benchmark.
func benchRequest(i int) model.Request {
	return model.Request{Prompt: []int{65, 66, 67, i}, MaxTokens: newTokens, Sampling: model.Sampling{Temperature: 1, Seed: uint64(i)}}
}

// BenchmarkThroughput: the same 64 completions, from the engine and through HTTP, in turns.
func BenchmarkThroughput(b *testing.B) {
	s := measured(b)
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	own := func(stream string) time.Duration {
		began := time.Now()
		var all sync.WaitGroup
		for i := range batch {
			all.Go(func() {
				if status, text := over(b, server.URL+"/v1/completions", fmt.Sprintf(`{"prompt":[65,66,67,%d],"max_tokens":%d,"seed":%d%s}`, i, newTokens, i, stream)); status != http.StatusOK {
					b.Error(text)
				}
			})
		}
		all.Wait()
		return time.Since(began)
	}
	engine := func() time.Duration {
		var reqs []model.Request
		for i := range batch {
			reqs = append(reqs, benchRequest(i))
		}
		began := time.Now()
		if _, err := s.engine.GenerateAll(b.Context(), reqs); err != nil {
			b.Fatal(err)
		}
		return time.Since(began)
	}
	engine()
	var alone, whole, streams []float64
	for b.Loop() {
		a := engine().Seconds()
		alone = append(alone, batch*newTokens/a)
		whole = append(whole, 100*a/own("").Seconds())
		streams = append(streams, 100*a/own(`,"stream":true`).Seconds())
	}
	b.ReportMetric(median(whole), "%-of-engine")
	b.ReportMetric(median(streams), "%-of-engine-streamed")
	b.ReportMetric(median(alone), "engine-tok/s")
}

// median is the middle one: others use the machine too.
func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

// BenchmarkFirstToken: how long a client waits for the first token, beyond what the engine
// takes for it.
func BenchmarkFirstToken(b *testing.B) {
	s := measured(b)
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	var alone, served []float64 // ms
	for i := 0; b.Loop(); i++ {
		first := make(chan time.Time, newTokens)
		r := benchRequest(i % 200)
		r.Each = func(int, model.Token) { first <- time.Now() }
		ctx, cancel := context.WithCancel(b.Context())
		began := time.Now()
		go s.engine.Generate(ctx, r)
		alone = append(alone, 1e3*(<-first).Sub(began).Seconds())
		cancel()
		settles(func() bool { return s.engine.State().Active == 0 })
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
