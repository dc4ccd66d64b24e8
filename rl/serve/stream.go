package serve

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/rlzero/rlzero/model"
)

// Times of a stream.
const (
	awake     = 15 * time.Second // between comments that keep proxies from closing it
	writeTime = 30 * time.Second // for a client to take what is written
)

// extend gives a client time to take what is written next.
func extend(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTime)) // a test's recorder has none
}

// events are server-sent events: https://html.spec.whatwg.org/multipage/server-sent-events.html
type events struct {
	w   http.ResponseWriter
	out *http.ResponseController
}

func (e events) send(data []byte) error {
	extend(e.w)
	if _, err := e.w.Write(append(append([]byte("data: "), data...), "\n\n"...)); err != nil {
		return err
	}
	return e.out.Flush()
}

func (e events) sendJSON(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return e.send(data)
}

// streamed answers with events: one for each token that adds to what is told. Those of a
// choice come in the order of its tokens.
func (s *Server) streamed(ctx context.Context, w http.ResponseWriter, t *telling, drawn *feed) *fault {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	out := events{w, http.NewResponseController(w)}
	if t.q.chat {
		t.head.Object = "chat.completion.chunk"
	}
	begun := make([]bool, len(t.tellers))
	beat := time.NewTicker(awake)
	defer beat.Stop()
	for {
		select {
		case <-beat.C:
			extend(w)
			if _, err := w.Write([]byte(": awake\n\n")); err != nil || out.out.Flush() != nil {
				return nil // the client has gone away
			}
			continue
		case <-drawn.news:
		}
		told, ended, err := drawn.take()
		for _, e := range told {
			p, tells := t.hear(e)
			if !tells {
				continue
			}
			if out.part(t, p, begun) != nil {
				return nil
			}
		}
		if err != nil {
			_ = out.send(s.failed(ctx, err).body()) // without [DONE]: the stream is not whole
			return nil
		}
		if ended {
			return out.close(t, begun)
		}
	}
}

// part sends what a token adds.
func (out events) part(t *telling, p part, begun []bool) error {
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
		if err := out.call(t, p.choice, i, c); err != nil {
			return err
		}
	}
	return out.choice(t, part{choice: p.choice}, &p.finish)
}

// begin sends what stands in front of a choice: the role of a chat, or the prompt that is
// echoed.
func (out events) begin(t *telling, i int) error {
	a, c, empty, prompt := t.head, choice{Index: i}, "", i/t.q.n
	switch {
	case t.q.chat:
		c.Delta = &message{Role: "assistant", Content: &empty}
		if t.q.givesIDs {
			a.PromptIDs = t.q.prompts[prompt]
		}
	case t.q.echo:
		c.Text = &t.echoed[prompt]
		_, c.PromptIDs = t.promptFacts(prompt)
	case t.q.givesIDs:
		c.Text, c.PromptIDs = &empty, t.q.prompts[prompt]
	default:
		return nil
	}
	a.Choices = []choice{c}
	return out.sendJSON(a)
}

// call sends a call of a tool: what is called, then the arguments.
func (out events) call(t *telling, of, i int, c toolCall) error {
	arguments := toolCall{Index: &i, Function: calledByName{Arguments: c.Function.Arguments}}
	c.Index, c.Function.Arguments = &i, ""
	for _, part := range []toolCall{c, arguments} {
		a := t.head
		a.Choices = []choice{{Index: of, Delta: &message{Calls: []toolCall{part}}}}
		if err := out.sendJSON(a); err != nil {
			return err
		}
	}
	return nil
}

// choice sends a part of one choice, or its end.
func (out events) choice(t *telling, p part, finish *string) error {
	a, c := t.head, choice{Index: p.choice, Finish: finish}
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
	a.Choices = []choice{c}
	return out.sendJSON(a)
}

// close ends a stream that is whole.
func (out events) close(t *telling, begun []bool) *fault {
	length := "length"
	for i := range begun {
		if begun[i] {
			continue
		}
		// No token was to be drawn.
		if out.begin(t, i) != nil || out.choice(t, part{choice: i, tokens: []model.Token{}}, &length) != nil {
			return nil
		}
	}
	if t.q.usage {
		a := t.head
		a.Choices, a.Usage = []choice{}, t.usage()
		if out.sendJSON(a) != nil {
			return nil
		}
	}
	_ = out.send([]byte("[DONE]")) // a client that has gone away needs nothing
	return nil
}
