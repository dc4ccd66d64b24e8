package prompts

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
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
	right      string   // a completion that its verifier pays
	hints      []string // where no verifier is found; of one with --set task.verifier that one judges the rows
	completion string   // that is imitated; "": what the assistant says in the messages
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
	{ // https://huggingface.co/datasets/openai/gsm8k
		name:     "GSM8K",
		rows:     numbered(`{"question":"Ann has %d pens and gets 2. How many has she?","answer":"She has %d+2 = <<%d+2=2>>2 more.\n#### 1%d"}`),
		found:    []string{`task.verifier = "gsm8k"`, `task.options.extract = "flexible"`},
		question: "Ann has 0 pens and gets 2. How many has she?", answer: "She has 0+2 = <<0+2=2>>2 more.\n#### 10",
		right: "So it is ten.\n#### 10", completion: "She has 0+2 = <<0+2=2>>2 more.\n#### 10",
	},
	{ // https://huggingface.co/datasets/hendrycks/competition_math
		name:     "MATH",
		rows:     numbered(`{"problem":"Halve %d.","level":"Level 1","type":"Algebra","solution":"We divide, so the answer is $\\boxed{\\frac{%d}{2}}$."}`),
		found:    []string{`task.prompt = "problem"`, `task.answer = "solution"`, `task.verifier = "math"`},
		question: "Halve 0.", answer: `We divide, so the answer is $\boxed{\frac{0}{2}}$.`,
		right: `\boxed{0}`, completion: `We divide, so the answer is $\boxed{\frac{0}{2}}$.`,
	},
	{ // https://huggingface.co/datasets/HuggingFaceH4/MATH-500
		name:     "MATH-500",
		rows:     append(numbered(`{"problem":"Halve %d.","solution":"We divide. $\\boxed{\\frac{%d}{2}}$","answer":"\\frac{%d}{2}","subject":"Algebra","level":1,"unique_id":"test/a/%d.json"}`), `{"problem":"Name a set.","solution":"$\\boxed{(1,2)}$","answer":"(1,2)","subject":"Algebra","level":1,"unique_id":"x"}`),
		found:    []string{`task.prompt = "problem"`, `task.verifier = "math"`},
		question: "Halve 0.", answer: `\frac{0}{2}`, right: `It is \boxed{0}`, completion: `We divide. $\boxed{\frac{0}{2}}$`,
	},
	{ // https://huggingface.co/datasets/BytedTsinghua-SIA/DAPO-Math-17k, which has the columns of verl
		name:     "DAPO",
		rows:     numbered(`{"data_source":"math_dapo","prompt":[{"content":"Solve it.\n\nAdd %d and 1.","role":"user"}],"ability":"MATH","reward_model":{"ground_truth":"3%d","style":"rule-lighteval/MATH_v2"},"extra_info":{"index":"9a%d"}}`),
		found:    []string{`task.answer = "reward_model.ground_truth"`, `task.verifier = "number"`},
		question: "Solve it.\n\nAdd 0 and 1.", answer: "30", right: "Answer: 30", completion: "30",
	},
	{ // https://huggingface.co/datasets/open-r1/OpenR1-Math-220k
		name: "OpenR1",
		rows: numbered(`{"problem":"Root of %d?","solution":"It is $\\sqrt{%d}$.","answer":"\\sqrt{%d}","problem_type":"Algebra","question_type":"math-word-problem","source":"olympiads","uuid":"u%d","is_reasoning_complete":[true],"generations":["<think>\nHm.\n</think>\n\n$\\boxed{\\sqrt{%d}}$"],` +
			`"correctness_math_verify":[true],"correctness_llama":null,"finish_reasons":null,"correctness_count":1,"messages":[{"content":"Root of %d?","role":"user"},{"content":"<think>\nHm.\n</think>\n\n$\\boxed{\\sqrt{%d}}$","role":"assistant"}]}`),
		found:    []string{`task.verifier = "math"`},
		question: "Root of 0?", answer: `\sqrt{0}`, right: `\boxed{0}`,
	},
	{ // https://huggingface.co/datasets/allenai/IF_multi_constraints_upto5: ground_truth is a Python literal
		name:     "IF-RLVR",
		rows:     numbered(`{"key":"k%d","messages":[{"content":"Say %d. No commas, and name a tree's \"root\".","role":"user"}],"ground_truth":"[{'instruction_id': ['punctuation:no_comma', 'keywords:existence'], 'kwargs': [None, {'keywords': ['tree\\'s', \"root\"]}]}]","dataset":"ifeval","constraint_type":"multi","constraint":"No commas."}`),
		found:    []string{`task.columns.instruction_id_list = "ground_truth.0.instruction_id"`, `task.columns.kwargs = "ground_truth.0.kwargs"`, `task.verifier = "instructions"`},
		question: `Say 0. No commas, and name a tree's "root".`, right: "A tree's root",
	},
	{ // https://huggingface.co/datasets/PrimeIntellect/verifiable-math-problems, of SYNTHETIC-1
		name:     "SYNTHETIC-1",
		rows:     numbered(`{"source":"numina_math","task_type":"verifiable_math","in_source_id":"q%d","prompt":"Add %d and 2.","gold_standard_solution":"We add. \\boxed{1%d}","verification_info":"{\"ground_truth\": \"1%d\"}","metadata":"{}","problem_id":"vfm_%d"}`),
		found:    []string{`task.answer = "verification_info.ground_truth"`, `task.verifier = "number"`},
		question: "Add 0 and 2.", answer: "10", right: "10", completion: `We add. \boxed{10}`,
	},
	{ // the same as Python writes it
		name:     "SYNTHETIC-1 as literals",
		rows:     numbered(`{"source":"numina_math","task_type":"verifiable_math","in_source_id":null,"prompt":"Add %d and 2.","gold_standard_solution":null,"verification_info":"{'ground_truth': '1%d'}","metadata":"{'difficulty': None}","problem_id":"vfm_%d"}`),
		found:    []string{`task.answer = "verification_info.ground_truth"`, `task.verifier = "number"`},
		question: "Add 0 and 2.", answer: "10", right: "10", completion: "10",
	},
	{ // https://huggingface.co/datasets/google-research-datasets/mbpp, full
		name:     "MBPP",
		rows:     numbered(`{"task_id":%d,"text":"Write a function to add %d.","code":"def add(x):\r\n  return x + %d","test_list":["assert add(1) == 1 + %d","assert add(2) == 2 + %d"],"test_setup_code":"","challenge_test_list":[]}`),
		found:    []string{`task.prompt_template = "{text}\n\nYour code should pass these tests:\n{test_list}"`, `task.verifier = "code:python"`},
		question: "Write a function to add 0.\n\nYour code should pass these tests:\nassert add(1) == 1 + 0\nassert add(2) == 2 + 0", completion: "def add(x):\r\n  return x + 0",
	},
	{ // https://huggingface.co/datasets/google-research-datasets/mbpp, sanitized
		name:     "MBPP sanitized",
		rows:     numbered(`{"source_file":"a.ipynb","task_id":%d,"prompt":"Write a function to double the number %d.","code":"def twice(x):\n  return 2 * x","test_imports":[],"test_list":["assert twice(1) == 2"]}`),
		found:    []string{`task.prompt_template = "{prompt}\n\nYour code should pass these tests:\n{test_list}"`, `task.verifier = "code:python"`},
		question: "Write a function to double the number 0.\n\nYour code should pass these tests:\nassert twice(1) == 2", completion: "def twice(x):\n  return 2 * x",
	},
	{ // https://huggingface.co/datasets/anon8231489123/ShareGPT_Vicuna_unfiltered
		name:     "ShareGPT",
		rows:     numbered(`{"id":"s%d","conversations":[{"from":"human","value":"Say %d."},{"from":"gpt","value":"%d!"},{"from":"human","value":"And again %d?"},{"from":"gpt","value":"%d!!"}]}`),
		question: "And again 0?",
		hints:    []string{"imitate such rows: rlzero train sft-chat --set model.path=DIR --set task.data="},
	},
	{ // https://huggingface.co/datasets/tatsu-lab/alpaca
		name:     "Alpaca",
		rows:     append([]string{`{"instruction":"Translate.","input":"Haus 7","output":"house 7, as a phrase","text":"Below is an instruction. Translate."}`}, numbered(`{"instruction":"Say the number %d as a word.","input":"","output":"it is %d, I would say","text":"Below is an instruction. Say %d."}`)...),
		question: "Translate.\n\nHaus 7", answer: "house 7, as a phrase", completion: "house 7, as a phrase",
		hints: []string{"an answer that has to be the same text: --set task.verifier=exact", "one that may share words with the answer: --set task.verifier=f1"},
	},
	{ // https://huggingface.co/datasets/rajpurkar/squad
		name:     "SQuAD",
		rows:     numbered(`{"id":"i%d","title":"Seas","context":"The sea has number %d.","question":"Which number has the sea, %d?","answers":{"text":["number %d","%d"],"answer_start":[12,19]}}`),
		found:    []string{`task.prompt = "context + question"`, `task.columns.references = "answers.text"`, `task.verifier = "squad_exact"`, `task.options.extract = "announced"`},
		question: "The sea has number 0.\n\nWhich number has the sea, 0?", right: "The number 0", completion: "number 0",
	},
	{ // https://huggingface.co/datasets/mandarjoshi/trivia_qa
		name: "TriviaQA",
		rows: numbered(`{"question":"Who was number %d?","question_id":"tc_%d","question_source":"","entity_pages":{"doc_source":[],"filename":[],"title":[],"wiki_context":[]},"search_results":{"description":[],"filename":[],"rank":[],"title":[],"url":[],"search_context":[]},` +
			`"answer":{"aliases":["Jo %d","Joe"],"normalized_aliases":["jo %d","joe"],"matched_wiki_entity_name":"","normalized_matched_wiki_entity_name":"","normalized_value":"jo %d","type":"WikipediaEntity","value":"Jo %d"}}`),
		found:    []string{`task.answer = "answer.value"`, `task.columns.references = "answer.aliases"`, `task.verifier = "squad_exact"`, `task.options.extract = "announced"`},
		question: "Who was number 0?", answer: "Jo 0", right: "The answer is Joe", completion: "Jo 0",
	},
	{ // https://huggingface.co/datasets/allenai/ai2_arc
		name:     "ARC",
		rows:     append(numbered(`{"id":"Mercury_%d","question":"Which is %d?","choices":{"text":["one","the %d","two","three"],"label":["A","B","C","D"]},"answerKey":"B"}`), `{"id":"NYSEDREGENTS_1","question":"Which is it?","choices":{"text":["this","that"],"label":["1","2"]},"answerKey":"2"}`),
		found:    []string{`task.prompt = "question + choices"`, `task.answer = "answerKey"`, `task.verifier = "multiple_choice"`},
		question: "Which is 0?\n\nA. one\nB. the 0\nC. two\nD. three", answer: "B", right: "The answer is (B).", completion: "B",
	},
	{ // https://huggingface.co/datasets/cais/mmlu
		name:     "MMLU",
		rows:     numbered(`{"question":"Which comes after %d?","subject":"anatomy","choices":["first","next","last","none"],"answer":1}`),
		found:    []string{`task.prompt = "question + choices"`, `task.verifier = "multiple_choice"`},
		question: "Which comes after 0?\n\nA. first\nB. next\nC. last\nD. none", answer: "1", right: "B", completion: "B",
	},
	{ // https://huggingface.co/datasets/TIGER-Lab/MMLU-Pro
		name:     "MMLU-Pro",
		rows:     numbered(`{"question_id":%d,"question":"Which is after %d?","options":["a1","b2","c3"],"answer":"C","answer_index":2,"cot_content":"","category":"math","src":"x"}`),
		found:    []string{`task.columns.choices = "options"`, `task.prompt = "question + options"`, `task.verifier = "multiple_choice"`},
		question: "Which is after 0?\n\nA. a1\nB. b2\nC. c3", answer: "C", right: "C", completion: "C",
	},
	{ // https://huggingface.co/datasets/agentica-org/DeepScaleR-Preview-Dataset
		name:     "DeepScaleR",
		rows:     append(numbered(`{"problem":"Halve $%d$.","answer":"\\frac{%d}{2}","solution":"Divide: $\\frac{%d}{2}$."}`), `{"problem":"Double 21.","answer":"42","solution":""}`),
		found:    []string{`task.prompt = "problem"`, `task.verifier = "math"`},
		question: "Halve $0$.", answer: `\frac{0}{2}`, right: `\boxed{0}`, completion: `Divide: $\frac{0}{2}$.`,
	},
	{ // https://huggingface.co/datasets/AI-MO/NuminaMath-CoT
		name:     "NuminaMath-CoT",
		rows:     numbered(`{"source":"synthetic_math","problem":"Halve %d.","solution":"It is $\\boxed{\\frac{%d}{2}}$.","messages":[{"content":"Halve %d.","role":"user"},{"content":"It is $\\boxed{\\frac{%d}{2}}$.","role":"assistant"}]}`),
		found:    []string{`task.answer = "solution"`, `task.verifier = "math"`},
		question: "Halve 0.", answer: `It is $\boxed{\frac{0}{2}}$.`, right: `\boxed{0}`,
	},
	{ // https://huggingface.co/datasets/HuggingFaceH4/aime_2024, AI-MO/aimo-validation-aime
		name:     "AIME 2024",
		rows:     append(numbered(`{"id":6%d,"problem":"Find it, %d.","solution":"We count to \\boxed{0%d}.","answer":"0%d","url":"https://artofproblemsolving.com/wiki/x","year":"2024"}`), `{"id":1,"problem":"Find that.","solution":"It is \\boxed{204}.","answer":"204","url":"","year":"2024"}`),
		found:    []string{`task.prompt = "problem"`, `task.verifier = "number"`},
		question: "Find it, 0.", answer: "00", right: `So \boxed{0}.`, completion: `We count to \boxed{00}.`,
	},
	{ // https://huggingface.co/datasets/Maxwell-Jia/AIME_2024
		name:     "AIME 2024 in capitals",
		rows:     numbered(`{"ID":"2024-I-%d","Problem":"Find it, %d.","Solution":"We count: %d.","Answer":%d}`),
		found:    []string{`task.prompt = "Problem"`, `task.answer = "Answer"`, `task.verifier = "number"`},
		question: "Find it, 0.", answer: "0", right: "0", completion: "We count: 0.",
	},
	{ // https://huggingface.co/datasets/opencompass/AIME2025
		name:     "AIME 2025",
		rows:     numbered(`{"question":"Find it, %d.","answer":"7%d"}`),
		found:    []string{`task.verifier = "number"`},
		question: "Find it, 0.", answer: "70", right: "70", completion: "70",
	},
	{ // https://huggingface.co/datasets/math-ai/aime25
		name:     "AIME 2025 with problems",
		rows:     numbered(`{"problem":"Find it, %d.","answer":"7%d","id":"%d"}`),
		found:    []string{`task.prompt = "problem"`, `task.verifier = "number"`},
		question: "Find it, 0.", answer: "70", right: "70", completion: "70",
	},
	{ // https://github.com/volcengine/verl/blob/main/examples/data_preprocess/gsm8k.py
		name: "verl",
		rows: numbered(`{"data_source":"openai/gsm8k","prompt":[{"content":"Add %d and 7. Think, and end with \"####\" and the number.","role":"user"}],"ability":"math","reward_model":{"ground_truth":"7%d","style":"rule"},` +
			`"extra_info":{"answer":"It is\n#### 7%d","index":%d,"question":"Add %d and 7.","split":"train"}}`),
		found:    []string{`task.answer = "reward_model.ground_truth"`, `task.verifier = "gsm8k"`, `task.options.extract = "flexible"`},
		question: `Add 0 and 7. Think, and end with "####" and the number.`, answer: "70", right: "We add.\n#### 70", completion: "70",
	},
	{ // https://huggingface.co/datasets/Jiayi-Pan/Countdown-Tasks-3to4
		name:     "Countdown-Tasks",
		rows:     numbered(`{"target":%d,"nums":[5,%d,5]}`),
		found:    []string{`task.prompt_template = "Use each of the numbers {nums} exactly once, with + - * / and parentheses, to make {target}.\nGive the expression alone on the last line, such as (1 + 2) * 3."`, `task.columns.numbers = "nums"`, `task.verifier = "countdown"`, `task.options.use_all = true`},
		question: "Use each of the numbers [5,0,5] exactly once, with + - * / and parentheses, to make 0.\nGive the expression alone on the last line, such as (1 + 2) * 3.", right: "I try.\n5 - 5 + 0",
	},
	{ // https://huggingface.co/datasets/openai/openai_humaneval
		name:     "HumanEval",
		rows:     numbered(`{"task_id":"HumanEval/%d","prompt":"\ndef add%d(x: int) -> int:\n    \"\"\" Add %d to x.\n    >>> add%d(0)\n    %d\n    \"\"\"\n","canonical_solution":"    return x + %d\n","test":"\n\nMETADATA = {}\n\n\ndef check(candidate):\n    assert candidate(1) == 1 + %d\n","entry_point":"add%d"}`),
		found:    []string{`task.verifier = "code:python"`},
		question: "\ndef add0(x: int) -> int:\n    \"\"\" Add 0 to x.\n    >>> add0(0)\n    0\n    \"\"\"\n", completion: "    return x + 0\n",
	},
	{ // https://huggingface.co/datasets/google/boolq
		name:     "BoolQ",
		rows:     append(numbered(`{"question":"is %d in the list","answer":true,"passage":"The list has %d."}`), `{"question":"is it long","answer":false,"passage":"It is short."}`),
		found:    []string{`task.prompt_template = "{passage}\n\n{question}\n\nAnswer true or false."`, `task.verifier = "squad_exact"`, `task.options.extract = "announced"`},
		question: "The list has 0.\n\nis 0 in the list\n\nAnswer true or false.", answer: "true", right: "The answer is True.", completion: "true",
	},
	{ // https://huggingface.co/datasets/tau/commonsense_qa
		name:     "CommonsenseQA",
		rows:     numbered(`{"id":"c%d","question":"Where are %d fish?","question_concept":"fish","choices":{"label":["A","B","C","D","E"],"text":["sky","sea","%d","bed","car"]},"answerKey":"B"}`),
		found:    []string{`task.prompt = "question + choices"`, `task.answer = "answerKey"`, `task.verifier = "multiple_choice"`},
		question: "Where are 0 fish?\n\nA. sky\nB. sea\nC. 0\nD. bed\nE. car", answer: "B", right: "B", completion: "B",
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
				works(t, parts, hint.All(err), s.hints)
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
			if text, _, err := completionOf(row, completionKey); err != nil {
				t.Fatal(err)
			} else if text != nil {
				completion = *text
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

// works checks that there are hints that begin in these ways, and that the verifiers they name
// judge the rows.
func works(t *testing.T, parts []Part, hints, want []string) {
	t.Helper()
	for _, begin := range want {
		i := slices.IndexFunc(hints, func(h string) bool { return strings.HasPrefix(h, begin) })
		if i < 0 {
			t.Errorf("hints %q, want %q", hints, begin)
			continue
		}
		_, name, sets := strings.Cut(hints[i], "--set task.verifier=")
		if !sets {
			continue
		}
		r, err := Find(parts, Wanted{Judged: true, Verifier: name})
		if err == nil {
			_, err = Open(r.Parts, r.Verifier, r.Options)
		}
		if err != nil {
			t.Errorf("%s: %v", hints[i], err)
		}
	}
}

// TestFindPairs: rows that prefer one completion to another are learned from as they are
// published, and whoever wants to judge them is told how.
func TestFindPairs(t *testing.T) {
	for name, c := range map[string]struct {
		row, asked string
		pair       [2]string // what is learned: the better one, then the worse; the second is empty where a row has one
	}{
		"https://huggingface.co/datasets/HuggingFaceH4/ultrafeedback_binarized": {
			`{"prompt":"Greet %d.","prompt_id":"p%d","chosen":[{"content":"Greet %d.","role":"user"},{"content":"Hi %d!","role":"assistant"}],"rejected":[{"content":"Greet %d.","role":"user"},{"content":"No %d","role":"assistant"}],` +
				`"messages":[{"content":"Greet %d.","role":"user"},{"content":"Hi %d!","role":"assistant"}],"score_chosen":8.5,"score_rejected":3.0}`, "Greet 0.", [2]string{"Hi 0!", "No 0"}},
		"https://huggingface.co/datasets/Anthropic/hh-rlhf": {
			`{"chosen":"\n\nHuman: Greet %d.\n\nAssistant: Hi %d!","rejected":"\n\nHuman: Greet %d.\n\nAssistant: No %d"}`, "Greet 0.", [2]string{"Hi 0!", "No 0"}},
		"https://huggingface.co/datasets/Dahoas/full-hh-rlhf": {
			`{"prompt":"\n\nHuman: Greet %d.\n\nAssistant:","response":" Hi %d!","chosen":" Hi %d!","rejected":" No %d"}`, "Greet 0.", [2]string{"Hi 0!", "No 0"}},
		"https://huggingface.co/datasets/Intel/orca_dpo_pairs": {
			`{"system":"Be kind.","question":"Greet %d.","chosen":"Hi %d!","rejected":"No %d"}`, "Greet 0.", [2]string{"Hi 0!", "No 0"}},
		"https://huggingface.co/datasets/Skywork/Skywork-Reward-Preference-80K-v0.2": {
			`{"chosen":[{"content":"Greet %d.","role":"user"},{"content":"Hi %d!","role":"assistant"}],"rejected":[{"content":"Greet %d.","role":"user"},{"content":"No %d","role":"assistant"}],"source":"x"}`, "Greet 0.", [2]string{"Hi 0!", "No 0"}},
		"https://huggingface.co/datasets/trl-lib/kto-mix-14k": {
			`{"prompt":[{"content":"Greet %d.","role":"user"}],"completion":[{"content":"Hi %d!","role":"assistant"}],"label":true}`, "Greet 0.", [2]string{"Hi 0!"}},
	} {
		t.Run(path.Base(name), func(t *testing.T) {
			parts := whole(writtenFile(t, numbered(c.row)...))
			r, err := Find(parts, Wanted{})
			if err != nil || r.Found != nil {
				t.Errorf("found %q, %v", r.Found, err)
			}
			source, err := Open(r.Parts, "", nil)
			if err != nil {
				t.Fatal(err)
			}
			renderer := rendererOf(t, "", Style{Form: Auto})
			choices, err := renderer.Choices(ofLine(t, source, 1))
			if err != nil {
				t.Fatal(err)
			}
			for i, choice := range choices {
				from := choice.Learned[0].From
				if asked := renderer.Decode(choice.IDs[:from]); strings.Count(asked, c.asked) != 1 || strings.Contains(asked, "Human:") {
					t.Errorf("completion %d is asked for by %q, want %q", i+1, asked, c.asked)
				}
				if learned := renderer.Decode(choice.IDs[from:]); !strings.HasPrefix(learned, c.pair[i]) || choice.Reward != float64(1-i) {
					t.Errorf("completion %d is %q with reward %v, want %q", i+1, learned, choice.Reward, c.pair[i])
				}
			}
			if n := len(slices.DeleteFunc(c.pair[:], func(s string) bool { return s == "" })); n != len(choices) {
				t.Errorf("%d completions, want %d", len(choices), n)
			}
			if _, err = Find(parts, Wanted{Judged: true}); !strings.Contains(name, "kto") {
				works(t, parts, hint.All(err), []string{"learn from such pairs: rlzero train dpo-lora --set model.path=DIR --set task.data="})
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
		`{"question":"%d?","answer":"He paid $5 for it because he had to."}`:                                                  {"none fits answers such as", "--set task.verifier=exact", "--set task.verifier=f1"},
		`{"question":"%d?","answer":"A sentence, and one more number 4."}`:                                                    {"none fits answers such as", "--set task.verifier=exact"},
		`{"messages":[{"role":"user","content":"%d"}],"ground_truth":"{\"func_name\": \"validate_lowercase\", \"N\": null}"}`: {"none fits answers such as"},
		`{"question":"Which, %d?","sentiment":"good","row_id":"a","n":[1,2]}`:                                                 {"no answer was found to choose one by; the columns are n, question, row_id, sentiment", "--set task.answer=sentiment"},
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

// TestOtherVerifier: rows that the verifier of a recipe cannot judge name one that can, where there
// is one, or what else they are for; a column only if it holds one value.
func TestOtherVerifier(t *testing.T) {
	for row, want := range map[string]string{
		`{"context":"Of %d.","question":"Which, %d?","answers":{"text":["a %d"],"answer_start":[3,3]}}`:         "to take squad_exact, as the rows have several texts as answers: --set task.verifier=",
		`{"task_id":%d,"text":"Write it, %d.","code":"def f(x):\n  return x","test_list":["assert f(1) == 1"]}`: "to take code:python, as the rows have tests of programs: --set task.verifier=",
		`{"conversations":[{"from":"human","value":"Say %d."},{"from":"gpt","value":"%d!"}]}`:                   "imitate such rows: rlzero train sft-chat --set model.path=DIR --set task.data=FILE",
		`{"chosen":"\n\nHuman: Say %d\n\nAssistant: %d","rejected":"\n\nHuman: Say %d\n\nAssistant: No"}`:       "learn from such pairs: rlzero train dpo-lora --set model.path=DIR --set task.data=FILE",
		`{"question":"How much is %d?","result":"%d"}`:                                                          "to take another column: --set task.answer=result",
		`{"question":"How much is %d?","starts":[%d],"verdict":"%d"}`:                                           "to take another column: --set task.answer=verdict",
	} {
		parts := whole(writtenFile(t, numbered(row)...))
		r, err := Find(parts, Wanted{Judged: true, Verifier: "math"})
		if err != nil {
			t.Fatal(err)
		}
		_, err = Open(r.Parts, "math", nil)
		if hints := hint.All(err); len(hints) != 1 || strings.Replace(hints[0], parts[0].Data, "FILE", 1) != want {
			t.Errorf("%s: %v, hints %q, want %q", row, err, hints, want)
		}
	}
	rows := append(numbered(`{"question":"How much is %d?","answer":"%d"}`), `{"question":"And then?","answer":""}`)
	if _, err := Open(whole(writtenFile(t, rows...)), "math", nil); err == nil || hint.All(err) != nil {
		t.Errorf("a row that no verifier can judge: %v, hints %q", err, hint.All(err))
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
