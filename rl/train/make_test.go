package train

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/internal/fixtures"
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/panel"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/record"
	"github.com/rlzero/rlzero/rl/resolve"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/rl/tasks"
	"github.com/rlzero/rlzero/verify"
	"github.com/rlzero/rlzero/verify/judge"
)

// scribe is a model that writes its question in capitals, and says what it was asked.
type scribe struct {
	renderer *prompts.Renderer
	asked    []panel.Asked
	cut      bool
	says     string // in place of the question
}

func (s *scribe) Question(text string) ([]int, error) { return s.renderer.Plain(text) }
func (s *scribe) Renderer() *prompts.Renderer         { return s.renderer }
func (s *scribe) Room() int                           { return 100 }
func (s *scribe) Version() any                        { return 0 }
func (s *scribe) Shares() bool                        { return true }
func (s *scribe) Heads([]rollout.View) ([]float64, bool, error) {
	return nil, false, fmt.Errorf("no head")
}
func (s *scribe) Logprobs([]rollout.View) ([]float64, error) { return nil, fmt.Errorf("no log-probs") }
func (s *scribe) Write(_ context.Context, asked []panel.Asked) ([][]judge.Said, error) {
	out := make([][]judge.Said, len(asked))
	for i, a := range asked {
		s.asked = append(s.asked, a)
		text := strings.ToUpper(s.renderer.Decode(a.IDs))
		if s.says != "" {
			text = s.says
		}
		out[i] = []judge.Said{{Text: text, Ended: !s.cut, Tokens: 1}}
	}
	return out, nil
}

