package run

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/eval"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify"
)

// aloud observes a run and reads the evaluation before an rl stage to people: whether the model
// gives answers that rewards can strengthen, and what to do where it gives none.
type aloud struct {
	recipe  *recipe.Recipe
	display *display
	newest  *eval.Result // of all held-out problems; nil: this process has made none
}

// on implements observer.
func (a *aloud) on(e event) error {
	switch {
	case e.Kind == measured:
		a.newest = e.Result
	case e.Kind == began && e.At.Step == 0 && a.newest != nil && a.recipe.Stages[e.At.Stage].Kind == recipe.KindRL:
		for _, line := range reading(a.newest, a.recipe, &a.recipe.Stages[e.At.Stage]) {
			a.display.show.Line("%s", line)
		}
	}
	return nil
}

// shown is what an evaluation shows of the answers.
type shown struct {
	answers, judged, partial int    // all; those with a score; those with a part of the full one
	cut, unread              int    // those that the length limit ended; others in which the verifier found nothing to judge
	always, sometimes, never int    // problems: all judged answers earn the full score; some earn something; none does
	reason                   string // an example of the commonest kind of verdict that is not right
	times                    int    // it was given
}

// shownBy counts.
func shownBy(r *eval.Result) (s shown) {
	reasons, examples := map[string]int{}, map[string]string{} // by what a reason says beside its quotations
	for i := range r.Groups {
		g := &r.Groups[i]
		for _, p := range g.Paths {
			v := p.Verdict()
			s.answers++
			switch {
			case g.Segments[p.Leaf].Stop == rollout.Length:
				s.cut++
			case v.Verdict == verify.Wrong && v.Extracted == "":
				s.unread++
			}
			if v.Verdict != verify.Right {
				kind := quotation.ReplaceAllLiteralString(v.Reason, `""`)
				reasons[kind]++
				if examples[kind] == "" {
					examples[kind] = v.Reason
				}
			}
			if v.Verdict == verify.Graded && v.Score > 0 {
				s.partial++
			}
		}
	}
	for _, o := range r.Outcomes() {
		s.judged += o.Scored
		switch {
		case o.Scored == 0:
		case o.Score == 0:
			s.never++
		case o.Score == float64(o.Scored):
			s.always++
		default:
			s.sometimes++
		}
	}
	most := ""
	for kind, n := range reasons {
		if c := cmp.Or(cmp.Compare(n, s.times), strings.Compare(most, kind)); c > 0 {
			most, s.reason, s.times = kind, examples[kind], n
		}
	}
	return s
}

// quotation is what a reason quotes of an answer.
var quotation = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// reading is what an evaluation says to those who are about to begin an rl stage.
func reading(r *eval.Result, full *recipe.Recipe, st *recipe.Stage) []string {
	s := shownBy(r)
	all := terminal.Count(len(r.Groups), "problem", "")
	switch {
	case s.judged == 0:
		return []string{fmt.Sprintf("! none of the %d answers could be judged (%s): without verdicts rewards teach nothing. Correct the verifier or the rows", s.answers, reasonOf(s.reason))}
	case s.always+s.sometimes == 0:
		out := []string{fmt.Sprintf("! none of the %d answers to %s is right. Rewards can only strengthen right answers that the model already gives sometimes, and here it gives none", s.judged, all),
			"  what to do, the most likely remedy first:"}
		for i, text := range remedies(s, full, st) {
			out = append(out, fmt.Sprintf("  %d. %s", i+1, text))
		}
		return out
	case s.never+s.sometimes == 0:
		return []string{fmt.Sprintf("! all %d answers to %s are right. Nothing is left for rewards to teach: take harder problems", s.judged, all)}
	case r.Samples == 1:
		return nil // one answer of each problem does not show which are right sometimes
	}
	words := "answers %s right sometimes, %d always, %d never: RL learns from the problems whose answers differ"
	if s.partial > 0 {
		words = "sometimes earns something for %s, always the full score for %d, nothing for %d: RL learns from the problems whose answers differ"
	}
	return []string{"  the model " + fmt.Sprintf(words, terminal.Count(s.sometimes, "problem", ""), s.always, s.never)}
}

// remedies are what can be done where no answer is right, the likeliest first by what the
// evaluation shows.
func remedies(s shown, full *recipe.Recipe, st *recipe.Stage) []string {
	longest, half := full.MaxCompletion(st), s.answers/2
	longer := fmt.Sprintf("longer answers: %d of %d are cut off at %s; --set stage.%s.sampling.max_completion_tokens=%d allows more",
		s.cut, s.answers, terminal.Count(longest, "token", ""), st.Name, 4*longest)
	const prompt = "a prompt that says how to answer (--set task.system=TEXT)"
	verifier := "another verifier (rlzero verifiers lists them), or " + prompt
	switch {
	case full.Model.Path == "": // which reads no messages, of a task that judges by itself
		verifier = "what the model gets wrong"
	case full.Task.World.Given() || full.Task.Name != "":
		verifier = prompt
	}
	verifier += fmt.Sprintf(": the most common verdict (%d of %d) is like this one: %s", s.times, s.answers, reasonOf(s.reason))
	out := []string{imitateFirst(full), easier(full), verifier}
	switch {
	case full.Task.Demonstrator() != nil: // its answers fit
	case s.cut > half:
		return append([]string{longer}, out...)
	default:
		out = append(out, longer)
	}
	if s.unread > half {
		out = append([]string{verifier}, slices.DeleteFunc(out, func(text string) bool { return text == verifier })...)
	}
	return out
}

// imitateFirst says how the model can learn right answers before rewards strengthen them.
func imitateFirst(full *recipe.Recipe) string {
	for i := range full.Stages {
		st := &full.Stages[i]
		switch {
		case st.Kind != recipe.KindSFT || full.Task.Demonstrator() == nil && st.Skip:
		case st.Skip:
			return fmt.Sprintf("imitate before rewards: --set stage.%s.skip=false", st.Name)
		default:
			return fmt.Sprintf("imitate longer before rewards: --set stage.%s.hold_steps=%d", st.Name, 2*st.SFT.HoldSteps)
		}
	}
	if full.Model.Path == "" {
		return "imitate right answers first: a stage with kind = \"sft\" before this one"
	}
	set := cast.ModelOf(full)
	if full.Model.LoRA.Rank > 0 {
		set = append(set, "stage.sft.optimizer.lr=1e-4") // ten times that of the recipe, which is for a whole model (https://thinkingmachines.ai/blog/lora/)
	}
	return fmt.Sprintf("imitate right answers first, then train on from that run (--set model.path=RUN): rlzero train sft-chat %s", append(set, "task.data=FILE"))
}

// easier says how to come to easier problems.
func easier(full *recipe.Recipe) string {
	if full.Task.FromData() {
		return "easier rows, some of which the model already answers right: rlzero eval " + terminal.ShellWord(cmp.Or(full.Model.Path, "MODEL")) + " --data FILE measures that"
	}
	if full.Task.World.Given() {
		return "easier problems, or replies that help more: those of " + full.Task.World.Label()
	}
	return fmt.Sprintf("easier problems: rlzero tasks show %s lists the settings", full.Task.Name)
}

// reasonOf is a verdict's reason in a line.
func reasonOf(reason string) string { return terminal.Line(cmp.Or(reason, "no reason given"), 80) }
