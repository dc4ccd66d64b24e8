package cli

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/run"
	"github.com/rlzero/rlzero/rl/store"
)

const exportHelp = `Writes a model, or what a run measured, into the new folder --out, in a form that other programs
read. MODEL is a Hugging Face folder, a .gguf file, a run (see --checkpoint) or a
checkpoint folder. RUN is the folder of a run, finished or in progress.

   hf        MODEL as a Hugging Face folder, for transformers, vLLM, others
   peft      only the LoRA adapter of MODEL, for PEFT and others
   gguf      model-TYPE.gguf, for llama.cpp, and a Modelfile, for Ollama
   csv       metrics.csv, a row for each step of RUN, for spreadsheets
   tfevents  the same as an event file, for TensorBoard and for trackers
             that import its files

--member NAME writes a model of [models] that a stage trained or a formula made. One with a head is a
folder that transformers opens as *ForTokenClassification, with one label. A copy whose first stage
has not begun has the weights that the run opened with, which is said.

A LoRA adapter is merged into hf and gguf: the adapter of the run or of the PEFT folder that
MODEL is, or that of --adapter. Tokenizer and chat template are exported with the model.

--type says how the numbers are stored: f32, f16 or bf16, and in gguf also in blocks of 32, as
q8_0 (8.5 bits per number) or q4_0 (4.5 bits; embedding and output head are q8_0). f16 holds
no numbers above 65504.

Ollama recognises the chat templates of published models in a GGUF file; for any other, add a
TEMPLATE to the Modelfile. A warning on standard error names what a GGUF file cannot tell
llama.cpp. peft writes the id on the Hugging Face hub as the name of the adapter's model, if
the files of the adapter or of the model have it, and prints the name that it wrote.

Metrics have the names that rlzero metrics explains. Steps count through all stages. A metric
that a step did not measure is an empty cell, or no event. Event files hold float32 numbers;
their times are seconds since the run began, because a run records no dates.

Examples: a run as a model for Ollama, as one for transformers, its adapter, and its curves.
   rlzero export runs/first --format gguf --type q8_0 --out exported
   ollama create first -f exported/Modelfile
   rlzero export runs/math --format hf --type bf16 --out merged
   rlzero export runs/math --format peft --out adapter
   rlzero export runs/math --format tfevents --out logs/math
   tensorboard --logdir logs`

// exportFormats are the forms of --format: of a model, and of metrics.
var exportFormats = []string{"hf", "peft", "gguf", "csv", "tfevents"}

func exportCommand() *cli.Command {
	return &cli.Command{
		Name: "export", Usage: "write a model or the metrics of a run for other programs", ArgsUsage: "MODEL | RUN", Description: exportHelp,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "format", Usage: strings.Join(exportFormats, ", "), Value: "hf"},
			&cli.StringFlag{Name: "type", Usage: "how numbers are stored: " + strings.Join(typeNames(hf.GGUFTypes), ", "), DefaultText: "f16 for gguf, else f32"},
			checkpointFlag, adapterFlag,
			&cli.StringFlag{Name: "member", Usage: "write the model `NAME` of [models] of a run, a copy that a stage trained, in place of the policy"},
			&cli.StringFlag{Name: "out", Usage: "`DIR` to write, a new folder"},
			jsonFlag,
		},
		Action: export,
	}
}

func typeNames(types []hf.GGUFType) []string {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = t.Name
	}
	return names
}

// plainTypes are the types of Hugging Face folders: only GGUF has types of blocks.
func plainTypes() []hf.GGUFType {
	return slices.DeleteFunc(slices.Clone(hf.GGUFTypes), func(t hf.GGUFType) bool { n, _ := t.Type.Block(); return n > 1 })
}

// exportType is what --type asks for.
func exportType(c *cli.Context, format string) (hf.GGUFType, error) {
	name, types := cmp.Or(c.String("type"), "f32"), plainTypes()
	if format == "gguf" {
		types = hf.GGUFTypes
		if !c.IsSet("type") {
			name = "f16"
		}
	}
	return typeNamed(name, types, "--format "+format)
}

// typeNamed is the value of --type, which goes with something.
func typeNamed(name string, types []hf.GGUFType, with string) (hf.GGUFType, error) {
	if i := slices.IndexFunc(types, func(t hf.GGUFType) bool { return t.Name == name }); i >= 0 {
		return types[i], nil
	}
	return hf.GGUFType{}, badValue("type", name, "%s for %s", strings.Join(typeNames(types), ", "), with)
}

