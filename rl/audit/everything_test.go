package audit

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/fixtures"
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/tasks"
	"github.com/rlzero/rlzero/verify"
	_ "github.com/rlzero/rlzero/verify/instruct"
	_ "github.com/rlzero/rlzero/verify/program"
)

// rowsEach is how many rows of each family and verifier are attacked; with -short fewer.
func rowsEach() int {
	if testing.Short() {
		return 2
	}
	return 10
}

// unpaid fails the test for every hopeless attack that is paid, and for a
// reference that no form of an answer makes right.
func unpaid(t *testing.T, g grader, rows []verify.Problem) {
	t.Helper()
	tried := 0
	for _, r := range attacks([]grader{g}, rows) {
		e := r.Earned[0]
		if r.Hopeless {
			tried += r.Tries
		}
		if r.Hopeless && e.Paid > 0 {
			t.Errorf("%s pays the attack %q, %d of %d tries:\n%.300q\nanswer %.200q\ncompletion %.300q\n%+v",
				g.Name, r.Name, e.Paid, r.Tries, e.Example.Prompt, e.Example.Answer, e.Example.Completion, e.Example.Verdict)
		}
		if r.Hopeless && e.NotScored > 0 {
			t.Errorf("%s does not score %d tries of the attack %q", g.Name, e.NotScored, r.Name)
		}
		if r.Name == "reference" && e.Paid+e.ByChance < r.Tries {
			t.Errorf("%s pays %d of %d references", g.Name, e.Paid+e.ByChance, r.Tries)
		}
	}
	if tried == 0 && kindOf(g.likened) != shapes {
		t.Errorf("%s: nothing was tried", g.Name)
	}
}

// TestEveryFamily: no attack on the rows of any family is paid, neither by the
// task itself nor by its verifier on bare answers.
func TestEveryFamily(t *testing.T) {
	for _, f := range tasks.Families() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			task := f.New()
			if err := task.Validate(); err != nil {
				t.Fatal(err)
			}
			var rows []verify.Problem
			for i := range rowsEach() {
				rows = append(rows, task.Draw(random.At(31, 0, uint64(i)), tasks.Train))
			}
			name := "task:" + f.Name
			unpaid(t, ofFunc(name, name, task.Verify), rows)
			options := map[string]any{"extract": verify.ExtractNone}
			if _, played := task.(tasks.Episodic); played { // no answer is looked for
				options = nil
			}
			bare, err := newGrader(name, options)
			if err != nil {
				t.Fatal(err)
			}
			unpaid(t, bare, rows[:min(3, len(rows))])
		})
	}
}

// codeRows have a test of each kind; two languages can be asked the same.
var codeRows = []string{
	`{"question":"Square the number.","tests":[{"stdin":"3\n","stdout":"9\n"},{"stdin":"4\n","stdout":"16\n"}]}`,
	`{"question":"Write f, which doubles.","tests":[{"call":"f","args":[3],"expected":6},{"call":"f","args":["a"],"expected":"aa"}]}`,
	`{"question":"Write f, which adds one.","tests":[{"assert":"assert(f(3) == 4)"},{"assert":"assert(f(0) == 1)"}]}`,
}

