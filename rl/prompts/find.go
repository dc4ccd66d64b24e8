package prompts

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/rl/table"
	"github.com/rlzero/rlzero/verify"
)

// Wanted says what a run needs of its rows.
type Wanted struct {
	Judged   bool           // completions are judged: an answer and a verifier are needed
	Imitated bool           // rows are imitated: a completion is needed
	Verifier string         // that is named; "": one is proposed
	Options  map[string]any // of it
}

// Reading says how the rows of data sets are read: as is said, and where nothing is said, as
// [Find] proposes.
type Reading struct {
	Parts    []Part
	Verifier string
	Options  map[string]any
	Found    []string // what was proposed, as keys of a recipe: task.prompt = "problem"
	Why      string   // the reason for the verifier; "": it was named
}

// Line says what was found, and how to say something else; "": nothing.
func (r Reading) Line() string {
	if len(r.Found) == 0 {
		return ""
	}
	line := "found in the data: " + strings.Join(r.Found, ", ")
	if r.Why != "" {
		line += ", as " + r.Why
	}
	return line + "; --set changes it"
}

// Names that published data sets have for the same thing, those that are meant first. What a
// row has under question, prompt, messages, answer and completion is taken without a search.
var (
	conversationNames = []string{"conversations", "conversation"}
	promptNames       = []string{"problem", "instruction", "query", "question_stem", "problem_statement", "text", "input", "ctx"}
	answerNames       = []string{"final_answer", "expected_answer", "answerKey", "correct_answer", "ground_truth", "reward_model.ground_truth", "verification_info.ground_truth", "target", "label", "output", "solution"}
	referenceNames    = []string{"answers.text", "answers", aliases}
	choiceNames       = []string{choicesKey, "options", "endings"}
	completionNames   = []string{"response", "output", "solution", "gold_standard_solution", "code", "canonical_solution", aliased, "answer"}
	contextNames      = []string{"context", "passage"}
)

// Where TriviaQA keeps an answer and the other forms of it.
const (
	aliased = "answer.value"
	aliases = "answer.aliases"
)

// What rows of programs, databases and instructions have in place of an answer.
var testNames = []string{"tests", "test_list", "input_output", "public_test_cases", "test", "database", "instruction_id_list", "schema", "numbers"}

// maxSampled is how many rows of a data set a proposal looks at.
const maxSampled = 100

// errEnough ends a reading.
var errEnough = errors.New("enough")

// Find proposes what nobody has said: the columns of the prompt, the answer and the
// completion by the names that published data sets have, and the verifier by the answers. It
// looks at the first rows of each part. The error is that of a data set that cannot be read,
// or ErrNoVerifier.
func Find(parts []Part, w Wanted) (Reading, error) {
	r := Reading{Parts: slices.Clone(parts), Verifier: w.Verifier, Options: w.Options}
	var rows []verify.Problem
	var columns []string
	for i := range r.Parts {
		s, err := sampleOf(r.Parts[i])
		if err != nil {
			return r, err
		}
		f := finder{sample: s, Columns: &r.Parts[i].Columns, wanted: w, key: parts[i].key()}
		f.find()
		r.Found = append(r.Found, f.found...)
		rows, columns = append(rows, s.problems(r.Parts[i].Columns)...), append(columns, s.columns()...)
	}
	if !w.Judged || w.Verifier != "" || named(rows) {
		return r, nil
	}
	j, ok := judgeOf(rows)
	if !ok {
		return r, noVerifier(parts, rows, columns)
	}
	r.Verifier, r.Options, r.Why = j.verifier, j.options, j.why
	r.Found = append(r.Found, fmt.Sprintf("task.verifier = %q", j.verifier))
	for _, name := range slices.Sorted(maps.Keys(j.options)) {
		r.Found = append(r.Found, fmt.Sprintf("task.options.%s = %#v", name, j.options[name]))
	}
	return r, nil
}

