package serve

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/gpu/refdev"
	"github.com/rlzero/rlzero/internal/fixtures"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/rl/chat"
)

// refused is what a client reads of a refusal.
type refused struct {
	Error struct {
		Message, Type string
		Param, Code   *string
	}
}

func orEmpty(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}

const (
	completions = "/v1/completions"
	talk        = "/v1/chat/completions"
	responses   = "/v1/responses"
	said        = "/v1/messages"
	embeds      = "/v1/embeddings"
	hello       = `"messages":[{"role":"user","content":"hello"}]`
)

var refusals = []struct {
	path, body  string
	status      int
	param, code string
	says        string
}{
	{completions, `{`, 400, "", "", "the body is not JSON: it ends before the object does"},
	{completions, `{"prompt":"a`, 400, "", "", "prompt is not JSON: it ends before the object does"},
	{completions, `{"prompt":a}`, 400, "", "", "prompt is not JSON: invalid character 'a'"},
	{completions, `[1]`, 400, "", "invalid_type", "the body is a list; accepted: an object"},
	{completions, `{"prompt":"a"} x`, 400, "", "", "more after the object"},
	{completions, "{\"prompt\":\"\xff\"}", 400, "", "", "not UTF-8"},
	{completions, `{"prompt":"a","stop":["\ude00\ud83d"]}`, 400, "", "", `the escape \ude00 without its other half`},
	{completions, `{"prompt":[]}`, 400, "prompt", "empty_array", "prompt is an empty list"},
	{completions, `{"prompt":"a","prompt":"b"}`, 400, "prompt", "", "twice"},
	{completions, `{}`, 400, "prompt", "missing_required_parameter", `there is no "prompt"`},
	{completions, `{"prompt":""}`, 400, "prompt", "", "no tokens"},
	{completions, `{"prompt":null}`, 400, "prompt", "missing_required_parameter", `there is no "prompt"`},
	{completions, `{"prompt":{}}`, 400, "prompt", "invalid_type", "a list of texts"},
	{completions, `{"prompt":["a",null]}`, 400, "prompt[1]", "invalid_type", "null"},
	{completions, `{"prompt":[1,null]}`, 400, "prompt", "invalid_type", "whole numbers"},
	{completions, `{"prompt":[[1],[261]]}`, 400, "prompt[1]", "", "0 to 260"},
	{completions, `{"prompt":[-1]}`, 400, "prompt", "", "0 to 260"},
	{completions, `{"prompt":"a","tempreature":1}`, 400, "tempreature", "unknown_parameter", `did you mean "temperature"?`},
	{completions, `{"prompt":"a","temperature":-1}`, 400, "temperature", "decimal_below_min_value", "from 0.0001"},
	{completions, `{"prompt":"a","temperature":"1"}`, 400, "temperature", "invalid_type", `is the text "1"; accepted`},
	{completions, `{"prompt":"a","top_p":0}`, 400, "top_p", "decimal_below_min_value", "above 0"},
	{completions, `{"prompt":"a","n":0}`, 400, "n", "integer_below_min_value", "from 1 to 128"},
	{completions, `{"prompt":"a","n":1.5}`, 400, "n", "invalid_type", "from 1 to 128"},
	{completions, `{"prompt":"a","n":2,"best_of":4}`, 400, "best_of", "unsupported_parameter", "the same number"},
	{completions, `{"prompt":"a","seed":-1}`, 400, "seed", "integer_below_min_value", "from 0"},
	{completions, `{"prompt":"a","stop":[""]}`, 400, "stop", "", "empty"},
	{completions, `{"prompt":"a","stop":[null]}`, 400, "stop", "invalid_type", "a list of texts"},
	{completions, `{"prompt":"a","logprobs":21}`, 400, "logprobs", "integer_above_max_value", "0 to 20"},
	{completions, `{"prompt":"a","logprobs":true}`, 400, "logprobs", "invalid_type", "0 to 20"},
	{completions, `{"prompt":"a","max_tokens":0}`, 400, "max_tokens", "", "0 with echo"},
	{completions, `{"prompt":"a","max_tokens":300}`, 400, "prompt", "context_length_exceeded", "256"},
	{completions, `{"prompt":"` + strings.Repeat("a", 64*256+1) + `"}`, 400, "prompt", "context_length_exceeded", "16385 bytes, and the context of this server has 256 tokens; accepted: at most 16384 bytes"},
	{completions, `{"prompt":["a","` + strings.Repeat("a", 64*256+1) + `"]}`, 400, "prompt[1]", "context_length_exceeded", "16385 bytes"},
	{completions, `{"prompt":"a","logprobs_at":0.5}`, 400, "logprobs_at", "unsupported_parameter", "accepted: 1"},
	{completions, `{"prompt":"a","suffix":"b"}`, 400, "suffix", "unsupported_parameter", "at its end"},
	{completions, `{"prompt":"a","presence_penalty":0.5}`, 400, "presence_penalty", "unsupported_parameter", "accepted: 0"},
	{completions, `{"prompt":"a","logit_bias":{"5":1}}`, 400, "logit_bias", "unsupported_parameter", "accepted: {}"},
	{completions, `{"prompt":"a","stream_options":{}}`, 400, "stream_options", "", "goes with stream"},
	{completions, `{"prompt":"a","stream":true,"stream_options":{"x":1}}`, 400, "stream_options.x", "unknown_parameter", "include_usage"},
	{completions, `{"prompt":"a","stream":true,"echo":true,"logprobs":1}`, 400, "stream", "unsupported_parameter", "in a stream"},
	{completions, `{"prompt":"a","model":"other"}`, 404, "model", "model_not_found", `accepted: "tiny"`},
	{completions, `{"prompt":"a","messages":[]}`, 400, "messages", "unknown_parameter", "not known here"},
	{talk, `{}`, 400, "messages", "missing_required_parameter", `there is no "messages"`},
	{talk, `{"messages":[{"role":"king","content":"a"}]}`, 400, "messages[0].role", "invalid_value", `is the text "king"; accepted: "system"`},
	{talk, `{"messages":[]}`, 400, "messages", "empty_array", "a list of messages"},
	{talk, `{"messages":[null]}`, 400, "messages[0]", "invalid_type", "messages[0] is null; accepted: an object"},
	{talk, `{"messages":[{"content":"a"}]}`, 400, "messages[0].role", "missing_required_parameter", "no role"},
	{talk, `{"messages":[{"role":"user"}]}`, 400, "messages[0].content", "missing_required_parameter", "no content"},
	{talk, `{"messages":[{"role":"robot","content":"a"}]}`, 400, "messages[0].role", "invalid_value", "accepted: \"system\""},
	{talk, `{"messages":[{"role":"tool","content":"a"}]}`, 400, "messages[0].role", "unsupported_parameter", "no calls of tools"},
	{talk, `{"messages":[{"role":"user","content":"a","nmae":"b"}]}`, 400, "messages[0].nmae", "unknown_parameter", `did you mean "name"?`},
	{talk, `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}}]}]}`, 400, "messages[0].content[0].type", "unsupported_parameter", "text alone"},
	{talk, `{"messages":[{"role":"user","content":"<|im_end|>"}]}`, 400, "messages", "", "control token"},
	{talk, `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}`, 400, "messages", "", "nothing to answer"},
	{talk, `{` + hello + `,"tools":[{"type":"function"}]}`, 400, "tools[0].type", "invalid_value", "is no function"},
	{talk, `{` + hello + `,"tools":[{"type":"function","function":{"name":"f"}}]}`, 400, "tools", "unsupported_parameter", "no calls of tools"},
	{talk, `{` + hello + `,"tool_choice":"required"}`, 400, "tool_choice", "", "there are no tools"},
	{talk, `{` + hello + `,"response_format":{"type":"xml"}}`, 400, "response_format.type", "invalid_value", `accepted: "text"`},
	{talk, `{` + hello + `,"response_format":{"type":"json_schema","json_schema":{"schema":{"not":{}}}}}`, 400, "response_format.json_schema.schema", "unsupported_schema", `at /not: the keyword "not"`},
	{talk, `{` + hello + `,"top_logprobs":2}`, 400, "top_logprobs", "", "goes with logprobs"},
	{talk, `{` + hello + `,"logprobs":3}`, 400, "logprobs", "invalid_type", "true, false"},
	{talk, `{` + hello + `,"max_tokens":3,"max_completion_tokens":4}`, 400, "max_tokens", "", "mean the same"},
	{talk, `{` + hello + `,"max_tokens":256}`, 400, "messages", "context_length_exceeded", "256"},
	{talk, `{"messages":[{"role":"system","content":"a"},{"role":"user","content":[{"type":"text","text":"` + strings.Repeat("b", 64*256) + `"}]}]}`, 400, "messages", "context_length_exceeded", "16385 bytes"},
	{talk, `{` + hello + `,"reasoning_effort":"low"}`, 400, "reasoning_effort", "unsupported_parameter", "does not read reasoning_effort"},
	{"/v1/check", `{"prompt_token_ids":[1],"token_ids":[1]}`, 400, "seed", "missing_required_parameter", `there is no "seed"`},
	{"/v1/check", `{"prompt_token_ids":[1],"seed":1}`, 400, "token_ids", "missing_required_parameter", "at least one"},
	{"/v1/check", `{"prompt_token_ids":[1],"token_ids":[1],"logprobs":[1,2],"seed":1}`, 400, "logprobs", "", "one for each"},
	{"/v1/check", `{"prompt_token_ids":[1],"token_ids":[1],"logprobs":[1e99],"seed":1}`, 400, "logprobs[0]", "", "float32"},
	{"/tokenize", `{}`, 400, "prompt", "", "one of"},
	{"/tokenize", `{"prompt":"a","add_special_tokens":true}`, 400, "add_special_tokens", "unsupported_parameter", "accepted: false"},
	{"/detokenize", `{}`, 400, "tokens", "", "there are no"},
	{"/detokenize", `{"tokens":[999]}`, 400, "tokens", "", "0 to 260"},
	{responses, `{}`, 400, "input", "missing_required_parameter", `there is no "input"`},
	{responses, `{"input":[]}`, 400, "input", "empty_array", "a list of items"},
	{responses, `{"input":["a"]}`, 400, "input[0]", "invalid_type", "accepted: an object"},
	{responses, `{"input":[{"role":"tool","content":"a"}]}`, 400, "input[0].role", "invalid_value", "accepted: \"system\""},
	{responses, `{"input":[{"role":"user"}]}`, 400, "input[0].content", "missing_required_parameter", "no content"},
	{responses, `{"input":[{"role":"user","content":[{"type":"input_image","image_url":"x"}]}]}`, 400, "input[0].content[0].type", "unsupported_parameter", "text alone"},
	{responses, `{"input":[{"type":"item_reference","id":"x"}]}`, 400, "input[0].type", "unsupported_parameter", "function_call_output"},
	{responses, `{"input":[{"type":"function_call","call_id":"c","name":"f","arguments":"1"}]}`, 400, "input[0].arguments", "", "not a JSON object"},
	{responses, `{"input":[{"type":"function_call","call_id":"c","arguments":"{}"}]}`, 400, "input[0].name", "missing_required_parameter", "no name"},
	{responses, `{"input":[{"type":"function_call_output","call_id":"c"}]}`, 400, "input[0].output", "missing_required_parameter", "no output"},
	{responses, `{"input":"a","max_output_tokens":0}`, 400, "max_output_tokens", "integer_below_min_value", "from 1"},
	{responses, `{"input":"a","max_output_tokens":256}`, 400, "input", "context_length_exceeded", "256"},
	{responses, `{"input":"` + strings.Repeat("b", 64*256+1) + `"}`, 400, "input", "context_length_exceeded", "16385 bytes"},
	{responses, `{"input":"a","store":true}`, 400, "store", "unsupported_parameter", "answers are not stored"},
	{responses, `{"input":"a","previous_response_id":"resp_1"}`, 400, "previous_response_id", "unsupported_parameter", "send the whole conversation"},
	{responses, `{"input":"a","tools":[{"type":"web_search"}]}`, 400, "tools[0].type", "unsupported_parameter", "no tools of its own"},
	{responses, `{"input":"a","text":{"format":{"type":"json_schema","schema":{"not":{}}}}}`, 400, "text.format.schema", "unsupported_schema", "at /not"},
	{responses, `{"input":"a","top_logprobs":2}`, 400, "top_logprobs", "", "goes with an include"},
	{responses, `{"input":"a","include":["file_search_call.results"]}`, 400, "include[0]", "unsupported_parameter", "logprobs"},
	{responses, `{"input":"a","reasoning":{"effort":"low"}}`, 400, "reasoning.effort", "unsupported_parameter", "does not read reasoning_effort"},
	{responses, `{"input":"a","messages":[]}`, 400, "messages", "unknown_parameter", "not known here"},
	{embeds, `{}`, 400, "input", "missing_required_parameter", `there is no "input"`},
	{embeds, `{"input":[]}`, 400, "input", "empty_array", "a list of texts"},
	{embeds, `{"input":["a",""]}`, 400, "input[1]", "", "no tokens"},
	{embeds, `{"input":"a","dimensions":8}`, 400, "dimensions", "unsupported_parameter", "accepted: 16"},
	{embeds, `{"input":"a","pooling":"max"}`, 400, "pooling", "invalid_value", "mean"},
	{embeds, `{"input":["a","` + strings.Repeat("b", 300) + `"]}`, 400, "input[1]", "context_length_exceeded", "text 1 has 300"},
	{embeds, `{"input":"` + strings.Repeat("b", 64*256+1) + `"}`, 400, "input", "context_length_exceeded", "16385 bytes"},
	{completions, `{"prompt":"a","ignore_eos":true,"response_format":{"type":"json_object"}}`, 400, "ignore_eos", "unsupported_parameter", "ends with it"},
	{talk, `{` + hello + `,"reasoning_effort":"huge"}`, 400, "reasoning_effort", "invalid_value", "xhigh"},
	{"/v1/files", `{}`, 404, "", "unknown_url", "/v1/chat/completions"},
	{"/v1/models/other", "", 404, "model", "model_not_found", `accepted: "tiny"`},
	{"/v1/completions", "", 405, "", "", "accepted: POST"},
	{"/v1/models", "{}", 405, "", "", "accepted: GET"},
	{completions, `{"prompt":"` + strings.Repeat("a", maxBody) + `"}`, 413, "", "", "8388608 bytes"},
}

