package seq_test

import (
	"fmt"
	"github.com/rlzero/rlzero/model/internal/modeltest"
	"github.com/rlzero/rlzero/model/seq"
	"slices"
	"testing"
)

// TestBatch lays out a small group by hand.
//
//	9 8 ─┬─ 1 ─┬─ 2 ─ 3
//	     │     └─ 4
//	     └─ 5
func TestBatch(t *testing.T) {
	predict := func(from int, ids ...int) seq.Sequence {
		s := seq.Predict(ids, from, 0.5)
		s.Group = 3
		return s
	}
	before := seq.Predict([]int{7, 7, 7}, 2, 1)
	batches, err := seq.Pack([]seq.Sequence{before, predict(2, 9, 8, 1, 2, 3, 0), predict(2, 9, 8, 5, 6), predict(2, 9, 8, 1, 4, 0), predict(3, 9, 8, 1, 2)}, seq.Capacity{Rows: 100, Positions: 9})
	if err != nil || len(batches) != 1 {
		t.Fatalf("%d batches, %v", len(batches), err)
	}
	b := batches[0]
	for name, c := range map[string]struct{ got, want []uint32 }{
		"ids":     {b.IDs, []uint32{7, 7, 9, 8, 1, 2, 3, 4, 5}},
		"place":   {b.Place, []uint32{0, 0, 1, 1, 0, 2, 1, 3, 2, 4, 3, 5, 4, 6, 3, 7, 2, 8}},
		"kvidx":   {b.KVIdx, []uint32{0, 1, 2, 3, 4, 5, 6, 2, 3, 4, 7, 2, 3, 8}},
		"keys":    {b.Keys, []uint32{0, 1, 0, 2, 2, 1, 2, 2, 2, 3, 2, 4, 2, 5, 7, 4, 11, 3}},
		"ends":    {b.Ends, []uint32{2, 2, 9, 9, 8, 7, 7, 8, 9}},
		"idx":     {b.Idx, []uint32{1, 3, 3, 3, 4, 4, 4, 5, 6, 7, 8}},
		"targets": {b.Target, []uint32{7, 1, 5, 1, 2, 4, 2, 3, 0, 0, 6}},
		"start":   {b.Start, []uint32{0, 0, 1, 1, 4, 7, 8, 9, 10}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
	if want := []int{0, 1, 5, 7, 2, 8, 10, 3, 4, 9, 6}; !slices.Equal(b.Order, want) {
		t.Errorf("order: %v, want %v", b.Order, want)
	}
	if b.InvTemp[0] != 1 || b.InvTemp[1] != 2 {
		t.Errorf("temperatures %v", b.InvTemp)
	}
}

// TestListsFit: no group has longer lists of keys than a workspace has room for.
func TestListsFit(t *testing.T) {
	for _, n := range []int{1, seq.TreeSequences, seq.TreeSequences + 1, 3 * seq.TreeSequences} {
		var seqs []seq.Sequence
		for i := range n { // they part at the last input token
			ids := append(slices.Repeat([]int{1}, 50), i, 0)
			s := seq.Predict(ids, 50, 1)
			s.Group = 1
			seqs = append(seqs, s)
		}
		c := seq.Capacity{Rows: seq.GroupRows(50, 2, n), Positions: 60}
		batches, err := seq.Pack(seqs, c)
		if err != nil {
			t.Fatal(err)
		}
		for i, b := range batches {
			if words := seq.TreeSequences * c.Rows; len(b.KVIdx) > words || b.T > c.Rows || b.R > c.Rows {
				t.Errorf("%d sequences, batch %d: %d rows, %d predicted, lists of %d; room for %d, %d", n, i, b.T, b.R, len(b.KVIdx), c.Rows, words)
			}
		}
		if want := (n + seq.TreeSequences - 1) / seq.TreeSequences; len(batches) != want {
			t.Errorf("%d sequences: %d batches, want %d", n, len(batches), want)
		}
	}
}

// TestCuts: batches are cut between groups, and a group that no batch holds at places
// that do not depend on what is before it.
func TestCuts(t *testing.T) {
	few := func(group int) []seq.Sequence { // 38 rows, 16 predicted
		seqs := modeltest.Relatives(group, 9)
		for i, s := range seqs {
			seqs[i].Spans = []seq.Span{{len(s.IDs) - 2, len(s.IDs)}}
		}
		return seqs
	}
	one, all := few(1), modeltest.Relatives(1, 9) // all: 64 predicted
	single := modeltest.Apart(one[1:2])           // 17 rows
	for _, c := range []struct {
		name string
		seqs []seq.Sequence
		c    seq.Capacity
		want string
	}{
		{"everything fits", slices.Concat(one, few(2)), seq.Capacity{Rows: 76, Positions: 60}, "[16]"},
		{"between groups", slices.Concat(single, one, few(2)), seq.Capacity{Rows: 75, Positions: 60}, "[9 8]"},
		{"the same number apart", slices.Concat(one, single, one), seq.Capacity{Rows: 75, Positions: 60}, "[9 8]"},
		{"a group that does not fit", one, seq.Capacity{Rows: 31, Positions: 60}, "[3 5]"},
		{"the same after another", slices.Concat(single, one), seq.Capacity{Rows: 31, Positions: 60}, "[1 3 5]"},
		{"many predicted", slices.Concat(all, single), seq.Capacity{Rows: 65, Positions: 60}, "[8 1]"},
		{"longer than the window", slices.Concat(one, single), seq.Capacity{Rows: 61, Positions: 60, Window: 17}, "[3 4 2]"},
		{"few readers", slices.Concat(one, single), seq.Capacity{Rows: 100, Positions: 60, Readers: 37}, "[9]"},
	} {
		batches, err := seq.Pack(c.seqs, c.c)
		if err != nil {
			t.Fatal(err)
		}
		var sizes []int
		for _, b := range batches {
			sizes = append(sizes, len(b.Seqs))
			if b.T > c.c.Rows || b.R > c.c.Rows {
				t.Errorf("%s: %d rows, %d predicted", c.name, b.T, b.R)
			}
			for row, end := range b.Ends {
				if c.c.Readers > 0 && int(end)-row > c.c.Readers {
					t.Errorf("%s: row %d has %d readers", c.name, row, int(end)-row)
				}
			}
		}
		if got := fmt.Sprint(sizes); got != c.want {
			t.Errorf("%s: batches of %s sequences, want %s", c.name, got, c.want)
		}
	}
}
