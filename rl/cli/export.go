package cli

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/rl/lines"
	"github.com/rlzero/rlzero/rl/store"
)

const exportHelp = `Writes the model into the new folder --out, in the form that other programs read. MODEL is
a Hugging Face folder, a .gguf file, a run (its newest checkpoint) or a checkpoint folder.

   hf     a Hugging Face folder with f32 weights, for transformers, vLLM and others
   gguf   model-TYPE.gguf, for llama.cpp, and a Modelfile, for Ollama

A LoRA adapter is merged: that of the run or PEFT folder that MODEL is, or of --adapter.
The tokenizer and the chat template go along. Types of gguf: f32, f16, bf16, and in blocks
of 32 numbers q8_0 (8.5 bits a number) and q4_0 (4.5 bits; the embedding and the output
head are q8_0). Standard error says where llama.cpp would compute something else.

Example: a run as a model for Ollama.
   rlzero export runs/first --format gguf --type q8_0 --out exported
   ollama create first -f exported/Modelfile`

func exportCommand() *cli.Command {
	return &cli.Command{
		Name: "export", Usage: "write a model for other programs", ArgsUsage: "MODEL", Description: exportHelp,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "format", Usage: "hf or gguf", Value: "hf"},
			&cli.StringFlag{Name: "type", Usage: "how gguf stores matrices: " + strings.Join(ggufTypeNames(), ", "), Value: "f16"},
			adapterFlag,
			&cli.StringFlag{Name: "out", Usage: "new folder to write"},
		},
		Action: export,
	}
}

func ggufTypeNames() []string {
	names := make([]string, len(model.GGUFTypes))
	for i, t := range model.GGUFTypes {
		names[i] = t.Name
	}
	return names
}

func export(c *cli.Context) error {
	args, err := positional(c, "MODEL")
	if err != nil {
		return err
	}
	format, out := c.String("format"), c.String("out")
	kind := slices.IndexFunc(model.GGUFTypes, func(t model.GGUFType) bool { return t.Name == c.String("type") })
	switch {
	case format != "hf" && format != "gguf":
		return badValue("format", format, "hf, gguf")
	case kind < 0:
		return badValue("type", c.String("type"), "%s", strings.Join(ggufTypeNames(), ", "))
	case format == "hf" && c.IsSet("type"):
		return hint.With(usagef("--type goes with --format gguf: a Hugging Face folder is written as f32"), "programs that load it convert it to the type they are told")
	case out == "":
		return hint.With(usagef("%s needs --out DIR", c.Command.HelpName), "DIR is a new folder")
	}
	folder, warnings, err := store.FindModel(args[0])
	warn(c, warnings)
	if err != nil {
		return err
	}
	f, err := model.ReadFolder(folder)
	if err != nil {
		return fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	defer f.Tensors.Close()
	if err := f.Merge(c.String("adapter")); err != nil {
		return fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	disk := store.OS()
	if err := disk.Mkdir(out); errors.Is(err, fs.ErrExist) {
		return hint.With(fmt.Errorf("%w: --out %s already exists", lines.ErrInput, out), "name a new folder")
	} else if err != nil {
		return fmt.Errorf("%w: --out: %w", lines.ErrInput, err)
	}
	e := exporter{disk, out, c}
	if format == "hf" {
		err = e.huggingFace(f)
	} else {
		err = e.gguf(f, strings.TrimSuffix(filepath.Base(filepath.Clean(args[0])), ".gguf"), model.GGUFTypes[kind])
	}
	if err != nil {
		return errors.Join(err, disk.Remove(out))
	}
	fmt.Fprintln(c.App.Writer, out)
	return nil
}

// exporter writes files into a folder.
type exporter struct {
	disk store.FS
	dir  string
	c    *cli.Context
}

// file writes one file, through to the disk.
func (e exporter) file(name string, write func(io.Writer) error) error {
	f, err := e.disk.Create(filepath.Join(e.dir, name))
	if err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(f, 1<<20)
	if err = write(buffered); err == nil {
		err = buffered.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(e.dir, name), err)
	}
	return nil
}

// huggingFace writes a Hugging Face folder.
func (e exporter) huggingFace(f *model.Folder) error {
	small, err := model.FolderFiles(f.Config, f.Tokenizer)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(small)) {
		if err := e.file(name, func(w io.Writer) error { _, err := w.Write(small[name]); return err }); err != nil {
			return err
		}
	}
	var tensors []model.NamedTensor
	for _, spec := range model.Tensors(f.Config) {
		tensors = append(tensors, model.NamedTensor{Name: spec.Name, Shape: spec.Shape, Data: func() ([]float32, error) { return f.Tensors.Read(spec.Name) }})
	}
	return e.file("model.safetensors", func(w io.Writer) error { return model.WriteSafetensors(w, tensors) })
}

// gguf writes a GGUF file and a Modelfile beside it.
func (e exporter) gguf(f *model.Folder, name string, kind model.GGUFType) error {
	file := "model-" + kind.Name + ".gguf"
	err := e.file(file, func(w io.Writer) error {
		notes, err := model.WriteGGUF(w, f, name, kind)
		warn(e.c, notes)
		return err
	})
	if err != nil {
		return err
	}
	return e.file("Modelfile", func(w io.Writer) error { _, err := io.WriteString(w, modelfile(f, file)); return err })
}

// modelfile tells Ollama about a model: the texts that end a turn, and how it is meant to
// be sampled. It takes the chat template from the GGUF file.
// https://github.com/ollama/ollama/blob/main/docs/modelfile.md
func modelfile(f *model.Folder, file string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "FROM ./%s\n", file)
	if f.Tokenizer != nil {
		for _, id := range f.Config.EOS {
			if token := f.Tokenizer.Token(id); token != "" && !strings.ContainsAny(token, "\"\n") {
				fmt.Fprintf(&b, "PARAMETER stop \"%s\"\n", token)
			}
		}
	}
	g := f.Generation
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
