package world

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rlzero/rlzero/verify"
)

// echo says its text again. It breaks at "break", and finds "no" wrong.
type echo struct{}

func (echo) Spec() Spec { return Spec{Name: "echo", Text: "text", Pure: true} }

func (e echo) Open(context.Context, verify.Problem) (Session, error) { return e, nil }

func (echo) Close() error { return nil }

func (e echo) Test(ctx context.Context) error {
	_, err := e.Call(ctx, json.RawMessage(`{"text":"a"}`))
	return err
}

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

// impure is a tool that a journal is asked about.
type impure struct{ echo }

func (impure) Spec() Spec { return Spec{Name: "impure", Text: "text", Effects: true} }

func (i impure) Open(context.Context, verify.Problem) (Session, error) { return i, nil }

// learner is one that writes down what it is told and called with.
type learner struct {
	impure
	heard *[]string
}

func (l learner) Open(context.Context, verify.Problem) (Session, error) { return l, nil }

func (l learner) Told(args json.RawMessage, a Answer) {
	*l.heard = append(*l.heard, "told "+string(args)+" "+a.Text)
}

func (l learner) Call(ctx context.Context, args json.RawMessage) (Answer, error) {
	*l.heard = append(*l.heard, "called "+string(args))
	return l.impure.Call(ctx, args)
}

// remembers is a journal that has an answer to the first call of the second turn.
type remembers []Asked

func (r *remembers) Answer(a Asked, call func() (Answer, error)) (Answer, error) {
	*r = append(*r, a)
	if a.Turn == 2 && a.Number == 1 {
		return Answer{Text: "known"}, nil
	}
	return call()
}

func (*remembers) Knows(a Asked) bool { return a.Turn == 2 && a.Number == 1 }

func (*remembers) Fault(int) (error, bool) { return nil, false }

func (*remembers) Failed(int, error) error { return nil }

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
		Calls:    []Called{{"echo", json.RawMessage(`{"text":"a"}`), false}, {"echo", json.RawMessage(`{"text":"no"}`), true}, {"echo", nil, true}},
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
	if r := w.Refused(Turn{Text: "<echo>a</echo>"}); !reflect.DeepEqual(r.Calls, []Called{{"echo", json.RawMessage(`{"text":"a"}`), true}}) {
		t.Errorf("a turn that is refused: %+v", r)
	}
	w.Mistake = "?"
	if r, err = begun(w).Step(t.Context(), Turn{Text: "<echo>no</echo><echo>a</echo><echo>"}); err != nil || r.Messages[0].Text != "?\na\n?" {
		t.Errorf("without reasons: %+v, %v", r, err)
	}
}

// priced is a tool of which a call costs something.
type priced struct{ echo }

func (p priced) Spec() Spec {
	s := p.echo.Spec()
	s.Name, s.Price = "dear", 0.25
	return s
}

