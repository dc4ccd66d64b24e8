package rl

import (
	"bufio"
	"fmt"
	"io"

	"github.com/rlzero/rlzero/model/text"
	"github.com/rlzero/rlzero/verify"
)

// Grade judges JSON lines with a verifier, see verify.Grade.
func Grade(name string, in io.Reader, out io.Writer, verifier string) error {
	w := bufio.NewWriter(out)
	return eachLine(name, in, func(_ int, raw []byte) error {
		v, err := verify.Grade(raw, verifier)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrInput, err)
		}
		text, err := v.MarshalJSON()
		if err != nil {
			return err
		}
		if _, err := w.Write(append(text, '\n')); err != nil {
			return err
		}
		return w.Flush()
	})
}

// Tokens writes the token ids of {"text":"..."} lines and their decoding.
func Tokens(path, name string, in io.Reader, w *bufio.Writer) (warnings []string, err error) {
	dir, warnings, err := tokenizerDir(path)
	if err != nil {
		return warnings, err
	}
	tok, err := text.ReadFolder(dir)
	if err != nil {
		return warnings, fmt.Errorf("%w: %w", ErrInput, err)
	}
	err = eachLine(name, in, func(_ int, raw []byte) error {
		var line struct {
			Text *string `json:"text"`
		}
		const accepted = `{"text":"..."}`
		if err := decodeLine(raw, &line, accepted); err != nil {
			return err
		}
		if line.Text == nil {
			return fmt.Errorf(`%w: found no "text"; accepted: %s`, ErrInput, accepted)
		}
		ids, err := tok.Encode(*line.Text)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrInput, err)
		}
		return writeLine(w, struct {
			IDs     []int  `json:"ids"`
			Decoded string `json:"decoded"`
		}{ids, tok.Decode(ids)})
	})
	return warnings, err
}
