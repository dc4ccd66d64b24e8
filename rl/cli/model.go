package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/rl"
	"github.com/rlzero/rlzero/rl/lines"
)

func samplingFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "greedy", Usage: "the most likely token at each place"},
		&cli.Float64Flag{Name: "temperature", Value: 1, Usage: "divides the logits; 0 is greedy"},
		&cli.Float64Flag{Name: "top-p", Value: 1, Usage: "keep the likeliest tokens of this total probability"},
		&cli.IntFlag{Name: "top-k", Usage: "keep this many likeliest tokens; 0: all"},
		&cli.Float64Flag{Name: "min-p", Usage: "keep tokens of at least this share of the largest probability"},
		&cli.IntFlag{Name: "max-tokens", Usage: "new tokens at most (default: what the task asks for, else 64)"},
		&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "seed of the draws"},
	}
}

func samplingOf(c *cli.Context) (model.Sampling, error) {
	s := model.Sampling{Temperature: c.Float64("temperature"), TopP: c.Float64("top-p"), TopK: c.Int("top-k"), MinP: c.Float64("min-p"), Seed: c.Uint64("seed")}
	switch {
	case s.Temperature != 0 && !acceptedTemperature(s.Temperature):
		return s, usagef("--temperature %v: accepted are 0 (greedy) and numbers from %v to %v", s.Temperature, minTemperature, maxTemperature)
	case !(s.TopP > 0 && s.TopP <= 1):
		return s, usagef("--top-p %v: accepted are numbers above 0, up to 1", s.TopP)
	case s.TopK < 0:
		return s, usagef("--top-k %d: accepted are whole numbers from 0", s.TopK)
	case !(s.MinP >= 0 && s.MinP <= 1):
		return s, usagef("--min-p %v: accepted are numbers from 0 to 1", s.MinP)
	case c.IsSet("max-tokens") && c.Int("max-tokens") < 1:
		return s, usagef("--max-tokens %d: accepted are whole numbers from 1", c.Int("max-tokens"))
	}
	if c.Bool("greedy") {
		s = model.Sampling{}
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
		return 0, usagef("--%s %d: accepted are whole numbers from %d to %d", flag, n, low, high)
	}
	return n, nil
}

func sampleCommand() *cli.Command {
	return &cli.Command{
		Name: "sample", Usage: "continue prompts", ArgsUsage: "MODEL",
		Description: `MODEL is a Hugging Face folder, a run folder (its newest checkpoint) or a
checkpoint folder. The text after --prompt, or after the prompt on standard input,
is printed; with --in FILE.jsonl (- for standard input) each line {"prompt":"..."} or {"ids":[...]} gives
{"ids":[new ids],"text":"...","logprobs":[...],"stop":"eos|length|stop"}.

Example:
   rlzero sample --greedy --prompt '20 13 7 4 > 10:' runs/first`,
		Flags: append(samplingFlags(),
			&cli.StringFlag{Name: "prompt", Usage: "the text to continue"},
			&cli.StringFlag{Name: "in", Usage: "JSON lines"},
			&cli.IntFlag{Name: "n", Value: 1, Usage: "completions of each prompt"},
			&cli.StringSliceFlag{Name: "stop", Usage: "end a completion whose text contains this"},
			dtypeFlag, kvDtypeFlag, jsonFlag, deviceFlag),
		Action: sample,
	}
}