// TestRefusals: every fault of a request has its status, the key that is wrong, and a text
// that says what is accepted.
func TestRefusals(t *testing.T) {
	s := plain(t, nil)
	for _, c := range refusals {
		status, body := ask(t, s, c.path, c.body)
		var r refused
		if err := json.Unmarshal([]byte(body), &r); err != nil {
			t.Fatalf("%s %.200s: %v in %s", c.path, c.body, err, body)
		}
		if status != c.status || orEmpty(r.Error.Param) != c.param || orEmpty(r.Error.Code) != c.code || r.Error.Type != invalid || !strings.Contains(r.Error.Message, c.says) {
			t.Errorf("%s %.200s: %d %s; want %d, param %q, code %q, %q", c.path, c.body, status, body, c.status, c.param, c.code, c.says)
		}
	}
}

// TestMessageRefusals: those of /v1/messages have Anthropic's shape.
func TestMessageRefusals(t *testing.T) {
	s := plain(t, nil)
	const hi = `"messages":[{"role":"user","content":"a"}]`
	for _, c := range []struct {
		body   string
		status int
		kind   string
		says   string
	}{
		{`{`, 400, invalid, "the body is not JSON"},
		{`{}`, 400, invalid, `there is no "messages"`},
		{`{"messages":[]}`, 400, invalid, "an empty list"},
		{`{"messages":[{"role":"system","content":"a"}]}`, 400, invalid, `messages[0].role is the text "system"; accepted: "user", "assistant"`},
		{`{"messages":[{"content":"a"}]}`, 400, invalid, "messages[0] has no role"},
		{`{"messages":[{"role":"user"}]}`, 400, invalid, "messages[0] has no content"},
		{`{"messages":[{"role":"user","content":[]}]}`, 400, invalid, "messages[0].content is an empty list"},
		{`{"messages":[{"role":"user","content":[{"type":"image"}]}]}`, 400, invalid, "messages[0].content[0].type is the text \"image\": models read text alone"},
		{`{"messages":[{"role":"user","content":[{"type":"tool_use","id":"1","name":"f","input":{}}]}]}`, 400, invalid, "messages[0].content[0]"},
		{`{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":1}]}]}`, 400, invalid, "messages[0].content[0].input is the number 1; accepted: an object"},
		{`{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"1","input":{}}]}]}`, 400, invalid, "messages[0].content[0] has no name"},
		{`{` + hi + `,"max_tokens":256}`, 400, invalid, "the context of this server has 256 tokens"},
		{`{` + hi + `,"system":"` + strings.Repeat("b", 64*256) + `"}`, 400, invalid, "16385 bytes"},
		{`{` + hi + `,"thinking":{"type":"enabled","budget_tokens":1024}}`, 400, invalid, "thinking is not supported"},
		{`{` + hi + `,"tools":[{"type":"bash_20250124","name":"bash"}]}`, 400, invalid, "no tools of its own"},
		{`{` + hi + `,"tool_choice":{"type":"any"}}`, 400, invalid, "there are no tools"},
		{`{` + hi + `,"tool_choice":{"type":"must"}}`, 400, invalid, `accepted: "auto", "any", "tool", "none"`},
		{`{` + hi + `,"output_config":{"format":{"type":"json_schema","schema":{"not":{}}}}}`, 400, invalid, "output_config.format.schema: the schema at /not"},
		{`{` + hi + `,"n":2}`, 400, invalid, `the key "n" is not known here`},
		{`{` + hi + `,"model":"other"}`, 404, "not_found_error", `accepted: "tiny"`},
		{"", 405, invalid, "accepted: POST"},
		{`{"messages":"` + strings.Repeat("a", maxBody) + `"}`, 413, "request_too_large", "8388608 bytes"},
	} {
		status, body := ask(t, s, said, c.body)
		var r struct {
			Type  string
			Error struct{ Type, Message string }
		}
		if err := json.Unmarshal([]byte(body), &r); err != nil || status != c.status || r.Type != "error" || r.Error.Type != c.kind || !strings.Contains(r.Error.Message, c.says) {
			t.Errorf("%.200s: %d %s; want %d, %s, %q", c.body, status, body, c.status, c.kind, c.says)
		}
	}
}

