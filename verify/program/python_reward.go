package program

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"time"

	"github.com/rlzero/rlzero/verify"
	"github.com/rlzero/rlzero/verify/script"
)

// maxRewardText bounds a completion that a reward of the user's reads, in bytes.
const maxRewardText = 1 << 20

const rewardDoc = `
With the option reward, the completion is not a program: a Python function of your own judges it,
in the same box, and the row needs no tests.

   def reward(row, completion):
       return completion.strip() == row["answer"]

It returns True or False, a number, or None for a completion that is not to be scored. After that
it may give a text, the reason, and a dict of numbers, which a reward can name:
return 0.5, "one of two", {"blocks": 2}. row is a dict with answer, question, id and all other
columns.

  reward      the file with the function
  source      its text, in place of a file; the recipe of a run has it
  range       smallest and largest number that it returns. Default [0, 1].

Not scored: a completion on which the function fails or meets a limit.
`

// judging says whether a function of the user's judges completions.
func (v python) judging() bool { return v.Source != "" }

// Metered implements [verify.Metered]: what a function of the user's takes.
func (v python) Metered(row verify.Problem, completion string) (verify.Verdict, verify.Cost) {
	if !v.judging() {
		return v.Verify(row, completion), verify.Cost{}
	}
	if len(completion) > maxRewardText {
		verdict := verify.Reject("", v.file(), "the completion has %d bytes: at most %d are read", len(completion), maxRewardText)
		verdict.Score = v.Range[0]
		return verdict, verify.Cost{}
	}
	columns := map[string]any{}
	for key, raw := range row.Metadata {
		columns[key] = raw
	}
	columns["id"], columns["question"], columns["answer"] = row.ID, row.Question, row.Answer
	args, err := json.Marshal([]any{columns, completion})
	if err != nil {
		return verify.Abstain("the row: %v", err), verify.Cost{}
	}
	j := v.job("call", "", v.Source)
	j.Call, j.Args, j.File = "reward", string(args), max(j.File, resultFile)
	e, err := v.run(j)
	cost := verify.Cost{Time: time.Duration(e.Seconds * float64(time.Second))}
	if out, done := v.settled(e, err); done {
		if out.limited {
			cost.Time = max(cost.Time, v.processorTime())
		}
		return verify.Abstain("%s: %s", v.file(), out.reason), cost
	}
	if e.Result == "" {
		return verify.Abstain("%s: it ends before reward() returns", v.file()), cost
	}
	returned, _, err := fromPython(e.Result)
	if err != nil {
		return verify.Abstain("%s: reward() returned %v", v.file(), err), cost
	}
	return script.Verdict(v.file(), "python", plain(returned, true), v.Range[0], v.Range[1]), cost
}

// file is the name of the user's file in messages.
func (v python) file() string {
	if v.Reward == "" {
		return "reward.py"
	}
	return filepath.Base(v.Reward)
}

// plain is a value of Python as [script.Verdict] reads it.
func plain(v value, outer bool) any {
	switch v := v.(type) {
	case nil, bool, string:
		return v
	case number:
		if v.rat == nil {
			return v.float
		}
		x, _ := v.rat.Float64()
		return x
	case []value:
		if !outer || len(v) > 4 {
			return script.Kind("list")
		}
		all := make([]any, len(v))
		for i := range v {
			all[i] = plain(v[i], false)
		}
		return all
	case map[string]value:
		named := map[string]any{}
		for key, member := range v {
			named[key] = plain(member, false)
		}
		return named
	}
	return script.Kind(fmt.Sprintf("a value such as %s", showValue(v)))
}

// checkReward reads the user's file where its text is not there yet.
func (v *python) checkReward() error {
	if v.Reward == "" && v.Source == "" {
		return nil
	}
	if v.Source == "" {
		var err error
		if v.Source, err = verify.ReadScript(v.Reward); err != nil {
			return err
		}
	}
	if !(v.Range[0] < v.Range[1]) || math.IsInf(v.Range[1]-v.Range[0], 0) {
		return fmt.Errorf("range = [%v, %v]; accepted: two finite numbers, the first below the second", v.Range[0], v.Range[1])
	}
	return nil
}
