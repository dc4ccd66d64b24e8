package weights

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/model/gguf"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/rl/formula"
)

// Model is a model with the name that a formula has for it. An adapter has been merged into it.
type Model struct {
	Name   string
	Folder *hf.Folder
}

// Blend is a formula over the weights of models.
type Blend struct {
	program *formula.Program
	models  []Model // config and tokenizer are those of the first
	calls   []call
}

// result is the part of the program that is the formula.
const result = "weights"

// Compile reads a formula over models, and checks that they can be computed with each other.
// Each of them must be in the formula.
func Compile(text string, models []Model) (*Blend, error) {
	if len(models) == 0 {
		return nil, errors.New("the formula has no models to read")
	}
	b := &Blend{models: models}
	var names []string
	for _, m := range models {
		names = append(names, m.Name)
	}
	facts, err := factsOf(names)
	if err != nil {
		return nil, err
	}
	if b.program, err = formula.Compile(formula.Text{Parts: map[string]string{result: text}}, facts); err != nil {
		return nil, err
	}
	if statistic := b.program.OverRows(result); statistic != "" {
		return nil, hint.With(fmt.Errorf("%s; accepted: arithmetic on each element, and %s", statistic, usages()), "(a + b)/2 is the mean of two models")
	}
	if _, condition, _ := b.program.Level(result); condition {
		return nil, fmt.Errorf("%s: found a condition, accepted: a number, as of if(condition, a, b)", result)
	}
	if b.calls, err = readCalls(b.program.Calls()); err != nil {
		return nil, err
	}
	if err := b.reads(names); err != nil {
		return nil, err
	}
	for _, m := range models[1:] {
		if err := agree(models[0], m); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// factsOf are the models and functions as facts: a value for each element of a tensor.
func factsOf(names []string) ([]formula.Fact, error) {
	facts := Functions(names)
	for i, name := range names {
		what := formula.Taken(name)
		for _, f := range slices.Concat(formula.Structure(), Functions(nil)) {
			if f.Name == name {
				what = "a function or fact"
			}
		}
		switch {
		case slices.Contains(names[:i], name):
			what = "another model"
		case what == "":
			facts = append(facts, formula.Fact{Name: name, Level: formula.Token, Model: true, Meaning: "the weights of the model"})
			continue
		}
		return nil, fmt.Errorf("a model cannot be called %s, the name of %s; accepted: any other name", name, what)
	}
	return facts, nil
}

// reads sees to it that the formula reads every model, and nothing that is no model.
func (b *Blend) reads(names []string) error {
	read := map[string]bool{}
	var calls []string
	for _, c := range b.calls {
		calls = append(calls, c.column)
		for _, name := range c.models {
			read[name] = true
		}
	}
	for _, name := range b.program.Needs(result) {
		if !slices.Contains(names, name) && !slices.Contains(calls, name) {
			return fmt.Errorf("%s: %s tells of completions, not of weights; accepted: the models %s", result, name, strings.Join(names, ", "))
		}
		read[name] = true
	}
	for _, name := range names {
		if !read[name] {
			return hint.With(fmt.Errorf("%s: the formula does not read the model %s; accepted: a formula that reads every model", result, name), "leave out %s=MODEL", name)
		}
	}
	return nil
}

// agree refuses two models that cannot be computed with each other.
func agree(first, m Model) error {
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

// Files are those of a Hugging Face folder with the computed weights as F32, F16 or BF16, as
// [hf.Folder.Files] has them. done is called with the number of tensors that are computed, and of all.
func (b *Blend) Files(typ gguf.Type, done func(n, of int)) (small map[string][]byte, tensors []hf.NamedTensor, err error) {
	small, tensors, err = b.models[0].Folder.Files(typ)
	for i := range tensors {
		t := tensors[i]
		tensors[i].Data = func() ([]float32, error) {
			data, err := b.tensor(t.Name, t.Shape)
			if err != nil {
				return nil, fmt.Errorf("tensor %s: %w", t.Name, err)
			}
			done(i+1, len(tensors))
			return data, nil
		}
	}
	return small, tensors, err
}
