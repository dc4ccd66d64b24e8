package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model/memory"
	"github.com/rlzero/rlzero/model/seq"
)

// TestCheck: an answer is proved right, and a forged one wrong at the token that was
// changed.
func TestCheck(t *testing.T) {
	s := plain(t, nil)
	const how = `"seed":11,"temperature":0.8,"top_p":0.95,"draw_stream":3`
	a := got[spoken](t, s, "/v1/completions", `{"prompt":"hello","n":2,"max_tokens":40,"logprobs":0,"return_token_ids":true,`+how+`}`).Choices[1]
	claim := func(ids []int, logprobs []*float32) verdict {
		list := func(v any) string {
			data, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			return string(data)
		}
		body := fmt.Sprintf(`{"prompt_token_ids":%s,"token_ids":%s,"logprobs":%s,%s}`, list(a.Prompt), list(ids), list(logprobs), strings.Replace(how, ":3", ":4", 1))
		return got[verdict](t, s, "/v1/check", body)
	}
	if v := claim(a.IDs, a.Logprobs.Logprob); !v.Equal || v.Difference != nil || v.Tokens != len(a.IDs) {
		t.Errorf("%+v", v)
	}
	for at := range a.IDs {
		ids := slices.Clone(a.IDs)
		ids[at] = (ids[at] + 1) % 261
		if v := claim(ids, nil); v.Equal || v.Difference.Token != at || v.Difference.What != "id" || v.Difference.Right != float64(a.IDs[at]) {
			t.Errorf("token %d: %+v", at, v.Difference)
		}
		logprobs := slices.Clone(a.Logprobs.Logprob)
		other := math.Nextafter32(*logprobs[at], 1)
		logprobs[at] = &other
		if v := claim(a.IDs, logprobs); v.Equal || v.Difference.Token != at || v.Difference.What != "logprob" {
			t.Errorf("log-prob %d: %+v", at, v.Difference)
		}
	}
}

// TestCheckForm: what was drawn under a grammar is proved with it, and is another completion
// without it; what comes after its end is a difference.
func TestCheckForm(t *testing.T) {
	s := plain(t, nil)
	how := `"seed":11,` + cityFormat
	a := got[spoken](t, s, "/v1/completions", `{"prompt":"a city","max_tokens":200,"return_token_ids":true,`+how+`}`).Choices[0]
	claim := func(ids []int, how string) verdict {
		list, err := json.Marshal([][]int{a.Prompt, ids})
		if err != nil {
			t.Fatal(err)
		}
		prompt, drawn, _ := strings.Cut(strings.Trim(string(list), "[]"), "],[")
		return got[verdict](t, s, "/v1/check", `{"prompt_token_ids":[`+prompt+`],"token_ids":[`+drawn+`],`+how+`}`)
	}
	if v := claim(a.IDs, how); !v.Equal {
		t.Errorf("%+v", v.Difference)
	}
	if v := claim(a.IDs, `"seed":11`); v.Equal {
		t.Error("without the grammar the same is drawn")
	}
	if v := claim(append(slices.Clone(a.IDs), 7), how); v.Equal || v.Difference.Token != len(a.IDs) || v.Difference.Right != nil {
		t.Errorf("after the end: %+v", v.Difference)
	}
}

// TestEcho: the log-probs of a prompt that is echoed have the bits of rlzero score, alone
// and before a completion, and so do those in vLLM's form.
func TestEcho(t *testing.T) {
	s := plain(t, nil)
	scorer, err := s.m.NewScorer(256)
	if err != nil {
		t.Fatal(err)
	}
	defer scorer.Close()
	const prompt = "a prompt of some length, é"
	for _, c := range []struct {
		max         int
		temperature float64
	}{{0, 0}, {0, 1}, {5, 0.5}} {
		given := c.temperature
		if c.temperature == 0 {
			c.temperature = 1
		}
		for _, a := range got[spoken](t, s, "/v1/completions", fmt.Sprintf(`{"prompt":%q,"n":2,"echo":true,"logprobs":2,"prompt_logprobs":0,"max_tokens":%d,"temperature":%v,"seed":1,"return_token_ids":true}`, prompt, c.max, given)).Choices {
			ids, l := slices.Concat(a.Prompt, a.IDs), a.Logprobs
			stats, err := scorer.Score([]seq.Sequence{seq.Predict(ids, 1, c.temperature)})
			if err != nil {
				t.Fatal(err)
			}
			if len(a.IDs) != c.max || len(l.Tokens) != len(ids) || len(l.Logprob) != len(ids) || len(l.Top) != len(ids) || len(l.Offset) != len(ids) || l.Logprob[0] != nil || l.Top[0] != nil || a.PromptLogprobs[0] != nil {
				t.Fatalf("%+v", a)
			}
			for i, want := range stats[0].Logprob {
				if got := *l.Logprob[i+1]; math.Float32bits(got) != math.Float32bits(want) {
					t.Errorf("token %d: %v, want %v", i+1, got, want)
				}
				if i+1 < len(a.Prompt) {
					if got := a.PromptLogprobs[i+1][fmt.Sprint(ids[i+1])].Logprob; math.Float32bits(got) != math.Float32bits(want) {
						t.Errorf("prompt token %d: %v, want %v", i+1, got, want)
					}
				}
				if n := len(l.Top[i+1]); n < 2 || n > 3 {
					t.Errorf("token %d: %d most likely ones", i+1, n)
				}
			}
			if !strings.HasPrefix(a.Text, prompt) {
				t.Errorf("text %q", a.Text)
			}
			for i, at := range l.Offset[:len(a.Prompt)-2] { // é is two tokens
				if rest := []rune(prompt)[at:]; !strings.HasPrefix(string(rest), l.Tokens[i]) {
					t.Errorf("token %d, %q, is not at character %d", i, l.Tokens[i], at)
				}
			}
		}
	}
}

