package recipe

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/settings"

	"github.com/rlzero/rlzero/rl/algo"
)

// fromRows is a recipe with a stage of the kind that needs rows of data.
const fromRows = `model.path = "start"
task.data = "x"
[[stage]]
kind = "preference"
`

// everyKind is a recipe with a stage of each other kind.
const everyKind = `[model]
path = "start"
[task]
name = "countdown"
[[stage]]
kind = "sft"
[[stage]]
kind = "rl"
[[stage.verifier]]
name = "form"
verifier = "format"
[[stage]]
kind = "eval"
`

// makes is everyKind with a stage that makes rows before the others.
var makes = strings.Replace(everyKind, "[[stage]]\n", "[[stage]]\nkind = \"make\"\n[[stage.make]]\nrows = \"kept\"\nrow = {question = \"{question}\"}\n[[stage]]\n", 1)

// withTool sets a task with a tool, which has further keys.
func withTool(key string, own ...string) string {
	tool := strings.Join(append([]string{`tool = "calculator"`, `shown = "{id}"`}, own...), ", ")
	return `task={name = "chain_sum", ` + key + `, episode = {tokens = 9}, tool = [{` + tool + `}]}`
}

// withServer sets a task with a server of tools, which has further keys.
func withServer(keys ...string) string {
	return `task={name = "chain_sum", episode = {tokens = 9}, tool = [{` + strings.Join(append([]string{`mcp = ["x"]`}, keys...), ", ") + `}]}`
}

// playedBy sets a task that a program of others plays, with further keys.
func playedBy(keys string) string {
	return `task={world = {command = ["x"], ` + keys + `}, max_prompt_tokens = 9, episode = {tokens = 9}}`
}

// withEndpoint sets a judge that a server has, with further keys.
func withEndpoint(keys string) []string {
	return []string{`models={m = {url = "127.0.0.1:1"` + keys + `}}`, `stage.rl.verifier=[{name = "form", verifier = "judge", options = {model = "m", source = "{completion}", read = "x", context = 99}}]`}
}

