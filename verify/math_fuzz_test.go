package verify

import (
	"encoding/json"
	"testing"
)

// TestMathAttacks: no attack earns anything in strict extraction, and in lenient
// extraction only those in which 24, or a product that is 24, stands alone or is the
// last number: why the options offer the strict one for rewards.
func TestMathAttacks(t *testing.T) {
	lenient := map[string]bool{"prompt echo": true, "nested tags": true, "nested boxes": true, "short nesting": true}
	for _, how := range []string{ExtractStrict, ExtractLenient} {
		v, err := New("math", map[string]any{"extract": how})
		if err != nil {
			t.Fatal(err)
		}
		for name, completion := range attacks() {
			got := v.Verify(Row{Answer: "24"}, completion)
			checkVerdict(t, got)
			if got.Verdict != Wrong && !(how == ExtractLenient && lenient[name]) {
				t.Errorf("%s: the attack %q earned %+v", how, name, got)
			}
		}
	}
}

// FuzzMath: no completion panics, runs away or escapes being scored.
func FuzzMath(f *testing.F) {
	for _, c := range mathEqual {
		f.Add(c.gold, c.pred)
	}
	for _, completion := range attacks() {
		if len(completion) < 1000 {
			f.Add("24", completion)
		}
	}
	var verifiers []Verifier
	for _, how := range []string{ExtractLenient, ExtractStrict, ExtractNone} {
		v, err := New("math", map[string]any{"extract": how, "percent": true, "strict": false, "allow_set_relation_comp": true})
		if err != nil {
			f.Fatal(err)
		}
		verifiers = append(verifiers, v)
	}
	f.Fuzz(func(t *testing.T, gold, completion string) {
		for _, v := range verifiers {
			checkVerdict(t, v.Verify(Row{Answer: gold}, completion))
			if got := v.Verify(Row{Answer: "24"}, completion); got.Verdict == NotScored {
				t.Errorf("the completion %q escaped being scored: %s", completion, got.Reason)
			}
		}
	})
}

// FuzzAnswers: the same for the verifiers that read JSON, lists, letters and
// plain text.
func FuzzAnswers(f *testing.F) {
	rows := map[string]Row{
		"gsm8k": {Answer: "18"}, "multiple_choice": {Answer: "B"}, "exact": {Answer: "a cat"}, "f1": {Answer: "a cat"}, "bleu": {Answer: "the cat sat"},
		"chrf": {Answer: "cat"}, "rouge_l": {Answer: "the cat"}, "edit_similarity": {Answer: "cat"}, "regex": {Answer: "a+b?"},
		"json_schema": {Answer: `{"type":"object","properties":{"a":{"type":"array","uniqueItems":true,"items":{"multipleOf":0.5}}}}`},
		"iou":         {Answer: "[[0,0,2,2],[3,3,4,4]]"}, "ordering": {Answer: `["a","b","c"]`}, "tool_call": {Answer: `{"name":"f","arguments":{"x":1}}`},
	}
	verifiers := map[string]Verifier{}
	for name := range rows {
		v, err := New(name, nil)
		if err != nil {
			f.Fatal(err)
		}
		verifiers[name] = v
	}
	for _, text := range []string{"#### 18", "(B) Paris", "The cat sat.", `{"a":[1,0.5]}`, "[[0,0,2,1]]", "1. a\n2. b\n3. c", "b > a > c",
		`<tool_call>{"name":"f","arguments":{"x":1.0}}</tool_call>`, "```json\n[1]\n```", `{"name":"f","arguments":"{\"x\":1}"}`, "İΣ ß", "-\n1,000.5"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, completion string) {
		for name, v := range verifiers {
			got := v.Verify(rows[name], completion)
			checkVerdict(t, got)
			if got.Verdict == NotScored {
				t.Errorf("%s: the completion %q escaped being scored: %s", name, completion, got.Reason)
			}
		}
		if value, err := decodeJSON(completion); err == nil {
			raw, err := json.Marshal(value)
			if again, err2 := decodeJSON(string(raw)); err != nil || err2 == nil && !equalJSON(value, again) {
				t.Errorf("%q is read back as %s, %v", completion, raw, err)
			}
		}
	})
}
