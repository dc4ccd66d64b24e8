package bm25

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestWords(t *testing.T) {
	for text, want := range map[string][]string{
		"":                    nil,
		" .,! ":               nil,
		"The cat, the CAT":    {"the", "cat", "the", "cat"},
		"47k 47 k b2b":        {"47", "k", "47", "k", "b", "2", "b"},
		"Ärger größer naïve":  {"ärger", "größer", "naïve"},
		"e\u0301te\u0301 a-b": {"e\u0301te\u0301", "a", "b"},
		"\xffab\xff1":         {"ab", "1"},
		"日本 １２":               {"日本", "１２"},
	} {
		if got := Words(text); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestLog2: within the last place of what math.Log2 says, and a little for what squaring loses: 2^-32 of
// the number at each of 16 squarings, each of which counts for at most 1.45 times that in the logarithm.
func TestLog2(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		b := 1 + r.Uint64N(1<<20)
		a := b + r.Uint64N(1<<uint(1+r.IntN(31)))
		got, want := float64(log2(a, b))/(1<<fraction), math.Log2(float64(a)/float64(b))
		if got > want+0x1p-40 || got < want-0x1p-16-16*1.45*0x1p-32 {
			t.Fatalf("log2(%d/%d) is %v, want %v", a, b, got, want)
		}
	}
	for n := range uint64(20) {
		if got := log2(1<<n, 1); got != n<<fraction {
			t.Errorf("log2(2^%d) is %v", n, float64(got)/(1<<fraction))
		}
	}
}

// TestSearch: scores are those of the formula, each word within what rounding down takes away.
func TestSearch(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var documents []string
	for range 200 {
		var words []string
		for range 1 + r.IntN(40) {
			words = append(words, fmt.Sprintf("w%c", 'a'+min(r.IntN(26), r.IntN(26))))
		}
		documents = append(documents, strings.Join(words, " "))
	}
	x, err := New(documents)
	if err != nil {
		t.Fatal(err)
	}
	mean, having := 0.0, map[string]float64{} // documents that have a word
	read := make([][]string, len(documents))
	for d, text := range documents {
		read[d] = Words(text)
		mean += float64(len(read[d])) / float64(len(documents))
		for _, w := range slices.Compact(slices.Sorted(slices.Values(read[d]))) {
			having[w]++
		}
	}
	for range 50 {
		query := fmt.Sprintf("w%c w%c w%c wa none", 'a'+r.IntN(26), 'a'+r.IntN(26), 'a'+r.IntN(26))
		hits := x.Search(query, len(documents))
		score := map[int]uint64{}
		for i, h := range hits {
			if score[h.Document] = h.Score; i > 0 && (h.Score > hits[i-1].Score || h.Score == hits[i-1].Score && h.Document < hits[i-1].Document) {
				t.Fatalf("%q: %+v after %+v", query, h, hits[i-1])
			}
		}
		for d, text := range documents {
			want, lost, words := 0.0, 0.0, read[d]
			for _, w := range Words(query) {
				n, tf := having[w], 0.0
				for _, v := range words {
					if v == w {
						tf++
					}
				}
				total := float64(len(documents))
				idf := math.Log2(1 + (total-n+0.5)/(n+0.5))
				want += idf * tf * 2.2 / (tf + 1.2*(0.25+0.75*float64(len(words))/mean))
				if tf > 0 { // each factor, and their product, is below by up to 2^-16, and the factors are at most idf and 2.2
					lost += (2.2 + idf + 2) * 0x1p-16
				}
			}
			if got := float64(score[d]) / (1 << fraction); got > want+0x1p-40 || got < want-lost-0x1p-40 {
				t.Fatalf("%q in %q: %v, want %v", query, text, got, want)
			}
		}
	}
	if hits := x.Search("none 7", 9); len(hits) != 0 {
		t.Errorf("unknown words find %v", hits)
	}
	if same, _ := New([]string{"b a", "a b", "a"}); !reflect.DeepEqual(same.Search("a b", 2), []Hit{{0, same.Search("a b", 1)[0].Score}, {1, same.Search("a b", 1)[0].Score}}) {
		t.Error("of equal documents the first does not come first")
	}
	if _, err := New([]string{strings.Repeat("a ", maxLength+1)}); err == nil {
		t.Error("a document that is too long is taken")
	}
	if empty, err := New(nil); err != nil || len(empty.Search("a", 3)) != 0 {
		t.Errorf("no documents: %v", err)
	}
}
