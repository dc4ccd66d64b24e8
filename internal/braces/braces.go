package braces

import (
	"fmt"
	"strings"
)

// Piece is a part of a text: what stands in braces, or the text between.
type Piece struct {
	Text   string
	Braced bool
	At     int // its first byte in the whole, from 1; of a braced one after the brace
}

// Parse splits a text at its braces. Doubled ones stand for themselves. what says in errors what belongs
// into braces, such as "column".
func Parse(text, what string) ([]Piece, error) {
	var out []Piece
	plain, from := "", 0
	add := func(p Piece) {
		if p.Text != "" {
			out = append(out, p)
		}
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case (c == '{' || c == '}') && i+1 < len(text) && text[i+1] == c:
			plain += text[i : i+1]
			i++
		case c == '{':
			end := strings.IndexByte(text[i:], '}')
			if end < 2 {
				return nil, fmt.Errorf("the brace at byte %d names no %s; accepted: {%s}, and {{ for a brace", i+1, what, strings.ToUpper(what))
			}
			add(Piece{plain, false, from + 1})
			add(Piece{text[i+1 : i+end], true, i + 2})
			plain = ""
			i += end
			from = i + 1
		case c == '}':
			return nil, fmt.Errorf("the brace at byte %d closes nothing; write }} for a brace", i+1)
		default:
			plain += text[i : i+1]
		}
	}
	add(Piece{plain, false, from + 1})
	return out, nil
}
