package cli

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/rl/formula"
	"github.com/rlzero/rlzero/rl/progress"
	"github.com/rlzero/rlzero/rl/weights"
)

const weightsHelp = `Computes each number of each tensor of a model from those that other models have in its place, and
writes the new model into the folder --out, as a Hugging Face folder. FORMULA is arithmetic over
names, and NAME=MODEL says which model a name means: a Hugging Face folder, a .gguf file, a run or
a checkpoint folder. The LoRA adapter of a run or of a PEFT folder is merged first.

   (a + b)/2                  the mean of two models
   base + 0.7*(tuned - base)  0.7 of what tuning changed (task arithmetic)
   slerp(a, b, 0.3)           from a towards b along the arc between them
   ties(base, 0.2, a, b)      TIES: the largest fifth of each change
   dare(base, 0.9, 1, a)      DARE: drop 0.9 of the change, with seed 1
   random_like(base, 1, a)    a change as long as that of a, at random

--only computes the tensors whose names a regular expression matches, such as mlp or
"layers\.[0-3]\."; the others are those of the model that is named first.

The models must have the same tensors, tokens and arithmetic. Config, tokenizer and chat template are
those of the model that is named first. The same models and formula give the same bytes.

Examples: the mean of two runs, and what GRPO changed, added to another model.
   rlzero weights '(a + b)/2' a=runs/one b=runs/two --out mean
   rlzero weights 'target + 1.0*(grpo - sft)' target=models/target \
      grpo=runs/grpo sft=runs/sft --out models/moved`

func weightsCommand() *cli.Command {
	return &cli.Command{
		Name: "weights", Usage: "make a model of others by a formula", ArgsUsage: "FORMULA NAME=MODEL...", Description: weightsHelp,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "only", Usage: "compute the tensors whose names this regular `EXPRESSION` matches, and keep the others as the first model has them"},
			&cli.StringFlag{Name: "type", Usage: "how numbers are stored: " + strings.Join(typeNames(plainTypes()), ", "), DefaultText: "f32"},
			&cli.StringFlag{Name: "out", Usage: "`DIR` to write, a new folder"},
			jsonFlag,
		},
		Action: makeWeights,
	}
}

// namedModel is an argument NAME=MODEL.
type namedModel struct{ name, path string }

// namedModels reads the arguments after the formula.
func namedModels(words []string) ([]namedModel, error) {
	var all []namedModel
	for _, word := range words {
		name, path, found := strings.Cut(word, "=")
		if !found {
			name, path = "", word
		}
		switch {
		case name == "" || path == "":
			return nil, hint.With(usagef("%q names no model; accepted: NAME=MODEL, where NAME is what the formula reads", word), "did you mean %s=%s?", cmp.Or(name, "a"), cmp.Or(path, "runs/first"))
		case slices.ContainsFunc(all, func(m namedModel) bool { return m.name == name }):
			return nil, hint.With(usagef("%s is given twice, the second time as %s; accepted: each name once", name, word), "did you mean %s2=%s? The formula reads it as %[1]s2", name, path)
		}
		all = append(all, namedModel{name, path})
	}
	return all, nil
}

// weightsLine is what weights prints with --json.
type weightsLine struct {
	Out        string   `json:"out"`
	Formula    string   `json:"formula"`
	Only       string   `json:"only,omitempty"` // the tensors that it computed; "": all
	Models     []string `json:"models"`         // names, the first has config and tokenizer
	Tensors    int      `json:"tensors"`
	Parameters int      `json:"parameters"`
	Type       string   `json:"type"` // of the numbers
	Bytes      int64    `json:"bytes"`
}

func makeWeights(c *cli.Context) (err error) {
	args, out := c.Args().Slice(), c.String("out")
	if len(args) < 2 {
		return hint.With(usagef("%s takes a formula and its models; found %q", c.Command.HelpName, args), "%s '(a + b)/2' a=MODEL b=MODEL --out mean", c.Command.HelpName)
	}
	named, err := namedModels(args[1:])
	if err != nil {
		return err
	}
	if out == "" {
		return hint.With(usagef("%s needs --out DIR", c.Command.HelpName), "--out mean")
	}
	typ, err := typeNamed(cmp.Or(c.String("type"), hf.GGUFTypes[0].Name), plainTypes(), "a Hugging Face folder")
	if err != nil {
		return err
	}
	var only *regexp.Regexp
	if text := c.String("only"); text != "" {
		if only, err = regexp.Compile(text); err != nil {
			return usagef("--only is %q: %v; accepted: a regular expression, such as mlp", text, err)
		}
	}
	line := weightsLine{Out: out, Formula: args[0], Only: c.String("only"), Type: typ.Name}
	var models []weights.Model
	defer func() {
		for _, m := range models {
			err = errors.Join(err, m.Folder.Tensors.Close())
		}
	}()
	for _, n := range named {
		tellPolicy(c, n.path)
		found, err := findCheckpoint(c, n.path, "")
		if err != nil {
			return fmt.Errorf("%s: %w", n.name, err)
		}
		f, err := hf.ReadFolder(found.Dir)
		if err != nil {
			return fmt.Errorf("%w: %s: %w", lines.ErrInput, n.name, err)
		}
		line.Models, models = append(line.Models, n.name), append(models, weights.Model{Name: n.name, Folder: f})
		if err := f.Merge(""); err != nil {
			return fmt.Errorf("%w: %s: %w", lines.ErrInput, n.name, err)
		}
	}
	blend, err := weights.Compile(args[0], models)
	if fault := (*formula.Error)(nil); errors.As(err, &fault) {
		err = hint.With(err, "the formula can read %s; NAME=MODEL after it names another model", strings.Join(line.Models, ", "))
	}
	if err != nil {
		return fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	blend.Only = only
	show := progress.New(c.App.ErrWriter)
	small, tensors, err := blend.Files(typ.Type, shownBy(show, "weights", "tensors"))
	switch {
	case errors.Is(err, weights.ErrOnly):
		err = fmt.Errorf("%w: --only %w", lines.ErrInput, err)
	case err != nil:
		err = fmt.Errorf("%w: %s: %w", lines.ErrInput, models[0].Name, err)
	default:
		line.Bytes, err = writeNew("--out", out, hf.Contents(small, hf.WeightsFile, tensors))
	}
	show.End()
	if err != nil {
		return err
	}
	line.Tensors, line.Parameters = len(tensors), models[0].Folder.Config.Parameters()
	if c.Bool("json") {
		return printJSON(c, line)
	}
	fmt.Fprintf(c.App.ErrWriter, "%s, %s, %s\n", terminal.Count(line.Tensors, "tensor", ""), terminal.Count(line.Parameters, "parameter", ""), line.Type)
	_, err = fmt.Fprintln(c.App.Writer, out)
	return err
}