// TestTokens: text becomes ids and text again.
func TestTokens(t *testing.T) {
	s := plain(t, nil)
	type tokens struct {
		Count   int
		Max     int `json:"max_model_len"`
		Tokens  []int
		Strings []string `json:"token_strs"`
	}
	a := got[tokens](t, s, "/tokenize", `{"model":"tiny","prompt":"hé","return_token_strs":true}`)
	if a.Count != 3 || a.Max != 256 || len(a.Tokens) != 3 || len(a.Strings) != 3 {
		t.Errorf("%+v", a)
	}
	ids, err := json.Marshal(a.Tokens)
	if err != nil {
		t.Fatal(err)
	}
	if b := got[struct{ Prompt string }](t, s, "/detokenize", `{"tokens":`+string(ids)+`}`); b.Prompt != "hé" {
		t.Errorf("%q", b.Prompt)
	}
	talk := got[tokens](t, s, "/tokenize", `{"messages":[{"role":"user","content":"hé"}]}`)
	if want := got[spoken](t, s, "/v1/chat/completions", `{"messages":[{"role":"user","content":"hé"}],"max_tokens":1}`).Usage.Prompt; talk.Count != want {
		t.Errorf("%d tokens, and a chat has %d", talk.Count, want)
	}
}

// TestUnscaled: with logprobs_at 1 the tokens stay the same, and the log-probs of prompt and
// completion are those that rlzero score gives at temperature 1.
func TestUnscaled(t *testing.T) {
	s := plain(t, nil)
	scorer, err := s.m.NewScorer(256)
	if err != nil {
		t.Fatal(err)
	}
	defer scorer.Close()
	const body = `{"prompt":"a prompt","echo":true,"logprobs":1,"max_tokens":6,"temperature":0.5,"seed":1,"return_token_ids":true`
	scaled := got[spoken](t, s, "/v1/completions", body+"}").Choices[0]
	a := got[spoken](t, s, "/v1/completions", body+`,"logprobs_at":1}`).Choices[0]
	ids := slices.Concat(a.Prompt, a.IDs)
	if !slices.Equal(ids, slices.Concat(scaled.Prompt, scaled.IDs)) {
		t.Error("other tokens are drawn")
	}
	stats, err := scorer.Score([]seq.Sequence{seq.Predict(ids, 1, 1)})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range stats[0].Logprob {
		if got := *a.Logprobs.Logprob[i+1]; math.Float32bits(got) != math.Float32bits(want) || got == *scaled.Logprobs.Logprob[i+1] {
			t.Errorf("token %d: %v, want %v", i+1, got, want)
		}
	}
}

// TestInfo: what is served, and how it fares.
func TestInfo(t *testing.T) {
	s := plain(t, nil)
	if e := s.engine.State(); e.Pages == 0 || e.Used != 0 {
		t.Errorf("before the first request the engine has %d pages and uses %d", e.Pages, e.Used)
	}
	list := got[struct{ Data []modelCard }](t, s, "/v1/models", "")
	if one := got[modelCard](t, s, "/v1/models/tiny", ""); len(list.Data) != 1 || list.Data[0] != one || one.ID != "tiny" || one.Weights != "digest" || one.Context != 256 || one.Print != s.print {
		t.Errorf("%+v", list)
	}
	for _, path := range []string{"/health", "/version"} {
		if status, body := ask(t, s, path, ""); status != 200 {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	long := strings.Repeat("a", 70)
	for range 2 {
		got[spoken](t, s, "/v1/completions", `{"prompt":"`+long+`","max_tokens":3,"seed":1}`)
	}
	_, body := ask(t, s, "/metrics", "")
	for _, row := range []string{`rlzero_tokens_total{model="tiny"} 6` + "\n", `rlzero_prompt_tokens_kept_total{model="tiny"} 64` + "\n", `rlzero_responses_total{status="2xx"} 6` + "\n", "rlzero_requests_in_flight 0\n"} {
		if !strings.Contains(body, row) {
			t.Errorf("%q is not in %s", row, body)
		}
	}
}

// TestFits: a cache that has room once has none for that of an adapter.
func TestFits(t *testing.T) {
	s := plain(t, nil)
	caps, o := s.m.Device().Caps(), s.o.Engine
	plan, err := memory.Plan(s.m.Config, caps, memory.Use{Positions: s.m.Positions(), Engine: &o})
	if err != nil {
		t.Fatal(err)
	}
	caps.Memory = plan.Total()
	if err := fits(s.m, caps, o, 1); err != nil {
		t.Errorf("alone: %v", err)
	}
	if err := fits(s.m, caps, o, 2); !errors.Is(err, gpu.ErrOutOfMemory) || !strings.Contains(err.Error(), "engines of adapters") {
		t.Errorf("with an adapter: %v", err)
	}
}
