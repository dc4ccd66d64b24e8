package program

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/verify"
)

// test is one check of a program. Exactly one kind is set.
type test struct {
	stdin, stdout string // of a program that reads and writes
	call          string // name of a function to call
	args          []json.RawMessage
	kwargs        map[string]json.RawMessage
	expected      []json.RawMessage // what the call may return: one value, but where the row's form leaves two open
	assert        string            // statements that fail if the program is wrong
}

// suite is everything a row says about a program's tests.
type suite struct {
	tests []test
	setup string // code that stands before the program: imports and helpers
}

// What a row may hold: testsDoc, then code of a language as tests, then formsDoc.
const (
	testsDoc = `Row fields, one of:
  tests         [{"stdin":"3\n","stdout":"9\n"}]          reads and writes
                [{"call":"f","args":[3],"expected":9}]    a function, values as JSON
`
	pythonTestsDoc = `                [{"call":"f","kwargs":{"x":3},"expected":9}]
                [{"assert":"assert f(3) == 9"}]           statements
  test_list     ["assert f(3) == 9"], with test_setup_code or test_imports, as in MBPP
  test          def check(candidate): ..., with entry_point, as in HumanEval. A question that is
                code up to the body of that function stands before the program, which may be
                the body; before a program with the whole function, what precedes it does.
`
	javascriptTestsDoc = `                [{"assert":"assert(f(3) === 9)"}]         statements
  test_list     ["assert(f(3) === 9)"], with test_setup_code, which is put before each
  test          function check(candidate) { ... }, with entry_point: check is called with it
`
	formsDoc = `  input_output  {"inputs":[..],"outputs":[..],"fn_name":"f"}  as in APPS and TACO; a JSON text or object
  public_test_cases, private_test_cases  and func_name, as in LiveCodeBench; task.data
                may name a file of that data set as it is published
A field "setup" holds code that is put before the program.
`
)

// readSuite reads the tests of a row; the error says what the row lacks.
func readSuite(row verify.Problem) (suite, error) {
	var s suite
	if _, err := field(row, "setup", &s.setup); err != nil {
		return s, err
	}
	for _, read := range []func(verify.Problem, *suite) (bool, error){readTests, readInputOutput, readTestList, readCheck, readLiveCode} {
		found, err := read(row, &s)
		if err != nil {
			return s, err
		}
		if found {
			if len(s.tests) == 0 {
				return s, errors.New("the row's list of tests is empty")
			}
			return s, nil
		}
	}
	return s, errors.New(`the row has no tests; accepted: "tests", "input_output", "test_list", "public_test_cases", or "test" with "entry_point"`)
}

func readTests(row verify.Problem, s *suite) (bool, error) {
	var list []json.RawMessage
	found, err := field(row, "tests", &list)
	if !found || err != nil {
		return found, err
	}
	for i, raw := range list {
		one, err := readTest(raw)
		if err != nil {
			return true, fmt.Errorf("test %d of the row %w", i+1, err)
		}
		s.tests = append(s.tests, one)
	}
	return true, nil
}

// readTest reads one of the row's tests; the error goes on where it is named.
func readTest(raw json.RawMessage) (test, error) {
	var t struct {
		Stdin, Stdout *string
		Call          string
		Args          []json.RawMessage
		Kwargs        map[string]json.RawMessage
		Expected      json.RawMessage
		Assert        string
	}
	var text string
	if json.Unmarshal(raw, &text) == nil && string(raw) != "null" {
		return test{}, errors.New(`is a text: write {"assert":"..."}, or use test_list`)
	}
	if err := json.Unmarshal(raw, &t); err != nil {
		return test{}, inWords(err)
	}
	switch {
	case t.Stdout != nil && t.Call == "" && t.Assert == "":
		one := test{stdout: *t.Stdout}
		if t.Stdin != nil {
			one.stdin = *t.Stdin
		}
		return one, nil
	case t.Call != "" && t.Expected != nil && t.Stdout == nil && t.Assert == "":
		return test{call: t.Call, args: t.Args, kwargs: t.Kwargs, expected: []json.RawMessage{t.Expected}}, nil
	case t.Assert != "" && t.Call == "" && t.Stdout == nil:
		return test{assert: t.Assert}, nil
	}
	return test{}, errors.New(`is not one of {"stdin","stdout"}, {"call","args","expected"}, {"assert"}`)
}

// field is row.Field with errors in words.
func field(row verify.Problem, name string, dst any) (found bool, err error) {
	found, err = row.Field(name, dst)
	if words := inWords(err); words != err {
		err = fmt.Errorf("%q of the row %w", name, words)
	}
	return found, err
}

// inWords names what a JSON value is and should be without the types of Go. Other
// errors stay as they are.
func inWords(err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return err
	}
	what, _, _ := strings.Cut(wrong.Value, " ") // "number 1.5"
	found := map[string]string{"string": "a text", "array": "a list", "object": "an object", "number": "a number", "bool": "true or false"}[what]
	wanted := map[reflect.Kind]string{
		reflect.String: "a text", reflect.Slice: "a list", reflect.Map: "an object", reflect.Struct: "an object",
	}[wrong.Type.Kind()]
	if wrong.Field == "" {
		return fmt.Errorf("has %s where %s should be", found, wanted)
	}
	return fmt.Errorf("has %s where %s should be, in its %s", found, wanted, strings.ToLower(wrong.Field))
}

