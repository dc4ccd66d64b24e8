package serve

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/sample"
	"github.com/rlzero/rlzero/rl/chat"
)

// fingerprint names what an answer is a function of, besides the request.
func fingerprint(m *model.Model, weights string) string {
	c := m.Device().Caps()
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s %s\nnumerics %s\n%s\n%s\n%s", weights, m.Config.Dtype, m.Config.KVDtype, c.Numerics, c.Tier, c.Name, c.Driver))
	return fmt.Sprintf("fp_%x", sum[:8])
}

// modelCard is a model as it is listed.
type modelCard struct {
	ID       string       `json:"id"`
	Object   string       `json:"object"`
	Created  int64        `json:"created"`
	Owner    string       `json:"owned_by"`
	Weights  string       `json:"weights"` // digest
	Numerics gpu.Numerics `json:"numerics"`
	Context  int          `json:"max_model_len"`
	Print    string       `json:"system_fingerprint"`
}

func (s *Server) card(one *served) modelCard {
	return modelCard{one.name, "model", s.created, "rlzero", one.weights, one.m.Device().Caps().Numerics, s.o.Engine.Context, one.print}
}

func (s *Server) models(w http.ResponseWriter, _ *http.Request) *fault {
	var cards []modelCard
	for _, one := range s.all() {
		cards = append(cards, s.card(one))
	}
	return writeJSON(w, map[string]any{"object": "list", "data": cards})
}

func (s *Server) oneModel(w http.ResponseWriter, r *http.Request) *fault {
	one, f := s.find(r.PathValue("id"))
	if f != nil {
		return f
	}
	return writeJSON(w, s.card(one))
}

func (s *Server) health(w http.ResponseWriter, _ *http.Request) *fault {
	return writeJSON(w, map[string]string{"status": "ok"})
}

func (s *Server) version(w http.ResponseWriter, _ *http.Request) *fault {
	return writeJSON(w, map[string]any{"numerics": s.m.Device().Caps().Numerics, "system_fingerprint": s.print})
}

