package serve

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/refdev"
	"github.com/rlzero/rlzero/internal/fixtures"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/sample"
	"github.com/rlzero/rlzero/model/text"
)

// tiny is a model with a token for each byte, which writes anything.
func tiny(t testing.TB, dev gpu.Device) *model.Model {
	t.Helper()
	m, err := model.New(dev, hf.Config{Family: "qwen3", Vocab: 261, Width: 16, Layers: 1, Heads: 2, KVHeads: 1, HeadDim: 8, MLP: 16,
		MaxPositions: 256, NormEps: 0x1p-20, RopeTheta: 1e4, TieEmbeddings: true, BOS: -1, PAD: -1, EOS: []int{258}, InitStd: 0.4,
		Dtype: hf.F32, KVDtype: hf.F32}, 7, 256)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	if m.Tokenizer, err = text.ReadFolder(fixtures.Selection(t, "chat")); err != nil {
		t.Fatal(err)
	}
	return m
}

var noon = time.Unix(1_800_000_000, 0)

// serving is a server of the tiny model, in plain Go unless a device is given.
func serving(t testing.TB, m *model.Model, change func(*Options)) *Server {
	t.Helper()
	o := Options{Name: "tiny", Weights: "digest", Queue: 256, Engine: sample.Options{Sequences: 16}}
	if change != nil {
		change(&o)
	}
	s, err := New(m, o)
	if err != nil {
		t.Fatal(err)
	}
	s.now = func() time.Time { return noon }
	t.Cleanup(s.Close)
	return s
}

func plain(t testing.TB, change func(*Options)) *Server {
	return serving(t, tiny(t, refdev.New()), change)
}

// ask is the status and the body of an answer.
func ask(t testing.TB, s *Server, path, body string) (int, string) {
	t.Helper()
	method := http.MethodPost
	if body == "" {
		method = http.MethodGet
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body)))
	if id := w.Header().Get("X-Request-Id"); !strings.HasPrefix(id, "req-") {
		t.Errorf("%s: request id %q", path, id)
	}
	return w.Code, w.Body.String()
}

// got is an answer of 200 as a value.
func got[T any](t testing.TB, s *Server, path, body string) (out T) {
	t.Helper()
	status, text := ask(t, s, path, body)
	if status != http.StatusOK {
		t.Fatalf("%s %s: %d %s", path, body, status, text)
	}
	dec := json.NewDecoder(strings.NewReader(text))
	if err := dec.Decode(&out); err != nil {
		t.Fatalf("%s %s: %v in %s", path, body, err, text)
	}
	return out
}

// spoken is an answer as a client reads it.
type spoken struct {
	ID      string
	Seed    uint64
	Choices []spokenChoice
	Usage   struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Total      int `json:"total_tokens"`
	}
}

type spokenChoice struct {
	Index   int
	Text    string
	Message struct{ Role, Content string }
	Finish  string `json:"finish_reason"`
	IDs     []int  `json:"token_ids"`
	Entropy []float32
	Prompt  []int `json:"prompt_token_ids"`

	Logprobs struct {
		Tokens  []string
		Logprob []*float32           `json:"token_logprobs"`
		Top     []map[string]float32 `json:"top_logprobs"`
		Offset  []int                `json:"text_offset"`
		Content []struct {
			Token   string
			Logprob float32
			Bytes   []int
			Top     []struct {
				Token   string
				Logprob float32
			} `json:"top_logprobs"`
		}
	}
	PromptLogprobs []map[string]struct{ Logprob float32 } `json:"prompt_logprobs"`
}

// eventsOf are the data of a stream's events, without the comments.
func eventsOf(t testing.TB, body string) []string {
	t.Helper()
	var out []string
	for _, e := range strings.Split(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		data, ok := strings.CutPrefix(e, "data: ")
		if !ok {
			t.Fatalf("event %q", e)
		}
		out = append(out, data)
	}
	return out
}

// over is the answer of a real server.
func over(t testing.TB, url, body string) (int, string) {
	t.Helper()
	r, err := http.Post(url, "application/json", bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(text)
}
