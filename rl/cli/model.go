package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/sample"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/endpoint"
	"github.com/rlzero/rlzero/rl/eval"
	"github.com/rlzero/rlzero/rl/infer"
	"github.com/rlzero/rlzero/rl/progress"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/rl/run"
	"github.com/rlzero/rlzero/rl/store"
	training "github.com/rlzero/rlzero/rl/train"
)

func samplingFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "greedy", Usage: "take the most likely token at each position"},
		&cli.Float64Flag{Name: "temperature", Value: 1, Usage: "divide the logits by this; 0 is greedy"},
		&cli.Float64Flag{Name: "top-p", Value: 1, Usage: "draw from the most likely tokens up to this total probability"},
		&cli.IntFlag{Name: "top-k", Usage: "draw from this many of the most likely tokens", DefaultText: "all"},
		&cli.Float64Flag{Name: "min-p", Usage: "draw from tokens with at least this share of the largest probability"},
		&cli.IntFlag{Name: "max-tokens", Usage: "largest number of new tokens", DefaultText: "that of the task, else 64"},
		&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "seed of the draws"},
	}
}

func samplingOf(c *cli.Context) (sample.Settings, error) {
	s := sample.Settings{Temperature: c.Float64("temperature"), TopP: c.Float64("top-p"), TopK: c.Int("top-k"), MinP: c.Float64("min-p"), Seed: c.Uint64("seed")}
	switch {
	case s.Temperature != 0 && !acceptedTemperature(s.Temperature):
		return s, badValue("temperature", s.Temperature, "0 (greedy) and numbers from %v to %v", minTemperature, maxTemperature)
	case !(s.TopP > 0 && s.TopP <= 1):
		return s, badValue("top-p", s.TopP, "numbers above 0, up to 1")
	case s.TopK < 0:
		return s, badValue("top-k", s.TopK, "whole numbers from 0")
	case !(s.MinP >= 0 && s.MinP <= 1):
		return s, badValue("min-p", s.MinP, "numbers from 0 to 1")
	case c.IsSet("max-tokens") && c.Int("max-tokens") < 1:
		return s, badValue("max-tokens", c.Int("max-tokens"), "whole numbers from 1")
	}
	if c.Bool("greedy") {
		s = sample.Settings{}
	}
	return s, nil
}

// Beyond these the quotients of logits leave what float32 can tell apart.
const minTemperature, maxTemperature = 1e-4, 1e4

// acceptedTemperature is false for NaN.
func acceptedTemperature(t float64) bool { return t >= minTemperature && t <= maxTemperature }

// intFrom reads a flag that takes whole numbers of a range.
func intFrom(c *cli.Context, flag string, low, high int) (int, error) {
	n := c.Int(flag)
	if n < low || n > high {
		return 0, badValue(flag, n, "whole numbers from %d to %d", low, high)
	}
	return n, nil
}

func sampleCommand() *cli.Command {
	return &cli.Command{
		Name: "sample", Usage: "continue prompts", ArgsUsage: "MODEL",
		Description: `Prints what the model writes after --prompt, or after the prompt on standard input. MODEL is a
Hugging Face folder, a .gguf file, a run (see --checkpoint) or a checkpoint folder.

--chat makes the prompt a message of the user, written with the model's chat template, and
prints the answer. The text may have several lines.

--in FILE reads lines of {"prompt":"..."}, {"messages":[...]} or {"ids":[...]} and writes one
JSON line for each completion, as --json does:

   {"ids":[new ids],"text":"...","logprobs":[...],"stop":"eos|length|stop"}

--logits adds what other models say, as eval does (rlzero eval --help).

Examples:
   rlzero sample runs/first --greedy --prompt '20 13 7 4 > 10:'
   rlzero sample Qwen3-0.6B --chat --system 'Be brief.' --max-tokens 200 \
      --var enable_thinking=false --prompt 'Why is the sky blue?'
   echo '{"prompt":"20 13 7 4 > 10:"}' | \
      rlzero sample runs/first --n 4 --in -`,
		Flags: append(samplingFlags(),
			&cli.StringFlag{Name: "prompt", Usage: "the text to continue"},
			inFlag,
			&cli.BoolFlag{Name: "chat", Usage: "make the prompt a message of the user, written with the model's chat template"},
			systemFlag, varFlag,
			&cli.IntFlag{Name: "n", Value: 1, Usage: "number of completions of each prompt"},
			&cli.StringSliceFlag{Name: "stop", Usage: "end a completion as soon as it contains this `TEXT`"},
			logitsFlag, withFlag, checkpointFlag, adapterFlag, dtypeFlag, kvDtypeFlag, jsonFlag, deviceFlag, tierFlag),
		Action: drawSamples,
	}
}