// TestKeys: the reference and the decoder agree. Each key has a meaning, its
// default is accepted at its place, and a resolved recipe has no other keys.
func TestKeys(t *testing.T) {
	listed := map[string]bool{}
	file := []string{`task={data = "x", verifier = "math", max_prompt_tokens = 9}`, "stage.rl.sampling.max_completion_tokens=9"}
	noSFT := strings.Replace(everyKind, "[[stage]]\nkind = \"sft\"\n", "", 1)
	for _, k := range Keys() {
		if listed[k.Table+"."+k.Key] {
			t.Errorf("%s.%s is listed twice", k.Table, k.Key)
		}
		listed[k.Table+"."+k.Key] = true
		if k.About == "" || strings.HasSuffix(k.About, ".") {
			t.Errorf("%s.%s is explained as %q; want a phrase without a full stop", k.Table, k.Key, k.About)
		}
		for kind, value := range k.Defaults {
			place := strings.TrimPrefix(k.Table+"."+k.Key, ".")
			if rest, inStage := strings.CutPrefix(place, "stage."); inStage {
				place = "stage." + kind + "." + rest
			}
			set := []string{place + "=" + value}
			if has := (Model{Path: "x"}); k.Table == "model" && !field(t, &has, k.Key).Of(has.Variant()) { // a model to make
				set = append([]string{`model={family = "qwen3", layers = 1, width = 8, heads = 1, mlp = 8}`}, set...)
			}
			if has := (Task{Name: "x"}); k.Table == "task" && !field(t, &has, k.Key).Of(has.Variant()) { // data
				set = append([]string{"task.data=x", "task.verifier=math", "task.max_prompt_tokens=9", "stage.rl.sampling.max_completion_tokens=9", "stage.sft.max_tokens=9"}, set...)
			}
			if k.Table == "task.source" {
				set = []string{"task={source = [{data = \"x\", " + k.Key + " = " + value + "}], verifier = \"math\", max_prompt_tokens = 9}", "stage.rl.sampling.max_completion_tokens=9", "stage.sft.max_tokens=9"}
			}
			if k.Table == "task" && slices.Contains(toolKeys, k.Key) {
				set = []string{withTool(k.Key + " = " + value)}
			}
			if k.Table == "task.tool" {
				set = []string{withTool("max_calls = 1", k.Key+" = "+value)}
				if has := (Tool{}); !field(t, &has, k.Key).Of(has.Variant()) {
					set = []string{withServer(k.Key + " = " + value)}
				}
			}
			if k.Table == "task.episode" { // a task in turns
				set = []string{"task={name = \"guess\", episode = {" + k.Key + " = " + value + "}}"}
			}
			if k.Table == "task.episode.summary" {
				set = []string{"task={name = \"guess\", episode = {summary = {" + k.Key + " = " + value + "}}}"}
			}
			if k.Table == "task.world" {
				set = []string{playedBy(k.Key + " = " + value), file[1]}
			}
			if k.Table == "models.NAME" {
				model := "path = \"x\""
				if has := (Member{Copy: "policy"}); !field(t, &has, k.Key).Of("path") {
					model = "copy = \"policy\""
				}
				set = []string{"models={m = {" + model + ", " + k.Key + " = " + value + "}}", "stage.rl.algorithm.penalty=0*square(logp - m)"}
				if has := (Member{}); field(t, &has, k.Key).Of("family") && !field(t, &has, k.Key).Of("path copy") { // those without a default are required
					set[0] = `models={m = {family = "llama", layers = 1, width = 8, heads = 2, mlp = 8, ` + k.Key + " = " + value + "}}"
					set = append(set, "stage.sft.trains=m")
				}
				if has := (Member{URL: "x"}); field(t, &has, k.Key).Of("url") && !field(t, &has, k.Key).Of("copy") {
					set = withEndpoint(", " + k.Key + " = " + value)
				}
			}
			learner := ""
			if k.Table == "stage.learn.NAME" {
				learner = "m"
				if has := (Learning{}); !field(t, &has, k.Key).Of(has.Variant()) {
					learner = PolicyModel
				}
				if learner == PolicyModel && kind == KindRL {
					continue // what the policy learns from completions is the method of its stage
				}
				preset := map[string]string{KindRL: "grpo", KindSFT: "sft", KindPreference: "dpo"}[kind]
				set = append(slices.Clone(file), `models={m = {copy = "policy"}}`, "stage.rl.algorithm.penalty=0*square(logp - m)",
					fmt.Sprintf("stage.rl.learn={%s = {kind = %q, %s = %s, algorithm = {preset = %q}}}", learner, kind, k.Key, value, preset))
				if kind == KindSFT { // demonstrations
					set = set[len(file):]
				}
			}
			if k.Table == "expect" {
				expect := map[string]string{"metric": `"eval/pass@1"`, "than": `"countdown-tiny"`}
				set = []string{fmt.Sprintf("expect=[{metric = %s, than = %s", expect["metric"], expect["than"])}
				if k.Key != "metric" && k.Key != "than" {
					set[0] += ", " + k.Key + " = " + value
				}
				set[0] += "}]"
			}
			if k.Table == "stage.make" {
				set = []string{"stage." + kind + ".make=[{rows = \"kept\", row = {question = \"{question}\"}, " + k.Key + " = " + value + "}]"}
			}
			source := "source=[{rows = \"kept\", " + k.Key + " = " + value + "}]"
			if k.Table == "stage.source" {
				set = []string{"stage." + kind + "." + source, "stage.sft.max_tokens=9"}
			}
			text := everyKind
			if kind == KindMake || k.Table == "stage.source" {
				text = makes
			}
			if k.Table == "stage.source" && kind == KindPreference {
				text, set = makes+"[[stage]]\nkind = \"preference\"\n", []string{"stage.preference." + source}
			} else if kind == KindPreference {
				text = fromRows
			}
			if k.Table == "task.world" || learner != "" {
				text = noSFT
			}
			if _, err := Parse("r.toml", text, set); err != nil {
				t.Errorf("%s: %v", place, err)
			}
		}
	}
	printed := map[string]bool{}
	var walk func(table string, values map[string]any)
	walk = func(table string, values map[string]any) {
		for key, value := range values {
			if table == "stage.algorithm" && key != "preset" && key != "metrics" && key != "state" && key != "as_written" {
				key = "NAME" // of a parameter or a formula
			}
			printed[table+"."+key] = true
			inner := strings.TrimPrefix(table+"."+key, ".")
			if inner == "models" || inner == "stage.learn" {
				for _, named := range value.(map[string]any) {
					walk(inner+".NAME", named.(map[string]any))
				}
				continue
			}
			if table == "stage.learn.NAME" { // its tables are those of stages
				continue
			}
			if t, ok := value.(map[string]any); ok && inner != "task.settings" && key != "options" && key != "space" && key != "row" && key != "seats" {
				walk(inner, t)
			}
			for _, t := range settings.Tables(value) {
				walk(inner, t)
			}
		}
	}
	script := []string{`stage.rl.verifier=[{name = "a", source = "x"}, {name = "b", verifier = "format"}]`}
	fresh := append(script, `model={family = "qwen3", layers = 1, width = 8, heads = 1, mlp = 8}`)
	several := []string{`task={source = [{data = "x"}, {data = "y", share = 2}], verifier = "math", max_prompt_tokens = 9}`, file[1]}
	inTurns := strings.Replace(everyKind, `name = "countdown"`, `name = "guess"`, 1)
	for _, c := range []struct {
		text string
		sets []string
	}{{everyKind, append(fresh, `expect=[{metric = "eval/pass@1", than = "countdown-tiny", direction = "lower", paper = "it falls"}]`)}, {everyKind, append(fresh, `stage.rl.curriculum={candidates = 2, order = "chance"}`)}, {everyKind, append(fresh, `stage.rl.curriculum={completions = "chance"}`)}, {everyKind, append(fresh, `stage.rl.curriculum={block = 2, order = "-probed", pool = 99}`)}, {everyKind, append(fresh, `stage.rl.curriculum.teacher={space = {numbers = [3, 4]}}`)}, {everyKind, append(fresh, "stage.rl.best={every = 4}", "stage.rl.algorithm.advantage=remax")}, {everyKind, append(fresh, "stage.rl.tree={rounds = 1}")},
		{everyKind, append(fresh, `stage.rl.second_chance={when = "group_max(reward) == 0", rows = "answer, other", choose = "mean(old)"}`)},
		{everyKind, append(fresh, `stage.rl.second_chance={when = "group_max(reward) == 0", show = "{question}", entries = "0.5", between = ">"}`)},
		{everyKind, append(fresh, `models={m = {family = "llama", layers = 1, width = 8, heads = 2, mlp = 8}}`, "stage.sft.trains=m", "stage.rl.algorithm.penalty=0*m")}, {everyKind, append(fresh, `models={far = {path = "x"}, twin = {copy = "policy"}, mixed = {weights = "policy"}, total = {logits = "far + mixed"}}`, "stage.rl.algorithm.penalty=0*square(logp - far + total)", "stage.sft.trains=twin", "stage.rl.truth=task")}, {noSFT, file}, {noSFT, several}, {noSFT, []string{playedBy(`facts = ["left"]`), file[1]}}, {fromRows, nil}, {inTurns, nil}, {strings.Replace(inTurns, `"guess"`, `"nim"`, 1), []string{"stage.rl.seats.second=random"}}, {strings.Replace(everyKind, `"countdown"`, `"chain_sum"`, 1), append(fresh, "stage.rl.propose={say = \">\"}", "stage.sft.propose={say = \">\"}")}, {makes, append(fresh, `stage.rl.source=[{rows = "kept"}]`)}, {everyKind, append(fresh, `models={twin = {copy = "policy"}}`, `stage.rl.learn={twin = {}, policy = {kind = "sft"}}`)}, {everyKind, []string{withTool("calls = \"tags\"")}}, {everyKind, []string{withServer()}}, {everyKind, withEndpoint("")}} {
		r, err := Parse("r.toml", c.text, c.sets)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := settings.Parse("resolved.toml", r.Resolved())
		if err != nil {
			t.Fatal(err)
		}
		walk("", doc.Tree())
	}
	for key := range printed {
		if !listed[key] {
			t.Errorf("%s is in a resolved recipe and not in the reference", key)
		}
	}
	for key := range listed {
		if !printed[key] {
			t.Errorf("%s is in the reference and in no resolved recipe", key)
		}
	}
}

