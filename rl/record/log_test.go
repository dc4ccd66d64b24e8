package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/lines"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// written writes values as a log, as the program does.
func written(t *testing.T, name string, values ...any) string {
	t.Helper()
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	for _, v := range values {
		must(t, enc.Encode(v))
	}
	return saved(t, name, text.String())
}

func saved(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	must(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// steps are completions of three steps with two groups of two samples each.
func steps() []any {
	var all []any
	for step := 1; step <= 3; step++ {
		for i := range 4 {
			all = append(all, Completion{Step: step, Stage: "rl", Group: i / 2, Sample: i % 2, Prompt: `a "prompt",`, Verdict: Verdicts[i], Stop: "eos",
				Text: fmt.Sprintf(`,"group":%d,"verdict":"right" <&> \`, i)})
		}
	}
	return all
}

// TestLines: those of a step, or of one of its groups, with their numbers.
func TestLines(t *testing.T) {
	all := steps()
	log, err := Open(written(t, CompletionsFile, all...))
	must(t, err)
	defer log.Close()
	for _, c := range []struct {
		step, group int
		want        []int // lines
	}{{1, AllGroups, []int{1, 2, 3, 4}}, {2, 1, []int{7, 8}}, {3, 0, []int{9, 10}}, {3, 2, nil}, {4, AllGroups, nil}} {
		var got []int
		must(t, Lines(log, c.step, c.group, func(n int, line Completion) error {
			if got = append(got, n); !reflect.DeepEqual(line, all[n-1]) {
				t.Errorf("line %d is %+v", n, line)
			}
			return nil
		}))
		if !slices.Equal(got, c.want) {
			t.Errorf("step %d, group %d: lines %d, want %d", c.step, c.group, got, c.want)
		}
	}
	for _, s := range log.Steps() {
		if s.Stage != "rl" || s.Counts != [4]int{1, 1, 1, 1} {
			t.Errorf("%+v", s)
		}
	}
}

// TestWriter: a line is given on as it is.
func TestWriter(t *testing.T) {
	var got any
	w := NewWriter[HeldOut](func(v any) error {
		got = v
		return fs.ErrClosed
	})
	line := HeldOut{Step: 1, Problems: []Outcome{{Scored: 4, Right: 2, Score: 2}}}
	if err := w.Append(line); err != fs.ErrClosed || !reflect.DeepEqual(got, line) {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestEach: every whole line in order, and what cannot be read is bad input that file and line
// are told of.
func TestEach(t *testing.T) {
	file := saved(t, EvaluationsFile, "{\"step\":1,\"prompt\":\"a\"}\n\n{\"step\":2}\n{\"step\":3")
	var got []int
	must(t, Each(file, func(n int, line Evaluation) error {
		got = append(got, n, line.Step)
		return nil
	}))
	if !slices.Equal(got, []int{1, 1, 3, 2}) {
		t.Errorf("%d", got)
	}
	for text, want := range map[string]string{
		"{}\n{\n":                "evaluations.jsonl: line 2: bad input: not JSON: ",
		"{\"step\":\"\"}":        "",
		"{\"step\":\"\"}\n":      "evaluations.jsonl: line 1: bad input: \"step\": found string; accepted: a line of evaluations.jsonl",
		"{\"stage\":\"\xff\"}\n": "evaluations.jsonl: line 1: bad input: not UTF-8 text",
	} {
		err := Each(saved(t, EvaluationsFile, text), func(int, Evaluation) error { return nil })
		if want == "" && err == nil {
			continue
		}
		if !errors.Is(err, lines.ErrInput) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if err := Each(file+"x", func(int, Evaluation) error { return nil }); !errors.Is(err, lines.ErrInput) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	own := errors.New("own")
	if err := Each(file, func(int, Evaluation) error { return own }); !errors.Is(err, own) || errors.Is(err, lines.ErrInput) {
		t.Errorf("%v", err)
	}
	if _, err := Open(filepath.Dir(file)); !errors.Is(err, lines.ErrInput) {
		t.Errorf("a folder: %v", err)
	}
}

// TestTooLong: a line beyond the bound is refused by what reads its step, and the index has the
// others.
func TestTooLong(t *testing.T) {
	for _, head := range []string{`{"step":2,"stage":"rl","x":"`, "no line of a log "} {
		file := written(t, CompletionsFile, steps()...)
		text, err := os.ReadFile(file)
		must(t, err)
		all := bytes.SplitAfter(text, []byte{'\n'})
		f, err := os.OpenFile(file, os.O_TRUNC|os.O_WRONLY, 0)
		must(t, err)
		_, err = f.Write(append(bytes.Join(all[:6], nil), head...))
		must(t, err)
		at, err := f.Seek(0, 1)
		must(t, err)
		must(t, f.Truncate(at+2*MaxBytes)) // a hole: it takes no room on the disk
		_, err = f.WriteAt(append([]byte{'\n'}, bytes.Join(all[6:], nil)...), at+2*MaxBytes)
		must(t, err)
		must(t, f.Close())

		const want = "line 7 has more than 67108864 bytes; accepted: at most that many"
		err = Each(file, func(int, Completion) error { return nil })
		if !errors.Is(err, lines.ErrInput) || !strings.HasSuffix(err.Error(), CompletionsFile+": "+want) {
			t.Errorf("%v", err)
		}
		log, err := Open(file)
		must(t, err)
		var told []string
		for _, s := range log.Steps() {
			told = append(told, fmt.Sprint(s.Step, s.Counts, s.Skipped))
		}
		if want := []string{"1 [1 1 1 1] []", "2 [1 1 0 0] [7]", "2 [0 0 1 1] []", "3 [1 1 1 1] []"}; !slices.Equal(told, want) {
			t.Errorf("%q, want %q", told, want)
		}
		var got []int
		note := func(n int, _ Completion) error {
			got = append(got, n)
			return nil
		}
		must(t, Lines(log, 1, AllGroups, note))
		must(t, Lines(log, 3, AllGroups, note))
		if !slices.Equal(got, []int{1, 2, 3, 4, 10, 11, 12, 13}) {
			t.Errorf("lines %d", got)
		}
		if err := Lines(log, 2, AllGroups, note); !errors.Is(err, lines.ErrInput) || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%v", err)
		}
		must(t, log.Close())
	}
}

// TestIndexGrows: an index that follows a log has what one of the whole log has, and begins
// again where the log has become shorter.
func TestIndexGrows(t *testing.T) {
	text, err := os.ReadFile(written(t, CompletionsFile, steps()...))
	must(t, err)
	var whole, grown Index
	must(t, whole.Update(bytes.NewReader(text), int64(len(text))))
	for end := 0; end <= len(text); end += 50 {
		must(t, grown.Update(bytes.NewReader(text[:end]), int64(end)))
	}
	must(t, grown.Update(bytes.NewReader(text), int64(len(text))))
	if !reflect.DeepEqual(grown.Steps(), whole.Steps()) || len(whole.Steps()) != 3 {
		t.Errorf("%+v, want %+v", grown.Steps(), whole.Steps())
	}
	short := text[:bytes.IndexByte(text, '\n')+1]
	must(t, grown.Update(bytes.NewReader(short), int64(len(short))))
	if got := grown.Steps(); len(got) != 1 || got[0].Bytes != int64(len(short)) || got[0].Counts != [4]int{1} {
		t.Errorf("%+v", got)
	}
}

// FuzzFields: what is found without parsing is what parsing finds, whatever the texts are.
func FuzzFields(f *testing.F) {
	f.Add("rl", "a \"prompt\"", `,"completion":"`, `\`, 3, 1)
	f.Add("", "", `,"group":7,`, `,"verdict":"right"`, 0, 9)
	f.Add(`",`, `\"`, "\u2028<>&", "\n", -1, -4)
	f.Fuzz(func(t *testing.T, stage, id, prompt, text string, group, verdict int) {
		line := Completion{Step: 7, Stage: stage, PromptID: id, Group: group, Prompt: prompt, Answer: text, Text: text, Reason: prompt,
			Verdict: append(Verdicts, "other")[uint(verdict)%5]}
		var out bytes.Buffer
		enc := json.NewEncoder(&out)
		enc.SetEscapeHTML(false)
		must(t, enc.Encode(line))
		var want Completion
		must(t, json.Unmarshal(out.Bytes(), &want))
		raw := out.Bytes()
		if step, got, ok := Head(raw); !ok || step != want.Step || got != want.Stage {
			t.Errorf("%s: head %d %q %v", raw, step, got, ok)
		}
		if got := VerdictOf(raw); got != slices.Index(Verdicts, want.Verdict) {
			t.Errorf("%s: verdict %d", raw, got)
		}
		if got := groupOf(raw); got != want.Group && want.Group >= 0 {
			t.Errorf("%s: group %d", raw, got)
		}
		p, c := TextsOf(raw)
		for _, x := range []struct {
			raw  []byte
			want string
		}{{p, want.Prompt}, {c, want.Text}} {
			var got string
			if err := json.Unmarshal(slices.Concat([]byte{'"'}, x.raw, []byte{'"'}), &got); err != nil || got != x.want {
				t.Errorf("%s: %q, want %q", raw, got, x.want)
			}
		}
	})
}
