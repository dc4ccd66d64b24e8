package tasks

import (
	"fmt"
	"testing"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/verify"
)

// tableRow asks about a table of three rows, and has another one.
func tableRow(what string) verify.Problem {
	return verify.Problem{ID: "a table", Question: "a 3 7 2 b 4 1 9 " + what, Metadata: metadata(map[string]any{
		"schema": "CREATE TABLE t(a INT, b INT)", "rows": []map[string]contents{{"t": {{3, 4}, {7, 1}, {2, 9}}}, {"t": {{5, 1}, {6, 8}}}}})}
}

// TestTables: queries are judged by what they give in every table, and words by the numbers that they name.
func TestTables(t *testing.T) {
	for _, c := range []struct {
		asked        string
		right, wrong []string
	}{
		{"max a b>3:", []string{"SELECT(max(a))FROM(t)WHERE(b>3)"},
			[]string{"", "3", "SELECT(max(a))FROM(t)WHERE(b<3)", "SELECT(max(b))FROM(t)WHERE(b>3)", "SELECT(min(a))FROM(t)WHERE(a>2)", "SELECT(max(a))FROM(t)WHERE(b>99)", "SELECT 3", "SELECT(max(a))FROM(t)WHERE(b>3);", "SELECT(max(a))FROM(t)WHERE(b>9999999)"}},
		{"max a b>3:", []string{"SELECT(max(a))FROM(t)WHERE(b>2)", "SELECT(max(a))FROM(t)WHERE(b>03)"}, nil},
		{"sum a b>8:", []string{"SELECT(sum(a))FROM(t)WHERE(b>8)"}, []string{"SELECT(sum(a))FROM(t)WHERE(a<3)x", "SELECT(sum(a))FROM(t)WHERE(b>7)"}},
		{"say a b>3:", []string{"2-3", "3 2", "from 2 to 3", "3, 2, 3"}, []string{"", "2", "2-4", "2 3 7", "a 3 7 2 b 4 1 9 say a b>3:", "SELECT(max(a))FROM(t)WHERE(b>3)", "2-99999999999999999999",
			"2 3 and more of this, which goes on for longer than sixty-four bytes"}},
		{"say b a<3:", []string{"9", "9-9"}, []string{"9-1"}},
	} {
		judge, err := verify.New("task:table", nil)
		if err != nil {
			t.Fatal(err)
		}
		row := tableRow(c.asked)
		for want, all := range map[string][]string{verify.Right: c.right, verify.Wrong: c.wrong} {
			for _, text := range all {
				if v := defaultTable().Verify(row, text, true); v.Verdict != want {
					t.Errorf("%s %q: %+v, want %s", c.asked, text, v, want)
				}
				if v := judge.Verify(row, text); v.Verdict != want {
					t.Errorf("%s %q by the verifier: %+v, want %s", c.asked, text, v, want)
				}
			}
		}
		for _, text := range c.right {
			if v := judge.Verify(row, "I looked.\nAnswer: "+text); v.Verdict != verify.Right {
				t.Errorf("%s, announced %q: %+v", c.asked, text, v)
			}
		}
		for _, bare := range []verify.Problem{{Question: c.asked}, {Question: "a 3", Metadata: row.Metadata}, tableRow("say a b>9:")} {
			if v := judge.Verify(bare, "9"); v.Verdict != verify.NotScored {
				t.Errorf("a row without tables, a question or values: %+v", v)
			}
		}
	}
}

// TestTablesQueried: the verifier sql, which runs them, says of queries what the task says.
func TestTablesQueried(t *testing.T) {
	judge, err := verify.New("sql", map[string]any{"extract": "none"})
	if err != nil {
		t.Fatal(err)
	}
	task, right := &tabled{Rows: 3, Most: 6, Careless: 0.5}, 0
	const tried = 60
	for i := range tried {
		r := random.At(5, 0, uint64(i))
		row := task.Draw(r, Train)
		text := fmt.Sprintf("SELECT(%s(%s))FROM(t)WHERE(%s%s%d)", pick(r, []string{"max", "min", "sum"}), pick(r, []string{"a", "b"}), pick(r, []string{"a", "b"}), pick(r, []string{"<", ">"}), r.Between(0, 7))
		if r.Chance(0.5) {
			text = row.Answer
		}
		want, got := task.Verify(row, text, true), judge.Verify(row, text)
		if want.Verdict != got.Verdict {
			t.Errorf("%s %s: %+v, the verifier sql: %+v", row.Question, text, want, got)
		}
		if want.Verdict == verify.Right {
			right++
		}
	}
	if right == 0 || right == tried {
		t.Errorf("%d of %d are right: nothing is compared", right, tried)
	}
}
