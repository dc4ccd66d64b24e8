package cli

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/model/gguf"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/table"
)

func dataCommand() *cli.Command {
	return &cli.Command{
		Name: "data", Usage: "write the rows of a data set as JSON lines", ArgsUsage: "DATA",
		Description: `Writes the rows of a file (.jsonl, .ndjson, .json, .csv, .tsv, .parquet), or of a folder of such
files, as JSON lines: the rows that [task] data reads. The names of the splits go to standard
error.

Example: the columns of a data set.
   rlzero inspect data --n 1 gsm8k/main`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "split", Usage: "split of a folder", Value: table.Train},
			&cli.IntFlag{Name: "n", Usage: "largest number of rows", DefaultText: "all"},
			alwaysJSON,
		},
		Action: inspectData,
	}
}

// errEnough ends a reading.
var errEnough = errors.New("enough")

func inspectData(c *cli.Context) error {
	args, err := positional(c, "DATA")
	if err != nil {
		return err
	}
	if c.IsSet("n") && c.Int("n") < 1 {
		return badValue("n", c.Int("n"), "whole numbers from 1")
	}
	data, err := table.Open(args[0])
	if err != nil {
		return fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	fmt.Fprintf(c.App.ErrWriter, "rlzero: splits: %s\n", strings.Join(data.Splits(), ", "))
	switch reading, err := prompts.Find([]prompts.Part{{Data: args[0], Split: c.String("split")}}, prompts.Wanted{Judged: true}); {
	case errors.Is(err, prompts.ErrNoVerifier): // these rows can be shown, and imitated, all the same
		fmt.Fprintf(c.App.ErrWriter, "rlzero: %s\n", terminal.Message(err.Error()))
		for _, h := range hint.All(err) {
			fmt.Fprintf(c.App.ErrWriter, "rlzero: hint: %s\n", terminal.Message(h))
		}
	case err == nil && reading.Line() != "":
		fmt.Fprintf(c.App.ErrWriter, "rlzero: %s\n", terminal.Message(reading.Line()))
	}
	out, written := bufio.NewWriter(c.App.Writer), 0
	err = data.Each(c.String("split"), func(_ int, row table.Row) error {
		if c.IsSet("n") && written == c.Int("n") {
			return errEnough
		}
		written++
		return lines.Write(out, row)
	})
	if err != nil && !errors.Is(err, errEnough) {
		return fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	return nil
}

func ggufCommand() *cli.Command {
	return &cli.Command{
		Name: "gguf", Usage: "write the metadata and tensors of a GGUF file as JSON lines", ArgsUsage: "FILE",
		Description: `Writes {"key":"...","value":...} for each key of the metadata, and for each tensor
{"tensor":"...","type":"...","shape":[...],"sha256_f32":"..."}, with the hash of its numbers
as f32. Lists of more than --most values are cut.

Example:
   rlzero inspect gguf model-q8_0.gguf`,
		Flags:  []cli.Flag{&cli.IntFlag{Name: "most", Usage: "largest number of values shown of a list", Value: 16}, alwaysJSON},
		Action: inspectGGUF,
	}
}

func inspectGGUF(c *cli.Context) error {
	args, err := positional(c, "FILE")
	if err != nil {
		return err
	}
	most, err := intFrom(c, "most", 0, 1<<30)
	if err != nil {
		return err
	}
	f, err := gguf.Open(args[0])
	if err != nil {
		return fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	defer f.Close()
	out := bufio.NewWriter(c.App.Writer)
	for _, p := range f.Metadata {
		line := struct {
			Key   string `json:"key"`
			Value any    `json:"value"`
			Of    int    `json:"of,omitempty"` // values of a list that was cut
		}{Key: p.Key}
		line.Value, line.Of = p.Cut(most)
		if err := lines.Write(out, line); err != nil {
			return err
		}
	}
	for _, t := range f.Tensors {
		values, err := f.Read(t.Name)
		if err != nil {
			return fmt.Errorf("%w: %s: %w", lines.ErrInput, args[0], err)
		}
		data, err := binary.Append(nil, binary.LittleEndian, values)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(data)
		if err := lines.Write(out, struct {
			Tensor string `json:"tensor"`
			Type   string `json:"type"`
			Shape  []int  `json:"shape"`
			Sum    string `json:"sha256_f32"`
		}{t.Name, t.Type.String(), slices.Concat([]int{}, t.Shape), hex.EncodeToString(sum[:])}); err != nil {
			return err
		}
	}
	return nil
}
