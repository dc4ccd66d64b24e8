package serve

import (
	"encoding/json"
	"slices"

	"github.com/rlzero/rlzero/model/sample"
)

// query is a request for completions, of either form.
type query struct {
	model    string
	on       *served         // it
	prompt   json.RawMessage // of completions
	messages json.RawMessage // of a chat
	prompts  [][]int         // what they come to

	n, bestOf  int
	max        int // new tokens of a completion; -1: not given
	maxNewer   int // the same under its newer name
	sampling   sample.Settings
	seeded     bool
	drawStream int
	ends       []int // tokens that end a completion; nil: the model's
	stop       []string
	stopIDs    []int

	unscaled   bool // log-probs are those at temperature 1
	echo       bool
	logprobs   int  // most likely tokens told beside each; -1: no log-probs
	wants      bool // logprobs of a chat
	top        int  // top_logprobs of a chat
	promptTop  int  // prompt_logprobs; -1: none
	stream     bool
	usage      bool // a last event of a stream tells it
	givesIDs   bool
	entropy    bool
	chat       bool
	format     json.RawMessage // response_format
	form       *form           // what the answer has to follow; nil: any text
	guide      sample.Guide    // what it comes to; nil: any token
	tools      json.RawMessage
	toolChoice json.RawMessage
	oneCall    bool      // parallel_tool_calls is false
	callable   *callable // what the answer may call; nil: nothing
	unnoticed  []string  // keys that --lenient passed over
	streamKeys json.RawMessage
}

func newQuery(chat bool) *query {
	return &query{chat: chat, n: 1, bestOf: -1, max: -1, maxNewer: -1, logprobs: -1, promptTop: -1,
		sampling: sample.Settings{Temperature: 1, TopP: 1}}
}

// Bounds of a request.
const (
	maxN       = 128
	maxChoices = 1024    // prompts times n
	maxStops   = 1024    // token ids that end a completion
	maxTold    = 1 << 21 // log-probs of prompts in an answer
	maxTop     = 20
	maxStream  = 1 << 31
)

const notDone = "rlzero does not change the distribution that was trained"

// shared are the keys of both forms.
var shared = keys[query]{
	{"model", word(func(q *query) *string { return &q.model })},
	{"n", whole(1, maxN, func(q *query) *int { return &q.n })},
	{"max_tokens", whole(0, 1<<30, func(q *query) *int { return &q.max })},
	{"temperature", real("0 (the most likely token) and numbers from 0.0001 to 10000", func(x float64) bool { return x == 0 || x >= 1e-4 && x <= 1e4 }, func(q *query) *float64 { return &q.sampling.Temperature })},
	{"top_p", real("numbers above 0, up to 1", func(x float64) bool { return x > 0 && x <= 1 }, func(q *query) *float64 { return &q.sampling.TopP })},
	{"min_p", real("numbers from 0 to 1", func(x float64) bool { return x >= 0 && x <= 1 }, func(q *query) *float64 { return &q.sampling.MinP })},
	{"top_k", func(q *query, name string, raw json.RawMessage) *fault {
		k, err := wholeIn(name, raw, -1, 1<<30)
		q.sampling.TopK = max(k, 0) // vLLM writes -1 for all
		return err
	}},
	{"seed", natural(func(q *query, seed uint64) { q.sampling.Seed, q.seeded = seed, true })},
	{"draw_stream", whole(0, maxStream, func(q *query) *int { return &q.drawStream })},
	{"stop", stops(func(q *query) *[]string { return &q.stop })},
	{"stop_token_ids", idList(func(q *query) *[]int { return &q.stopIDs })},
	{"stream", truth(func(q *query) *bool { return &q.stream })},
	{"stream_options", raw(func(q *query) *json.RawMessage { return &q.streamKeys })},
	{"logprobs_at", func(q *query, name string, raw json.RawMessage) *fault {
		q.unscaled = true
		return only[query]("log-probs are those at the temperature of the draws, or at 1", "1")(q, name, raw)
	}},
	{"prompt_logprobs", whole(0, maxTop, func(q *query) *int { return &q.promptTop })},
	{"return_token_ids", truth(func(q *query) *bool { return &q.givesIDs })},
	{"response_format", raw(func(q *query) *json.RawMessage { return &q.format })},
	{"return_entropy", truth(func(q *query) *bool { return &q.entropy })},

	{"presence_penalty", only[query](notDone, "0")},
	{"frequency_penalty", only[query](notDone, "0")},
	{"repetition_penalty", only[query](notDone, "1")},
	{"logit_bias", only[query](notDone, "{}")},
	{"ignore_eos", only[query]("completions end where the model ends them", "false")},
	{"min_tokens", only[query]("completions end where the model ends them", "0")},
	{"service_tier", only[query]("there is one tier", `"auto"`, `"default"`)},
	{"user", passed[query]},
	{"metadata", passed[query]},
	{"safety_identifier", passed[query]},
	{"prompt_cache_key", passed[query]},
}

