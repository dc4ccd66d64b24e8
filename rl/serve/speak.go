package serve

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rlzero/rlzero/model/text"
)

// speaker makes text of a completion's tokens as they come. It holds back bytes that are
// no whole character yet, and what may be the beginning of a stop text. All that it gave,
// joined, is the text of the ids up to the first stop text.
type speaker struct {
	stream *text.Stream // nil: the model has no tokenizer, and there is no text
	stops  []string
	held   string // certain text that was not given
	runes  int    // of the text so far, held text included
	over   bool   // a stop text was found

	stopped string // it
}

func newSpeaker(tok *text.Tokenizer, stops []string) *speaker {
	s := &speaker{stops: stops}
	if tok != nil {
		s.stream = tok.NewStream()
	}
	return s
}

// add takes a token and returns the text that is certain by now.
func (s *speaker) add(id int) string {
	if s.stream == nil || s.over {
		return ""
	}
	more := s.stream.Add(id)
	s.runes += utf8.RuneCountInString(more)
	s.held += more
	if at := s.stopAt(); at >= 0 {
		s.over = true
		return s.give(at)
	}
	return s.give(len(s.held) - s.begun())
}

// end returns the rest of the text.
func (s *speaker) end() string {
	if s.stream == nil || s.over {
		return ""
	}
	s.held += s.stream.Held()
	if at := s.stopAt(); at >= 0 {
		return s.give(at)
	}
	return s.give(len(s.held))
}

// stopAt is where the first stop text begins in the text that is held, which it notes; -1 for
// none.
func (s *speaker) stopAt() int {
	first := -1
	for _, stop := range s.stops {
		if at := strings.Index(s.held, stop); at >= 0 && (first < 0 || at < first) {
			first, s.stopped = at, stop
		}
	}
	return first
}

// begun is the length of the end of the held text with which a stop text may begin.
func (s *speaker) begun() int {
	longest := 0
	for _, stop := range s.stops {
		for n := min(len(stop)-1, len(s.held)); n > longest; n-- {
			if strings.HasSuffix(s.held, stop[:n]) {
				longest = n
			}
		}
	}
	return longest
}

func (s *speaker) give(n int) string {
	out := s.held[:n]
	s.held = s.held[n:]
	return out
}

// names writes tokens as text.
type names struct{ tok *text.Tokenizer }

// of is the text of a token alone, and whether it is that token's own: one that is a part
// of a character, or no text at all, is named by its id.
func (n names) of(id int) (name string, own bool) {
	if n.tok != nil {
		if t := n.tok.Decode([]int{id}); t != "" && !strings.ContainsRune(t, utf8.RuneError) {
			return t, true
		}
	}
	return byID(id), false
}

// isEnd says whether a token ends a completion and is no part of its text.
func (q *query) isEnd(id int) bool {
	return slices.Contains(q.ends, id) || slices.Contains(q.stopIDs, id)
}
