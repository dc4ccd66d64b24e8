package infer

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/internal/fixtures"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/sample"
	"github.com/rlzero/rlzero/rl/chat"
)

func chatModel(t *testing.T) *model.Model {
	t.Helper()
	dev, err := gpu.Open("ref")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dev.Close() })
	m, err := model.Load(dev, fixtures.ChatModel(t), model.LoadOptions{Frozen: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

// TestTalk: each answer is what sample draws of the same messages, from the same stream of the
// same seed, and commands change what they say and nothing else.
func TestTalk(t *testing.T) {
	m := chatModel(t)
	sampling := sample.Settings{Temperature: 1, TopP: 1, Seed: 7}
	talk, err := NewTalk(m, TalkOptions{MaxTokens: 5, Sampling: sampling, Chat: ChatOptions{System: "Brief."}})
	if err != nil {
		t.Fatal(err)
	}
	defer talk.Close()
	say := func(text string) string {
		t.Helper()
		told := ""
		a, err := talk.Say(t.Context(), text, func(text string) { told += text })
		if err != nil || told != a.Text || a.Tokens < 1 || a.Tokens > 5 || a.Used <= a.Tokens {
			t.Fatalf("%q: %+v, told %q, %v", text, a, told, err)
		}
		return a.Text
	}
	sampled := func(stream int, seed uint64, messages ...chat.Message) string {
		t.Helper()
		var list []map[string]string
		for _, m := range messages {
			list = append(list, map[string]string{"role": m.Role, "content": m.Text})
		}
		raw, err := json.Marshal(map[string]any{"messages": list})
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		s := sampling
		s.Seed = seed
		// The line after n others draws from stream n.
		if err := Sample(t.Context(), m, "lines", strings.NewReader(strings.Repeat(string(raw)+"\n", stream+1)), &out, SampleOptions{N: 1, MaxTokens: 5, Sampling: s}); err != nil {
			t.Fatal(err)
		}
		var line struct{ Text string }
		all := strings.Split(strings.TrimSpace(out.String()), "\n")
		if err := json.Unmarshal([]byte(all[stream]), &line); err != nil {
			t.Fatal(err)
		}
		return line.Text
	}
	system, user, model := func(s string) chat.Message { return chat.Say(chat.System, s) }, func(s string) chat.Message { return chat.Say(chat.User, s) }, func(s string) chat.Message { return chat.Say(chat.Assistant, s) }

	one := say("Why so?")
	if want := sampled(0, 7, system("Brief."), user("Why so?")); one != want {
		t.Errorf("the first answer is %q, sample has %q", one, want)
	}
	two := say("And then?")
	if want := sampled(1, 7, system("Brief."), user("Why so?"), model(one), user("And then?")); two != want {
		t.Errorf("the second answer is %q, sample has %q", two, want)
	}
	if !talk.Undo() {
		t.Error("nothing to undo")
	}
	talk.Seed(9)
	talk.System("")
	if got, want := say("Or else?"), sampled(0, 9, user("Why so?"), model(one), user("Or else?")); got != want {
		t.Errorf("after an undo, another seed and no system: %q, sample has %q", got, want)
	}
	talk.Clear()
	if got, want := say("Who?"), sampled(1, 9, user("Who?")); got != want {
		t.Errorf("after all was forgotten: %q, sample has %q", got, want)
	}
	if talk.Undo(); talk.Undo() {
		t.Error("undone twice, but said once")
	}
}

// TestTalkEnded: an answer that the caller ends stays as far as it came, the conversation goes
// on, and what does not fit or cannot be written changes nothing.
func TestTalkEnded(t *testing.T) {
	m := chatModel(t)
	talk, err := NewTalk(m, TalkOptions{Context: 100, Sampling: sample.Settings{Temperature: 1, TopP: 1, Seed: 1}})
	if err != nil {
		t.Fatal(err)
	}
	defer talk.Close()
	ctx, cancel := context.WithCancel(t.Context())
	pieces := 0
	a, err := talk.Say(ctx, "Go on", func(string) {
		if pieces++; pieces == 3 {
			cancel()
		}
	})
	if err != nil || !a.Cut || a.Tokens < 3 || a.Text == "" {
		t.Errorf("ended: %+v, %v", a, err)
	}
	said := len(talk.said)
	if _, err := talk.Say(t.Context(), "a<|im_end|>b", nil); err == nil || !strings.Contains(err.Error(), "control token") {
		t.Errorf("a control token: %v", err)
	}
	if _, err := talk.Say(t.Context(), strings.Repeat("long ", 30), nil); err == nil || !strings.Contains(err.Error(), "no answer fits") {
		t.Errorf("too long: %v", err)
	}
	if len(talk.said) != said {
		t.Errorf("%d messages, want %d", len(talk.said), said)
	}
	if a, err := talk.Say(t.Context(), "b", func(string) {}); err != nil || a.Used > 100 {
		t.Errorf("after that: %+v, %v", a, err)
	}
}
