package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rlzero/rlzero/internal/bm25"
	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/rl/world"
)

// Search is the tool "search". It shows the documents that fit the words of a query best, one after the
// other, by BM25 in whole numbers. Make one with [NewSearch].
type Search struct {
	index     *bm25.Index
	documents []string
	show      int
}

// Bounds of a search.
const (
	maxQuery = 1 << 10 // bytes
	maxShown = 1 << 12 // bytes of a document
)

// NewSearch is a search among documents that shows so many of them. The error is for more or longer
// documents than an index can hold.
func NewSearch(documents []string, show int) (Search, error) {
	index, err := bm25.New(documents)
	return Search{index, documents, show}, err
}

// Spec implements [world.Tool].
func (Search) Spec() world.Spec {
	return world.Spec{
		Name:  "search",
		About: "Shows the documents that fit the words of a query best.",
		Args:  json.RawMessage(`{"type":"object","properties":{"query":{"type":"string","description":"words that stand in the document"}},"required":["query"],"additionalProperties":false}`),
		Text:  "query",
		Pure:  true,
	}
}

// Call implements [world.Tool].
func (s Search) Call(_ context.Context, args json.RawMessage) (world.Answer, error) {
	return answer(s.search(args)), nil
}

func (s Search) search(args json.RawMessage) (string, error) {
	var a struct {
		Query string `toml:"query"`
	}
	if err := settings.DecodeJSON(args, &a); err != nil {
		return "", err
	}
	if len(a.Query) > maxQuery {
		return "", fmt.Errorf("the query has %d bytes; accepted: at most %d", len(a.Query), maxQuery)
	}
	var found []string
	for _, hit := range s.index.Search(a.Query, s.show) {
		text := s.documents[hit.Document]
		if len(text) > maxShown {
			text = strings.ToValidUTF8(text[:maxShown], "") + "…"
		}
		found = append(found, text)
	}
	if found == nil {
		return "", fmt.Errorf("no document has a word of the query")
	}
	return strings.Join(found, "\n"), nil
}
