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

// format is response_format.
type format struct {
	kind   string
	schema json.RawMessage // the object around it
}

var formatKeys = keys[format]{
	{"type", func(f *format, name string, raw json.RawMessage) *fault {
		if _ = json.Unmarshal(raw, &f.kind); !slices.Contains([]string{"text", "json_object", "json_schema"}, f.kind) {
			return bad(name, `%s is %s; accepted: "text", "json_object", "json_schema"`, name, kindOf(raw))
		}
		return nil
	}},
	{"json_schema", raw(func(f *format) *json.RawMessage { return &f.schema })},
}

// namedSchema is a schema with what concerns the client alone. It is always followed
// strictly.
type namedSchema struct{ schema json.RawMessage }

var schemaKeys = keys[namedSchema]{
	{"schema", raw(func(s *namedSchema) *json.RawMessage { return &s.schema })},
	{"name", passed[namedSchema]},
	{"description", passed[namedSchema]},
	{"strict", passed[namedSchema]},
}

// form is what an answer has to follow.
type form struct {
	grammar.Form
	name string // the key of the request that asks for it
	key  string // tells it from others
	of   []form // what it was made of, to find out which is at fault
}

// readFormat reads the form of the text of an answer, if there is to be one.
func (s *Server) readFormat(q *query) *fault {
	if q.format == nil {
		return nil
	}
	const name = "response_format"
	var f format
	if _, err := formatKeys.read(name, q.format, &f, false); err != nil {
		return err
	}
	switch {
	case f.kind == "":
		return bad(name+".type", `%s has no "type"; accepted: "text", "json_object", "json_schema"`, name)
	case f.kind != "json_schema" && f.schema != nil:
		return bad(name+".json_schema", `%s.json_schema goes with the type "json_schema"; the type is %q`, name, f.kind)
	case f.kind == "text":
		return nil
	case s.m.Tokenizer == nil:
		return bad(name, "%s needs a tokenizer, and the model has none", name)
	case f.kind == "json_object":
		q.form = &form{grammar.Object(), name, "object", nil}
		return nil
	}
	const at = name + ".json_schema"
	var n namedSchema
	if f.schema == nil {
		return bad(at, `there is no %q; accepted: {"name":"...","schema":{...}}`, at)
	}
	if _, err := schemaKeys.read(at, f.schema, &n, false); err != nil {
		return err
	}
	if n.schema == nil {
		return bad(at+".schema", "there is no %q; accepted: a JSON schema", at+".schema")
	}
	q.form = &form{grammar.JSON(n.schema), at + ".schema", string(n.schema), nil}
	return nil
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
