package rl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/rl/store"
)

// state is where a run stands, besides weights and optimizer. Random streams
// need no state: they are functions of the recipe's seed and these numbers.
type state struct {
	Version  int     `json:"version"`
	Numerics int     `json:"numerics"` // order of operations in the kernels
	Device   string  `json:"device"`   // name and driver: bits are equal on the same one only
	Stage    int     `json:"stage"`    // index of the stage in progress
	Step     int     `json:"step"`     // steps of it that are done
	Total    int     `json:"total"`    // steps of all stages that are done
	Began    bool    `json:"began"`    // the stage's opening work is done
	HoldEnd  int     `json:"hold_end"` // sft: step at which the rate began to fall; -1 while held
	Updates  int     `json:"updates"`  // of the stage's optimizer
	LastEval float64 `json:"last_eval"`
	Recipe   string  `json:"recipe"` // identityOf recipe.toml
	Model    *Origin `json:"model"`  // what the run started from; null: random weights
}

const stateVersion = 2

// Files of a checkpoint besides those of the Hugging Face folder.
const (
	weightsFile   = "model.safetensors"
	stateFile     = "trainer/state.json"
	optimizerFile = "trainer/optimizer.safetensors"
	referenceFile = "trainer/reference.safetensors"
)

// save writes a checkpoint of everything a resumed run needs. Those at the end
// of a stage are never removed.
func (s *session) save(keep bool) error {
	if s.state.LastEval = s.lastEval; math.IsNaN(s.lastEval) { // nothing could be scored; JSON has no NaN
		s.state.LastEval = -1
	}
	small, err := model.FolderFiles(s.model.Config, s.tok)
	if err != nil {
		return err
	}
	files := map[string]func(io.Writer) error{}
	for name, data := range small {
		files[name] = func(w io.Writer) error { _, err := w.Write(data); return err }
	}
	moments, updates := s.trainer.OptimizerState()
	s.state.Updates = updates
	files[weightsFile] = tensorFile(s.model.Tensors())
	files[optimizerFile] = tensorFile(moments)
	if s.frozen != nil {
		files[referenceFile] = tensorFile(s.frozen.Tensors())
	}
	files[stateFile] = func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(s.state)
	}
	if keep {
		files[store.KeepFile] = func(io.Writer) error { return nil }
	}
	s.saved = s.state.Total
	return s.run.SaveCheckpoint(s.state.Total, files)
}

func tensorFile(tensors []model.NamedTensor) func(io.Writer) error {
	return func(w io.Writer) error { return model.WriteSafetensors(w, tensors) }
}

// restore continues from the newest whole checkpoint, or from the start if
// there is none.
func (s *session) restore() error {
	ckpt, warnings, err := s.run.Latest()
	for _, w := range warnings {
		s.show.Line("%s", w)
	}
	if err != nil {
		return err
	}
	if ckpt == nil {
		s.show.Line("no checkpoint yet: starting over")
		if err := s.begin(); err != nil {
			return err
		}
		return s.logs.rewind(nil)
	}
	in, err := ckpt.Open(stateFile)
	if err != nil {
		return err
	}
	err = json.NewDecoder(in).Decode(&s.state)
	in.Close()
	if err != nil {
		return fmt.Errorf("%s: %w", path.Join(ckpt.Dir(), stateFile), err)
	}
	if err := s.sameNumerics(ckpt.Dir()); err != nil {
		return err
	}
	if s.state.Recipe != s.identity {
		return fmt.Errorf("%w: %s is not what the run began with: more than %s was changed; put it back, or start a new run with it and model.path=%s",
			ErrInput, filepath.Join(s.run.Dir(), recipeFile), strings.Join(batchingKeys, " and "), ckpt.Dir())
	}
	if err := s.sameModel(ckpt); err != nil {
		return err
	}
	s.lastEval, s.saved = s.state.LastEval, s.state.Total
	if err := readTensors(path.Join(ckpt.Dir(), weightsFile), s.model.SetTensors); err != nil {
		return err
	}
	if s.frozen != nil {
		if err := readTensors(path.Join(ckpt.Dir(), referenceFile), s.frozen.SetTensors); err != nil {
			return err
		}
	}
	err = readTensors(path.Join(ckpt.Dir(), optimizerFile), func(ts *model.TensorSet) error {
		return s.trainer.SetOptimizerState(ts, s.state.Updates)
	})
	if err != nil {
		return err
	}
	s.show.Line("continuing after step %d from %s", s.state.Total, ckpt.Dir())
	return s.logs.rewind(ckpt)
}

func readTensors(file string, use func(*model.TensorSet) error) error {
	ts, err := model.OpenTensorFile(file)
	if err != nil {
		return err
	}
	defer ts.Close()
	return use(ts)
}

// sameNumerics refuses to continue a run whose bits this program or device
// would not reproduce.
func (s *session) sameNumerics(dir string) error {
	want := s.fresh()
	switch got := s.state; {
	case got.Version != want.Version:
		return fmt.Errorf("%w: checkpoint %s has state version %d, this program writes %d: use the version of rlzero that wrote it", ErrInput, dir, got.Version, want.Version)
	case got.Numerics != want.Numerics:
		return fmt.Errorf("%w: checkpoint %s was made with numerics version %d, this program has %d: the run would not go on to the same bytes; start a new run with model.path=%s", ErrInput, dir, got.Numerics, want.Numerics, dir)
	case got.Device != want.Device:
		return fmt.Errorf("%w: checkpoint %s was made on %q, this device is %q: the run would not go on to the same bytes; start a new run with model.path=%s", ErrInput, dir, got.Device, want.Device, dir)
	}
	return nil
}

// sameModel refuses to continue a run with another config or tokenizer than it
// has, as where the folder of model.path was changed.
func (s *session) sameModel(ckpt *store.Checkpoint) error {
	now, err := model.FolderFiles(s.model.Config, s.tok)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		in, err := ckpt.Open(name)
		if err != nil {
			return err
		}
		then, err := io.ReadAll(in)
		in.Close()
		if err != nil {
			return err
		}
		if !bytes.Equal(then, now[name]) {
			return fmt.Errorf("%w: %s is not the one that the run began with, which is in %s: the run would not go on to the same bytes; put it back into model.path=%s, or start a new run with model.path=%s",
				ErrInput, name, ckpt.Dir(), s.recipe.Model.Path, ckpt.Dir())
		}
	}
	return nil
}

// begin is where a new run stands.
func (s *session) begin() error {
	s.state = s.fresh()
	s.state.Recipe = s.identity
	if s.source == "" {
		return nil
	}
	var err error
	s.state.Model, err = originOf(s.source)
	return err
}

// fresh is the state of a run that has not begun.
func (s *session) fresh() state {
	c := s.model.Device().Caps()
	return state{Version: stateVersion, Numerics: c.Numerics, Device: c.Name + ", " + c.Driver + ", " + string(c.Tier), HoldEnd: -1, LastEval: -1}
}
