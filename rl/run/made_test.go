package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/record"
)

// madeRun makes rows of all kinds: pairs in a stage of their own, which the next one learns from; and in a stage
// that learns from rewards its own failures, which its later steps draw, and texts that a copy writes.
const madeRun = `
[models.past]
copy = "policy"
[[stage]]
name = "warm-up"
[[stage]]
name = "pairs"
kind = "make"
steps = 3
prompts_per_step = 5
group_size = 4
reward = "random"
checkpoint_every = 1
[[stage.make]]
rows = "pairs"
each = "pair"
where = "group_std(reward) > 0"
row = {prompt = "{question}", chosen = "{best}", rejected = "{worst}", mean = "{group_mean(reward)}"}
[[stage]]
name = "better"
kind = "preference"
steps = 3
batch_size = 4
max_tokens = 40
checkpoint_every = 1
[[stage.source]]
rows = "pairs"
[stage.optimizer]
lr = 1e-3
[[stage]]
name = "rl"
reward = "random"
lag = 1
steps = 5
checkpoint_every = 1
[[stage.make]]
rows = "failed"
where = "not right(task) and not truncated"
row = {question = "{question}", answer = "{answer}", numbers = "{row.numbers}", target = "{row.target}", tokens = "{tokens}"}
most = 6
[[stage.make]]
rows = "said"
each = "group"
by = "past"
say = "{question}"
max_tokens = 9
row = {prompt = "{question}", completion = "{said}"}
[[stage.source]]
rows = "failed"
share = 0.4
newest = true
`

