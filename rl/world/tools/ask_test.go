package tools

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

// TestAsk: a question goes to whoever answers; what is wrong with it is a mistake, a model that fails is no
// mistake of the policy, and a tool without a model cannot be called.
func TestAsk(t *testing.T) {
	broken := errors.New("the device is lost")
	ask := Ask{AskOptions: AskOptions{Model: "expert"}, Answer: func(_ context.Context, q string) ([]Said, error, error) {
		switch q {
		case "long":
			return nil, errors.New("the question has 9 tokens"), nil
		case "lost":
			return nil, nil, broken
		}
		return []Said{{Text: "about " + q, Ended: true}}, nil, nil
	}}
	s, err := ask.Open(t.Context(), verify.Problem{})
	if err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]world.Answer{
		`{"question":"cats"}`:   {Text: "about cats"},
		`{"question":" \n"}`:    {Text: "mistake: the question has no word", Failed: true},
		`{"question":"long"}`:   {Text: "mistake: the question has 9 tokens", Failed: true},
		`{"question":7}`:        {Text: "mistake: question = 7 is a whole number; accepted: text in quotes", Failed: true},
		`{"questions":"cats?"}`: {Text: "mistake: unknown key questions; did you mean question?", Failed: true},
	} {
		if got, err := s.Call(t.Context(), json.RawMessage(args)); err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", args, got, err, want)
		}
	}
	if _, err := s.Call(t.Context(), json.RawMessage(`{"question":"lost"}`)); !errors.Is(err, broken) || !strings.Contains(err.Error(), "model expert") {
		t.Errorf("a model that fails: %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := (Ask{Answer: func(ctx context.Context, _ string) ([]Said, error, error) { return nil, nil, ctx.Err() }}).Test(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, err := (Ask{}).Call(t.Context(), json.RawMessage(`{"question":"cats"}`)); !errors.Is(err, world.ErrUnable) {
		t.Errorf("without a model: %v", err)
	}
}

// TestAskOptions: who is asked has to be given, and an answer leaves room for the question.
func TestAskOptions(t *testing.T) {
	for want, change := range map[string]func(*AskOptions){
		"":                               func(o *AskOptions) { o.Model = "policy" },
		"model is missing":               func(*AskOptions) {},
		"leaves a question no room":      func(o *AskOptions) { o.Model, o.MaxTokens = "policy", 512 },
		"temperature = -1.0 is out of r": func(o *AskOptions) { o.Model, o.Temperature = "policy", -1 },
	} {
		o := defaultAsk()
		change(o)
		if err := o.Validate(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