func drawSamples(c *cli.Context) error {
	args, err := positional(c, "MODEL")
	if err != nil {
		return err
	}
	s, err := samplingOf(c)
	if err != nil {
		return err
	}
	if c.IsSet("prompt") && c.IsSet("in") {
		return usagef("--prompt and --in do not go together: give one of them")
	}
	if err := needsChat(c); err != nil {
		return err
	}
	if slices.Contains(c.StringSlice("stop"), "") {
		return badValue("stop", "", "a text that is not empty")
	}
	n, err := intFrom(c, "n", 1, 1<<16)
	if err != nil {
		return err
	}
	talk, err := chatOptions(c)
	if err != nil {
		return err
	}
	others, err := addendsOf(c)
	if err != nil {
		return err
	}
	m, done, err := openModel(c, args[0])
	if err != nil {
		return err
	}
	defer done()
	sum, closed, err := others.open(c, m)
	if err != nil {
		return err
	}
	defer closed()
	name, in, err := promptLines(c)
	if err != nil {
		return err
	}
	defer in.Close()
	o := infer.SampleOptions{N: n, MaxTokens: c.Int("max-tokens"), Sampling: s, StopText: c.StringSlice("stop"), Chat: talk, Sum: sum}
	if c.IsSet("in") || c.Bool("json") {
		return infer.Sample(c.Context, m, name, in, c.App.Writer, o)
	}
	var out bytes.Buffer
	if err := infer.Sample(c.Context, m, name, in, &out, o); err != nil {
		return err
	}
	for _, line := range splitLines(out.String()) {
		var completion struct{ Text string }
		if err := json.Unmarshal([]byte(line), &completion); err != nil {
			return err
		}
		fmt.Fprintln(c.App.Writer, completion.Text)
	}
	return nil
}

// promptLines are the JSON lines to sample from: those of --in, or a line made of
// --prompt, or of the text on standard input.
func promptLines(c *cli.Context) (name string, in io.ReadCloser, err error) {
	switch {
	case c.IsSet("in"):
		name = c.String("in")
		in, err = input(c, name)
	case c.IsSet("prompt"):
		name = "--prompt"
		in, err = oneLine("prompt", c.String("prompt"))
	default:
		name = "standard input"
		text, failed := io.ReadAll(io.LimitReader(c.App.Reader, lines.MaxBytes+1))
		if failed != nil {
			return "", nil, fmt.Errorf("standard input: %w", failed)
		}
		if len(text) > lines.MaxBytes {
			return "", nil, fmt.Errorf("%w: standard input has more than %d bytes; accepted: a prompt of at most that size", lines.ErrInput, lines.MaxBytes)
		}
		in, err = oneLine("prompt", strings.TrimRight(string(text), "\r\n"))
	}
	return name, in, err
}

// Which adapter the model has, and how it is kept on the device.
var (
	adapterFlag = &cli.StringFlag{Name: "adapter", Usage: "add the LoRA adapter of a PEFT `FOLDER` (adapter_config.json, adapter_model.safetensors)"}
	dtypeFlag   = &cli.StringFlag{Name: "dtype", Usage: "storage of the matrices: f32, bf16 (half the memory), q8_0 or q4_0 (less)", DefaultText: "as in training, else f32"}
	kvDtypeFlag = &cli.StringFlag{Name: "kv-dtype", Usage: "storage of keys and values: f32 or bf16", DefaultText: "as in training, else f32"}
)

// dtypeOf reads one of them; "" where it is not given.
func dtypeOf(c *cli.Context, f *cli.StringFlag) (hf.Dtype, error) {
	d := hf.Dtype(c.String(f.Name))
	if c.IsSet(f.Name) && d != hf.F32 && d != hf.BF16 && (f != dtypeFlag || !d.Blocked()) {
		accepted := []string{string(hf.F32), string(hf.BF16)}
		if f == dtypeFlag {
			accepted = append(accepted, string(hf.Q8), string(hf.Q4))
		}
		return "", badChoice(f.Name, string(d), accepted...)
	}
	return d, nil
}

