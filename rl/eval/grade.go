package eval

import (
	"bufio"
	"fmt"
	"io"

	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/verify"
)

// Grade judges JSON lines with a verifier, see verify.Grade.
func Grade(name string, in io.Reader, out io.Writer, verifier string) error {
	w := bufio.NewWriter(out)
	return lines.Input(name, in, func(_ int, raw []byte) error {
		v, err := verify.Grade(raw, verifier)
		if err != nil {
			return fmt.Errorf("%w: %w", lines.ErrInput, err)
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