// field is the field of a key.
func field(t *testing.T, of any, key string) settings.Field {
	t.Helper()
	fields := settings.Fields(of)
	i := slices.IndexFunc(fields, func(f settings.Field) bool { return f.Key == key })
	if i < 0 {
		t.Fatalf("%T has no key %s", of, key)
	}
	return fields[i]
}

// TestRenamedKey: a former name is refused with the new one.
func TestRenamedKey(t *testing.T) {
	_, err := Parse("r.toml", strings.Replace(everyKind, `kind = "sft"`, "kind = \"sft\"\nfinal_lr_frac = 0.1", 1), nil)
	if err == nil || !strings.Contains(err.Error(), "r.toml:7:1: stage.sft.final_lr_frac is now called stage.sft.final_lr_share; rename the key") {
		t.Errorf("%v", err)
	}
}

// TestFormerKeys: each key of the methods before they were formulas is refused with the
// text to write instead, and that text is accepted.
func TestFormerKeys(t *testing.T) {
	accepted := map[string]string{ // beside a key whose text is a part of the answer
		"is_low = 0.5": `weight = "tis"`, "is_high = 2.0": `weight = "tis"`, "tau_pos = 2.0": `policy = "sapo"`, "tau_neg = 2.0": `policy = "sapo"`,
	}
	for set, want := range map[string]string{
		"estimator=leave_one_out": `write advantage = "rloo"`,
		"reward_scale=2":          `write the factor into the advantage, such as advantage = "2.0*reward - 1"`,
		"reward_offset=0.5":       `write the number into the advantage, such as advantage = "2*reward + 0.5"`,
		"positive_weight=0":       `write advantage = "a = grpo; if(a > 0, 0.0*a, a)"`,
		"negative_weight=1":       "leave it out, 1.0 was the default",
		"whiten=true":             `write advantage = "whiten(grpo)"`,
		`filters=["all_right", "all_wrong", "zero_advantage"]`: `write keep = "group_min(reward) < 1 and group_max(reward) >= 1 and A != 0"`,
		"filter_mode=drop":           "leave it out, drop was the default",
		"right_reward=0.5":           `write the number into keep, such as keep = "group_max(reward) >= 0.5"`,
		"loss=geometric":             `write policy = "gmpo"`,
		"ratio_level=sequence_token": `write policy = "gspo_token"`,
		"dual_clip=3":                `write policy = "dual_clip" and dual_cap = 3.0`,
		"log_ratio_clamp=20":         `write log_ratio = "clip(logp - start, -20.0, 20.0)"`,
		"sapo_tau_pos=2":             "write tau_pos = 2.0",
		"sapo_tau_neg=2":             "write tau_neg = 2.0",
		"mismatch=token_mask":        `write weight = "icepop"`,
		"mismatch_min=0.5":           "write is_low = 0.5",
		"mismatch_cap=2":             "write is_high = 2.0",
		"off_policy_kl_max=0.1":      `write weight = "opsm" and off_policy_bound = 0.1`,
		"top_entropy_share=0.2":      `write weight = "focus" and focus_share = 0.2`,
		"normalize=micro_token_mean": `write loss = "token_mean(weight*policy + penalty)"`,
		"normalize=fixed_length":     `write loss = "fixed_length(weight*policy + penalty, max_tokens)"`,
		"max_completion_tokens=64":   `write the number into the loss: loss = "fixed_length(weight*policy + penalty, 64.0)"`,
		"kl_coef=0.1":                `write penalty = "kl_k3" and beta = 0.1`,
		"kl_estimator=k1+":           `write penalty = "beta*straight(k1, k2)"`,
		"kl_in=reward":               `write advantage = "standard(kl_reward)", or advantage = "rloo_kl", with beta`,
		"kl_times_ratio=true":        `write penalty = "kl_ratio"`,
		"entropy_coef=0.01":          `write loss = "token_mean(weight*policy + penalty) - 0.01*token_mean(entropy)"`,
	} {
		_, err := Parse("r.toml", everyKind, []string{"stage.rl.algorithm." + set})
		if !errors.Is(err, errFormer) || !strings.Contains(err.Error(), "is no longer a key, since methods are formulas: "+want) {
			t.Errorf("%s: got %v, want %s", set, err, want)
			continue
		}
		_, text, _ := strings.Cut(want, "write ")
		var sets []string
		for _, found := range regexp.MustCompile(`([a-z_]+) = ("[^"]+"|[0-9.]+)`).FindAllString(text, -1) {
			sets = append(sets, "stage.rl.algorithm."+found)
			if beside := accepted[found]; beside != "" {
				sets = append(sets, "stage.rl.algorithm."+beside)
			}
		}
		if strings.Contains(text, "straight") || strings.Contains(text, "kl_k3") || strings.Contains(text, "kl_ratio") || strings.Contains(text, "rloo_kl") {
			sets = append(sets, "stage.rl.algorithm.beta=0.1")
		}
		if _, err := Parse("r.toml", everyKind, sets); err != nil {
			t.Errorf("%s: what is said to be written is refused: %v", set, err)
		}
	}
	// Words that were values and are parts now.
	for _, set := range []string{"preset=dapo", "loss=token_mean(policy)", "dual_clip=-A*ratio"} {
		sets := []string{"stage.rl.algorithm." + set}
		if strings.HasPrefix(set, "dual_clip") {
			sets = append(sets, "stage.rl.algorithm.policy=dual_clip")
		}
		if _, err := Parse("r.toml", everyKind, sets); err != nil {
			t.Errorf("%s: %v", set, err)
		}
	}
}