// TestPasses: values that change nothing pass.
func TestPasses(t *testing.T) {
	s := plain(t, nil)
	want, _ := ask(t, s, "/v1/completions", `{"prompt":"a","seed":1}`)
	for _, key := range []string{`"presence_penalty":0`, `"frequency_penalty":0.0`, `"repetition_penalty":1`, `"logit_bias":{}`, `"logit_bias": { }`, `"user":"me"`,
		`"metadata":{"a":"b"}`, `"suffix":null`, `"best_of":1`, `"service_tier":"auto"`, `"top_k":-1`, `"stop":null`, `"logprobs":null`, `"stop_token_ids":[]`, `"model":"tiny"`, `"stream":false`} {
		if status, body := ask(t, s, "/v1/completions", `{"prompt":"a","seed":1,`+key+`}`); status != want {
			t.Errorf("%s: %d %s", key, status, body)
		}
	}
	for _, key := range []string{`"store":false`, `"tools":[]`, `"tool_choice":"auto"`, `"parallel_tool_calls":true`, `"response_format":{"type":"text"}`, `"modalities":["text"]`, `"max_completion_tokens":3`} {
		if status, body := ask(t, s, "/v1/chat/completions", `{"messages":[{"role":"developer","content":[{"type":"text","text":"a"}]},{"role":"user","content":"b","name":null}],"max_tokens":3,`+key+`}`); status != want {
			t.Errorf("%s: %d %s", key, status, body)
		}
	}
}

