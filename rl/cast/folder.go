package cast

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/text"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/weights"
)

// folderModel is a frozen model of a folder. It has no state, and no stage changes it.
type folderModel struct {
	scoring
	model *model.Model
}

// openFolder opens one, as [OpenModel] does.
func openFolder(o opening) (member, error) {
	f := o.folders[o.name]
	if f.rides {
		return o.ride(f)
	}
	options := model.LoadOptions{Positions: o.positions, Dtype: f.config.Dtype, KVDtype: f.config.KVDtype, Frozen: true, Adapter: o.spec.Adapter, Head: o.spec.Head}
	if o.leaving[o.name] {
		options.Phase = o.cast.own(o.want)
	}
	m, err := load(o.dev, o.spec.Path, options)
	if err != nil {
		return nil, err
	}
	scorer, err := o.scorerOf(m)
	if err != nil {
		m.Close()
		return nil, err
	}
	return folderModel{scoring{scorer, m.Head, f.label}, m}, nil
}

// ride opens one over the policy's parameters.
func (o opening) ride(f folderOf) (member, error) {
	m, err := o.policy.Model.WithAdapter(f.put)
	if err != nil {
		return nil, err
	}
	m.Config.EOS = f.config.EOS
	scorer, err := o.scorerOf(m)
	if err != nil {
		m.Close()
		return nil, err
	}
	return folderModel{scoring{scorer, nil, f.label}, m}, nil
}

// scorerOf writes where the policy's trainer does, if there is one and the model, which is always there, has the policy's
// sizes.
func (o opening) scorerOf(m *model.Model) (*model.Scorer, error) {
	if o.policy != nil && !o.leaving[o.name] && o.policy.trainer.Lends(m) {
		return o.policy.trainer.NewScorer(m, false), nil
	}
	return m.NewScorerIn(o.cast.reading(o.want), o.trainRows)
}

func (folderModel) begin() error { return nil }

func (f folderModel) close() {
	f.scoring.close()
	f.model.Close()
}

// folderOf is what is known of a model of a folder before it lies on a device.
type folderOf struct {
	config  hf.Config
	adapter *hf.AdapterConfig // nil: it has none
	put     string            // folder of the adapter
	rides   bool              // its parameters are the policy's, see carries
	read    []string          // folders and files that it is read from
	label   int               // of its head

	tokenizer *text.Tokenizer
	foreign   error // why its tokens are not the policy's; nil: they are
}

// meet reads the models of folders that a recipe uses, and refuses those whose tokens are not the
// policy's or that have no room for its sequences.
func (b *blueprint) meet(r *recipe.Recipe) error {
	b.folders = map[string]folderOf{}
	faults := r.Faults()
	for _, w := range b.wants {
		for _, t := range w.terms {
			if of, read := b.folders[t.Model]; read && of.config.Vocab > 0 && of.config.Vocab != b.config.Vocab {
				faults.Fail("models."+w.name+".logits", "model %s has logits of %d tokens, and the policy of %d; accepted: models with as many", t.Model, of.config.Vocab, b.config.Vocab)
			}
		}
		if len(w.made) > 0 {
			if err := b.blend(w, nil, func(*weights.Blend) error { return nil }); err != nil {
				faults.Fail("models."+w.name+".weights", "%w", err)
			}
		}
		if w.spec == nil || w.spec.Path == "" {
			continue
		}
		if w.spec.Resident == "phase" && !w.mayLeave() {
			faults.Fail("models."+w.name+".resident", "model %s draws, answers tools, filters what is drawn or is summed beside the policy, so that it is always there; accepted: auto, always", w.name)
		}
		f, err := b.readFolder(w, sizesOf(r).positions)
		key := "models." + w.name + ".path"
		if _, is := errors.AsType[adapterError](err); is {
			key = "models." + w.name + ".adapter"
		}
		if err != nil {
			faults.Fail(key, "%w", err)
		}
		if w.keeps && err == nil && f.config.Vocab != b.config.Vocab {
			faults.Fail(key, "model %s has logits of %d tokens, and the policy, whose draws it filters, of %d; accepted: a model with as many", w.name, f.config.Vocab, b.config.Vocab)
		}
		b.folders[w.name] = f
		if asks := r.Task.WorldAsks(w.name); asks != "" && err == nil && f.foreign != nil {
			faults.Fail(asks, "%w", f.foreign)
		}
		for _, key := range r.Seats(w.name) {
			if err == nil && f.foreign != nil {
				faults.Fail(key, "%w", f.foreign)
			}
		}
	}
	return faults.Err()
}

// adapterError is one of the adapter that a recipe puts on a model.
type adapterError struct{ error }

