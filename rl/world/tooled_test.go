package world

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/verify"
)

// echo says its text again. It breaks at "break", and finds "no" wrong.
type echo struct{}

func (echo) Spec() Spec { return Spec{Name: "echo", Text: "text", Pure: true} }

func (echo) Call(_ context.Context, args json.RawMessage) (Answer, error) {
	var a struct{ Text string }
	if err := json.Unmarshal(args, &a); err != nil {
		return Answer{}, err
	}
	if a.Text == "break" {
		return Answer{}, errors.New("out of paper")
	}
	return Answer{Text: a.Text, Failed: a.Text == "no"}, nil
}

// counter would answer equal calls differently.
type counter struct{ echo }

func (counter) Spec() Spec { return Spec{Name: "counter", Text: "text"} }

// TestTooled: turns with calls are told what the tools answer, a turn without is judged, and one that is
// cut off is judged without its calls.
func TestTooled(t *testing.T) {
	asked := []string{}
	w := Tooled{Tools: []Tool{echo{}}, Judge: func(row verify.Problem, answer string, ended bool) verify.Verdict {
		asked = append(asked, answer)
		if answer == row.Answer && ended {
			return verify.Accept(answer, "same", "it is")
		}
		return verify.Reject(answer, "same", "it is not")
	}}
	row := verify.Problem{Answer: "7"}
	begun := func(w Tooled) Episode {
		e, first, err := w.Begin(t.Context(), row, nil)
		if err != nil || first.Messages != nil || first.State == "" {
			t.Fatalf("%+v, %v", first, err)
		}
		return e
	}
	e := begun(w)
	r, err := e.Step(t.Context(), Turn{Text: "<echo>a</echo> 7 <echo>no</echo><echo>"})
	want := Reply{
		Messages: []Message{{User, "a\nno\nthe call has no end; accepted: </echo>"}},
		Facts:    map[string]float64{"calls": 3, "calls_failed": 2},
		State:    "asked\necho{\"text\":\"a\"} = a\necho{\"text\":\"no\"} = no\necho = the call has no end; accepted: </echo>",
	}
	if err != nil || !reflect.DeepEqual(r, want) {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err = e.Step(t.Context(), Turn{Text: "7"}); err != nil || r.Verdict == nil || r.Verdict.Verdict != verify.Right || r.Reward != 1 || r.Facts["calls"] != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err = begun(w).Step(t.Context(), Turn{Text: "<echo>7</echo>", Cut: true}); err != nil || r.Verdict == nil || r.Verdict.Verdict != verify.Wrong || r.Reward != 0 {
		t.Errorf("a turn that is cut off: %+v, %v", r, err)
	}
	if !reflect.DeepEqual(asked, []string{"7", "<echo>7</echo>"}) {
		t.Errorf("judged are %q", asked)
	}
	if _, err = begun(w).Step(t.Context(), Turn{Text: "<echo>break</echo>"}); err == nil || !strings.Contains(err.Error(), "tool echo: out of paper") {
		t.Errorf("a tool that breaks: %v", err)
	}
	impure := Tooled{Tools: []Tool{counter{}}, Judge: w.Judge}
	if _, _, err = impure.Begin(t.Context(), row, nil); err == nil || !strings.Contains(err.Error(), "tool counter is not pure") {
		t.Errorf("a tool that is not pure: %v", err)
	}
	w.Mistake = "?"
	if r, err = begun(w).Step(t.Context(), Turn{Text: "<echo>no</echo><echo>a</echo><echo>"}); err != nil || r.Messages[0].Text != "?\na\n?" {
		t.Errorf("without reasons: %+v, %v", r, err)
	}
}
