package tasks

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/verify"
)

func init() {
	register(Family{
		Name:    "table",
		Summary: "answer a question about a table by a query, or in words",
		Doc: `table: write the query that answers a question about a table, or say what stands there.

    a 3 7 2 b 4 1 9 max a b>3:   SELECT(max(a))FROM(t)WHERE(b>3)
    a 3 7 2 b 4 1 9 say a b>3:   2-3

The table t has two columns of whole numbers. A question asks for the max, min or sum of a column in some rows, or to
say something about its values there. Numbers are drawn; a draw is discarded if no row is asked about, or if the other
sign, < in place of >, asks for the same. One problem in 16 is held out, chosen by the CRC-32 of the question: another
question about the same table is another problem.

Right: the completion ends. A query is right if it gives what the question asks for, in the table and in two others
that no prompt shows: a number that is right by chance is not enough. It is written as above: anything else is wrong,
and the verifier sql, which reads the same rows, takes all of SQL. Words are free, up to 64 bytes: they name the lowest and
the highest value, in any order, and no number that is none of the values.

The member asks of a row is query or words. Its member criteria has what a good answer names, and numbers the numbers
that it may name, both as texts, for a script that judges without running anything. The criteria of a query are its function
and the number, and leave out the sign.

Demonstrations: with probability careless the sign is misread. Words are the lowest and the highest value.

` + describeSettings(defaultTable()),
		New: func() Task { return defaultTable() },
	}, verify.Entry{
		Summary: "the task table: a query with the right result, or words with the right numbers",
		Doc: `task:table: right when a query gives what the question of its row asks for, in each of the row's tables, or when
words name the lowest and the highest of the values that are asked about and no other number.

Queries are those of the task's answers; the verifier sql takes others.

Option extract: as for the verifier number; default "announced". An answer that is not announced is the whole completion.
`,
		New: func(options json.RawMessage) (verify.Verifier, error) {
			o := tableJudge{Extract: "announced"}
			if err := verify.DecodeOptions(options, &o); err != nil {
				return nil, err
			}
			return o, nil
		},
	})
}

func defaultTable() *tabled { return &tabled{Rows: 3, Most: 20, Words: 0.5, Careless: 0.4} }

// tabled is the task "table".
type tabled struct {
	Rows     int     `toml:"rows" range:"[2,9]" about:"rows of a table"`
	Most     int     `toml:"most" range:"[3,999]" about:"largest number"`
	Words    float64 `toml:"words" range:"[0,1]" about:"share of the questions that are answered in words"`
	Careless float64 `toml:"careless" range:"[0,1]" about:"probability of misreading the sign in a demonstration"`
}

var _ Demonstrator = (*tabled)(nil)

// contents are the rows of a table, each with a number in column a and in b.
type contents [][2]int

// tablesOfRow are how many tables a query is tried on: the one that the prompt shows, and hidden ones.
const tablesOfRow = 3

// asking is what a question asks for, or a query selects.
type asking struct {
	what   string // max, min, sum; say
	of, by string // the column that is asked about, and the one that says in which rows
	sign   string // of the condition: < or >
	limit  int
}

const sayIt = "say"

var (
	asksFor = regexp.MustCompile(`(max|min|sum|say) ([ab]) ([ab])([<>])([0-9]{1,6}):$`)
	aQuery  = regexp.MustCompile(`^SELECT\((max|min|sum)\(([ab])\)\)FROM\(t\)WHERE\(([ab])([<>])([0-9]{1,6})\)$`)
	inWords = regexp.MustCompile(`^[0-9]+-[0-9]+$`)
)

// askingOf reads a question or a query by its pattern; false: it is none.
func askingOf(pattern *regexp.Regexp, text string) (asking, bool) {
	m := pattern.FindStringSubmatch(text)
	if m == nil {
		return asking{}, false
	}
	limit, err := strconv.Atoi(m[5])
	return asking{m[1], m[2], m[3], m[4], limit}, err == nil
}

func (a asking) question() string {
	return fmt.Sprintf("%s %s %s%s%d:", a.what, a.of, a.by, a.sign, a.limit)
}

func (a asking) query() string {
	return fmt.Sprintf("SELECT(%s(%s))FROM(t)WHERE(%s%s%d)", a.what, a.of, a.by, a.sign, a.limit)
}

