package tasks

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/verify"
	_ "github.com/rlzero/rlzero/verify/program" // code:javascript
)

// TestPrograms: programs are judged by what they return, however they are written, and what is no part of the
// language is wrong.
func TestPrograms(t *testing.T) {
	row := verify.Problem{Answer: "f=x=>x*3+7", Metadata: metadata(map[string]any{"tests": []programTest{{"f", []float64{0}, 7}, {"f", []float64{1}, 10}, {"f", []float64{5}, 22}}})}
	right := []string{"f=x=>x*3+7", "f=x=>7+3*x", "f=x=>x+x+x+7", "f=x=>(x+2)*3+1", "f=x=>10-3*(1-x)", "f=x=>((7))+x*(1+2)", "f=x=>x*3+7*1-0"}
	wrong := []string{"", "f=x=>", "f=x=>7", "f=x=>x*3+8", "x*3+7", "f=x=>x*3+07", "f=x=>x*3+7+", "f=x=>x*3+-7", "f=x=>(x*3+7", "f=x=>x*3+7)", "f=x=>x3+7", "f=x=>x*3+7;", "f=x=>x*x*0+x*3+8",
		"f=x=>x*x*2+x+7", "f=x=>" + strings.Repeat("(", 300) + "x*3+7" + strings.Repeat(")", 300)}
	judge, err := verify.New("task:program", nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range slices.Concat(right, wrong) {
		want := verify.Wrong
		if i < len(right) {
			want = verify.Right
		}
		if v := (&coding{}).Verify(row, text, true); v.Verdict != want {
			t.Errorf("%q: %+v, want %s", text, v, want)
		}
		if v := judge.Verify(row, text); v.Verdict != want {
			t.Errorf("%q by the verifier: %+v, want %s", text, v, want)
		}
	}
	if v := judge.Verify(row, "It is linear.\nAnswer: f=x=>x*3+7"); v.Verdict != verify.Right {
		t.Errorf("an announced program: %+v", v)
	}
	for _, bare := range []verify.Problem{{Answer: "f=x=>x"}, {Answer: "f=x=>x", Metadata: metadata(map[string]any{"tests": []programTest{{"g", []float64{0}, 7}}})}} {
		if v := judge.Verify(bare, "f=x=>x"); v.Verdict != verify.NotScored {
			t.Errorf("a row without tests of f: %+v", v)
		}
	}
}

// TestProgramsRun: what the task calls right, wrong or no program of its language is right, wrong or either in JavaScript.
func TestProgramsRun(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: runs programs in their engine")
	}
	judge, err := verify.New("code:javascript", map[string]any{"extract": "none"})
	if err != nil {
		t.Fatal(err)
	}
	task, words := defaultProgram(), []string{"x", "x", "(", ")", "+", "-", "*", "0", "1", "2", "7", "31"}
	const tried = 60
	passed, programs := 0, 0
	for i := range tried {
		r := random.At(31, 0, uint64(i))
		row := task.Draw(r, Train)
		text, err := task.Demonstration(r, row)
		if err != nil {
			t.Fatal(err)
		}
		for range r.Between(0, 2) { // changed here and there
			at := r.Between(len(programBegins), len(text))
			text = text[:at] + words[r.Between(0, len(words)-1)] + text[at:]
		}
		own, js := task.Verify(row, text, true), judge.Verify(row, text)
		if task.Valid(row, text, true) {
			if programs++; own.Verdict != js.Verdict {
				t.Errorf("%s %q is %s, and in JavaScript: %+v", row.Question, text, own.Verdict, js)
			}
		} else if own.Verdict != verify.Wrong {
			t.Errorf("%s %q is no program and %s", row.Question, text, own.Verdict)
		}
		if own.Verdict == verify.Right {
			passed++
		}
	}
	if passed < tried/10 || programs < tried/3 {
		t.Errorf("of %d texts %d are programs, %d of them right: too few to tell", tried, programs, passed)
	}
}

// TestFewPrograms: settings that leave one of the splits without a problem are refused, and drawing ends.
func TestFewPrograms(t *testing.T) {
	for _, task := range []Task{&coding{MaxFactor: 1, MaxTotal: 1}, &coding{MaxFactor: 3, MaxTotal: 2}} {
		if err := task.Validate(); err == nil {
			t.Errorf("%+v is accepted", task)
		}
	}
}

// TestFailedProgram: the verdict of a program that returns something else has the first place where it does, and
// what it returns there; of one that is right, or none, it has no numbers.
func TestFailedProgram(t *testing.T) {
	task, err := New("program")
	if err != nil {
		t.Fatal(err)
	}
	row := verify.Problem{Question: "0>7,1>10:", Metadata: map[string]json.RawMessage{"tests": json.RawMessage(`[{"call":"f","args":[0],"expected":7},{"call":"f","args":[1],"expected":10}]`)}}
	for text, want := range map[string]map[string]float64{"f=x=>x*4+7": {"x": 1, "value": 11}, "f=x=>2-x*4": {"x": 0, "value": 2}, "f=x=>x*3+7": nil, "f=x=>": nil} {
		if got := task.Verify(row, text, true).Values; !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}
