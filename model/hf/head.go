package hf

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/model/gguf"
)

// Head is what a folder has to judge texts with: it maps the final hidden state after a token, which
// the final norm has passed, to one number for each label. It is computed on the host, in float64 in
// the order of the columns, so that a state has the same score on every device.
type Head struct {
	Labels []string // in their order; a single one need not be named to be read
	form   form
	layers []linear // with relu between them
}

// linear is y = W*x + b.
type linear struct {
	weight [][]float32 // [out][in]
	bias   []float32   // [out]; nil: none
}

// NewHead is a head with one label, v = w*x + b, in folders that of *ForTokenClassification: it is the
// kind that has a bias, which a step of Adam moves even where all that is in its gradient is rounding.
func NewHead(weight []float32, bias float32) *Head {
	return &Head{[]string{labelName(0)}, forms[1], []linear{{[][]float32{weight}, []float32{bias}}}}
}

// ReadHead is the head of [NewHead] whose tensors a file has under the names that a folder has them by.
func ReadHead(ts *TensorSet, width int) (*Head, error) {
	weight, err := ts.Rows(scoreName+".weight", width, 0, 1)
	if err != nil {
		return nil, err
	}
	bias, err := ts.Read(scoreName + ".bias")
	if err == nil && len(bias) != 1 {
		err = fmt.Errorf("tensor %s.bias: found %d numbers, accepted: 1", scoreName, len(bias))
	}
	if err != nil {
		return nil, err
	}
	return NewHead(weight, bias[0]), nil
}

// Tensors are those of a head.
func (h *Head) Tensors() []NamedTensor {
	var out []NamedTensor
	for i, l := range h.layers {
		rows := slices.Concat(l.weight...)
		out = append(out, NamedTensor{Name: h.form.layers[i] + ".weight", Shape: []int{len(l.weight), len(l.weight[0])}, Data: func() ([]float32, error) { return rows, nil }})
		if l.bias != nil {
			out = append(out, NamedTensor{Name: h.form.layers[i] + ".bias", Shape: []int{len(l.bias)}, Data: func() ([]float32, error) { return l.bias, nil }})
		}
	}
	return out
}

// keys changes those of a config.json of a family to those of a model with the head.
func (h *Head) keys(f family, out map[string]any) {
	architecture := f.architecture
	if h.form.suffix != causal {
		architecture = f.stem() + h.form.suffix
	}
	names, places := map[string]string{}, map[string]int{}
	for i, label := range h.Labels {
		names[strconv.Itoa(i)], places[label] = label, i
	}
	out["architectures"], out["id2label"], out["label2id"] = []string{architecture}, names, places
}

// Linear are the numbers of a head of [NewHead].
func (h *Head) Linear() (weight []float32, bias float32) {
	return h.layers[0].weight[0], h.layers[0].bias[0]
}

// form is a way in which folders keep a head.
type form struct {
	suffix string   // of the architecture, in place of ForCausalLM; "ForCausalLM": the table of output tokens is there too
	only   string   // the one family that has it; "": all
	layers []string // of the head, without ".weight" or ".bias"
	biased bool
	single bool // it has one label
}

const (
	causal    = "ForCausalLM"
	scoreName = "score" // the layer of heads that classify
)

// forms has a row for each. Sources: modeling_layers.py of transformers 4.57.1
// (GenericForSequenceClassification, GenericForTokenClassification); modeling_qwen2_rm.py of
// https://huggingface.co/Qwen/Qwen2.5-Math-PRM-7B (two layers); trl/models/modeling_value_head.py of
// TRL 0.19.1 (ValueHead, whose dropout does nothing after training).
var forms = []form{
	{suffix: "ForSequenceClassification", layers: []string{scoreName}},
	{suffix: "ForTokenClassification", layers: []string{scoreName}, biased: true},
	{suffix: "ForProcessRewardModel", only: "qwen2", layers: []string{"score.0", "score.2"}, biased: true},
	{suffix: causal, layers: []string{"v_head.summary"}, biased: true, single: true},
}

// stem is what the names of a family's architectures begin with. Gemma 3 of text alone is named
// otherwise with a head than without one (models/gemma3/modeling_gemma3.py).
func (f family) stem() string {
	stem := strings.TrimSuffix(f.architecture, causal)
	if stem == "Gemma3" {
		return "Gemma3Text"
	}
	return stem
}

// headed are the architectures of a family whose folders have a head and no table of output tokens.
func (f family) headed(name string) []string {
	var out []string
	for _, form := range forms {
		if form.suffix != causal && (form.only == "" || form.only == name) {
			out = append(out, f.stem()+form.suffix)
		}
	}
	return out
}

// formOf is that of an architecture.
func formOf(architecture string) form {
	for _, form := range forms {
		if strings.HasSuffix(architecture, form.suffix) {
			return form
		}
	}
	return forms[len(forms)-1] // config.json names none: what causal models have
}

// ReadHeaded opens the Hugging Face folder of a model with a head: *ForSequenceClassification,
// *ForTokenClassification, Qwen2ForProcessRewardModel, or a *ForCausalLM with TRL's value head
// (v_head.summary). Its tensors are then those of the decoder alone. A folder without a head is an error.
func ReadHeaded(dir string) (*Folder, error) {
	if gguf.IsFile(dir) {
		return nil, fmt.Errorf("%s is a GGUF file; accepted: a Hugging Face folder, since GGUF files have no heads that score", dir)
	}
	return readFolder(dir, true)
}

