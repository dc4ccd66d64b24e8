package recipe

import (
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/formula"
)

// pairsText is a recipe whose second stage makes pairs that the third one learns from.
const pairsText = beforeHead + `[[stage]]
name = "pairs"
kind = "make"
steps = 60
[[stage.make]]
rows = "pairs"
each = "pair"
where = "group_std(task) > 0"
row = {prompt = "{question}", chosen = "{best}", rejected = "{worst}", share = "{group_mean(task)}"}
[[stage]]
name = "rm"
kind = "preference"
trains = "rm"
max_tokens = 64
[[stage.source]]
rows = "pairs"
[stage.algorithm]
preset = "bradley_terry"
[[stage]]
name = "rl"
reward = "rm"
`

// TestMaking: a recipe that makes rows and learns from them is whole, its formulas are at the level of what a
// row is made of, and what it reads is asked for.
func TestMaking(t *testing.T) {
	r, err := Parse("mine.toml", pairsText, nil)
	if err != nil {
		t.Fatal(err)
	}
	sameAgain(t, r)
	st := &r.Stages[1]
	makes, err := st.Makes()
	if err != nil || len(makes) != 1 {
		t.Fatal(makes, err)
	}
	m := makes[0]
	if level, condition, _ := m.When.Level(m.Part); m.Level != formula.Group || level > formula.Group || !condition {
		t.Errorf("where is at level %v of %v", level, m.Level)
	}
	if share := m.Columns["share"].Text; len(share) != 1 || share[0].Program == nil {
		t.Errorf("share is %+v", share)
	}
	if best := m.Columns["chosen"].Text; len(best) != 1 || !best[0].Braced || best[0].Program != nil {
		t.Errorf("chosen is %+v", best)
	}
	if reads, err := st.Reads(); err != nil || !slices.Contains(reads, "task") {
		t.Errorf("the stage reads %v, %v", reads, err)
	}
	if !r.MakesRows() || st.Learns() || !st.Draws() || !r.Stages[2].OfRows() || r.Stages[3].OfRows() {
		t.Errorf("%+v", r.Stages[2].Sources)
	}
	r.Stages[3].Make = []Making{{Rows: "pairs", Most: 5}}
	if got := r.MostOf("pairs"); got != 0 {
		t.Errorf("of rows of which one stage bounds none, %d are drawn from", got)
	}
	st.Make[0].Most = 3
	if got := r.MostOf("pairs"); got != 5 {
		t.Errorf("at most %d rows are drawn from, want 5", got)
	}
	st.Sources = []rowSource{{Share: 0.7}, {Share: 0.2}, {Share: 0.1}} // whose sum as floats is below 1
	if !st.OfRows() {
		t.Error("shares of 0.7, 0.2 and 0.1 are not all of a step")
	}
	plain, err := Load("chain-sum-tiny", nil)
	if err != nil || plain.MakesRows() || strings.Contains(plain.Resolved(), "[[stage.make]]") || strings.Contains(plain.Resolved(), "[[stage.source]]") {
		t.Errorf("a recipe without made rows names them: %v", err)
	}
	if _, err := Parse("mine.toml", pairsText, []string{"stage.pairs.skip=true"}); err == nil || !strings.Contains(err.Error(), `"pairs": no stage makes such rows`) {
		t.Errorf("rows of a stage that is left out: %v", err)
	}
}

