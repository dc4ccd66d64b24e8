package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/fixtures"
	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/recipe/presets"
)

// TestRecipes: the list names every recipe in lines that fit a terminal, a field lists what its
// recipes do, and the id of a system finds its recipes, or why there is none.
func TestRecipes(t *testing.T) {
	code, list, _ := rlzero(t, "recipes")
	if n := strings.Count(list, "\n"); code != 0 || n > 82 {
		t.Errorf("exit code %d, %d lines", code, n)
	}
	_, names, _ := strings.Cut(list, "published systems")
	for line := range strings.Lines(names) {
		if len(line) > 101 {
			t.Errorf("a line of %d characters: %q", len(line), line)
		}
	}
	length := 0
	for _, p := range presets.All() {
		if !strings.Contains(list, " "+p.Name) {
			t.Errorf("%s is not in the list", p.Name)
		}
		if p.Field == "length" {
			length++
		}
	}
	if _, some, _ := rlzero(t, "recipes", "length"); strings.Count(some, "\n") != length+1 {
		t.Errorf("the field length has %d recipes: %s", length, some)
	}
	if code, text, _ := rlzero(t, "recipes", "show", "001-001"); code != 0 || !strings.HasPrefix(text, "# raft-plus-plus\n# State: works\n# From the paper: ") || !strings.Contains(text, "\n# raft\n# State: works\n# From") || !strings.Contains(text, "\n# reinforce-rej\n") {
		t.Errorf("exit code %d: %s", code, text)
	}
	if code, _, stderr := rlzero(t, "recipes", "show", "000-060"); code != exitUsage || !strings.Contains(stderr, "system 000-060, B-Coder, has no recipe; the reason: waits: outputs that are differentiated at the likeliest token, ") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if code, _, stderr := rlzero(t, "recipes", "show", "009-999"); code != exitUsage || !strings.Contains(stderr, `unknown recipe "009-999"`) {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// TestStates: lists mark a thin recipe, show begins with its state, and --json has what the paper
// does, what is scaled down, and for one that works the paper's formula with the key and the metric.
func TestStates(t *testing.T) {
	if _, list, _ := rlzero(t, "recipes"); !strings.Contains(list, " autorule*") || strings.Contains(list, " rloo*") || !strings.Contains(list, "\n* thin: ") {
		t.Errorf("thin recipes are not marked: %s", list)
	}
	if _, some, _ := rlzero(t, "recipes", "000-026"); !strings.Contains(some, "   autorule*  ") {
		t.Errorf("found by its id, it is not marked: %s", some)
	}
	if _, text, _ := rlzero(t, "recipes", "show", "autorule"); !strings.HasPrefix(text, "# State: thin: no reasoning model") {
		t.Errorf("show begins with %.60q", text)
	}
	var e recipeEntry
	if _, out, _ := rlzero(t, "recipes", "show", "rloo", "--json"); json.Unmarshal([]byte(out), &e) != nil || e.State != "works" ||
		!strings.HasPrefix(e.Formula, "A_i = R_i") || e.Part != "stage.rl.algorithm.advantage" || e.ShownBy != "policy/kl_ref" || e.FromPaper == "" || e.Scaled == "" || e.LeftOut != "" {
		t.Errorf("%+v", e)
	}
}

// TestQuotes: what a recipe that works names as the paper's part is one of its keys, and what it
// is shown by is a metric, of its own if it begins with my/.
func TestQuotes(t *testing.T) {
	for _, p := range presets.All() {
		h := p.Head
		if h.Formula == "" {
			continue
		}
		r, err := recipe.Load(p.Name, nil)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := settings.Parse(p.Name, r.Resolved())
		if err != nil {
			t.Fatal(err)
		}
		if !names(doc.Tree(), strings.Split(h.Part, ".")) {
			t.Errorf("%s: %s is none of its keys", p.Name, h.Part)
		}
		if _, known := metrics.Find(h.ShownBy); !known || strings.HasPrefix(h.ShownBy, "my/") && !strings.Contains(p.Text, strconv.Quote(h.ShownBy)+" = ") {
			t.Errorf("%s: %s is no metric of it", p.Name, h.ShownBy)
		}
	}
}

// names tells whether a tree has a key; a stage is meant by its name.
func names(tree map[string]any, path []string) bool {
	if len(path) > 1 && path[0] == "stage" {
		stages := settings.Tables(tree["stage"])
		i := slices.IndexFunc(stages, func(st map[string]any) bool { return st["name"] == path[1] })
		return i >= 0 && names(stages[i], path[2:])
	}
	value, has := tree[path[0]]
	if len(path) == 1 {
		return has
	}
	table, is := value.(map[string]any)
	return is && names(table, path[1:])
}

// TestEveryDryRun: every recipe can be run as it is written, given a model and rows where it asks
// for those of one's own; the plan has a size.
func TestEveryDryRun(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: plans every recipe, which rl/recipe loads")
	}
	model := fixtures.ChatModel(t)
	config := filepath.Join(model, "config.json")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	longer := strings.Replace(string(text), `"max_position_embeddings": 512`, `"max_position_embeddings": 4096`, 1)
	if err := os.WriteFile(config, []byte(longer), 0o644); err != nil || longer == string(text) {
		t.Fatalf("%v; %s", err, text)
	}
	data := map[string]string{} // by the verifier that judges it
	for _, p := range presets.All() {
		r, err := recipe.Load(p.Name, nil)
		if err != nil {
			t.Errorf("%s: %v", p.Name, err)
			continue
		}
		args := []string{"train", p.Name, "--dry-run", "--json", "--device", "ref"}
		if r.Model.Path != "" {
			args = append(args, "--set", "model.path="+model, "--set", "model.dtype=f32")
			if by := r.Task.Verifier; r.Task.FromData() {
				if data[by] == "" {
					data[by] = ownRows(t, cmp.Or(ownAnswers[by], "#"))
				}
				args = append(args, "--set", "task.data="+data[by])
			}
		}
		code, out, stderr := rlzero(t, args...)
		var plan struct {
			Total int64
			Notes []string
		}
		if err := json.Unmarshal([]byte(out), &plan); code != 0 || err != nil || plan.Total <= 0 {
			t.Errorf("%s: exit code %d, %v, %d bytes: %s", p.Name, code, err, plan.Total, stderr)
		}
		for _, note := range plan.Notes {
			if strings.Contains(note, "in [stage.algorithm]: ") {
				t.Errorf("%s: a trial of its method finds fault: %s", p.Name, note)
			}
		}
	}
}

// ownAnswers are answers that verifiers can judge; # is the number of the row, which is the answer
// for all others.
var ownAnswers = map[string]string{"sql": "SELECT #", "ordering": "a, b, #", "multiple_choice": "A"}

// ownRows is a data set with the columns that the recipes for data of one's own read.
func ownRows(t *testing.T, answer string) string {
	t.Helper()
	dir := t.TempDir()
	for split, first := range map[string]int{"train": 0, "test": 64} {
		var rows strings.Builder
		for i := range 64 {
			n := first + i
			row := map[string]any{"question": fmt.Sprint("say ", n), "answer": strings.ReplaceAll(answer, "#", fmt.Sprint(n)), "schema": "CREATE TABLE t(a INT)", "direct": fmt.Sprint("say at once ", n),
				"completion": fmt.Sprint(n), "chosen": fmt.Sprint(n), "rejected": "no", "domain": []string{"math", "code"}[n%2],
				"reward": 0.5, "value": 0.4, "right": 1, "pair": n / 2, "phrase": n % 2, "middle": n % 2, "critique": n % 2, "opening": n % 2, "values": n % 2, "yes": "yes", "no": "no",
				"instruction_id_list": []string{"punctuation:no_comma"}, "kwargs": []any{map[string]any{}}}
			line, err := json.Marshal(row)
			if err != nil {
				t.Fatal(err)
			}
			rows.Write(append(line, '\n'))
		}
		if err := os.WriteFile(filepath.Join(dir, split+".jsonl"), []byte(rows.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestKeysNameMetrics: where the text of a key names a metric, there is one of that name.
func TestKeysNameMetrics(t *testing.T) {
	families, named := map[string]bool{}, 0
	for _, name := range metricNames() {
		family, _, _ := strings.Cut(name, "/")
		families[family] = true
	}
	_, keys, _ := rlzero(t, "recipes", "keys")
	for _, m := range regexp.MustCompile(`\b([a-z]+)/[a-z_0-9@]+`).FindAllStringSubmatch(keys, -1) {
		if !families[m[1]] {
			continue
		}
		if named++; slices.Contains(metricNames(), metricEntry(m[0])[0]) {
			continue
		}
		t.Errorf("%s is no metric", m[0])
	}
	if named == 0 {
		t.Error("no key names a metric")
	}
}