// plainRenderer reads and writes texts by the tokens of a chat model, without its template.
func plainRenderer(t *testing.T) *prompts.Renderer {
	t.Helper()
	f, err := hf.ReadFolder(fixtures.ChatModel(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Tensors.Close() })
	r, err := prompts.NewRenderer(f.Tokenizer, f.Config.EOS, prompts.Style{Form: prompts.Text})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// madeOf are the rows that tables [[stage.make]] make of a step of the problems a and x, each with three
// completions of which the first is wrong; those of x are all wrong.
func madeOf(t *testing.T, made string, by *scribe, heldOut ...verify.Problem) ([]record.Made, metrics.Row, *Rows) {
	t.Helper()
	rows, e, err := makingOf(t, made, by, nil, heldOut...)
	if err != nil {
		t.Fatal(err)
	}
	return e.Made, e.Metrics, rows
}

// makingOf are they with their event, after a change of the tables; nil: there is none.
func makingOf(t *testing.T, made string, by *scribe, change func([]recipe.Made), heldOut ...verify.Problem) (*Rows, *Event, error) {
	t.Helper()
	sets := []string{"stage.rl.reward=task", "stage.rl.make=" + made}
	if strings.Contains(made, `"scribe"`) {
		sets = append(sets, `models={scribe = {copy = "policy"}}`)
	}
	r := smallest(t, sets...)
	d := drawerOf(t, r, &spoken{version: 7})
	p := Plan{At: Position{Step: 2, Total: 4}, Version: 3, stage: &r.Stages[0],
		Problems: []verify.Problem{{Question: "a", Answer: "b", Metadata: map[string]json.RawMessage{"list": json.RawMessage("[1,2]")}}, {ID: "the x", Question: "x"}}}
	drawn, err := d.draw(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if by.renderer == nil {
		by.renderer = plainRenderer(t)
	}
	makes, err := r.Stages[0].Makes()
	if err != nil {
		t.Fatal(err)
	}
	v := Valued{Asked: Asked{Drawn: drawn, Now: atOnce(drawn.Completions)}}
	if v.Table, err = d.of(&v.Plan, v.Completions, v.Now).table(asked, d.reads); err != nil {
		t.Fatal(err)
	}
	rows := NewRows(r, by.renderer, &HeldOut{recipe: r, known: prompts.TextsOf(heldOut)})
	m := &maker{facts: d.facts, makes: makes, rows: rows, models: map[string]panel.Member{"policy": by, "scribe": by},
		checks: map[string]verify.Verifier{"task": checkedBy(d.collector), "broken": broken{}, "dear": dear{}}}
	e := &Event{Metrics: metrics.Row{}}
	if change != nil {
		change(makes)
	}
	return rows, e, m.into(t.Context(), &v, e)
}

// broken is a verifier that panics.
type broken struct{}

func (broken) Verify(verify.Problem, string) verify.Verdict { panic("no row is like this") }

// dear is a verifier that takes more than it may.
type dear struct{ broken }

func (dear) Metered(verify.Problem, string) (verify.Verdict, verify.Cost) {
	return verify.Accept("", "", ""), verify.Cost{Steps: 1 << 40}
}

func inJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestMaker: rows are made of completions, pairs and groups, with texts, values, numbers and lists, and say where they
// come from; where an entry of a list lacks something there is no row.
func TestMaker(t *testing.T) {
	for _, c := range []struct{ made, want string }{
		{`[{rows = "failed", where = "wrong(task)", row = {question = "{question}:{completion}!", answer = "{tokens}"}}]`,
			`[{"id":"failed/1","from":"a","group":0,"samples":[0],"by":"policy@3","seed":1,"row":{"answer":2,"question":"a:a0!"}},` +
				`{"id":"failed/2","from":"the x","group":1,"samples":[0],"by":"policy@3","seed":1,"row":{"answer":2,"question":"x:x0!"}},` +
				`{"id":"failed/3","from":"the x","group":1,"samples":[1],"by":"policy@3","seed":1,"row":{"answer":2,"question":"x:x1!"}},` +
				`{"id":"failed/4","from":"the x","group":1,"samples":[2],"by":"policy@3","seed":1,"row":{"answer":2,"question":"x:x2!"}}]`},
		{`[{rows = "told", where = "wrong(task)", row = {question = "{question}", answer = "{task.reason}"}}]`,
			`[{"id":"told/1","from":"a","group":0,"samples":[0],"by":"policy@3","seed":1,"row":{"answer":"not a0","question":"a"}},` +
				`{"id":"told/2","from":"the x","group":1,"samples":[0],"by":"policy@3","seed":1,"row":{"answer":"not x0","question":"x"}},` +
				`{"id":"told/3","from":"the x","group":1,"samples":[1],"by":"policy@3","seed":1,"row":{"answer":"not x1","question":"x"}},` +
				`{"id":"told/4","from":"the x","group":1,"samples":[2],"by":"policy@3","seed":1,"row":{"answer":"not x2","question":"x"}}]`},
		{`[{rows = "pairs", each = "pair", row = {prompt = "{question}", chosen = "{best}", rejected = "{worst}", share = "{group_mean(task)}/1"}}]`,
			`[{"id":"pairs/1","from":"a","group":0,"samples":[1,0],"by":"policy@3","seed":1,"row":{"chosen":"a1","prompt":"a","rejected":"a0","share":"0.6666666666666666/1"}}]`},
		{`[{rows = "kept", each = "group", where = "group_max(task) == 1", row = {question = "{question}", answer = "{answer}", list = "{row.list}", in = "{{{row.list}}}", best = "{group_max(task) == 1}"}}]`,
			`[{"id":"kept/1","from":"a","group":0,"by":"policy@3","seed":1,"row":{"answer":"b","best":1,"in":"{[1,2]}","list":[1,2],"question":"a"}}]`},
		{`[{rows = "judged", each = "group", where = "group_max(task) == 1", row = {question = "{question}", rubric = ["is {answer}", {ask = "{row.list}", points = 2, less = 0.5}]}}]`,
			`[{"id":"judged/1","from":"a","group":0,"by":"policy@3","seed":1,"row":{"question":"a","rubric":["is b",{"ask":[1,2],"less":0.5,"points":2}]}}]`},
		{`[{rows = "read", where = "right(task)", row = {question = "{extracted}"}}]`,
			`[{"id":"read/1","from":"a","group":0,"samples":[1],"by":"policy@3","seed":1,"row":{"question":"a1"}},` +
				`{"id":"read/2","from":"a","group":0,"samples":[2],"by":"policy@3","seed":1,"row":{"question":"a2"}}]`},
	} {
		made, row, rows := madeOf(t, c.made, &scribe{})
		name := made[0].Rows
		if lacking := strings.Replace(c.made, "is {answer}", "is {row.none}", 1); lacking != c.made {
			if made, row, _ := madeOf(t, lacking, &scribe{}); len(made) != 0 || row["made/left_out/"+name] != 1 {
				t.Errorf("%s makes %s", lacking, inJSON(t, made))
			}
		}
		if got := strings.ReplaceAll(inJSON(t, made), `"step":0,"stage":"","rows":"`+name+`",`, ""); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.made, got, c.want)
		}
		if row["made/rows/"+name] != float64(len(made)) || row["made/left_out/"+name] != 0 || len(rows.kept[name]) != len(made) || rows.kept[name][0].ID != made[0].ID {
			t.Errorf("%s: %v, kept %v", c.made, row, rows.kept)
		}
	}
}

