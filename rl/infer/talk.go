package infer

import (
	"context"
	"errors"
	"fmt"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/sample"
	"github.com/rlzero/rlzero/rl/chat"
)

// Talk is a conversation with a model, turn by turn. It is a function of what was said and of
// the seed: the n-th answer since the seed was set draws from the seed's stream n, so the same
// words and commands give the same answers. It belongs to one goroutine.
type Talk struct {
	m        *model.Model
	format   *chat.Format
	engine   *sample.Engine
	context  int // tokens of the longest conversation
	room     int // new tokens of an answer at most; 0: what the context leaves
	sampling sample.Settings
	system   string
	said     []chat.Message
	drawn    uint32 // answers since the seed was set
}

// TalkOptions say how answers are drawn.
type TalkOptions struct {
	Context   int // tokens of the longest conversation; 0: what the model has, at most DefaultContext
	MaxTokens int // new tokens of an answer; 0: what the context leaves
	Sampling  sample.Settings
	Chat      ChatOptions
}

// DefaultContext bounds what a conversation takes of the device's memory where nothing says so.
const DefaultContext = 4096

// NewTalk begins a conversation. A model that answers no messages is refused.
func NewTalk(m *model.Model, o TalkOptions) (*Talk, error) {
	r := &reader{m: m, o: o.Chat}
	if err := r.open(); err != nil {
		return nil, err
	}
	t := &Talk{m: m, format: r.format, context: o.Context, room: o.MaxTokens, sampling: o.Sampling, system: o.Chat.System}
	switch {
	case t.context == 0:
		t.context = min(DefaultContext, m.Positions())
	case t.context > m.Positions():
		return nil, fmt.Errorf("%w: a context of %d tokens is asked for, and the model has %d positions; accepted: at most that many", lines.ErrInput, t.context, m.Positions())
	}
	var err error
	t.engine, err = sample.NewEngine(m, sample.Options{Sequences: 1, Context: t.context})
	return t, err
}

// Close frees the device's memory.
func (t *Talk) Close() { t.engine.Close() }

// Answer is what came of a turn.
type Answer struct {
	Text   string
	Tokens int  // of the answer
	Used   int  // tokens of the conversation with it
	Cut    bool // it was ended by the room for new tokens, or by the caller
}

// Say adds a message of the user and draws the answer. each is told of its text as it comes,
// in whole characters. An answer that ctx ends stays as far as it came; Undo takes it back.
// After an error nothing was said.
func (t *Talk) Say(ctx context.Context, text string, each func(text string)) (Answer, error) {
	asked := append(t.said[:len(t.said):len(t.said)], chat.Say(chat.User, text))
	ids, err := t.format.Prompt(chat.Conversation{Messages: asked}.Under(t.system))
	if err != nil {
		return Answer{}, fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	room := t.context - len(ids)
	if room < 1 {
		return Answer{}, hint.With(fmt.Errorf("%w: the conversation has %d tokens and the context %d: no answer fits", lines.ErrInput, len(ids), t.context),
			"/undo takes the last turn back, /clear starts over, --context gives more room")
	}
	if t.room > 0 {
		room = min(room, t.room)
	}
	var a Answer
	stream := t.m.Tokenizer.NewStream()
	req := sample.Request{Prompt: ids, N: 1, MaxTokens: room, Sampling: t.sampling, Stream: t.drawn, Ends: t.format.Ends()}
	tell := func(text string) {
		if text != "" {
			a.Text += text
			each(text)
		}
	}
	ended := false
	req.Each = func(_ int, token sample.Token) {
		a.Tokens++
		if ended = token.Stop == "eos"; !ended {
			tell(stream.Add(token.ID))
		}
	}
	_, err = t.engine.GenerateAll(ctx, []sample.Request{req})
	if err != nil && !(errors.Is(err, context.Canceled) && ctx.Err() != nil) {
		return Answer{}, err
	}
	tell(stream.Held())
	a.Used, a.Cut = len(ids)+a.Tokens, !ended
	t.said, t.drawn = append(asked, chat.Say(chat.Assistant, a.Text)), t.drawn+1
	return a, nil
}

// Undo takes the last turn back, the user's message and the answer; false: there is none.
func (t *Talk) Undo() bool {
	if len(t.said) == 0 {
		return false
	}
	t.said = t.said[:len(t.said)-2]
	return true
}

// Clear forgets all turns.
func (t *Talk) Clear() { t.said = nil }

// Seed sets the seed; answers draw from its first stream on.
func (t *Talk) Seed(seed uint64) { t.sampling.Seed, t.drawn = seed, 0 }

// System sets the system message, "" for none, from the next answer on.
func (t *Talk) System(text string) { t.system = text }
