package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/grammar"
	"github.com/rlzero/rlzero/model/sample"
)

// format is what the text of an answer is to follow.
type format struct {
	kind   string          // "text" or "": any
	schema json.RawMessage // of kind json_schema; it is always followed strictly
	name   string          // the key of the request that asks for it
}

// kinds of formats, in OpenAI's words.
const (
	textFormat   = "text"
	objectFormat = "json_object"
	schemaFormat = "json_schema"
)

// formatBody is response_format.
type formatBody struct {
	kind   string
	around json.RawMessage // of the schema
	schema json.RawMessage
}

var formatKind = key[formatBody]{"type", func(f *formatBody, name string, raw json.RawMessage) *fault {
	if _ = json.Unmarshal(raw, &f.kind); !slices.Contains([]string{textFormat, objectFormat, schemaFormat}, f.kind) {
		return invalidValue(name, `%s is %s; accepted: "text", "json_object", "json_schema"`, name, kindOf(raw))
	}
	return nil
}}

// schemaKeys are those of a schema, with what concerns the client alone.
var schemaKeys = keys[formatBody]{
	{"schema", raw(func(f *formatBody) *json.RawMessage { return &f.schema })},
	{"name", passed[formatBody]},
	{"description", passed[formatBody]},
	{"strict", passed[formatBody]},
}

var (
	formatKeys     = keys[formatBody]{formatKind, {"json_schema", raw(func(f *formatBody) *json.RawMessage { return &f.around })}}
	flatFormatKeys = append(keys[formatBody]{formatKind}, schemaKeys...)
)

// read reads a format with its schema in an object of its own.
func (f *format) read(name string, value json.RawMessage) *fault {
	var b formatBody
	if _, err := formatKeys.read(name, value, &b, false); err != nil {
		return err
	}
	at := name + ".json_schema"
	switch {
	case b.kind != schemaFormat && b.around != nil:
		return bad(at, `%s goes with the type "json_schema"; the type is %q`, at, b.kind)
	case b.kind == schemaFormat && b.around == nil:
		return missing(at, `there is no %q; accepted: {"name":"...","schema":{...}}`, at)
	case b.kind == schemaFormat:
		if _, err := schemaKeys.read(at, b.around, &b, false); err != nil {
			return err
		}
	}
	return f.take(name, at, b)
}

// readFlat reads a format that has its schema beside its type.
func (f *format) readFlat(name string, value json.RawMessage) *fault {
	var b formatBody
	if _, err := flatFormatKeys.read(name, value, &b, false); err != nil {
		return err
	}
	if b.kind != schemaFormat && b.schema != nil {
		return bad(name+".schema", `%s.schema goes with the type "json_schema"; the type is %q`, name, b.kind)
	}
	return f.take(name, name, b)
}

// take takes what was read; at is where the schema stands.
func (f *format) take(name, at string, b formatBody) *fault {
	switch {
	case b.kind == "":
		return missing(name+".type", `%s has no "type"; accepted: "text", "json_object", "json_schema"`, name)
	case b.kind == schemaFormat && b.schema == nil:
		return missing(at+".schema", "there is no %q; accepted: a JSON schema", at+".schema")
	}
	*f = format{b.kind, b.schema, name}
	if b.schema != nil {
		f.name = at + ".schema"
	}
	return nil
}

// form is what an answer has to follow.
type form struct {
	grammar.Form
	name string // the key of the request that asks for it
	key  string // tells it from others
	of   []form // what it was made of, to find out which is at fault
}

// formOf is the form of the text of an answer; nil: any text.
func (s *Server) formOf(f format) (*form, *fault) {
	switch {
	case f.kind == "" || f.kind == textFormat:
		return nil, nil
	case s.m.Tokenizer == nil:
		return nil, bad(f.name, "%s needs a tokenizer, and the model has none", f.name)
	case f.kind == objectFormat:
		return &form{grammar.Object(), f.name, "object", nil}, nil
	}
	return &form{grammar.JSON(f.schema), f.name, string(f.schema), nil}, nil
}

// follow has the answer of a query follow its form.
func (s *Server) follow(q *query) *fault {
	if q.form == nil {
		return nil
	}
	f := *q.form
	g, err := s.grammars.get(fmt.Sprintf("%v %s", q.ends, f.key), func() (*grammar.Grammar, error) {
		return grammar.New(s.vocabulary(), q.ends, f.Form)
	})
	if err != nil {
		return s.blame(q, f, err)
	}
	q.guide = guided{g.Start(), f.name}
	return nil
}

// blame finds out which part of a form cannot be followed.
func (s *Server) blame(q *query, f form, err error) *fault {
	for _, part := range f.of {
		if _, err := grammar.New(s.vocabulary(), q.ends, part.Form); err != nil {
			return s.blame(q, part, err)
		}
	}
	return unwritable(f.name, err)
}

func unwritable(name string, err error) *fault {
	return &fault{http.StatusBadRequest, invalid, "unsupported_schema", name, fmt.Sprintf("%s: %v", name, err)}
}

// guided is a state of a grammar as the engine asks it. Its errors name the key that asked
// for it.
type guided struct {
	grammar.State
	name string
}

func (g guided) Next(id int) sample.Guide { return guided{g.State.Next(id), g.name} }

func (g guided) Allow(bits []uint32) error {
	if err := g.State.Allow(bits); err != nil {
		return unwritable(g.name, err)
	}
	return nil
}

// newVocabulary is the vocabulary of a model in bytes, which has a row for each logit.
// Control tokens have bytes that no text has.
func newVocabulary(m *model.Model) *grammar.Vocabulary {
	all := make([][]byte, m.Config.Vocab)
	copy(all, m.Tokenizer.TokenBytes())
	for id, bytes := range all {
		switch {
		case m.Tokenizer.Special(id):
			all[id] = grammar.TokenBytes(id)
		case slices.ContainsFunc(bytes, func(b byte) bool { return b >= 0xF5 }): // in no text, and among those of a control token
			all[id] = nil
		}
	}
	return grammar.NewVocabulary(all)
}

// grammars keeps those that were made last: what they learn of a vocabulary takes longer
// than they do.
type grammars struct {
	mu   sync.Mutex
	list []keptGrammar // the one that was used last comes last
}

type keptGrammar struct {
	key string
	g   *grammar.Grammar
}

const maxGrammars = 16

func (k *grammars) get(key string, make func() (*grammar.Grammar, error)) (*grammar.Grammar, error) {
	if g := k.find(key); g != nil {
		return g, nil
	}
	g, err := make()
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.list = append(k.list, keptGrammar{key, g})
	k.list = k.list[max(0, len(k.list)-maxGrammars):]
	return g, nil
}

func (k *grammars) find(key string) *grammar.Grammar {
	k.mu.Lock()
	defer k.mu.Unlock()
	at := slices.IndexFunc(k.list, func(o keptGrammar) bool { return o.key == key })
	if at < 0 {
		return nil
	}
	found := k.list[at]
	k.list = append(slices.Delete(k.list, at, at+1), found)
	return found.g
}
