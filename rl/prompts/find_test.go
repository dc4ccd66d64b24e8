package prompts

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/verify"
)

// shape is a data set as it is published: rows of our own in its columns.
type shape struct {
	name       string
	rows       []string
	found      []string // with a recipe that says nothing, for rewards
	question   string   // of the first row
	answer     string
	right      string // a completion that its verifier pays
	completion string // that is imitated; "": what the assistant says in the messages
}

// numbered are rows that differ in a number, which stands in their place %d.
func numbered(row string) []string {
	var rows []string
	for i := range 40 {
		rows = append(rows, strings.ReplaceAll(row, "%d", fmt.Sprint(i)))
	}
	return rows
}

// shapes have the columns that the cards of the data sets list.
var shapes = []shape{
	{ // openai/gsm8k
		name:     "GSM8K",
		rows:     numbered(`{"question":"Ann has %d pens and gets 2. How many has she?","answer":"She has %d+2 = <<%d+2=2>>2 more.\n#### 1%d"}`),
		found:    []string{`task.verifier = "gsm8k"`, `task.options.extract = "flexible"`},
		question: "Ann has 0 pens and gets 2. How many has she?", answer: "She has 0+2 = <<0+2=2>>2 more.\n#### 10",
		right: "So it is ten.\n#### 10", completion: "She has 0+2 = <<0+2=2>>2 more.\n#### 10",
	},
	{ // hendrycks/competition_math
		name:     "MATH",
		rows:     numbered(`{"problem":"Halve %d.","level":"Level 1","type":"Algebra","solution":"We divide, so the answer is $\\boxed{\\frac{%d}{2}}$."}`),
		found:    []string{`task.prompt = "problem"`, `task.answer = "solution"`, `task.verifier = "math"`},
		question: "Halve 0.", answer: `We divide, so the answer is $\boxed{\frac{0}{2}}$.`,
		right: `\boxed{0}`, completion: `We divide, so the answer is $\boxed{\frac{0}{2}}$.`,
	},
	{ // HuggingFaceH4/MATH-500
		name:     "MATH-500",
		rows:     append(numbered(`{"problem":"Halve %d.","solution":"We divide. $\\boxed{\\frac{%d}{2}}$","answer":"\\frac{%d}{2}","subject":"Algebra","level":1,"unique_id":"test/a/%d.json"}`), `{"problem":"Name a set.","solution":"$\\boxed{(1,2)}$","answer":"(1,2)","subject":"Algebra","level":1,"unique_id":"x"}`),
		found:    []string{`task.prompt = "problem"`, `task.verifier = "math"`},
		question: "Halve 0.", answer: `\frac{0}{2}`, right: `It is \boxed{0}`, completion: `We divide. $\boxed{\frac{0}{2}}$`,
	},
	{ // BytedTsinghua-SIA/DAPO-Math-17k, which has the columns of verl
		name:     "DAPO",
		rows:     numbered(`{"data_source":"math_dapo","prompt":[{"content":"Solve it.\n\nAdd %d and 1.","role":"user"}],"ability":"MATH","reward_model":{"ground_truth":"3%d","style":"rule-lighteval/MATH_v2"},"extra_info":{"index":"9a%d"}}`),
		found:    []string{`task.answer = "reward_model.ground_truth"`, `task.verifier = "number"`},
		question: "Solve it.\n\nAdd 0 and 1.", answer: "30", right: "Answer: 30", completion: "30",
	},
	{ // open-r1/OpenR1-Math-220k
		name: "OpenR1",
		rows: numbered(`{"problem":"Root of %d?","solution":"It is $\\sqrt{%d}$.","answer":"\\sqrt{%d}","problem_type":"Algebra","question_type":"math-word-problem","source":"olympiads","uuid":"u%d","is_reasoning_complete":[true],"generations":["<think>\nHm.\n</think>\n\n$\\boxed{\\sqrt{%d}}$"],` +
			`"correctness_math_verify":[true],"correctness_llama":null,"finish_reasons":null,"correctness_count":1,"messages":[{"content":"Root of %d?","role":"user"},{"content":"<think>\nHm.\n</think>\n\n$\\boxed{\\sqrt{%d}}$","role":"assistant"}]}`),
		found:    []string{`task.verifier = "math"`},
		question: "Root of 0?", answer: `\sqrt{0}`, right: `\boxed{0}`,
	},
	{ // allenai/IF_multi_constraints_upto5: ground_truth is a Python literal
		name:     "IF-RLVR",
		rows:     numbered(`{"key":"k%d","messages":[{"content":"Say %d. No commas, and name a tree's \"root\".","role":"user"}],"ground_truth":"[{'instruction_id': ['punctuation:no_comma', 'keywords:existence'], 'kwargs': [None, {'keywords': ['tree\\'s', \"root\"]}]}]","dataset":"ifeval","constraint_type":"multi","constraint":"No commas."}`),
		found:    []string{`task.columns.instruction_id_list = "ground_truth.0.instruction_id"`, `task.columns.kwargs = "ground_truth.0.kwargs"`, `task.verifier = "instructions"`},
		question: `Say 0. No commas, and name a tree's "root".`, right: "A tree's root",
	},
	{ // PrimeIntellect/verifiable-math-problems, of SYNTHETIC-1
		name:     "SYNTHETIC-1",
		rows:     numbered(`{"source":"numina_math","task_type":"verifiable_math","in_source_id":"q%d","prompt":"Add %d and 2.","gold_standard_solution":"We add. \\boxed{1%d}","verification_info":"{\"ground_truth\": \"1%d\"}","metadata":"{}","problem_id":"vfm_%d"}`),
		found:    []string{`task.answer = "verification_info.ground_truth"`, `task.verifier = "number"`},
		question: "Add 0 and 2.", answer: "10", right: "10", completion: `We add. \boxed{10}`,
	},
	{ // google-research-datasets/mbpp, full
		name:     "MBPP",
		rows:     numbered(`{"task_id":%d,"text":"Write a function to add %d.","code":"def add(x):\r\n  return x + %d","test_list":["assert add(1) == 1 + %d","assert add(2) == 2 + %d"],"test_setup_code":"","challenge_test_list":[]}`),
		found:    []string{`task.prompt_template = "{text}\n\nYour code should pass these tests:\n{test_list}"`, `task.verifier = "code:python"`},
		question: "Write a function to add 0.\n\nYour code should pass these tests:\nassert add(1) == 1 + 0\nassert add(2) == 2 + 0", completion: "def add(x):\r\n  return x + 0",
	},
	{ // google-research-datasets/mbpp, sanitized
		name:     "MBPP sanitized",
		rows:     numbered(`{"source_file":"a.ipynb","task_id":%d,"prompt":"Write a function to double the number %d.","code":"def twice(x):\n  return 2 * x","test_imports":[],"test_list":["assert twice(1) == 2"]}`),
		found:    []string{`task.prompt_template = "{prompt}\n\nYour code should pass these tests:\n{test_list}"`, `task.verifier = "code:python"`},
		question: "Write a function to double the number 0.\n\nYour code should pass these tests:\nassert twice(1) == 2", completion: "def twice(x):\n  return 2 * x",
	},
	{ // anon8231489123/ShareGPT_Vicuna_unfiltered
		name:     "ShareGPT",
		rows:     numbered(`{"id":"s%d","conversations":[{"from":"human","value":"Say %d."},{"from":"gpt","value":"%d!"},{"from":"human","value":"And again %d?"},{"from":"gpt","value":"%d!!"}]}`),
		question: "And again 0?",
	},
	{ // tatsu-lab/alpaca
		name:     "Alpaca",
		rows:     append([]string{`{"instruction":"Translate.","input":"Haus 7","output":"house 7, as a phrase","text":"Below is an instruction. Translate."}`}, numbered(`{"instruction":"Say the number %d as a word.","input":"","output":"it is %d, I would say","text":"Below is an instruction. Say %d."}`)...),
		question: "Translate.\n\nHaus 7", answer: "house 7, as a phrase", completion: "house 7, as a phrase",
	},
	{ // rajpurkar/squad
		name:     "SQuAD",
		rows:     numbered(`{"id":"i%d","title":"Seas","context":"The sea has number %d.","question":"Which number has the sea, %d?","answers":{"text":["number %d","%d"],"answer_start":[12,19]}}`),
		found:    []string{`task.prompt = "context + question"`, `task.columns.references = "answers.text"`, `task.verifier = "squad_exact"`, `task.options.extract = "announced"`},
		question: "The sea has number 0.\n\nWhich number has the sea, 0?", right: "The number 0", completion: "number 0",
	},
	{ // allenai/ai2_arc
		name:     "ARC",
		rows:     append(numbered(`{"id":"Mercury_%d","question":"Which is %d?","choices":{"text":["one","the %d","two","three"],"label":["A","B","C","D"]},"answerKey":"B"}`), `{"id":"NYSEDREGENTS_1","question":"Which is it?","choices":{"text":["this","that"],"label":["1","2"]},"answerKey":"2"}`),
		found:    []string{`task.prompt = "question + choices"`, `task.answer = "answerKey"`, `task.verifier = "multiple_choice"`},
		question: "Which is 0?\n\nA. one\nB. the 0\nC. two\nD. three", answer: "B", right: "The answer is (B).", completion: "B",
	},
	{ // cais/mmlu
		name:     "MMLU",
		rows:     numbered(`{"question":"Which comes after %d?","subject":"anatomy","choices":["first","next","last","none"],"answer":1}`),
		found:    []string{`task.prompt = "question + choices"`, `task.verifier = "multiple_choice"`},
		question: "Which comes after 0?\n\nA. first\nB. next\nC. last\nD. none", answer: "1", right: "B", completion: "B",
	},
	{ // TIGER-Lab/MMLU-Pro
		name:     "MMLU-Pro",
		rows:     numbered(`{"question_id":%d,"question":"Which is after %d?","options":["a1","b2","c3"],"answer":"C","answer_index":2,"cot_content":"","category":"math","src":"x"}`),
		found:    []string{`task.columns.choices = "options"`, `task.prompt = "question + options"`, `task.verifier = "multiple_choice"`},
		question: "Which is after 0?\n\nA. a1\nB. b2\nC. c3", answer: "C", right: "C", completion: "C",
	},
	{ // knowledge of times, dates and codes: rows of one's own
		name:     "times",
		rows:     numbered(`{"question":"When, %d?","answer":"08:0%d"}`),
		found:    []string{`task.verifier = "exact"`, `task.options.extract = "announced"`},
		question: "When, 0?", answer: "08:00", right: "The answer is 08:00.", completion: "08:00",
	},
	{
		name:     "JSON",
		rows:     numbered(`{"prompt":"As JSON: %d","target":"{\"n\": %d}"}`),
		found:    []string{`task.answer = "target"`, `task.verifier = "json_equal"`},
		question: "As JSON: 0", answer: `{"n": 0}`, right: `{"n":0.0}`, completion: `{"n": 0}`,
	},
	{
		name:     "quantities",
		rows:     numbered(`{"query":"How far, %d?","final_answer":"%d km"}`),
		found:    []string{`task.prompt = "query"`, `task.answer = "final_answer"`, `task.verifier = "math"`},
		question: "How far, 0?", answer: "0 km", right: "0 km", completion: "0 km",
	},
}

