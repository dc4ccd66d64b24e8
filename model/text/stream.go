package text

import (
	"strings"
	"unicode/utf8"
)

// Stream decodes ids as they come, in time that does not grow with their number.
// Bytes that may be the beginning of a character are held back until it is whole. A
// Stream belongs to one goroutine.
type Stream struct {
	t     *Tokenizer
	ids   []int // the last ones: some whose text was given, and those held back
	given int   // bytes of their text that were given
	late  int   // ids in a row after which the text ended inside a character
}

const (
	maxHeld   = 4  // U+FFFD at the end that may be an unfinished character: 4 bytes at most
	maxWindow = 32 // ids that are decoded again for one more
	context   = 8  // ids that stay: how a token is decoded depends on its neighbours
)

// NewStream is a stream at the beginning of a text.
func (t *Tokenizer) NewStream() *Stream { return &Stream{t: t} }

// Add takes one id and returns the text that is certain with it, which may be "".
func (s *Stream) Add(id int) string {
	s.ids = append(s.ids, id)
	text := s.t.Decode(s.ids)
	end := certain(text)
	if s.late++; end == len(text) {
		s.late = 0
	}
	if s.late > 0 && s.late < maxHeld { // byte tokens decode as a whole: an unfinished run hides characters before it
		return ""
	}
	out := s.upTo(text, end)
	switch {
	case s.t.apart && s.late == 0: // what follows depends on none of them
		s.ids, s.given = s.ids[:0], 0
	case len(s.ids) >= maxWindow:
		s.cut(len(text) - s.given)
	}
	return out
}

// cut drops ids from the front, up to one where a character begins if there is one
// among those that may go. held bytes of the text were not given.
func (s *Stream) cut(held int) {
	begin := len(s.ids) - context
	for c := begin; c > 0; c-- {
		if text := s.t.Decode(s.ids[:c]); certain(text) == len(text) {
			begin = c
			break
		}
	}
	s.ids = append([]int(nil), s.ids[begin:]...)
	s.given = max(0, len(s.t.Decode(s.ids))-held)
}

// Held is the text that is held back: what follows if the stream ends here.
func (s *Stream) Held() string {
	text := s.t.Decode(s.ids)
	return text[min(s.given, len(text)):]
}

// upTo is the text from what was given to an end.
func (s *Stream) upTo(text string, end int) string {
	if end <= s.given {
		return ""
	}
	out := text[s.given:end]
	s.given = end
	return out
}

// certain is the length of a text without the U+FFFD at its end that more bytes may
// turn into a character.
func certain(text string) int {
	end := len(text)
	for range maxHeld {
		if !strings.HasSuffix(text[:end], string(utf8.RuneError)) {
			break
		}
		end -= utf8.RuneLen(utf8.RuneError)
	}
	return end
}