// scores is advice on a folder with a head that is read as one without.
const scores = "it is a model that scores: rlzero score, rlzero eval and [models.NAME] with head = true read it"

// HasScore says whether a folder is that of a model with a head, as [ReadHeaded] reads it: by the
// architecture that its config.json names, and of a *ForCausalLM by its tensors.
func HasScore(dir string) bool {
	f := &Folder{Dir: dir}
	if gguf.IsFile(dir) || exists(filepath.Join(dir, adapterConfigFile)) || f.readConfig(filepath.Join(dir, configFile), dir, true) != nil {
		return false
	}
	form := formOf(f.architecture)
	if form.suffix != causal {
		return true
	}
	ts, err := openTensors(dir)
	if err != nil {
		return false
	}
	defer ts.Close()
	return ts.shape(form.layers[0]+".weight") != nil
}

// takeHead moves a head from the tensors to the folder, and checks it.
func (f *Folder) takeHead() error {
	name := f.architecture
	form := formOf(name)
	if form.suffix != causal { // the tables of the vocabulary are its embedding alone
		f.Config.TieEmbeddings = true
	}
	h, in := &Head{form: form}, f.Config.Width
	for i, layer := range form.layers {
		weight := layer + ".weight"
		shape := f.Tensors.shape(weight)
		switch {
		case shape == nil:
			err := fmt.Errorf("%s has no head (architectures: %s; looked for %s)", f.Dir, name, weight)
			return hint.With(err, "name the folder of a reward model, or train a head: copy = \"policy\", and a stage with trains")
		case len(shape) != 2 || shape[1] != in || shape[0] < 1 || form.single && shape[0] != 1 || i+1 < len(form.layers) && shape[0] != in:
			return fmt.Errorf("%s: tensor %s: found shape %v, accepted: [labels %d] by config.json", f.Dir, weight, shape, in)
		}
		l, out := linear{}, shape[0]
		for row := range out {
			numbers, err := f.Tensors.Rows(weight, in, row, 1)
			if err != nil {
				return err
			}
			l.weight = append(l.weight, numbers)
		}
		delete(f.Tensors.tensors, weight)
		if form.biased {
			bias := layer + ".bias"
			if shape := f.Tensors.shape(bias); !slices.Equal(shape, []int{out}) {
				return fmt.Errorf("%s: tensor %s: found shape %v, accepted: [%d], as %s has", f.Dir, bias, shape, out, name)
			}
			var err error
			if l.bias, err = f.Tensors.Read(bias); err != nil {
				return err
			}
			delete(f.Tensors.tensors, bias)
		}
		h.layers, in = append(h.layers, l), out
	}
	var err error
	if h.Labels, err = f.Config.labels(in); err != nil {
		return fmt.Errorf("%s: %w", f.Dir, err)
	}
	f.Head = h
	return nil
}

// labels are the names that config.json gives so many labels, as transformers names them where it
// gives none.
func (c Config) labels(n int) ([]string, error) {
	out := make([]string, n)
	for i := range out {
		out[i] = labelName(i)
	}
	raw, there := c.Raw["id2label"]
	if !there || string(raw) == "null" {
		return out, nil
	}
	var names map[string]string
	if err := json.Unmarshal(raw, &names); err != nil {
		return nil, fmt.Errorf("config.json: id2label: found %s, accepted: an object of names by number, such as {\"0\": \"good\"}", raw)
	}
	for _, key := range slices.Sorted(maps.Keys(names)) {
		i, err := strconv.Atoi(key)
		if err != nil || i < 0 || i >= n || len(names) != n {
			return nil, fmt.Errorf("config.json: id2label has %d labels, one of them %q; accepted: the numbers 0 to %d, as the head has", len(names), key, n-1)
		}
		out[i] = names[key]
	}
	return out, nil
}

func labelName(i int) string { return "LABEL_" + strconv.Itoa(i) }

// Label is the place of a label among those of a head. "" stands for the only one.
func (h *Head) Label(name string) (int, error) {
	i := slices.Index(h.Labels, name)
	if name == "" && len(h.Labels) == 1 {
		i = 0
	}
	if i < 0 {
		what := fmt.Sprintf("there is no label %q", name)
		if name == "" {
			what = "no label is chosen"
		}
		return 0, fmt.Errorf("%s; the head has %d (%s)", what, len(h.Labels), strings.Join(h.Labels, ", "))
	}
	return i, nil
}

// Score is what the head says of a state, [width]: its number, if it has one label; of several the
// probability of one of them, given by its place, which is their softmax.
func (h *Head) Score(state []float32, label int) float64 {
	x := make([]float64, len(state))
	for i, v := range state {
		x[i] = float64(v)
	}
	for i, l := range h.layers {
		y := make([]float64, len(l.weight))
		for out, row := range l.weight {
			if l.bias != nil {
				y[out] = float64(l.bias[out])
			}
			for k, w := range row {
				y[out] += float64(w) * x[k]
			}
			if i+1 < len(h.layers) {
				y[out] = max(0, y[out])
			}
		}
		x = y
	}
	if len(x) == 1 {
		return x[0]
	}
	most, all := slices.Max(x), 0.0
	for _, v := range x {
		all += math.Exp(v - most)
	}
	return math.Exp(x[label]-most) / all
}
