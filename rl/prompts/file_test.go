package prompts

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/verify"
	_ "github.com/rlzero/rlzero/verify/instruct" // register themselves
	_ "github.com/rlzero/rlzero/verify/program"
)

// writtenFile is a file of problems with these lines.
func writtenFile(t *testing.T, lines ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "rows.jsonl")
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// whole is a data set of which a sixteenth is held out.
func whole(name string) []Part {
	return []Part{{Data: name, Share: 1, Split: "train", HeldOut: 1.0 / 16}}
}

// additions are n good lines.
func additions(n int) []string {
	var lines []string
	for i := range n {
		lines = append(lines, fmt.Sprintf(`{"question":"%d + 1?","answer":"%d"}`, i, i+1))
	}
	return lines
}

// TestOpenFileRefuses: a line that cannot be trained on is named, with what is wrong.
func TestOpenFileRefuses(t *testing.T) {
	for line, want := range map[string]string{
		`{"question":"1 + 1?"}`:                                     "the verifier number cannot judge this line: the row's answer",
		`{"question":"1 + 1?","answer":null}`:                       "cannot judge this line",
		`{"question":"1 + 1?","answer":""}`:                         "cannot judge this line",
		`{"question":"1 + 1?","answer":"two"}`:                      `"two"`,
		`{"prompt":[{"role":"user"}],"answer":2}`:                   `"messages": message 1: there is no "content"`,
		`{"messages":[{"role":"system","content":"x"}],"answer":2}`: `"messages" has no text of the user`,
		`{"question":["1 + 1?"],"answer":2}`:                        `"question" is a list; accepted: a string`,
		`{"messages":[],"prompt":[],"answer":2}`:                    `the line has "messages", and a "prompt" that is a list of messages too`,
		`{"prompt":7,"answer":"7"}`:                                 `"prompt" is a number; accepted: a string`,
		`{"question":{"text":"1 + 1?"},"answer":"2"}`:               `"question" is an object; accepted: a string`,
		`{"question":true,"answer":"2"}`:                            `"question" is true or false; accepted: a string`,
		`{"question":null,"answer":"2"}`:                            `the line has no "question" (or "prompt", or "messages"); it has answer, question (empty)`,
		`{"answer":"2"}`:                                            `the line has no "question" (or "prompt", or "messages"); it has answer`,
		`{"question":"?","prompt":["a"],"answer":"2"}`:              `"messages": message 1: found no object`,
		`{"question":"1 + 1?","answer":"2","verifier":"math"}`:      "a task has one verifier",
	} {
		lines := append(additions(60), "", line)
		file := writtenFile(t, lines...)
		_, err := Open(whole(file), "number", nil)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), file+": line 62: ") {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
	if _, err := Open(whole(writtenFile(t, additions(60)...)), "number", nil); err != nil {
		t.Error(err)
	}
	if _, err := Open(whole(writtenFile(t, additions(1)...)), "number", nil); err == nil || !strings.Contains(err.Error(), "at least one of each is needed") {
		t.Errorf("a single problem: %v", err)
	}
}

// TestMissingAndEmpty: whatever the verifier, a column that is not there is told from one that
// is empty: file, line, and what the line has.
func TestMissingAndEmpty(t *testing.T) {
	refused := 0
	for _, e := range verify.Entries() {
		v, err := verify.New(e.Name, nil)
		if err != nil || verify.Check(v, verify.Problem{Question: "?", Metadata: map[string]json.RawMessage{"note": nil}}) == nil {
			continue // it needs no column, or cannot be made without options
		}
		refused++
		for line, want := range map[string]string{
			`{"question":"?","note":1}`: "; the line has note, question",
			`{"question":"?","answer":"","numbers":[],"tests":null,"schema":" "}`: "; the line has answer (empty), numbers (empty), question, schema (empty), tests (empty)",
		} {
			file := writtenFile(t, line)
			_, err := Open(whole(file), e.Name, nil)
			if err == nil || !strings.HasPrefix(err.Error(), file+": line 1: the verifier "+e.Name+" cannot judge this line: ") || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("%s: %v, want %q", e.Name, err, want)
			}
		}
	}
	if refused < 10 {
		t.Errorf("%d verifiers need a column", refused)
	}
}

// TestSplitByQuestion: one question stands on one side, whatever its ids.
func TestSplitByQuestion(t *testing.T) {
	var lines []string
	for i := range 200 {
		lines = append(lines, fmt.Sprintf(`{"id":"%d","question":"%d + 1?","answer":"%d"}`, i, i%50, i%50+1))
	}
	source, err := Open(whole(writtenFile(t, lines...)), "number", nil)
	if err != nil {
		t.Fatal(err)
	}
	file := source.(*file)
	for _, row := range file.heldOut {
		if slices.ContainsFunc(file.parts[0].rows, func(o verify.Problem) bool { return o.Question == row.Question }) {
			t.Errorf("%q is in both splits", row.Question)
		}
	}
	if n := len(file.parts[0].rows) + len(file.heldOut); n != 200 {
		t.Errorf("%d of 200 rows are left", n)
	}
}