// TestFindShapes: each data set is read as it is published, for rewards and for imitation, and
// its verifier pays a right completion.
func TestFindShapes(t *testing.T) {
	for _, s := range shapes {
		t.Run(s.name, func(t *testing.T) {
			parts := whole(writtenFile(t, s.rows...))
			parts[0].HeldOut = 0.25
			r, err := Find(parts, Wanted{Judged: true})
			if s.found == nil {
				if !errors.Is(err, ErrNoVerifier) {
					t.Errorf("found %q, %v; want to be asked for a verifier", r.Found, err)
				}
			} else if err != nil || !slices.Equal(r.Found, s.found) {
				t.Fatalf("found %q, %v; want %q", r.Found, err, s.found)
			}
			source, err := Open(r.Parts, r.Verifier, r.Options)
			if err != nil {
				t.Fatal(err)
			}
			train, heldOut := source.Rows()
			if n := len(train) + len(heldOut); n != len(s.rows) {
				t.Errorf("%d of %d rows", n, len(s.rows))
			}
			row := ofLine(t, source, 1)
			if row.Question != s.question || row.Answer != s.answer {
				t.Errorf("question %q and answer %q, want %q and %q", row.Question, row.Answer, s.question, s.answer)
			}
			if v := source.Verify(row, s.right, true); s.right != "" && v.Verdict != verify.Right {
				t.Errorf("%q is %+v", s.right, v)
			}
			imitated, err := Find(parts, Wanted{Imitated: true})
			if err != nil {
				t.Fatal(err)
			}
			if source, err = Open(imitated.Parts, "", nil); err != nil {
				t.Fatal(err)
			}
			var completion string
			row = ofLine(t, source, 1)
			if raw, there := row.Metadata[completionKey]; there {
				if err := json.Unmarshal(raw, &completion); err != nil {
					t.Fatal(err)
				}
			} else if !strings.Contains(string(row.Metadata[messagesKey]), `"assistant"`) && s.right == "" {
				t.Errorf("nothing to imitate: %s", row.Metadata[messagesKey])
			}
			if completion != s.completion {
				t.Errorf("completion %q, want %q", completion, s.completion)
			}
			again, err := Find(r.Parts, Wanted{Judged: true, Verifier: r.Verifier, Options: r.Options})
			if s.found != nil && (err != nil || again.Found != nil) {
				t.Errorf("what was found is found again: %q, %v", again.Found, err)
			}
		})
	}
}

