package tools

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

// TestFiles: files are read and changed in memory, each episode has its own, and the answer is judged with what
// is left of them.
func TestFiles(t *testing.T) {
	e, _ := Lookup("files")
	tool, _, err := e.Options().Make(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := tool.Test(t.Context()); err != nil {
		t.Fatal(err)
	}
	row := verify.Problem{Metadata: map[string]json.RawMessage{"files": json.RawMessage(`{"b.txt":"one two two","a/c":"x"}`), "other": json.RawMessage(`1`)}}
	var judged verify.Problem
	w := world.Tooled{Tools: []world.Tool{tool}, Judge: func(row verify.Problem, answer string, _ bool) verify.Verdict {
		judged = row
		return verify.Accept(answer, "", "")
	}}
	begin := func() world.Episode {
		e, _, err := w.Begin(t.Context(), row, nil)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	episode := begin()
	for _, x := range []struct{ call, want string }{
		{`{"do":"list"}`, "a/c: 1 bytes\nb.txt: 11 bytes"},
		{`{"do":"read","name":"b.txt"}`, "one two two"},
		{`{"do":"replace","name":"b.txt","text":"one","with":"1"}`, "b.txt has 9 bytes"},
		{`{"do":"read","name":"b.txt"}`, "1 two two"},
		{`{"do":"replace","name":"b.txt","text":"two","with":"2"}`, `!the text occurs several times in b.txt`},
		{`{"do":"replace","name":"b.txt","text":"","with":"2"}`, `!text is empty; accepted: a text that occurs exactly once in b.txt`},
		{`{"do":"write","name":"d/new","text":"y"}`, "d/new has 1 bytes"},
		{`{"do":"delete","name":"a/c"}`, "a/c is deleted"},
		{`{"do":"read","name":"a/c"}`, `!there is no file "a/c"`},
		{`{"do":"write","name":"../x","text":"y"}`, `!"../x" is no name of a file`},
		{`{"do":"write","name":"/etc/x","text":"y"}`, `!is no name of a file`},
		{`{"do":"write","name":"big","text":"` + strings.Repeat("y", maxCallText) + `"}`, "big has 60000 bytes"},
		{`{"do":"move","name":"b.txt"}`, `!do`},
		{`{"name":"b.txt"}`, `!do is missing; accepted: list, read`},
		{`{"do":"list","all":true}`, `!all`},
	} {
		reply, err := episode.Step(t.Context(), world.Turn{Text: "<files>" + x.call + "</files>"})
		if err != nil || len(reply.Messages) != 1 {
			t.Fatalf("%s: %+v, %v", x.call, reply, err)
		}
		want, failed := strings.CutPrefix(x.want, "!")
		got := reply.Messages[0].Text
		if failed != (reply.Facts[world.FactFailed] == 1) || !failed && got != want || failed && !strings.Contains(got, want) {
			t.Errorf("%.80s: %q, want %q", x.call, got, x.want)
		}
	}
	if _, err := episode.Step(t.Context(), world.Turn{Text: "done"}); err != nil {
		t.Fatal(err)
	}
	var left map[string]string
	if there, err := judged.Field("files", &left); !there || err != nil {
		t.Fatal(err)
	}
	if want := map[string]string{"b.txt": "1 two two", "d/new": "y", "big": strings.Repeat("y", maxCallText)}; !reflect.DeepEqual(left, want) || string(judged.Metadata["other"]) != "1" {
		t.Errorf("judged with %.200v", judged.Metadata)
	}
	if reply, err := begin().Step(t.Context(), world.Turn{Text: `<files>{"do":"read","name":"b.txt"}</files>`}); err != nil || reply.Messages[0].Text != "one two two" {
		t.Errorf("another episode: %+v, %v", reply, err)
	}
	for raw, want := range map[string]string{`{"../x":"y"}`: `has a file "../x"`, `["a"]`: `"files" of the row`, `{"a":"` + strings.Repeat("y", maxFileBytes) + `"}`: "there would be 1 files"} {
		if _, err := tool.Open(t.Context(), verify.Problem{Metadata: map[string]json.RawMessage{"files": json.RawMessage(raw)}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v, want %s", raw, err, want)
		}
	}
}

// TestReplaceOverlaps: a text that occurs twice is refused, though its places overlap.
func TestReplaceOverlaps(t *testing.T) {
	f := &folder{files: map[string]string{"a": "aaa"}}
	for text, want := range map[string]string{"aa": "occurs several times", "b": "is not in a"} {
		if _, err := f.do(json.RawMessage(`{"do":"replace","name":"a","text":"` + text + `","with":"c"}`)); err == nil || !strings.Contains(err.Error(), want) || f.files["a"] != "aaa" {
			t.Errorf("%s: %v, and the file is %q", text, err, f.files["a"])
		}
	}
	if _, err := f.do(json.RawMessage(`{"do":"replace","name":"a","text":"aaa","with":"c"}`)); err != nil || f.files["a"] != "c" {
		t.Errorf("%v, and the file is %q", err, f.files["a"])
	}
}

// maxCallText is a text that fits a call.
const maxCallText = 60000

// TestFilesBound: files cannot grow beyond their bound, and what would be too much changes nothing.
func TestFilesBound(t *testing.T) {
	f := &folder{files: map[string]string{}}
	for range 2 * maxFileBytes / maxCallText {
		f.do(json.RawMessage(`{"do":"write","name":"f` + strings.Repeat("x", len(f.files)) + `","text":"` + strings.Repeat("y", maxCallText) + `"}`))
	}
	if n := len(f.files); n != maxFileBytes/maxCallText || f.fits() != nil {
		t.Errorf("%d files, %v", n, f.fits())
	}
}
