package doctor

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/rlzero/rlzero/internal/files"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/record"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/rl/run"
	"github.com/rlzero/rlzero/rl/train"
)

// logged is a completion of completions.jsonl or of evaluations.jsonl.
type logged struct {
	record.Completion
	line  int  // of the file
	ended bool // the log has its tokens and its end, as that of the steps does
}

// stepOf are the completions of a step, which may be none.
func stepOf(log *record.Log, step int) (out []logged, err error) {
	err = record.Lines(log, step, record.AllGroups, func(n int, l record.Completion) error {
		out = append(out, logged{l, n, true})
		return nil
	})
	return out, err
}

// evaluationsOf are the completions of the evaluations after a step, which may be none.
func evaluationsOf(file string, step int) (out []logged, err error) {
	log, err := record.Open(file)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	err = record.Lines(log, step, record.AllGroups, func(n int, l record.Evaluation) error {
		c := record.Completion{Step: l.Step, Stage: l.Stage, Prompt: l.Prompt, Text: l.Text, Context: l.Context, Turns: l.Turns}
		out = append(out, logged{c, n, false})
		return nil
	})
	return out, err
}

// sitting is the completions of a step, or of an evaluation, that are in the logs: they
// were drawn with the same weights.
type sitting struct {
	name    string // for people
	log     string // file
	params  rollout.Params
	key     random.Key
	each    int            // streams of a problem, of those that begin with it
	episode recipe.Episode // how long one may be; the zero value: the task is not played in turns
	lines   []logged
}

// drawer is the model of the run that drew a sitting, of those that a checkpoint has: the one that the
// stage trains, or the policy, of which that is made when the first stage begins that uses it.
func (s *sitting) drawer(r *recipe.Recipe, at run.State) string {
	stage := s.key.Stage
	name := r.Stages[stage].Learner()
	if r.Models[name].Fresh() { // it learns in its own place
		return recipe.PolicyModel
	}
	after := s.key.Purpose == random.HeldOut && s.key.Step == train.AfterStage
	if name != recipe.PolicyModel && !after && !(at.Began && at.At.Stage == stage) && r.FirstUse(name) >= stage {
		return recipe.PolicyModel
	}
	return name
}

// sittingsOf are those that were drawn with weights of a checkpoint.
func sittingsOf(dir, checkpoint string, r *recipe.Recipe, s run.State) ([]sitting, error) {
	out, err := steps(dir, checkpoint, r, s)
	if err != nil {
		return nil, err
	}
	measured, err := evaluationsOf(filepath.Join(dir, record.EvaluationsFile), s.At.Total)
	if err != nil {
		return nil, err
	}
	for len(measured) > 0 {
		n := slices.IndexFunc(measured, func(l logged) bool { return l.Stage != measured[0].Stage })
		if n < 0 {
			n = len(measured)
		}
		e, err := evaluation(r, measured[:n])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", record.EvaluationsFile, err)
		}
		out, measured = append(out, e), measured[n:]
	}
	return out, nil
}

// steps are the steps of training that were drawn with the weights of a checkpoint: the next
// one, or the one that a lag puts in its place. The first weights of a stage draw those before
// that too.
func steps(dir, checkpoint string, r *recipe.Recipe, s run.State) ([]sitting, error) {
	log, err := record.Open(filepath.Join(dir, record.CompletionsFile))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	drawn, err := stepOf(log, s.At.Total+1)
	if err != nil || len(drawn) == 0 {
		return nil, err
	}
	index, st, err := stageOf(r, drawn[0])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", record.CompletionsFile, err)
	}
	step, first := s.At.Step, st.Lag
	if index != s.At.Stage { // the stages between them are skipped
		step = 0
	}
	if st.Arrives() {
		return arrived(dir, checkpoint, log, index, st, s.At.Total, step)
	}
	if step == 0 {
		first = 0
	}
	var out []sitting
	for ahead := first; ahead <= st.Lag; ahead++ {
		if ahead > 0 {
			if drawn, err = stepOf(log, s.At.Total+1+ahead); err != nil {
				return nil, err
			}
		}
		if len(drawn) == 0 || drawn[0].Stage != st.Name { // the stage has ended
			break
		}
		if st.Sits() {
			drawn = inStreams(r.Task.Seats(), st.GroupSize, drawn)
		}
		if st.Proposes() {
			var proposals sitting
			if proposals, drawn = proposed(st, drawn); len(proposals.lines) > 0 {
				proposals.name, proposals.episode = fmt.Sprintf("problems written in step %d", s.At.Total+1+ahead), r.Task.Episode
				proposals.key = train.ProposalKey(index, step+ahead)
				out = append(out, proposals)
			}
			if len(drawn) == 0 { // the task accepts none
				continue
			}
		}
		out = append(out, sitting{
			name: fmt.Sprintf("step %d", s.At.Total+1+ahead), log: record.CompletionsFile, lines: drawn, each: st.FirstDraw(), episode: r.Task.Episode,
			params: train.StepParams(st), key: random.Key{Purpose: random.Sample, Stage: index, Step: step + ahead},
		})
	}
	return out, nil
}

