package chat

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// found is what a template was found to do.
type found struct {
	ends     []int  // tokens that end a turn of the assistant, the template's first
	system   error  // why there is no system role; nil: there is one
	rewrites string // what it changes of earlier turns; "": nothing
}

// The words of the conversations that a template is tried on.
const (
	tryRules  = "short answers please"
	tryFirst  = "first question"
	tryAnswer = "first answer"
	tryNext   = "second question"
	tryThink  = "<think>\nsome thoughts\n</think>\n\n"
)

func tried(messages ...Message) Conversation { return Conversation{Messages: messages} }

// probe tries the template. A question has to come out; everything else is a finding.
func (f *Format) probe(eos []int) (found, error) {
	asked, err := f.render(tried(Say(User, tryFirst)), true)
	if err != nil {
		return found{}, err
	}
	if !strings.Contains(asked.Text, tryFirst) {
		return found{}, errors.New("the chat template leaves out what the user says")
	}
	var out found
	out.system = f.trySystem()
	answered, err := f.render(tried(Say(User, tryFirst), Say(Assistant, tryAnswer)), false)
	if err != nil {
		out.ends, out.rewrites = eos, fmt.Sprintf("the template refuses a turn of the assistant: %v", err)
	} else {
		out.ends = f.tryEnd(answered.Text, eos)
		f.ends = out.ends
		out.rewrites = f.tryTurns(asked.Text, answered.Text)
	}
	if len(out.ends) == 0 {
		return out, errors.New("neither the chat template nor the model has a token that ends a turn: generation_config.json names none as eos_token_id")
	}
	return out, nil
}

// trySystem is the reason why a system message is not read.
func (f *Format) trySystem() error {
	r, err := f.render(tried(Say(System, tryRules), Say(User, tryFirst)), true)
	if err == nil && !strings.Contains(r.Text, tryRules) {
		err = errors.New("it leaves out what the system message says")
	}
	return err
}

// tryEnd finds the token that ends a turn: the first one after the answer, blanks
// apart, if it is a control token.
func (f *Format) tryEnd(answered string, eos []int) []int {
	at := strings.LastIndex(answered, tryAnswer)
	if at < 0 {
		return eos
	}
	ids, err := f.encode(strings.TrimLeft(answered[at+len(tryAnswer):], " \n"))
	if err != nil || len(ids) == 0 || !f.tok.Special(ids[0]) && !slices.Contains(eos, ids[0]) {
		return eos
	}
	ends := []int{ids[0]}
	for _, id := range eos {
		if !slices.Contains(ends, id) {
			ends = append(ends, id)
		}
	}
	return ends
}

// tryTurns says what does not stay as it was once more is said, in the text or in its
// tokens: whole = parts.
func (f *Format) tryTurns(asked, answered string) string {
	again, err := f.render(tried(Say(User, tryFirst), Say(Assistant, tryAnswer), Say(User, tryNext)), true)
	if err != nil {
		return fmt.Sprintf("the template accepts one turn only: %v", err)
	}
	if !strings.HasPrefix(answered, asked) {
		return "a finished turn begins differently from the generation prompt"
	}
	answered = answered[:len(asked)+f.turn(answered[len(asked):])]
	if !strings.HasPrefix(again.Text, answered) {
		return "it changes earlier turns"
	}
	whole, err := f.encode(again.Text)
	if err != nil {
		return "" // a small vocabulary without these words
	}
	var parts []int
	for _, part := range []string{asked, strings.TrimPrefix(answered, asked), strings.TrimPrefix(again.Text, answered)} {
		ids, err := f.encode(part)
		if err != nil {
			return ""
		}
		parts = append(parts, ids...)
	}
	if !slices.Equal(whole, parts) {
		return "the tokens of a conversation are not those of its turns"
	}
	question, thought := Say(User, tryFirst), Say(Assistant, tryThink+tryAnswer)
	alone, err := f.render(tried(question, thought), false)
	if err != nil {
		return ""
	}
	if _, why := f.answer(tried(question, thought), 1, alone.Text); why != "" {
		return "" // thoughts are no part of its turns
	}
	later, err := f.render(tried(question, thought, Say(User, tryNext)), true)
	if err != nil {
		return ""
	}
	if _, why := f.answer(tried(question, thought), 1, later.Text); why != "" {
		return "it drops the thoughts of earlier turns"
	}
	return ""
}
