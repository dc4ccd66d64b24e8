package prompts

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/verify"
)

// TestChoices: the forms in which data sets have preferences.
func TestChoices(t *testing.T) {
	const ask, say = "<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\n", "<|im_end|>"
	for _, x := range []struct{ name, template, row, prompt, chosen, rejected string }{
		{"text", "", `{"prompt":"U","chosen":"A","rejected":"B"}`, ask, "A" + say, "B" + say},
		{"text without a template", "none", `{"prompt":"U","chosen":" A","rejected":" B"}`, "U", " A<|endoftext|>", " B<|endoftext|>"},
		{"text, implicit prompt", "none", `{"chosen":"The sky is blue.","rejected":"The sky is green."}`, "The sky is", " blue.<|endoftext|>", " green.<|endoftext|>"},
		{"messages", "", `{"prompt":[{"role":"user","content":"U"}],"chosen":[{"role":"assistant","content":"A"}],"rejected":[{"role":"assistant","content":"B"}]}`, ask, "A" + say, "B" + say},
		{"messages after text", "", `{"prompt":"U","chosen":[{"role":"assistant","content":"A"}],"rejected":[{"role":"assistant","content":"B"}]}`, ask, "A" + say, "B" + say},
		{"messages, implicit prompt", "", `{"chosen":[{"role":"user","content":"U"},{"role":"assistant","content":"A"}],"rejected":[{"role":"user","content":"U"},{"role":"assistant","content":"B"}]}`, ask, "A" + say, "B" + say},
		{"messages that hold the prompt too, as ultrafeedback_binarized", "", `{"prompt":"U","messages":[{"role":"user","content":"U"},{"role":"assistant","content":"A"}],"chosen":[{"content":"U","role":"user"},{"role":"assistant","content":"A"}],"rejected":[{"role":"user","content":"U"},{"role":"assistant","content":"B"}]}`, ask, "A" + say, "B" + say},
		{"an earlier turn is read alone", "", `{"prompt":[{"role":"user","content":"T"},{"role":"assistant","content":"S"},{"role":"user","content":"U"}],"chosen":[{"role":"assistant","content":"A"}],"rejected":[{"role":"assistant","content":"B"}]}`,
			"<|im_start|>user\nT<|im_end|>\n<|im_start|>assistant\nS<|im_end|>\n" + ask, "A" + say, "B" + say},
		{"a transcript", "", `{"chosen":"\n\nHuman: T\n\nAssistant: S\n\nHuman: U\n\nAssistant: All of A","rejected":"\n\nHuman: T\n\nAssistant: S\n\nHuman: U\n\nAssistant: All of B"}`,
			"<|im_start|>user\nT<|im_end|>\n<|im_start|>assistant\nS<|im_end|>\n" + ask, "All of A" + say, "All of B" + say},
		{"a transcript in two columns", "", `{"prompt":"\n\nHuman: U\n\nAssistant:","chosen":" A","rejected":" B"}`, ask, "A" + say, "B" + say},
		{"a transcript without a template", "none", `{"chosen":"\n\nHuman: U\n\nAssistant: A","rejected":"\n\nHuman: U\n\nAssistant: B"}`, "\n\nHuman: U\n\nAssistant:", " A<|endoftext|>", " B<|endoftext|>"},
		{"a text that names a human", "", `{"prompt":"U","chosen":"A\n\nHuman: T","rejected":"B"}`, ask, "A\n\nHuman: T" + say, "B" + say},
		{"generation blocks mark the turns", `{% for m in messages %}{% if m.role == 'assistant' %}A:{% generation %}{{ m.content }}!{% endgeneration %}{% else %}Q:{{ m.content }}{% endif %}{% endfor %}{% if add_generation_prompt %}A:{% endif %}`,
			`{"prompt":[{"role":"user","content":"T"},{"role":"assistant","content":"S"},{"role":"user","content":"U"}],"chosen":[{"role":"assistant","content":"A"}],"rejected":[{"role":"assistant","content":"B"}]}`, "Q:TA:S!Q:UA:", "A!", "B!"},
	} {
		r := rendererOf(t, x.template, Style{Form: Auto})
		choices, err := r.Choices(rowOf(t, x.row))
		if err != nil || len(choices) != 2 {
			t.Errorf("%s: %+v %v", x.name, choices, err)
			continue
		}
		for i, want := range []string{x.chosen, x.rejected} {
			c := choices[i]
			from := c.Learned[0]
			if got := r.Decode(c.IDs[from.From:from.To]); len(c.Learned) != 1 || got != want || r.Decode(c.IDs[:from.From]) != x.prompt || c.Reward != float64(1-i) {
				t.Errorf("%s: read %q, learned %q, reward %v; want %q, %q", x.name, r.Decode(c.IDs[:from.From]), got, c.Reward, x.prompt, want)
			}
		}
	}
	for label, want := range map[string]float64{"true": 1, "false": 0, "1": 1, "0": 0, `"True"`: 1, "1.0": 1} {
		r := rendererOf(t, "", Style{Form: Auto})
		choices, err := r.Choices(rowOf(t, `{"prompt":"U","completion":"A","label":`+label+`}`))
		if err != nil || len(choices) != 1 || choices[0].Reward != want {
			t.Errorf("label %s: %+v %v", label, choices, err)
		}
	}
}

