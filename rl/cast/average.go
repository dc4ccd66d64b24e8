package cast

import (
	"io"
	"path/filepath"

	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/learn"
	"github.com/rlzero/rlzero/rl/recipe"
)

// averageFile holds the average's weights in a checkpoint.
const averageFile = "trainer/ema.safetensors"

// average is a second set of what is trained, all weights or an adapter: the moving average of the
// policy over the updates of a stage, a copy that is made again now and then, or one that stages
// train. It may be a copy of one that learns beside the policy.
type average struct {
	scoring
	weights *learn.Average
	policy  *Policy
	of      *average // that it is a copy of; nil: it is one of the policy
	name    string
	file    string
	spec    *recipe.Member // nil: it is the average that every run can have
	learns  bool
	from    int          // index of the first stage that uses it, if it learns
	blend   func() error // makes it of others by a formula; nil: it begins as the policy

	headFile string   // of the head, if it has one
	trainee  *Trainee // by which it learns beside the policy; nil: it does not
}

func openAverage(o opening) (member, error) {
	from, of := o.policy.Model, (*average)(nil)
	if o.spec != nil && o.spec.CopyOf() != "" {
		m, err := o.cast.member(o.spec.CopyOf())
		if err != nil {
			return nil, err
		}
		of = m.(*average)
		from = of.weights.Model
	}
	weights, err := learn.NewAverage(from)
	if err != nil {
		return nil, err
	}
	a := &average{of: of, scoring: scoring{scorer: o.policy.trainer.NewScorer(weights.Model, false)}, weights: weights, policy: o.policy, name: o.name, file: o.file(averageFile), spec: o.spec, learns: o.learns, from: o.from}
	if o.spec != nil && o.spec.Weights != "" {
		a.blend = func() error {
			faults := o.recipe.Faults()
			if err := a.make(o.blueprint, o.want, o.cast); err != nil {
				faults.Fail("models."+a.name+".weights", "%w", err)
			}
			return faults.Err()
		}
	}
	if o.spec != nil && o.spec.Head {
		a.head, a.headFile = hf.NewHead(make([]float32, o.config.Width), 0), recipe.MemberHead(o.name)
	}
	if o.beside != nil {
		if err := a.apprentice(o); err != nil {
			a.close()
			return nil, err
		}
	}
	return a, nil
}

func (a *average) begin() error {
	switch {
	case a.trainee != nil:
		return a.forget()
	case a.learns:
		return nil
	}
	return a.reset()
}

// reset makes a copy again.
func (a *average) reset() error {
	if a.of != nil && a.head != nil {
		a.head = a.of.head
	}
	return a.weights.Reset()
}

func (a *average) follow(who string, share float64) error {
	if a.spec != nil {
		share = a.spec.Follow
	}
	if follows := a.of; share == 0 || follows == nil && who != policyName || follows != nil && who != follows.name {
		return nil
	}
	if a.of != nil && a.head != nil {
		a.head = toward(a.head, a.of.head, share)
	}
	return a.weights.Follow(share)
}

// toward is a head that has moved a share of the way to another one.
func toward(head, to *hf.Head, share float64) *hf.Head {
	weight, bias := head.Linear()
	other, otherBias := to.Linear()
	moved := make([]float32, len(weight))
	for i, w := range weight {
		moved[i] = w + float32(float32(share)*(other[i]-w))
	}
	return hf.NewHead(moved, bias+float32(float32(share)*(otherBias-bias)))
}

func (a *average) renew(step int) error {
	if a.spec == nil || !a.spec.Renews(step) {
		return nil
	}
	return a.reset()
}

func (a *average) made(stage int) error {
	if !a.learns || stage != a.from {
		return nil
	}
	if a.head != nil {
		a.head = hf.NewHead(make([]float32, a.policy.Model.Config.Width), 0)
	}
	if a.blend == nil {
		return a.weights.Reset()
	}
	return a.blend()
}

func (a *average) trade() error {
	a.policy.version++ // what was drawn before is of other weights
	return a.exchange()
}

// exchange is trade where nothing was drawn before.
func (a *average) exchange() error {
	if a.head != nil && a.policy.valued {
		mine := a.head
		var err error
		if a.head, err = a.policy.trainer.Head(); err != nil {
			return err
		}
		if err := a.policy.trainer.SetHead(mine); err != nil {
			return err
		}
	}
	if a.policy.guest == a {
		a.policy.guest = nil
	} else {
		a.policy.guest = a
	}
	return a.weights.Exchange()
}

// Save implements [Keeper]: the member's own weights and head, also while it is the policy's guest.
func (a *average) Save() (map[string]func(io.Writer) error, error) {
	weights, head := a.weights.Tensors(), a.head
	if a.policy.guest == a {
		weights = a.policy.seat()
		if head != nil && a.policy.valued {
			var err error
			if head, err = a.policy.trainer.Head(); err != nil {
				return nil, err
			}
		}
	}
	files := map[string]func(io.Writer) error{a.file: tensorFile(weights)}
	if head != nil {
		files[a.headFile] = tensorFile(head.Tensors())
	}
	if a.trainee != nil {
		a.trainee.save(a.name, files)
	}
	return files, nil
}

// Load implements [Keeper]. The policy is loaded first.
func (a *average) Load(dir string) error {
	err := readTensors(filepath.Join(dir, filepath.FromSlash(a.file)), a.weights.SetTensors)
	if err == nil && a.head != nil {
		err = readTensors(filepath.Join(dir, filepath.FromSlash(a.headFile)), func(ts *hf.TensorSet) (err error) {
			a.head, err = hf.ReadHead(ts, a.policy.Model.Config.Width)
			return err
		})
	}
	if err != nil {
		return err
	}
	if a.trainee != nil {
		if err := a.trainee.load(a.name, dir); err != nil {
			return err
		}
		if err := a.takeHead(); err != nil {
			return err
		}
	}
	state, err := readPolicyState(dir)
	if err == nil && state.Guest == a.name {
		err = a.exchange()
	}
	return err
}

func (a *average) close() {
	if a.trainee != nil {
		a.trainee.trainer.Close()
	}
	a.scoring.close()
	a.weights.Close()
}
