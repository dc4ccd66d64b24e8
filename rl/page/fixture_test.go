package page

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/record"
	"github.com/rlzero/rlzero/verify"
)

// The runs that browsers are shown, made anew for each test: empty, in progress, finished
// with three seeds, and a control. What models write there is hostile.

const recipeText = `about = "a run of the tests, %s"
name = "%s"
seed = %d

[task]
name = "sums"

[[stage]]
kind = "rl"
name = "rl"
steps = 60
reward = "%s"

[stage.sampling]
max_completion_tokens = 12
`

// hostile are completions that try to break out of a page, of a line, or of a terminal.
var hostile = []string{
	`<img src=x onerror=alert(1)></td></table><script>document.title="broken"</script>`, "\u202eright to left\u2066", "NUL \x00 and \x1b[31mred", strings.Repeat("very long ", 3000), "",
}

// rows builds a log.
type rows struct{ strings.Builder }

func (r *rows) add(v any) {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	r.Write(append(data, '\n'))
}

type object = map[string]any

// made writes the folder of a run with so many steps. Accuracy goes from 0.3 to end.
func made(t testing.TB, dir, name, reward string, seed, steps int, end float64) {
	t.Helper()
	write(t, dir, "recipe.toml", fmt.Sprintf(recipeText, name, name, seed, reward))
	if steps == 0 {
		return
	}
	var metrics, timing, completions, tokens, judgements, rowsMade, evaluations, alerts rows
	evaluated := func(step int, accuracy float64) {
		metrics.add(object{"step": step, "stage": "rl", "eval/pass@1": accuracy, "eval/pass@8": 0.9, "eval/problems": 64, "eval/samples": 8, "eval/mean": accuracy, "eval/mean_low": accuracy - 0.05, "eval/mean_high": accuracy + 0.05, "eval/greedy": accuracy})
		for i := range 30 {
			verdict := "wrong"
			if math.Mod(float64(i)*0.37+accuracy*0.5, 1) < accuracy {
				verdict = "right"
			}
			evaluations.add(object{"step": step, "stage": "rl", "prompt": fmt.Sprintf("%d + %d >", i, i+1), "completion": fmt.Sprint(2*i+1, verdict), "verdict": verdict, "reason": "the sum is " + verdict})
		}
	}
	evaluated(0, 0.3)
	for step := 1; step <= steps; step++ {
		done := float64(step) / 60
		accuracy := 0.3 + (end-0.3)*done + 0.02*math.Sin(float64(step*seed))
		metrics.add(object{"step": step, "stage": "rl", "reward/mean": accuracy, "reward/group_std": 0.4, "reward/verdict_correlation": 0.9, "reward/term/task": accuracy, "reward/term/form": 1 - accuracy/2,
			"groups/uniform_share": 0.2 + 0.3*done, "groups/all_right_share": 0.3 * done, "groups/all_wrong_share": 0.1, "rollout/tokens": 160, "rollout/length_mean": 10 + math.Sin(float64(step)), "rollout/truncated_share": 0.01 * float64(step%7),
			"policy/entropy": 1 - 0.7*done, "policy/grad_norm": 0.4 + 0.1*math.Sin(float64(3*step)), "policy/compared": 160, "policy/equal": 160, "policy/mismatch_kl": 0})
		timing.add(object{"step": step, "stage": "rl", "time/rollout_s": 0.3, "time/train_s": 0.9 + 0.1*math.Sin(float64(step)), "rollout/tokens_per_s": 500 + step})
		for g := range 4 {
			for s := range 4 {
				text, verdict := fmt.Sprintf("%d + 7 = %d", g, g+7-s%2), []string{"right", "wrong"}[s%2]
				if s == 3 {
					text = hostile[(step+g)%len(hostile)]
				}
				l := line(step, g, s, fmt.Sprintf("%d + 7 >", g), text, verdict)
				if g == 2 && step%10 == 0 { // an episode; in every step they would not fit into one file
					turns, _ := json.Marshal([]object{{"by": "policy", "text": "6", "tokens": 2, "read": 3, "reward": 0.25, "calls": []object{{"tool": "calculator", "args": object{"expression": "6"}, "failed": true}}}, {"by": "world", "text": hostile[(step+s)%len(hostile)]}, {"by": "policy", "text": text, "tokens": 2}})
					l = strings.TrimSuffix(strings.TrimSpace(l), "}") + `,"turns":` + string(turns) + "}\n"
				}
				if g == 3 && step%10 == 0 { // a tree of which two completions share a fork, and a seat
					nodes, _ := json.Marshal([]object{{"node": 1, "parent": 0, "tokens": 1, "text": "3"}, {"node": 2 + s/2, "parent": 1, "tokens": 1, "text": hostile[s/2]}, {"node": 4 + s, "parent": 2 + s/2, "tokens": 1, "text": text}})
					l = strings.TrimSuffix(strings.TrimSpace(l), "}") + `,"seat":"second","against":"older","nodes":` + string(nodes) + "}\n"
				}
				completions.WriteString(l)
				if step%10 == 1 && g == 1 {
					quarters := []float64{0.25, 0.5, 0.75, 1.1}
					for _, o := range []verify.Opinion{{Question: "aa", Reading: &quarters[2], Raw: &quarters[3]}, {Question: "ab", Asked: hostile[(s+3)%len(hostile)], About: hostile[s%len(hostile)], Reading: &quarters[1], Mass: &quarters[0]},
						{Question: "ac", Text: hostile[(s+2)%len(hostile)], Why: hostile[(s+1)%len(hostile)], Tokens: 9}} {
						judged, err := json.Marshal(record.Judgement{Step: step, Stage: "rl", Group: g, Sample: s, Verifier: "liked", Opinion: o})
						must(t, err)
						judgements.Write(append(judged, '\n'))
					}
				}
				if step%10 == 1 {
					fmt.Fprintf(&tokens, `{"step":%d,"stage":"rl","group":%d,"sample":%d,"prompt_ids":[1,2],"ids":[5,6,7],"read":[{"before":1,"ids":[9],"text":"<b>read</b>"}],"text":["1"," +","<eos>"],"logprob":[-0.1,-2,-0.01],"entropy":[0.3,1.2,0],"weight":[%g,0.1,0],"clipped":[2]}`+"\n", step, g, s, float64(s-2)/10)
				}
			}
		}
		if step%10 == 1 {
			text := func(s string) json.RawMessage { raw, err := json.Marshal(s); must(t, err); return raw }
			row, err := json.Marshal(record.Made{Step: step, Stage: "rl", Rows: "pairs", ID: fmt.Sprintf("pairs-%d", step), From: hostile[0], Group: 1, Samples: []int{0, 3}, By: fmt.Sprintf("policy@%d", step-1),
				Row: map[string]json.RawMessage{"chosen": text("1 + 7 = 8"), "rejected": text(hostile[step%len(hostile)]), "labels": json.RawMessage("[1,0]")}})
			must(t, err)
			rowsMade.Write(append(row, '\n'))
		}
		if step%10 == 0 && step < 60 {
			metrics.add(object{"step": step, "stage": "rl", "eval/pass@1": accuracy, "eval/pass@8": 0.9, "eval/problems": 32, "eval/samples": 8, "eval/mean": accuracy, "eval/mean_low": accuracy - 0.07, "eval/mean_high": accuracy + 0.07})
		}
		if step == 12 {
			alerts.add(object{"step": step, "stage": "rl", "rule": "length", "level": "warning", "seen": "the mean length went from 10.0 to 20.0 tokens", "against": "the mean reward went from 0.4 to 0.4", "why": "completions change their length", "do": "Set a limit"})
		}
	}
	logs := []struct{ name, text string }{{"metrics.jsonl", metrics.String()}, {"completions.jsonl", completions.String()}, {"evaluations.jsonl", ""}, {"tokens.jsonl", tokens.String()}, {"judgements.jsonl", judgements.String()}, {"rows.jsonl", rowsMade.String()}, {"alerts.jsonl", alerts.String()}}
	if steps == 60 {
		evaluated(60, end)
		logs[0].text = metrics.String()
		var problems []object
		for i := range 64 {
			right := int(8*end + 1.5*math.Sin(float64(i*seed))) // of eight samples
			problems = append(problems, object{"scored": 8, "right": right, "score": right})
		}
		var heldOut rows
		heldOut.add(object{"step": 60, "stage": "rl", "samples": 8, "problems": problems})
		write(t, dir, "heldout.jsonl", heldOut.String())
		logs = append(logs, struct{ name, text string }{"heldout.jsonl", heldOut.String()})
	}
	logs[2].text = evaluations.String()
	write(t, dir, "timing.jsonl", timing.String())
	var hashes []object
	for _, l := range logs {
		write(t, dir, l.name, l.text)
		hashes = append(hashes, object{"name": l.name, "sha256": fmt.Sprintf("%x", sha256.Sum256([]byte(l.text)))})
	}
	if steps == 60 {
		recipe := fmt.Sprintf("%x", sha256.Sum256([]byte(fmt.Sprintf(recipeText, name, name, seed, reward))))
		data, err := json.Marshal(object{"recipe": recipe, "logs": hashes, "checkpoints": []object{{"name": "step-000060", "sha256": "00"}}, "device": "a device", "driver": "a driver", "tier": "T0", "numerics": 3, "program": "dev"})
		must(t, err)
		write(t, dir, "receipt.json", string(data))
	}
}

// shown makes the folder of all of them.
func shown(t testing.TB) string {
	t.Helper()
	root := t.TempDir()
	made(t, filepath.Join(root, "empty"), "empty", "task", 1, 0, 0)
	made(t, filepath.Join(root, "live"), "live", "task", 1, 25, 0.7)
	for seed := 1; seed <= 3; seed++ {
		made(t, filepath.Join(root, fmt.Sprintf("sums-%d", seed)), "sums", "task", seed, 60, 0.7+0.03*float64(seed))
	}
	made(t, filepath.Join(root, "random"), "random", "random", 1, 60, 0.31)
	made(t, filepath.Join(root, "random-2"), "random", "random", 2, 60, 0.30)
	return root
}
