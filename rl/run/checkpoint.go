package run

import (
	"io"

	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/store"
	"github.com/rlzero/rlzero/rl/train"
)

// lasting has state that outlives a stage.
func (r *run) lasting() []cast.Keeper { return append(r.parts.Cast.Keepers(), r.parts.Record) }

// keepers are all that has state besides the run itself.
func (r *run) keepers() []cast.Keeper {
	keepers := r.lasting()
	if r.stage != nil {
		keepers = append(keepers, r.stage)
	}
	return keepers
}

// checkpoint writes one of the last step, if there is none.
func (r *run) checkpoint() error {
	if r.saved == r.state.At.Total {
		return nil
	}
	return r.save(false)
}

// save writes a checkpoint of everything that a resumed run needs. At the end of a
// stage the state is that of the next stage's beginning, and the checkpoint is never
// removed; at the end of the last it has what that stage needs to go on.
func (r *run) save(end bool) error {
	if err := r.folder.Present(); err != nil {
		return err
	}
	state, keepers := r.state, r.keepers()
	state.Ended = nil
	if end {
		if r.stage != nil && state.At.Stage == len(r.parts.Recipe.Stages)-1 {
			state.Ended = &over{state.At.Step, state.Sampled, state.Stall}
		} else {
			keepers = r.lasting()
		}
		state.leave()
	}
	files := map[string]func(io.Writer) error{stateFile: state.write}
	for _, k := range keepers {
		more, err := k.Save()
		if err != nil {
			return err
		}
		for name, write := range more {
			files[name] = write
		}
	}
	if end {
		files[store.KeepFile] = func(io.Writer) error { return nil }
	}
	if err := r.calls.sync(); err != nil {
		return err
	}
	r.saved = r.state.At.Total
	return r.folder.SaveCheckpoint(r.state.At.Total, files)
}

// restore continues from a checkpoint.
func (r *run) restore(ckpt *store.Checkpoint) error {
	state, err := ReadState(ckpt.Dir())
	if err != nil {
		return err
	}
	var former []string
	for _, c := range r.continued {
		former = append(former, c.From)
	}
	if r.longer != nil {
		former = append(former, r.longer.before)
	}
	if err := state.continues(r.want, ckpt.Dir(), r.folder.Dir(), former...); err != nil {
		return err
	}
	if err := r.sameBase(state.Model, r.folder.Dir()); err != nil {
		return err
	}
	if err := r.goesOn(&state, r.folder.Dir()); err != nil {
		return err
	}
	state.Recipe = r.want.Recipe
	r.state, r.saved = state, state.At.Total
	if state.Began {
		if r.stage, err = train.New(r.parts, state.At.Stage); err != nil {
			return err
		}
	}
	for _, k := range r.keepers() {
		if err := k.Load(ckpt.Dir()); err != nil {
			return err
		}
	}
	return r.leavesSteps()
}
