package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/grammar"
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

// readFormat finds the grammar that the answer of a query has to follow, if any.
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
		return s.follow(q, "object", name, grammar.Object())
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
	return s.follow(q, string(n.schema), at+".schema", grammar.JSON(n.schema))
}

// follow has the answer of a query follow a form. name is the key that asks for it, and
// key tells the form from others.
func (s *Server) follow(q *query, key, name string, form grammar.Form) *fault {
	g, err := s.grammars.get(fmt.Sprintf("%v %s", q.ends, key), func() (*grammar.Grammar, error) {
		return grammar.New(s.vocabulary(), q.ends, form)
	})
	if err != nil {
		return unwritable(name, err)
	}
	q.guide = guided{g.Start()}
	return nil
}

func unwritable(name string, err error) *fault {
	return &fault{http.StatusBadRequest, invalid, "unsupported_schema", name, fmt.Sprintf("%s: %v", name, err)}
}

// guided is a state of a grammar as the engine asks it.
type guided struct{ grammar.State }

func (g guided) Next(id int) model.Guide { return guided{g.State.Next(id)} }

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
