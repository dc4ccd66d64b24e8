package verify

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/rlzero/rlzero/internal/bm25"
	"github.com/rlzero/rlzero/internal/settings"
)

func init() {
	Register(Entry{
		Name:    "retrieval",
		Summary: "a query by which a search finds the row's documents",
		Doc: fmt.Sprintf(`retrieval: right when a search among the row's documents finds one of its gold documents.

The completion is a query. Documents are ordered by BM25 in whole numbers, as the tool search
orders them (rlzero tools show search); of equal ones a gold document comes last, so that a
query that tells nothing apart finds nothing. A query has at most %d bytes. A list of guesses is
a query too: where that is not wanted, the reward asks for a form besides.

Row: documents, a list of texts, and gold, those of them that are to be found: a list of texts,
or one. Other names: options documents and gold.

Numbers: rank, the place of the first gold document, from 1, or one more than there are documents
where no gold document has a word of the query; found, the gold documents among the first.

Options
`, maxQuery) + settings.Describe(defaultRetrieval()) + `
Not scored when the row has no documents, no gold document, or one that is not among them.
`,
		New: func(options json.RawMessage) (Verifier, error) {
			v := defaultRetrieval()
			if err := DecodeOptions(options, v); err != nil {
				return nil, err
			}
			return *v, nil
		},
	})
}

const maxQuery = 1 << 10 // bytes, as those of the tool search

// Ways in which a ranking is scored, besides hit.
const (
	reciprocal = "reciprocal"
	recall     = "recall"
)

func defaultRetrieval() *retrieval {
	return &retrieval{Documents: "documents", Gold: "gold", First: 1, Score: "hit", Extract: ExtractNone}
}

// retrieval is the verifier "retrieval".
type retrieval struct {
	Documents string `toml:"documents" about:"column of the row with its documents"`
	Gold      string `toml:"gold" about:"column of the row with the documents to be found"`
	First     int    `toml:"first" range:"[1,1000000]" about:"so many documents count as found, the first ones"`
	Score     string `toml:"score" choice:"hit,reciprocal,recall" about:"hit, 1 where a gold document is among the first; reciprocal, 1/rank there; or recall, the share of the gold documents that are"`
	Extract   string `toml:"extract" choice:"none,announced,last_line" about:"where the query is: none, it is the whole completion; others as for the verifier number"`
}

// Check implements [Checker].
func (v retrieval) Check(row Problem) error {
	_, _, err := v.shelf(row)
	return err
}

// shelf are the documents of a row, and which of them are gold.
func (v retrieval) shelf(row Problem) (documents []string, gold []int, err error) {
	if there, err := row.Field(v.Documents, &documents); err != nil {
		return nil, nil, err
	} else if !there || len(documents) == 0 {
		return nil, nil, fmt.Errorf("the row has no documents: column %q", v.Documents)
	}
	var wanted []string
	var one string
	if there, _ := row.Field(v.Gold, &one); there {
		wanted = []string{one}
	} else if there, err := row.Field(v.Gold, &wanted); err != nil {
		return nil, nil, err
	} else if !there || len(wanted) == 0 {
		return nil, nil, fmt.Errorf("the row has no gold document: column %q", v.Gold)
	}
	for _, text := range wanted {
		if !slices.Contains(documents, text) {
			return nil, nil, fmt.Errorf("%q of the row is not among its documents: %s", v.Gold, quote(text))
		}
	}
	for i, text := range documents { // equal documents are all gold
		if slices.Contains(wanted, text) {
			gold = append(gold, i)
		}
	}
	return documents, gold, nil
}

// Verify implements [Verifier].
func (v retrieval) Verify(row Problem, completion string) Verdict {
	documents, gold, err := v.shelf(row)
	if err != nil {
		return Abstain("%v", err)
	}
	index, err := bm25.New(documents)
	if err != nil {
		return Abstain("the row's documents: %v", err)
	}
	query, rule, err := extractAnswer(completion, v.Extract)
	if err == nil && len(query) > maxQuery {
		err = fmt.Errorf("the query has %d bytes; accepted: at most %d", len(query), maxQuery)
	}
	rank, found := len(documents)+1, 0
	if err == nil {
		rank, found = v.ranked(index.Search(query, len(documents)), gold, rank)
	}
	var out Verdict
	switch score := v.score(rank, found, len(gold)); {
	case err != nil:
		out = Reject(query, rule, "%v", err)
	case score == 0:
		out = Reject(query, rule, "no gold document is among the first %d", v.First)
	case score == 1:
		out = Accept(query, rule, "a gold document is in place %d", rank)
	default:
		out = Verdict{Score: score, Verdict: Graded, Reason: fmt.Sprintf("the first gold document is in place %d, and %d of %d among the first %d", rank, found, len(gold), v.First), Extracted: shown(query), Rule: rule}
	}
	out.Values = map[string]float64{"rank": float64(rank), "found": float64(found)}
	return out
}

// ranked is the place of the first gold document, from 1, and how many of them are among the first; nowhere is
// the place of those that were not found. Documents of the same score stand before a gold one.
func (v retrieval) ranked(hits []bm25.Hit, gold []int, nowhere int) (rank, found int) {
	rank = nowhere
	for from := 0; from < len(hits); {
		to, wanted := from, 0
		for ; to < len(hits) && hits[to].Score == hits[from].Score; to++ {
			if slices.Contains(gold, hits[to].Document) {
				wanted++
			}
		}
		place := to - wanted // of the last one that is not gold
		if wanted > 0 {
			rank = min(rank, place+1)
			found += max(0, min(wanted, v.First-place))
		}
		from = to
	}
	return rank, found
}

// score is that of a ranking with so many gold documents among the first.
func (v retrieval) score(rank, found, gold int) float64 {
	switch {
	case found == 0:
		return 0
	case v.Score == reciprocal:
		return 1 / float64(rank)
	case v.Score == recall:
		return float64(found) / float64(gold)
	}
	return 1
}