func sample(c *cli.Context) error {
	args, err := positional(c, "MODEL")
	if err != nil {
		return err
	}
	s, err := samplingOf(c)
	if err != nil {
		return err
	}
	if c.IsSet("prompt") && c.IsSet("in") {
		return usagef("give either --prompt TEXT or --in FILE")
	}
	if slices.Contains(c.StringSlice("stop"), "") {
		return usagef("--stop is empty: every text contains that")
	}
	n, err := intFrom(c, "n", 1, 1<<16)
	if err != nil {
		return err
	}
	m, done, err := openModel(c, args[0])
	if err != nil {
		return err
	}
	defer done()
	name, in, err := prompts(c)
	if err != nil {
		return err
	}
	defer in.Close()
	o := rl.SampleOptions{N: n, MaxTokens: c.Int("max-tokens"), Sampling: s, StopText: c.StringSlice("stop")}
	if c.IsSet("in") || c.Bool("json") {
		return rl.Sample(c.Context, m, name, in, c.App.Writer, o)
	}
	var out bytes.Buffer
	if err := rl.Sample(c.Context, m, name, in, &out, o); err != nil {
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

// prompts are the JSON lines to sample from: those of --in, or a line made of
// --prompt, or of the text on standard input.
func prompts(c *cli.Context) (name string, in io.ReadCloser, err error) {
	if c.IsSet("in") {
		in, err = input(c, c.String("in"))
		return c.String("in"), in, err
	}
	name, text := "--prompt", c.String("prompt")
	if !c.IsSet("prompt") {
		raw, err := io.ReadAll(io.LimitReader(c.App.Reader, lines.MaxBytes+1))
		if err != nil {
			return "", nil, fmt.Errorf("standard input: %w", err)
		}
		if len(raw) > lines.MaxBytes {
			return "", nil, fmt.Errorf("%w: standard input has more than %d bytes; accepted: a prompt of at most that many", rl.ErrInput, lines.MaxBytes)
		}
		name, text = "standard input", strings.TrimRight(string(raw), "\r\n")
	}
	line, err := json.Marshal(map[string]string{"prompt": text})
	return name, io.NopCloser(bytes.NewReader(line)), err
}

// How the model is kept on the device.
var (
	dtypeFlag   = &cli.StringFlag{Name: "dtype", Usage: "keep the matrices as f32 or, in half the memory, bf16 (default: as the model was trained, else f32)"}
	kvDtypeFlag = &cli.StringFlag{Name: "kv-dtype", Usage: "keep keys and values as f32 or bf16 (default: as the model was trained, else f32)"}
)

// dtypeOf reads one of them; "" where it is not given.
func dtypeOf(c *cli.Context, f *cli.StringFlag) (model.Dtype, error) {
	d := model.Dtype(c.String(f.Name))
	if c.IsSet(f.Name) && d != model.F32 && d != model.BF16 {
		return "", usagef("--%s %q: accepted are %s and %s", f.Name, d, model.F32, model.BF16)
	}
	return d, nil
}

// openModel opens the device and loads MODEL onto it.
func openModel(c *cli.Context, path string) (*model.Model, func(), error) {
	dtype, err := dtypeOf(c, dtypeFlag)
	if err != nil {
		return nil, nil, err
	}
	kvDtype, err := dtypeOf(c, kvDtypeFlag)
	if err != nil {
		return nil, nil, err
	}
	if _, err := os.Stat(path); err != nil {
		return nil, nil, fmt.Errorf("%w: model: %w", rl.ErrInput, err)
	}
	dev, err := openDevice(c)
	if err != nil {
		return nil, nil, err
	}
	m, warnings, err := rl.OpenModel(dev, path, dtype, kvDtype)
	warn(c, warnings)
	if err != nil {
		dev.Close()
		return nil, nil, err
	}
	return m, func() { m.Close(); dev.Close() }, nil
}

func scoreCommand() *cli.Command {
	return &cli.Command{
		Name: "score", Usage: "log-prob and entropy of each token of given sequences", ArgsUsage: "MODEL",
		Description: `Reads {"ids":[...]} or {"text":"..."} lines and writes
{"ids":[],"logprobs":[],"entropy":[],"mean_logsoftmax":[]}: entry i is about
ids[i] given ids[:i], in nats; the first is null.

Example:
   echo '{"ids":[5,9,2]}' | rlzero score --in - runs/first`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "in", Usage: "JSON lines; - for standard input"},
			&cli.Float64Flag{Name: "temperature", Value: 1, Usage: "divides the logits first"},
			dtypeFlag, kvDtypeFlag, deviceFlag,
		},
		Action: func(c *cli.Context) error {
			args, err := positional(c, "MODEL")
			if err != nil {
				return err
			}
			if t := c.Float64("temperature"); !acceptedTemperature(t) {
				return usagef("--temperature %v: accepted are numbers from %v to %v", t, minTemperature, maxTemperature)
			}
			in, err := input(c, c.String("in"))
			if err != nil {
				return err
			}
			defer in.Close()
			m, done, err := openModel(c, args[0])
			if err != nil {
				return err
			}
			defer done()
			return rl.Score(m, c.String("in"), in, c.App.Writer, c.Float64("temperature"))
		},
	}
}