// TestMakingErrors: what cannot be made or drawn is refused with line and column.
func TestMakingErrors(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{`rows = "pairs"` + "\neach", `rows = "Pairs"` + "\neach", `mine.toml:12:1: stage.pairs.make.0.rows = "Pairs" is not accepted; accepted: lower-case letters, digits and _, such as pairs`},
		{"[[stage.source]]\nrows = \"pairs\"", "[[stage.source]]\nrows = \"pirs\"", `mine.toml:22:1: stage.rm.source.0.rows = "pirs": no stage makes such rows; did you mean pairs?`},
		{"[[stage.make]]", "[[stage.mkae]]", `stage.pairs.mkae`},
		{"each = \"pair\"", "each = \"pear\"", `mine.toml:13:1: stage.pairs.make.0.each = "pear" is not known; accepted: completion, pair, group`},
		{`each = "pair"`, `each = "completion"`, `mine.toml:15:31: stage.pairs.make.0.row.chosen: column 2: best goes with each = "pair"`},
		{`{best}`, `{bst}`, `mine.toml:15:31: stage.pairs.make.0.row.chosen: column 2: unknown name bst`},
		{`{best}`, `{best`, `mine.toml:15:31: stage.pairs.make.0.row.chosen: the brace at byte 1 names no name`},
		{`share =`, `step =`, `stage.pairs.make.0.row.step: every row has step already, which says where it comes from; accepted: another name, such as its_step`},
		{`{best}`, ` `, `mine.toml:15:31: stage.pairs.make.0.row.chosen is empty, and so would be the column of every row`},
		{`{best}`, `{completion}`, `column 2: completion goes with each = "completion"`},
		{`{best}`, `{said.extracted}`, `column 2: said.extracted goes with check, which finds it in what by has written`},
		{`{best}`, `{task.reason}`, `column 2: task.reason goes with each = "completion"`},
		{`{best}`, `{tsk.reason}`, `column 2: unknown name tsk`},
		{`{best}`, `{said}`, `column 2: said goes with by, the model that says it`},
		{`{group_mean(task)}`, `{task}`, `stage.pairs.make.0.row.share: column 2: one value for each completion where one for each group is wanted`},
		{`{group_mean(task)}`, `{1 + logp}`, `stage.pairs.make.0.row.share: column 2: it is evaluated after sampling, and cannot read values of an update`},
		{`where = "group_std(task) > 0"`, `where = "group_std(task)"`, `mine.toml:14:1: stage.pairs.make.0.where: a number where a condition is wanted`},
		{`where = "group_std(task) > 0"`, `where = "wrong(task)"`, `mine.toml:14:1: stage.pairs.make.0.where: one value for each completion where one for each group is wanted`},
		{`share = "{group_mean(task)}"`, `share = []`, `mine.toml:15:72: stage.pairs.make.0.row.share is an empty list; accepted: a list of texts`},
		{`share = "{group_mean(task)}"`, `share = ["{best}", 1]`, `stage.pairs.make.0.row.share.1 = 1 is a whole number; accepted: a text with names in braces, or a table of them`},
		{`share = "{group_mean(task)}"`, `share = [{ask = true}]`, `stage.pairs.make.0.row.share.0.ask = true is a boolean; accepted: a text with names in braces, or a number`},
		{`share = "{group_mean(task)}"`, `share = [{ask = "x", points = inf}]`, `accepted: finite numbers`},
		{`share = "{group_mean(task)}"`, `share = [{ask = "x", "a b" = 2}]`, `stage.pairs.make.0.row.share.0.a b: the name of a member is not accepted; accepted: lower-case letters, digits and _`},
		{`share = "{group_mean(task)}"`, `share = [{ask = "x"}, {ask = " "}]`, `stage.pairs.make.0.row.share.1.ask is empty, and so would be`},
		{`share = "{group_mean(task)}"`, `share = ["x", "{said}"]`, `stage.pairs.make.0.row.share.1: column 2: said goes with by`},
		{`share = "{group_mean(task)}"`, `share = ["x", "{bst}"]`, `stage.pairs.make.0.row.share.1: column 2: unknown name bst`},
		{`share = "{group_mean(task)}"`, `share = [{ask = "x{task}", points = 2}]`, `stage.pairs.make.0.row.share.0.ask: column 3: one value for each completion where one for each group is wanted`},
		{`prompt = "{question}", `, ``, `mine.toml:15:1: stage.pairs.make.0.row has no prompt, which every row has`},
		{`share = "{group_mean(task)}"`, `share = 1`, `mine.toml:15:72: stage.pairs.make.0.row.share = 1 is a whole number; accepted: a text with names in braces`},
		{`share = "`, `by-line = "`, `stage.pairs.make.0.row.by-line: the name of a column is not accepted`},
		{"steps = 60", "steps = 60\ngroup_size = 1", `stage.pairs.make.0.each = "pair" needs a group_size of at least 2; found 1`},
		{"steps = 60", "steps = 60\nalgorithm = {preset = \"grpo\"}", "stage.pairs.algorithm is a table of stages that learn; this one is of kind make"},
		{"steps = 60", "steps = 60\noptimizer = {lr = 1.0}", `stage.pairs.optimizer goes with kind = "sft" or "preference" or "rl"; this table has kind = "make"`},
		{"each = \"pair\"", "each = \"pair\"\nby = \"policy\"", `stage.pairs.make.0.say and by go together: who writes, and what is asked`},
		{"each = \"pair\"", "each = \"pair\"\nsay = \"{said}\"\nby = \"policy\"", `stage.pairs.make.0.say: column 2: said is of what by answers to say`},
		{"each = \"pair\"", "each = \"pair\"\nsay = \"x\"\nby = \"polly\"", `stage.pairs.make.0.by = "polly": there is no [models.polly]; did you mean policy?`},
		{"each = \"pair\"", "each = \"pair\"\nsay = \"x\"\nby = \"rm\"", `stage.pairs.make.0.by = "rm": a model with a head scores and does not write`},
		{"each = \"pair\"", "each = \"pair\"\nsay = \"x\"\nby = \"policy\"\ncheck = \"form\"", `stage.pairs.make.0.check = "form" is no verifier of the stage; accepted: task, problem, rewritten`},
		{"each = \"pair\"", "each = \"pair\"\ncheck = \"task\"", `stage.pairs.make.0.check goes with by, whose text it judges`},
		{"[[stage.source]]\nrows = \"pairs\"", "[[stage.source]]\nrows = \"pairs\"\nshare = 0.5", `stage.rm.kind = "preference" needs rows with chosen and rejected`},
		{"[[stage.source]]\nrows = \"pairs\"", "[[stage.source]]\nrows = \"pairs\"\n[[stage.source]]\nrows = \"pairs\"", `stage.rm.source: the shares come to 2; accepted: at most 1`},
		{"name = \"warm-up\"", "name = \"warm-up\"\nsource = [{rows = \"pairs\"}]", `stage.warm-up.source.0.rows = "pairs": stage pairs makes these rows, which comes after stage warm-up`},
		{"reward = \"rm\"", "reward = \"rm\"\nsource = [{rows = \"pairs\"}]\nlag = 1\norder = \"arrival\"", `stage.rl.order = "arrival" does not go with made rows`},
		{"reward = \"rm\"", "reward = \"rm\"\nsource = [{rows = \"pairs\"}]\ncurriculum = {teacher = {space = {terms = [2, 4]}}}", "stage.rl.source does not go with curriculum.teacher"},
		{"[[stage.make]]\nrows = \"pairs\"\neach = \"pair\"\nwhere = \"group_std(task) > 0\"\n", "#", "stage.pairs is of kind make and has no [[stage.make]], which says what it makes"},
	} {
		text := strings.Replace(pairsText, c.old, c.new, 1)
		if text == pairsText {
			t.Fatalf("%q is not in the recipe", c.old)
		}
		if c.new == "#" { // row goes with the table
			text = strings.Replace(text, "\nrow = {", "\n#row = {", 1)
			text = strings.Replace(text, "#row", "\n#row", 1)
		}
		if _, err := Parse("mine.toml", text, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", c.new, err, c.want)
		}
	}
	const none = "base = \"chain-sum-tiny\"\n[[stage]]\nname = \"rl\"\nsource = [{rows = \"failed\"}]\n"
	if _, err := Parse("mine.toml", none, nil); err == nil || !strings.Contains(err.Error(), `mine.toml:4:12: stage.rl.source.0.rows = "failed": no stage makes such rows`) {
		t.Errorf("rows that nobody makes: %v", err)
	}
	played := strings.Replace(none, "chain-sum-tiny", "guess-tiny", 1)
	played = strings.Replace(played, `source = [{rows = "failed"}]`, `make = [{rows = "failed", row = {question = "{question}"}}]`, 1)
	if _, err := Parse("mine.toml", played, nil); err == nil || !strings.Contains(err.Error(), "does not go with a task that is played in turns") {
		t.Errorf("rows of episodes: %v", err)
	}
	sft := strings.Replace(pairsText, `kind = "preference"`, `kind = "sft"`, 1)
	sft = strings.Replace(sft, "max_tokens = 64\n", "", 1)
	sft = strings.Replace(sft, `preset = "bradley_terry"`, `preset = "sft"`, 1)
	good := strings.Replace(pairsText, "[[stage.make]]\nrows = \"pairs\"\n", `[[stage.verifier]]
name = "good"
verifier = "judge"
options = {model = "rm", source = "{question}{completion}", read = "head"}
[[stage.make]]
rows = "pairs"
say = "x"
by = "policy"
check = "good"
`, 1)
	if _, err := Parse("mine.toml", good, nil); err == nil || !strings.Contains(err.Error(), `mine.toml:19:1: stage.pairs.make.0.check = "good" is a judge; accepted: a verifier that judges by itself`) {
		t.Errorf("a judge that checks: %v", err)
	}
	const judged = `model.path = "x"
models.past = {path = "y"}
[task]
data = "x.jsonl"
verifier = "judge"
options = {model = "past", source = "{completion}", read = {yes = 1, no = 0}}
max_prompt_tokens = 8
[[stage]]
kind = "rl"
sampling = {max_completion_tokens = 4}
make = [{rows = "failed", row = {question = "{said}"}, say = "x", by = "policy", check = "task"}]
`
	if _, err := Parse("mine.toml", judged, nil); err == nil || !strings.Contains(err.Error(), `mine.toml:11:82: stage.rl.make.0.check = "task": a judge gives the verdicts of the task; accepted: a verifier of the stage that judges by itself`) {
		t.Errorf("a check by the task's judge: %v", err)
	}
	if _, err := Parse("mine.toml", sft, nil); err == nil || !strings.Contains(err.Error(), "stage.rm.max_tokens is missing: made rows have no fixed length") {
		t.Errorf("imitation of made rows without a length: %v", err)
	}
}

// TestAskedTokens: what a model is asked has room for its own bytes and, for each name, for what stands there.
func TestAskedTokens(t *testing.T) {
	for say, want := range map[string]func(prompt, drawn int) int{
		"{question}":             func(prompt, _ int) int { return prompt },
		">{question}":            func(prompt, _ int) int { return 1 + prompt },
		"{{{completion} {row.a}": func(prompt, drawn int) int { return 2 + drawn + prompt },
	} {
		r, err := Load("countdown-tiny", []string{`stage.rl.make=[{rows = "a", by = "policy", say = "` + say + `", max_tokens = 7, row = {question = "{said}"}}]`})
		if err != nil {
			t.Fatal(err)
		}
		st := &r.Stages[len(r.Stages)-1]
		if w := r.Writers(); len(w) != 1 || w[0].Room != want(r.Task.MaxPromptTokens, r.MaxDrawn(st))+7 {
			t.Errorf("%s: %+v", say, w)
		}
	}
}