// TestPrice: a turn costs what its calls do that are made, mistakes of the tool among them; where nothing has a
// price there is no such fact.
func TestPrice(t *testing.T) {
	w := Tooled{Tools: []Tool{echo{}, priced{}}, Judge: func(verify.Problem, string, bool) verify.Verdict { return verify.Accept("", "", "") }}
	for text, want := range map[string]float64{"<dear>a</dear><echo>b</echo><dear>no</dear><dear>": 0.5, "<echo>b</echo>": 0, "7": 0} {
		e, _, err := w.Begin(t.Context(), verify.Problem{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if r, err := e.Step(t.Context(), Turn{Text: text}); err != nil || r.Facts[FactPrice] != want || len(r.Facts) != 3 {
			t.Errorf("%s: %+v, %v, want a price of %v", text, r.Facts, err, want)
		}
	}
	if facts := CallFacts(Specs(w.Tools)...); !slices.Equal(facts, []string{"calls", "calls_failed", "price"}) || len(CallFacts(Specs(w.Tools[:1])...)) != 2 {
		t.Errorf("%v", facts)
	}
}

// opening is a tool that counts its sessions.
type opening struct {
	echo
	open   *int
	broken bool
}

func (o opening) Open(context.Context, verify.Problem) (Session, error) {
	if o.broken {
		return nil, errors.New("no paper")
	}
	*o.open++
	return o, nil
}

func (o opening) Close() error {
	*o.open--
	return nil
}

// TestTooledLimits: calls beyond the limit and the middle of long answers are left out, and say so.
func TestTooledLimits(t *testing.T) {
	said := func(w Tooled, text string) []Message {
		t.Helper()
		w.Tools = []Tool{echo{}}
		e, _, err := w.Begin(t.Context(), verify.Problem{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := e.Step(t.Context(), Turn{Text: text})
		if err != nil || r.Verdict != nil {
			t.Fatalf("%+v, %v", r, err)
		}
		return r.Messages
	}
	three := "<echo>a</echo><echo>b</echo><echo>c</echo>"
	if got := said(Tooled{Most: 1}, three); got[0].Text != "a\na turn may have at most 1 calls; those after them were not made" {
		t.Errorf("%q", got)
	}
	if got := said(Tooled{Most: 3, Apart: true}, three); !reflect.DeepEqual(got, []Message{{Answered, "a"}, {Answered, "b"}, {Answered, "c"}}) {
		t.Errorf("%q", got)
	}
	other := func(text string, tools []Spec) []Call {
		return []Call{{Tool: tools[0].Name, Args: json.RawMessage(`{"text":"` + text + `"}`)}, {Mistake: "no"}}
	}
	if got := said(Tooled{Read: other}, "it"); got[0].Text != "it\nno" {
		t.Errorf("%q", got)
	}
	long := strings.Repeat("ä", 100)
	for most := 64; most <= 201; most++ {
		got := said(Tooled{Bytes: most}, "<echo>"+long+"</echo>")[0].Text
		if len(got) > most || !utf8.ValidString(got) || (got == long) != (most >= len(long)) || most < len(long) && (!strings.HasPrefix(got, "ä") || !strings.HasSuffix(got, "ä") || !strings.Contains(got, "bytes are left out")) {
			t.Errorf("at most %d bytes: %d, %q", most, len(got), got)
		}
	}
}

// TestSessions: each episode has sessions of its own, which are closed with it, and where one tool does not
// open, so are those that did.
func TestSessions(t *testing.T) {
	open := 0
	good := opening{open: &open}
	e, _, err := Tooled{Tools: []Tool{good, Named(good, "other")}}.Begin(t.Context(), verify.Problem{}, nil)
	if err != nil || open != 2 {
		t.Fatalf("%d sessions, %v", open, err)
	}
	if r, err := e.Step(t.Context(), Turn{Text: "<other>hello</other>"}); err != nil || r.Messages[0].Text != "hello" {
		t.Errorf("%+v, %v", r, err)
	}
	if err := e.Close(); err != nil || open != 0 {
		t.Errorf("%d sessions are left, %v", open, err)
	}
	if _, _, err := (Tooled{Tools: []Tool{good, opening{broken: true}}}).Begin(t.Context(), verify.Problem{}, nil); err == nil || open != 0 || !strings.Contains(err.Error(), "tool echo: no paper") {
		t.Errorf("%d sessions are left, %v", open, err)
	}
}

// TestJournaled: a journal is asked about calls of tools that are not pure, each by its place, and about no
// others. A session is told what the journal knows.
func TestJournaled(t *testing.T) {
	var heard []string
	var asked remembers
	e, _, err := Tooled{Tools: []Tool{echo{}, learner{heard: &heard}}}.Through(&asked).Begin(t.Context(), verify.Problem{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range []string{"a\nb", "known\nc\nd"} {
		text := []string{"<echo>a</echo><impure>b</impure>", "<impure>b</impure><echo>c</echo><impure>d</impure>"}[at]
		if r, err := e.Step(t.Context(), Turn{Text: text, At: at + 1}); err != nil || r.Messages[0].Text != want {
			t.Errorf("turn %d: %+v, %v, want %q", at+1, r, err, want)
		}
	}
	call := func(turn, number int, text string) Asked {
		return Asked{turn, number, "impure", json.RawMessage(`{"text":"` + text + `"}`), true}
	}
	if want := (remembers{call(1, 2, "b"), call(2, 1, "b"), call(2, 3, "d")}); !reflect.DeepEqual(asked, want) {
		t.Errorf("asked for %+v, want %+v", asked, want)
	}
	if want := []string{`called {"text":"b"}`, `told {"text":"b"} known`, `called {"text":"d"}`}; !reflect.DeepEqual(heard, want) {
		t.Errorf("the session has heard %q, want %q", heard, want)
	}
}

// TestUnread: an answer that a policy has no words for, and bytes that are no text, are told as such.
func TestUnread(t *testing.T) {
	w := Tooled{Tools: []Tool{echo{}}, Reads: func(text string) bool { return !strings.Contains(text, "b") }}
	e, _, err := w.Begin(t.Context(), verify.Problem{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := e.Step(t.Context(), Turn{Text: "<echo>a</echo><echo>b</echo><echo>\xff</echo>"})
	if err != nil || r.Messages[0].Text != "a\n?\n\ufffd" || r.Facts[FactFailed] != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	refused := w.Refused(Turn{Text: "<echo>a</echo><echo>b</echo>"})
	if refused.Messages[0].Text != "?\n?" || refused.Facts[FactCalls] != 2 || refused.Facts[FactFailed] != 2 {
		t.Errorf("%+v", refused)
	}
}

// TestLongSituations: long situations are short texts, which are equal as long as what was said is.
func TestLongSituations(t *testing.T) {
	situation := func(said ...string) (s string) {
		e, _, err := Tooled{Tools: []Tool{echo{}}}.Begin(t.Context(), verify.Problem{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range said {
			r, err := e.Step(t.Context(), Turn{Text: "<echo>" + text + "</echo>"})
			if s = r.State; err != nil || len(s) > maxState {
				t.Fatalf("%d bytes, %v", len(s), err)
			}
		}
		return s
	}
	a, b := strings.Repeat("a", maxState), strings.Repeat("b", maxState)
	first, again := situation(a, b), situation(a, b)
	if first != again || first == situation(b, b) || first == situation(a, a) {
		t.Error("situations are equal where what was said is not, or the reverse")
	}
}

// kept is a journal that writes down what it keeps.
type kept struct{ answers *[]Answer }

func (k kept) Answer(_ Asked, call func() (Answer, error)) (Answer, error) {
	a, err := call()
	*k.answers = append(*k.answers, a)
	return a, err
}

func (kept) Knows(Asked) bool { return false }

func (kept) Fault(int) (error, bool) { return nil, false }

func (kept) Failed(int, error) error { return nil }

// TestJournalKeepsWhatIsRead: an answer that is too long is cut before a journal keeps it.
func TestJournalKeepsWhatIsRead(t *testing.T) {
	var answers []Answer
	e, _, err := Tooled{Tools: []Tool{impure{}}, Bytes: 100}.Through(kept{&answers}).Begin(t.Context(), verify.Problem{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := e.Step(t.Context(), Turn{Text: "<impure>" + strings.Repeat("a", 1000) + "</impure>"})
	if err != nil || len(answers) != 1 || len(answers[0].Text) > 100 || r.Messages[0].Text != answers[0].Text {
		t.Errorf("%+v, %v, %v", r, answers, err)
	}
}

// TestCatchUpUnread: a turn whose calls cannot be read is met by Step, not by what comes before it.
func TestCatchUpUnread(t *testing.T) {
	e := &tooledEpisode{Tooled: Tooled{Read: func(string, []Spec) []Call { panic("unreadable") }}, sessions: []Session{startsLate{}}}
	if err := e.CatchUp(t.Context(), &Turn{Text: "x", At: 1}); err != nil {
		t.Error(err)
	}
	defer func() {
		if recover() == nil {
			t.Error("Step reads it")
		}
	}()
	e.Step(t.Context(), Turn{Text: "x", At: 1})
}

// startsLate is a session that cannot catch up.
type startsLate struct{ Session }

func (startsLate) CatchUp(context.Context) error { return errors.New("gone") }