// checkpointFlag chooses the model of a run.
var checkpointFlag = &cli.StringFlag{Name: "checkpoint", Usage: "`MODEL` of a run: best, last, or the number of a step", DefaultText: "last, unless it is worse than best beyond chance"}

// findModel finds MODEL, and says of a run which model that is.
func findModel(c *cli.Context, path string) (store.Found, error) {
	if !c.IsSet(logitsFlag.Name) {
		tellPolicy(c, path)
	}
	return findCheckpoint(c, path, c.String(checkpointFlag.Name))
}

func findCheckpoint(c *cli.Context, path, checkpoint string) (store.Found, error) {
	found, err := findQuietly(c, path, checkpoint)
	if found.Note != "" {
		fmt.Fprintln(c.App.ErrWriter, terminal.Message(found.Note))
	}
	return found, err
}

// findQuietly is findCheckpoint for those who say themselves which model of a run it is.
func findQuietly(c *cli.Context, path, checkpoint string) (store.Found, error) {
	found, err := store.FindModel(path, checkpoint)
	warn(c, found.Warnings)
	return found, withEntry(err, path)
}

// findText is findQuietly for commands that need no weights.
func findText(c *cli.Context, path string) (store.Found, error) {
	found, err := store.FindText(path)
	warn(c, found.Warnings)
	return found, withEntry(err, path)
}

// openModel opens the device and loads MODEL onto it, with the adapter of --adapter.
func openModel(c *cli.Context, path string) (*model.Model, func(), error) {
	found, err := findModel(c, path)
	if err != nil {
		return nil, nil, err
	}
	return openWith(c, found.Dir, c.String(adapterFlag.Name), false)
}

// openWith opens the device and loads the model of a folder onto it, with an adapter, "" for none, or with
// its head.
func openWith(c *cli.Context, folder, adapter string, head bool) (*model.Model, func(), error) {
	dtype, err := dtypeOf(c, dtypeFlag)
	if err != nil {
		return nil, nil, err
	}
	kvDtype, err := dtypeOf(c, kvDtypeFlag)
	if err != nil {
		return nil, nil, err
	}
	dev, err := openDevice(c)
	if err != nil {
		return nil, nil, err
	}
	var m *model.Model
	if head {
		m, err = cast.OpenHeaded(dev, folder, dtype, kvDtype)
	} else {
		m, err = cast.OpenModel(dev, folder, adapter, dtype, kvDtype)
	}
	if err != nil {
		dev.Close()
		return nil, nil, err
	}
	return m, func() { m.Close(); dev.Close() }, nil
}

// headOf says whether a folder is that of a model with a head, and refuses what goes with one and not
// with the other.
func headOf(c *cli.Context, folder string, without ...string) (bool, error) {
	head := hf.HasScore(folder)
	if !head {
		if c.IsSet(labelFlag.Name) {
			return false, usagef("--%s is for models with a head, which %s has not", labelFlag.Name, folder)
		}
		return false, nil
	}
	for _, flag := range append(without, adapterFlag.Name) {
		if c.IsSet(flag) {
			return true, usagef("--%s does not go with a model that has a head, as %s has", flag, folder)
		}
	}
	return true, nil
}

// labelFlag names a label of a head.
var labelFlag = &cli.StringFlag{Name: "label", Usage: "`NAME` of the label whose score is meant, of a model with a head that has several", DefaultText: "the only one"}

