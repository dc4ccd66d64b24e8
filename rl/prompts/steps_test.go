package prompts

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/fixtures"
	"github.com/rlzero/rlzero/model/text"
)

// TestSteps: the label of a step stands at the token that ends its line feed, that of the last one at
// the end token; the text is the steps, joined by line feeds, whether they end with one or not. A
// tokenizer may write letters in another form, but not line feeds.
func TestSteps(t *testing.T) {
	for row, text := range map[string]string{
		`{"prompt":"U","steps":["1+1=2","so é"],"labels":[true,false]}`:       "1+1=2|\nso é|",
		`{"prompt":"U","steps":["1+1=2\n","so é\n\n"],"labels":[1,0.25]}`:     "1+1=2|\nso é|",
		`{"prompt":"U","steps":["only one"],"labels":[1]}`:                    "only one|",
		`{"prompt":"U","steps":["a\nb","c","d"],"labels":[0,1,0.5],"x":null}`: "a\nb|\nc|\nd|",
	} {
		for _, template := range []string{"", "none"} {
			stepsOf(t, rendererOf(t, template, Style{Form: Auto}), row, text)
		}
	}
	const decomposed = `{"prompt":"U","steps":["e\u0301 and e\u0301","then\n\na","so"],"labels":[1,0,1]}`
	stepsOf(t, normalizing(t, `{"type":"NFC"}`), decomposed, "é and é|\nthen\n\na|\nso|")
	r := normalizing(t, `{"type":"Replace","pattern":{"String":"\n"},"content":" "}`)
	if _, err := r.Choices(rowOf(t, decomposed)); err == nil || !strings.Contains(err.Error(), "the tokens of the text have other line feeds than it") {
		t.Errorf("without line feeds: %v", err)
	}
	for row, want := range map[string]string{
		`{"prompt":"U","steps":"a","labels":[1]}`:             `"steps" is "a"; accepted: a list of texts`,
		`{"prompt":"U","steps":[],"labels":[]}`:               `"steps" is []; accepted: a list of texts`,
		`{"prompt":"U","steps":["a",3],"labels":[1,0]}`:       `"steps" is ["a",3]; accepted: a list of texts`,
		`{"prompt":"U","steps":["a","b"]}`:                    `"labels" is not there; accepted: a list with a label for each of "steps"`,
		`{"prompt":"U","steps":["a","b"],"labels":true}`:      `"labels" is true; accepted: a list`,
		`{"prompt":"U","steps":["a","b"],"labels":[1]}`:       "the row has 2 steps and 1 labels; accepted: a label for each step",
		`{"prompt":"U","steps":["a","b"],"labels":[1,2]}`:     "label 2 is 2; accepted: true, false, or a number from 0 to 1",
		`{"prompt":"U","steps":["a","b"],"labels":[1,"yes"]}`: "label 2 is yes; accepted: true, false",
		`{"prompt":"U","steps":["a"," \n"],"labels":[1,0]}`:   "step 2 is empty; accepted: texts",
		`{"prompt":"U"}`: `and no "steps" with "labels"`,
	} {
		if _, err := rendererOf(t, "none", Style{Form: Auto}).Choices(rowOf(t, row)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", row, err, want)
		}
	}
}

// stepsOf holds the labels of a row's steps against its text, in which a bar stands before each place of a
// label.
func stepsOf(t *testing.T, r *Renderer, row, text string) {
	t.Helper()
	choices, err := r.Choices(rowOf(t, row))
	if err != nil || len(choices) != 1 {
		t.Errorf("%s: %+v %v", row, choices, err)
		return
	}
	c, span := choices[0], choices[0].Learned[0]
	var before strings.Builder
	var labels []float64
	pieces := r.Pieces(c.IDs[span.From:span.To])
	for i, piece := range pieces {
		before.WriteString(piece)
		if math.IsNaN(c.Labels[i]) {
			continue
		}
		labels = append(labels, c.Labels[i])
		so, want := before.String(), strings.Join(strings.Split(text, "|")[:len(labels)], "")
		if last := len(labels) == strings.Count(text, "|"); last && (so != want || i != len(pieces)-1) || !last && so != want+"\n" {
			t.Errorf("%s: label %d stands after %q", row, len(labels), so)
		}
	}
	if len(labels) != strings.Count(text, "|") {
		t.Errorf("%s: labels %v", row, labels)
	}
	want := 1.0
	for _, x := range labels {
		if x <= 0.5 {
			want = 0
		}
	}
	if c.Reward != want {
		t.Errorf("%s: reward %v", row, c.Reward)
	}
}

// normalizing is a renderer whose tokenizer changes texts before it reads them.
func normalizing(t *testing.T, normalizer string) *Renderer {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(fixtures.Selection(t, "chat"), "tokenizer.json"))
	var file map[string]json.RawMessage
	if err == nil {
		err = json.Unmarshal(data, &file)
	}
	if err == nil {
		file["normalizer"] = json.RawMessage(normalizer)
		data, err = json.Marshal(file)
	}
	dir := t.TempDir()
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "tokenizer.json"), data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	tok, err := text.ReadFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewRenderer(tok, []int{endText}, Style{Form: Auto})
	if err != nil {
		t.Fatal(err)
	}
	return r
}
