package prompts

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/table"
)

// TestColumns: what becomes prompt and answer of a row.
func TestColumns(t *testing.T) {
	const gsm8k = `{"question":"How many?","answer":"48/2 = <<48/2=24>>24\n48+24 = 72\n#### 1,072 "}`
	const verl = `{"data_source":"x","prompt":"2+2","reward_model":{"ground_truth":4,"style":"rule"},"question":"other"}`
	const mbpp = `{"text":"Add.","test_list":["assert f(1) == 2","assert f(2) == 3"],"code":"{}","task_id":7,"empty":null}`
	for _, c := range []struct {
		row                  string
		columns              Columns
		question, answer     string
		err, metadata, value string
	}{
		{row: gsm8k, columns: Columns{AnswerPattern: "#### "}, question: "How many?", answer: "1,072"},
		{row: gsm8k, columns: Columns{AnswerPattern: `#### ([0-9,]+)`}, question: "How many?", answer: "1,072"},
		{row: gsm8k, columns: Columns{Prompt: "question", Answer: "answer"}, question: "How many?", answer: "48/2 = <<48/2=24>>24\n48+24 = 72\n#### 1,072 "},
		{row: gsm8k, columns: Columns{AnswerPattern: "boxed"}, err: `answer_pattern "boxed" is not in the column answer`},
		{row: verl, columns: Columns{Prompt: "prompt", Answer: "reward_model.ground_truth"}, question: "2+2", answer: "4", metadata: "data_source", value: `"x"`},
		{row: verl, columns: Columns{Answer: "reward_model.truth"}, err: `answer: there is no column "reward_model.truth"; the row has data_source, prompt, question, reward_model`},
		{row: verl, columns: Columns{Answer: "prompt.x"}, err: `there is no column "prompt.x"`},
		{row: mbpp, columns: Columns{Template: "{text}{empty} {{x}}\n{test_list}\n{task_id}"}, question: "Add. {x}\nassert f(1) == 2\nassert f(2) == 3\n7", metadata: "code", value: `"{}"`},
		{row: mbpp, columns: Columns{Template: "Où? {text} …"}, question: "Où? Add. …", metadata: "code", value: `"{}"`},
		{row: mbpp, columns: Columns{Template: "{test}"}, err: `prompt_template: there is no column "test"`},
		{row: mbpp, columns: Columns{Prompt: "text", Others: map[string]string{"completion": "code"}}, question: "Add.", metadata: "completion", value: `"{}"`},
		{row: gsm8k, columns: Columns{AnswerPattern: "#### ", Others: map[string]string{"completion": "answer"}}, question: "How many?", answer: "1,072", metadata: "completion", value: `"48/2 = <<48/2=24>>24\n48+24 = 72\n#### 1,072 "`},
		{row: mbpp, columns: Columns{Prompt: "text", Answer: "code", Others: map[string]string{"completion": "answer"}}, question: "Add.", answer: "{}", metadata: "completion", value: `"{}"`},
		{row: mbpp, columns: Columns{Prompt: "text", Others: map[string]string{"tests": "none"}}, err: `columns.tests: there is no column "none"`},
		{row: `{"prompt":"p","metadata":"{\"func_name\":\"f\"}"}`, question: "p", metadata: "func_name", value: `"f"`},
		{row: `{"prompt":"p","metadata":"{'difficulty': None, 'tag': 'a'}"}`, question: "p", metadata: "tag", value: `"a"`},
		{row: `{"prompt":"p","metadata":"{of a shop}"}`, question: "p", metadata: "metadata", value: `"{of a shop}"`},
		{row: `{"prompt":"p","metadata":["a"]}`, question: "p", metadata: "metadata", value: `["a"]`},
		{row: `{"prompt":"p","metadata":null,"x":1}`, question: "p", metadata: "x", value: `1`},
		{row: `{"prompt":"p<b>","metadata":{"a":"<"}}`, question: "p<b>", metadata: "a", value: `"<"`},
	} {
		columns, err := c.columns.compile()
		if err != nil {
			t.Fatal(err)
		}
		var row table.Row
		if err := json.Unmarshal([]byte(c.row), &row); err != nil {
			t.Fatal(err)
		}
		line, err := columns.apply(row)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%+v: %v, want %q", c.columns, err, c.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%+v: %v", c.columns, err)
			continue
		}
		problem, err := readRow(line)
		if err != nil || problem.Question != c.question || problem.Answer != c.answer || string(problem.Metadata[c.metadata]) != c.value {
			t.Errorf("%+v: %+v, %v", c.columns, problem, err)
		}
	}
	for _, c := range []struct {
		columns Columns
		want    string
	}{
		{Columns{Prompt: "a", Template: "b"}, "prompt and prompt_template are both given"},
		{Columns{Template: "{"}, "prompt_template: the brace at byte 1 names no column"},
		{Columns{Template: "a{}"}, "prompt_template: the brace at byte 2 names no column"},
		{Columns{Template: "a}"}, "prompt_template: the brace at byte 2 closes nothing"},
		{Columns{AnswerPattern: "("}, "answer_pattern: "},
		{Columns{AnswerPattern: "(a)(b)"}, "answer_pattern has 2 groups; accepted: one"},
	} {
		if _, err := c.columns.compile(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.columns, err, c.want)
		}
	}
}

// TestSplits: a split of its own is held out whole, its questions are in no draw, and of
// several parts each is drawn by its share.
func TestSplits(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a/train.csv":  "question,answer\n1+0,1\n1+1,2\n1+2,3\n",
		"a/test.csv":   "question,answer\n1+1,2\n9+9,18\n",
		"b/rows.jsonl": strings.Join(additions(300), "\n"),
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	a := Part{Data: filepath.Join(dir, "a"), Share: 3, Split: "train", EvalSplit: "test"}
	source, err := Open([]Part{a}, "number", nil)
	if err != nil {
		t.Fatal(err)
	}
	heldOut, err := source.HeldOut(9)
	if train, _ := source.Rows(); err != nil || len(heldOut) != 2 || len(train) != 2 {
		t.Errorf("held out %v, %v; %d rows to train on, want 2 and 2", heldOut, err, len(train))
	}
	if want := "2 problems to train on from " + a.Data + "\n2 problems held out, 1 left out of training because their question is held out"; source.Counts() != want {
		t.Errorf("counts %q, want %q", source.Counts(), want)
	}
	b := Part{Data: filepath.Join(dir, "b"), Share: 1, Split: "train", HeldOut: 0.5}
	both, err := Open([]Part{a, b}, "number", nil)
	if err != nil {
		t.Fatal(err)
	}
	if both.Hash() == source.Hash() || len(both.Hash()) != 64 {
		t.Errorf("hash %s of two, %s of one", both.Hash(), source.Hash())
	}
	const draws = 4000
	fromA := 0
	for i := range draws {
		switch row := both.Draw(random.At(1, 2, uint64(i))); {
		case row.Question == "1+1" || row.Question == "9+9":
			t.Fatalf("%q is held out and drawn", row.Question)
		case strings.HasPrefix(row.Question, "1+"):
			fromA++
		}
	}
	// A binomial variable with p = 3/4: five standard deviations are
	// 5 sqrt(4000 · 3/16) = 137.
	if fromA < 3000-137 || fromA > 3000+137 {
		t.Errorf("%d of %d draws are from the part with three quarters", fromA, draws)
	}
	rows, err := both.HeldOut(1000)
	if n := len(rows); err != nil || n < 2+150-44 || n > 2+150+44 { // 5 sqrt(300/4) = 43.3
		t.Errorf("%d problems are held out, %v", n, err)
	}
}
