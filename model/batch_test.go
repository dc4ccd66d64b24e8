package model

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/model/hf"
)

// relatives are a group of sequences with a prompt of n tokens: some part at once, some
// later, some after that; two are equal, and one is where another one begins.
func relatives(group, n int) []Sequence {
	rng := rand.New(rand.NewPCG(uint64(group), uint64(n)))
	run := func(before []int, n int) []int {
		ids := slices.Clone(before)
		for range n {
			ids = append(ids, rng.IntN(61))
		}
		return ids
	}
	prompt := run(nil, n)
	a, b := run(prompt, 3), run(prompt, 9)
	aa, ab := run(a, 4), run(a, 2)
	var seqs []Sequence
	for i, ids := range [][]int{run(aa, 3), b, run(aa, 6), ab, run(ab, 5), ab, aa[:len(aa)-1], run(b, 1)} {
		s := Predict(ids, n, 0.7+0.1*float64(i%3))
		s.Group = group
		seqs = append(seqs, s)
	}
	seqs[2].Spans = []Span{{n, n + 2}, {n + 5, len(seqs[2].IDs) - 1}}
	return seqs
}

// apart are the same sequences, each for itself.
func apart(seqs []Sequence) []Sequence {
	out := slices.Clone(seqs)
	for i := range out {
		out[i].Group = 0
	}
	return out
}

// TestBatch lays out a small group by hand.
//
//	9 8 ─┬─ 1 ─┬─ 2 ─ 3
//	     │     └─ 4
//	     └─ 5
func TestBatch(t *testing.T) {
	predict := func(from int, ids ...int) Sequence {
		s := Predict(ids, from, 0.5)
		s.Group = 3
		return s
	}
	before := Predict([]int{7, 7, 7}, 2, 1)
	batches, err := pack([]Sequence{before, predict(2, 9, 8, 1, 2, 3, 0), predict(2, 9, 8, 5, 6), predict(2, 9, 8, 1, 4, 0), predict(3, 9, 8, 1, 2)}, capacity{rows: 100, positions: 9})
	if err != nil || len(batches) != 1 {
		t.Fatalf("%d batches, %v", len(batches), err)
	}
	b := batches[0]
	for name, c := range map[string]struct{ got, want []uint32 }{
		"ids":     {b.ids, []uint32{7, 7, 9, 8, 1, 2, 3, 4, 5}},
		"place":   {b.place, []uint32{0, 0, 1, 1, 0, 2, 1, 3, 2, 4, 3, 5, 4, 6, 3, 7, 2, 8}},
		"kvidx":   {b.kvidx, []uint32{0, 1, 2, 3, 4, 5, 6, 2, 3, 4, 7, 2, 3, 8}},
		"keys":    {b.keys, []uint32{0, 1, 0, 2, 2, 1, 2, 2, 2, 3, 2, 4, 2, 5, 7, 4, 11, 3}},
		"ends":    {b.ends, []uint32{2, 2, 9, 9, 8, 7, 7, 8, 9}},
		"idx":     {b.idx, []uint32{1, 3, 3, 3, 4, 4, 4, 5, 6, 7, 8}},
		"targets": {b.target, []uint32{7, 1, 5, 1, 2, 4, 2, 3, 0, 0, 6}},
		"start":   {b.start, []uint32{0, 0, 1, 1, 4, 7, 8, 9, 10}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
	if want := []int{0, 1, 5, 7, 2, 8, 10, 3, 4, 9, 6}; !slices.Equal(b.order, want) {
		t.Errorf("order: %v, want %v", b.order, want)
	}
	if b.invTemp[0] != 1 || b.invTemp[1] != 2 {
		t.Errorf("temperatures %v", b.invTemp)
	}
}

// TestSharedLogprobBits: log-probs, entropies and means have the same bits whether
// sequences share the rows of their beginnings or not, in every storage.
func TestSharedLogprobBits(t *testing.T) {
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		for _, kv := range []hf.Dtype{hf.F32, hf.BF16} {
			m := smallAs(t, dev, 128, hf.F32, kv)
			alone := Predict(prompts(1, 20)[0], 0, 1)
			alone.Spans[0].From, alone.Group = 1, 5
			seqs := slices.Concat(relatives(1, 9), relatives(2, 1), []Sequence{alone}, relatives(7, 40))
			shared, computed := scores(t, m, seqs)
			want, rows := scores(t, m, apart(seqs))
			if 2*computed > rows {
				t.Errorf("%d rows, %d without sharing: hardly any is shared", computed, rows)
			}
			for i := range want {
				if a, b := statBits(shared[i]), statBits(want[i]); !slices.Equal(a, b) {
					t.Errorf("keys and values %s, sequence %d: %x shared, %x apart", kv, i, a, b)
				}
			}
		}
	})
}

func scores(t *testing.T, m *Model, seqs []Sequence) (stats []TokenStats, rows int) {
	t.Helper()
	batches, err := pack(seqs, m.capacityOf(1000))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range batches {
		rows += b.T
	}
	sc, err := m.NewScorer(1000)
	if err != nil {
		t.Fatal(err)
	}
	defer sc.Close()
	if stats, err = sc.Score(seqs); err != nil {
		t.Fatal(err)
	}
	return stats, rows
}

