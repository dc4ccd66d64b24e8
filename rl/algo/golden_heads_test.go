package algo

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"

	"github.com/rlzero/rlzero/internal/fixtures"
)

// TestFormulasHeads: the losses that train heads are those of TRL's RewardTrainer, of transformers' heads of
// tokens, by which TRL's PRMTrainer learned, of OpenRLHF and of PRIME, value and gradient. Beside the cases of
// the tree it takes those that peers/differ draws.
func TestFormulasHeads(t *testing.T) {
	const file = "head_losses"
	of := func(dir string) func(t *testing.T) {
		return func(t *testing.T) {
			fixtures.Losses(t, dir, file, func(t *testing.T, f *fixtures.LossFile, c *fixtures.Case) {
				g := &golden{c, newHyper(c.Hyper, c.Own)}
				headLoss(t, (*goldenFile)(f), g)
				g.Hyper.mapped(t, nil)
			})
		}
	}
	t.Run("selection", of(fixtures.Selection(t, "losses")))
	drawn := filepath.Join(os.Getenv("RLZERO_FIXTURES"), "losses")
	if _, err := os.Stat(filepath.Join(drawn, file+".json")); err == nil {
		t.Run("full", of(drawn))
	}
}

func headLoss(t *testing.T, f *goldenFile, g *golden) {
	if strings.Contains(g.Note, "float32") {
		f = f.wider(1e-5, 1e-6) // as the note says
	}
	switch h := g.Hyper; g.Family() {
	case "reward", "pairwise", "logexp":
		chosenOnes, rejected := value[row](t, g.In, "chosen"), value[row](t, g.In, "rejected")
		scores := slices.Concat(chosenOnes, rejected)
		var mask, score [][]float64
		var groups []int
		var reward []float64
		for i, x := range scores { // an earlier token, which says nothing of the pair
			mask, score, groups = append(mask, []float64{1, 1}), append(score, []float64{3, x}), append(groups, i%len(chosenOnes))
			reward = append(reward, map[bool]float64{true: 1}[i < len(chosenOnes)])
		}
		s := newStep(t, f, mask, groups)
		s.tokens("score", score)
		s.completions("reward", reward)
		p := map[string]float64{}
		if h.has("center_rewards_coefficient") {
			p["center"] = h.num("center_rewards_coefficient")
		}
		var want [][]float64
		for _, x := range slices.Concat(value[row](t, g.Out, "dchosen"), value[row](t, g.Out, "drejected")) {
			want = append(want, []float64{0, x})
		}
		s.sameSlopes(g, chosen(t, "bradley_terry", p, nil), "score", want)
	case "token", "prm_hard", "prm_soft":
		label := matrix(t, g.In, "label")
		score, mask := make([][]float64, len(label)), make([][]float64, len(label))
		for i, pairs := range value[[][]row](t, g.In, "logits") {
			for _, logits := range pairs { // of the verdicts wrong and right
				score[i], mask[i] = append(score[i], logits[1]-logits[0]), append(mask[i], 1)
			}
		}
		s := newStep(t, f, mask, nil)
		s.tokens("score", score)
		s.tokens("label", label)
		s.sameSlopes(g, chosen(t, "step_labels", nil, nil), "score", matrix(t, g.Out, "dscore"))
	case "prime":
		h.only(t, "beta", 0.05) // that of the recipe, whose text is held against the case
		var recipe struct {
			Stage []struct {
				Learn struct {
					Prm struct{ Algorithm struct{ S, Loss string } }
				}
			}
		}
		if _, err := toml.DecodeFile("../recipe/presets/steps/prime.toml", &recipe); err != nil {
			t.Fatal(err)
		}
		method := recipe.Stage[0].Learn.Prm.Algorithm
		s := newStep(t, f, matrix(t, g.In, "mask"), nil)
		s.tokens("logp", matrix(t, g.In, "logp"))
		s.tokens("ref", matrix(t, g.In, "ref_logp"))
		s.completions("task", value[row](t, g.In, "right"))
		s.sameSlopes(g, Method{}.With(nil, map[string]string{"s": method.S, "loss": method.Loss}, nil), "logp", matrix(t, g.Out, "dlogp"))
	default:
		t.Fatalf("the test does not know the family %s", g.Family())
	}
}
