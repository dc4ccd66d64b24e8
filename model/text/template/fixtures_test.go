package template

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/fixtures"
)

// TestFixtures renders published templates with common conversations and compares
// with what transformers' Jinja environment gave, or refused.
func TestFixtures(t *testing.T) {
	dir := fixtures.Dir(t, "chat_templates")
	scenarios, expected := readExpected(t, dir)
	matched, failed := 0, 0
	for i, name := range expected.keys {
		source, err := os.ReadFile(filepath.Join(dir, "templates", name.(string)+".jinja"))
		if err != nil {
			t.Fatal(err)
		}
		cases := expected.vals[i].(*Dict)
		for k, scenario := range cases.keys {
			conversation, _ := scenarios.Get(scenario.(string))
			if sameAsExpected(t, name.(string)+"/"+scenario.(string), string(source), conversation.(*Dict), cases.vals[k].(*Dict)) {
				matched++
			} else {
				failed++
			}
		}
	}
	fixtures.Report(t, "chat_templates", matched, failed, 0)
}

func readExpected(t *testing.T, dir string) (scenarios, expected *Dict) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	v, err := DecodeJSON(data)
	if err != nil {
		t.Fatal(err)
	}
	a, _ := v.(*Dict).Get("scenarios")
	b, _ := v.(*Dict).Get("expected")
	return a.(*Dict), b.(*Dict)
}

func sameAsExpected(t *testing.T, name, source string, conversation, want *Dict) bool {
	t.Helper()
	vars := map[string]any{"bos_token": "<s>", "eos_token": "</s>", "tools": nil, "documents": nil}
	for i, key := range conversation.keys {
		vars[key.(string)] = conversation.vals[i]
	}
	template, err := Parse(source)
	var got Result
	if err == nil {
		got, err = template.Render(vars, Options{})
	}
	text, ok := want.Get("ok")
	message, _ := want.Get("err")
	switch {
	case ok && err != nil:
		t.Errorf("%s: got error %v", name, err)
	case ok && got.Text != text:
		t.Errorf("%s:\n got %q\nwant %q", name, got.Text, text)
	case !ok && err == nil:
		t.Errorf("%s: got %q, want the error %v", name, got.Text, message)
	case !ok && !strings.Contains(err.Error(), sayings(message.(string))):
		t.Errorf("%s: got error %v, want %v", name, err, message)
	default:
		return true
	}
	return false
}

// sayings is what an expected error says after the name of its Python type.
func sayings(message string) string {
	_, text, _ := strings.Cut(message, ": ")
	return text
}
