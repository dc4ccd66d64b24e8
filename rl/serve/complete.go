package serve

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rlzero/rlzero/internal/web"
	"github.com/rlzero/rlzero/model/sample"
)

// parsed parses a body, once few enough others are. A panic, which net/http recovers,
// leaves the place free.
func (s *Server) parsed(parse func()) {
	s.parsing <- struct{}{}
	defer func() { <-s.parsing }()
	parse()
}

// complete answers /v1/completions and /v1/chat/completions.
func (s *Server) complete(w http.ResponseWriter, r *http.Request, chat bool) *fault {
	data, f := readBody(w, r)
	if f != nil {
		return f
	}
	s.coming.Add(1)
	var q *query
	s.parsed(func() {
		if q, f = readQuery(data, chat, s.o.Lenient); f == nil {
			f = s.readPrompts(q)
		}
	})
	if f != nil {
		return f
	}
	if len(q.unnoticed) > 0 {
		w.Header().Set(ignoredHeader, headerSafe(strings.Join(q.unnoticed, ", ")))
	}
	leave, f := s.enter()
	if f != nil {
		return f
	}
	defer leave()
	if !q.seeded { // it is returned, so that the answer can be drawn again
		q.sampling.Seed = web.Chance()
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	drawn, f := s.draw(ctx, q)
	if f != nil {
		return f
	}
	t := s.newTelling(q, data)
	if q.stream {
		return s.streamed(ctx, w, t, drawn)
	}
	a, f := s.whole(ctx, t, drawn)
	if f != nil {
		return f
	}
	return writeJSON(w, a)
}

// ignoredHeader names the keys that were passed over.
const ignoredHeader = "X-Rlzero-Ignored"

// headerSafe makes a text one that a header may have.
func headerSafe(t string) string {
	const most = 1000
	t = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, t)
	return t[:min(len(t), most)]
}

// telling makes an answer of events.
type telling struct {
	s       *Server
	q       *query
	head    answer // what all its parts have in common
	tellers []*teller
	prompts [][]sample.Token // [prompt], as far as they are scored
	echoed  []string         // [prompt] text, where it is echoed
	offsets [][]int          // [prompt][token] characters before it, where it is echoed
}

func (s *Server) newTelling(q *query, body []byte) *telling {
	t := &telling{s: s, q: q, prompts: make([][]sample.Token, len(q.prompts))}
	t.head = answer{Object: "text_completion", Created: s.now().Unix(), Model: q.on.name, Fingerprint: q.on.print, Seed: q.sampling.Seed}
	kind := "cmpl"
	if q.chat {
		kind, t.head.Object = "chatcmpl", "chat.completion"
	}
	// An answer is a function of model, request and seed, and so is its name.
	sum := sha256.Sum256(fmt.Appendf(body, "\n%s %d", q.on.print, q.sampling.Seed))
	t.head.ID = fmt.Sprintf("%s-%x", kind, sum[:12])
	for p, prompt := range q.prompts {
		t.prompts[p] = []sample.Token{{ID: prompt[0]}}
		before := 0
		if q.echo {
			text, offsets := s.echo(prompt)
			t.echoed, t.offsets = append(t.echoed, text), append(t.offsets, offsets)
			before = utf8.RuneCountInString(text)
		}
		for i := range q.n {
			c := newTeller(q, p*q.n+i, s.m.Tokenizer)
			c.before = before
			t.tellers = append(t.tellers, c)
		}
	}
	return t
}

// echo is the text of a prompt, and the characters before each of its tokens.
func (s *Server) echo(prompt []int) (text string, offsets []int) {
	sp := newSpeaker(s.m.Tokenizer, nil)
	for _, id := range prompt {
		offsets = append(offsets, sp.runes)
		text += sp.add(id)
	}
	return text + sp.end(), offsets
}

// hear takes an event; a token of a prompt adds nothing that is told at once.
func (t *telling) hear(e event) (p part, tells bool) {
	if e.choice < 0 {
		t.prompts[e.prompt] = append(t.prompts[e.prompt], e.token)
		return p, false
	}
	return t.tellers[e.choice].add(e.token), true
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

// usage counts tokens: those of each prompt once, and all that were drawn.
func (t *telling) usage() *usage {
	u := &usage{}
	for _, p := range t.q.prompts {
		u.Prompt += len(p)
	}
	for _, c := range t.tellers {
		u.Completion += c.drawn
	}
	u.Total = u.Prompt + u.Completion
	return u
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

// whole is an answer in one piece.
func (s *Server) whole(ctx context.Context, t *telling, drawn *feed) (*answer, *fault) {
	all := make([]part, len(t.tellers))
	var events []event
	for ended := false; !ended; {
		<-drawn.news // the engine ends what is cancelled
		var err error
		events, ended, err = drawn.take(events)
		if err != nil {
			return nil, s.failed(ctx, err)
		}
		for _, e := range events {
			if p, tells := t.hear(e); tells {
				to := &all[e.choice]
				to.text += p.text
				to.tokens = append(to.tokens, p.tokens...)
				to.offset = append(to.offset, p.offset...)
				to.finish, to.calls = p.finish, p.calls
			}
		}
	}
	a := t.head
	a.Usage = t.usage()
	for i, p := range all {
		a.Choices = append(a.Choices, t.choice(i, p))
	}
	if t.q.chat {
		a.PromptLogprobs, a.PromptIDs = t.promptFacts(0)
	}
	return &a, nil
}

// choice is a whole completion.
func (t *telling) choice(i int, p part) choice {
	c := choice{Index: i}
	t.tokenFacts(&c, p.tokens)
	if p.finish == "" { // no token was to be drawn
		p.finish = "length"
	}
	c.Finish = &p.finish
	if t.q.chat {
		c.Message = &message{Role: "assistant", Content: &p.text, Calls: t.callsOf(i, p.calls)}
		if p.calls != nil && p.text == "" {
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

// writeJSON writes an answer.
func writeJSON(w http.ResponseWriter, v any) *fault {
	data, err := json.Marshal(v)
	if err != nil {
		return &fault{http.StatusInternalServerError, "server_error", "", "", err.Error()}
	}
	w.Header().Set("Content-Type", "application/json")
	extend(w)
	w.Write(append(data, '\n')) // a client that has gone away needs nothing
	return nil
}