// TestMakerWrites: a model writes a text for each row, by a seed of its own; control tokens in what it is asked
// are text; of a text that is cut, or wrong by check, there is no row.
func TestMakerWrites(t *testing.T) {
	const said = `[{rows = "said", each = "group", by = "scribe", say = "{question}<|im_end|>", row = {prompt = "{question}", completion = "{said}?"}, max_tokens = 5, temperature = 0.5}]`
	by := &scribe{says: "yes"}
	made, _, _ := madeOf(t, said, by)
	if len(made) != 2 || string(made[0].Row["completion"]) != `"yes?"` || made[0].By != "scribe" || made[0].Seed == made[1].Seed || made[0].Seed != by.asked[0].Seed || made[0].Samples != nil {
		t.Errorf("%s", inJSON(t, made))
	}
	if want := random.At(1, random.Stream(random.Made, 0), 2<<32|1).Uint64(); made[1].Seed != want {
		t.Errorf("the seed of the second text of step 3 is %d, want %d", made[1].Seed, want)
	}
	plain, err := by.renderer.Answer("a<|im_end|>")
	if err != nil || inJSON(t, plain) != inJSON(t, by.asked[0].IDs) || by.asked[0].MaxTokens != 5 || by.asked[0].Temperature != 0.5 || len(plain) < 3 {
		t.Errorf("asked %+v, want %v, %v", by.asked[0], plain, err)
	}
	if _, row, _ := madeOf(t, said, &scribe{says: "yes", cut: true}); row["made/rows/said"] != 0 || row["made/left_out/said"] != 2 {
		t.Errorf("texts that are cut: %v", row)
	}
	checked := strings.Replace(said, "by =", `check = "task", by =`, 1)
	if made, row, _ := madeOf(t, checked, &scribe{says: "9"}); len(made) != 2 || row["made/left_out/said"] != 0 {
		t.Errorf("right texts: %v", row)
	}
	if _, row, _ := madeOf(t, checked, &scribe{says: "x"}); row["made/rows/said"] != 0 || row["made/left_out/said"] != 2 {
		t.Errorf("wrong texts: %v", row)
	}
	found := strings.Replace(checked, "{said}?", "{said.extracted}", 1)
	if made, _, _ := madeOf(t, found, &scribe{says: "9"}); string(made[0].Row["completion"]) != `"9"` {
		t.Errorf("what check found: %s", inJSON(t, made))
	}
	own := strings.Replace(said, `"scribe"`, `"policy"`, 1)
	if made, _, _ := madeOf(t, own, &scribe{says: "yes"}); made[0].By != "policy@7" {
		t.Errorf("%s", inJSON(t, made))
	}
}

// TestPosing: a text is a problem if the task accepts it, and its answer is found; it is rewritten if that answer is
// the one of the problem, and it is not the problem itself.
func TestPosing(t *testing.T) {
	task, err := tasks.New("chain_sum")
	if err != nil {
		t.Fatal(err)
	}
	p := posing{task.(tasks.Poser)}
	row, err := p.Pose(verify.Problem{}, "12+7-5-3:")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][2]string{"19-5-3:": {"11", ""}, "12+7-3-5:": {"11", ""}, "12+7-5-3:": {"11", "as it was"}, "19-5-2:": {"12", "its answer is 12, not 11"}, "19-5-3": {"", "ends in a colon"}} {
		posed, rewritten := p.Verify(row, text), rewriting{p}.Verify(row, text)
		if (posed.Verdict == verify.Right) != (want[0] != "") || posed.Verdict == verify.Right && posed.Extracted != want[0] {
			t.Errorf("%s: %+v, want %s", text, posed, want[0])
		}
		if !strings.Contains(rewritten.Reason, want[1]) || (rewritten.Verdict == verify.Right) != (want[1] == "") {
			t.Errorf("%s: %+v, want %q", text, rewritten, want[1])
		}
	}
}

