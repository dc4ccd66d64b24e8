package run

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/rl/algo"
	"github.com/rlzero/rlzero/rl/receipt"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/train"
)

// State is where a run stands, and what it was begun with. Keepers save the rest.
type State struct {
	Version  int             `json:"version"`  // of the format of checkpoints
	Numerics gpu.Numerics    `json:"numerics"` // order of operations in the kernels
	Formulas int             `json:"formulas"` // version of their language
	Device   string          `json:"device"`   // name, driver and tier: bits are equal on the same one only
	Recipe   string          `json:"recipe"`   // identity of recipe.toml
	Model    *receipt.Origin `json:"model"`    // what the run started from; null: random weights
	At       train.Position  `json:"position"`
	Began    bool            `json:"began"`           // the opening work of the stage is done
	Sampled  int             `json:"sampled"`         // tokens that the stage in progress has sampled
	Stall    *stall          `json:"stall,omitempty"` // of the stage in progress, if it has patience
	Ended    *over           `json:"ended,omitempty"` // of a finished run
}

// stall is how long the accuracy of a stage has not risen.
type stall struct {
	Best  float64 `json:"best"`  // of its evaluations so far
	Since int     `json:"since"` // evaluations after the best one
}

// heard is the stall after one more evaluation. One in which nothing was scored says nothing.
func (s *stall) heard(accuracy float64) *stall {
	switch {
	case math.IsNaN(accuracy):
		return s
	case s == nil || accuracy > s.Best:
		return &stall{Best: accuracy}
	default:
		return &stall{Best: s.Best, Since: s.Since + 1}
	}
}

// leave goes to the beginning of the next stage.
func (s *State) leave() {
	s.At.Stage++
	s.At.Step, s.Began, s.Sampled, s.Stall = 0, false, 0, nil
}

// stateVersion is the format of checkpoints. 3: keepers have files of their own.
// 4: methods are formulas.
const stateVersion = 4

// stateFile is the state's name in a checkpoint.
const stateFile = "trainer/state.json"

// NewState is the state of a run on a device that has not begun.
func NewState(c gpu.Caps) State {
	return State{Version: stateVersion, Numerics: c.Numerics, Formulas: algo.Version, Device: c.Name + ", " + c.Driver + ", " + string(c.Tier)}
}

func (s *State) write(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(s)
}

// ReadState reads where a run stood when it wrote the checkpoint in a folder.
func ReadState(checkpoint string) (s State, err error) {
	err = noted(filepath.Join(checkpoint, filepath.FromSlash(stateFile)), &s)
	return s, err
}

// continues refuses to go on from a checkpoint whose bits this program or device would
// not reproduce, or which is of another recipe.
// former are identities that its recipe had before it continued with other lengths.
func (s *State) continues(want State, checkpoint, runDir string, former ...string) error {
	const otherBytes = "the run would not continue to the same bytes"
	afresh := "start a new run with --set model.path=" + terminal.ShellWord(checkpoint)
	switch {
	case s.Version != want.Version:
		return hint.With(fmt.Errorf("%w: checkpoint %s has format %d, but this program writes format %d", lines.ErrInput, checkpoint, s.Version, want.Version),
			"resume with the version of rlzero that wrote it, or %s", afresh)
	case s.Numerics != want.Numerics:
		return hint.With(fmt.Errorf("%w: checkpoint %s was made with numerics version %s, but this device and tier have version %s: %s", lines.ErrInput, checkpoint, s.Numerics, want.Numerics, otherBytes), "%s", afresh)
	case s.Formulas != want.Formulas:
		return hint.With(fmt.Errorf("%w: checkpoint %s was made with version %d of the language of formulas, but this program has version %d: %s", lines.ErrInput, checkpoint, s.Formulas, want.Formulas, otherBytes), "%s", afresh)
	case s.Device != want.Device:
		return hint.With(fmt.Errorf("%w: checkpoint %s was made on %q, but this device is %q: %s", lines.ErrInput, checkpoint, s.Device, want.Device, otherBytes), "%s", afresh)
	case s.Recipe != want.Recipe && !slices.Contains(former, s.Recipe):
		return hint.With(fmt.Errorf("%w: %s has changed since the run began. Only sampler_sequences may change, and micro_batch_tokens as long as no group is larger", lines.ErrInput, filepath.Join(runDir, recipe.File)),
			"restore the file, or %s", afresh)
	}
	return nil
}