func scoreCommand() *cli.Command {
	return &cli.Command{
		Name: "score", Usage: "compute log-prob and entropy of each token of a text", ArgsUsage: "MODEL",
		Description: `Reads {"ids":[...]}, {"text":"..."} or {"messages":[...]} lines and writes for each

   {"ids":[],"logprobs":[],"entropy":[],"mean_logsoftmax":[]}

Entry i is about ids[i] given ids[:i], in nats; the first entry is null. Messages are written
with the model's chat template, as in training.

A model with a head (*ForSequenceClassification, *ForTokenClassification, TRL's value head, or what
export --member writes) scores: each line is then

   {"ids":[],"scores":[]}

where entry i is what the head says after ids[i]: its number, or of several labels the probability
of --label.

Example:
   echo '{"ids":[5,9,2]}' | rlzero score runs/first --in -`,
		Flags: []cli.Flag{
			inFlag,
			&cli.Float64Flag{Name: "temperature", Value: 1, Usage: "divide the logits by this"},
			systemFlag, varFlag, labelFlag, alwaysJSON,
			checkpointFlag, adapterFlag, dtypeFlag, kvDtypeFlag, deviceFlag, tierFlag,
		},
		Action: func(c *cli.Context) error {
			args, err := positional(c, "MODEL")
			if err != nil {
				return err
			}
			if t := c.Float64("temperature"); !acceptedTemperature(t) {
				return badValue("temperature", t, "numbers from %v to %v", minTemperature, maxTemperature)
			}
			talk, err := chatOptions(c)
			if err != nil {
				return err
			}
			in, err := input(c, c.String("in"))
			if err != nil {
				return err
			}
			defer in.Close()
			found, err := findModel(c, args[0])
			if err != nil {
				return err
			}
			head, err := headOf(c, found.Dir, "temperature")
			if err != nil {
				return err
			}
			m, done, err := openWith(c, found.Dir, c.String(adapterFlag.Name), head)
			if err != nil {
				return err
			}
			defer done()
			if !head {
				return infer.Score(m, c.String("in"), in, c.App.Writer, c.Float64("temperature"), talk)
			}
			label, err := infer.Label(m, c.String(labelFlag.Name))
			if err != nil {
				return err
			}
			return infer.ScoreHead(m, label, c.String("in"), in, c.App.Writer, talk)
		},
	}
}

func evalCommand() *cli.Command {
	return &cli.Command{
		Name: "eval", Usage: "measure a model on held-out problems or on a file", ArgsUsage: "MODEL",
		Description: `Samples --n completions of each problem. Prints mean@n with its 95 % interval; the unbiased pass@k
(at least one of k is right, arXiv 2107.03374); pass^k (all k are right, arXiv 2406.12045);
maj@k; and the score of the most likely completions. A run is measured on its own task, unless
--task or --data names another.

--logits adds what other models say: FORMULA is a sum of names with factors, where policy is MODEL and
--with NAME=MODEL says which model another name means. All have the same tokens. A stage that trains
such a sum draws by it, and what its run ends with is the policy alone. --against BASE is measured alone.

Examples:
   rlzero eval runs/first
   rlzero eval models/small --task countdown-tiny --n 8 --k 1,8
   rlzero eval models/small --data problems.jsonl --verifier number --k 1,4
   rlzero eval models/reward --data pairs.jsonl
   rlzero eval runs/first --against runs/first/checkpoints/step-001750
   rlzero eval runs/first --tree --set stage.rl.tree.rounds=1 \
      --set stage.rl.group_size=12
   rlzero eval runs/big --logits 'policy + 0.5*(tuned - small)' \
      --with tuned=runs/tuned --with small=models/small

--against BASE measures the base too and prints, for each k, how many problems both solve in k
tries (kept), only the base (lost), only the model (gained), and neither (out of reach), as
expected over all draws of k of the completions; the share of what the base does not solve that
the model does (expansion); and the entropy of answers and of tokens. --n is then 256 and --k the
powers of two up to --n unless they are given.

--tree also draws completions as [stage.tree] of the recipe says: of the last stage that has one, in the
recipe of --task or of the run. For the first completions and after each round it prints how many
completions a problem has, the tokens drawn (a token that several share counts once), the best score
and the mean. Beside them stands the expected best of independent completions for the same number of
tokens. --n must be at least as many as these.

A model with a head, which scores, is measured on rows of --data that say which completions are
right: chosen and rejected, completion and label, or steps and labels. It prints how often the
right one of a pair has the higher score, the best score of a prompt is a right one's (one of n,
best of n), 1/rank of the best right one, and how often a score by itself says what is right: above
0 of a head with one label, above 0.5 of one with several, of which --label names one.

--json prints one object:

   {"task":"...","n":512,"samples":8,"mean":0.41,"mean_ci95":[..],
    "pass@1":..,"pass@8":..,"pass^8":..,"maj@8":..,"greedy":..,
    "not_scored":0,"mean_tokens":..,
    "chosen_on_heldout":false}

The accuracy on each task of a mixture stands under "tasks". What --tree reached stands under "tree":

   {"stage":"rl","rounds":[{"leaves":4,"tokens":80.5,"best":0.6,"mean":0.3,
    "plain":4,"best_of_plain":0.55}, ...]}

With --logits its formula stands under "logits".

chosen_on_heldout says that the model is the best of a run, chosen for its figure on these same
problems, so that the figure is likely too high.`,
		Flags: append(samplingFlags(),
			&cli.StringFlag{Name: "task", Usage: "name of a task, or of a recipe with the task", DefaultText: "the task of the run"},
			&cli.StringSliceFlag{Name: "set", Usage: "change a key of the recipe of --task, or say how rows of --data are read: `PATH=VALUE`, such as task.settings.max_number=30 or task.prompt=problem"},
			&cli.StringFlag{Name: "data", Usage: "`FILE` or folder of rows with a question and an answer, under these or other names of published data sets"},
			verifierFlag,
			&cli.StringFlag{Name: "form", Usage: "whether to write prompts with the model's chat template: auto, chat or text", DefaultText: "as in the recipe, else auto"},
			systemFlag, varFlag, labelFlag,
			&cli.IntFlag{Name: "problems", Value: 512, Usage: "number of problems; all of them if a file has fewer"},
			&cli.IntFlag{Name: "n", Value: 8, Usage: "number of completions of each problem"},
			&cli.StringFlag{Name: "k", Value: "1,8", Usage: "values of k of pass@k, separated by commas"},
			&cli.BoolFlag{Name: "tree", Usage: "also draw completions by the tree of the recipe"},
			&cli.StringFlag{Name: "against", Usage: "measure the model `BASE` too, and tell what training kept, lost and gained", DefaultText: "no comparison"},
			&cli.StringFlag{Name: "out", Usage: "also write the result to this `FILE`, as JSON"},
			logitsFlag, withFlag, checkpointFlag, adapterFlag, dtypeFlag, kvDtypeFlag, jsonFlag, deviceFlag, tierFlag),
		Action: evaluate,
	}
}

