package cast

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/learn"
	"github.com/rlzero/rlzero/model/memory"
	"github.com/rlzero/rlzero/rl/recipe"
)

// novice is a model from random weights, of a shape of its own. It learns by a trainer of its own, in stages that train
// it: the policy stays where it is.
type novice struct {
	scoring
	model   *model.Model
	trainee *Trainee
	name    string
	asked   bool // tools ask it
}

// noviceInit is the first stream of random numbers of novices: those before it are of the policy and of its adapter.
const noviceInit = 2

// shaped are the configs of the models from random weights that a recipe needs, by name.
func (b *blueprint) shaped(r *recipe.Recipe) error {
	b.shapes = map[string]hf.Config{}
	faults := r.Faults()
	for _, w := range b.wants {
		if w.spec == nil || !w.spec.Fresh() {
			continue
		}
		cfg, err := configOf(w.spec.Shape)
		if err == nil {
			cfg.Vocab, cfg.PAD, cfg.EOS = b.config.Vocab, b.config.PAD, b.config.EOS
			cfg.Dtype, cfg.KVDtype, cfg.MaxPositions = hf.F32, hf.F32, cmp.Or(w.spec.Context, Context(r))
			err = cfg.Complete()
		}
		if most := sizesOf(r).positions; err == nil && cfg.MaxPositions < most {
			err = fmt.Errorf("the recipe asks for sequences of %d tokens, but its context has %d", most, cfg.MaxPositions)
		}
		if err != nil {
			faults.Fail("models."+w.name, "%w", err)
		}
		b.shapes[w.name] = cfg
	}
	return faults.Err()
}

// rulesOf are the rules of the optimizers of the stages that train a novice.
func rulesOf(r *recipe.Recipe, name string) (rules []learn.Rule) {
	for i := range r.Stages {
		if st := &r.Stages[i]; !st.Skip && st.Learns() && st.Learner() == name {
			rules = append(rules, learn.Rule(st.Optimizer.Rule))
		}
	}
	return rules
}

func openNovice(o opening) (member, error) {
	n := noviceInit + slices.Index(o.recipe.ModelNames(), o.name)
	m, err := model.New(o.dev, o.shapes[o.name], random.At(o.recipe.Seed, random.Stream(random.Init, n), 0).Uint64(), o.positions)
	if err != nil {
		return nil, err
	}
	m.Tokenizer = o.tokenizer
	options := []learn.Option{learn.Optimizes(o.optimized...), learn.In(o.cast.scratch.Phase(memory.LearningOf(o.label())))}
	if o.recipe.Recompute {
		options = append(options, learn.Recompute)
	}
	t, err := learn.NewTrainer(m, o.trainRows, options...)
	if err != nil {
		m.Close()
		return nil, err
	}
	return &novice{scoring{scorer: t.NewScorer(m, false)}, m, &Trainee{trainer: t}, o.name, o.recipe.Task.AskRoom(o.name) > 0}, nil
}

// openLearned opens a model that a run made from random weights as a checkpoint of it has it, beside the policy in the
// same folder.
func openLearned(o opening, dir string) (member, error) {
	file := filepath.Join(dir, filepath.FromSlash(recipe.MemberWeights(o.name)))
	if _, err := os.Stat(file); err != nil {
		err := fmt.Errorf("%w: the model %s is made in a run, and a checkpoint has its weights: %w", lines.ErrInput, o.name, err)
		return nil, hint.With(err, "measure a run of the recipe, or a checkpoint of one")
	}
	m, err := model.NewFrozen(o.dev, o.shapes[o.name], o.positions)
	if err != nil {
		return nil, err
	}
	if err = readTensors(file, m.SetTensors); err == nil {
		var scorer *model.Scorer
		if scorer, err = o.scorerOf(m); err == nil {
			return folderModel{scoring{scorer: scorer}, m}, nil
		}
	}
	m.Close()
	return nil, err
}

// Made are the files of a checkpoint that have the weights of models made from random ones that tools ask: a policy that is
// measured needs them too.
func (c *Cast) Made() map[string]func(io.Writer) error {
	files := map[string]func(io.Writer) error{}
	for _, m := range c.members {
		if n, made := m.member.(*novice); made && n.asked {
			files[recipe.MemberWeights(n.name)] = tensorFile(n.model.Tensors())
		}
	}
	return files
}

func (n *novice) begin() error { return n.trainee.trainer.ResetOptimizer() }

func (n *novice) judging() (*model.Model, *hf.Head) { return n.model, nil }

// Save implements [Keeper].
func (n *novice) Save() (map[string]func(io.Writer) error, error) {
	files := map[string]func(io.Writer) error{recipe.MemberWeights(n.name): tensorFile(n.model.Tensors())}
	n.trainee.save(n.name, files)
	return files, nil
}

// Load implements [Keeper].
func (n *novice) Load(dir string) error {
	if err := readTensors(filepath.Join(dir, filepath.FromSlash(recipe.MemberWeights(n.name))), n.model.SetTensors); err != nil {
		return err
	}
	return n.trainee.load(n.name, dir)
}

func (n *novice) close() {
	n.scoring.close()
	n.trainee.trainer.Close()
	n.model.Close()
}