// TestMadeRows: rows are made, drawn by later steps and say where they come from; a run that goes on from any
// of its checkpoints comes to the same bytes; a row that is not as it was written, or could not have been made,
// is refused with line and column.
func TestMadeRows(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains, and resumes twice")
	}
	dev, dir := tester(t), t.TempDir()
	longer := []string{"stage.warm-up.hold_steps=40", "stage.warm-up.decay_steps=10"} // so that completions are text that the words of the task can write
	must(t, trainText(t, dev, dir, madeRun, false, longer...))
	byID, all := map[string]record.Made{}, []record.Made{}
	_, err := record.EachMade(filepath.Join(dir, record.MadeFile), func(_ int, _ []byte, m record.Made) error {
		byID[m.ID], all = m, append(all, m)
		return nil
	})
	must(t, err)
	counts := map[string]int{}
	for _, m := range all {
		counts[m.Rows]++
		if want := fmt.Sprintf("%s/%d", m.Rows, counts[m.Rows]); m.ID != want {
			t.Errorf("row %s comes where %s should", m.ID, want)
		}
	}
	if counts["pairs"] == 0 || counts["failed"] == 0 || counts["said"] == 0 {
		t.Fatalf("made %v", counts)
	}
	t.Logf("made %v", counts)
	if receipt, err := os.ReadFile(filepath.Join(dir, "receipt.json")); err != nil || !strings.Contains(string(receipt), `"rows.jsonl"`) {
		t.Errorf("the receipt has no hash of the rows, %v", err)
	}
	// Each row has what its completions say.
	written := map[string]map[string]any{}
	drawn := map[string]int{}
	for _, line := range linesOf(t, filepath.Join(dir, record.CompletionsFile)) {
		written[fmt.Sprint(line["step"], line["group"], line["sample"])] = line
		id := line["prompt_id"].(string)
		if _, made := byID[id]; made {
			drawn[strings.Split(id, "/")[0]]++
		}
	}
	if drawn["failed"] == 0 || drawn["pairs"] != 0 {
		t.Errorf("steps drew %v", drawn)
	}
	for _, m := range all {
		var own map[string]any
		raw, err := json.Marshal(m.Row)
		must(t, errors.Join(err, json.Unmarshal(raw, &own)))
		of := func(k int) map[string]any { return written[fmt.Sprint(m.Step, m.Group, m.Samples[k])] }
		switch m.Rows {
		case "pairs":
			best, worst := of(0), of(1)
			if best["completion"] != own["chosen"] || worst["completion"] != own["rejected"] || best["reward"] != 1.0 || worst["reward"] != 0.0 || m.By != "policy@50" || m.Seed != 1 || m.From != best["prompt_id"] {
				t.Errorf("%+v of %v and %v", m, best, worst)
			}
		case "failed":
			c := of(0)
			if c["verdict"] == "right" || own["tokens"] != c["tokens"] || m.From != c["prompt_id"] || own["question"] != c["prompt"] || own["numbers"] == nil || !strings.HasPrefix(m.By, "policy@5") {
				t.Errorf("%+v of %v", m, c)
			}
		case "said":
			if m.By != "past" || m.Seed == 1 || own["completion"] == "" {
				t.Errorf("%+v", m)
			}
		}
	}

	want, checkpoints := runFiles(t, dir), checkpointDirs(t, dir)
	for _, keep := range []int{len(checkpoints) - 3, len(checkpoints) - 10} {
		again := copyRun(t, dir)
		for _, c := range checkpointDirs(t, again)[keep:] {
			must(t, os.RemoveAll(c))
		}
		must(t, trainText(t, dev, again, madeRun, true, longer...))
		sameRun(t, runFiles(t, again), want)
	}

	// What is not as it was, or could not have been made.
	text, err := os.ReadFile(filepath.Join(dir, record.MadeFile))
	must(t, err)
	heldOut := linesOf(t, filepath.Join(dir, record.EvaluationsFile))[0]["prompt"].(string)
	refused := func(name, where string, change func(all []record.Made) []byte) {
		t.Helper()
		again := copyRun(t, dir)
		for _, c := range checkpointDirs(t, again)[len(checkpoints)-2:] {
			must(t, os.RemoveAll(c))
		}
		must(t, os.WriteFile(filepath.Join(again, record.MadeFile), change(slices.Clone(all)), 0o600))
		err := trainText(t, dev, again, madeRun, true, longer...)
		if !errors.Is(err, lines.ErrInput) || !strings.Contains(err.Error(), where) {
			t.Errorf("%s: %v\nwant %s", name, err, where)
		}
	}
	refused("a changed byte", "rows.jsonl: line 2: the line, or one before it, is not as it was written", func([]record.Made) []byte {
		changed, line := bytes.Clone(text), bytes.IndexByte(text, '\n')+1
		changed[line+bytes.Index(text[line:], []byte(`"seed":`))+len(`"seed":`)] ^= 1
		return changed
	})
	rewritten := func(change func(m *record.Made)) func(all []record.Made) []byte {
		return func(all []record.Made) []byte {
			var b bytes.Buffer
			sum := ""
			for i, m := range all {
				if m.Row = maps.Clone(m.Row); i == 1 {
					change(&m)
				}
				m, err := m.Chained(sum)
				must(t, err)
				enc := json.NewEncoder(&b)
				enc.SetEscapeHTML(false)
				must(t, enc.Encode(m))
				sum = m.Sum
			}
			return b.Bytes()
		}
	}
	if all[1].ID != "failed/1" {
		t.Fatalf("the second row is %s", all[1].ID)
	}
	raw := bytes.Split(text, []byte("\n"))[1]
	where := fmt.Sprintf("rows.jsonl: line 2: column %d: row failed/1: ", bytes.Index(raw, []byte(`"question":`))+1)
	whole := fmt.Sprintf("rows.jsonl: line 2: column %d: row failed/1: ", bytes.Index(raw, []byte(`"row":`))+1)
	set := func(text string) func(m *record.Made) {
		return func(m *record.Made) { m.Row["question"], _ = json.Marshal(text) }
	}
	refused("a control token", where+"column question: a text contains a control token: <eos>", rewritten(set("1<eos>2")))
	refused("an empty text", where+"column question: the text is empty", rewritten(set(" ")))
	refused("a held-out question", whole+"a held-out problem is among the training prompts", rewritten(set(heldOut+" ")))
	refused("a row from a held-out problem", "row failed/1: a held-out problem is among the training prompts", rewritten(func(m *record.Made) { m.From = heldOut }))
	refused("a row without a question", whole+`the line has no "question"`, rewritten(func(m *record.Made) { delete(m.Row, "question") }))
	refused("another id", `rows.jsonl: line 2: column 1: the row has the id "pairs/9"; accepted: "failed/1"`, rewritten(func(m *record.Made) { m.ID = "pairs/9" }))
}

// TestMadeNone: a stage whose rows were never made is refused with what was tried.
func TestMadeNone(t *testing.T) {
	none := strings.Replace(madeRun, `where = "group_std(reward) > 0"`, `where = "group_mean(reward) > 1"`, 1)
	err := trainText(t, tester(t), t.TempDir(), none, false, "stage.warm-up.hold_steps=3", "stage.warm-up.decay_steps=1")
	before := none[:strings.LastIndex(none, `rows = "pairs"`)] // of the base, which is the file's first line
	want := fmt.Sprintf("mine.toml:%d:1: ", 2+strings.Count(before, "\n")) + `stage.better.source.0.rows: "pairs" is empty: none of 15 groups of stage pairs had group_mean(reward) > 1 and could be read`
	if !errors.Is(err, recipe.ErrInvalid) || !strings.Contains(err.Error(), want) {
		t.Errorf("%v\nwant %s", err, want)
	}
}
