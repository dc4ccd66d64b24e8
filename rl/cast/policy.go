package cast

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/internal/files"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/learn"
	"github.com/rlzero/rlzero/model/memory"
	"github.com/rlzero/rlzero/model/seq"
	"github.com/rlzero/rlzero/rl/rollout"
)

// Files of a checkpoint besides those of the Hugging Face folder.
const (
	weightsFile   = "model.safetensors"
	adapterFile   = "adapter_model.safetensors"
	adapterConfig = "adapter_config.json"
	optimizerFile = "trainer/optimizer.safetensors"
	policyFile    = "trainer/policy.json"
	valueFile     = "trainer/value.safetensors"
)

// Policy is the model that is trained.
type Policy struct {
	Model *model.Model
	*Trainee
	valued bool     // the trainer has a value head
	fresh  bool     // made from random weights, which no folder has
	summed string   // the sum of logits by which it draws and learns; "": its own logits alone
	guest  *average // that a stage trains in the policy's place, whose weights and head lie in its own; nil: there is none
}

// openPolicy opens the policy as it is before the first update.
func openPolicy(o opening) (member, error) {
	p := &Policy{valued: o.head, fresh: o.folder == ""}
	var err error
	if p.Model, err = o.blueprint.open(o.recipe.Seed, o.folder, o.dev, o.positions); err != nil {
		return nil, err
	}
	options := []learn.Option{learn.Optimizes(o.optimizes...), learn.In(o.cast.scratch.Phase(memory.Training))}
	if o.recipe.Recompute {
		options = append(options, learn.Recompute)
	}
	if o.head {
		options = append(options, learn.ValueHead)
	}
	if o.influence {
		options = append(options, learn.Influence)
	}
	t, err := learn.NewTrainer(p.Model, o.trainRows, options...)
	if err != nil {
		p.Model.Close()
		return nil, err
	}
	p.Trainee = &Trainee{trainer: t}
	return p, nil
}

// open makes the policy's model as it is before the first update of a run of a seed. One whose adapter is
// trained is frozen.
func (b blueprint) open(run uint64, folder string, dev gpu.Device, positions int) (*model.Model, error) {
	seed := func(n int) uint64 { return random.At(run, random.Stream(random.Init, n), 0).Uint64() }
	var m *model.Model
	var err error
	switch {
	case folder != "":
		m, err = load(dev, folder, model.LoadOptions{Positions: positions, Dtype: b.config.Dtype, KVDtype: b.config.KVDtype, Frozen: b.adapter != nil})
	case b.adapter == nil:
		m, err = model.New(dev, b.config, seed(0), positions)
	default:
		if m, err = model.NewFrozen(dev, b.config, positions); err == nil {
			err = m.Initialize(seed(0))
		}
	}
	if err == nil && b.adapter != nil {
		err = m.AddAdapter(*b.adapter, seed(1))
	}
	if err == nil && b.begun != "" {
		err = readTensors(filepath.Join(b.begun, adapterFile), m.SetAdapterTensors)
	}
	if err != nil {
		if m != nil {
			m.Close()
		}
		return nil, err
	}
	m.Tokenizer, m.Config.EOS = b.tokenizer, b.config.EOS
	return m, nil
}

// score implements member.
func (p *Policy) score(views []rollout.View) ([]seq.Stats, error) { return p.Forward(views) }

// states implements member.
func (p *Policy) states(views []rollout.View, layer int, do func(i int, states [][]float32) error) error {
	if err := oneContext(views); err != nil {
		return err
	}
	return p.trainer.States(sequences(views), layer, do)
}

// begin implements member: the optimizer forgets.
func (p *Policy) begin() error { return p.trainer.ResetOptimizer() }

// Weights are the tensors that are trained, the adapter's or all, as the passes read them
// now: a safetensors file. It is what a worker needs to draw the same, and of a policy in
// bf16 half as large as the float32 numbers that are updated.
func (p *Policy) Weights() ([]byte, error) {
	tensors := p.Model.AdapterTensors()
	if tensors == nil {
		tensors = p.Model.PassTensors()
	}
	var b bytes.Buffer
	err := hf.WriteSafetensors(&b, tensors)
	return b.Bytes(), err
}

// progress is how far who learns has come, in a checkpoint.
type progress struct {
	Updates int `json:"updates"` // of the stage's optimizer
	Version int `json:"version"` // updates since the run began
}

// mostState bounds a file that says so, in bytes: far more than one has.
const mostState = 1 << 20

