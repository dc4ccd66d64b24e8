package serve

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/rlzero/rlzero/model/sample"
)

// head is what all parts of an answer in OpenAI's formats of completions have in common.
func (t *telling) head(object string) answer {
	return answer{ID: t.q.wire.name + "-" + t.sum, Object: object, Created: t.created, Model: t.q.on.name, Fingerprint: t.q.on.print, Seed: t.q.sampling.Seed}
}

// wholeCompletion is an answer in one piece.
func wholeCompletion(t *telling, all []part) any {
	object := "text_completion"
	if t.q.chat {
		object = "chat.completion"
	}
	a := t.head(object)
	a.Usage = t.usage()
	for i, p := range all {
		a.Choices = append(a.Choices, t.choice(i, p))
	}
	if t.q.chat {
		a.PromptLogprobs, a.PromptIDs = t.promptFacts(0)
	}
	return &a
}

// choice is a whole completion.
func (t *telling) choice(i int, p part) choice {
	c := choice{Index: i, Finish: &p.finish}
	t.tokenFacts(&c, p.tokens)
	if t.q.chat {
		c.Message = &message{Role: "assistant", Content: &p.text, Calls: t.callsOf(i, p.calls)}
		if p.text == "" && (p.calls != nil || t.q.mustCall()) {
			c.Message.Content = nil
		}
		c.Logprobs = t.logprobs(p.tokens, nil, false)
		return c
	}
	prompt := i / t.q.n
	if t.q.echo {
		p.text = t.echoed[prompt] + p.text
		p.tokens = slices.Concat(t.prompts[prompt], p.tokens) // the choices share those of the prompt
		p.offset = slices.Concat(t.offsets[prompt], p.offset)
	}
	c.Text, c.Logprobs = &p.text, t.logprobs(p.tokens, p.offset, t.q.echo)
	c.PromptLogprobs, c.PromptIDs = t.promptFacts(prompt)
	return c
}

// promptFacts are what is told of a prompt.
func (t *telling) promptFacts(prompt int) (logprobs []map[string]top, ids []int) {
	if t.q.promptTop >= 0 {
		logprobs = t.s.names.promptLogprobs(t.prompts[prompt], t.q.promptTop)
	}
	if t.q.givesIDs {
		ids = t.q.prompts[prompt]
	}
	return logprobs, ids
}

// logprobs are those of tokens in the form of the query; nil where none are wanted.
func (t *telling) logprobs(tokens []sample.Token, offset []int, fromPrompt bool) any {
	switch {
	case t.q.logprobs < 0:
		return nil
	case t.q.chat:
		return t.s.names.chatLogprobs(tokens, t.q.logprobs)
	}
	return t.s.names.textLogprobs(tokens, offset, t.q.logprobs, fromPrompt)
}

// tokenFacts are the ids and entropies of tokens, where they are wanted.
func (t *telling) tokenFacts(c *choice, tokens []sample.Token) {
	for _, k := range tokens {
		if t.q.givesIDs {
			c.IDs = append(c.IDs, k.ID)
		}
		if t.q.entropy {
			c.Entropy = append(c.Entropy, k.Entropy)
		}
	}
}

// chunks are the events of a stream of completions: one for each token that adds to what is
// told. Those of a choice come in the order of its tokens.
type chunks struct {
	*events
	t     *telling
	head  answer
	front []byte        // JSON of an answer, up to its choices
	json  *json.Encoder // writes to the events
	begun []bool        // [choice]
}

func newChunks(t *telling, out *events) (encoder, error) {
	object := "text_completion"
	if t.q.chat {
		object = "chat.completion.chunk"
	}
	return chunksOf(t.head(object), t, out)
}

func chunksOf(head answer, t *telling, out *events) (*chunks, error) {
	bare := head
	bare.Choices = []choice{}
	front, err := json.Marshal(bare)
	return &chunks{out, t, head, bytes.TrimSuffix(front, []byte("]}")), json.NewEncoder(&out.added), make([]bool, len(t.tellers))}, err
}

// addChoice adds a part of one choice: most events are one.
func (c *chunks) addChoice(one choice) error {
	c.added.WriteString("data: ")
	c.added.Write(c.front)
	err := c.json.Encode(one)
	c.added.Truncate(c.added.Len() - 1) // the end of line
	c.added.WriteString("]}\n\n")
	return err
}

func (c *chunks) part(p part) error {
	if !c.begun[p.choice] {
		c.begun[p.choice] = true
		if err := c.begin(p.choice); err != nil {
			return err
		}
	}
	if q := c.t.q; p.text != "" || q.logprobs >= 0 || q.givesIDs || q.entropy {
		if err := c.choice(p, nil); err != nil {
			return err
		}
	}
	if p.finish == "" {
		return nil
	}
	for i, call := range c.t.callsOf(p.choice, p.calls) {
		if err := c.call(p.choice, i, call); err != nil {
			return err
		}
	}
	return c.choice(part{choice: p.choice}, &p.finish)
}

// begin adds what stands in front of a choice: the role of a chat, or the prompt that is
// echoed.
func (c *chunks) begin(i int) error {
	t := c.t
	one, empty, prompt := choice{Index: i}, "", i/t.q.n
	switch {
	case t.q.chat:
		one.Delta = &delta{Role: "assistant", Content: &empty}
		if t.q.givesIDs {
			a := c.head
			a.PromptIDs, a.Choices = t.q.prompts[prompt], []choice{one}
			return c.add("", a)
		}
	case t.q.echo:
		one.Text = &t.echoed[prompt]
		_, one.PromptIDs = t.promptFacts(prompt)
	case t.q.givesIDs:
		one.Text, one.PromptIDs = &empty, t.q.prompts[prompt]
	default:
		return nil
	}
	return c.addChoice(one)
}

// call adds a call of a tool: what is called, then the arguments.
func (c *chunks) call(of, i int, call toolCall) error {
	arguments := toolCall{Index: &i, Function: calledByName{Arguments: call.Function.Arguments}}
	call.Index, call.Function.Arguments = &i, ""
	for _, part := range []toolCall{call, arguments} {
		if err := c.addChoice(choice{Index: of, Delta: &delta{Calls: []toolCall{part}}}); err != nil {
			return err
		}
	}
	return nil
}

// choice adds a part of one choice, or its end.
func (c *chunks) choice(p part, finish *string) error {
	one := choice{Index: p.choice, Finish: finish}
	c.t.tokenFacts(&one, p.tokens)
	if finish == nil {
		one.Logprobs = c.t.logprobs(p.tokens, p.offset, false)
	}
	if c.t.q.chat {
		one.Delta = &delta{Content: &p.text}
		if finish != nil {
			one.Delta.Content = nil
		}
	} else {
		one.Text = &p.text
	}
	return c.addChoice(one)
}

// fail ends a stream that is not whole: without [DONE].
func (c *chunks) fail(f *fault) { c.write("", encoded(refusal(f))) }

func (c *chunks) close() error {
	length := "length"
	for i := range c.begun {
		if c.begun[i] {
			continue
		}
		// No token was to be drawn.
		if err := c.begin(i); err != nil {
			return err
		}
		if err := c.choice(part{choice: i, tokens: []sample.Token{}}, &length); err != nil {
			return err
		}
	}
	if c.t.q.usage {
		a := c.head
		a.Choices, a.Usage = []choice{}, c.t.usage()
		if err := c.add("", a); err != nil {
			return err
		}
	}
	c.write("", []byte("[DONE]"))
	return nil
}
