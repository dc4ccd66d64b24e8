package eval

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	_ "github.com/rlzero/rlzero/gpu/refdev"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/text"
)

// TestHeadRanks: what a head comes to on pairs and on groups, counted by hand. Equal scores are half a
// pair, and no first place, in whatever order they stand.
func TestHeadRanks(t *testing.T) {
	h := headed{report: &HeadReport{Data: "rows", Label: "LABEL_0", Rows: 5}, groups: [][]side{
		{{true, 2}, {false, 1}},                             // a pair in the right order
		{{true, 1}, {false, 1}},                             // none
		{{false, 3}, {true, 0}, {false, -1}, {true, 2}},     // a wrong one first; pairs: each right one is above -1 alone, 2 of 4
		{{false, 5}, {false, 4}},                            // no right one: best of n alone
		{{true, -9}},                                        // nothing to compare
		{{true, 1}, {true, 1}, {true, 0}},                   // all right
		{{false, 0.5}, {true, 0.75}, {false, math.Inf(-1)}}, // the right one of three
	}}
	h.report.rank(h.groups)
	for _, f := range []struct {
		name    string
		got     counted
		sum     float64
		n       int
		comment string
	}{
		{"pairs", h.report.Pairs, 1 + 0.5 + 2 + 2, 1 + 1 + 4 + 2, "1 of 1, half of 1, 2 of 4, 2 of 2"},
		{"one of n", h.report.OneOfN, 2, 4, "the first and the last"},
		{"chance", h.report.Chance, 1 + 1 + 2 + 1, 2 + 2 + 4 + 3, "right ones of the same four groups"},
		{"rank", h.report.Rank, 1 + 0.5 + 0.5 + 1, 4, "second where one wrong one is at or above"},
		{"best of n", h.report.BestOfN, 1 + 0 + 0 + 0 + 1 + 1, 6, "the first, those of right ones alone, and the last"},
	} {
		if f.got.n != f.n || math.Abs(f.got.sum-f.sum) > 0x1p-50 {
			t.Errorf("%s: %v of %d, want %v of %d: %s", f.name, f.got.sum, f.got.n, f.sum, f.n, f.comment)
		}
	}
	var line map[string]any
	raw, err := json.Marshal(h.report)
	if err != nil || json.Unmarshal(raw, &line) != nil {
		t.Fatal(string(raw), err)
	}
	if line["one_of_n"] != 0.5 || line["one_of_n_of"] != 4.0 || line["steps"] != nil || line["steps_of"] != 0.0 || line["rows"] != 5.0 {
		t.Errorf("%s", raw)
	}
	if table := h.report.Table(); !strings.Contains(table, "one of n     50.0 %  of 4 prompts") || strings.Contains(table, "steps") {
		t.Errorf("%s", table)
	}
}

// TestHeadOfWords: rows that a tokenizer of whole words cannot write are counted and left out, and all of
// them are an error.
func TestHeadOfWords(t *testing.T) {
	dev, err := gpu.Open("ref")
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	words, err := text.NewWords([]string{"<pad>", "<eos>", "1", "+", "=", "2"})
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := hf.NewConfig("qwen3")
	if err != nil {
		t.Fatal(err)
	}
	cfg.Vocab, cfg.Width, cfg.Layers, cfg.Heads, cfg.HeadDim, cfg.MLP, cfg.MaxPositions, cfg.EOS = 6, 16, 1, 1, 16, 16, 32, []int{1}
	cfg.TieEmbeddings, cfg.InitStd = true, 0.1
	if err := cfg.Complete(); err != nil {
		t.Fatal(err)
	}
	m, err := model.New(dev, cfg, 1, 32)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	m.Tokenizer, m.Head = words, hf.NewHead(make([]float32, 16), 0.5)
	file := filepath.Join(t.TempDir(), "rows.jsonl")
	const good, bad = `{"question":"1+1=","completion":"2","label":true}` + "\n", `{"question":"1+1=","completion":"11","label":false}` + "\n"
	for rows, want := range map[string]int{good + bad + bad: 2, good: 0, bad: -1} {
		if err := os.WriteFile(file, []byte(rows), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := Head(m, "", Options{Subject: Subject{Data: file}, Problems: 9})
		if want < 0 {
			if err == nil || !strings.Contains(err.Error(), "can write none of the completions of 1 row") {
				t.Errorf("%v", err)
			}
			continue
		}
		if err != nil || r.Left != want || r.Alone.n != 1 || r.Alone.mean() != 1 {
			t.Errorf("%q: %+v, %v", rows, r, err)
		}
	}
}
