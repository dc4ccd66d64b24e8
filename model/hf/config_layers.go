package hf

import (
	"encoding/json"
	"fmt"
	"slices"
)

// geluName is the activation of gemma3_text in its config.json.
const geluName = "gelu_pytorch_tanh"

// layers reads what differs from layer to layer. The keys stay in Raw: they are written
// back as they are unless a field says otherwise (Config.layerKeys).
func (r *configReader) layers(f family, c *Config) {
	if f.localTheta > 0 {
		c.LocalTheta = r.number("rope_local_base_freq", c.LocalTheta)
	}
	if c.Layers < 1 || c.Layers > maxLayers {
		return // Complete refuses it
	}
	probe := configReader{keys: r.keys}
	if f.noRopeEvery > 0 {
		c.NoRope = probe.noRope(f, c.Layers)
	}
	probe.windows(f, c)
	if r.err == nil {
		r.err = probe.err
	}
}

// noRope reads no_rope_layers, in which 1 means that the layer rotates.
func (r *configReader) noRope(f family, layers int) []bool {
	raw := r.take("no_rope_layers")
	if raw == nil {
		return everyNth(layers, r.sizeOr("no_rope_layer_interval", f.noRopeEvery))
	}
	var rotates []int
	wrong := json.Unmarshal(raw, &rotates) != nil || len(rotates) != layers
	none := make([]bool, layers)
	for i, v := range rotates {
		wrong = wrong || v != 0 && v != 1
		if !wrong {
			none[i] = v == 0
		}
	}
	if wrong {
		r.refuse("no_rope_layers", fmt.Sprintf("a list of num_hidden_layers %d numbers, 1 where the layer rotates and 0 where it does not", layers))
	}
	return none
}

// windows reads which layers have a window, by the rule of the family.
func (r *configReader) windows(f family, c *Config) {
	switch f.window {
	case windowNever:
		return
	case windowOptIn, windowNoRope:
		// Published configs carry a sliding_window that does not count.
		if !r.flag("use_sliding_window", false) {
			if slices.Contains(r.layerTypes(c.Layers), true) {
				r.refuse("layer_types", fmt.Sprintf("%q in every layer, because use_sliding_window is not true", fullAttention))
			}
			return
		}
		c.Window = r.sizeOr("sliding_window", 0)
	case windowAlways, windowPattern:
		if v, given := r.keys["sliding_window"]; !given {
			c.Window = slidingWindow
		} else if string(v.raw) != "null" {
			c.Window = r.sizeOr("sliding_window", 0)
		}
	}
	if f.window != windowAlways {
		c.Sliding = r.layerTypes(c.Layers)
	}
	if c.Sliding != nil {
		return
	}
	switch f.window {
	case windowOptIn:
		c.Sliding = make([]bool, c.Layers)
		for i := r.count("max_window_layers", 28); i < c.Layers && c.Window > 0; i++ {
			c.Sliding[i] = true
		}
	case windowNoRope:
		c.Sliding = make([]bool, c.Layers)
		if c.Window > 0 {
			copy(c.Sliding, c.NoRope)
		}
	case windowPattern:
		c.Sliding = everyNth(c.Layers, r.sizeOr("sliding_window_pattern", slidingPattern))
		for i := range c.Sliding {
			c.Sliding[i] = !c.Sliding[i]
		}
	}
}

// layerTypes reads layer_types: whether each layer slides; nil where the key is absent.
func (r *configReader) layerTypes(layers int) []bool {
	raw := r.take("layer_types")
	if raw == nil {
		return nil
	}
	var types []string
	wrong := json.Unmarshal(raw, &types) != nil || len(types) != layers
	sliding := make([]bool, layers)
	for i, name := range types {
		wrong = wrong || name != slidingAttention && name != fullAttention
		if !wrong {
			sliding[i] = name == slidingAttention
		}
	}
	if wrong {
		r.refuse("layer_types", fmt.Sprintf("a list of num_hidden_layers %d names, each %q or %q", layers, fullAttention, slidingAttention))
	}
	return sliding
}

// rope reads the rotation in either spelling. Where two kinds of layers rotate
// differently, rope_parameters has an object for each.
func (r *configReader) rope(c *Config) {
	c.RopeTheta = r.number("rope_theta", c.RopeTheta)
	for _, key := range []string{"rope_scaling", "rope_parameters"} {
		in := r.object(key)
		if in == nil {
			continue
		}
		if c.LocalTheta > 0 && in.keys[fullAttention].raw != nil {
			if local := in.object(slidingAttention); local != nil {
				c.LocalTheta = local.number("rope_theta", c.LocalTheta)
				if s := local.ropeScaling(); s.Type != "default" {
					local.refuse("rope_type", "default in sliding layers")
				}
				in.err = local.err
			}
			full := in.object(fullAttention)
			if full == nil {
				r.err = in.err
				return
			}
			full.err = in.err
			in = full
		}
		c.RopeTheta = in.number("rope_theta", c.RopeTheta)
		if s := in.ropeScaling(); s.Type != "default" {
			c.RopeScaling = &s
		}
		r.err = in.err
	}
}

// object is a reader of an object's keys; nil where the key is absent, null, or wrong.
func (r *configReader) object(key string) *configReader {
	raw := r.take(key)
	if raw == nil || r.err != nil {
		return nil
	}
	inner, err := readObject(raw, r.keys[key].line)
	if err != nil {
		r.refuse(key, "an object or null")
		return nil
	}
	return &configReader{prefix: r.prefix + key + ".", keys: inner}
}

// count reads a number from 0 up; fallback stands for null and an absent key.
func (r *configReader) count(key string, fallback int) int {
	raw := r.take(key)
	if string(raw) == "0" {
		return 0
	}
	return r.sizeOr(key, fallback)
}
