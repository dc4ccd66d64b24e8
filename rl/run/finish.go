package run

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/rl/receipt"
	"github.com/rlzero/rlzero/rl/store"
)

// Summary is what a finished run reached.
type Summary struct {
	Standing          // of its evaluations
	Checkpoint string // the model that it offers, a Hugging Face folder
	Example    string // a held-out prompt to try it with
	Chat       bool   // prompts are conversations
	Elapsed    time.Duration
}

// finish writes the receipt, and sums the run up.
func (r *run) finish(version string, caps gpu.Caps, began time.Time) (*Summary, error) {
	if err := errors.Join(r.logs.sync(), r.calls.settle(r.folder)); err != nil {
		return nil, err
	}
	heldOut := r.parts.HeldOut.Problems
	done, err := receipt.Of(r.folder.Dir(), r.parts.Recipe.Task, heldOut, r.state.Model, r.origins, r.continued, caps, version)
	if err != nil {
		return nil, fmt.Errorf("receipt: %w", err)
	}
	text, err := done.Text()
	if err != nil {
		return nil, fmt.Errorf("receipt: %w", err)
	}
	if err := r.folder.WriteFile(receipt.File, text); err != nil {
		return nil, err
	}
	if err := r.tell(event{Kind: ended}); err != nil { // after the receipt, which makes it a finished run's
		return nil, err
	}
	found, err := store.FindModel(r.folder.Dir(), "")
	if err != nil {
		return nil, err
	}
	standing := r.standing.Standing
	if standing.Last == nil {
		standing.Choice = store.Choice{Take: store.TakeLast, Why: "nothing was evaluated"}
	}
	return &Summary{Standing: standing, Checkpoint: filepath.Clean(found.Dir), Example: heldOut[0].Question, Chat: r.parts.Prompts.Chat(), Elapsed: time.Since(began)}, nil
}
