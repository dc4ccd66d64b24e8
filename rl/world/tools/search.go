package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rlzero/rlzero/internal/bm25"
	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

func init() {
	Register(Entry{
		Name:    "search",
		Summary: "documents by the words of a query",
		Doc: `search: shows the documents that fit the words of a query best, one after the other.

    <search>capital of France</search>   Paris is the capital and largest city of France.

Documents are ordered by BM25 in whole numbers, and equal ones by their number. Words are runs of
letters and digits, without capitals. They are those of a folder (each file .txt or .md is one), of a
column of a data file, or of a column of each row, which then has a list of texts. The argument is
query. A mistake is a query without a word of a document.

` + settings.Describe(defaultSearch()),
		Options: func() Options { return defaultSearch() },
		Paths:   []string{"data"},
	})
}

func defaultSearch() *searchOptions { return &searchOptions{Column: "text", Show: 3} }

type searchOptions struct {
	Data   string `toml:"data" about:"a folder of texts, or a data file (.jsonl, .json, .csv, .tsv, .parquet) with a document in each row"`
	Column string `toml:"column" about:"column of a data file that is the document"`
	Row    string `toml:"row" about:"in place of data: column of a problem's row with its own documents, a list of texts"`
	Show   int    `toml:"show" range:"[1,20]" about:"documents that a search shows, at most"`
}

// Validate implements [Options].
func (o *searchOptions) Validate() error {
	if err := settings.Check(o); err != nil {
		return err
	}
	if (o.Data == "") == (o.Row == "") {
		return &settings.Error{Key: "data", Problem: fmt.Sprintf("= %q and row = %q; accepted: one of them, as the documents are those of a file or of each row", o.Data, o.Row)}
	}
	return nil
}

// Spec implements [Options].
func (o *searchOptions) Spec() world.Spec { return Search{}.Spec() }

// Make implements [Options].
func (o *searchOptions) Make(documents Documents) (world.Tool, string, error) {
	if o.Row != "" {
		return rowSearch{column: o.Row, show: o.Show}, "", nil
	}
	_, texts, hash, err := documents(o.Data, o.Column)
	if err != nil {
		return nil, "", err
	}
	s, err := NewSearch(texts, o.Show)
	return s, hash, err
}

// rowSearch searches the documents of each row.
type rowSearch struct {
	Search
	column string
	show   int
}

// Open implements [world.Tool].
func (s rowSearch) Open(_ context.Context, row verify.Problem) (world.Session, error) {
	var texts []string
	there, err := row.Field(s.column, &texts)
	if err == nil && !there {
		err = fmt.Errorf("the row has no column %q with its documents", s.column)
	}
	if err != nil {
		return nil, err
	}
	return NewSearch(texts, s.show)
}

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

// Test implements [world.Tool].
func (Search) Test(ctx context.Context) error {
	s, err := NewSearch([]string{"the cat", "the dog"}, 1)
	if err != nil {
		return err
	}
	return Tested(ctx, s, `{"query":"dog"}`, "the dog")
}

// Open implements [world.Tool].
func (s Search) Open(context.Context, verify.Problem) (world.Session, error) { return s, nil }

// Close implements [world.Session].
func (Search) Close() error { return nil }

// Call implements [world.Session].
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