// ofLine is the problem of a line.
func ofLine(t *testing.T, s Source, line int) verify.Problem {
	t.Helper()
	train, heldOut := s.Rows()
	for _, row := range append(train, heldOut...) {
		if row.Line == line {
			return row
		}
	}
	t.Fatalf("no row of line %d", line)
	return verify.Problem{}
}

// TestFindLeavesAlone: what a recipe says is not looked for, nor what has the names that are
// read without a search, so that runs of before stay as they were.
func TestFindLeavesAlone(t *testing.T) {
	for _, c := range []struct {
		row     string
		columns Columns
		wanted  Wanted
	}{
		{`{"question":"1+%d?","answer":"2","context":"x","solution":"y"}`, Columns{}, Wanted{Judged: true, Verifier: "number"}},
		{`{"prompt":"1+%d?","answer":"2","problem":"x","ground_truth":3}`, Columns{}, Wanted{Judged: true, Verifier: "number"}},
		{`{"prompt":[{"role":"user","content":"1+%d?"}],"answer":"2","label":3}`, Columns{}, Wanted{Judged: true, Verifier: "number"}},
		{`{"problem":"1+%d?","body":"b","solution":"2"}`, Columns{Prompt: "body", Answer: "solution"}, Wanted{Judged: true, Verifier: "number"}},
		{`{"problem":"1+%d?","solution":"2"}`, Columns{Template: "{problem}", Answer: "solution"}, Wanted{Judged: true, Verifier: "number"}},
		{`{"question":"%d: is it A. one or B. two?","choices":["one","two"],"answer":"A"}`, Columns{}, Wanted{Judged: true, Verifier: "multiple_choice"}},
		{`{"prompt":"Write f(x), %d.","test_list":["assert f(1) == 2"]}`, Columns{}, Wanted{Judged: true, Verifier: "code:python"}},
		{`{"prompt":"%d","completion":"c","label":true}`, Columns{}, Wanted{}},
		{`{"prompt":"%d","completion":"c"}`, Columns{}, Wanted{Imitated: true}},
		{`{"messages":[{"role":"user","content":"%d"},{"role":"assistant","content":"a"}],"answer":"x"}`, Columns{}, Wanted{Imitated: true}},
		{`{"question":"%d","answer":"so #### 4"}`, Columns{}, Wanted{Judged: true, Verifier: "math"}},
	} {
		parts := whole(writtenFile(t, numbered(c.row)...))
		parts[0].Columns = c.columns
		if r, err := Find(parts, c.wanted); err != nil || r.Found != nil {
			t.Errorf("%s: found %q, %v", c.row, r.Found, err)
		}
	}
	r, err := Find(whole(writtenFile(t, numbered(`{"question":"%d","answer":"so\n#### 4"}`)...)), Wanted{Judged: true, Verifier: "number"})
	if err != nil || !slices.Equal(r.Found, []string{`task.answer_pattern = "#### "`}) {
		t.Errorf("a solution for a verifier of numbers: found %q, %v", r.Found, err)
	}
}

