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
		if err == nil && st.Lag == 0 && st.Replay.Store != "" && !method.Corrects() && !method.TellsReplayed() {
			notes = append(notes, fmt.Sprintf("warning: stage %s: nothing corrects the age of replayed groups, as the loss does not read old, the log-prob under the weights that drew them. Set weight = \"tis\" or ratio = \"exp(logp - old)\" in [stage.algorithm]", st.Name))
		}
		if st.Lag == 0 {
			if err == nil && st.Replay.Store == "" && !st.Reprompts() && method.WeighsLag() {
				notes = append(notes, fmt.Sprintf("stage %s: weight in [stage.algorithm] does nothing. It compares start with old: the log-probs under the present weights and under those that drew. Without lag, [stage.replay] or a hint of [stage.second_chance] the two are the same bits", st.Name))
			}
			continue
		}
		if st.Arrives() {
			notes = append(notes, fmt.Sprintf("stage %[1]s: lag = %[2]d, order = \"arrival\": step t learns from the first %[3]d groups that arrive for steps t-%[2]d to t+%[2]d, drawn up to %[4]d steps ago. It waits only for those of step t-%[2]d. %[5]s says which groups it took", st.Name, st.Lag, st.RL.PromptsPerStep, 2*st.Lag, record.ScheduleFile))
		} else {
			notes = append(notes, fmt.Sprintf("stage %s: lag = %d: step t learns from completions of the policy after step t-%d; workers draw them while the first gradient of a step is computed, so that a step takes the longer of the two times, not their sum", st.Name, st.Lag, st.Lag+1))
		}
		if err == nil && !method.Corrects() {
			notes = append(notes, fmt.Sprintf("warning: stage %s: nothing corrects the lag, as the loss does not read old, the log-prob under the weights that drew. A clipped ratio does not correct it, as ratios are taken to start. Set weight = \"tis\" in [stage.algorithm]", st.Name))
		}
	}
	return notes
}
