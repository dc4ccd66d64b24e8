package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// chained is a line with a sum of itself and of the line before.
type chained interface{ sum() string }

// chain is the sum of a line, which has none yet, after that of the line before it; "" before the first.
func chain(before string, line any) (string, error) {
	text, err := plain(line)
	if err != nil {
		return "", err
	}
	return sumOf(before, text), nil
}

// plain is a line as a log writes it, without its end.
func plain(line any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(line)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

func sumOf(before string, line []byte) string {
	sum := sha256.Sum256(append([]byte(before), line...))
	return hex.EncodeToString(sum[:])
}

// sumKey begins the sum of a line, which stands at its end.
const sumKey = `,"sum":"`

// eachChained calls do for the lines of a log whose lines have sums, in order, with their numbers and bytes,
// and returns the sum of the last. A line that is not what was written is refused, by its number: its sum, or
// that of the line before, is another.
func eachChained[L chained](file string, do func(n int, raw []byte, line L) error) (sum string, err error) {
	err = Raw(file, func(n int, raw []byte) error {
		line, err := decode[L](file, raw)
		if err != nil {
			return err
		}
		text := raw
		if at := bytes.LastIndex(raw, []byte(sumKey)); at >= 0 {
			text = append(bytes.Clone(raw[:at]), '}')
		}
		want := sumOf(sum, text)
		if line.sum() != want {
			return fmt.Errorf("the line, or one before it, is not as it was written: its sum is %q, and what stands there has %q", line.sum(), want)
		}
		if end := sumKey + want + `"}`; !bytes.HasSuffix(raw, []byte(end)) {
			return fmt.Errorf("the line is not as it was written: something stands after its sum; accepted at its end: %s", end)
		}
		sum = line.sum()
		return do(n, raw, line)
	})
	return sum, err
}
