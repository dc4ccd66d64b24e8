package serve

import (
	"strconv"

	"github.com/rlzero/rlzero/model/sample"
	"github.com/rlzero/rlzero/model/text"
	"github.com/rlzero/rlzero/rl/chat"
)

// answer is a completion, or a chat completion, or a part of one in a stream.
type answer struct {
	ID          string   `json:"id"`
	Object      string   `json:"object"`
	Created     int64    `json:"created"` // seconds since 1970
	Model       string   `json:"model"`
	Fingerprint string   `json:"system_fingerprint"`
	Seed        uint64   `json:"seed"`
	Choices     []choice `json:"choices"`
	Usage       *usage   `json:"usage,omitempty"`

	PromptIDs      []int            `json:"prompt_token_ids,omitempty"` // of a chat
	PromptLogprobs []map[string]top `json:"prompt_logprobs,omitempty"`  // of a chat
}

// choice is one completion. Where it is a part of a stream, so are its lists.
type choice struct {
	Index    int      `json:"index"`
	Text     *string  `json:"text,omitempty"`    // of a completion
	Message  *message `json:"message,omitempty"` // of a chat
	Delta    *delta   `json:"delta,omitempty"`   // of a chat's stream
	Logprobs any      `json:"logprobs"`          // *textLogprobs, *chatLogprobs or null
	Finish   *string  `json:"finish_reason"`

	IDs            []int            `json:"token_ids,omitempty"`
	Entropy        []float32        `json:"entropy,omitempty"`          // nats, one for each token
	PromptIDs      []int            `json:"prompt_token_ids,omitempty"` // of a completion
	PromptLogprobs []map[string]top `json:"prompt_logprobs,omitempty"`  // of a completion
}

type message struct {
	Role    string     `json:"role"`
	Content *string    `json:"content"` // null: there are calls alone
	Calls   []toolCall `json:"tool_calls,omitempty"`
}

// delta is what is added to a message.
type delta struct {
	Role    string     `json:"role,omitempty"`
	Content *string    `json:"content,omitempty"`
	Calls   []toolCall `json:"tool_calls,omitempty"`
}

type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
}

// textLogprobs are those of a completion; those of the prompt's tokens come first where it
// is echoed. Nats.
type textLogprobs struct {
	Tokens  []string             `json:"tokens"`
	Logprob []*float32           `json:"token_logprobs"` // null: nothing stands before the token
	Top     []map[string]float32 `json:"top_logprobs"`
	Offset  []int                `json:"text_offset"` // characters before the token
}

// chatLogprobs are those of a chat. Nats.
type chatLogprobs struct {
	Content []chatLogprob `json:"content"`
	Refusal any           `json:"refusal"`
}

type chatLogprob struct {
	tokenLogprob
	Top []tokenLogprob `json:"top_logprobs"`
}

type tokenLogprob struct {
	Token   string  `json:"token"`
	Logprob float32 `json:"logprob"`
	Bytes   []int   `json:"bytes"` // null for a part of a character
}

// top is a token of a prompt, or one of the most likely ones of its place.
type top struct {
	Logprob float32 `json:"logprob"`
	Token   string  `json:"decoded_token"`
}

// byID names a token that has no text of its own.
func byID(id int) string { return "token_id:" + strconv.Itoa(id) }

// part is what an event adds to a choice. The lists of a teller's part hold until its next.
type part struct {
	choice int // of the answer
	text   string
	tokens []sample.Token // those that the text may not show yet included
	offset []int          // [token] characters before it
	finish string         // why it ends, in the words of a chat: "stop", "length" or "tool_calls"; "": it goes on
	calls  []chat.Call    // of tools, known at its end

	stopped string // the stop text that ended it; "": none did
}

// teller makes parts of the events of one choice.
type teller struct {
	q       *query
	choice  int
	speaker *speaker
	caller  *caller // nil: there is nothing to call
	before  int     // characters of the prompt, where it is echoed
	drawn   int

	token  [1]sample.Token // those of the last part
	offset [1]int
}

func newTeller(q *query, choice int, tok *text.Tokenizer) *teller {
	t := &teller{q: q, choice: choice, speaker: newSpeaker(tok, q.stop)}
	if q.callable != nil {
		t.caller = &caller{callable: q.callable}
	}
	return t
}

