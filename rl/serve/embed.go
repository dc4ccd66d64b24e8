package serve

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"

	"github.com/rlzero/rlzero/model/sample"
)

// embedding is the body of /v1/embeddings: https://platform.openai.com/docs/api-reference/embeddings
type embedding struct {
	model   string
	input   json.RawMessage
	form    string
	pooling string
	width   int // 0: not given
}

// Ways to make one vector of those of a text's tokens.
const (
	poolMean = "mean"
	poolLast = "last"
)

// oneOf reads one of a few texts.
func oneOf[T any](at func(*T) *string, accepted ...string) reader[T] {
	return func(into *T, name string, raw json.RawMessage) *fault {
		if _ = json.Unmarshal(raw, at(into)); !slices.Contains(accepted, *at(into)) {
			return invalidValue(name, "%s is %s; accepted: %q", name, kindOf(raw), accepted)
		}
		return nil
	}
}

var embeddingKeys = keys[embedding]{
	{"model", word(func(e *embedding) *string { return &e.model })},
	{"input", raw(func(e *embedding) *json.RawMessage { return &e.input })},
	{"encoding_format", oneOf(func(e *embedding) *string { return &e.form }, "float", "base64")},
	{"pooling", oneOf(func(e *embedding) *string { return &e.pooling }, poolMean, poolLast)},
	{"dimensions", whole(1, 1<<30, func(e *embedding) *int { return &e.width })},
	{"user", passed[embedding]},
}

// embeddings are an answer. It says how they were made, as the API has no word for that.
type embeddings struct {
	Object      string         `json:"object"`
	Data        []oneEmbedding `json:"data"`
	Model       string         `json:"model"`
	Usage       embeddingUsage `json:"usage"`
	Pooling     string         `json:"pooling"`    // "mean": of the tokens; "last": of the last one
	Layer       string         `json:"layer"`      // whose output it is
	Normalized  bool           `json:"normalized"` // to length 1
	Fingerprint string         `json:"system_fingerprint"`
}

type oneEmbedding struct {
	Object string `json:"object"`
	Index  int    `json:"index"`
	Vector any    `json:"embedding"` // []float32, or their little-endian bytes in base64
}

type embeddingUsage struct {
	Prompt int `json:"prompt_tokens"`
	Total  int `json:"total_tokens"`
}

// embed answers with a vector for each text: the final hidden states of its tokens in one, of
// length 1. A text has the same bits whatever stands beside it.
func (s *Server) embed(w http.ResponseWriter, r *http.Request) *fault {
	data, f := readBody(w, r)
	if f != nil {
		return f
	}
	e := &embedding{form: "float", pooling: poolMean}
	var on *served
	var prompts [][]int
	s.parsed(func() {
		if _, f = embeddingKeys.read("", data, e, false); f == nil {
			on, prompts, f = s.toEmbed(e)
		}
	})
	if f != nil {
		return f
	}
	leave, f := s.enter()
	if f != nil {
		return f
	}
	defer leave()
	pools, reqs := make([]pool, len(prompts)), make([]sample.Request, len(prompts))
	out := embeddings{Object: "list", Model: on.name, Pooling: e.pooling, Layer: "last, after the final norm", Normalized: true, Fingerprint: on.print}
	for i, p := range prompts {
		pools[i] = pool{sum: make([]float64, s.m.Config.Width), from: 0}
		if e.pooling == poolLast {
			pools[i].from = len(p) - 1
		}
		reqs[i] = sample.Request{Prompt: p, Hidden: pools[i].add}
		out.Usage.Prompt += len(p)
	}
	out.Usage.Total = out.Usage.Prompt
	if err := s.generate(r.Context(), on, reqs); err != nil {
		return s.failed(r.Context(), err)
	}
	for i := range pools {
		v, err := pools[i].unit()
		if err != nil {
			return s.failed(r.Context(), err)
		}
		one := oneEmbedding{"embedding", i, v}
		if e.form == "base64" {
			bytes, _ := binary.Append(nil, binary.LittleEndian, v) // numbers can always be written
			one.Vector = base64.StdEncoding.EncodeToString(bytes)
		}
		out.Data = append(out.Data, one)
	}
	return writeJSON(w, out)
}

// toEmbed finds the model and the token ids of each text.
func (s *Server) toEmbed(e *embedding) (on *served, prompts [][]int, f *fault) {
	if on, f = s.find(e.model); f != nil {
		return nil, nil, f
	}
	switch width := s.m.Config.Width; {
	case e.input == nil:
		return nil, nil, missing("input", `there is no "input"; accepted: a text, a list of texts, token ids, or a list of lists of token ids`)
	case e.width != 0 && e.width != width:
		return nil, nil, unsupported("dimensions", "dimensions is %d, and the model's hidden state has %d numbers, all of which count; accepted: %[2]d", e.width, width)
	}
	if prompts, f = s.textPrompts("input", e.input); f != nil {
		return nil, nil, f
	}
	for i, p := range prompts {
		if context := s.o.Engine.Context; len(p) > context {
			return nil, nil, coded(codeTooLong, element("input", i), "the context of this server has %d tokens; text %d has %d", context, i, len(p))
		}
	}
	return on, prompts, nil
}

// pool makes one vector of those of a text's tokens.
type pool struct {
	sum  []float64
	from int // the first token that counts
}

func (p *pool) add(at int, state []float32) {
	if at >= p.from {
		for i, x := range state {
			p.sum[i] += float64(x)
		}
	}
}

// unit is the sum at length 1, which is the mean at length 1 too.
func (p *pool) unit() ([]float32, error) {
	var squares float64
	for _, x := range p.sum {
		squares += x * x
	}
	if math.IsNaN(squares) || math.IsInf(squares, 0) {
		return nil, fmt.Errorf("the hidden state of a token is not finite: the model's weights are damaged, or too large for their arithmetic")
	}
	out := make([]float32, len(p.sum))
	for i, x := range p.sum {
		out[i] = float32(x / max(math.Sqrt(squares), math.SmallestNonzeroFloat64))
	}
	return out, nil
}