// sampleRows are rows of the verifiers with references, by name; options stand
// after it as verify.Parse reads them.
var sampleRows = map[string][]string{
	"bleu":                     {`{"question":"Translate: le chat","answer":"the cat sat on the mat today"}`, `{"question":"Translate: le chien","answer":"a dog runs through the garden"}`},
	"chrf":                     {`{"question":"Translate: le chat","answer":"the cat sat"}`, `{"question":"Translate: le chien","answer":"a dog runs"}`},
	"code:javascript":          codeRows,
	"code:python":              codeRows,
	"code:wasm":                {`{"question":"Add.","tests":[{"call":"add","args":[2,3],"expected":5}]}`, `{"question":"Echo.","tests":[{"stdin":"a\n","stdout":"a\n"}]}`},
	"countdown":                {`{"question":"Reach 24 with 3, 8, 2, 5.","answer":"3*8","metadata":{"numbers":[3,8,2,5],"target":24}}`, `{"question":"Reach 30 with 5, 6, 2, 7.","answer":"5*6","metadata":{"numbers":[5,6,2,7],"target":30}}`},
	"edit_similarity":          {`{"question":"Copy: alpha","answer":"alpha beta"}`, `{"question":"Copy: gamma","answer":"gamma delta"}`},
	"exact":                    {`{"question":"The capital of France?","answer":"Paris"}`, `{"question":"The capital of Italy?","answer":"Rome"}`, `{"question":"What is 7 + 3?","answer":"10"}`},
	"exact extract=announced":  {`{"question":"The capital of France?","answer":"Paris"}`, `{"question":"The capital of Italy?","answer":"Rome"}`},
	"squad_exact":              {`{"question":"The capital of France?","answer":"Paris"}`, `{"question":"The capital of Italy?","answer":"Rome"}`},
	"json_equal":               {`{"question":"The city?","answer":"{\"city\":\"Oslo\"}"}`, `{"question":"The pair?","answer":"[1,2]"}`},
	"f1":                       {`{"question":"Who wrote it?","answer":"Jane Austen"}`, `{"question":"Who read it?","answer":"Walter Scott"}`},
	"format":                   {`{"question":"Think, then answer."}`},
	"gsm8k":                    {`{"question":"Tom has 3 and gets 4. How many?","answer":"3 + 4 = 7\n#### 7"}`, `{"question":"9 of 12 leave. How many stay?","answer":"#### 3"}`},
	"gsm8k extract=flexible":   {`{"question":"Tom has 13 and gets 14 pears.","answer":"13 + 14 = 27\n#### 27"}`, `{"question":"19 of 52 leave.","answer":"#### 33"}`},
	"instructions":             {`{"question":"Write without commas.","instruction_id_list":["punctuation:no_comma"],"kwargs":[{}]}`},
	"iou":                      {`{"question":"Where is the cat?","answer":"[10,10,50,50]"}`, `{"question":"Where is the dog?","answer":"[60,60,90,90]"}`},
	"json_schema":              {`{"question":"An object with the name.","schema":{"type":"object","required":["name"]}}`},
	"math":                     {`{"question":"What is 3 + 1?","answer":"4"}`, `{"question":"Solve $x^2=2$ for $x>0$.","answer":"\\sqrt{2}"}`, `{"question":"Which x solve x^2=4?","answer":"{-2, 2}"}`, `{"question":"The interval?","answer":"(1,5]"}`},
	"math extract=strict":      {`{"question":"What is 3 + 1?","answer":"4"}`, `{"question":"Solve $x^2=2$ for $x>0$.","answer":"\\sqrt{2}"}`},
	"math extract=none":        {`{"question":"What is 3 + 1?","answer":"4"}`, `{"question":"One half?","answer":"\\frac{1}{2}"}`},
	"multiple_choice":          {`{"question":"Which?\nA) 1\nB) 2\nC) 3","answer":"B"}`, `{"question":"Which?\nA) 4\nB) 5","answer":"A","choices":["four","five"]}`},
	"number":                   {`{"question":"What is 3 + 1?","answer":"4"}`, `{"question":"Half of 15?","answer":"7.5"}`, `{"question":"1 - 3?","answer":"-2"}`},
	"number extract=last_line": {`{"question":"What is 13 + 11?","answer":"24"}`, `{"question":"Half of 15?","answer":"7.5"}`},
	"ordering":                 {`{"question":"Sort: c, a, b","answer":"a, b, c"}`, `{"question":"Sort: z, x, y","answer":"x, y, z"}`},
	"regex":                    {`{"question":"A word of three letters.","pattern":"[a-z]{3}"}`},
	"retrieval": {
		`{"question":"We spoke of the Colosseum. Which land has its city as the capital?","documents":["Paris is the capital of France","Rome is the capital of Italy","Oslo is the capital of Norway"],"gold":"Rome is the capital of Italy"}`,
		`{"question":"And which river runs through it?","documents":["the Danube runs through Vienna","the Seine runs through Paris","the Tiber runs through Rome"],"gold":["the Seine runs through Paris"]}`,
	},
	"rouge_1": {`{"question":"Sum up the first text.","answer":"cats sleep most of the day"}`, `{"question":"Sum up the second text.","answer":"dogs bark at the postman"}`},
	"rouge_2": {`{"question":"Sum up the first text.","answer":"cats sleep most of the day"}`, `{"question":"Sum up the second text.","answer":"dogs bark at the postman"}`},
	"rouge_l": {`{"question":"Sum up the first text.","answer":"cats sleep most of the day"}`, `{"question":"Sum up the second text.","answer":"dogs bark at the postman"}`},
	"sql": {
		`{"question":"How many?","schema":"CREATE TABLE item (name, stock)","rows":{"item":[["pen",3],["ink",5]]},"answer":"SELECT count(*) FROM item"}`,
		`{"question":"Which are out?","schema":"CREATE TABLE item (name, stock)","rows":{"item":[["pen",3],["ink",0]]},"answer":"SELECT name FROM item WHERE stock = 0"}`,
	},
	"tool_call": {`{"question":"The weather in Rome?","answer":"{\"name\":\"weather\",\"arguments\":{\"city\":\"Rome\"}}"}`, `{"question":"The time in Oslo?","answer":"{\"name\":\"time\",\"arguments\":{\"city\":\"Oslo\"}}"}`},
}

// userScript is the verifier that is nothing without a script of the user's, who decides what it
// pays and what it needs.
const userScript = "starlark"

