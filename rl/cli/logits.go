package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/rl/algebra"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/formula"
	"github.com/rlzero/rlzero/rl/infer"
	"github.com/rlzero/rlzero/rl/recipe"
)

// Whose logits are added to those of MODEL.
var (
	logitsFlag = &cli.StringFlag{Name: "logits", Usage: "draw by a sum of logits: `FORMULA`, such as 'policy + 0.5*(tuned - small)', where policy is MODEL"}
	withFlag   = &cli.StringSliceFlag{Name: "with", Usage: "`NAME=MODEL`: another model that --logits names"}
)

// addends are what --logits and --with say.
type addends struct {
	own    float64 // factor of MODEL
	others []addend
}

type addend struct {
	namedModel
	factor float64
}

// addendsOf reads --logits and --with; nil: nothing is added.
func addendsOf(c *cli.Context) (*addends, error) {
	named, err := namedModels(c.StringSlice(withFlag.Name))
	if err != nil {
		return nil, fmt.Errorf("--with: %w", err)
	}
	if !c.IsSet(logitsFlag.Name) {
		if len(named) > 0 {
			return nil, hint.With(usagef("--with names a model of --logits, which is not given"), "--logits 'policy + 0.5*%s'", named[0].name)
		}
		return nil, nil
	}
	names := []string{recipe.PolicyModel}
	for _, n := range named {
		if n.name == recipe.PolicyModel {
			return nil, usagef("--with %s=%s: %[1]s is MODEL; accepted: another name", n.name, n.path)
		}
		names = append(names, n.name)
	}
	terms, err := algebra.CompileLogits(c.String(logitsFlag.Name), names)
	if fault := (*formula.Error)(nil); errors.As(err, &fault) {
		err = hint.With(err, "the formula can read %s; --with NAME=MODEL names another model", strings.Join(names, ", "))
	}
	if err != nil {
		return nil, fmt.Errorf("%w: --logits: %w", lines.ErrInput, err)
	}
	a := &addends{}
	for i, name := range names {
		at := slices.IndexFunc(terms, func(t algebra.Term) bool { return t.Model == name })
		switch {
		case at < 0 && i > 0:
			return nil, usagef("--with %s=%s would do nothing: --logits does not name %[1]s", name, named[i-1].path)
		case at >= 0 && i == 0:
			a.own = terms[at].Factor
		case at >= 0:
			a.others = append(a.others, addend{named[i-1], terms[at].Factor})
		}
	}
	if len(a.others) == 0 {
		return nil, hint.With(usagef("--logits names no model but MODEL; accepted: a sum with others, whom --with NAME=MODEL names"), "--temperature divides the logits of MODEL")
	}
	return a, nil
}

// tellPolicy says of a run what its policy, which is the model that it stands for, lacks: the other models of a sum of logits
// by which it learned, or all that the run did where it trained another model alone.
func tellPolicy(c *cli.Context, path string) {
	own := filepath.Join(path, recipe.File)
	if !isFile(own) {
		return
	}
	r, err := recipe.Load(own, nil)
	if err != nil { // who needs it says so
		return
	}
	learner := ""
	for i := range r.Stages {
		if st := &r.Stages[i]; st.Learns() && !st.Skip {
			learner = st.Learner()
		}
	}
	note := ""
	switch text := r.Models[learner].Logits; {
	case text != "":
		note = fmt.Sprintf("%s: the policy alone. It learned by the sum %s, logits = %q: --logits and --with of rlzero sample and rlzero eval add the other models", path, learner, text)
	case learner != "" && !r.Trained(recipe.PolicyModel) && c.String("member") == "":
		note = fmt.Sprintf("%s: the policy, which this run did not train. What it trained is %s: %s", path, learner, memberCommand(learner, path))
	default:
		return
	}
	fmt.Fprintln(c.App.ErrWriter, terminal.Message(note))
}

// open loads the other models beside MODEL, whose tokens they must have. It returns what closes them too.
func (a *addends) open(c *cli.Context, m *model.Model) (_ *infer.Sum, _ func(), err error) {
	if a == nil {
		return nil, func() {}, nil
	}
	sum := &infer.Sum{Own: a.own}
	done := func() {
		for _, other := range sum.Others {
			other.Model.Close()
		}
	}
	defer func() {
		if err != nil {
			done()
		}
	}()
	dtype, err := dtypeOf(c, dtypeFlag)
	if err != nil {
		return nil, nil, err
	}
	kvDtype, err := dtypeOf(c, kvDtypeFlag)
	if err != nil {
		return nil, nil, err
	}
	for _, one := range a.others {
		found, err := findCheckpoint(c, one.path, "")
		if err != nil {
			return nil, nil, fmt.Errorf("--with %s: %w", one.name, err)
		}
		other, err := cast.OpenModel(m.Device(), found.Dir, "", dtype, kvDtype)
		if err != nil {
			return nil, nil, fmt.Errorf("--with %s: %w", one.name, err)
		}
		sum.Others = append(sum.Others, infer.Summand{Name: one.name, Model: other, Factor: one.factor})
		if err := sameTokens(m, other); err != nil {
			return nil, nil, fmt.Errorf("%w: --with %s: %w", lines.ErrInput, one.name, err)
		}
	}
	return sum, done, nil
}

// sameTokens refuses a model whose logits are of other tokens.
func sameTokens(m, other *model.Model) error {
	if m.Config.Vocab != other.Config.Vocab {
		return fmt.Errorf("it has logits of %d tokens, and MODEL of %d; accepted: models with as many", other.Config.Vocab, m.Config.Vocab)
	}
	if m.Tokenizer == nil || other.Tokenizer == nil {
		return errors.New("a folder has no tokenizer.json, which would say that the tokens are the same")
	}
	if id := m.Tokenizer.Unlike(other.Tokenizer); id >= 0 {
		return fmt.Errorf("id %d is %s there and %s in MODEL; accepted: a model with the same tokens", id, terminal.Quote(other.Tokenizer.Token(id)), terminal.Quote(m.Tokenizer.Token(id)))
	}
	return nil
}
