package verify

import (
	"encoding/json"
	"maps"
	"math"
)

// Engine is all that the verdicts of a [Portable] verifier depend on, besides the row and
// the completion.
type Engine struct {
	Verifier string          // name in the registry
	Options  json.RawMessage // of the verifier
	Release  string          // what judges, such as the interpreter and its release: equal texts come to equal verdicts
}

// Portable is a Verifier in whose place another machine can judge.
type Portable interface {
	Verifier
	// Engine is what judges. The error says why this machine, or any other, cannot judge
	// by the verifier with its options.
	Engine() (Engine, error)
	// Judge is Verify. settled says that neither a limit nor the speed of this machine had
	// a part in the verdict, so that one that is ten times as slow comes to the same.
	Judge(row Problem, completion string) (v Verdict, settled bool)
}

// Renewable is a Portable that runs programs in something that it starts once for many of
// them, and that therefore has one layout of addresses for all.
type Renewable interface {
	// Renew starts it anew for the programs that follow.
	Renew()
}

// Question asks a verifier about a completion.
type Question struct {
	Verifier   Portable
	Row        Problem
	Completion string
}

// Agrees says whether two verdicts about a completion are the same but for the words of
// their reasons: what a program says when it fails may have addresses of its process.
func (v Verdict) Agrees(w Verdict) bool {
	same := func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) }
	return v.Verdict == w.Verdict && same(v.Score, w.Score) && v.Extracted == w.Extracted && v.Rule == w.Rule && maps.EqualFunc(v.Values, w.Values, same)
}
