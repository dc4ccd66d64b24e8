package run

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/resolve"
	"github.com/rlzero/rlzero/rl/store"
	"github.com/rlzero/rlzero/rl/train"
	"github.com/rlzero/rlzero/verify"
)

// modelOf is the model behind a recipe's model.path; the zero value: random weights. A run that goes on
// keeps its recipe, which cannot name another.
func modelOf(r *recipe.Recipe, resumed bool) (store.Found, error) {
	if r.Model.Path == "" {
		return store.Found{}, nil
	}
	found, err := store.FindModel(r.Model.Path, "")
	if err == nil {
		return found, nil
	}
	switch near := store.NearModel(r.Model.Path); {
	case resumed && near != "":
		err = hint.Instead(err, "a run goes on with the model that it began with; it may be %s: put it back there", near)
	case resumed:
		err = hint.With(err, "a run goes on with the model that it began with: put it back there")
	case near != "":
		err = hint.With(err, "--set model.path=%s", terminal.ShellWord(near))
	default:
		err = hint.With(err, "name the folder of your model with --set model.path=FOLDER")
	}
	return found, err
}

// Members is a recipe in which the paths of models of [models] are folders or files of models; notes
// say which model of a run is meant.
func Members(r *recipe.Recipe) (full *recipe.Recipe, notes []string, err error) {
	own := *r
	own.Models = maps.Clone(r.Models)
	faults := r.Faults()
	for _, name := range r.ModelNames() {
		m := own.Models[name]
		if m.Path == "" {
			continue
		}
		found, err := store.FindModel(m.Path, "")
		if err != nil {
			faults.Fail("models."+name+".path", "%w", err)
			continue
		}
		if found.Note != "" {
			notes = append(notes, name+" is "+found.Note)
		}
		m.Path = found.Dir
		own.Models[name] = m
	}
	return &own, notes, faults.Err()
}

// Found is [Members] of a recipe, and where its policy begins; "": random weights.
func Found(r *recipe.Recipe) (full *recipe.Recipe, policy string, err error) {
	found, err := modelOf(r, false)
	if err != nil {
		return nil, "", err
	}
	full, _, err = Members(r)
	return full, found.Dir, err
}

// Plan is the device memory that a run needs. It refuses what Train would refuse before
// it uses the device: a model without a tokenizer, prompts that are too long, problems
// that cannot be judged. A plan that does not fit comes with gpu.ErrOutOfMemory. notes are
// what a run says before its first step, and a line for each stage where
// micro_batch_tokens changes the results.
func Plan(o *resolve.Opened, caps gpu.Caps) (plan gpu.Plan, notes []string, err error) {
	found, err := modelOf(o.Recipe, false)
	if err != nil {
		return plan, nil, err
	}
	tokenizer, eos, err := cast.Tokenizer(o.Recipe, found.Dir)
	if err != nil {
		return plan, nil, err
	}
	renderer, err := prompts.NewRenderer(tokenizer, eos, resolve.Style(o.Recipe))
	if err != nil {
		return plan, nil, err
	}
	if notes, err = readable(o, renderer); err != nil {
		return plan, nil, err
	}
	full, members, err := Members(o.Recipe)
	if err != nil {
		return plan, nil, err
	}
	plan, err = cast.Plan(full, found.Dir, caps)
	return plan, slices.Concat(startOf(found), members, notes, o.Notes, train.Lagging(o.Recipe), cast.Divided(o.Recipe)), err
}

// startOf says which model of another run a run starts from.
func startOf(found store.Found) []string {
	if found.Note == "" {
		return nil
	}
	return []string{"starts from " + found.Note}
}

// readable says whether a model can read the task: its held-out problems, or all of a
// file's; and whether those of a file can be judged. notes are for people: what the chat
// template was found to do, and what is read and not learned.
func readable(o *resolve.Opened, renderer *prompts.Renderer) (notes []string, err error) {
	training, heldOut := o.Source.Rows()
	rows := slices.Concat(training, heldOut)
	if rows == nil {
		if rows, err = o.Source.HeldOut(o.Recipe.Task.EvalProblems); err != nil {
			return nil, fmt.Errorf("%w: [task] %w", lines.ErrInput, err)
		}
	} else if o.Recipe.Samples() && o.World == nil { // a world judges its episodes itself
		if err := judgeable(o); err != nil {
			return nil, err
		}
	}
	if o.Recipe.Task.Played() {
		err := renderer.Turns()
		if errors.Is(err, prompts.ErrCalls) {
			faults := o.Recipe.Faults()
			faults.Fail("task.tool", "%w", err)
			err = faults.Err()
		}
		if err != nil {
			return nil, err
		}
	}
	if err := train.Readable(o, renderer); err != nil {
		return nil, fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	notes, err = renderer.Check(o.Source.Name(), rows, limitsOf(o.Recipe))
	if o.Recipe.Model.Path != "" { // a new model has the tokens of its task alone
		notes = slices.Insert(notes, 0, renderer.Summary())
	}
	return notes, err
}

// limitsOf is what the stages of a recipe have room for.
func limitsOf(r *recipe.Recipe) (l prompts.Limits) {
	if r.Samples() {
		l.Prompt = r.Task.MaxPromptTokens
	}
	for i := range r.Stages {
		room := map[string]*int{recipe.KindSFT: &l.Lesson, recipe.KindPreference: &l.Choice}
		if st := &r.Stages[i]; room[st.Kind] != nil && !st.Skip && !st.OfRows() && r.Task.Demonstrator() == nil && (*room[st.Kind] == 0 || st.SFT.MaxTokens < *room[st.Kind]) {
			*room[st.Kind] = st.SFT.MaxTokens
		}
	}
	return l
}

// judgeable refuses a file of which most of the first rows lack what the verifier
// needs: any verifier judges an empty completion where it can judge at all.
func judgeable(o *resolve.Opened) error {
	const most = 100
	lacking, why := 0, ""
	training, heldOut := o.Source.Rows()
	rows := slices.Concat(training, heldOut)
	rows = rows[:min(len(rows), most)]
	for _, row := range rows {
		if v := o.Source.Verify(row, "", true); v.Verdict == verify.NotScored {
			lacking, why = lacking+1, v.Reason
		}
	}
	if 2*lacking <= len(rows) {
		return nil
	}
	name, _ := o.Source.Grader()
	return fmt.Errorf("%w: %d of the first %d rows of %s cannot be judged by %s: %s", lines.ErrInput, lacking, len(rows), o.Source.Name(), name, why)
}