// TestOverriddenPreset: what the file says for its own preset does not stand in the way
// of another one, and what the override says does.
func TestOverriddenPreset(t *testing.T) {
	text := strings.Replace(everyKind, "[[stage.verifier]]", "[stage.algorithm]\npreset = \"dapo\"\nclip_high = 0.3\n[[stage.verifier]]", 1)
	r, err := Parse("r.toml", text, []string{"stage.rl.algorithm.preset=reinforce"})
	if err != nil {
		t.Fatal(err)
	}
	if values := r.Stages[1].Algorithm.Values; values["clip_high"] != nil || values["policy"] != "reinforce" {
		t.Errorf("values %v", values)
	}
	if _, err := Parse("r.toml", text, []string{"stage.rl.algorithm.preset=reinforce", "stage.rl.algorithm.clip_low=0.1"}); err == nil || !strings.Contains(err.Error(), "clip_low: no formula in force reads this parameter") {
		t.Errorf("an override that nothing reads: %v", err)
	}
}

// TestOverriddenTree: likewise of where the nodes of a tree begin, which a recipe that was written out names: it has the
// formula too, and that is not in the way of another one.
func TestOverriddenTree(t *testing.T) {
	first, err := Load("chain-sum-tiny", []string{"stage.rl.tree.rounds=1", "stage.rl.group_size=12"})
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{"sentences", "position == 4"} {
		again, err := Parse("again.toml", first.Resolved(), []string{"stage.rl.tree.at=" + at})
		if err != nil || again.Stages[len(again.Stages)-1].Tree.At != at {
			t.Errorf("%s: %v", at, err)
		}
	}
	if _, err := Parse("again.toml", strings.Replace(first.Resolved(), "lines = ", "linse = ", 1), []string{"stage.rl.steps=2"}); err == nil || !strings.Contains(err.Error(), "stage.rl.algorithm.linse would do nothing") {
		t.Errorf("beside an override of no formula: %v", err)
	}
}