// TestLenient: keys that are not known are passed over where that is wanted, and named.
func TestLenient(t *testing.T) {
	s := plain(t, func(o *Options) { o.Lenient = true })
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "POST", "/v1/completions", strings.NewReader(`{"prompt":"a","grüße":1,"stream":true,"stream_options":{"y":2}}`)))
	if got := w.Header().Get("X-Rlzero-Ignored"); w.Code != 200 || got != "gr??e, stream_options.y" {
		t.Errorf("%d, %q", w.Code, got)
	}
	if status, _ := ask(t, s, "/v1/completions", `{"prompt":"a","suffix":"b"}`); status != 400 {
		t.Errorf("a key that is known and not supported: %d", status)
	}
}

// TestQueue: a request beyond the queue is refused, and the others are answered.
func TestQueue(t *testing.T) {
	s := plain(t, func(o *Options) { o.Queue = 1 })
	leave, f := s.enter()
	if f != nil {
		t.Fatal(f)
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "POST", "/v1/completions", strings.NewReader(`{"prompt":"a"}`)))
	if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), "queue_full") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	leave()
	if status, body := ask(t, s, "/v1/completions", `{"prompt":"a"}`); status != 200 {
		t.Errorf("%d %s", status, body)
	}
}

// TestLost: a device that is lost is told to the request, in a stream too, and to whoever
// runs the server.
func TestLost(t *testing.T) {
	for _, stream := range []bool{false, true} {
		dev := &gputest.Losing{Device: refdev.New(), Submissions: 5}
		s := serving(t, tiny(t, dev), nil)
		status, body := ask(t, s, "/v1/completions", fmt.Sprintf(`{"prompt":"a","max_tokens":50,"seed":1,"stream":%v}`, stream))
		if !strings.Contains(body, codeLost) || strings.Contains(body, "[DONE]") || !stream && status != 500 {
			t.Errorf("stream %v: %d %s", stream, status, body)
		}
		select {
		case <-s.Lost():
		default:
			t.Error("nobody was told")
		}
	}
}