// completionKeys are those of /v1/completions.
var completionKeys = slices.Concat(shared, keys[query]{
	{"prompt", raw(func(q *query) *json.RawMessage { return &q.prompt })},
	{"echo", truth(func(q *query) *bool { return &q.echo })},
	{"logprobs", whole(0, maxTop, func(q *query) *int { return &q.logprobs })},
	{"best_of", whole(1, maxN, func(q *query) *int { return &q.bestOf })},
	{"suffix", only[query]("a text is continued at its end alone", `""`)},
})

// chatKeys are those of /v1/chat/completions.
var chatKeys = slices.Concat(shared, keys[query]{
	{"messages", raw(func(q *query) *json.RawMessage { return &q.messages })},
	{"max_completion_tokens", whole(1, 1<<30, func(q *query) *int { return &q.maxNewer })},
	{"logprobs", truth(func(q *query) *bool { return &q.wants })},
	{"top_logprobs", whole(0, maxTop, func(q *query) *int { return &q.top })},
	{"tools", raw(func(q *query) *json.RawMessage { return &q.tools })},
	{"tool_choice", raw(func(q *query) *json.RawMessage { return &q.toolChoice })},
	{"parallel_tool_calls", func(q *query, name string, raw json.RawMessage) *fault {
		parallel := true
		err := truth(func(*query) *bool { return &parallel })(q, name, raw)
		q.oneCall = !parallel
		return err
	}},
	{"functions", only[query]("tools has taken its place", "[]")},
	{"function_call", only[query]("tool_choice has taken its place", `"none"`, `"auto"`)},
	{"modalities", only[query]("models write text alone", `["text"]`)},
	{"store", only[query]("answers are not stored", "false")},
	{"verbosity", only[query]("rlzero serve --var sets what the chat template reads", `"medium"`)},
})

// streamOptions are those of stream_options.
var streamOptions = keys[query]{
	{"include_usage", truth(func(q *query) *bool { return &q.usage })},
	{"include_obfuscation", only[query]("events are not padded", "false")},
}

// readQuery reads the body of a request for completions.
func readQuery(data []byte, chat, lenient bool) (q *query, err *fault) {
	q = newQuery(chat)
	known := completionKeys
	if chat {
		known = chatKeys
	}
	if q.unnoticed, err = known.read("", data, q, lenient); err != nil {
		return nil, err
	}
	if q.streamKeys != nil {
		if !q.stream {
			return nil, bad("stream_options", "stream_options goes with stream, which is not true")
		}
		more, err := streamOptions.read("stream_options", q.streamKeys, q, lenient)
		if err != nil {
			return nil, err
		}
		q.unnoticed = append(q.unnoticed, more...)
	}
	return q, q.agree()
}

// agree refuses keys that do not go together.
func (q *query) agree() *fault {
	switch {
	case q.chat && q.messages == nil:
		return bad("messages", `there is no "messages"; accepted: [{"role":"user","content":"..."}]`)
	case !q.chat && q.prompt == nil:
		return bad("prompt", `there is no "prompt"; accepted: a text, a list of texts, token ids, or a list of lists of token ids`)
	case q.bestOf >= 0 && q.bestOf != q.n:
		return unsupported("best_of", "best_of is %d and n is %d: every completion that is drawn is returned; accepted: the same number", q.bestOf, q.n)
	case q.maxNewer >= 0 && q.max >= 0 && q.max != q.maxNewer:
		return bad("max_tokens", "max_tokens is %d and max_completion_tokens is %d: they mean the same; give one of them", q.max, q.maxNewer)
	case q.max == 0 && !q.echo && q.promptTop < 0:
		return bad("max_tokens", "max_tokens is 0; accepted: from 1, or 0 with echo or prompt_logprobs")
	case q.chat && q.top > 0 && !q.wants:
		return bad("top_logprobs", "top_logprobs goes with logprobs, which is not true")
	}
	q.max = max(q.max, q.maxNewer)
	if q.chat && q.wants {
		q.logprobs = q.top
	}
	if q.stream && q.scoresPrompt() {
		return unsupported("stream", "log-probs of a prompt are not told in a stream; accepted: stream false, or neither prompt_logprobs nor echo with logprobs")
	}
	return nil
}

// scoresPrompt says whether the tokens of the prompt are scored.
func (q *query) scoresPrompt() bool { return q.promptTop >= 0 || q.echo && q.logprobs >= 0 }

// most is how many of the most likely tokens the engine tells.
func (q *query) most() int { return max(q.logprobs, q.promptTop, 0) }
