package instruct

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rlzero/rlzero/verify"
)

func init() {
	verify.Register(verify.Entry{
		Name:    "instructions",
		Summary: "the completion follows the row's list of instructions",
		Doc: `instructions: judges every instruction of a row, as listed in the public data sets of
IFEval, IF-RLVR and IFBench.

Row
instruction_id_list  names such as "keywords:existence" or "ifeval:keywords:existence"
kwargs               a list of the same number of objects; see "rlzero verifiers show NAME"
mode                 "strict" or "loose"; default: the option mode

Options
mode    "strict" (default) or "loose", for each instruction separately
score   "all" (default): right when every instruction is followed.
        "share": graded by the share of the instructions that are followed.

Numbers a reward can name: NAME.followed, NAME.instructions.

Not scored: an instruction is unknown or cannot be judged.
`,
		New: newSeveral,
	})
}

// several judges a list of instructions.
type several struct{ loose, share bool }

func newSeveral(options json.RawMessage) (verify.Verifier, error) {
	o := struct {
		Mode  string `toml:"mode"`
		Score string `toml:"score"`
	}{"strict", "all"}
	if err := verify.DecodeOptions(options, &o); err != nil {
		return nil, err
	}
	loose, err := isLoose(o.Mode)
	if err != nil {
		return nil, fmt.Errorf("option %w", err)
	}
	if o.Score != "all" && o.Score != "share" {
		return nil, fmt.Errorf(`option score is %s; accepted: "all" and "share"`, quote(o.Score))
	}
	return several{loose, o.Score == "share"}, nil
}

// maxInstructions bounds the work for one row.
const maxInstructions = 64

// single is one instruction of a list, with a row of its own.
type single struct {
	verifier
	row verify.Problem
}

// read takes a row's instructions apart: instruction_id_list, kwargs and mode.
func (s several) read(row verify.Problem) ([]single, error) {
	var names []string
	var arguments []json.RawMessage
	if _, err := row.Field("instruction_id_list", &names); err != nil {
		return nil, err
	}
	if _, err := row.Field("kwargs", &arguments); err != nil {
		return nil, err
	}
	if len(names) == 0 || len(names) > maxInstructions || len(arguments) != len(names) {
		return nil, fmt.Errorf("the row has %s and %d kwargs; accepted: 1 to %d instructions, each with its kwargs",
			count(len(names), "instruction"), len(arguments), maxInstructions)
	}
	var all []single
	for i, name := range names {
		v, ok := byName(name)
		if !ok {
			return nil, fmt.Errorf(`instruction %s is unknown; "rlzero verifiers" lists the names`, quote(name))
		}
		v.loose = s.loose
		metadata := map[string]json.RawMessage{"kwargs": arguments[i]}
		if mode, ok := row.Metadata["mode"]; ok {
			metadata["mode"] = mode
		}
		one := single{v, verify.Problem{Metadata: metadata}}
		if err := v.Check(one.row); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, one)
	}
	return all, nil
}

// Check implements [verify.Checker].
func (s several) Check(row verify.Problem) error {
	_, err := s.read(row)
	return err
}

// Verify implements [verify.Verifier].
func (s several) Verify(row verify.Problem, completion string) verify.Verdict {
	all, err := s.read(row)
	if err != nil {
		return verify.Abstain("%v", err)
	}
	rule := "all instructions"
	var missed []string
	steps := maxAllSteps
	for _, one := range all {
		if v := one.judge(one.row, completion, &steps); v.Verdict != verify.Right {
			missed = append(missed, one.name+": "+v.Reason)
		}
	}
	n := len(all)
	followed := n - len(missed)
	reason := fmt.Sprintf("%d of %s followed", followed, count(n, "instruction"))
	if len(missed) > 0 {
		reason += "; " + missed[0]
	}
	v := verify.Reject("", rule, "%s", reason)
	switch {
	case s.share:
		v = verify.Verdict{Score: float64(followed) / float64(n), Verdict: verify.Graded, Reason: reason, Rule: "share of instructions"}
	case followed == n:
		v = verify.Accept("", rule, "%s", reason)
	}
	v.Values = map[string]float64{"followed": float64(followed), "instructions": float64(n)}
	return v
}

// byName finds a kind of instruction by its name with or without its suite.
// No name is in two suites.
func byName(name string) (verifier, bool) {
	for _, s := range suites {
		bare := strings.TrimPrefix(name, s.name+":")
		for _, kinds := range s.kinds {
			for _, k := range kinds {
				if k.name == bare {
					return verifier{name: s.name + ":" + k.name, kind: k}, true
				}
			}
		}
	}
	return verifier{}, false
}
