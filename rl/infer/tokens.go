package infer

import (
	"bufio"
	"fmt"
	"io"

	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/text"
)

// Tokens writes the token ids of {"text":"..."} lines and their decoding, with the
// tokenizer of a Hugging Face folder.
func Tokens(folder, name string, in io.Reader, w *bufio.Writer) error {
	tok, err := text.ReadFolder(folder)
	if err != nil {
		return fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	return lines.Input(name, in, func(_ int, raw []byte) error {
		var line struct {
			Text *string `json:"text"`
		}
		const accepted = `{"text":"..."}`
		if err := lines.Decode(raw, &line, accepted); err != nil {
			return err
		}
		if line.Text == nil {
			return fmt.Errorf(`%w: found no "text"; accepted: %s`, lines.ErrInput, accepted)
		}
		ids, err := tok.Encode(*line.Text)
		if err != nil {
			return fmt.Errorf("%w: %w", lines.ErrInput, err)
		}
		return lines.Write(w, struct {
			IDs     []int  `json:"ids"`
			Decoded string `json:"decoded"`
		}{append([]int{}, ids...), tok.Decode(ids)})
	})
}

// encode reads text as the model's token ids, at least one.
func encode(m *model.Model, key, text string) ([]int, error) {
	if m.Tokenizer == nil {
		return nil, fmt.Errorf(`%w: %q needs a tokenizer, but the model's folder has no tokenizer.json: give "ids"`, lines.ErrInput, key)
	}
	ids, err := m.Tokenizer.Encode(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %q: %w", lines.ErrInput, key, err)
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("%w: %q has no tokens", lines.ErrInput, key)
	}
	return ids, nil
}

// checkIDs refuses ids outside the vocabulary and sequences that the model has
// no positions for.
func checkIDs(m *model.Model, ids []int) error {
	for i, id := range ids {
		if id < 0 || id >= m.Config.Vocab {
			return fmt.Errorf("%w: id %d (index %d) is not in the model's vocabulary; accepted: 0 to %d", lines.ErrInput, id, i, m.Config.Vocab-1)
		}
	}
	if n := m.Positions(); len(ids) > n {
		return fmt.Errorf("%w: the sequence has %d tokens, but the model has only %d positions", lines.ErrInput, len(ids), n)
	}
	return nil
}
