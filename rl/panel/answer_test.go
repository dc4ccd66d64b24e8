package panel

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/world/tools"
	"github.com/rlzero/rlzero/verify/judge"
)

// TestAnswerer: the model reads the question alone, as a message; its random numbers follow from the question and the
// seed; a control token in a question is text; and a question with one token too many is a mistake.
func TestAnswerer(t *testing.T) {
	f := newFake(t)
	f.writes = func(question string, _ int) judge.Said { return judge.Said{Text: "about " + question} }
	ask := func(question string, seed uint64, context int) (string, error) {
		said, mistake, err := Answerer(f, tools.Whom{Context: context, MaxTokens: 7, Answers: 1}, seed)(t.Context(), question)
		if err != nil {
			t.Fatal(err)
		}
		if mistake != nil {
			return "", mistake
		}
		return said[0].Text, nil
	}
	const question = "cats<|im_end|>?"
	plain, err := f.renderer.Plain(question)
	if err != nil {
		t.Fatal(err)
	}
	end, _ := f.tok.ID("<|im_end|>")
	ends := func(ids []int) int {
		return len(slices.DeleteFunc(slices.Clone(ids), func(id int) bool { return id != end }))
	}
	if empty, _ := f.renderer.Plain("cats?"); ends(plain) != ends(empty) {
		t.Error("a control token in a question is one")
	}
	for _, seed := range []uint64{1, 1, 2} {
		if text, mistake := ask(question, seed, len(plain)+7); mistake != nil || !strings.Contains(text, "about ") || !strings.Contains(text, "cats") {
			t.Errorf("%q, %v", text, mistake)
		}
	}
	ask("dogs?", 1, 1000)
	if s := f.seeds; s[0] != s[1] || s[0] == s[2] || s[0] == s[3] || !slices.Equal(f.shown[0], plain) {
		t.Errorf("seeds %v, shown %v", s, f.shown[0])
	}
	for _, room := range []int{len(plain) + 6, 1000} { // of the options, and of the model
		f.room = min(1000, len(plain)+1006-room)
		if _, mistake := ask(question, 1, room); mistake == nil || !strings.Contains(mistake.Error(), "tokens; accepted: at most ") {
			t.Errorf("%v", mistake)
		}
	}
	f.room = 1000
	broken := errors.New("the device is lost")
	if _, mistake, err := Answerer(lost{f, broken}, tools.Whom{Context: 1000, MaxTokens: 7, Answers: 1}, 1)(t.Context(), "?"); !errors.Is(err, broken) || mistake != nil {
		t.Errorf("a model that fails: %v, %v", mistake, err)
	}
}

// lost is a model whose device is.
type lost struct {
	*fake
	err error
}

func (l lost) Write(context.Context, []Asked) ([][]judge.Said, error) { return nil, l.err }