func evalCommand() *cli.Command {
	return &cli.Command{
		Name: "eval", Usage: "score a model on held-out problems of a task, or on a file", ArgsUsage: "MODEL",
		Description: `mean@n, unbiased pass@k (arXiv 2107.03374) and maj@k, with 95 % intervals.

Example:
   rlzero eval runs/first
   rlzero eval --task countdown-tiny --n 8 --k 1,8 --max-tokens 14 model-folder
   rlzero eval --data problems.jsonl --verifier number --n 4 --k 1,4 model-folder`,
		Flags: append(samplingFlags(),
			&cli.StringFlag{Name: "task", Usage: "a task's name, or a recipe whose task is meant (default: that of the run)"},
			&cli.StringSliceFlag{Name: "set", Usage: "override a key of that recipe, such as `task.settings.max_number=30`"},
			&cli.StringFlag{Name: "data", Usage: "JSON lines with question (or prompt) and answer"},
			&cli.StringFlag{Name: "verifier", Usage: "verifier for --data; see rlzero verifiers"},
			&cli.IntFlag{Name: "problems", Value: 512, Usage: "number of problems, or all where a file has fewer"},
			&cli.IntFlag{Name: "n", Value: 8, Usage: "samples of each problem"},
			&cli.StringFlag{Name: "k", Value: "1,8", Usage: "values of k, with commas"},
			&cli.StringFlag{Name: "out", Usage: "also write the result to this file"},
			dtypeFlag, kvDtypeFlag, jsonFlag, deviceFlag),
		Action: eval,
	}
}

func eval(c *cli.Context) error {
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
			return fmt.Errorf("%w: model %s: no such file or folder", rl.ErrInput, args[0])
		}
		return usagef("give either --task NAME or --data FILE")
	}
	o := rl.EvalOptions{Task: task, Set: c.StringSlice("set"), Data: c.String("data"), Verifier: c.String("verifier"),
		Sampling: s, MaxTokens: c.Int("max-tokens")}
	if o.Problems, err = intFrom(c, "problems", 1, 1_000_000); err != nil {
		return err
	}
	if o.N, err = intFrom(c, "n", 1, 4096); err != nil {
		return err
	}
	for _, k := range strings.Split(c.String("k"), ",") {
		v, err := strconv.Atoi(strings.TrimSpace(k))
		if err != nil || v < 1 || v > o.N {
			return usagef("--k %q: accepted are whole numbers from 1 to --n %d, with commas", c.String("k"), o.N)
		}
		if !slices.Contains(o.K, v) {
			o.K = append(o.K, v)
		}
	}
	if dir := filepath.Dir(c.String("out")); c.IsSet("out") {
		if _, err := os.Stat(dir); err != nil {
			return usagef("--out: %v", err)
		}
	}
	m, done, err := openModel(c, args[0])
	if err != nil {
		return err
	}
	defer done()
	res, err := rl.Eval(c.Context, m, o)
	if err != nil {
		return err
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

func splitLines(s string) []string { return strings.Split(strings.TrimRight(s, "\n"), "\n") }
