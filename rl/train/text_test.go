package train

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/algo"
	"github.com/rlzero/rlzero/verify"
)

// TestMatching: a token is inside of a match if some of its text is, and a match begins in
// the token that has its first character. The end token has no text.
func TestMatching(t *testing.T) {
	renderer := stageOn(t, "sft", rowsOf(t, pairs...), "").(*imitation).Prompts
	var cs []Completion
	for _, said := range []string{"<think>one\ntwo é</think> three", "nothing to find", "", "été\n\n<think>x</think>"} {
		c, err := demonstrated(renderer, verify.Problem{Question: "?"}, "", said)
		if err != nil {
			t.Fatal(err)
		}
		cs = append(cs, c)
	}
	x := subject{facts: &facts{prompts: renderer}, cs: cs}
	for _, pattern := range []string{"(?s)<think>.*?</think>", "(?m)^", "t", "é", "$"} {
		inside, err := matching(inside)(x, fmt.Sprintf("inside(%q)", pattern))
		if err != nil {
			t.Fatal(err)
		}
		begins, _ := matching(begins)(x, fmt.Sprintf("begins(%q)", pattern))
		at := 0
		for i := range cs {
			pieces := renderer.Pieces(cs[i].View.Drawn())
			said := strings.Join(pieces, "")
			if want := strings.TrimSuffix(renderer.Decode(cs[i].View.Drawn()), "<|im_end|>"); said != want {
				t.Errorf("the pieces are %q, the text %q", said, want)
			}
			matches := regexp.MustCompile(pattern).FindAllStringIndex(said, -1)
			in, first := make([]bool, len(said)), make([]bool, len(said)+1)
			for _, m := range matches {
				first[m[0]] = true
				for b := m[0]; b < m[1]; b++ {
					in[b] = true
				}
			}
			from := 0
			for k, piece := range pieces {
				wantIn, wantFirst := 0.0, 0.0
				for b := from; b < from+len(piece); b++ {
					wantIn, wantFirst = max(wantIn, holds(in[b])), max(wantFirst, holds(first[b]))
				}
				for _, m := range matches { // the first tokens of a character that is in a match
					wantIn = max(wantIn, holds(piece == "" && m[0] < from && from < m[1]))
				}
				if inside.V[at] != wantIn || begins.V[at] != wantFirst {
					t.Errorf("%s in %q, token %d %q: inside is %v, begins %v; want %v, %v", pattern, said, k, piece, inside.V[at], begins.V[at], wantIn, wantFirst)
				}
				from += len(piece)
				at++
			}
		}
		if at != len(inside.V) || at != len(begins.V) {
			t.Errorf("%d and %d values for %d tokens", len(inside.V), len(begins.V), at)
		}
	}
}

// TestCuts: the named cuts of completions, lines and sentences, begin where a reader would say.
func TestCuts(t *testing.T) {
	const said = "One is 1.5 e.g. here. Two is!\nThree?  Four\n\nFive"
	renderer := stageOn(t, "sft", rowsOf(t, pairs...), "").(*imitation).Prompts
	c, err := demonstrated(renderer, verify.Problem{Question: "?"}, "", said)
	if err != nil {
		t.Fatal(err)
	}
	x := subject{facts: &facts{prompts: renderer}, cs: []Completion{c}}
	for name, want := range map[string][]string{
		"lines":     {"One is 1.5 e.g. here. Two is!\n", "Three?  Four\n", "\n", "Five"},
		"sentences": {"One is 1.5 e.g. ", "here. ", "Two is!\n", "Three?  ", "Four\n\n", "Five"},
	} {
		parts := algo.Library()
		formula := parts[slices.IndexFunc(parts, func(p algo.LibraryPart) bool { return p.Name == name })].Formula
		pattern := strings.TrimSuffix(strings.TrimPrefix(formula, "begins('"), "')")
		begins, err := matching(begins)(x, fmt.Sprintf("begins(%q)", pattern))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for k, piece := range renderer.Pieces(c.View.Drawn()) {
			if begins.V[k] > 0 || got == nil {
				got = append(got, "")
			}
			got[len(got)-1] += piece
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestRowsOfFiles: a loss over rows of data reads their columns, so that completions with
// rewards may come from a file.
func TestRowsOfFiles(t *testing.T) {
	rows := rowsOf(t, `{"prompt":"one","completion":"yes","reward":0.5,"value":0.25}`, `{"prompt":"two","completion":"no","reward":0.25,"value":0.75}`)
	s := stageOn(t, "sft", rows, "[stage.algorithm]\nkeep = \"row.reward > row.value\"\nloss = \"seq_mean(-(row.reward - row.value)*logp)\"\n").(*imitation)
	cs, err := s.lessons(rows)
	if err != nil {
		t.Fatal(err)
	}
	b, _, err := s.learn(Position{}, cs, 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(b.members) != 1 || b.members[0].number != 0 {
		t.Fatalf("%d completions are learned from, want the first alone", len(b.members))
	}
	for i, got := range b.slopes[0] {
		if want := -0.25 / float64(len(b.slopes[0])); !near(got, want) {
			t.Errorf("token %d: derivative %v, want %v", i, got, want)
		}
	}
}
