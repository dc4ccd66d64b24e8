package eval

import (
	"encoding/json"
	"fmt"
	"math"
)

// known is a figure as JSON has it; nil, which is null there: it could not be measured.
func known(x float64) *float64 {
	if math.IsNaN(x) {
		return nil
	}
	return &x
}

// object is a JSON object whose keys stand in the order in which they are put.
type object struct {
	text []byte
	err  error // the first one
}

func (o *object) put(key string, v any) {
	raw, err := json.Marshal(v)
	if o.err == nil {
		o.err = err
	}
	o.text = fmt.Appendf(o.text, ",%q:%s", key, raw)
}

// json is the object, of one key at least.
func (o *object) json() ([]byte, error) {
	o.text[0] = '{'
	return append(o.text, '}'), o.err
}