// TestFormulasInPlaceOfNumbers: a number may become a formula and a formula a number.
func TestFormulasInPlaceOfNumbers(t *testing.T) {
	r, err := Parse("r.toml", everyKind, []string{"stage.rl.algorithm.clip_high=0.2 + 0.1*progress", "stage.rl.algorithm.weight=0.5", "stage.rl.algorithm.keep=true"})
	if err != nil {
		t.Fatal(err)
	}
	a, err := r.Stages[1].Compiled()
	if err != nil {
		t.Fatal(err)
	}
	if needs := a.Needs(); !slices.Contains(needs, "progress") || r.Stages[1].Algorithm.Values["weight"] != "0.5" {
		t.Errorf("needs %v, values %v", needs, r.Stages[1].Algorithm.Values)
	}
}

// TestReading: what a stage computes is told in a line that counts what the recipe changes, and
// formula by formula. As they are published, methods have no change.
func TestReading(t *testing.T) {
	const own = `stage.rl.algorithm.policy=-ratio*A`
	for want, sets := range map[string][]string{
		"method: grpo":                   nil,
		"method: grpo, 1 change":         {"stage.rl.algorithm.clip_high=0.3"},
		"method: grpo, 2 changes":        {"stage.rl.algorithm.advantage=rloo", `stage.rl.algorithm.keep=group_std(reward) > 0`},
		"method: grpo, 3 changes":        {own, "stage.rl.algorithm.advantage=reward - rate", `stage.rl.algorithm.state={rate = {start = 1, next = "step_mean(reward)"}}`},
		"method: dapo, 1 change":         {"stage.rl.algorithm.preset=dapo", "stage.rl.numbers.temperature=1 - 0.5*progress"},
		"method: formulas of the recipe": {"stage.rl.algorithm.preset=", own, "stage.rl.algorithm.advantage=reward"},
	} {
		r, err := Parse("r.toml", everyKind, sets)
		if err != nil {
			t.Fatal(err)
		}
		line, formulas, err := r.Stages[1].Reading()
		if err != nil || line != want || !slices.Contains(formulas, "penalty = 0") {
			t.Errorf("%q: %q, %v\n%q", sets, line, err, formulas)
		}
	}
	trained := 0
	for _, name := range algo.MethodNames() {
		r, err := Parse("r.toml", everyKind, []string{"stage.rl.algorithm.preset=" + name})
		if err != nil {
			continue // it reads what this stage does not supply
		}
		trained++
		if line, _, err := r.Stages[1].Reading(); err != nil || line != "method: "+name {
			t.Errorf("%s: %q, %v", name, line, err)
		}
	}
	if trained < 20 {
		t.Errorf("%d methods train in a stage of kind rl", trained)
	}
}