// readState reads such a file, in which p is.
func readState(file string, state any, p *progress) error {
	data, err := files.Read(file, mostState)
	if err != nil {
		return err
	}
	if err = json.Unmarshal(data, state); err == nil && (p.Updates < 0 || p.Version < 0) {
		err = fmt.Errorf("updates = %d, version = %d; accepted: numbers from 0 on", p.Updates, p.Version)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// policyState is what a checkpoint knows about a policy besides its tensors.
type policyState struct {
	progress
	Summed string `json:"summed,omitempty"` // the sum of logits by which it draws and learns
	Guest  string `json:"guest,omitempty"`  // the member in its place, to which the optimizer's state belongs
}

func readPolicyState(dir string) (s policyState, err error) {
	err = readState(filepath.Join(dir, filepath.FromSlash(policyFile)), &s, &s.progress)
	return s, err
}

// SavedVersion is the [Policy.Version] of the checkpoint in a folder.
func SavedVersion(dir string) (int, error) {
	s, err := readPolicyState(dir)
	return s.Version, err
}

// seat are the tensors where the policy was opened, of whoever is trained.
func (p *Policy) seat() []hf.NamedTensor {
	if adapter := p.Model.AdapterTensors(); adapter != nil {
		return adapter
	}
	return p.Model.Tensors()
}

// own are the policy's tensors, wherever they lie.
func (p *Policy) own() []hf.NamedTensor {
	if p.guest != nil {
		return p.guest.weights.Tensors()
	}
	return p.seat()
}

// head are the tensors of the policy's value head, wherever it lies.
func (p *Policy) head() []hf.NamedTensor {
	if p.guest != nil && p.guest.head != nil {
		return p.trainer.HeadTensors(p.guest.head)
	}
	return p.trainer.ValueTensors()
}

// Folder returns what writes each file of the policy as it is now: a Hugging Face folder, or, where
// an adapter is trained, a PEFT folder, which names the model it belongs to; the model's own weights
// are there too if no other folder has them.
func (p *Policy) Folder() (map[string]func(io.Writer) error, error) {
	small, err := p.smallFiles()
	if err != nil {
		return nil, err
	}
	state := policyState{Summed: p.summed}
	state.Version = p.version
	_, state.Updates = p.trainer.OptimizerState()
	if p.guest != nil {
		state.Guest = p.guest.name
	}
	files := map[string]func(io.Writer) error{
		policyFile: func(w io.Writer) error { return json.NewEncoder(w).Encode(state) },
	}
	if p.Model.AdapterTensors() == nil {
		files[weightsFile] = tensorFile(p.own())
	} else {
		files[adapterFile] = tensorFile(p.own())
		if p.fresh {
			files[weightsFile] = tensorFile(p.Model.Tensors())
		}
	}
	for name, data := range small {
		files[name] = func(w io.Writer) error { _, err := w.Write(data); return err }
	}
	return files, nil
}

// Save implements [Keeper]: the folder, and beside it the optimizer's state and the value head, if
// there is one. Weights and head are the policy's, also while another member is trained in its place.
func (p *Policy) Save() (map[string]func(io.Writer) error, error) {
	files, err := p.Folder()
	if err != nil {
		return nil, err
	}
	moments, _ := p.trainer.OptimizerState()
	files[optimizerFile] = tensorFile(moments)
	if p.valued {
		files[valueFile] = tensorFile(p.head())
	}
	return files, nil
}

// Load implements [Keeper]. It refuses a checkpoint with another config or
// tokenizer than the policy has. A guest takes its place again when it is loaded itself.
func (p *Policy) Load(dir string) error {
	if err := p.sameFiles(dir); err != nil {
		return err
	}
	state, err := readPolicyState(dir)
	if err != nil {
		return err
	}
	p.version, p.guest = state.Version, nil
	if p.Model.AdapterTensors() != nil {
		err = readTensors(filepath.Join(dir, adapterFile), p.Model.SetAdapterTensors)
	} else {
		err = readTensors(filepath.Join(dir, weightsFile), p.Model.SetTensors)
	}
	if err == nil && p.valued {
		err = readTensors(filepath.Join(dir, filepath.FromSlash(valueFile)), p.trainer.SetValueTensors)
	}
	if err != nil {
		return err
	}
	return readTensors(filepath.Join(dir, filepath.FromSlash(optimizerFile)), func(ts *hf.TensorSet) error {
		return p.trainer.SetOptimizerState(ts, state.Updates)
	})
}

// smallFiles are the files of a checkpoint's folder that no update changes.
func (p *Policy) smallFiles() (map[string][]byte, error) {
	small, err := hf.FolderFiles(p.Model.Config, p.Model.Tokenizer)
	if err != nil {
		return nil, err
	}
	adapter, err := p.Model.AdapterConfigFile()
	if adapter != nil {
		small[adapterConfig] = adapter
	}
	return small, err
}

// sameFiles compares the policy's config, tokenizer and adapter with those of a checkpoint:
// they differ where the folder of model.path was changed in between.
func (p *Policy) sameFiles(dir string) error {
	now, err := p.smallFiles()
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		then, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		if !bytes.Equal(then, now[name]) {
			return hint.With(fmt.Errorf("%w: %s is not the one that the run began with, which is in %s: the run would not continue to the same bytes", lines.ErrInput, name, dir),
				"restore the file in the folder of model.path, or start a new run with --set model.path=%s", dir)
		}
	}
	return nil
}

func (p *Policy) close() {
	p.trainer.Close()
	p.Model.Close()
}

// Widen is a device's float32 numbers as the float64 that losses take.
func Widen(v []float32) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = float64(x)
	}
	return out
}

func tensorFile(tensors []hf.NamedTensor) func(io.Writer) error {
	return func(w io.Writer) error { return hf.WriteSafetensors(w, tensors) }
}

func readTensors(file string, use func(*hf.TensorSet) error) error {
	ts, err := hf.OpenTensorFile(file)
	if err != nil {
		return err
	}
	defer ts.Close()
	return use(ts)
}