func (e adapterError) Unwrap() error { return e.error }

// readFolder reads one.
func (b *blueprint) readFolder(w want, positions int) (of folderOf, err error) {
	open := hf.ReadFolder
	if w.spec.Head {
		open = hf.ReadHeaded
	}
	f, err := open(w.spec.Path)
	if err != nil {
		return of, err
	}
	defer func() { err = errors.Join(err, f.Tensors.Close()) }()
	if w.spec.Adapter != "" {
		if err := f.TakeHead(w.spec.Adapter); err != nil {
			return of, adapterError{err}
		}
	}
	if f.Head != nil {
		if of.label, err = f.Head.Label(w.spec.Label); err != nil {
			return of, hint.With(err, "label = %q", f.Head.Labels[len(f.Head.Labels)-1])
		}
	}
	of.config, of.read = f.Config, readFrom(*w.spec, f)
	if d := w.spec.Dtype; d != "auto" {
		of.config.Dtype = hf.Dtype(d)
	}
	if d := w.spec.KVDtype; d != "auto" {
		of.config.KVDtype = hf.Dtype(d)
	}
	if dir := cmp.Or(w.spec.Adapter, f.Adapter); dir != "" {
		cfg, tensors, err := hf.OpenAdapter(f.Config, dir)
		if err != nil && w.spec.Adapter != "" {
			err = adapterError{err}
		}
		if err != nil {
			return of, err
		}
		of.adapter, of.put = &cfg, dir
		if err := tensors.Close(); err != nil {
			return of, err
		}
		if of.rides = b.carries(w, f, of); of.rides {
			of.config.Dtype, of.config.KVDtype = b.config.Dtype, b.config.KVDtype
		}
	}
	if most := f.Config.MaxPositions; positions > most {
		err := fmt.Errorf("the recipe asks for sequences of %d tokens, but the context of model %s has %d (max_position_embeddings)", positions, w.name, most)
		return of, hint.With(err, "lower max_prompt_tokens, max_completion_tokens or max_tokens")
	}
	of.tokenizer = f.Tokenizer
	of.foreign = b.sameTokens(w.name, f)
	if shown := w.judges && len(w.facts) == 0 && !w.texts && !w.summed && !w.keeps; shown && f.Tokenizer != nil { // of text
		return of, nil
	}
	return of, of.foreign
}

// carries says that a model needs no parameters of its own: they are those of the policy, which stay as they are while
// its adapter learns. One that is to leave the device has its own.
func (b *blueprint) carries(w want, f *hf.Folder, of folderOf) bool {
	if b.adapter == nil || b.folder == "" || of.adapter.Saved != nil || f.Head != nil || w.spec.Resident == "phase" {
		return false
	}
	plain := func(c hf.Config) hf.Config {
		c.Dtype, c.KVDtype, c.EOS = cmp.Or(c.Dtype, hf.F32), cmp.Or(c.KVDtype, hf.F32), nil
		return c
	}
	dir, err := filepath.Abs(f.Dir)
	own, err2 := filepath.Abs(b.folder)
	return err == nil && err2 == nil && dir == own && reflect.DeepEqual(plain(of.config), plain(b.config))
}

// readFrom are the folders and files that a model is read from.
func readFrom(spec recipe.Member, f *hf.Folder) []string {
	read := []string{spec.Path}
	for _, dir := range []string{f.Dir, f.Adapter, spec.Adapter} {
		if dir != "" && !slices.Contains(read, dir) {
			read = append(read, dir)
		}
	}
	return read
}

// sameTokens refuses a model that reads ids of the policy as other tokens.
func (b *blueprint) sameTokens(name string, f *hf.Folder) error {
	advice := "only a model with the policy's tokens can score them: take one of the same family"
	if f.Tokenizer == nil {
		return fmt.Errorf("model %s has no tokenizer.json, which would say that its tokens are those of the policy", name)
	}
	if id := b.tokenizer.Unlike(f.Tokenizer); id >= 0 {
		return hint.With(fmt.Errorf("id %d is %s in model %s and %s in the policy; accepted: a model with the same tokens", id, terminal.Quote(f.Tokenizer.Token(id)), name, terminal.Quote(b.tokenizer.Token(id))), "%s", advice)
	}
	for id := f.Config.Vocab; id < b.tokenizer.Vocab(); id++ {
		if token := b.tokenizer.Token(id); token != "" {
			return hint.With(fmt.Errorf("id %d is %s in the policy, and model %s has only the ids 0 to %d; accepted: a model with the same tokens", id, terminal.Quote(token), name, f.Config.Vocab-1), "%s", advice)
		}
	}
	return nil
}
