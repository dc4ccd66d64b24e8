package prompts

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/model/text"
)

// TestMadeSolutions: a row whose solution the tokenizer cannot read is left out, where a second chance takes it;
// elsewhere no one reads it as tokens.
func TestMadeSolutions(t *testing.T) {
	tok, err := text.NewWords([]string{"<pad>", "<eos>", "+", "=", "1", "2", "3"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewRenderer(tok, []int{1}, Style{Form: Text})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		said      string
		solutions []string
		want      string
	}{
		{"1+2=3", []string{"guided"}, ""},
		{"1+22", []string{"guided"}, `column guided: the tokenizer has no token for "22"`},
		{"1+22", nil, ""},
	} {
		said, err := json.Marshal(c.said)
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.MadeRow("made/1", map[string]json.RawMessage{"question": json.RawMessage(`"1+2="`), "guided": said}, Limits{Prompt: 8, Solutions: c.solutions})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s as a solution of %v: %v, want %q", c.said, c.solutions, err, c.want)
		}
	}
}
