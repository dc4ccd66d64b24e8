package resolve

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/hint"
)

// TestJudgePlaces: what is wrong with the options of a judge is told with the place of the judge in the recipe; in the
// file of a prompt, with the place there too.
func TestJudgePlaces(t *testing.T) {
	rubric := filepath.Join(t.TempDir(), "rubric.txt")
	if err := os.WriteFile(rubric, []byte("Is this right?\n{question}: {completoin}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	rubric = filepath.ToSlash(rubric)
	const stage = "r.toml:19:1: stage.rl.verifier.good.options: verifier \"judge\": "
	text := strings.Replace(withData, "[[stage]]\nkind = \"rl\"\n", "[models.reader]\npath = \"reader\"\n[[stage]]\nkind = \"rl\"\nreward = \"good\"\n", 1) +
		"[[stage.verifier]]\nname = \"good\"\nverifier = \"judge\"\noptions = {model = \"reader\", %s}\n"
	task := strings.Replace(withData, "verifier = \"number\"\noptions = {extract = \"last_line\"}", "verifier = \"judge\"\noptions = {model = \"reader\", %s}", 1) + "[models.reader]\npath = \"reader\"\n"
	for _, c := range []struct{ text, options, want, hint string }{
		{text, `source = "{completion}"`, stage + "option read is missing", "read = {yes = 1, no = 0}"},
		{text, `source = "{completion}", read = {yes = 1, "yes, but" = 0}`, stage + `option read: the answer "yes, but" begins with the answer "yes"`, ""},
		{text, `source = "{completion} {", read = {yes = 1, no = 0}`, stage + "option prompt: bad input: source:1:14: found { without }; accepted: {question}, {answer}, {completion}, {row.NAME}", ""},
		{text, `prompt = "` + rubric + `", read = {yes = 1, no = 0}`, stage + "option prompt: bad input: rubric.txt:2:13: found {completoin}; accepted: {question}, {answer}, {completion}", "did you mean {completion}?"},
		{task, `source = "{completion}", read = {yes = 1}`, `r.toml:6:1: task.options: verifier "judge": option read has one answer, "yes"; accepted: two or more`, ""},
	} {
		_, err := load(writeData(t, fmt.Sprintf(c.text, c.options), sums()))
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(strings.Join(hint.All(err), " "), c.hint) {
			t.Errorf("%s: %v (%q)\nwant %s (%s)", c.options, err, hint.All(err), c.want, c.hint)
		}
	}
}

// TestJudgedRows: rows that lack what the prompt of a judge names, or the list whose entries it is asked
// about, are refused with file and line before anything is drawn.
func TestJudgedRows(t *testing.T) {
	text := strings.Replace(withData, "[[stage]]\nkind = \"rl\"\n", "[models.reader]\npath = \"reader\"\n[[stage]]\nkind = \"rl\"\nreward = \"good\"\n", 1) +
		"[[stage.verifier]]\nname = \"good\"\nverifier = \"judge\"\noptions = {model = \"reader\", shows = \"items\", items = \"rubric\", source = \"{row.level} {completion} {item}\", read = {yes = 1, no = 0}}\n"
	row := func(i int, more string) string {
		return fmt.Sprintf("{\"prompt\":\"%d+1=\",\"answer\":\"%d\"%s}\n", i, i+1, more)
	}
	for more, want := range map[string]string{
		`,"level":1,"rubric":["is short"]`:                    "",
		`,"level":1,"rubric":[{"ask":"is short","points":2}]`: "",
		`,"level":1`:                                "line 7: the row has no rubric, whose entries are judged",
		`,"level":1,"rubric":"is short"`:            `line 7: rubric of the row is "is short"; accepted: a list of 1 to 64 texts`,
		`,"level":1,"rubric":[{"asks":"is short"}]`: `line 7: entry 1 of rubric: unknown member "asks"`,
		`,"rubric":["is short"]`:                    "line 7: the prompt reads {row.level}, and beside question and answer the row has",
	} {
		var rows strings.Builder
		for i := range 100 {
			if i == 6 || i == 8 {
				rows.WriteString(row(i, more))
			} else {
				rows.WriteString(row(i, `,"level":1,"rubric":["is short"]`))
			}
		}
		_, err := load(writeData(t, text, rows.String()))
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", more, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), "r.toml:") || !strings.Contains(err.Error(), "stage.rl.verifier.good.options") && !strings.Contains(err.Error(), "verifier good cannot be asked about ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", more, err, want)
		}
	}
}

// TestJudgedMadeRows: of made rows the tables that make them say whether a judge can be asked about them.
func TestJudgedMadeRows(t *testing.T) {
	const made = `base = "chain-sum-tiny"
models.reader = {copy = "policy"}
[[stage]]
name = "warm-up"
[[stage]]
name = "rows"
kind = "make"
make = [{rows = "asked", row = {question = "{question}", answer = "{answer}", level = "{tokens}", rubric = [{ask = "is {answer}", points = 2}]}}]
[[stage]]
name = "rl"
reward = "good"
source = [{rows = "asked"}]
verifier = [{name = "good", verifier = "judge", options = {model = "reader", shows = "items", items = "rubric", source = "{row.level} {completion}{item}", read = {1 = 1, 0 = 0}}}]
`
	for _, c := range []struct{ old, new, want string }{
		{"", "", ""},
		{`[{ask = "is {answer}", points = 2}]`, `"{row.terms}"`, ""},
		{`[{ask = "is {answer}", points = 2}]`, `"is {answer}"`, `verifier good cannot be asked about the made rows asked: rubric of the row is "?"; accepted: a list of 1 to 64 texts`},
		{`points = 2}]`, `points = "{row.points}"}]`, ""},
		{`points = 2}]`, `points = "{group_size}"}]`, ""},
		{`points = 2}]`, `points = "{completion}"}]`, `entry 1 of rubric is {"ask":"?","points":"?"}`},
		{`ask = "is {answer}"`, `ask = "{row.hint}"`, ""},
		{`[{ask = "is {answer}", points = 2}]`, `"{row.hint} and {answer}"`, `rubric of the row is "?"; accepted: a list of 1 to 64 texts`},
		{`points = 2}]`, `point = 2}]`, `did you mean points?`},
		{`points = 2}]`, `points = 0}]`, `entry 1 of rubric is {"ask":"?","points":0}`},
		{`rubric = [`, `rubrics = [`, "verifier good cannot be asked about the made rows asked: the row has no rubric"},
		{`level =`, `levels =`, "the prompt reads {row.level}, and beside question and answer the row has levels, rubric"},
		{`{rows = "asked"}]`, `{rows = "asked", share = 0.5}]`, "verifier good cannot be asked about 48 rows"},
	} {
		path := filepath.Join(t.TempDir(), "r.toml")
		if err := os.WriteFile(path, []byte(strings.Replace(made, c.old, c.new, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := load(path)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error()+strings.Join(hint.All(err), "; "), c.want) || !strings.Contains(err.Error(), "stage.rl.verifier.good.options")) {
			t.Errorf("%s: %v, want %q", c.new, err, c.want)
		}
	}
}

// TestListedMadeRows: a second chance by entries of made rows is refused before the run where the rows have no such list.
func TestListedMadeRows(t *testing.T) {
	for column, fits := range map[string]bool{`["is {answer}"]`: true, `"{row.terms}"`: true, `"is {answer}"`: false} {
		text := `base = "chain-sum-tiny"
[[stage]]
name = "warm-up"
[[stage]]
name = "rows"
kind = "make"
make = [{rows = "asked", row = {question = "{question}", answer = "{answer}", hints = ` + column + `}}]
[[stage]]
name = "rl"
source = [{rows = "asked"}]
second_chance = {when = "true", show = "{hints} {question}", entries = "0.5"}
`
		path := filepath.Join(t.TempDir(), "r.toml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := load(path)
		const want = `second_chance.show = "{hints} {question}" names no list of the made rows asked, and entries needs one; accepted: the name of a list in braces`
		if fits && err != nil || !fits && (err == nil || !strings.Contains(err.Error(), "r.toml:") || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", column, err)
		}
	}
}
