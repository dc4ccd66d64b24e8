package serve

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
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

// complete answers a request for completions in a wire format.
func (s *Server) complete(w http.ResponseWriter, r *http.Request, format *wire) *fault {
	data, f := readBody(w, r)
	if f != nil {
		return f
	}
	s.coming.Add(1)
	var q *query
	s.parsed(func() {
		if q, f = format.read(format, data, s.o.Lenient); f == nil {
			f = s.prepare(q)
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
	all, f := s.whole(ctx, t, drawn)
	if f != nil {
		return f
	}
	return writeJSON(w, format.whole(t, all))
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

// telling makes the parts of an answer of events.
type telling struct {
	s       *Server
	q       *query
	sum     string // hexadecimal; of model, request and seed, of which an answer is a function: names are made of it
	created int64  // seconds since 1970
	tellers []*teller
	prompts [][]sample.Token // [prompt], as far as they are scored
	echoed  []string         // [prompt] text, where it is echoed
	offsets [][]int          // [prompt][token] characters before it, where it is echoed
}

func (s *Server) newTelling(q *query, body []byte) *telling {
	t := &telling{s: s, q: q, created: s.now().Unix(), prompts: make([][]sample.Token, len(q.prompts))}
	sum := sha256.Sum256(fmt.Appendf(body, "\n%s %d", q.on.print, q.sampling.Seed))
	t.sum = fmt.Sprintf("%x", sum[:12])
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

// whole hears all of an answer, and returns each choice as one part.
func (s *Server) whole(ctx context.Context, t *telling, drawn *feed) ([]part, *fault) {
	all := make([]part, len(t.tellers))
	for i := range all {
		all[i] = part{choice: i, finish: "length"} // where no token was to be drawn
	}
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
				to.finish, to.stopped, to.calls = p.finish, p.stopped, p.calls
			}
		}
	}
	return all, nil
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
