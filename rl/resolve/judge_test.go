package resolve

import (
	"fmt"
	"strings"
	"testing"
)

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
		`,"level":1,"rubric":[{"asks":"is short"}]`: `line 7: entry 1 of rubric is {"asks":"is short"}; accepted: a text that is not empty`,
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