// proposed are the problems that a step wrote, which come last, and the completions that solve them.
func proposed(st *recipe.Stage, drawn []logged) (sitting, []logged) {
	first := slices.IndexFunc(drawn, func(l logged) bool { return l.Seat == recipe.ProposerSeat })
	if first < 0 { // a step that could not be scored
		return sitting{}, drawn
	}
	out := sitting{log: record.CompletionsFile, params: train.StepParams(st), each: st.Propose.Count, lines: drawn[first:]}
	for i, before := 0, drawn[first].Group; i < len(out.lines); i++ {
		out.lines[i].Group -= before
	}
	return out, drawn[:first]
}

// inStreams are completions of games of seats with the numbers of groups and samples that their streams have, see
// [rollout.Collector]: a seat is a group, whether it had a turn or not, and whoever played it.
func inStreams(seats []string, each int, drawn []logged) []logged {
	for i := range drawn {
		l := &drawn[i]
		l.Group, l.Sample = (l.Game-1)/each*len(seats)+slices.Index(seats, l.Seat), (l.Game-1)%each
	}
	return drawn
}

// arrived are the groups that the weights of a checkpoint drew for a stage with order = "arrival",
// by the step whose prompts they have. After total steps, done of them of the stage, they are
// learned from in the next 2 lag + 1.
func arrived(dir, checkpoint string, log *record.Log, index int, st *recipe.Stage, total, done int) ([]sitting, error) {
	version, err := cast.SavedVersion(checkpoint)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	file := filepath.Join(dir, record.ScheduleFile)
	f, err := files.Open(file)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	defer f.Close()
	schedule, err := train.ReadSchedule(file, f)
	if err != nil {
		return nil, err
	}
	by := map[int][]logged{} // step whose prompts they have
	for step := total + 1; step <= total+1+2*st.Lag; step++ {
		drawn, err := stepOf(log, step)
		if err != nil {
			return nil, err
		}
		groups := schedule.Groups(step)
		if step > schedule.Last() { // a run that stopped here has what was not scored
			break
		}
		for _, l := range drawn {
			if l.Group < 0 || l.Group >= len(groups) {
				return nil, fmt.Errorf("%w: %s: line %d: %s has no group %d of step %d", lines.ErrInput, record.CompletionsFile, l.line, record.ScheduleFile, l.Group, step)
			}
			if g := groups[l.Group]; g.Version == version {
				l.Group = g.Prompt
				by[g.Step] = append(by[g.Step], l)
			}
		}
	}
	var out []sitting
	for _, step := range slices.Sorted(maps.Keys(by)) {
		out = append(out, sitting{
			name: fmt.Sprintf("prompts of step %d", step), log: record.CompletionsFile, lines: by[step], each: st.LargestGroup(),
			params: train.StepParams(st), key: random.Key{Purpose: random.Sample, Stage: index, Step: step - 1 - total + done},
		})
	}
	return out, nil
}

// evaluation is that of all held-out problems before or after a stage, of which the log
// has the first sample of each of the first problems.
func evaluation(r *recipe.Recipe, of []logged) (sitting, error) {
	index, st, err := stageOf(r, of[0])
	if err != nil {
		return sitting{}, err
	}
	for i := range of {
		of[i].Group = i
	}
	key := random.Key{Purpose: random.HeldOut, Stage: index, Step: train.AfterStage}
	when := "after"
	if of[0].Step == 0 && st.Kind != recipe.KindEval { // nothing had been learnt
		key.Step, when = 0, "before"
	}
	return sitting{
		name: fmt.Sprintf("evaluation %s %s", when, st.Name), log: record.EvaluationsFile, lines: of, each: r.Task.EvalSamples, episode: r.Task.Episode,
		params: train.EvalParams(r, st), key: key,
	}, nil
}

func stageOf(r *recipe.Recipe, l logged) (int, *recipe.Stage, error) {
	i := slices.IndexFunc(r.Stages, func(st recipe.Stage) bool { return st.Name == l.Stage })
	if i < 0 {
		return 0, nil, fmt.Errorf("%w: line %d: the recipe of the run has no stage %q", lines.ErrInput, l.line, l.Stage)
	}
	return i, &r.Stages[i], nil
}
