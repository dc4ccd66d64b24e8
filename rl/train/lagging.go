package train

import (
	"fmt"

	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/record"
)

// Lagging explains the lag of each stage that has one. It warns if nothing corrects the lag or the
// age of replayed groups, and if a correction has nothing to correct.
func Lagging(r *recipe.Recipe) []string {
	var notes []string
	for i := range r.Stages {
		st := &r.Stages[i]
		if st.Kind != recipe.KindRL || st.Skip {
			continue
		}
		method, err := st.Compiled() // an error is told when the stage begins
		if err == nil && st.Lag == 0 && st.Replay.Store != "" && !method.Corrects() {
			notes = append(notes, fmt.Sprintf("warning: stage %s: the loss does not read old, the log-prob by the weights that drew: nothing corrects the age of replayed groups. weight = \"tis\" or ratio = \"exp(logp - old)\" in [stage.algorithm] does", st.Name))
		}
		if st.Lag == 0 {
			if err == nil && st.Replay.Store == "" && !st.Reprompts() && method.WeighsLag() {
				notes = append(notes, fmt.Sprintf("stage %s: weight in [stage.algorithm] does nothing: it compares start with old, the log-probs by the weights of now with those by the weights that drew, and without lag, [stage.replay] or a hint of [stage.second_chance] the two are the same bits", st.Name))
			}
			continue
		}
		if st.Arrives() {
			notes = append(notes, fmt.Sprintf("stage %[1]s: lag = %[2]d, order = \"arrival\": step t learns from the first %[3]d groups that are there of those of steps t-%[2]d to t+%[2]d, drawn up to %[4]d steps ago; it waits for those of step t-%[2]d alone. %[5]s says which it took", st.Name, st.Lag, st.RL.PromptsPerStep, 2*st.Lag, record.ScheduleFile))
		} else {
			notes = append(notes, fmt.Sprintf("stage %s: lag = %d: step t learns from completions of the policy after step t-%d; workers draw them while the first gradient of a step is computed, so the longer of the two counts and not their sum", st.Name, st.Lag, st.Lag+1))
		}
		if err == nil && !method.Corrects() {
			notes = append(notes, fmt.Sprintf("warning: stage %s: the loss does not read old, the log-prob by the weights that drew: nothing corrects the lag. A clipped ratio does not, as ratios are to start; weight = \"tis\" in [stage.algorithm] does", st.Name))
		}
	}
	return notes
}