// misread is the same with the other sign.
func (a asking) misread() asking {
	a.sign = map[string]string{"<": ">", ">": "<"}[a.sign]
	return a
}

// values are those that are asked about, in order.
func (a asking) values(t contents) (out []int) {
	for _, row := range t {
		column := map[string]int{"a": row[0], "b": row[1]}
		if x := column[a.by]; a.sign == "<" && x < a.limit || a.sign == ">" && x > a.limit {
			out = append(out, column[a.of])
		}
	}
	slices.Sort(out)
	return out
}

// result is what a query gives; false: NULL.
func (a asking) result(t contents) (int, bool) {
	all := a.values(t)
	if len(all) == 0 {
		return 0, false
	}
	switch a.what {
	case "max":
		return all[len(all)-1], true
	case "min":
		return all[0], true
	}
	sum := 0
	for _, x := range all {
		sum += x
	}
	return sum, true
}

// words are the lowest and the highest of the values.
func (a asking) words(t contents) string {
	all := a.values(t)
	return fmt.Sprintf("%d-%d", all[0], all[len(all)-1])
}

// Name implements [Task].
func (t *tabled) Name() string { return "table" }

// Validate implements [Task].
func (t *tabled) Validate() error {
	if err := settings.Check(t); err != nil {
		return err
	}
	return probe(t.attempt)
}

// Difficulty implements [Task].
func (t *tabled) Difficulty() string { return settingsText(t) }

// Draw implements [Task]. The row's answer is a query or words.
func (t *tabled) Draw(r *random.Rand, split Split) verify.Problem { return draw(r, split, t.attempt) }

func (t *tabled) attempt(r *random.Rand) (verify.Problem, bool) {
	a := asking{what: pick(r, []string{"max", "min", "sum"}), of: pick(r, []string{"a", "b"}), by: pick(r, []string{"a", "b"}), sign: pick(r, []string{"<", ">"}), limit: r.Between(1, t.Most)}
	asks, reply := "query", asking.query
	if r.Chance(t.Words) {
		a.what, asks = sayIt, "words"
	}
	all, ok := make([]map[string]contents, tablesOfRow), true
	for i := range all {
		one := make(contents, t.Rows)
		for k := range one {
			one[k] = [2]int{r.Between(1, t.Most), r.Between(1, t.Most)}
		}
		all[i] = map[string]contents{"t": one}
		ok = ok && len(a.values(one)) > 0
	}
	shown, other := all[0]["t"], a.misread()
	if !ok || len(other.values(shown)) == 0 {
		return verify.Problem{}, false
	}
	criteria, numbers := []string{a.what + "(" + a.of + ")", strconv.Itoa(a.limit)}, []string{strconv.Itoa(a.limit)}
	if asks == "words" {
		reply, numbers = func(a asking) string { return a.words(shown) }, nil
		for _, x := range a.values(shown) {
			numbers = append(numbers, strconv.Itoa(x))
		}
		criteria = []string{numbers[0], numbers[len(numbers)-1]}
		ok = a.words(shown) != other.words(shown)
	} else {
		one, _ := a.result(shown)
		two, _ := other.result(shown)
		ok = one != two
	}
	text := ""
	for column, name := range []string{"a", "b"} {
		text += name
		for _, row := range shown {
			text += " " + strconv.Itoa(row[column])
		}
		text += " "
	}
	question := text + a.question()
	return verify.Problem{ID: question, Question: question, Answer: reply(a), Metadata: metadata(map[string]any{
		"asks": asks, "schema": "CREATE TABLE t(a INT, b INT)", "rows": all, "criteria": criteria, "numbers": numbers})}, ok
}

// askedOf is what a row of the task asks for, and its tables.
func askedOf(row verify.Problem) (asking, []contents, error) {
	a, ok := askingOf(asksFor, row.Question)
	var all []map[string]contents
	found, err := row.Field("rows", &all)
	if !ok || !found || err != nil || len(all) == 0 {
		return a, nil, fmt.Errorf("task table: row %q does not belong to this task: it has no question about tables", row.ID)
	}
	var tables []contents
	for _, one := range all {
		tables = append(tables, one["t"])
	}
	if a.what == sayIt && len(a.values(tables[0])) == 0 {
		return a, nil, fmt.Errorf("task table: row %q asks about no value", row.ID)
	}
	return a, tables, nil
}

