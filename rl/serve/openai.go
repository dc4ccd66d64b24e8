package serve

import (
	"encoding/json"
	"slices"
)

// The formats of /v1/completions and /v1/chat/completions:
// https://platform.openai.com/docs/api-reference/completions and .../chat.
var (
	completionWire = &wire{read: readCompletion, whole: wholeCompletion, stream: newChunks, refuse: refusal, prompt: "prompt", format: "response_format", name: "cmpl"}
	chatWire       = &wire{read: readChat, whole: wholeCompletion, stream: newChunks, refuse: refusal, prompt: "messages", format: "response_format", name: "chatcmpl"}
)

// asked is a body of either.
type asked struct {
	query
	bestOf     int
	maxNewer   int  // max_completion_tokens
	wants      bool // logprobs of a chat
	top        int  // top_logprobs of a chat
	streamKeys json.RawMessage
}

const notDone = "rlzero does not change the distribution that was trained"

func (a *asked) ofQuery() *query { return &a.query }

// shared are the keys of both.
var shared = slices.Concat(within(drawing, (*asked).ofQuery), keys[asked]{
	{"n", whole(1, maxN, func(a *asked) *int { return &a.n })},
	{"max_tokens", whole(0, 1<<30, func(a *asked) *int { return &a.max })},
	{"stop", stops(func(a *asked) *[]string { return &a.stop })},
	{"stream_options", raw(func(a *asked) *json.RawMessage { return &a.streamKeys })},
	{"logprobs_at", func(a *asked, name string, raw json.RawMessage) *fault {
		a.unscaled = true
		return only[asked]("log-probs are those at the temperature of the draws, or at 1", "1")(a, name, raw)
	}},
	{"prompt_logprobs", whole(0, maxTop, func(a *asked) *int { return &a.promptTop })},
	{"return_token_ids", truth(func(a *asked) *bool { return &a.givesIDs })},
	{"response_format", func(a *asked, name string, raw json.RawMessage) *fault { return a.format.read(name, raw) }},
	{"return_entropy", truth(func(a *asked) *bool { return &a.entropy })},

	{"presence_penalty", only[asked](notDone, "0")},
	{"frequency_penalty", only[asked](notDone, "0")},
	{"repetition_penalty", only[asked](notDone, "1")},
	{"logit_bias", only[asked](notDone, "{}")},
}, within(ofClient, (*asked).ofQuery))

// ofClient are keys of OpenAI's formats that concern the client alone, or its account.
var ofClient = keys[query]{
	{"service_tier", only[query]("there is one tier", `"auto"`, `"default"`)},
	{"user", passed[query]},
	{"safety_identifier", passed[query]},
	{"prompt_cache_key", passed[query]},
	{"prompt_cache_retention", passed[query]},
}

// completionKeys are those of /v1/completions.
var completionKeys = slices.Concat(shared, keys[asked]{
	{"prompt", raw(func(a *asked) *json.RawMessage { return &a.prompt })},
	{"echo", truth(func(a *asked) *bool { return &a.echo })},
	{"logprobs", whole(0, maxTop, func(a *asked) *int { return &a.logprobs })},
	{"best_of", whole(1, maxN, func(a *asked) *int { return &a.bestOf })},
	{"suffix", only[asked]("a text is continued at its end alone", `""`)},
})