// add takes the next token of the completion.
func (t *teller) add(token sample.Token) part {
	t.token[0], t.offset[0] = token, t.before+t.speaker.runes
	p := part{choice: t.choice, tokens: t.token[:], offset: t.offset[:]}
	t.drawn++
	if !t.q.isEnd(token.ID) {
		p.text = t.speaker.add(token.ID)
	}
	if token.Stop != "" {
		p.text += t.speaker.end()
		p.finish, p.stopped = finish(token.Stop), t.speaker.stopped
	}
	if t.caller != nil {
		t.call(&p)
	}
	return p
}

// call takes calls of tools out of the text.
func (t *teller) call(p *part) {
	p.text = t.caller.add(p.text)
	if p.finish == "" {
		return
	}
	rest, calls := t.caller.end()
	p.text += rest
	if p.calls = calls; calls != nil && p.finish == "stop" {
		p.finish = "tool_calls"
	}
}

// finish is a reason in OpenAI's words.
func finish(stop string) string {
	if stop == "length" {
		return "length"
	}
	return "stop"
}

// textLogprobs writes the log-probs of tokens; the first of a prompt has none.
func (n names) textLogprobs(tokens []sample.Token, offset []int, most int, fromPrompt bool) *textLogprobs {
	out := &textLogprobs{Tokens: []string{}, Logprob: []*float32{}, Top: []map[string]float32{}, Offset: offset}
	for i, t := range tokens {
		name, _ := n.of(t.ID)
		out.Tokens = append(out.Tokens, name)
		if fromPrompt && i == 0 {
			out.Logprob, out.Top = append(out.Logprob, nil), append(out.Top, nil)
			continue
		}
		out.Logprob = append(out.Logprob, &tokens[i].Logprob)
		out.Top = append(out.Top, n.topOf(t, most))
	}
	return out
}

// topOf are the most likely tokens of a place by their text, and the token itself. Of
// several with one text, those after the first stand under their ids.
func (n names) topOf(t sample.Token, most int) map[string]float32 {
	out := map[string]float32{}
	for _, a := range withItself(t, most) {
		name, _ := n.of(a.ID)
		if _, taken := out[name]; taken {
			name = byID(a.ID)
		}
		out[name] = a.Logprob
	}
	return out
}

// withItself are the most likely tokens of a place, and the token itself if it is not
// among them.
func withItself(t sample.Token, most int) []sample.Alternative {
	var out []sample.Alternative
	there := false
	for _, a := range t.Top[:min(most, len(t.Top))] {
		there = there || a.ID == t.ID
		out = append(out, a)
	}
	if !there {
		out = append(out, sample.Alternative{ID: t.ID, Logprob: t.Logprob})
	}
	return out
}

func (n names) chatLogprobs(tokens []sample.Token, most int) *chatLogprobs {
	out := &chatLogprobs{Content: []chatLogprob{}}
	for _, t := range tokens {
		c := chatLogprob{tokenLogprob: n.tokenLogprob(t.ID, t.Logprob), Top: []tokenLogprob{}}
		for _, a := range t.Top[:min(most, len(t.Top))] {
			c.Top = append(c.Top, n.tokenLogprob(a.ID, a.Logprob))
		}
		out.Content = append(out.Content, c)
	}
	return out
}

func (n names) tokenLogprob(id int, logprob float32) tokenLogprob {
	name, own := n.of(id)
	t := tokenLogprob{Token: name, Logprob: logprob}
	if own {
		for _, b := range []byte(name) {
			t.Bytes = append(t.Bytes, int(b))
		}
	}
	return t
}

// promptLogprobs are those of a prompt by token ids, in vLLM's shape; the first is null.
func (n names) promptLogprobs(tokens []sample.Token, most int) []map[string]top {
	out := []map[string]top{}
	for i, t := range tokens {
		if i == 0 {
			out = append(out, nil)
			continue
		}
		place := map[string]top{}
		for _, a := range withItself(t, most) {
			name, _ := n.of(a.ID)
			place[strconv.Itoa(a.ID)] = top{a.Logprob, name}
		}
		out = append(out, place)
	}
	return out
}
