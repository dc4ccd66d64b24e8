package cast

import (
	"errors"
	"fmt"

	"github.com/rlzero/rlzero/model/gguf"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/weights"
)

// ingredient is a model that a formula makes another one of.
type ingredient struct {
	name string
	spec recipe.Member // the zero value: the policy
}

// ingredientsOf are those of a model; nil: no formula makes it.
func ingredientsOf(r *recipe.Recipe, name string) (all []ingredient) {
	for _, of := range r.MadeOf(name) {
		all = append(all, ingredient{of, r.Models[of]})
	}
	return all
}

// blend reads what a model is made of, and lets the formula be used as long as that is open. tensors are those of a
// model that lies on the device; nil: nothing is computed yet. It adds the folders that it reads to those of the
// blueprint.
func (b *blueprint) blend(w want, tensors func(name string) ([]hf.NamedTensor, error), use func(*weights.Blend) error) (err error) {
	policy := &hf.Folder{Dir: "the policy", Config: b.config, Tokenizer: b.tokenizer}
	var models []weights.Model
	for _, of := range w.made {
		f := *policy
		if of.spec.Path == "" {
			if tensors != nil {
				ts, err := tensors(of.name)
				if err != nil {
					return err
				}
				f.Tensors = hf.SetOf(ts)
			}
		} else {
			read, err := hf.ReadFolder(of.spec.Path)
			if err != nil {
				return fmt.Errorf("model %s: %w", of.name, err)
			}
			defer func() { err = errors.Join(err, read.Tensors.Close()) }()
			if _, opened := b.folders[of.name]; !opened {
				b.folders[of.name] = folderOf{read: readFrom(of.spec, read)}
			}
			if err := read.Merge(of.spec.Adapter); err != nil {
				return fmt.Errorf("model %s: %w", of.name, err)
			}
			f = *read
		}
		models = append(models, weights.Model{Name: of.name, Folder: &f})
		if err := weights.Agree(weights.Model{Name: policyName, Folder: policy}, models[len(models)-1]); err != nil {
			return err
		}
	}
	blend, err := weights.Compile(w.spec.Weights, models)
	if err != nil {
		return err
	}
	return use(blend)
}

// make gives a model that a formula makes the weights that the others have now.
func (a *average) make(b blueprint, w want, c *Cast) error {
	tensors := func(name string) ([]hf.NamedTensor, error) {
		if name == policyName {
			return c.Policy.own(), nil
		}
		m, err := c.member(name)
		if err != nil {
			return nil, err
		}
		return m.(*average).weights.Tensors(), nil
	}
	return b.blend(w, tensors, func(blend *weights.Blend) error {
		_, made, err := blend.Files(gguf.F32, func(n, of int) {})
		if err != nil {
			return err
		}
		return a.weights.SetTensors(hf.SetOf(made))
	})
}
