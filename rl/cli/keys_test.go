package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/recipe"
)

// TestRecipeKeys: the reference has every key, for people with its table and its
// defaults by kind of stage, and for programs.
func TestRecipeKeys(t *testing.T) {
	var text, lines, errs bytes.Buffer
	if code := Main([]string{"rlzero", "recipes", "keys"}, nil, &text, &errs); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	for _, want := range []string{"At the top\n  name ", "\n\n[stage.optimizer] of stages of kind sft, preference and rl\n", "Default 1e-06 (preference), 1e-06 (rl), 0.003 (sft).\n",
		"One of constant, linear, cosine, cosine_restarts, polynomial, inverse_sqrt, wsd. Default \"linear\" (preference), \"constant\" (rl). For kind preference and rl.\n", "A whole number, at least 1 (tokens). Default 8192.\n"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in\n%s", want, text.String())
		}
	}
	if code := Main([]string{"rlzero", "recipes", "keys", "--json"}, nil, &lines, &errs); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	keys := recipe.Keys()
	for line := range strings.Lines(lines.String()) {
		var k recipe.Key
		if err := json.Unmarshal([]byte(line), &k); err != nil {
			t.Fatal(err)
		}
		if len(keys) == 0 || k.Table != keys[0].Table || k.Key != keys[0].Key || k.About != keys[0].About {
			t.Fatalf("line %s", line)
		}
		if !strings.Contains(text.String(), "\n  "+k.Key+" ") {
			t.Errorf("%s is not in the text", k.Key)
		}
		keys = keys[1:]
	}
	if len(keys) != 0 {
		t.Errorf("%d keys are missing", len(keys))
	}
}