// TestEveryVerifier: no attack is paid by any verifier that is no task's; each
// has rows here or in the fixtures.
func TestEveryVerifier(t *testing.T) {
	attacked := map[string]bool{}
	for spec, lines := range sampleRows {
		name, options, err := verify.Parse(spec)
		if err != nil {
			t.Fatal(err)
		}
		g, err := newGrader(name, options)
		if err != nil {
			t.Fatal(err)
		}
		rows := make([]verify.Problem, len(lines))
		for i, line := range lines {
			if err := json.Unmarshal([]byte(line), &rows[i]); err != nil {
				t.Fatal(err)
			}
		}
		unpaid(t, g, rows)
		attacked[name] = true
	}
	for _, e := range verify.Entries() {
		suite, _, _ := strings.Cut(e.Name, ":")
		inFixtures := suite == "ifeval" || suite == "ifrlvr" || suite == "ifbench"
		if !attacked[e.Name] && !inFixtures && suite != "task" && !slices.Contains(elsewhere, e.Name) {
			t.Errorf("%s has no rows in sampleRows", e.Name)
		}
	}
}

// elsewhere are verifiers that are not attacked here: the user's own, what asks a model (max_fooled tries
// the attacks on it), and what errs on purpose.
var elsewhere = []string{userScript, "judge", "erring"}

// TestEveryInstruction: the same for the instructions, on rows of the fixtures.
func TestEveryInstruction(t *testing.T) {
	dir, rows := fixtures.Dir(t, "instructions"), map[string][]verify.Problem{}
	for _, suite := range []string{"ifeval", "ifrlvr", "ifbench"} {
		f, err := os.Open(filepath.Join(dir, suite+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		in := bufio.NewScanner(f)
		in.Buffer(nil, 16<<20)
		for in.Scan() {
			var line struct{ Instruction string }
			var row verify.Problem
			if err := json.Unmarshal(in.Bytes(), &line); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(in.Bytes(), &row); err != nil {
				t.Fatal(err)
			}
			name := suite + ":" + line.Instruction
			if row.Metadata["error"] == nil && len(rows[name]) < rowsEach() {
				rows[name] = append(rows[name], row)
			}
		}
		if err := in.Err(); err != nil {
			t.Fatal(err)
		}
	}
	for name, rows := range rows {
		for _, mode := range []string{"strict", "loose"} {
			g, err := newGrader(name, map[string]any{"mode": mode})
			if err != nil {
				t.Logf("%s: %v", name, err)
				continue
			}
			unpaid(t, g, rows)
		}
	}
}

// TestSecond: what Second names can be made, differs, and comes back where it is
// the other of two.
func TestSecond(t *testing.T) {
	for _, e := range verify.Entries() {
		name, with, ok := second(e.Name, nil)
		if !ok {
			continue
		}
		g, err := newGrader(name, with)
		if err != nil {
			t.Errorf("%s: %v", e.Name, err)
		}
		if g.Name == e.Name {
			t.Errorf("the second grader of %s is itself", e.Name)
		}
		if again, back, _ := second(name, with); name == e.Name {
			if b, err := newGrader(again, back); err != nil || b.Name == g.Name {
				t.Errorf("the second grader of %s is itself: %v", g.Name, err)
			}
		}
	}
}

// TestCheck: every verifier says of a row without an answer that it cannot judge it, and
// of its own rows that it can. Only format needs nothing; an instruction may do without
// arguments, and a text that is empty may be the right one of a task.
func TestCheck(t *testing.T) {
	for spec, lines := range sampleRows {
		name, options, err := verify.Parse(spec)
		if err != nil {
			t.Fatal(err)
		}
		v, err := verify.New(name, options)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines {
			var row verify.Problem
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				t.Fatal(err)
			}
			if err := verify.Check(v, row); err != nil {
				t.Errorf("%s cannot judge %s: %v", spec, line, err)
			}
		}
	}
	emptyAnswers := map[string]bool{}
	for _, f := range tasks.Families() {
		v, err := verify.New("task:"+f.Name, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range rowsEach() {
			row := f.New().Draw(random.At(32, 0, uint64(i)), tasks.Train)
			if err := verify.Check(v, row); err != nil {
				t.Errorf("%s cannot judge %q: %v", f.Name, row.Question, err)
			}
			emptyAnswers["task:"+f.Name] = emptyAnswers["task:"+f.Name] || v.Verify(verify.Problem{Question: "?"}, "").Verdict == verify.Right
		}
	}
	for _, e := range verify.Entries() {
		suite, _, _ := strings.Cut(e.Name, ":")
		if e.Name == userScript || e.Name == "judge" || suite == "format" || suite == "ifeval" || suite == "ifrlvr" || suite == "ifbench" || emptyAnswers[e.Name] {
			continue
		}
		v, err := e.New(json.RawMessage("{}"))
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{`{"question":"?"}`, `{"question":"?","answer":""}`, `{"question":"?","answer":null}`, `{"question":"?","answer":null,"metadata":null}`} {
			var row verify.Problem
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				t.Fatal(err)
			}
			if verify.Check(v, row) == nil {
				t.Errorf("%s can judge %s", e.Name, line)
			}
		}
	}
}