func export(c *cli.Context) error {
	args, err := positional(c, "MODEL")
	if err != nil {
		return err
	}
	format, out := c.String("format"), c.String("out")
	if !slices.Contains(exportFormats, format) {
		return badChoice("format", format, exportFormats...)
	}
	if out == "" {
		return hint.With(usagef("%s needs --out DIR", c.Command.HelpName), "--out exported")
	}
	if format == "csv" || format == "tfevents" {
		if c.IsSet(checkpointFlag.Name) {
			return usagef("--checkpoint chooses a model, but --format %s writes metrics", format)
		}
		return exportMetrics(c, args[0], format, out)
	}
	typ, err := exportType(c, format)
	if err != nil {
		return err
	}
	found, err := findModel(c, args[0])
	if err != nil {
		return err
	}
	f, err := hf.ReadFolder(found.Dir)
	if err != nil {
		return fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	defer func() { f.Tensors.Close() }() // of the policy, or of the member in its place
	if name := c.String("member"); name != "" {
		if c.String("adapter") != "" {
			return usagef("--adapter belongs to the policy and does not go with --member")
		}
		if err := takeMember(f, found.Dir, name, format); err != nil {
			return fmt.Errorf("%w: --member %s: %w", lines.ErrInput, name, err)
		}
		if note := unmade(found.Dir, name); note != "" {
			fmt.Fprintln(c.App.ErrWriter, terminal.Message(note))
		}
	}
	files, err := exportAs(c, f, strings.TrimSuffix(filepath.Base(filepath.Clean(args[0])), ".gguf"), format, typ)
	if err != nil {
		return fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	return exportInto(c, out, format, typ.Name, files)
}

// takeMember puts the weights of a model that a checkpoint has beside the policy in the place of those,
// and adds its head, if it has one. An adapter of its own is merged.
func takeMember(f *hf.Folder, dir, name, format string) error {
	if own, err := recipe.Load(filepath.Join(dir, "..", "..", recipe.File), nil); err == nil && own.Models[name].Fresh() {
		return errors.New("it has a shape of its own, and no file beside its weights says which; accepted: one of [models] with copy that a stage trains, or with weights")
	}
	weights := filepath.Join(dir, filepath.FromSlash(recipe.MemberWeights(name)))
	if _, err := os.Stat(weights); errors.Is(err, fs.ErrNotExist) {
		return hint.With(fmt.Errorf("%s has no model of that name; accepted: one of [models] with copy that a stage trains, or with weights", dir), "rlzero recipes show RECIPE lists the models of a recipe")
	}
	head, err := hf.OpenTensorFile(filepath.Join(dir, filepath.FromSlash(recipe.MemberHead(name))))
	if err == nil {
		f.Head, err = hf.ReadHead(head, f.Config.Width)
		err = errors.Join(err, head.Close())
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	switch {
	case err != nil:
		return err
	case f.Head != nil && format != "hf":
		return fmt.Errorf("it has a head, which --format %s cannot hold; accepted: hf", format)
	case f.Adapter == "":
		return takeWeights(f, weights)
	case format == "peft":
		return errors.New("--format peft writes the policy's adapter alone; accepted: hf or gguf, with the adapter merged")
	}
	err = f.MergeLike(weights)
	f.Adapter = "" // the policy's is not merged too
	return err
}

// takeWeights puts the weights of a file in the place of a folder's.
func takeWeights(f *hf.Folder, file string) error {
	ts, err := hf.OpenTensorFile(file)
	if err != nil {
		return err
	}
	if err := errors.Join(hf.CheckTensors(f.Config, ts), f.Tensors.Close()); err != nil {
		return errors.Join(err, ts.Close())
	}
	f.Tensors = ts
	return nil
}

// unmade says that a checkpoint has a member as the run opened it, since no stage before used it; "": it
// has what the run made of it, or nobody can tell.
func unmade(dir, name string) string {
	state, err := run.ReadState(dir)
	if err != nil { // of no run
		return ""
	}
	r, err := recipe.Load(filepath.Join(dir, "..", "..", recipe.File), nil)
	if err != nil {
		return ""
	}
	first := r.FirstUse(name)
	if at := state.At.Stage; at > first || at == first && state.Began || first == len(r.Stages) {
		return ""
	}
	return fmt.Sprintf("%s is still as the run opened it: its first stage, %s, has not begun in this checkpoint", name, r.Stages[first].Name)
}

// exportLine is what export prints with --json.
type exportLine struct {
	Out    string `json:"out"`
	Format string `json:"format"`
	Type   string `json:"type"` // of the numbers; "" for metrics
	Files  int    `json:"files"`
	Bytes  int64  `json:"bytes"`
}

// exportInto writes the folder of an export and says what it is.
func exportInto(c *cli.Context, out, format, typ string, files map[string]func(io.Writer) error) error {
	size, err := writeNew("--out", out, files)
	if err != nil {
		return err
	}
	line := exportLine{out, format, typ, len(files), size}
	if c.Bool("json") {
		return printJSON(c, line)
	}
	fmt.Fprintf(c.App.ErrWriter, "%s, %s in %s\n", strings.TrimSuffix(format+", "+typ, ", "), gpu.FormatBytes(int(size)), terminal.Count(len(files), "file", ""))
	_, err = fmt.Fprintln(c.App.Writer, out)
	return err
}

// freeName is a name like that of a folder, which nothing has.
func freeName(dir string) string {
	dir = filepath.Clean(dir)
	for n := 2; ; n++ {
		free := fmt.Sprintf("%s-%d", dir, n)
		if _, err := os.Lstat(free); errors.Is(err, fs.ErrNotExist) {
			return free
		}
	}
}

// writeNew writes the files of a new folder, whose name the user gave as the argument or flag
// given, and returns their size in bytes.
func writeNew(given, dir string, files map[string]func(io.Writer) error) (size int64, err error) {
	counted := map[string]func(io.Writer) error{}
	for name, write := range files {
		counted[name] = func(w io.Writer) error {
			count := &counting{w: bufio.NewWriterSize(w, 1<<20)}
			err := write(count)
			size += count.n
			return errors.Join(err, count.w.Flush())
		}
	}
	err = store.WriteFolder(store.OS(), dir, counted)
	if errors.Is(err, fs.ErrExist) {
		return 0, hint.With(fmt.Errorf("%w: %s %s already exists", lines.ErrInput, given, dir), "did you mean %s?", freeName(dir))
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w", given, err)
	}
	return size, nil
}

// counting counts the bytes that are written.
type counting struct {
	w *bufio.Writer
	n int64
}

func (c *counting) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// exportAs makes what writes the files of a model in a format, or says why it cannot be
// written.
func exportAs(c *cli.Context, f *hf.Folder, name, format string, typ hf.GGUFType) (files map[string]func(io.Writer) error, err error) {
	adapter := c.String("adapter")
	switch {
	case format == "peft" && adapter == "" && f.Adapter == "":
		return nil, hint.With(errors.New("the model has no adapter, but --format peft writes only adapters"), "--format hf writes the model; --adapter DIR adds an adapter to it")
	case format == "peft":
		small, tensors, notes, err := f.AdapterFiles(adapter, typ.Type)
		warn(c, notes)
		return hf.Contents(small, "adapter_model.safetensors", tensors), err
	}
	if err := f.Merge(adapter); err != nil {
		return nil, err
	}
	if format == "gguf" {
		return ggufFiles(c, f, name, typ), nil
	}
	small, tensors, err := f.Files(typ.Type)
	return hf.Contents(small, hf.WeightsFile, tensors), err
}

// ggufFiles are a GGUF file and a Modelfile beside it.
func ggufFiles(c *cli.Context, f *hf.Folder, name string, kind hf.GGUFType) map[string]func(io.Writer) error {
	file := "model-" + kind.Name + ".gguf"
	return map[string]func(io.Writer) error{
		file: func(w io.Writer) error {
			notes, err := hf.WriteGGUF(w, f, name, kind)
			warn(c, notes)
			return err
		},
		"Modelfile": func(w io.Writer) error { _, err := io.WriteString(w, modelfile(f, file)); return err },
	}
}

// modelfile tells Ollama about a model: the texts that end a turn, and how it is meant to
// be sampled. It knows published chat templates when it finds them in a GGUF file
// (detectChatTemplate of server/model.go); a model that has none is given its prompts as they
// are, as it was trained.
// https://github.com/ollama/ollama/blob/main/docs/modelfile.md
func modelfile(f *hf.Folder, file string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "FROM ./%s\n", file)
	if f.Tokenizer != nil {
		for _, id := range f.Config.EOS {
			if token := f.Tokenizer.Token(id); token != "" && !strings.ContainsAny(token, "\"\n") {
				fmt.Fprintf(&b, "PARAMETER stop \"%s\"\n", token)
			}
		}
	}
	template := ""
	if f.Tokenizer != nil {
		template, _ = f.Tokenizer.Template() // one that cannot be read has ended the export
	}
	if template == "" {
		b.WriteString("TEMPLATE \"{{ .Prompt }}\"\n")
	}
	g := f.Config.Generation
	for _, p := range []struct {
		name  string
		value *float64
	}{{"temperature", g.Temperature}, {"top_p", g.TopP}, {"min_p", g.MinP}} {
		if p.value != nil {
			fmt.Fprintf(&b, "PARAMETER %s %v\n", p.name, *p.value)
		}
	}
	if k := cmp.Or(g.TopK, new(int)); *k > 0 {
		fmt.Fprintf(&b, "PARAMETER top_k %d\n", *k)
	}
	return b.String()
}
