package grammar

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// tail is the end of characters in UTF-8: ranges of bytes, and where they lead.
type tail struct {
	n  int
	r  [3][2]byte
	to int32
}

// chars reads a character of a range in UTF-8, as it is.
func (b *builder) chars(from int32, lo, hi rune, to int32) {
	const lowest, highest = 0xD800, 0xDFFF // surrogates, which UTF-8 does not have
	if lo < lowest && hi > highest {
		b.chars(from, lo, lowest-1, to)
		b.chars(from, highest+1, hi, to)
		return
	}
	if lo >= lowest && lo <= highest {
		lo = highest + 1
	}
	if hi >= lowest && hi <= highest {
		hi = lowest - 1
	}
	if lo > hi {
		return
	}
	for _, last := range []rune{0x7F, 0x7FF, 0xFFFF} { // of one, two and three bytes
		if lo <= last && hi > last {
			b.chars(from, lo, last, to)
			b.chars(from, last+1, hi, to)
			return
		}
	}
	for bits := 6; bits <= 18 && hi > 0x7F; bits += 6 { // all bytes after the first that differs have their whole range
		low := rune(1)<<bits - 1
		if lo&^low == hi&^low {
			continue
		}
		if lo&low != 0 {
			b.chars(from, lo, lo|low, to)
			b.chars(from, (lo|low)+1, hi, to)
			return
		}
		if hi&low != low {
			b.chars(from, lo, hi&^low-1, to)
			b.chars(from, hi&^low, hi, to)
			return
		}
	}
	first, last := utf8.AppendRune(nil, lo), utf8.AppendRune(nil, hi)
	next := to
	t := tail{to: to}
	for i := len(first) - 1; i > 0; i-- {
		t.r[t.n] = [2]byte{first[i], last[i]}
		t.n++
		at, ok := b.tails[t]
		if !ok {
			at = b.node()
			b.on(at, first[i], last[i], next)
			b.tails[t] = at
		}
		next = at
	}
	b.on(from, first[0], last[0], next)
}

// quoted reads a character of a range within a string of JSON, in the one form that
// encoding/json writes.
func (b *builder) quoted(from int32, lo, hi rune, to int32) {
	plain := func(lo, hi rune) {
		if lo <= hi {
			b.chars(from, lo, hi, to)
		}
	}
	var escapes []string
	for r := lo; r <= min(hi, '\\'); r++ {
		if r < ' ' || r == '"' || r == '\\' {
			escapes = append(escapes, escaped(r))
		}
	}
	b.texts(from, escapes, to)
	plain(max(lo, ' '), min(hi, '"'-1))
	plain(max(lo, '"'+1), min(hi, '\\'-1))
	plain(max(lo, '\\'+1), hi)
}

func escaped(r rune) string {
	t := literal(string(r))
	return t[1 : len(t)-1]
}

// literal is a text as a string of JSON.
func literal(t string) string {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(t); err != nil {
		panic(err) // of a text
	}
	return string(bytes.TrimSuffix(out.Bytes(), []byte("\n")))
}

// anyString reads any string of JSON.
func (b *builder) anyString(from, to int32) {
	body := b.then(from, `"`)
	b.on(body, '"', '"', to)
	b.chars(body, ' ', '"'-1, body)
	b.chars(body, '"'+1, '\\'-1, body)
	b.chars(body, '\\'+1, utf8.MaxRune, body)
	escape := b.then(body, `\`)
	for _, c := range `"\/bfnrt` {
		b.on(escape, byte(c), byte(c), body)
	}
	// \uXXXX: a character, or the two halves of one beyond U+FFFF.
	code := b.then(escape, "u")
	last := b.hex(body, 1)
	three := b.hex(body, 3)
	b.on(code, '0', '9', three)
	for _, c := range "abcefABCEF" {
		b.on(code, byte(c), byte(c), three)
	}
	d := b.node()
	b.on(code, 'd', 'd', d)
	b.on(code, 'D', 'D', d)
	two := b.node()
	b.hexDigit(two, last)
	b.on(d, '0', '7', two)
	low := b.node() // the second half
	high := b.hex(low, 2)
	for _, c := range "89abAB" {
		b.on(d, byte(c), byte(c), high)
	}
	second := b.then(low, `\u`)
	half := b.node()
	b.on(second, 'd', 'd', half)
	b.on(second, 'D', 'D', half)
	for _, c := range "cdefCDEF" {
		b.on(half, byte(c), byte(c), two)
	}
}

// hex is a node that reads n hexadecimal digits.
func (b *builder) hex(to int32, n int) int32 {
	for range n {
		at := b.node()
		b.hexDigit(at, to)
		to = at
	}
	return to
}

func (b *builder) hexDigit(from, to int32) {
	b.on(from, '0', '9', to)
	b.on(from, 'a', 'f', to)
	b.on(from, 'A', 'F', to)
}
