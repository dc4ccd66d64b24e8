package endpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rlzero/rlzero/rl/panel"
	"github.com/rlzero/rlzero/verify/judge"
)

// whole is a reply with a text.
func whole(text, finish string) string {
	return fmt.Sprintf(`{"id":"chatcmpl-1","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":%q},"finish_reason":%q}],"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}}`, text, finish)
}

// TestAsk: what a server is asked, and what is read of its replies; whatever goes wrong is an error that says what, and
// no answer.
func TestAsk(t *testing.T) {
	var got request
	named := ""
	refused := []string{"status 400"}                                                                // the question
	down := []string{"no answer after", "cannot be asked", "ends early", "status 429", "status 503"} // of the server, not of a question
	type handler = func(w http.ResponseWriter, r *http.Request)
	say := func(text string) handler {
		return func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, text) }
	}
	for _, c := range []struct {
		about  string
		answer handler
		want   judge.Said
		fails  string
	}{
		{"an answer", func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPost || r.URL.Path != "/v1/chat/completions" {
				t.Errorf("%s %s", r.Method, r.URL)
			}
			if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
				t.Error(err)
			}
			named = r.Header.Get(idHeader)
			w.Header().Set(idHeader, named)
			io.WriteString(w, whole("Score: 7", "stop"))
		}, judge.Said{Text: "Score: 7", Tokens: 4, Ended: true}, ""},
		{"a cut", say(whole("Score:", "length")), judge.Said{Text: "Score:", Tokens: 4}, ""},
		{"silence", say(whole("", "stop")), judge.Said{Tokens: 4, Ended: true}, ""},
		{"it hangs, or is late", func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
			io.WriteString(w, whole("Score: 7", "stop"))
		}, judge.Said{}, "there is no answer after 0.25 s"},
		{"it begins and hangs", func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			io.WriteString(w, whole("Score: 7", "stop")[:20])
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, judge.Said{}, "there is no answer after 0.25 s"},
		{"it dies", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, judge.Said{}, "cannot be asked: EOF"},
		{"it dies in the middle", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "4000")
			io.WriteString(w, whole("Score: 7", "stop"))
		}, judge.Said{}, "ends early: unexpected EOF"},
		{"another question, as rlzero serve tells", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(idHeader, own+"000000000000000000000000")
			io.WriteString(w, whole("Score: 7", "stop"))
		}, judge.Said{}, "the answer is to another question"},
		{"another question, as vLLM tells", say(strings.Replace(whole("Score: 7", "stop"), "chatcmpl-1", "chatcmpl-"+own+"000000000000000000000000", 1)), judge.Said{}, "the answer is to another question"},
		{"a name of its own", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(idHeader, "req-1")
			io.WriteString(w, whole("Score: 7", "stop"))
		}, judge.Said{Text: "Score: 7", Tokens: 4, Ended: true}, ""},
		{"busy", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusTooManyRequests)
			io.WriteString(w, `{"error":{"message":"too many\nrequests"}}`)
		}, judge.Said{}, "answers with status 429: too many requests"},
		{"overloaded", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }, judge.Said{}, "answers with status 503"},
		{"too long for it", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) }, judge.Said{}, "answers with status 400"},
		{"a page", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			io.WriteString(w, strings.Repeat("<html>", 100))
		}, judge.Said{}, "answers with status 404: <html>"},
		{"elsewhere", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://example.com/", http.StatusTemporaryRedirect)
		}, judge.Said{}, "answers with status 307"},
		{"nonsense", say("Score: 10"), judge.Said{}, "the answer is no chat completion: invalid character"},
		{"no choice", say(`{"choices":[]}`), judge.Said{}, "the answer has 0 choices; accepted: 1"},
		{"two", say(`{"choices":[{},{}]}`), judge.Said{}, "the answer has 2 choices; accepted: 1"},
		{"no text", say(strings.Replace(whole("", "stop"), `"content":""`, `"content":null`, 1)), judge.Said{}, "the answer has no text"},
		{"a call", say(whole("Score: 7", "tool_calls")), judge.Said{}, `ended by finish_reason "tool_calls"; accepted: stop, length`},
		{"tokens", say(strings.Replace(whole("Score: 7", "stop"), `"completion_tokens":4`, `"completion_tokens":-4`, 1)), judge.Said{}, "completion_tokens -4; accepted: 0 to"},
		{"too long", say(whole(strings.Repeat("x", maxReply), "stop")), judge.Said{}, "has more than 1048576 bytes"},
	} {
		s := httptest.NewServer(http.HandlerFunc(c.answer))
		at := panel.Server{Address: s.Listener.Addr().String(), Model: "m", Seconds: 0.25} // long for this machine to answer itself, and short to wait for
		if !strings.Contains(c.fails, "0.25") {
			at.Seconds = 3600
		}
		said, err := New()(t.Context(), at, panel.Query{Text: "Rate this.", MaxTokens: 9, Temperature: 0.5, Seed: 1<<31 - 1})
		s.CloseClientConnections()
		s.Close()
		if failing := errors.As(err, &panel.Failing{}); failing != slices.ContainsFunc(down, func(s string) bool { return strings.Contains(c.fails, s) }) {
			t.Errorf("%s: the server fails: %v, %v", c.about, failing, err)
		}
		if is := errors.As(err, &panel.Refused{}); is != slices.ContainsFunc(refused, func(s string) bool { return strings.Contains(c.fails, s) }) {
			t.Errorf("%s: the question is refused: %v, %v", c.about, is, err)
		}
		if said != c.want || (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%s: %+v, %v; want %+v, %q", c.about, said, err, c.want, c.fails)
		}
	}
	if len(got.Messages) != 1 || got.Messages[0] != (message{"user", "Rate this."}) || got.Model != "m" || got.MaxTokens != 9 || got.Temperature != 0.5 || got.Seed != 1<<31-1 || !strings.HasPrefix(named, own) {
		t.Errorf("%+v, named %q", got, named)
	}
	if _, err := New()(t.Context(), panel.Server{Address: "127.0.0.1:1", Seconds: 3600}, panel.Query{}); err == nil || !strings.HasSuffix(err.Error(), "127.0.0.1:1 cannot be asked: connection refused") {
		t.Errorf("nobody listens: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := New()(ctx, panel.Server{Address: "127.0.0.1:1", Seconds: 3600}, panel.Query{}); err == nil {
		t.Error("an answer after the run was interrupted")
	}
}

