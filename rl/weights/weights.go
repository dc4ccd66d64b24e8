package weights

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/model/gguf"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/rl/algebra"
)

// Model is a model with the name that a formula has for it. An adapter has been merged into it.
type Model struct {
	Name   string
	Folder *hf.Folder
}

// Blend is a formula over the weights of models.
type Blend struct {
	// Only are the names of the tensors that the formula computes; the others are those of the first model. nil: all
	// are computed.
	Only *regexp.Regexp

	formula *algebra.Weights
	models  []Model // config and tokenizer are those of the first
}

// Compile reads a formula over models, and checks that they can be computed with each other.
// Each of them must be in the formula.
func Compile(text string, models []Model) (*Blend, error) {
	if len(models) == 0 {
		return nil, errors.New("the formula has no models to read")
	}
	var names []string
	for _, m := range models {
		names = append(names, m.Name)
	}
	f, err := algebra.CompileWeights(text, names)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if !slices.Contains(f.Models, name) {
			return nil, hint.With(fmt.Errorf("the formula does not read the model %s; accepted: a formula that reads every model", name), "leave out %s=MODEL", name)
		}
	}
	for _, m := range models[1:] {
		if err := Agree(models[0], m); err != nil {
			return nil, err
		}
	}
	return &Blend{formula: f, models: models}, nil
}

// Agree refuses two models that cannot be computed with each other.
func Agree(first, m Model) error {
	a, b := first.Folder, m.Folder
	key, own, others, err := a.Config.Unlike(b.Config)
	if err != nil {
		return err
	}
	if key != "" {
		return fmt.Errorf("%s: config.json: %s: found %s in model %s, accepted: %s, as model %s has", b.Dir, key, others, m.Name, own, first.Name)
	}
	switch {
	case a.Tokenizer == nil && b.Tokenizer == nil:
		return nil
	case a.Tokenizer == nil:
		return fmt.Errorf("%s: tokenizer.json of model %s is missing; accepted: models with the same tokens", a.Dir, first.Name)
	case b.Tokenizer == nil:
		return fmt.Errorf("%s: tokenizer.json of model %s is missing; accepted: models with the same tokens", b.Dir, m.Name)
	}
	if id := a.Tokenizer.Unlike(b.Tokenizer); id >= 0 {
		return fmt.Errorf("%s: tokenizer.json: id %d is %s in model %s, accepted: %s, as model %s has", b.Dir, id, terminal.Quote(b.Tokenizer.Token(id)), m.Name, terminal.Quote(a.Tokenizer.Token(id)), first.Name)
	}
	return nil
}

// ErrOnly says that the computed tensors are none.
var ErrOnly = errors.New("matches none of the tensors")

// Files are those of a Hugging Face folder with the computed weights as F32, F16 or BF16, as
// [hf.Folder.Files] has them. done is called with the number of tensors that are computed, and of all.
// [ErrOnly] is part of the error where Only matches no name.
func (b *Blend) Files(typ gguf.Type, done func(n, of int)) (small map[string][]byte, tensors []hf.NamedTensor, err error) {
	small, tensors, err = b.models[0].Folder.Files(typ)
	var computed []int
	for i, t := range tensors {
		if b.Only == nil || b.Only.MatchString(t.Name) {
			computed = append(computed, i)
		}
	}
	if b.Only != nil && len(computed) == 0 && len(tensors) > 0 && err == nil {
		err = fmt.Errorf("%s %w, %d in number; accepted: a regular expression that some name matches, such as %s", b.Only, ErrOnly, len(tensors), tensors[0].Name)
	}
	for n, i := range computed {
		t := tensors[i]
		tensors[i].Data = func() ([]float32, error) {
			data, err := b.tensor(t.Name, t.Shape)
			if err != nil {
				return nil, fmt.Errorf("tensor %s: %w", t.Name, err)
			}
			done(n+1, len(computed))
			return data, nil
		}
	}
	return small, tensors, err
}
