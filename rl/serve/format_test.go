package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

const cityFormat = `"response_format":{"type":"json_schema","json_schema":{"name":"city","strict":true,"schema":{"type":"object","properties":{"n":{"type":"integer","minimum":1,"maximum":99},"kind":{"enum":["a","b"]},"on":{"type":"boolean"}},"required":["n","kind","on"],"additionalProperties":false}}}`

// TestFormat: the answers of an untrained model have the form that is asked for.
func TestFormat(t *testing.T) {
	s := plain(t, nil)
	for seed := range 8 {
		for _, path := range []string{"/v1/chat/completions", "/v1/completions"} {
			body := fmt.Sprintf(`{"messages":[{"role":"user","content":"a city"}],"max_tokens":200,"seed":%d,"n":2,%s}`, seed, cityFormat)
			if path == "/v1/completions" {
				body = strings.Replace(body, `"messages":[{"role":"user","content":"a city"}]`, `"prompt":"a city"`, 1)
			}
			for i, c := range got[spoken](t, s, path, body).Choices {
				var city struct {
					N    int
					Kind string
					On   *bool
				}
				text := c.Message.Content + c.Text
				dec := json.NewDecoder(strings.NewReader(text))
				dec.DisallowUnknownFields()
				if err := dec.Decode(&city); err != nil || city.N < 1 || city.N > 99 || city.Kind != "a" && city.Kind != "b" || city.On == nil || c.Finish != "stop" {
					t.Errorf("%s: choice %d: %q, %s, %v", path, i, text, c.Finish, err)
				}
			}
		}
		body := fmt.Sprintf(`{"messages":[{"role":"user","content":"x"}],"seed":%d,"max_tokens":60,"response_format":{"type":"json_object"}}`, seed)
		c := got[spoken](t, s, "/v1/chat/completions", body).Choices[0]
		if !strings.HasPrefix(c.Message.Content, "{") || c.Finish == "stop" && !json.Valid([]byte(c.Message.Content)) {
			t.Errorf("json_object: %q, %s", c.Message.Content, c.Finish)
		}
	}
}

// TestFormatUnderLoad: answers of a form have the same bytes beside others as alone, with
// log-probs of the whole distribution.
func TestFormatUnderLoad(t *testing.T) {
	s := plain(t, nil)
	var bodies, want []string
	for i := range 12 {
		body := fmt.Sprintf(`{"messages":[{"role":"user","content":"number %d"}],"max_tokens":40,"seed":%d,"logprobs":true,"top_logprobs":2,"temperature":%d`, i, i, i%2)
		if i%3 > 0 {
			body += "," + cityFormat
		}
		bodies = append(bodies, body+"}")
		_, text := ask(t, s, "/v1/chat/completions", bodies[i])
		want = append(want, text)
	}
	var all sync.WaitGroup
	for i, body := range bodies {
		all.Go(func() {
			w := httptest.NewRecorder()
			s.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "POST", "/v1/chat/completions", strings.NewReader(body)))
			if got := w.Body.String(); got != want[i] {
				t.Errorf("request %d:\n%s\nalone:\n%s", i, got, want[i])
			}
		})
	}
	all.Wait()
	if bytes.Contains([]byte(want[1]), []byte(`"error"`)) {
		t.Error(want[1])
	}
}

func TestFormatRefused(t *testing.T) {
	s := plain(t, nil)
	for format, want := range map[string]string{
		`"json"`:                 `response_format is the text \"json\"; accepted: an object`,
		`{}`:                     `has no \"type\"`,
		`{"type":"xml"}`:         `accepted: \"text\", \"json_object\", \"json_schema\"`,
		`{"type":"json_schema"}`: `there is no \"response_format.json_schema\"`,
		`{"type":"json_schema","json_schema":{"name":"x"}}`:                                           `there is no \"response_format.json_schema.schema\"`,
		`{"type":"json_schema","json_schema":{"name":"x","schema":{"allOf":[]}}}`:                     `"code":"unsupported_schema","message":"response_format.json_schema.schema: the schema at /allOf: the keyword`,
		`{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"integer","minimum":0.5}}}`: `/minimum: found 0.5`,
		`{"type":"json_object","json_schema":{}}`:                                                     `goes with the type`,
		`{"type":"json_object","typo":1}`:                                                             `the key \"typo\" is not known here`,
	} {
		status, text := ask(t, s, "/v1/completions", `{"prompt":"x","response_format":`+format+`}`)
		if status != 400 || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s, want %s", format, status, text, want)
		}
	}
}

// TestGrammarsKept: few grammars are kept, the last ones.
func TestGrammarsKept(t *testing.T) {
	s := plain(t, nil)
	for i := range 2 * maxGrammars {
		body := fmt.Sprintf(`{"prompt":"x","max_tokens":1,"response_format":{"type":"json_schema","json_schema":{"schema":{"const":%d}}}}`, i)
		got[spoken](t, s, "/v1/completions", body)
		got[spoken](t, s, "/v1/completions", `{"prompt":"x","max_tokens":1,"response_format":{"type":"json_object"}}`)
	}
	if n := len(s.grammars.list); n != maxGrammars {
		t.Errorf("%d grammars are kept", n)
	}
	if last := s.grammars.list[maxGrammars-1].key; !strings.HasSuffix(last, "object") {
		t.Errorf("the last is %q", last)
	}
}
