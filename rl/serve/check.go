package serve

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"

	"github.com/rlzero/rlzero/model/sample"
)

// claim is a completion that somebody says was drawn.
type claim struct {
	prompt   []int
	ids      []int
	logprobs []float32 // nil: not claimed
}

// checked is the body of /v1/check.
type checked struct {
	asked
	claims []claim
}

// checkKeys are those of /v1/check: how it was drawn, under the names of a completion.
var checkKeys = slices.Concat(within(chatKeys.named("model", "temperature", "top_p", "min_p", "top_k", "seed", "draw_stream", "response_format", "tools", "tool_choice", "parallel_tool_calls"), func(c *checked) *asked { return &c.asked }), keys[checked]{
	{"chat", truth(func(c *checked) *bool { return &c.chat })}, // it was drawn by /v1/chat/completions
	{"prompt_token_ids", idList(func(c *checked) *[]int { return &c.claim().prompt })},
	{"token_ids", idList(func(c *checked) *[]int { return &c.claim().ids })},
	{"logprobs", func(c *checked, name string, raw json.RawMessage) *fault {
		var texts []*json.Number
		if json.Unmarshal(raw, &texts) != nil || slices.Contains(texts, nil) {
			return invalidType(name, "%s is not a list of numbers, nats", name)
		}
		list := make([]float32, len(texts))
		for i, t := range texts {
			x, err := strconv.ParseFloat(t.String(), 32)
			if err != nil {
				return bad(element(name, i), "%s is %s, which float32 cannot hold", element(name, i), t)
			}
			list[i] = float32(x)
		}
		c.claim().logprobs = list
		return nil
	}},
})

// claim is the only one of a body.
func (c *checked) claim() *claim {
	if len(c.claims) == 0 {
		c.claims = make([]claim, 1)
	}
	return &c.claims[0]
}

// verdict is the answer of /v1/check.
type verdict struct {
	Object      string      `json:"object"`
	Equal       bool        `json:"equal"` // all that is claimed was drawn
	Tokens      int         `json:"tokens"`
	Difference  *difference `json:"first_difference"`
	Fingerprint string      `json:"system_fingerprint"`
}

// difference is where a claim is wrong.
type difference struct {
	Token int    `json:"token"` // of the completion, from 0
	What  string `json:"what"`  // "id" or "logprob"
	Right any    `json:"right"` // what it has to be; null: the completion ends before it
}

// check answers whether a completion is what this model draws: the proof of an answer,
// for the price of reading it.
func (s *Server) check(w http.ResponseWriter, r *http.Request) *fault {
	data, f := readBody(w, r)
	if f != nil {
		return f
	}
	c := &checked{asked: asked{query: *newQuery(completionWire)}}
	s.parsed(func() { _, f = checkKeys.read("", data, c, false) })
	if f != nil {
		return f
	}
	if c.on, f = s.find(c.model); f != nil {
		return f
	}
	k := c.claim()
	if f := s.promptIDs("prompt_token_ids", k.prompt); f != nil {
		return f
	}
	switch {
	case !c.seeded:
		return missing("seed", `there is no "seed"; accepted: the seed that the completion was drawn with`)
	case len(k.ids) == 0:
		return missing("token_ids", "there are no token_ids; accepted: the ids of the completion, at least one")
	case k.logprobs != nil && len(k.logprobs) != len(k.ids):
		return bad("logprobs", "there are %d logprobs and %d token_ids; accepted: one for each", len(k.logprobs), len(k.ids))
	}
	req := sample.Request{Prompt: k.prompt, MaxTokens: len(k.ids), Sampling: c.sampling, Stream: uint32(c.drawStream), Ends: []int{}}
	if f := s.checkedForm(c); f != nil {
		return f
	}
	if req.Guide = c.guide; c.guide != nil { // nothing comes after the end of a form
		req.Ends = c.ends
	}
	if err := c.on.engine.Admits(req); err != nil {
		return bad("token_ids", "%v", err)
	}
	leave, f := s.enter()
	if f != nil {
		return f
	}
	defer leave()
	right, err := s.drawn(r.Context(), c.on, req, k.ids)
	if err != nil {
		return s.failed(r.Context(), err)
	}
	v := verdict{Object: "check", Tokens: len(k.ids), Fingerprint: c.on.print, Difference: k.differs(right)}
	v.Equal = v.Difference == nil
	return writeJSON(w, v)
}

// checkedForm finds the form that a completion had to follow, which changes what is drawn.
func (s *Server) checkedForm(c *checked) *fault {
	var err *fault
	if c.form, err = s.formOf(c.format); err != nil {
		return err
	}
	c.ends = s.m.Config.EOS
	switch {
	case c.chat:
		if err := s.chats("chat"); err != nil {
			return err
		}
		c.ends = s.format.Ends()
		if _, err := s.allowTools(&c.query); err != nil {
			return err
		}
	case c.toolList != nil || c.choice.mode != "":
		return bad("tools", "tools and tool_choice go with chat true, which says that /v1/chat/completions drew it")
	}
	return s.follow(&c.query)
}

// drawn is what the engine draws where a completion is claimed.
func (s *Server) drawn(ctx context.Context, on *served, req sample.Request, claimed []int) (sample.Completion, error) {
	s.working.Add(1)
	defer s.working.Done()
	all, err := on.engine.Check(ctx, []sample.Request{req}, [][]sample.Completion{{{IDs: claimed}}})
	if err != nil {
		return sample.Completion{}, err
	}
	return all[0][0], nil
}

// differs is the first place where a claim is not what it has to be.
func (k *claim) differs(right sample.Completion) *difference {
	claimed := sample.Completion{IDs: k.ids, Logprob: k.logprobs, Entropy: right.Entropy, Stop: right.Stop}
	if k.logprobs == nil {
		claimed.Logprob = right.Logprob
	}
	at, what := claimed.FirstDifference(right)
	switch what {
	case "id":
		if at == len(right.IDs) { // its form has come to an end
			return &difference{at, what, nil}
		}
		return &difference{at, what, right.IDs[at]}
	case "logprob":
		return &difference{at, what, right.Logprob[at]}
	}
	return nil
}
