package run

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/record"
	"github.com/rlzero/rlzero/rl/store"
)

// leavingRun asks a teacher and a judge, which reads answers and writes some, of a folder: both are there as RESIDENT says.
const leavingRun = `
[models.teacher]
path = 'FOLDER'
resident = "RESIDENT"
[models.grader]
path = 'FOLDER'
dtype = "bf16"
resident = "RESIDENT"
[[stage]]
name = "warm-up"
[[stage]]
name = "rl"
steps = 2
prompts_per_step = 4
group_size = 4
eval_every = 1
eval_problems = 4
checkpoint_every = 1
max_not_scored = 1
reward = "random + says + said/10 + score_of('7', prompt, teacher)"
[stage.algorithm]
penalty = "0.05*square(logp - teacher)/2"
[[stage.verifier]]
name = "says"
verifier = "judge"
options = {model = "grader", source = "{question}{completion}", read = {1 = 1, 2 = 0}}
[[stage.verifier]]
name = "said"
verifier = "judge"
options = {model = "grader", source = "{completion}{question}", read = "[0-9]", between = [0, 9], votes = 2, temperature = 1.0, max_tokens = 6}
`

// TestModelsLeave: models that leave the device after each of their phases change no byte of a run, and the plan has
// them in their phases alone. Where memory is short, those leave that have to.
func TestModelsLeave(t *testing.T) {
	dev := mostly(t)
	from := t.TempDir()
	longer := []string{"stage.warm-up.hold_steps=40", "stage.warm-up.decay_steps=10"} // completions are then text that the words of the task can write
	trainOn(t, dev, from, false, append(slices.Clone(smallRun), append(longer, "seed=2", "stage.rl.skip=true")...)...)
	found, err := store.FindModel(from, "")
	must(t, err)
	text := func(resident string) string {
		return strings.NewReplacer("FOLDER", found.Dir, "RESIDENT", resident).Replace(leavingRun)
	}
	runs := map[string]map[string]string{}
	for _, resident := range []string{"always", "phase"} {
		dir := t.TempDir()
		must(t, trainText(t, dev, dir, text(resident), false, longer...))
		runs[resident] = runFiles(t, dir)
		asked := map[any]int{}
		for _, line := range linesOf(t, filepath.Join(dir, record.JudgementsFile)) {
			asked[line["verifier"]]++
		}
		if asked["says"] == 0 || asked["said"] == 0 {
			t.Errorf("%s: the judge was asked %v", resident, asked)
		}
	}
	compared := 0
	for name, want := range runs["always"] {
		if strings.HasSuffix(name, ".jsonl") || strings.HasSuffix(name, ".safetensors") {
			if compared++; runs["phase"][name] != want {
				t.Errorf("%s is another one where models leave", name)
			}
		}
	}
	if compared < 6 {
		t.Errorf("%d files are compared", compared)
	}

	plan := func(resident string, memory int) (gpu.Plan, error) {
		t.Helper()
		r, err := parsed(text(resident), longer...)
		must(t, err)
		caps := dev.Caps()
		caps.Memory = memory
		return cast.Plan(r, "", caps)
	}
	leave := func(p gpu.Plan) (names []string) {
		for _, phase := range p.Phases {
			for _, item := range phase.Items {
				if name, ok := strings.CutPrefix(item.Name, "parameters of model "); ok && !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
		return names
	}
	const plenty = 1 << 40
	always, err := plan("always", plenty)
	must(t, err)
	all, err := plan("phase", plenty)
	must(t, err)
	for total, want := range map[int]int{plenty: 0, always.Total() - 1: 1, all.Total(): 2} {
		p, err := plan("auto", total)
		if err != nil || p.Total() > total || len(leave(p)) != want {
			t.Errorf("of %d bytes (%d where all stay, %d where all leave) %d are taken, %v leave, want %d: %v", total, always.Total(), all.Total(), p.Total(), leave(p), want, err)
		}
	}
	if len(leave(always)) > 0 || len(leave(all)) != 2 || all.Total() >= always.Total() {
		t.Errorf("%v leave of %d bytes, %v of %d", leave(always), always.Total(), leave(all), all.Total())
	}
	if _, err := plan("auto", all.Total()/2); !errors.Is(err, gpu.ErrOutOfMemory) {
		t.Errorf("half of the memory: %v", err)
	}
	summed := strings.Replace(text("phase"), "[[stage]]", "[models.both]\nlogits = \"policy + 0.5*teacher\"\n[[stage]]", 1)
	r, err := parsed(strings.Replace(summed, "square(logp - teacher)/2", "square(logp - both)/2", 1), longer...)
	must(t, err)
	if _, err := cast.Plan(r, "", dev.Caps()); !errors.Is(err, recipe.ErrInvalid) || !strings.Contains(err.Error(), "models.teacher.resident: model teacher draws, answers tools, filters what is drawn or is summed beside the policy") {
		t.Errorf("a model in a sum that leaves: %v", err)
	}
}