// TestNoTemplate: a model without a chat template says so, and continues text.
func TestNoTemplate(t *testing.T) {
	s := plain(t, nil)
	s.format, s.noChat = nil, fmt.Errorf("there is none")
	if status, body := ask(t, s, "/v1/chat/completions", `{"messages":[{"role":"user","content":"a"}]}`); status != 400 || !strings.Contains(body, "/v1/completions continues text") {
		t.Errorf("%d %s", status, body)
	}
	m := tiny(t, refdev.New())
	m.Tokenizer = nil
	s = serving(t, m, func(o *Options) { o.Chat = chat.Options{} })
	for body, want := range map[string]string{
		`{"prompt":"a"}`:              "accepted: token ids",
		`{"prompt":[1],"stop":"a"}`:   "stop_token_ids",
		`{"prompt":[1],"logprobs":1}`: `"token_id:`,
	} {
		if _, got := ask(t, s, "/v1/completions", body); !strings.Contains(got, want) {
			t.Errorf("%s: %s", body, got)
		}
	}
}

// FuzzBody: whatever a body holds, the answer is none of 500.
func FuzzBody(f *testing.F) {
	for _, body := range []string{`{"prompt":"a","max_tokens":2}`, `{"messages":[{"role":"user","content":"a"}],"max_tokens":2,"logprobs":true}`,
		`{"prompt":[1,2],"n":2,"max_tokens":1,"echo":true,"logprobs":3,"stop":["a"],"seed":1}`, `{"prompt_token_ids":[1],"token_ids":[2,3],"seed":4}`,
		`{"prompt":["a","b"],"stream":true,"max_tokens":2}`,
		`{"prompt":"a","max_tokens":5,"response_format":{"type":"json_schema","json_schema":{"schema":{"type":"string","pattern":"^a*$"}}}}`,
		`{"messages":[{"role":"user","content":"a"}],"max_tokens":5,"tools":[{"type":"function","function":{"name":"f","parameters":{}}}],"tool_choice":"required"}`,
		`{"messages":[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"{}"}}]},{"role":"tool","content":"a"}],"max_tokens":2}`,
		`{"input":"a","max_output_tokens":2,"seed":1,"text":{"format":{"type":"json_object"}},"include":["message.output_text.logprobs"]}`,
		`{"input":[{"role":"user","content":[{"type":"input_text","text":"a"}]},{"type":"function_call","call_id":"1","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"1","output":"b"}],"max_output_tokens":2,"stream":true,"tools":[{"type":"function","name":"f","parameters":{}}],"tool_choice":{"type":"function","name":"f"}}`,
		`{"system":[{"type":"text","text":"a"}],"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"b"}]}],"max_tokens":2,"stream":true,"tools":[{"name":"f","input_schema":{}}],"tool_choice":{"type":"any"}}`,
		`{"input":["a",[1,2]],"encoding_format":"base64","pooling":"last"}`,
		`{"tokens":[1,2]}`, `{"a":{"b":[1,{}]}}`, "{\"prompt\":\"\\u0000\\ud800\"}"} {
		for path := range 8 {
			f.Add(path, []byte(body))
		}
	}
	s := calling(f, hermes, func(o *Options) { o.Engine.Sequences, o.Engine.Context = 4, 128 })
	paths := []string{"/v1/completions", "/v1/chat/completions", "/v1/check", "/tokenize", "/detokenize", responses, said, embeds}
	f.Fuzz(func(t *testing.T, path int, body []byte) {
		if len(body) > 4096 || strings.Contains(string(body), `"n"`) && len(body) > 200 {
			return // long work tells no more
		}
		w := httptest.NewRecorder()
		at := paths[uint(path)%uint(len(paths))]
		s.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "POST", at, strings.NewReader(string(body))))
		if w.Code >= 500 || w.Code == 200 && w.Body.Len() == 0 {
			t.Errorf("%s %q: %d %s", at, body, w.Code, w.Body)
		}
		if w.Code != 200 {
			var r refused
			if err := json.Unmarshal(w.Body.Bytes(), &r); err != nil || r.Error.Message == "" {
				t.Errorf("%s %q: %s", at, body, w.Body)
			}
		}
	})
}

