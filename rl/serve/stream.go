package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/rlzero/rlzero/model/sample"
)

// Times of an answer.
const (
	awake     = 15 * time.Second // between comments that keep proxies from closing a stream
	writeTime = 30 * time.Second // for a client to take what is written

	wholePace   = 250 * time.Millisecond // between two looks of an answer in one piece at what was drawn
	perStream   = time.Millisecond       // see streamPace
	slowestPace = 100 * time.Millisecond // people do not notice it
)

// streamPace is the time between two writings of a stream. One takes some 15 us of
// processor time, of the server, its kernel and a reader on the same machine, and the engine
// may be drawing for all streams on the same cores: so all together are written once in a
// millisecond, which takes 1.5 % of a core. A single stream is written token by token.
func (s *Server) streamPace() time.Duration {
	return min(time.Duration(s.streams.Load())*perStream, slowestPace)
}

// extend gives a client time to take what is written next.
func extend(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTime)) // a test's recorder has none
}

// events are server-sent events: https://html.spec.whatwg.org/multipage/server-sent-events.html
// What is added is sent together.
type events struct {
	w     http.ResponseWriter
	front []byte // JSON of an answer, up to its choices
	added bytes.Buffer
	json  *json.Encoder // writes there
}

func newEvents(w http.ResponseWriter, head answer) (*events, error) {
	head.Choices = []choice{}
	front, err := json.Marshal(head)
	e := &events{w: w, front: bytes.TrimSuffix(front, []byte("]}"))}
	e.json = json.NewEncoder(&e.added)
	return e, err
}

// add adds an event.
func (e *events) add(data []byte) {
	e.added.WriteString("data: ")
	e.added.Write(data)
	e.added.WriteString("\n\n")
}

// addAnswer adds a part of the answer that has more than choices.
func (e *events) addAnswer(a answer) error {
	data, err := json.Marshal(a)
	e.add(data)
	return err
}

// addChoice adds a part of one choice: most events are one.
func (e *events) addChoice(c choice) error {
	e.added.WriteString("data: ")
	e.added.Write(e.front)
	err := e.json.Encode(c)
	e.added.Truncate(e.added.Len() - 1) // the end of line
	e.added.WriteString("]}\n\n")
	return err
}

// send writes what was added.
func (e *events) send() error {
	if e.added.Len() == 0 {
		return nil
	}
	extend(e.w)
	if _, err := e.w.Write(e.added.Bytes()); err != nil {
		return err
	}
	e.added.Reset()
	return http.NewResponseController(e.w).Flush()
}

// streamed answers with events: one for each token that adds to what is told. Those of a
// choice come in the order of its tokens.
func (s *Server) streamed(ctx context.Context, w http.ResponseWriter, t *telling, drawn *feed) *fault {
	if t.q.chat {
		t.head.Object = "chat.completion.chunk"
	}
	out, err := newEvents(w, t.head)
	if err != nil {
		return s.failed(ctx, err)
	}
	s.streams.Add(1)
	defer s.streams.Add(-1)
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	begun := make([]bool, len(t.tellers))
	beat, late := time.NewTicker(awake), time.NewTimer(slowestPace)
	defer beat.Stop()
	defer late.Stop()
	var told []event
	for {
		select {
		case <-beat.C:
			out.added.WriteString(": awake\n\n")
		case <-late.C: // what the engine told after the last waking, of the same step too
		case <-drawn.news:
		}
		var ended bool
		var err error
		if told, ended, err = drawn.take(told); len(told) > 0 {
			late.Reset(min(2*s.streamPace(), slowestPace))
		}
		for _, e := range told {
			if p, tells := t.hear(e); tells && out.part(t, p, begun) != nil {
				return nil // the client has gone away
			}
		}
		switch {
		case err != nil:
			out.add(s.failed(ctx, err).body()) // without [DONE]: the stream is not whole
		case ended && out.close(t, begun) != nil:
			return nil
		}
		if out.send() != nil || err != nil || ended {
			return nil
		}
	}
}

// part adds what a token does to the answer.
func (out *events) part(t *telling, p part, begun []bool) error {
	if !begun[p.choice] {
		begun[p.choice] = true
		if err := out.begin(t, p.choice); err != nil {
			return err
		}
	}
	if p.text != "" || t.q.logprobs >= 0 || t.q.givesIDs || t.q.entropy {
		if err := out.choice(t, p, nil); err != nil {
			return err
		}
	}
	if p.finish == "" {
		return nil
	}
	for i, c := range t.callsOf(p.choice, p.calls) {
		if err := out.call(p.choice, i, c); err != nil {
			return err
		}
	}
	return out.choice(t, part{choice: p.choice}, &p.finish)
}

// begin adds what stands in front of a choice: the role of a chat, or the prompt that is
// echoed.
func (out *events) begin(t *telling, i int) error {
	c, empty, prompt := choice{Index: i}, "", i/t.q.n
	switch {
	case t.q.chat:
		c.Delta = &message{Role: "assistant", Content: &empty}
		if t.q.givesIDs {
			a := t.head
			a.PromptIDs, a.Choices = t.q.prompts[prompt], []choice{c}
			return out.addAnswer(a)
		}
	case t.q.echo:
		c.Text = &t.echoed[prompt]
		_, c.PromptIDs = t.promptFacts(prompt)
	case t.q.givesIDs:
		c.Text, c.PromptIDs = &empty, t.q.prompts[prompt]
	default:
		return nil
	}
	return out.addChoice(c)
}

// call adds a call of a tool: what is called, then the arguments.
func (out *events) call(of, i int, c toolCall) error {
	arguments := toolCall{Index: &i, Function: calledByName{Arguments: c.Function.Arguments}}
	c.Index, c.Function.Arguments = &i, ""
	for _, part := range []toolCall{c, arguments} {
		if err := out.addChoice(choice{Index: of, Delta: &message{Calls: []toolCall{part}}}); err != nil {
			return err
		}
	}
	return nil
}

// choice adds a part of one choice, or its end.
func (out *events) choice(t *telling, p part, finish *string) error {
	c := choice{Index: p.choice, Finish: finish}
	t.tokenFacts(&c, p.tokens)
	if finish == nil {
		c.Logprobs = t.logprobs(p.tokens, p.offset, false)
	}
	if t.q.chat {
		c.Delta = &message{Content: &p.text}
		if finish != nil {
			c.Delta.Content = nil
		}
	} else {
		c.Text = &p.text
	}
	if err := out.addChoice(c); err != nil || out.added.Len() < maxAdded {
		return err
	}
	return out.send() // to a slow reader there is much to tell
}

const maxAdded = 64 << 10 // bytes

// close ends a stream that is whole.
func (out *events) close(t *telling, begun []bool) error {
	length := "length"
	for i := range begun {
		if begun[i] {
			continue
		}
		// No token was to be drawn.
		if err := out.begin(t, i); err != nil {
			return err
		}
		if err := out.choice(t, part{choice: i, tokens: []sample.Token{}}, &length); err != nil {
			return err
		}
	}
	if t.q.usage {
		a := t.head
		a.Choices, a.Usage = []choice{}, t.usage()
		if err := out.addAnswer(a); err != nil {
			return err
		}
	}
	out.add([]byte("[DONE]"))
	return nil
}
