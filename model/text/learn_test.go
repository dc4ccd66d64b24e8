package text

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// naiveMerges learns merges by counting every pair again for each.
func naiveMerges(words map[string]int, most int) (merges []string, tokens []string) {
	tokens = []string{}
	for b := range 256 {
		tokens = append(tokens, string([]byte{byte(b)}))
	}
	split := map[string][]int{}
	for word := range words {
		for i := range len(word) {
			split[word] = append(split[word], int(word[i]))
		}
	}
	for len(tokens) < 256+most {
		counts := map[[2]int]int{}
		for word, ids := range split {
			for i := range len(ids) - 1 {
				counts[[2]int{ids[i], ids[i+1]}] += words[word]
			}
		}
		best, most := [2]int{}, 1
		for p, n := range counts {
			if n > most || n == most && n > 1 && slices.Compare(p[:], best[:]) < 0 {
				best, most = p, n
			}
		}
		if most < 2 {
			break
		}
		joined := tokens[best[0]] + tokens[best[1]]
		merges = append(merges, fmt.Sprintf("%q %q", tokens[best[0]], tokens[best[1]]))
		made := slices.Index(tokens, joined)
		if made < 0 {
			made = len(tokens)
			tokens = append(tokens, joined)
		}
		for word, ids := range split {
			var out []int
			for i := 0; i < len(ids); i++ {
				if i+1 < len(ids) && ids[i] == best[0] && ids[i+1] == best[1] {
					out = append(out, made)
					i++
				} else {
					out = append(out, ids[i])
				}
			}
			split[word] = out
		}
	}
	return merges, tokens
}

// TestLearnMerges: the learner, which keeps its counts, comes to what counting anew does, for
// words with repetitions and many ties.
func TestLearnMerges(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		words := map[string]int{}
		for range 1 + r.IntN(30) {
			word := make([]byte, 1+r.IntN(12))
			for i := range word {
				word[i] = "abcé"[r.IntN(3+r.IntN(3))]
			}
			words[string(word)] += 1 + r.IntN(3)
		}
		most := 1 + r.IntN(40)
		want, tokens := naiveMerges(words, most)
		l := newLearner(words)
		for len(l.tokens) < 256+most && l.merge() {
		}
		var got []string
		for _, p := range l.merges {
			got = append(got, fmt.Sprintf("%q %q", l.tokens[p.left], l.tokens[p.right]))
		}
		if !slices.Equal(got, want) || !slices.Equal(l.tokens, tokens) {
			t.Fatalf("seed %d, words %v: merges\n%q, want\n%q", seed, words, got, want)
		}
	}
}

// TestLearn: every text is read and written back, frequent words become tokens, digits stay
// apart, and equal texts give equal bytes.
func TestLearn(t *testing.T) {
	texts := slices.Repeat([]string{"What is 123 plus 45?", "The answer is 168.", "naïve café"}, 20)
	make := func(tokens int) *Tokenizer {
		t.Helper()
		tok, err := Learn(slices.Values(texts), tokens)
		if err != nil {
			t.Fatal(err)
		}
		return tok
	}
	tok := make(400)
	if again := make(400); !maps.EqualFunc(tok.Files(), again.Files(), bytes.Equal) {
		t.Error("equal texts gave other bytes")
	}
	for _, text := range append(texts[:3:3], "", " ", "\x00\x01 日本語 \U0001F600\r\n\tnever seen 90817", strings.Repeat("a ", 300)) {
		ids, err := tok.Encode(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if back := tok.Decode(ids); back != text {
			t.Errorf("%q comes back as %q", text, back)
		}
	}
	for text, want := range map[string]int{" answer": 1, " plus": 1, "123": 3, "<|im_start|>": 1, "<|im_end|>": 1} {
		if ids, err := tok.Encode(text); err != nil || len(ids) != want {
			t.Errorf("%q has the tokens %d, %v; want %d", text, ids, err, want)
		}
	}
	// No pair comes twice once each word is a token, so there are fewer than are asked for.
	if n := tok.Vocab(); n >= 400 {
		t.Errorf("%d tokens", n)
	}
	if n := make(280).Vocab(); n != 280 {
		t.Errorf("%d tokens, 280 were asked for", n)
	}
	if n := make(FewestTokens).Vocab(); n != FewestTokens {
		t.Errorf("%d tokens, want bytes and control tokens", n)
	}
	if _, err := Learn(slices.Values(texts), FewestTokens-1); err == nil {
		t.Error("fewer tokens than bytes were accepted")
	}
	if pre := preOf([]byte("null"), []byte(preTokenizers["smollm"].split)); pre != "smollm" {
		t.Errorf("llama.cpp's name of the pre-tokenizer is %q", pre)
	}
	if _, err := tok.Chat(); err != nil {
		t.Error(err)
	}
}

// TestLearnBound: what comes after so many bytes changes nothing.
func TestLearnBound(t *testing.T) {
	texts := slices.Repeat([]string{"ab ab ab ab "}, 10)
	first, err := learnFrom(slices.Values(texts), 270, MaxLearned)
	if err != nil {
		t.Fatal(err)
	}
	both, err := learnFrom(slices.Values(append(texts, strings.Repeat("xy ", 100))), 270, 130)
	if err != nil {
		t.Fatal(err)
	}
	if !maps.EqualFunc(first.Files(), both.Files(), bytes.Equal) {
		t.Error("text after the bound was read")
	}
}