func evaluate(c *cli.Context) error {
	args, err := positional(c, "MODEL")
	if err != nil {
		return err
	}
	s, err := samplingOf(c)
	if err != nil {
		return err
	}
	task := c.String("task")
	if own := filepath.Join(args[0], "recipe.toml"); task == "" && !c.IsSet("data") {
		if _, err := os.Stat(own); err == nil {
			task = own
		}
	}
	if (task != "") == c.IsSet("data") {
		if _, err := os.Stat(args[0]); err != nil { // perhaps a run was meant
			_, err := findQuietly(c, args[0], "")
			return err
		}
		if task != "" {
			return usagef("--task and --data do not go together: give one of them")
		}
		return usagef("%s needs --task NAME or --data FILE for a model that is not a run", c.Command.HelpName)
	}
	if c.IsSet("task") {
		if err := taskOrRecipe.checkFile(task); err != nil {
			return err
		}
	}
	if err := checkVerifier(c); err != nil {
		return err
	}
	style, err := styleOf(c)
	if err != nil {
		return err
	}
	o := eval.Options{Ask: endpoint.New(), Told: programsTold(c), Subject: eval.Subject{Task: task, Set: c.StringSlice("set"), Data: c.String("data"), Verifier: c.String("verifier"), Style: style},
		Seed: s.Seed, Params: rollout.Params{Temperature: s.Temperature, TopK: s.TopK, TopP: s.TopP, MinP: s.MinP, MaxTokens: c.Int("max-tokens")}}
	if o.Problems, err = intFrom(c, "problems", 1, 1_000_000); err != nil {
		return err
	}
	if o.N, err = intFrom(c, "n", 1, 4096); err != nil {
		return err
	}
	if c.IsSet("against") && !c.IsSet("n") {
		o.N = 256
	}
	if o.K, err = ksOf(c, o.N); err != nil {
		return err
	}
	if c.Bool("tree") {
		if c.IsSet("data") || c.IsSet("against") {
			return usagef("--tree goes with the task of a recipe, and neither with --data nor with --against")
		}
		o.Tree = training.Tree
	}
	if dir := filepath.Dir(c.String("out")); c.IsSet("out") {
		if _, err := os.Stat(dir); err != nil {
			return usagef("--out: %v", err)
		}
	}
	others, err := addendsOf(c)
	if err != nil {
		return err
	}
	found, err := findModel(c, args[0])
	if err != nil {
		return err
	}
	without := []string{"against", "task", "verifier", "n", "k", "tree", logitsFlag.Name}
	for _, f := range samplingFlags() { // a head draws nothing
		without = append(without, f.Names()[0])
	}
	head, err := headOf(c, found.Dir, without...)
	if err != nil {
		return err
	}
	var res interface{ Table() string }
	if head {
		if res, err = measureHead(c, found.Dir, o); err != nil {
			return err
		}
	} else if c.IsSet("against") {
		tellPolicy(c, c.String("against"))
		base, err := findCheckpoint(c, c.String("against"), "") // --checkpoint is one of MODEL
		if err != nil {
			return err
		}
		o.Folder = found.Dir // models that its run made are asked on both sides
		before, err := measureModel(c, base.Dir, "", nil, o)
		if err != nil {
			return err
		}
		after, err := measureModel(c, found.Dir, c.String(adapterFlag.Name), others, o)
		if err != nil {
			return err
		}
		res = eval.NewAgainst(after, before)
	} else {
		o.Chosen = found.OnHeldOut && !c.IsSet("task") && !c.IsSet("data")
		if res, err = measureModel(c, found.Dir, c.String(adapterFlag.Name), others, o); err != nil {
			return err
		}
	}
	if c.IsSet("out") {
		data, err := json.MarshalIndent(res, "", "  ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(c.String("out"), append(data, '\n'), 0o644); err != nil {
			return err
		}
	}
	if c.Bool("json") {
		return printJSON(c, res)
	}
	_, err = fmt.Fprint(c.App.Writer, res.Table())
	return err
}

