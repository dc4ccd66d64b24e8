package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

func init() {
	Register(Entry{
		Name:    "ask",
		Summary: "another model, or the policy itself",
		Doc: `ask: asks a model a question, and shows what it writes.

    <ask>What is the capital of France?</ask>   Paris

It asks a model of [models] that has a path, whose tokenizer may differ from the policy's, or one from random
weights that stages train, or policy: the policy as it is in this step. The model reads the question alone, as
a message of the user where it has a chat template. It answers by its most likely tokens, or with a
temperature by draws whose random numbers follow from the question and the seed of the run. So equal questions have equal answers while its weights
are the same, and nothing has to be kept for a run that is resumed. The argument is question. A mistake is
a question without a word, one that the model cannot read, and one for which context has no room.

Each call costs price. The fact turn.price is the total of the calls that a turn makes.

` + settings.Describe(defaultAsk()),
		Options: func() Options { return defaultAsk() },
	})
}

func defaultAsk() *AskOptions { return &AskOptions{Context: 512, MaxTokens: 64} }

// AskOptions are whom the tool "ask" asks, and how.
type AskOptions struct {
	Model       string  `toml:"model" about:"who is asked: a model of [models] with path or family, or policy; required"`
	Context     int     `toml:"context" range:"[2,16777216]" about:"tokens that a question may have with its answer"`
	MaxTokens   int     `toml:"max_tokens" range:"[1,16777216]" about:"tokens of an answer, at most"`
	Temperature float64 `toml:"temperature" range:"[0,100]" about:"divides the logits of the draws; 0: the most likely tokens"`
	Price       float64 `toml:"price" range:"[0,inf)" about:"what a call costs; 0: there is no fact turn.price"`
}

// Validate implements [Options].
func (o *AskOptions) Validate() error {
	if err := settings.Check(o); err != nil {
		return err
	}
	switch {
	case o.Model == "":
		return &settings.Error{Key: "model", Problem: "is missing; accepted: policy, or a model of [models] with path or family"}
	case o.MaxTokens >= o.Context:
		return &settings.Error{Key: "max_tokens", Problem: fmt.Sprintf("= %d leaves a question no room; accepted: less than context = %d", o.MaxTokens, o.Context)}
	}
	return nil
}

// Answered implements [Questioner].
func (a Ask) Answered(by Answerer) world.Tool {
	a.Answer = by
	return a
}

// Asks implements [Asking].
func (o AskOptions) Asks() Whom {
	return Whom{Model: o.Model, Context: o.Context, MaxTokens: o.MaxTokens, Answers: 1, Temperature: o.Temperature}
}

// Spec implements [Options].
func (o *AskOptions) Spec() world.Spec { return Ask{AskOptions: *o}.Spec() }

// Make implements [Options].
func (o *AskOptions) Make(Documents) (world.Tool, string, error) {
	return Ask{AskOptions: *o}, "", nil
}

// Ask is the tool "ask". Answer is who answers; nil: nobody does yet.
type Ask struct {
	AskOptions
	Answer Answerer
}

// Asking are options of a tool that asks a model.
type Asking interface {
	Options
	Asks() Whom
}

// Questioner is a tool that asks a model.
type Questioner interface {
	world.Tool
	Asks() Whom
	Answered(by Answerer) world.Tool // the tool, whose questions are answered
}

// Whom is who is asked, and how.
type Whom struct {
	Model       string
	Context     int // tokens of a question with an answer
	MaxTokens   int // of an answer
	Answers     int // to each question
	Temperature float64
}

// Said is an answer to a question.
type Said struct {
	Text  string // without the end token
	Ended bool   // no limit cut it off
}

// Answerer answers questions: equal ones alike. A mistake says what is wrong with the question; an error says that the
// model cannot be asked.
type Answerer func(ctx context.Context, question string) (said []Said, mistake, err error)

// Spec implements [world.Tool].
func (a Ask) Spec() world.Spec {
	return world.Spec{
		Name:  "ask",
		About: "Asks a language model a question. It knows nothing but the question.",
		Args:  json.RawMessage(`{"type":"object","properties":{"question":{"type":"string","description":"with all that the model needs to know"}},"required":["question"],"additionalProperties":false}`),
		Text:  "question",
		Pure:  true,
		Price: a.Price,
	}
}

// Test implements [world.Tool]: the model answers, whatever it says.
func (a Ask) Test(ctx context.Context) error {
	if a.Answer == nil {
		return nil
	}
	_, _, err := a.Answer(ctx, "1")
	return err
}

// Open implements [world.Tool].
func (a Ask) Open(context.Context, verify.Problem) (world.Session, error) { return a, nil }

// Close implements [world.Session].
func (Ask) Close() error { return nil }

// Call implements [world.Session].
func (a Ask) Call(ctx context.Context, args json.RawMessage) (world.Answer, error) {
	var q struct {
		Question string `toml:"question"`
	}
	if err := settings.DecodeJSON(args, &q); err != nil {
		return Mistaken(err.Error()), nil
	}
	if strings.TrimSpace(q.Question) == "" {
		return Mistaken("the question has no word"), nil
	}
	if a.Answer == nil {
		return world.Answer{}, fmt.Errorf("%w: there is no model to ask", world.ErrUnable)
	}
	said, mistake, err := a.Answer(ctx, q.Question)
	if err != nil && !errors.Is(err, context.Cause(ctx)) {
		err = fmt.Errorf("model %s: %w", a.Model, err)
	}
	if err != nil || mistake != nil {
		return answer("", mistake), err
	}
	return answer(said[0].Text, nil), nil
}
