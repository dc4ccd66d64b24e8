package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	unorm "golang.org/x/text/unicode/norm"
)

// after9 are the characters that Unicode gave a decomposition, a composition or a class of order after its version 9.
// The Rust library that tokenizers are published for (tokenizers 0.22.2, by the crate unicode-normalization-alignments
// 0.1.12) has the tables of that version and leaves these characters as they are; so must whoever wants its ids.
// peers/golden/normal_forms.py asks that library about every character. The table holds what later versions up to 15
// have, which are those of golang.org/x/text here: TestNormalForms fails when that module has newer ones.
var after9 = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x7fd, 0x7fd, 1}, {0x898, 0x89f, 1}, {0x8ca, 0x8d3, 1}, {0x9fe, 0x9fe, 1}, {0xc3c, 0xc3c, 1}, {0xd3b, 0xd3c, 1},
		{0xeba, 0xeba, 1}, {0x1715, 0x1715, 1}, {0x1abf, 0x1ace, 1}, {0x1df6, 0x1dfa, 1}, {0x32ff, 0x32ff, 1},
		{0xa7f2, 0xa7f4, 1}, {0xa82c, 0xa82c, 1}, {0xab69, 0xab69, 1},
	},
	R32: []unicode.Range32{
		{0x10781, 0x10785, 1}, {0x10787, 0x107b0, 1}, {0x107b2, 0x107ba, 1}, {0x10d24, 0x10d27, 1}, {0x10eab, 0x10eac, 1},
		{0x10efd, 0x10eff, 1}, {0x10f46, 0x10f50, 1}, {0x10f82, 0x10f85, 1}, {0x11070, 0x11070, 1}, {0x1133b, 0x1133b, 1},
		{0x1145e, 0x1145e, 1}, {0x11839, 0x1183a, 1}, {0x11935, 0x11935, 1}, {0x11938, 0x11938, 1}, {0x1193d, 0x1193e, 1},
		{0x11943, 0x11943, 1}, {0x119e0, 0x119e0, 1}, {0x11a34, 0x11a34, 1}, {0x11a47, 0x11a47, 1}, {0x11a99, 0x11a99, 1},
		{0x11d42, 0x11d42, 1}, {0x11d44, 0x11d45, 1}, {0x11d97, 0x11d97, 1}, {0x11f41, 0x11f42, 1}, {0x16ff0, 0x16ff1, 1},
		{0x1e030, 0x1e06d, 1}, {0x1e08f, 0x1e08f, 1}, {0x1e130, 0x1e136, 1}, {0x1e2ae, 0x1e2ae, 1}, {0x1e2ec, 0x1e2ef, 1},
		{0x1e4ec, 0x1e4ef, 1}, {0x1f16c, 0x1f16c, 1}, {0x1fbf0, 0x1fbf9, 1},
	},
}

// asIn9 is the normal form of a text by the tables of Unicode 9: a later character stands for itself, and nothing is
// reordered or composed across it. More than 30 marks in a row are another matter: golang.org/x/text puts U+034F
// between them (Unicode's stream-safe form), which that library does not.
func asIn9(form unorm.Form, s string) string {
	later := func(r rune) bool { return r >= 0x7fd && unicode.Is(after9, r) }
	at := strings.IndexFunc(s, later)
	if at < 0 {
		return form.String(s)
	}
	var b strings.Builder
	for ; at >= 0; at = strings.IndexFunc(s, later) {
		_, n := utf8.DecodeRuneInString(s[at:])
		b.WriteString(form.String(s[:at]))
		b.WriteString(s[at : at+n])
		s = s[at+n:]
	}
	b.WriteString(form.String(s))
	return b.String()
}
