package seq_test

import (
	"github.com/rlzero/rlzero/model/seq"
	"strings"
	"testing"
)

// TestSequenceRefused: spans that cannot be predicted name the sequence.
func TestSequenceRefused(t *testing.T) {
	ids := []int{1, 2, 3, 4}
	for want, s := range map[string]seq.Sequence{
		"span 0 to 2":   {IDs: ids, Spans: []seq.Span{{0, 2}}, Temperature: 1},
		"span 3 to 5":   {IDs: ids, Spans: []seq.Span{{3, 5}}, Temperature: 1},
		"span 2 to 1":   {IDs: ids, Spans: []seq.Span{{2, 1}}, Temperature: 1},
		"span 2 to 4":   {IDs: ids, Spans: []seq.Span{{1, 3}, {2, 4}}, Temperature: 1},
		"temperature 0": {IDs: ids, Spans: []seq.Span{{1, 4}}},
	} {
		if _, err := seq.Pack([]seq.Sequence{s}, seq.Capacity{Rows: 9, Positions: 9}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want one about %s", s, err, want)
		}
	}
}