// TestTranscript: turns of one role are one; what does not end with the assistant is none.
func TestTranscript(t *testing.T) {
	for text, want := range map[string][]turn{
		"\n\nHuman: a\n\nHuman: b\n\nAssistant: c": {{"user", "a\n\nb"}, {"assistant", "c"}},
		"\n\nHuman: a\nb\n\nc \n\nAssistant:":      {{"user", "a\nb\n\nc"}, {"assistant", ""}},
		"\n\nHuman: a\n\nAssistant: b\n\nHuman: c": nil, "\n\nAssistant: a": nil, "Human: a\n\nAssistant: b": nil, "": nil,
	} {
		if got := transcript(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestSharedText: an implicit prompt ends where its completions part, on a character, with
// no space after it.
func TestSharedText(t *testing.T) {
	for _, x := range []struct{ a, b, want string }{
		{"The sky is blue", "The sky is green", "The sky is"}, {"ab", "abc", "a"}, {"same", "same", "sam"}, {"x", "y", ""}, {"", "y", ""}, {"aé!", "aè!", "a"}, {"é", "éa", ""},
	} {
		if got := x.a[:sharedText(x.a, x.b)]; got != x.want {
			t.Errorf("%q, %q: %q, want %q", x.a, x.b, got, x.want)
		}
	}
}

// TestCheckChoices: rows without a preference are told before a run, with their lines and
// their number.
func TestCheckChoices(t *testing.T) {
	const good = `{"prompt":"U","chosen":"A","rejected":"B"}`
	file := writtenFile(t, good, `{"prompt":"U","chosen":"A"}`, good, `{"prompt":"U","rejected":"A"}`, `{"prompt":"U","chosen":"A","rejected":"A"}`,
		`{"prompt":"U","chosen":"A","rejected":"`+strings.Repeat("long ", 20)+`"}`, `{"prompt":"U","completion":"A","label":"good"}`, `{"prompt":"U","completion":"A"}`)
	var rows []verify.Problem
	err := ReadRows(Part{Data: file}, func(row verify.Problem) error { rows = append(rows, row); return nil })
	if err != nil {
		t.Fatal(err)
	}
	r := rendererOf(t, "", Style{Form: Auto})
	_, err = r.Check("f.jsonl", rows, Limits{Choice: 60})
	for _, want := range []string{
		file + `: 3 of 8 rows (lines 2, 4, 8): nothing is preferred: the row has no "rejected"; beside the prompt it has chosen`,
		file + ": line 5: chosen and rejected are the same",
		file + ": line 6: the row has ",
		file + `: line 7: prompt "U": "label" is "good"; accepted: true, false, 1, 0, right, wrong`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
	if hints := fmt.Sprint(hint.All(err)); !strings.Contains(hints, "name the columns in the recipe") || !strings.Contains(hints, "raise max_tokens of the stage") {
		t.Errorf("hints %s", hints)
	}
}