// TestState: states are written out, read again, and refused with their place.
func TestState(t *testing.T) {
	const set = `stage.rl.algorithm.state={rate = {start = 1, next = "0.5*rate + 0.5*step_mean(reward)", by = "row"}}`
	r, err := Parse("r.toml", everyKind, []string{set, "stage.rl.algorithm.advantage=reward - rate"})
	if err != nil {
		t.Fatal(err)
	}
	again, err := Parse("resolved.toml", r.Resolved(), nil)
	if err != nil || again.Resolved() != r.Resolved() {
		t.Errorf("%v, or another recipe:\n%s", err, r.Resolved())
	}
	a, err := again.Stages[1].Compiled()
	if err != nil || !strings.Contains(a.Text(), "rate = 1 at first, then 0.5*rate + 0.5*step_mean(reward), by row") {
		t.Errorf("%v:\n%s", err, a.Text())
	}
	text := strings.Replace(everyKind, "[[stage.verifier]]", "[stage.algorithm.state]\nrate = {start = 0, next = \"rewrd\"}\n[[stage.verifier]]", 1)
	for from, want := range map[string]string{
		text: "r.toml:10:1: stage.rl.algorithm.state.rate: column 1: unknown name rewrd; did you mean reward?",
		strings.Replace(text, `{start = 0, next = "rewrd"}`, "3", 1):       `r.toml:10:1: stage.rl.algorithm.state.rate = 3 is a whole number; accepted: a table such as {start = 0, next = "formula"}`,
		strings.Replace(text, `next = "rewrd"`, `nxt = "reward"`, 1):       "unknown key stage.rl.algorithm.state.rate.nxt; did you mean next?",
		strings.Replace(text, `next = "rewrd"`, `next = "reward"`, 1):      "stage.rl.algorithm.state.rate: one value for each completion where one number is wanted",
		strings.Replace(text, `start = 0, next = "rewrd"`, `start = 0`, 1): "stage.rl.algorithm.state.rate has no next",
	} {
		if _, err := Parse("r.toml", from, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestDocumentedMethods: the methods that the README and the guide show are accepted as they
// stand there.
func TestDocumentedMethods(t *testing.T) {
	found := 0
	for _, page := range []string{"README.md", "docs/guide/formulas.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(page)))
		if err != nil {
			t.Fatal(err)
		}
		models := ""
		for _, table := range regexp.MustCompile("(?s)(\\[stage\\.algorithm\\]\n.*?)(```|\\[stage\\.optimizer\\])|(\\[models\\..*?)\n\\[\\[stage").FindAllStringSubmatch(string(text), -1) {
			if table[3] != "" {
				models = table[3] + "\n" // of the method that comes next
				continue
			}
			found++
			if _, err := Parse(page, models+strings.Replace(everyKind, "[[stage.verifier]]", table[1]+"[[stage.verifier]]", 1), nil); err != nil {
				t.Errorf("%v\n%s", err, table[1])
			}
			models = ""
		}
	}
	if found < 3 {
		t.Errorf("%d tables [stage.algorithm] in the documents", found)
	}
}
