package chat

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/model/text"
	"github.com/rlzero/rlzero/model/text/template"
)

// Next are the token ids between two turns of the assistant: the end token of the first, unless
// ended says that it is there, what others say then, and what the second begins with. They are
// those of any conversation as long as the template only appends, see [Format.Appends].
//
// A control token in the text of a message is read as text.
func (f *Format) Next(ended bool, said []Message) ([]int, error) {
	end, rest, err := f.between(said)
	if err != nil {
		return nil, err
	}
	plain, err := f.beside(rest, said, func(said []Message) (string, error) {
		_, rest, err := f.between(said)
		return rest, err
	})
	if err != nil {
		return nil, err
	}
	var ids []int
	if !ended {
		if ids, err = f.encode(end); err != nil {
			return nil, err
		}
		if len(ids) == 0 {
			ids = []int{f.End()}
		}
	}
	after, err := f.tok.EncodeBeside(rest, plain...)
	return append(ids, after...), err
}

// Plain are the token ids of a conversation up to where the assistant goes on, in which control tokens in
// the texts of messages are text.
func (f *Format) Plain(c Conversation) ([]int, error) {
	said := c.Messages
	c.Messages = nil
	return f.following(c, said)
}

// After are the token ids of a conversation and of what is said after it, up to where the assistant goes on.
// A control token in the text of what is said is read as text; one in the conversation is refused, see [Format.Prompt].
func (f *Format) After(c Conversation, said []Message) ([]int, error) {
	if err := f.check(c); err != nil {
		return nil, err
	}
	return f.following(c, said)
}

// following is After without a check: a control token in the conversation is one.
func (f *Format) following(c Conversation, said []Message) ([]int, error) {
	before := c.Messages
	write := func(said []Message) (string, error) {
		c.Messages = slices.Concat(before, said)
		r, err := f.render(c, true)
		return r.Text, err
	}
	written, err := write(said)
	if err != nil {
		return nil, err
	}
	plain, err := f.beside(written, said, write)
	if err != nil {
		return nil, err
	}
	return f.tok.EncodeBeside(written, plain...)
}

// beside are the places of the texts of messages that have control tokens in what the template wrote. To
// find them, write writes the messages once more with a mark in place of each such text: what stands between
// the marks is the template's, though a text looks like it.
func (f *Format) beside(written string, said []Message, write func([]Message) (string, error)) (plain []text.Range, err error) {
	mark := "mark"
	for strings.Contains(written, mark) {
		mark += "s"
	}
	marked := slices.Clone(said)
	var texts []Message // that are marked
	for i, m := range said {
		if f.plain(m.fields, m.Text) != nil {
			marked[i] = Say(m.Role, mark)
			texts = append(texts, m)
		}
	}
	if texts == nil {
		return nil, nil
	}
	again, err := write(marked)
	if err != nil {
		return nil, err
	}
	between := strings.Split(again, mark)
	rest, begins := strings.CutPrefix(written, between[0])
	if !begins || len(between) != len(texts)+1 {
		return nil, errors.New("a message has a control token, and the template does not write each message once and alike")
	}
	for i, m := range texts {
		quoted := template.Quoted(m.Text)
		words, after, found := first(rest, between[i+1], m.Text, strings.TrimSpace(m.Text), quoted[1:len(quoted)-1])
		if !found {
			return nil, fmt.Errorf("a message (%s) has a control token, and the template writes it in other words", m.Role)
		}
		from := len(written) - len(rest)
		plain, rest = append(plain, text.Range{From: from, To: from + len(words)}), after
	}
	return plain, nil
}

// first is the first of some words that a text begins with before what follows them, and the text after both.
func first(text, then string, words ...string) (word, after string, found bool) {
	for _, word := range words { // some templates trim a text, and some write it as JSON does
		if after, found = strings.CutPrefix(text, word+then); found {
			return word, after, true
		}
	}
	return "", "", false
}

