package learn

import "github.com/rlzero/rlzero/model/hf"

// ValueHead gives a trainer a value head, zeros at first: statistics then have the values
// of the states that tokens were drawn in, and their weights train the head and the model.
func ValueHead(t *Trainer) {
	t.headed = true
}

// ValueTensors lists the value head; nil without one.
func (t *Trainer) ValueTensors() []hf.NamedTensor {
	if t.value == nil {
		return nil
	}
	return t.value.Named(t.value.Values, "")
}

// SetValueTensors overwrites the value head with what ValueTensors gave.
func (t *Trainer) SetValueTensors(ts *hf.TensorSet) error {
	return t.value.Fill(t.value.Values, "", ts)
}
