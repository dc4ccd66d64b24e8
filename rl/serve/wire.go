package serve

import (
	"encoding/json"
	"slices"
	"strings"
)

// wire is a format of requests and answers. Each is a file with a decoder, which makes a query
// of a body, and an encoder, which writes the parts of an answer.
type wire struct {
	read   func(w *wire, data []byte, lenient bool) (*query, *fault)
	whole  func(t *telling, all []part) any // JSON of an answer in one piece; a part for each choice
	stream func(t *telling, out *events) (encoder, error)
	refuse func(f *fault) any // JSON of a refusal

	prompt, format string // keys of a body, as faults name them
	name           string // what ids of answers begin with
}

// encoder writes the parts of an answer as events of a stream. An error is that the client has
// gone away.
type encoder interface {
	part(p part) error
	fail(f *fault)
	close() error
}

// within are the keys of a value as those of what contains it.
func within[T, U any](of keys[U], at func(*T) *U) (out keys[T]) {
	for _, k := range of {
		out = append(out, key[T]{k.name, func(into *T, name string, raw json.RawMessage) *fault { return k.read(at(into), name, raw) }})
	}
	return out
}

// drawing are the keys that say how tokens are drawn, in all formats.
var drawing = keys[query]{
	{"model", word(func(q *query) *string { return &q.model })},
	{"temperature", real("0 (the most likely token) and numbers from 0.0001 to 10000", 1e4, func(x float64) bool { return x == 0 || x >= 1e-4 }, func(q *query) *float64 { return &q.sampling.Temperature })},
	{"top_p", real("numbers above 0, up to 1", 1, func(x float64) bool { return x > 0 }, func(q *query) *float64 { return &q.sampling.TopP })},
	{"min_p", real("numbers from 0 to 1", 1, func(x float64) bool { return x >= 0 }, func(q *query) *float64 { return &q.sampling.MinP })},
	{"top_k", func(q *query, name string, raw json.RawMessage) *fault {
		k, err := wholeIn(name, raw, -1, 1<<30)
		q.sampling.TopK = max(k, 0) // vLLM writes -1 for all
		return err
	}},
	{"seed", natural(func(q *query, seed uint64) { q.sampling.Seed, q.seeded = seed, true })},
	{"draw_stream", whole(0, maxStream, func(q *query) *int { return &q.drawStream })},
	{"stop_token_ids", idList(func(q *query) *[]int { return &q.stopIDs })},
	{"stream", truth(func(q *query) *bool { return &q.stream })},

	{"ignore_eos", truth(func(q *query) *bool { return &q.ignoreEnds })},
	{"min_tokens", only[query]("completions end where the model ends them", "0")},
	{"metadata", passed[query]},
}

// effort is how much a model is to think, for chat templates that read it.
type effort struct {
	level string // "": nothing is said
	at    string // the key of the request
}

// efforts are those of OpenAI's API.
var efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh"}

func (e *effort) read(name string, raw json.RawMessage) *fault {
	if _ = json.Unmarshal(raw, &e.level); !slices.Contains(efforts, e.level) {
		return invalidValue(name, `%s is %s; accepted: "%s"`, name, kindOf(raw), strings.Join(efforts, `", "`))
	}
	e.at = name
	return nil
}
