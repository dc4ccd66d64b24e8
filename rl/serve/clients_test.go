package serve

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/lines"
)

// lastEvents are what a stream ends in that is whole.
var lastEvents = map[string]string{"/v1/completions": "data: [DONE]\n\n", "/v1/chat/completions": "data: [DONE]\n\n",
	"/v1/responses": "event: response.", "/v1/messages": "event: message_stop\n"}

// TestClients: the requests that clients of others send, as they were recorded
// (testdata/clients/README.md), are answered as they were then. When they were recorded,
// the clients came to what was expected.
func TestClients(t *testing.T) {
	s := calling(t, hermes, nil)
	f, err := os.Open(filepath.Join("testdata", "clients", "requests.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	calls := map[string]int{}
	err = lines.Each(f.Name(), f, func(_ int, raw []byte) error {
		var q struct {
			Call, Method, Path, Body string
			Headers                  map[string]string
			Status                   int
		}
		if err := json.Unmarshal(raw, &q); err != nil {
			return err
		}
		client, _, _ := strings.Cut(q.Call, ":")
		calls[client]++
		r := httptest.NewRequestWithContext(t.Context(), q.Method, q.Path, strings.NewReader(q.Body))
		for name, value := range q.Headers {
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		if w.Code != q.Status {
			t.Errorf("%s: %d, and %d when it was recorded: %s", q.Call, w.Code, q.Status, w.Body)
			return nil
		}
		if strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream") {
			if ends := lastEvents[q.Path]; !strings.Contains(w.Body.String(), ends) || strings.Count(w.Body.String(), "\n\n") < 3 {
				t.Errorf("%s: no %q: %s", q.Call, ends, w.Body)
			}
		} else if !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s: %s", q.Call, w.Body)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, client := range []string{"openai", "langchain", "ai-sdk", "anthropic", "llamaindex"} {
		if calls[client] < 3 {
			t.Errorf("%d requests of %s are recorded", calls[client], client)
		}
	}
}