// metrics tells what the server does, for Prometheus:
// https://prometheus.io/docs/instrumenting/exposition_formats/
func (s *Server) metrics(w http.ResponseWriter, _ *http.Request) *fault {
	var b strings.Builder
	head := func(name, kind, meaning string) {
		fmt.Fprintf(&b, "# HELP rlzero_%s %s\n# TYPE rlzero_%s %s\n", name, meaning, name, kind)
	}
	head("requests_in_flight", "gauge", "requests for completions that wait or are being answered")
	fmt.Fprintf(&b, "rlzero_requests_in_flight %d\n", s.inFlight.Load())
	all := s.all()
	states := make([]sample.State, len(all))
	for i, one := range all {
		states[i] = one.engine.State()
	}
	row := func(name, kind, meaning string, value func(sample.State) int) {
		head(name, kind, meaning)
		for i, one := range all {
			fmt.Fprintf(&b, "rlzero_%s{model=%q} %d\n", name, one.name, value(states[i]))
		}
	}
	row("prompts_waiting", "gauge", "prompts that have no room in the engine yet", func(e sample.State) int { return e.Waiting })
	row("prompts_active", "gauge", "prompts whose completions are being drawn", func(e sample.State) int { return e.Active })
	row("completions_active", "gauge", "completions that are being drawn", func(e sample.State) int { return e.Completions })
	row("pages", "gauge", "pages of the key/value cache, of 32 tokens each", func(e sample.State) int { return e.Pages })
	row("pages_used", "gauge", "pages in use", func(e sample.State) int { return e.Used })
	row("pages_kept", "gauge", "runs of 32 tokens of prompts and completions that are kept for prompts that begin alike", func(e sample.State) int { return e.Kept })
	row("steps_total", "counter", "forward passes", func(e sample.State) int { return e.Steps })
	row("tokens_total", "counter", "tokens drawn", func(e sample.State) int { return e.Tokens })
	row("prompt_tokens_total", "counter", "prompt tokens computed", func(e sample.State) int { return e.Prompt })
	row("prompt_tokens_kept_total", "counter", "prompt tokens whose keys were kept", func(e sample.State) int { return e.FromCache })
	row("set_back_total", "counter", "times that a prompt was set back because no page was free", func(e sample.State) int { return e.SetBack })
	head("responses_total", "counter", "responses by class of their status")
	for class := 2; class < len(s.replies); class++ {
		fmt.Fprintf(&b, "rlzero_responses_total{status=\"%dxx\"} %d\n", class, s.replies[class].Load())
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	extend(w)
	w.Write([]byte(b.String()))
	return nil
}

// tokenizing is the body of /tokenize and /detokenize, in vLLM's form.
type tokenizing struct {
	model    string
	text     *string
	messages []turn
	ids      []int
	strings  bool
}

var tokenizeKeys = keys[tokenizing]{
	{"model", word(func(t *tokenizing) *string { return &t.model })},
	{"prompt", func(t *tokenizing, name string, raw json.RawMessage) *fault {
		t.text = new(string)
		return word(func(t *tokenizing) *string { return t.text })(t, name, raw)
	}},
	{"messages", func(t *tokenizing, name string, raw json.RawMessage) (err *fault) {
		t.messages, err = readTurns(name, raw)
		return err
	}},
	{"add_generation_prompt", only[tokenizing]("messages are read as they are to be answered", "true")},
	{"add_special_tokens", only[tokenizing]("no token is added to a text", "false")},
	{"return_token_strs", truth(func(t *tokenizing) *bool { return &t.strings })},
}

var detokenizeKeys = keys[tokenizing]{
	{"model", word(func(t *tokenizing) *string { return &t.model })},
	{"tokens", idList(func(t *tokenizing) *[]int { return &t.ids })},
}

// read reads the body of a request about tokens.
func (s *Server) read(w http.ResponseWriter, r *http.Request, known keys[tokenizing]) (*tokenizing, *fault) {
	data, f := readBody(w, r)
	if f != nil {
		return nil, f
	}
	t := &tokenizing{}
	var ignored []string
	s.parsed(func() { ignored, f = known.read("", data, t, s.o.Lenient) })
	if f != nil {
		return nil, f
	}
	if len(ignored) > 0 {
		w.Header().Set(ignoredHeader, headerSafe(strings.Join(ignored, ", ")))
	}
	if _, f := s.find(t.model); f != nil {
		return nil, f
	}
	if s.m.Tokenizer == nil {
		return nil, bad("", "the model has no tokenizer")
	}
	return t, nil
}

func (s *Server) tokenize(w http.ResponseWriter, r *http.Request) *fault {
	t, f := s.read(w, r, tokenizeKeys)
	if f != nil {
		return f
	}
	var list []int
	switch {
	case (t.text == nil) == (t.messages == nil):
		return bad("prompt", `accepted: one of "prompt" and "messages"`)
	case t.text == nil:
		if f = s.chats("messages"); f == nil {
			list, f = s.chatPrompt(t.messages, "messages", chat.Conversation{})
		}
		if f != nil {
			return f
		}
	default:
		var err error
		if list, err = s.m.Tokenizer.Encode(*t.text); err != nil {
			return bad("prompt", "prompt: %v", err)
		}
	}
	out := struct {
		Count   int      `json:"count"`
		Context int      `json:"max_model_len"`
		Tokens  []int    `json:"tokens"`
		Strings []string `json:"token_strs"`
	}{len(list), s.o.Engine.Context, append([]int{}, list...), nil}
	if t.strings {
		out.Strings = []string{}
		for _, id := range list {
			out.Strings = append(out.Strings, s.m.Tokenizer.Token(id))
		}
	}
	return writeJSON(w, out)
}

func (s *Server) detokenize(w http.ResponseWriter, r *http.Request) *fault {
	t, f := s.read(w, r, detokenizeKeys)
	if f != nil {
		return f
	}
	if t.ids == nil {
		return bad("tokens", `there are no "tokens"; accepted: a list of token ids`)
	}
	if f := s.inVocabulary("tokens", t.ids); f != nil {
		return f
	}
	return writeJSON(w, map[string]string{"prompt": s.m.Tokenizer.Decode(t.ids)})
}