// TestFindAsks: where nothing fits the answers a verifier is asked for, with flags that name one.
func TestFindAsks(t *testing.T) {
	for row, want := range map[string][]string{
		`{"question":"%d?","answer":"He paid $5 for it because he had to."}`:  {"none fits answers such as", "--set task.verifier=exact", "--set task.verifier=f1"},
		`{"question":"%d?","answer":"A sentence, and one more number 4."}`:    {"none fits answers such as", "--set task.verifier=exact"},
		`{"question":"Which, %d?","sentiment":"good","row_id":"a","n":[1,2]}`: {"no answer was found to choose one by; the columns are n, question, row_id, sentiment", "--set task.answer=sentiment"},
	} {
		_, err := Find(whole(writtenFile(t, numbered(row)...)), Wanted{Judged: true})
		text := fmt.Sprint(err, " ", strings.Join(hint.All(err), " "))
		for _, part := range want {
			if !errors.Is(err, ErrNoVerifier) || !strings.Contains(text, part) {
				t.Errorf("%s: %s, want %q", row, text, part)
			}
		}
	}
}

func TestLiteral(t *testing.T) {
	for text, want := range map[string]string{
		`[{'a': [None, True, False], "b": ('x', 1, -2.5, 1e3)}]`: `[{"a":[null,true,false],"b":["x",1,-2.5,1e3]}]`,
		`{'it\'s': "say \"hi\"", 'u': 'é\n\t\\ \x41\u00e9\q',}`:  `{"it's":"say \"hi\"","u":"é\n\t\\ Aé\\q"}`,
		`(.5, 5., +5, [])`: `[0.5,5,5,[]]`,
		`[1,]`:             `[1]`,
		`{}`:               `{}`,
		`[1, 2`:            "", `[1 2]`: "", `{1: 2}`: "", `{'a' 1}`: "", `[nan]`: "", `['a]`: "", `[1] x`: "", `['a\`: "", `['\x4']`: "", `[__import__('os')]`: "", `[1,,2]`: "",
		strings.Repeat("[", maxLiteralDepth+2) + strings.Repeat("]", maxLiteralDepth+2): "",
	} {
		got, err := fromLiteral(text)
		if (err == nil) != (want != "") || err == nil && string(got) != want {
			t.Errorf("%.60s: %s, %v; want %s", text, got, err, want)
		}
	}
}

// FuzzLiteral: whatever the text, the result is JSON or an error, and JSON is no longer than
// its escapes make it.
func FuzzLiteral(f *testing.F) {
	for _, seed := range []string{`[{'a': [None, True], "b": ('x', 1.5)}]`, `{'é': '\x41\u00e9\U0001F600\q'}`, `[[[[`, `(.5,)`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		raw, err := fromLiteral(text)
		if err == nil && !json.Valid(raw) {
			t.Errorf("%q became %q", text, raw)
		}
		if len(raw) > 6*len(text)+64 {
			t.Errorf("%d bytes became %d", len(text), len(raw))
		}
	})
}

// TestFindWorked: a verifier that refuses the rows' own solutions is not proposed.
func TestFindWorked(t *testing.T) {
	rows := make([]string, 20)
	for _, c := range []struct{ row, verifier string }{
		{`{"question":"1+%[1]d?","solution":"1+%[1]d=%[2]d","answer":"%[2]d"}`, "math"},
		{`{"question":"1+%[1]d?","response":"It is %[2]d.","answer":"%[2]d"}`, "math"},
		{`{"question":"1+%[1]d?","solution":"%[2]d","answer":"%[2]d"}`, "number"},
		{`{"question":"1+%[1]d?","code":"print(1+%[1]d)","answer":"%[2]d"}`, "number"},
	} {
		for i := range rows {
			rows[i] = fmt.Sprintf(c.row, i, i+1)
		}
		r, err := Find(whole(writtenFile(t, rows...)), Wanted{Judged: true})
		if err != nil || r.Verifier != c.verifier {
			t.Errorf("%s: %q, %v; want %s", c.row, r.Verifier, err, c.verifier)
		}
	}
}