func statBits(s TokenStats) []uint32 {
	var bits []uint32
	for _, x := range slices.Concat(s.Logprob, s.Entropy, s.MeanLogprob) {
		bits = append(bits, math.Float32bits(x))
	}
	return bits
}

// TestSharedGradient: where the loss weighs one sequence of a group alone, the gradient is
// that of the sequence without its group, exactly: the others add zeros to each sum. What
// a loss of several adds up to is held against finite differences (grad_test.go).
func TestSharedGradient(t *testing.T) {
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		windowed := quirks()["gemma3"]
		windowed.Window = 19 // one sequence is longer
		for name, m := range map[string]*Model{"qwen3": small(t, dev, 64), "a window": quirk{"a window", windowed, nil, false}.open(t, dev)} {
			group := relatives(1, 9)
			for _, i := range []int{0, 4, 5, 6} { // the first; a leaf; two that end where others go on
				alone := apart(group[i : i+1])
				want := weighted(t, m, alone, valued(someWeights(alone)))
				weights := make([]TokenWeights, len(group))
				weights[i] = valued(someWeights(alone))[0]
				got := weighted(t, m, group, weights)
				for j := range want {
					if got[j] != want[j] {
						t.Fatalf("%s, sequence %d: element %d of the gradient is %v in its group, %v alone", name, i, j, got[j], want[j])
					}
				}
			}
		}
	})
}

// weighted is the gradient of weighted sequences, with a value head.
func weighted(t *testing.T, m *Model, seqs []Sequence, weights []TokenWeights) []float32 {
	t.Helper()
	return flatGradient(t, m, seqs, 100, func(t *testing.T, tr *Trainer, seqs []Sequence) {
		err := tr.Accumulate(seqs, func(first int, stats []TokenStats) ([]TokenWeights, error) {
			return weights[first : first+len(stats)], nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}, ValueHead)
}

// TestListsFit: no group has longer lists of keys than a workspace has room for.
func TestListsFit(t *testing.T) {
	for _, n := range []int{1, treeSequences, treeSequences + 1, 3 * treeSequences} {
		var seqs []Sequence
		for i := range n { // they part at the last input token
			ids := append(slices.Repeat([]int{1}, 50), i, 0)
			s := Predict(ids, 50, 1)
			s.Group = 1
			seqs = append(seqs, s)
		}
		c := capacity{rows: GroupRows(50, 2, n), positions: 60}
		batches, err := pack(seqs, c)
		if err != nil {
			t.Fatal(err)
		}
		for i, b := range batches {
			if words := treeSequences * c.rows; len(b.kvidx) > words || b.T > c.rows || b.R > c.rows {
				t.Errorf("%d sequences, batch %d: %d rows, %d predicted, lists of %d; room for %d, %d", n, i, b.T, b.R, len(b.kvidx), c.rows, words)
			}
		}
		if want := (n + treeSequences - 1) / treeSequences; len(batches) != want {
			t.Errorf("%d sequences: %d batches, want %d", n, len(batches), want)
		}
	}
}

// TestCuts: batches are cut between groups, and a group that no batch holds at places
// that do not depend on what is before it.
func TestCuts(t *testing.T) {
	few := func(group int) []Sequence { // 38 rows, 16 predicted
		seqs := relatives(group, 9)
		for i, s := range seqs {
			seqs[i].Spans = []Span{{len(s.IDs) - 2, len(s.IDs)}}
		}
		return seqs
	}
	one, all := few(1), relatives(1, 9) // all: 64 predicted
	single := apart(one[1:2])           // 17 rows
	for _, c := range []struct {
		name string
		seqs []Sequence
		c    capacity
		want string
	}{
		{"everything fits", slices.Concat(one, few(2)), capacity{rows: 76, positions: 60}, "[16]"},
		{"between groups", slices.Concat(single, one, few(2)), capacity{rows: 75, positions: 60}, "[9 8]"},
		{"the same number apart", slices.Concat(one, single, one), capacity{rows: 75, positions: 60}, "[9 8]"},
		{"a group that does not fit", one, capacity{rows: 31, positions: 60}, "[3 5]"},
		{"the same after another", slices.Concat(single, one), capacity{rows: 31, positions: 60}, "[1 3 5]"},
		{"many predicted", slices.Concat(all, single), capacity{rows: 65, positions: 60}, "[8 1]"},
		{"longer than the window", slices.Concat(one, single), capacity{rows: 61, positions: 60, window: 17}, "[3 4 2]"},
		{"few readers", slices.Concat(one, single), capacity{rows: 100, positions: 60, readers: 37}, "[9]"},
	} {
		batches, err := pack(c.seqs, c.c)
		if err != nil {
			t.Fatal(err)
		}
		var sizes []int
		for _, b := range batches {
			sizes = append(sizes, len(b.seqs))
			if b.T > c.c.rows || b.R > c.c.rows {
				t.Errorf("%s: %d rows, %d predicted", c.name, b.T, b.R)
			}
			for row, end := range b.ends {
				if c.c.readers > 0 && int(end)-row > c.c.readers {
					t.Errorf("%s: row %d has %d readers", c.name, row, int(end)-row)
				}
			}
		}
		if got := fmt.Sprint(sizes); got != c.want {
			t.Errorf("%s: batches of %s sequences, want %s", c.name, got, c.want)
		}
	}
}