// TestMakerLeavesOut: rows with control tokens or without a text, from held-out problems, or with their questions
// whatever the white space, are not made, and counted.
func TestMakerLeavesOut(t *testing.T) {
	const said = `[{rows = "said", each = "group", by = "scribe", say = "{question}", row = {prompt = "{said}"}}]`
	for name, c := range map[string]struct {
		says string
		held verify.Problem
		want int
	}{
		"text":                    {"some text", verify.Problem{Question: "other"}, 2},
		"a control token":         {"some<|im_end|>text", verify.Problem{Question: "other"}, 0},
		"nothing":                 {" \n", verify.Problem{Question: "other"}, 0},
		"a held-out question":     {"some text", verify.Problem{Question: "some text"}, 0},
		"the same in more spaces": {" some \n text", verify.Problem{Question: "some text"}, 0},
		"of a held-out problem":   {"some text", verify.Problem{Question: "x"}, 1},
		"of one with its number":  {"some text", verify.Problem{ID: "the x", Question: "other"}, 2},
	} {
		made, row, rows := madeOf(t, said, &scribe{says: c.says}, c.held)
		if len(made) != c.want || row["made/left_out/said"] != float64(2-c.want) || len(rows.kept["said"]) != c.want {
			t.Errorf("%s: %d rows, %v", name, len(made), row)
		}
	}
	const number = `[{rows = "lacks", row = {question = "{question}", answer = "{row.none}"}}]`
	if made, row, _ := madeOf(t, number, &scribe{}); len(made) != 0 || row["made/left_out/lacks"] != 6 {
		t.Errorf("rows that lack a value: %v", row)
	}
}

// TestRowsDraw: rows are drawn at random by the numbers of their place, or the newest once each, and no more of
// them than there are; most bounds how many are drawn from.
func TestRowsDraw(t *testing.T) {
	const made = `[{rows = "failed", row = {question = "{completion}"}, most = 4}]`
	r := smallest(t, "stage.rl.make="+made, `stage.rl.source=[{rows = "failed", share = 0.5}]`)
	rows := NewRows(r, plainRenderer(t), &HeldOut{recipe: r})
	for i := range 6 {
		rows.keep("failed", verify.Problem{ID: rows.next("failed"), Question: fmt.Sprint(i)})
	}
	st := &r.Stages[0]
	at := func(i int) *random.Rand { return random.At(1, 2, uint64(i)) }
	questions := func(n int) (out string) {
		for _, p := range rows.draw(st, n, at) {
			out += p.Question
		}
		return out
	}
	first := questions(40)
	if len(first) != 20 || first != questions(40) || strings.ContainsAny(first, "01") || !strings.Contains(first, "2") || !strings.Contains(first, "5") {
		t.Errorf("drawn: %s", first)
	}
	st.Sources[0].Newest = true
	if got := questions(4); got != "54" {
		t.Errorf("the newest: %s", got)
	}
	if got := questions(40); got != "5432" {
		t.Errorf("all of the newest: %s", got)
	}
	if p := rows.draw(st, 2, at)[0]; p.ID != "failed/6" || p.File != record.MadeFile || p.Line != 6 {
		t.Errorf("%+v", p)
	}
	st.Sources = append(slices.Clone(st.Sources), st.Sources[0])
	st.Sources[0].Rows, st.Sources[1].Share, st.Sources[1].Newest = "none", 0.25, true
	if got := questions(8); got != "54" {
		t.Errorf("a quarter of 8 beside a source that has no rows: %s", got)
	}
	st.Sources = st.Sources[1:]
	rows.kept["failed"] = nil
	st.Sources[0].Share = 1 // so that the stage has no other prompts
	if got := rows.draw(st, 4, at); got != nil || rows.supplied(&rows.recipe.Stages[0], 0) != nil {
		t.Errorf("of none: %v", got)
	}
}