// measureModel evaluates a model in a folder, with the logits of others.
func measureModel(c *cli.Context, dir, adapter string, others *addends, o eval.Options) (*eval.Report, error) {
	m, done, err := openWith(c, dir, adapter, false)
	if err != nil {
		return nil, err
	}
	defer done()
	var closed func()
	if o.Sum, closed, err = others.open(c, m); err != nil {
		return nil, err
	}
	defer closed()
	show := progress.New(c.App.ErrWriter)
	defer show.End()
	o.Progress = shownBy(show, "eval", "completions")
	o.Models = func(r *recipe.Recipe) (*recipe.Recipe, error) {
		full, _, err := run.Members(r)
		return full, err
	}
	o.Folder = cmp.Or(o.Folder, dir)
	o.Note = func(line string) { show.Line("%s", line) }
	report, err := eval.Model(c.Context, m, o)
	if err == nil && others != nil {
		report.Logits = c.String(logitsFlag.Name)
	}
	return report, err
}

// measureHead measures the head of the model in a folder.
func measureHead(c *cli.Context, dir string, o eval.Options) (*eval.HeadReport, error) {
	m, done, err := openWith(c, dir, "", true)
	if err != nil {
		return nil, err
	}
	defer done()
	o.Note = func(line string) { fmt.Fprintln(c.App.ErrWriter, terminal.Message(line)) }
	return eval.Head(m, c.String(labelFlag.Name), o)
}

// ksOf are the values of --k. Of the default ones, those above n are left out; against a base they
// are the powers of two.
func ksOf(c *cli.Context, n int) ([]int, error) {
	var ks []int
	if c.IsSet("against") && !c.IsSet("k") {
		for k := 1; k <= n; k *= 2 {
			ks = append(ks, k)
		}
		return ks, nil
	}
	for _, text := range strings.Split(c.String("k"), ",") {
		k, err := strconv.Atoi(strings.TrimSpace(text))
		switch {
		case err == nil && k > n && !c.IsSet("k"):
		case err != nil || k < 1 || k > n:
			return nil, badValue("k", c.String("k"), "whole numbers from 1 to %d (the value of --n), separated by commas", n)
		case !slices.Contains(ks, k):
			ks = append(ks, k)
		}
	}
	return ks, nil
}

// shownBy shows how much of a piece of work is done.
func shownBy(show *progress.Reporter, what, unit string) func(done, all int) {
	begun := false
	return func(done, all int) {
		if !begun {
			show.Begin(what, 0, all)
			begun = true
		}
		show.Step(done, unit)
	}
}

func splitLines(s string) []string { return strings.Split(strings.TrimRight(s, "\n"), "\n") }