// sample are the first rows of a data set.
type sample []table.Row

func sampleOf(p Part) (sample, error) {
	data, err := table.Open(p.Data)
	if err != nil {
		return nil, err
	}
	var s sample
	err = data.Each(p.split(data), func(_ int, row table.Row) error {
		if s = append(s, row); len(s) == maxSampled {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return s, err
}

// columns are the names of the columns, sorted.
func (s sample) columns() []string {
	names := map[string]bool{}
	for _, row := range s {
		for name := range row {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// problems are the rows that columns make problems of.
func (s sample) problems(c Columns) []verify.Problem {
	columns, err := c.compile()
	if err != nil {
		return nil // it is reported when the rows are read
	}
	var all []verify.Problem
	for _, raw := range s {
		line, err := columns.apply(raw)
		if err != nil {
			continue
		}
		if row, err := readRow(line); err == nil {
			all = append(all, row)
		}
	}
	return all
}

// has says whether every row has a column, and one of them a value in it.
func (s sample) has(column string) bool {
	filled := false
	for _, row := range s {
		raw, err := lookup(row, column)
		if err != nil {
			return false
		}
		switch strings.TrimSpace(textOf(raw)) {
		case "", "[]", "{}":
		default:
			filled = true
		}
	}
	return filled
}

// first is the first of the columns that the rows have; "": none.
func (s sample) first(columns []string) string {
	for _, column := range columns {
		if s.has(column) {
			return column
		}
	}
	return ""
}

// firstNamed is the first of the columns that the rows have, in capitals or not: Problem, ANSWER.
func (s sample) firstNamed(names []string) string {
	there := s.columns()
	for _, name := range names {
		alike := slices.DeleteFunc(slices.Clone(there), func(column string) bool { return !strings.EqualFold(column, name) })
		if column := s.first(append([]string{name}, alike...)); column != "" {
			return column
		}
	}
	return ""
}

// all says whether something holds for every row.
func (s sample) all(holds func(table.Row) bool) bool {
	return len(s) > 0 && !slices.ContainsFunc(s, func(row table.Row) bool { return !holds(row) })
}

// finder fills in the columns of a part.
type finder struct {
	sample
	*Columns
	wanted Wanted
	key    string // of the part in a recipe, with a dot
	found  []string
}

// say notes what was found.
func (f *finder) say(key, value string) {
	f.found = append(f.found, fmt.Sprintf("%s%s = %q", f.key, key, value))
}

// other names a column that verifiers and chats read.
func (f *finder) other(name, column string) {
	f.Others = maps.Clone(f.Others)
	if f.Others == nil {
		f.Others = map[string]string{}
	}
	f.Others[name] = column
	f.say("columns."+name, column)
}

// named says whether a column is there under its own name or was given one.
func (f *finder) named(name string) bool { return f.Others[name] != "" || f.has(name) }

func (f *finder) find() {
	if len(f.sample) == 0 {
		return // it is refused when it is read
	}
	answered := f.Answer != "" || f.AnswerPattern != "" || f.has("answer") && !f.has(aliases)
	if f.Prompt == "" && f.Template == "" {
		f.findPrompt(answered)
	}
	if f.wanted.Judged && !answered && !f.named("references") {
		f.findAnswer()
	}
	if f.wanted.Judged && f.Answer == "" && f.AnswerPattern == "" && f.wanted.Verifier != "" {
		f.findPattern()
	}
	if f.wanted.Imitated && !f.named(completionKey) && !f.spoken() {
		f.findCompletion()
	}
}

// findCompletion finds what is imitated: a solution, or else the answer alone.
func (f *finder) findCompletion() {
	names := completionNames
	if !f.named("instruction_id_list") && !f.has(instructionList+"instruction_id") {
		names = slices.Concat(names, []string{f.Answer}, answerNames, []string{"answers.text.0"})
	}
	if f.countdown() {
		return // its target is no answer to imitate
	}
	if column := f.firstNamed(names); column != "" {
		f.other(completionKey, column)
	}
}

// findPrompt finds what is asked. A question that belongs to a text, to choices or to tests
// is asked with them.
func (f *finder) findPrompt(answered bool) {
	base := f.first([]string{"question", "prompt", messagesKey})
	native := base != ""
	if !native {
		if column := f.first(conversationNames); column != "" && f.Others[messagesKey] == "" {
			f.other(messagesKey, column)
			return
		}
		base = f.firstNamed(slices.Concat([]string{"question", "prompt"}, promptNames))
	}
	if base == "" && f.countdown() {
		f.template("Use each of the numbers {" + numsKey + "} exactly once, with + - * / and parentheses, to make {target}.\nGive the expression alone on the last line, such as (1 + 2) * 3.")
		return
	}
	if base == "" || base == messagesKey || !f.all(func(row table.Row) bool { return isText(row[base]) }) {
		return
	}
	parts := []string{base}
	truths := f.all(isTruth) && !f.all(func(row table.Row) bool { return strings.Contains(strings.ToLower(textOf(row[base])), "true") })
	if context := f.first(contextNames); context != "" && (truths || !answered && f.first(referenceNames) != "") {
		parts = slices.Insert(parts, 0, context)
	}
	if base == "instruction" && f.columnThere("input") {
		parts = append(parts, "input")
	}
	if choices := f.first(choiceNames); choices != "" && !f.all(func(row table.Row) bool { return mentions(row[base], row[choices]) }) && f.listOfTexts(choices) {
		parts = append(parts, choices)
		if choices != choicesKey {
			f.other(choicesKey, choices)
		}
	}
	switch {
	case f.has("test_list") && !f.all(namesTested(base)):
		f.template("{" + base + "}\n\nYour code should pass these tests:\n{test_list}")
	case truths:
		f.template("{" + strings.Join(parts, "}\n\n{") + "}\n\nAnswer true or false.")
	case !native || len(parts) > 1:
		f.Prompt = strings.Join(parts, joint)
		f.say("prompt", f.Prompt)
	}
}

func (f *finder) template(text string) {
	f.Template = text
	f.say("prompt_template", text)
}

// numsKey is the column of the numbers of Countdown-Tasks, which has no question beside them.
const numsKey = "nums"

// countdown says whether rows are numbers and a target.
func (f *finder) countdown() bool { return f.has(numsKey) && f.has("target") }

// isTruth says whether the answer of a row is true or false, as a value of JSON.
func isTruth(row table.Row) bool {
	return json.Unmarshal(row["answer"], new(bool)) == nil && string(row["answer"]) != "null"
}

// columnThere says whether rows have a column, which may be empty in all of those looked at.
func (f *finder) columnThere(column string) bool {
	return f.all(func(row table.Row) bool { _, there := row[column]; return there })
}

func isText(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '"' }

// listOfTexts says whether a column has choices in a form that is read.
func (f *finder) listOfTexts(column string) bool {
	return f.all(func(row table.Row) bool { return strings.HasPrefix(shownList(row[column]), "A. ") })
}

// mentions says whether a question has the text of every choice in it.
func mentions(question, choices json.RawMessage) bool {
	one := table.Row{choicesKey: choices}
	var texts []string
	if lettered(one) != nil || json.Unmarshal(one[choicesKey], &texts) != nil {
		return false
	}
	text := textOf(question)
	return !slices.ContainsFunc(texts, func(choice string) bool { return !strings.Contains(text, choice) })
}

// called finds the names that a test calls.
var called = regexp.MustCompile(`([A-Za-z_]\w*)\(`)

// builtins are names that tests call around that of the program.
var builtins = []string{"assert", "set", "sorted", "list", "tuple", "dict", "str", "int", "float", "abs", "round", "len", "sum", "min", "max", "isclose", "all", "any", "not"}

// namesTested says whether the prompt of a row has a name that its first test calls: who does
// not know the name cannot write the program.
func namesTested(prompt string) func(table.Row) bool {
	return func(row table.Row) bool {
		var tests []string
		if json.Unmarshal(opened(row["test_list"]), &tests) != nil || len(tests) == 0 {
			return true
		}
		text := textOf(row[prompt])
		for _, name := range called.FindAllStringSubmatch(tests[0], -1) {
			if !slices.Contains(builtins, name[1]) && naming(text, name[1]) {
				return true
			}
		}
		return false
	}
}

// naming says whether a text names a function: as a call, in quotes, or by a word that can be
// nothing else.
func naming(text, name string) bool {
	for _, form := range []string{name + "(", "`" + name + "`", `"` + name + `"`, "'" + name + "'"} {
		if strings.Contains(text, form) {
			return true
		}
	}
	return strings.ContainsAny(name, "_0123456789") && strings.Contains(text, name)
}

// findAnswer finds the answer, or what stands in its place.
func (f *finder) findAnswer() {
	if f.instructions() || f.first(testNames) != "" {
		return
	}
	if f.countdown() {
		if !f.named("numbers") {
			f.other("numbers", numsKey)
		}
		return
	}
	if column := f.first(referenceNames); column != "" && f.all(func(row table.Row) bool {
		raw, err := lookup(row, column)
		return err == nil && json.Unmarshal(opened(raw), new([]string)) == nil
	}) {
		if column == aliases {
			f.answer(aliased)
		}
		f.other("references", column)
		return
	}
	for _, name := range append([]string{"answer"}, answerNames...) {
		column := f.firstNamed([]string{name})
		if column == "" || column == labelKey && f.has(completionKey) || strings.HasPrefix(f.Prompt, column) {
			continue
		}
		f.answer(column)
		return
	}
}

func (f *finder) answer(column string) {
	f.Answer = column
	f.say("answer", column)
}

// instructionList is where IF-RLVR keeps its instructions, as text.
const instructionList = "ground_truth.0."

// instructions says whether rows list instructions, and finds those of IF-RLVR.
func (f *finder) instructions() bool {
	if f.named("instruction_id_list") {
		return true
	}
	if !f.has(instructionList+"instruction_id") || !f.has(instructionList+"kwargs") {
		return false
	}
	f.other("instruction_id_list", instructionList+"instruction_id")
	f.other("kwargs", instructionList+"kwargs")
	return true
}

// hashes stands before the number of a solution of GSM8K.
const hashes = "#### "

// findPattern finds the answer at the end of a solution where the verifier that is named
// cannot read the whole.
func (f *finder) findPattern() {
	v, err := verify.New(f.wanted.Verifier, f.wanted.Options)
	if err != nil || !f.all(func(row table.Row) bool { return strings.Contains(textOf(row["answer"]), hashes) }) {
		return
	}
	behind := *f.Columns
	behind.AnswerPattern = hashes
	if !accepts(v, f.problems(*f.Columns), len(f.sample)) && accepts(v, f.problems(behind), len(f.sample)) {
		f.AnswerPattern = hashes
		f.say("answer_pattern", hashes)
	}
}

// accepts says whether there are n rows and a verifier can judge them all.
func accepts(v verify.Verifier, rows []verify.Problem, n int) bool {
	return len(rows) == n && !slices.ContainsFunc(rows, func(row verify.Problem) bool { return verify.Check(v, row) != nil })
}

// spoken says whether rows are conversations in which the assistant says something.
func (f *finder) spoken() bool {
	column := cmp.Or(f.Others[messagesKey], messagesKey)
	return f.all(func(row table.Row) bool {
		raw, err := lookup(row, column)
		if err != nil {
			return false
		}
		if turns, err := turnsOf(raw, nil); err == nil && turns != nil {
			raw = turns
		}
		return strings.Contains(string(raw), `"assistant"`)
	})
}