// between is what the template writes after the text of an answer: the end of the turn, and all
// from there to where the next turn begins.
func (f *Format) between(said []Message) (end, rest string, err error) {
	first := []Message{Say(User, tryFirst), Say(Assistant, tryAnswer)}
	asked, err := f.render(tried(first[0]), true)
	if err != nil {
		return "", "", err
	}
	whole, err := f.render(tried(append(first, said...)...), true)
	if err != nil {
		return "", "", err
	}
	rest, begins := strings.CutPrefix(whole.Text, asked.Text+tryAnswer)
	if !begins {
		return "", "", errors.New("a finished turn begins differently from the generation prompt")
	}
	if n := f.turn(rest); n < len(rest) || f.tok.Special(f.lastOf(rest)) {
		return rest[:n], rest[n:], nil
	}
	return "", rest, nil
}

// lastOf is the last token of a text; -1: it has none.
func (f *Format) lastOf(t string) int {
	ids, err := f.encode(t)
	if err != nil || len(ids) == 0 {
		return -1
	}
	return ids[len(ids)-1]
}

// Appends says why later turns cannot be appended to the ids of earlier ones; "": they can. It
// tries a conversation of four turns, one of them empty: the whole has to have the ids of its
// parts.
func (f *Format) Appends() string {
	if f.rewrites != "" {
		return f.rewrites
	}
	if end, _, err := f.between([]Message{Say(User, tryNext)}); err == nil && end == "" {
		return "it writes no token at the end of a turn"
	}
	answers := []string{tryAnswer, "", "third answer"}
	questions := []string{tryNext, "third question", "fourth question"}
	messages := []Message{Say(User, tryFirst)}
	asked, err := f.render(tried(messages...), true)
	if err != nil {
		return err.Error()
	}
	parts, err := f.encode(asked.Text)
	if err != nil {
		return err.Error()
	}
	for i, answer := range answers {
		own, err := f.encode(answer)
		if err != nil {
			return err.Error()
		}
		next, err := f.Next(false, []Message{Say(User, questions[i])})
		if err != nil {
			return err.Error()
		}
		parts = slices.Concat(parts, own, next)
		messages = append(messages, Say(Assistant, answer), Say(User, questions[i]))
		whole, err := f.render(tried(messages...), true)
		if err != nil {
			return fmt.Sprintf("after %d turns: %v", i+1, err)
		}
		ids, err := f.encode(whole.Text)
		if err != nil {
			return err.Error()
		}
		if !slices.Equal(ids, parts) {
			why := "it writes a later turn differently from the first"
			if answer == "" {
				why = "it leaves out an empty turn"
			}
			return why + ", or its tokens differ"
		}
	}
	return ""
}

// AppendsCalls says why what tools answer cannot be appended to the ids of the calls that a model
// writes in a way; "": it can. It tries two calls with an answer each, one of which has a control token:
// the whole has to have the ids of its parts.
func (f *Format) AppendsCalls(c Calls) string {
	if why := f.Appends(); why != "" {
		return why
	}
	written := func(value string) (Message, string, error) {
		messages, err := ReadMessages([]byte("[" + triedCall(value) + "]"))
		if err != nil {
			return Message{}, "", err
		}
		return messages[0], strings.TrimSpace(c.Write("tried", `{"k": "`+value+`"}`)), nil
	}
	messages := []Message{Say(User, tryFirst)}
	asked, err := f.render(Conversation{Messages: messages, Tools: triedTools}, true)
	if err != nil {
		return err.Error()
	}
	parts, err := f.encode(asked.Text)
	if err != nil {
		return err.Error()
	}
	for i, said := range []string{tryNext, "third question"} {
		call, own, err := written(fmt.Sprintf("v%d", i))
		if err != nil {
			return err.Error()
		}
		ids, err := f.encode(own)
		if err != nil {
			return err.Error()
		}
		next, err := f.Next(false, []Message{Say(Tool, said)})
		if err != nil {
			return err.Error()
		}
		parts = slices.Concat(parts, ids, next)
		messages = append(messages, call, Say(Tool, said))
		whole, err := f.render(Conversation{Messages: messages, Tools: triedTools}, true)
		if err != nil {
			return fmt.Sprintf("after %d answers of tools: %v", i+1, err)
		}
		if ids, err = f.encode(whole.Text); err != nil {
			return err.Error()
		}
		if !slices.Equal(ids, parts) {
			return "it writes calls and what tools answer differently where a conversation goes on"
		}
	}
	if _, err := f.Next(false, []Message{Say(Tool, "a\n"+f.tok.Decode([]int{f.End()})+`"b"`)}); err != nil {
		return err.Error()
	}
	return ""
}