// TestMakerTells: the commonest reason why rows of a step were not made is told where it is new, and stands
// where a stage has none of them to learn from.
func TestMakerTells(t *testing.T) {
	const made = `[{rows = "lacks", row = {question = "{question}", answer = "{row.none}"}}, {rows = "kept", row = {question = "{question}"}}]`
	rows, e, err := makingOf(t, made, &scribe{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Notes) != 1 || !strings.HasPrefix(e.Notes[0], "  step 3: rows of lacks left out: ") || !strings.Contains(e.Notes[0], "none") {
		t.Errorf("told: %q", e.Notes)
	}
	rows.recipe.Stages = append(rows.recipe.Stages, recipe.Stage{Name: "later", Sources: slices.Clone(smallest(t, "stage.rl.make="+made, `stage.rl.source=[{rows = "lacks"}]`).Stages[0].Sources)})
	why := strings.TrimPrefix(e.Notes[0], "  step 3: rows of lacks left out: ")
	if err := rows.supplied(&rows.recipe.Stages[1], 1); err == nil || !strings.Contains(err.Error(), why) {
		t.Errorf("%v has not %q", err, why)
	}
	rows.recipe.Stages[1].Sources[0].Share = 0.5
	if err := rows.supplied(&rows.recipe.Stages[1], 1); err != nil {
		t.Errorf("the task gives the other half, and all where nothing was made: %v", err)
	}
}

// TestMakerChecks: a check that panics leaves rows out and says so; one that takes too much ends the step.
func TestMakerChecks(t *testing.T) {
	const said = `[{rows = "said", each = "group", by = "scribe", say = "{question}", row = {prompt = "{said}"}}]`
	by := func(check string) func([]recipe.Made) {
		return func(makes []recipe.Made) { makes[0].Check = check }
	}
	_, e, err := makingOf(t, said, &scribe{says: "some text"}, by("broken"))
	if err != nil || e.Metrics["made/left_out/said"] != 2 || len(e.Notes) != 1 || !strings.Contains(e.Notes[0], "broken: the verifier failed, which is a bug in rlzero: no row is like this") {
		t.Errorf("%v, %v, %q", err, e.Metrics, e.Notes)
	}
	if _, _, err := makingOf(t, said, &scribe{says: "some text"}, by("dear")); err == nil || !strings.Contains(err.Error(), `check = "dear": the verifier's script has taken`) {
		t.Errorf("a check without end: %v", err)
	}
}

// TestMakingNotes: what a stage of kind make draws counts where a formula asks what a run knows of a prompt.
func TestMakingNotes(t *testing.T) {
	dev, err := gpu.Open("ref")
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	r := smallest(t, "stage.rl.kind=make", `stage.rl.make=[{rows = "new", each = "group", where = "seen == 0", row = {question = "{question}"}}]`)
	c, err := cast.Open(r, "", dev)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	p := partsOf(t, r, c)
	p.Rows = NewRows(r, p.Prompts, p.HeldOut)
	if p.Collector, err = NewCollector(&resolve.Opened{Recipe: r, Source: p.Source}, c, p.Prompts, nil); err != nil {
		t.Fatal(err)
	}
	s, err := newMaking(p, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Step(t.Context(), Position{Total: 6}); err != nil {
		t.Fatal(err)
	}
	if len(p.Record.prompts) != 2 {
		t.Fatalf("%d prompts are known, want 2", len(p.Record.prompts))
	}
	for key, h := range p.Record.prompts {
		if h.Seen != 1 || h.Judged != 3 || h.Step != 7 {
			t.Errorf("%s: %+v", key, h)
		}
	}
}

// TestAllHeldOut: made rows are compared with all that data hold out, not only with what a run evaluates.
func TestAllHeldOut(t *testing.T) {
	r := smallest(t, "task.eval_problems=1")
	h, err := NewHeldOut(r, rowSource{rows: []verify.Problem{{ID: "0", Question: "1 + 1?"}, {ID: "1", Question: "1 + 2?"}}}, &rollout.Collector{})
	if err != nil || len(h.Problems) != 1 {
		t.Fatal(h, err)
	}
	if h.known.Like(verify.Problem{Question: "1  + 2?"}) == nil || h.known.Like(verify.Problem{Question: "1 + 3?"}) != nil {
		t.Error("the second held-out problem is not known, or another is")
	}
}