// chatKeys are those of /v1/chat/completions.
var chatKeys = slices.Concat(shared, keys[asked]{
	{"messages", func(a *asked, name string, raw json.RawMessage) (err *fault) {
		a.turns, err = readTurns(name, raw)
		return err
	}},
	{"max_completion_tokens", whole(1, 1<<30, func(a *asked) *int { return &a.maxNewer })},
	{"logprobs", truth(func(a *asked) *bool { return &a.wants })},
	{"top_logprobs", whole(0, maxTop, func(a *asked) *int { return &a.top })},
	{"tools", func(a *asked, name string, raw json.RawMessage) *fault { return a.readToolList(name, raw) }},
	{"tool_choice", func(a *asked, name string, raw json.RawMessage) *fault { return a.choice.read(name, raw) }},
	{"parallel_tool_calls", parallelCalls(func(a *asked) *bool { return &a.oneCall })},
	{"reasoning_effort", func(a *asked, name string, raw json.RawMessage) *fault { return a.effort.read(name, raw) }},
	{"functions", only[asked]("tools has taken its place", "[]")},
	{"function_call", only[asked]("tool_choice has taken its place", `"none"`, `"auto"`)},
	{"modalities", only[asked]("models write text alone", `["text"]`)},
	{"store", only[asked](notStored, "false")},
	{"verbosity", only[asked]("rlzero serve --var sets what the chat template reads", `"medium"`)},
})

const notStored = "answers are not stored"

// parallelCalls reads whether an answer may have several calls.
func parallelCalls[T any](one func(*T) *bool) reader[T] {
	return func(into *T, name string, raw json.RawMessage) *fault {
		parallel := true
		err := truth(func(*T) *bool { return &parallel })(into, name, raw)
		*one(into) = !parallel
		return err
	}
}

// streamOptions are those of stream_options.
var streamOptions = keys[query]{
	{"include_usage", truth(func(q *query) *bool { return &q.usage })},
	{"include_obfuscation", only[query]("events are not padded", "false")},
}

func readCompletion(w *wire, data []byte, lenient bool) (*query, *fault) {
	a, err := readAsked(w, completionKeys, data, lenient)
	if err == nil && a.prompt == nil {
		err = missing("prompt", `there is no "prompt"; accepted: a text, a list of texts, token ids, or a list of lists of token ids`)
	}
	if err != nil {
		return nil, err
	}
	return a.agree()
}

func readChat(w *wire, data []byte, lenient bool) (*query, *fault) {
	a, err := readAsked(w, chatKeys, data, lenient)
	if err == nil && a.turns == nil {
		err = missing("messages", `there is no "messages"; accepted: [{"role":"user","content":"..."}]`)
	}
	if err != nil {
		return nil, err
	}
	return a.agree()
}

func readAsked(w *wire, known keys[asked], data []byte, lenient bool) (a *asked, err *fault) {
	a = &asked{query: *newQuery(w), bestOf: -1, maxNewer: -1}
	if a.unnoticed, err = known.read("", data, a, lenient); err != nil || a.streamKeys == nil {
		return a, err
	}
	if !a.stream {
		return a, bad("stream_options", "stream_options goes with stream, which is not true")
	}
	more, err := streamOptions.read("stream_options", a.streamKeys, &a.query, lenient)
	a.unnoticed = append(a.unnoticed, more...)
	return a, err
}

// agree refuses keys that do not go together.
func (a *asked) agree() (*query, *fault) {
	q := &a.query
	switch {
	case a.bestOf >= 0 && a.bestOf != q.n:
		return nil, unsupported("best_of", "best_of is %d and n is %d: every completion that is drawn is returned; accepted: the same number", a.bestOf, q.n)
	case a.maxNewer >= 0 && q.max >= 0 && q.max != a.maxNewer:
		return nil, bad("max_tokens", "max_tokens is %d and max_completion_tokens is %d: they mean the same; give one of them", q.max, a.maxNewer)
	case q.max == 0 && !q.echo && q.promptTop < 0:
		return nil, bad("max_tokens", "max_tokens is 0; accepted: from 1, or 0 with echo or prompt_logprobs")
	case a.top > 0 && !a.wants:
		return nil, bad("top_logprobs", "top_logprobs goes with logprobs, which is not true")
	}
	q.max = max(q.max, a.maxNewer)
	if a.wants {
		q.logprobs = a.top
	}
	if q.stream && q.scoresPrompt() {
		return nil, unsupported("stream", "log-probs of a prompt are not told in a stream; accepted: stream false, or neither prompt_logprobs nor echo with logprobs")
	}
	return q, nil
}