// Demonstration implements [Demonstrator].
func (t *tabled) Demonstration(r *random.Rand, row verify.Problem) (string, error) {
	a, tables, err := askedOf(row)
	if err != nil {
		return "", err
	}
	if r.Chance(t.Careless) {
		a = a.misread()
	}
	if a.what == sayIt {
		return a.words(tables[0]), nil
	}
	return a.query(), nil
}

// Verify implements [Task].
func (t *tabled) Verify(row verify.Problem, completion string, ended bool) verify.Verdict {
	if !ended {
		return verify.Reject(completion, tableRule, "the completion does not end within its length limit")
	}
	return judgeTable(row, completion)
}

const (
	tableRule = "table"
	mostWords = 64 // bytes of an answer
)

// judgeTable judges a query or words.
func judgeTable(row verify.Problem, text string) verify.Verdict {
	a, tables, err := askedOf(row)
	if err != nil {
		return verify.Abstain("%v", err)
	}
	if len(text) > mostWords {
		return verify.Reject(text, tableRule, "it is longer than %d bytes", mostWords)
	}
	if a.what == sayIt {
		return judgeWords(a.values(tables[0]), text)
	}
	query, ok := askingOf(aQuery, text)
	if !ok {
		return verify.Reject(text, tableRule, "it is no query such as SELECT(max(a))FROM(t)WHERE(b>3)")
	}
	for i, one := range tables {
		want, some := a.result(one)
		if got, any := query.result(one); any != some || got != want {
			return verify.Reject(text, tableRule, "it gives something else in table %d", i+1)
		}
	}
	return verify.Accept(text, tableRule, "it gives what is asked for in %d tables", len(tables))
}

// judgeWords judges what is said about values, which are in order.
func judgeWords(values []int, text string) verify.Verdict {
	said := map[int]bool{}
	for _, word := range numerals.FindAllString(text, -1) {
		x, err := strconv.Atoi(word)
		if err != nil || !slices.Contains(values, x) {
			return verify.Reject(text, tableRule, "%s is none of the values", word)
		}
		said[x] = true
	}
	if lowest, highest := values[0], values[len(values)-1]; !said[lowest] || !said[highest] {
		return verify.Reject(text, tableRule, "it does not name both %d and %d", lowest, highest)
	}
	return verify.Accept(text, tableRule, "it names the lowest and the highest value, and no other number")
}

// Valid implements [Demonstrator]: a query, or two numbers.
func (t *tabled) Valid(row verify.Problem, completion string, ended bool) bool {
	a, _, err := askedOf(row)
	if err != nil || !ended {
		return false
	}
	if a.what == sayIt {
		return inWords.MatchString(completion)
	}
	return aQuery.MatchString(completion)
}

// Vocabulary implements [Demonstrator].
func (t *tabled) Vocabulary() []string { return textTokens("SELCT(maxinsubyt)FROMWH<>:-", t.Most+1) }

// PromptTokens implements [Demonstrator]: a 3 7 2 b 4 1 9 max a b>3:
func (t *tabled) PromptTokens() int { return 2*t.Rows + len("ab") + len("maxab>3:") }

// CompletionTokens implements [Demonstrator].
func (t *tabled) CompletionTokens() int {
	if t.Words == 1 {
		return len("3-7") + 1
	}
	return len("SELECT(max(a))FROM(t)WHERE(b>3)") + 1
}

func (t *tabled) instruction() string {
	return `Answer the question about the table t, and write nothing else. The prompt lists its columns a and b. "max a b>3:" asks for the largest a in the rows whose b is above 3: write the query, such as SELECT(max(a))FROM(t)WHERE(b>3). ` +
		`"say a b>3:" asks what is there: name the lowest and the highest a of these rows, such as 2-3.`
}

// tableJudge is "task:table".
type tableJudge struct {
	Extract string `toml:"extract" choice:"none,announced,last_line"`
}

// Check implements [verify.Checker].
func (j tableJudge) Check(row verify.Problem) error {
	_, _, err := askedOf(row)
	return err
}

// Verify implements [verify.Verifier].
func (j tableJudge) Verify(row verify.Problem, completion string) verify.Verdict {
	text := strings.TrimSpace(completion)
	if announced, _, err := verify.Answer(completion, j.Extract, mostWords); err == nil {
		text = announced
	}
	return judgeTable(row, text)
}
