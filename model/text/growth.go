package text

import (
	"fmt"
	"strings"

	unorm "golang.org/x/text/unicode/norm"
)

// A tokenizer.json comes from elsewhere, and a chain of replacements can double a text at
// every link. So each step that changes a text says how much longer it may make it, and a
// chain that may multiply a text without end is refused when the file is read: no text is
// ever measured while it is encoded or decoded.

// edit is a step of a normalizer or a decoder that changes one text.
type edit struct {
	do   func(string) string
	mult float64 // a text of n bytes becomes at most mult*n + add bytes
	add  int
}

// What a chain of edits may come to. The normalizers of published models need at most 9
// and a byte or three: NFC, then a space that becomes the three bytes of U+2581.
const (
	maxGrowth = 64
	maxAdded  = 4096 // bytes
)

// formGrowth is by how much Unicode's normal forms lengthen UTF-8 at most: Unicode Standard
// Annex 15, section 9, table "Maximum Expansion Factors".
var formGrowth = map[unorm.Form]float64{unorm.NFC: 3, unorm.NFD: 3, unorm.NFKC: 11, unorm.NFKD: 11}

func normalForm(form unorm.Form) edit {
	return edit{do: func(s string) string { return asIn9(form, s) }, mult: formGrowth[form]}
}

func prepending(prefix string) edit {
	return edit{do: func(s string) string { return prefix + s }, mult: 1, add: len(prefix)}
}

// replacing changes every occurrence of a fixed string, which is not empty.
func replacing(old, new string) edit {
	return edit{do: func(s string) string { return strings.ReplaceAll(s, old, new) }, mult: max(1, float64(len(new))/float64(len(old)))}
}

// bounded refuses a chain that may lengthen a text by more than is accepted.
func bounded(chain []edit) error {
	mult, add := 1.0, 0.0
	for i, e := range chain {
		mult, add = mult*e.mult, add*e.mult+float64(e.add)
		if mult > maxGrowth || add > maxAdded {
			return fmt.Errorf("after step %d a text of n bytes may have %.6g*n + %.6g bytes; accepted: at most %d*n + %d", i+1, mult, add, maxGrowth, maxAdded)
		}
	}
	return nil
}

// boundedDecoder does so for what a decoder does to each string. Byte tokens that are no
// character become U+FFFD, three bytes for one, at most once.
func boundedDecoder(steps []decodeStep) error {
	var chain []edit
	for _, s := range steps {
		if s.each.do != nil {
			chain = append(chain, s.each)
		}
	}
	return bounded(chain)
}
