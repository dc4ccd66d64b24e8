package hf

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
)

// FuzzConfig: whatever the bytes, no panic; a config that is accepted has sizes
// that go together, its rotation table can be made, and it is read back as it was
// written. The same of one with a head, whose labels are as many as the head has.
func FuzzConfig(f *testing.F) {
	for _, family := range Families() {
		f.Add(minimal(family, ""))
		f.Add(minimal(family, `, "rope_theta": 5e5, "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1, "high_freq_factor": 4, "original_max_position_embeddings": 64}`))
		f.Add(minimal(family, `, "num_key_value_heads": 4, "head_dim": 16, "eos_token_id": [1, 2], "bos_token_id": null, "tie_word_embeddings": true, "kept": {"a": [1]}`))
		f.Add(minimal(family, `, "architectures": ["`+families[family].headed(family)[1]+`"], "id2label": {"0": "a", "1": "b", "2": "c"}`))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if c, architecture, err := parseConfig(data, true); err == nil {
			known := append(families[c.Family].headed(c.Family), families[c.Family].architecture, "")
			if labels, err := c.labels(3); !slices.Contains(known, architecture) || err == nil && len(labels) != 3 {
				t.Errorf("the architecture %q with the labels %q is accepted", architecture, labels)
			}
		}
		c, err := ParseConfig(data)
		if err != nil {
			return
		}
		if c.Heads%c.KVHeads != 0 || c.HeadDim%2 != 0 || c.Vocab < 1 || c.Layers < 1 || c.Width < 1 || c.MLP < 1 {
			t.Errorf("%+v is accepted", c)
		}
		for _, id := range append([]int{c.BOS, c.PAD}, c.EOS...) {
			if id < -1 || id >= c.Vocab {
				t.Errorf("token %d of a vocabulary of %d is accepted", id, c.Vocab)
			}
		}
		if c.HeadDim <= 1<<10 {
			RopeTable(c.HeadDim, c.RopeTheta, c.RopeScaling, 3)
		}
		written, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseConfig(written)
		if err != nil {
			t.Fatalf("%s was written as %s: %v", data, written, err)
		}
		c.Raw, again.Raw = nil, nil
		if len(c.EOS) == 0 { // [] is written as null
			c.EOS = again.EOS
		}
		if !reflect.DeepEqual(c, again) {
			t.Errorf("%+v was written, and read as %+v", c, again)
		}
	})
}