// TestAskIdle: a server may close a connection that was kept while the next question is on its way: that is asked again.
func TestAskIdle(t *testing.T) {
	var seen sync.Map // addresses of connections that have had a question
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if _, again := seen.LoadOrStore(r.RemoteAddr, true); again {
			panic(http.ErrAbortHandler)
		}
		io.WriteString(w, whole("Score: 7", "stop"))
	}))
	defer s.Close()
	ask := New()
	for i := range 3 {
		if said, err := ask(t.Context(), panel.Server{Address: s.Listener.Addr().String(), Seconds: 3600}, panel.Query{Text: "Rate this."}); err != nil || said.Text != "Score: 7" {
			t.Errorf("question %d: %+v, %v", i+1, said, err)
		}
	}
}

// FuzzRead: no reply ends the program, and what is read is an answer or an error.
func FuzzRead(f *testing.F) {
	f.Add([]byte(whole("Score: 7", "stop")), "")
	f.Add([]byte(`{"choices":[{"message":{"content":"a"},"finish_reason":"length"}]}`), own+"1")
	f.Add([]byte(`{"id":"chatcmpl-rlzero-2","choices":[]}`), "req-1")
	f.Add([]byte(`[`), "\x00")
	f.Fuzz(func(t *testing.T, text []byte, named string) {
		said, err := read(text, own+"1", named)
		if err != nil && said != (judge.Said{}) || said.Tokens < 0 || said.Fault != "" || len(said.Text) > 3*len(text) { // a byte that is no UTF-8 becomes three
			t.Errorf("%+v, %v", said, err)
		}
		refusal(text)
	})
}