// readInputOutput reads the form of APPS (arXiv 2105.09938) and TACO: with
// fn_name each input is the list of arguments and each output the result, by
// itself or as the only item of a list, which a list of one leaves open; without
// it both are texts or lists of lines.
func readInputOutput(row verify.Problem, s *suite) (bool, error) {
	var raw json.RawMessage
	found, err := field(row, "input_output", &raw)
	if !found || err != nil {
		return found, err
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		raw = json.RawMessage(text)
	}
	var io struct {
		Inputs  []json.RawMessage `json:"inputs"`
		Outputs []json.RawMessage `json:"outputs"`
		Name    string            `json:"fn_name"`
	}
	if err := json.Unmarshal(raw, &io); err != nil {
		return true, fmt.Errorf(`"input_output" of the row: %w`, inWords(err))
	}
	if len(io.Inputs) != len(io.Outputs) {
		return true, fmt.Errorf(`"input_output" of the row has %d inputs and %d outputs`, len(io.Inputs), len(io.Outputs))
	}
	for i, in := range io.Inputs {
		t := test{call: io.Name}
		if io.Name != "" {
			err = json.Unmarshal(in, &t.args)
			t.expected = withItem(io.Outputs[i])
		} else if t.stdin, err = linesOf(in); err == nil {
			t.stdout, err = linesOf(io.Outputs[i])
		}
		if err != nil {
			return true, fmt.Errorf(`"input_output" of the row, test %d: %w`, i+1, inWords(err))
		}
		s.tests = append(s.tests, t)
	}
	return true, nil
}

// withItem is the value, followed by its item if it is a list of one.
func withItem(raw json.RawMessage) []json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil && len(list) == 1 {
		return append(list, raw)
	}
	return []json.RawMessage{raw}
}

// values are what the call may return.
func (t test) values() ([]value, error) {
	all := make([]value, len(t.expected))
	for i, raw := range t.expected {
		var err error
		if all[i], err = fromJSON(raw); err != nil {
			return nil, fmt.Errorf("the expected value: %w", err)
		}
	}
	return all, nil
}

// linesOf is a text, or a list of lines as one.
func linesOf(raw json.RawMessage) (string, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text, nil
	}
	var lines []string
	if err := json.Unmarshal(raw, &lines); err != nil {
		return "", errors.New("found neither a text nor a list of lines")
	}
	return strings.Join(lines, "\n"), nil
}

func readTestList(row verify.Problem, s *suite) (bool, error) {
	var list []string
	found, err := field(row, "test_list", &list)
	if !found || err != nil {
		return found, err
	}
	var setup string
	if _, err := field(row, "test_setup_code", &setup); err != nil {
		return true, err
	}
	var imports []string
	if _, err := field(row, "test_imports", &imports); err != nil {
		return true, err
	}
	before := strings.TrimSpace(strings.Join(imports, "\n") + "\n" + setup)
	for _, code := range list {
		s.tests = append(s.tests, test{assert: strings.TrimPrefix(before+"\n"+code, "\n")})
	}
	return true, nil
}

// begun is a program that goes on where the question ends, as in HumanEval: the body of a
// function, or the function anew, which then needs what the question imports and defines before it.
func begun(row verify.Problem, program string) string {
	var entry string
	if found, err := field(row, "entry_point", &entry); !found || err != nil {
		return program
	}
	defined := regexp.MustCompile(`(?m)^def\s+` + regexp.QuoteMeta(entry) + `\s*\(`)
	at := defined.FindStringIndex(row.Question)
	if at == nil || slices.ContainsFunc(strings.Split(tripleQuoted.ReplaceAllString(row.Question, `""`), "\n"), func(line string) bool { return !codeLine.MatchString(line) }) {
		return program
	}
	if defined.MatchString(program) { // Python takes imports from the future at the top alone
		first := strings.Join(future.FindAllString(program, -1), "")
		return first + row.Question[:at[0]] + future.ReplaceAllString(program, "")
	}
	return strings.TrimRight(row.Question, "\n") + "\n" + program
}

var (
	// codeLine is how a line of Python begins that prose does not begin with.
	codeLine     = regexp.MustCompile(`^(?:\s|$|[#@"'\])}]|from\s+\S+\s+import\s|import\s+[\w., ]+$|(?:async\s+)?def\s+\w+\s*\(|class\s+\w+\s*[:(]|\w+\s*=)`)
	future       = regexp.MustCompile(`(?m)^from __future__ import [^\n]*(?:\n|\z)`)
	tripleQuoted = regexp.MustCompile(`(?s)""".*?"""|'''.*?'''`)
)

func readCheck(row verify.Problem, s *suite) (bool, error) {
	var code, entry string
	found, err := field(row, "test", &code)
	if !found || err != nil {
		return found, err
	}
	if found, err := field(row, "entry_point", &entry); !found || err != nil {
		return true, errors.Join(errors.New(`the row has "test" but no "entry_point"`), err)
	}
	s.tests = append(s.tests, test{assert: code + "\n\ncheck(" + entry + ")"})
	return true, nil
}
