package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

// sums is a tool whose model writes four draws after each text, and whose task takes the answer "a.b.c.".
func sums(model Answerer) Blocks {
	o := defaultBlocks()
	o.Model, o.Step, o.Draws = "writer", `^[a-z]\.`, 4
	return Blocks{BlocksOptions: *o, Answer: model, Judge: func(row verify.Problem, answer string, ended bool) verify.Verdict {
		if answer != row.Answer || !ended {
			return verify.Reject(answer, "test", "wrong")
		}
		return verify.Accept(answer, "test", "right")
	}}
}

// draws is a model that knows what to write after some texts.
func draws(known map[string][4]string) Answerer {
	return func(_ context.Context, text string) (out []Said, mistake, err error) {
		all, there := known[text]
		switch {
		case text == "lost":
			return nil, nil, errors.New("the device is lost")
		case !there:
			return nil, fmt.Errorf("no token for %q", text), nil
		}
		for _, s := range all {
			out = append(out, Said{s, s != "cut"})
		}
		return out, nil, nil
	}
}

// TestBlocks: a step is that of the first draw, a debate takes what most draws begin with, refining goes back and on
// with the next draw, and the end writes what is left. Turns are paid by what they change of the share of right draws,
// which adds up to the score less the share at the beginning; a turn without a block changes nothing.
func TestBlocks(t *testing.T) {
	b := sums(draws(map[string][4]string{
		"q":       {"x.b.c.", "a.b.c.", "a.x.c.", "a.b.c."},
		"qx.":     {"b.c.", "", "b.c.", "x."},
		"qa.":     {"b.c.", "b.c.", "x.c.", "b.c."},
		"qa.b.":   {"c.", "cut", "c.", "c."},
		"qa.b.c.": {"", "", "", ""},
	}))
	row := verify.Problem{Question: "q", Answer: "a.b.c."}
	type turn struct {
		text, says           string
		worth, pays, agree   float64
		done, block, verdict float64 // verdict: -1 where the episode goes on
	}
	for _, turns := range [][]turn{
		{{"1", "1:1:1", 0, -0.5, 0.25, 0.25, 1, -1}, {"3 again", "3:0:1", 0.75, 0.75, 0.75, 0, 3, -1}, {" 4", "", 1, 0.25, 0.75, 0, 4, 1}},
		{{"2", "3:0:1", 0.75, 0.25, 0.75, 0, 2, -1}, {"1", "3:0:2", 0.75, 0, 0.75, 0, 1, -1}, {"1", "3:4:3", 1, 0.25, 0.75, 1, 1, -1}, {"2", "3:4:3", 1, 0, 0.75, 1, 2, -1}, {"4", "", 1, 0, 0.75, 1, 4, 1}},
		{{"3", "4:0:0", 0.5, 0, 1, 0, 3, -1}, {"no 1", "4:0:0", 0.5, 0, 1, 0, 0, -1}, {"5", "4:0:0", 0.5, 0, 1, 0, 0, -1}, {"99999999999999999999", "4:0:0", 0.5, 0, 1, 0, 0, -1}, {"4", "", 0, -0.5, 1, 0, 4, 0}},
	} {
		e, first, err := b.Begin(t.Context(), row, nil)
		if err != nil || first.Messages != nil {
			t.Fatalf("%+v, %v", first, err)
		}
		paid := 0.0
		for i, want := range turns {
			got, err := e.Step(t.Context(), world.Turn{Text: want.text, Cut: i%2 == 0})
			if err != nil {
				t.Fatal(err)
			}
			says, verdict := "", -1.0
			if got.Messages != nil {
				says = got.Messages[0].Text
			}
			if got.Verdict != nil {
				verdict = got.Verdict.Score
			}
			if paid += got.Reward; verdict >= 0 && paid != verdict-0.5 { // sums of eighths are exact
				t.Errorf("the turns are paid %v, and the score is %v", paid, verdict)
			}
			if f := got.Facts; says != want.says || f["worth"] != want.worth || got.Reward != want.pays || f["agree"] != want.agree || f["done"] != want.done || f["block"] != want.block || verdict != want.verdict {
				t.Errorf("%q: %+v, want %+v", want.text, got, want)
			}
		}
	}
}

// TestBlocksLimits: where turns are used up the model writes what is left; a solution that it cannot read stays as it is;
// a question that it cannot read, and a model that fails, are no turn's fault.
func TestBlocksLimits(t *testing.T) {
	known := map[string][4]string{"q": {"a.b.c.", "a.b.c.", "x", "x"}}
	b := sums(draws(known))
	row := verify.Problem{Question: "q", Answer: "a.b.c."}
	e, _, err := b.Begin(t.Context(), row, nil)
	if err != nil {
		t.Fatal(err)
	}
	if v, err := e.(world.Judge).Judge(t.Context()); err != nil || v.Score != 1 {
		t.Errorf("%+v, %v", v, err)
	}
	if got, err := e.Step(t.Context(), world.Turn{Text: "1"}); err != nil || got.Messages[0].Text != "2:4:1" || got.Facts["worth"] != 0 {
		t.Errorf("a solution that cannot be read: %+v, %v", got, err)
	}
	for _, question := range []string{"unread", "lost"} {
		if _, _, err := b.Begin(t.Context(), verify.Problem{Question: question}, nil); err == nil || !strings.Contains(err.Error(), "model writer: ") {
			t.Errorf("%s: %v", question, err)
		}
	}
	b.Answer = nil
	if _, _, err := b.Begin(t.Context(), row, nil); !errors.Is(err, world.ErrUnable) {
		t.Errorf("without a model: %v", err)
	}
	if a, err := b.Call(t.Context(), nil); err != nil || !a.Failed {
		t.Errorf("a call by name: %+v, %v", a, err)
	}
}

// TestBlocksOptions: a model has to be given, and blocks and steps that are some.
func TestBlocksOptions(t *testing.T) {
	for want, change := range map[string]func(*BlocksOptions){
		"":                          func(*BlocksOptions) {},
		"model is missing":          func(o *BlocksOptions) { o.Model = "" },
		"has \"think\"; accepted: ": func(o *BlocksOptions) { o.Blocks = []string{"step", "think"} },
		"has \"step\" twice":        func(o *BlocksOptions) { o.Blocks = []string{"step", "step"} },
		"leaves nothing to pick":    func(o *BlocksOptions) { o.Blocks = nil },
		"is no regular expression":  func(o *BlocksOptions) { o.Step = "(" },
		"leaves a question no room": func(o *BlocksOptions) { o.MaxTokens = 512 },
		"draws = 0 is out of range": func(o *BlocksOptions) { o.Draws = 0 },
	} {
		o := defaultBlocks()
		o.Model = "writer"
		change(o)
		if err := o.Validate(); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