// TestHalfCharacter: halves of characters are found where they stand alone, and nowhere else.
func TestHalfCharacter(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "",
		`\`:                           "",
		`\u`:                          "",
		`\ud83`:                       "",
		`"é😀 \u00e9 \n \ud83d\ude00"`: "",
		`\\ud83d`:                     "",
		`\\\ud83d`:                    `\ud83d`,
		`\ud83d`:                      `\ud83d`,
		`\ud83d\n`:                    `\ud83d`,
		`\ud83d\ud83d\ude00`:          `\ud83d`,
		`\ud83d\ude00\uDE01`:          `\uDE01`,
		`\ud83d\\ude00`:               `\ud83d`,
	} {
		if got := halfCharacter([]byte(text)); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
		// What package json reads has U+FFFD there, and only there.
		var read string
		if err := json.Unmarshal([]byte(`"`+strings.Trim(text, `"`)+`"`), &read); err == nil && strings.Contains(read, "\ufffd") != (want != "") {
			t.Errorf("%s: package json reads %q", text, read)
		}
	}
}

// TestNotFinite: a model whose logits are not finite answers with a fault, never with tokens.
// Its final norm is as large as float32 goes, so that the products after it are infinite.
func TestNotFinite(t *testing.T) {
	dir := fixtures.ChatModel(t)
	file := filepath.Join(dir, "model.safetensors")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head := data[8 : 8+binary.LittleEndian.Uint64(data)]
	var tensors map[string]struct {
		Offsets [2]int `json:"data_offsets"`
	}
	if err := json.Unmarshal(head, &tensors); err != nil {
		t.Fatal(err)
	}
	norm := data[8+len(head):][tensors["model.norm.weight"].Offsets[0]:tensors["model.norm.weight"].Offsets[1]]
	for i := 0; i < len(norm); i += 4 {
		binary.LittleEndian.PutUint32(norm[i:], math.Float32bits(math.MaxFloat32))
	}
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
	m, err := model.Load(refdev.New(), dir, model.LoadOptions{Positions: 64, Dtype: hf.F32, KVDtype: hf.F32})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	s := serving(t, m, func(o *Options) { o.Engine.Context = 64 })
	for _, key := range []string{`"temperature":1`, `"temperature":0.5,"top_k":3`, `"logprobs":2`} {
		if status, body := ask(t, s, "/v1/completions", `{"prompt":[1,2,3],"seed":1,"max_tokens":4,`+key+`}`); status != http.StatusInternalServerError || !strings.Contains(body, "not finite") {
			t.Errorf("%s: %d %s", key, status, body)
		}
	}
}

// TestRequestNames: a request keeps the name that its client gave it, if it is one, and has a new one else.
func TestRequestNames(t *testing.T) {
	s := plain(t, nil)
	for name, kept := range map[string]bool{"rlzero-0a1b": true, "": false, "two words": false, strings.Repeat("x", 129): false} {
		w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/chat/completions", strings.NewReader("{"))
		r.Header.Set("X-Request-Id", name)
		s.Handler().ServeHTTP(w, r)
		if got := w.Header().Get("X-Request-Id"); kept != (got == name) || !kept && !strings.HasPrefix(got, "req-") {
			t.Errorf("%q is named %q", name, got)
		}
	}
}
