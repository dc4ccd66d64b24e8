package chat

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/model/text/template"
)

// Span is the range of places From to To-1 in the ids of a lesson.
type Span struct{ From, To int }

// Lesson is a conversation to learn from.
type Lesson struct {
	IDs     []int
	Learned []Span // what the assistant wrote: ascending, disjoint
	Fresh   []int  // places in IDs where the context begins anew, ascending; nil: there is one context
	Passed  int    // turns of the assistant that are read and not learned
	Why     string // of the first of them
}

// Lesson are the token ids of a whole conversation and what is learned of them: see the
// package. Nothing is learned of the first messages, as many as are given. An answer at the
// very end whose turn the template does not end is ended with [Format.End].
func (f *Format) Lesson(c Conversation, given int) (Lesson, error) {
	if err := f.check(c); err != nil {
		return Lesson{}, err
	}
	whole, err := f.render(c, false)
	if err != nil {
		return Lesson{}, err
	}
	var l Lesson
	spans, marked := whole.Assistant, whole.Assistant != nil && whole.Lost == nil
	switch {
	case !marked:
		spans = f.answers(c, given, whole.Text, &l)
	case given > 0:
		first := c
		first.Messages = c.Messages[:given]
		before, err := f.render(first, false)
		if err != nil {
			return Lesson{}, err
		}
		spans = slices.DeleteFunc(slices.Clone(spans), func(s template.Span) bool { return s.Start < len(before.Text) })
	}
	at := 0
	for _, s := range spans {
		if err := l.add(f, whole.Text[at:s.Start], whole.Text[s.Start:s.End]); err != nil {
			return l, err
		}
		at = s.End
	}
	if err := l.add(f, whole.Text[at:], ""); err != nil {
		return l, err
	}
	if n := len(l.Learned); !marked && n > 0 && l.Learned[n-1].To == len(l.IDs) && !slices.Contains(f.ends, l.IDs[len(l.IDs)-1]) {
		l.IDs = append(l.IDs, f.End())
		l.Learned[n-1].To++
	}
	if len(l.Learned) == 0 {
		return l, l.nothing(c)
	}
	return l, nil
}

// add appends the tokens of a text that is read and of one that is learned.
func (l *Lesson) add(f *Format, read, learned string) error {
	before, err := f.encode(read)
	if err != nil {
		return err
	}
	answer, err := f.encode(learned)
	if err != nil {
		return err
	}
	l.IDs = append(l.IDs, before...)
	from := len(l.IDs)
	l.IDs = append(l.IDs, answer...)
	if len(answer) > 0 {
		l.Learned = append(l.Learned, Span{from, len(l.IDs)})
	}
	return nil
}

// nothing says why no token is learned.
func (l *Lesson) nothing(c Conversation) error {
	why := l.Why
	if why == "" {
		why = "there is no message of the assistant"
		if slices.ContainsFunc(c.Messages, func(m Message) bool { return m.Role == Assistant }) {
			why = "the template marks no token of the assistant's messages"
		}
	}
	return fmt.Errorf("%w: %s", ErrNothing, why)
}

// answers are the places of the assistant's turns after the given messages in the text of
// the whole, as far as the text before a turn and the text with it are begins of it.
func (f *Format) answers(c Conversation, given int, whole string, l *Lesson) []template.Span {
	var spans []template.Span
	for i, m := range c.Messages {
		if m.Role != Assistant || i < given {
			continue
		}
		span, why := f.answer(c, i, whole)
		if why == "" && len(spans) > 0 && span.Start < spans[len(spans)-1].End {
			why = "its text is a part of the turn before"
		}
		if why != "" {
			if l.Passed++; l.Passed == 1 {
				l.Why = fmt.Sprintf("%s: %s", c.name(i), why)
			}
			continue
		}
		spans = append(spans, span)
	}
	return spans
}

// answer is the place of one turn of the assistant with its end token, or why it has
// none.
func (f *Format) answer(c Conversation, i int, whole string) (s template.Span, why string) {
	before, until := c, c
	before.Messages, until.Messages = c.Messages[:i], c.Messages[:i+1]
	asked, err := f.render(before, true)
	if err != nil {
		return s, err.Error()
	}
	answered, err := f.render(until, false)
	if err != nil {
		return s, err.Error()
	}
	if !strings.HasPrefix(answered.Text, asked.Text) {
		return s, "the template begins the turn differently from the generation prompt"
	}
	s = template.Span{Start: len(asked.Text), End: len(asked.Text) + f.turn(answered.Text[len(asked.Text):])}
	if !strings.HasPrefix(whole, answered.Text[:s.End]) {
		return s, "the template changes the turn when the conversation goes on"
	}
	return s, ""
}

// turn is the length of a turn's text up to its end token, that included; all of it
// without one.
func (f *Format) turn(answer string) int {
	n := len(answer)
	for _, id := range f.ends {
		token := f.tok.Decode([]int{id})
		if at := strings.Index(answer, token); at >= 0 {
			n = min(n, at+len(token))
		}
	}
	return n
}
