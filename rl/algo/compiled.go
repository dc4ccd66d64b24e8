package algo

import (
	"crypto/sha256"
	"encoding/json"
	"sync"

	"github.com/rlzero/rlzero/rl/formula"
)

// compiled keeps what was compiled last. Many ask the same stage what it reads before it begins,
// and reading a method anew takes a hundred times as long as finding it.
var compiled = struct {
	sync.Mutex
	of map[[sha256.Size]byte]*Algorithm
}{of: map[[sha256.Size]byte]*Algorithm{}}

// mostCompiled is how many algorithms are kept: more than a recipe has stages.
const mostCompiled = 64

// Compile reads and checks a method over facts. The error joins all faults, each with its place.
// Equal methods over equal facts share an algorithm.
func (m Method) Compile(facts []formula.Fact) (*Algorithm, error) {
	text, err := json.Marshal(struct {
		Method     Method
		Given      map[string]bool
		Written    map[string]bool
		Conditions map[string]string
		Facts      []formula.Fact
	}{m, m.given, m.written, m.conditions, facts})
	if err != nil { // a parameter without a finite value
		return m.compile(facts)
	}
	key := sha256.Sum256(text)
	compiled.Lock()
	a := compiled.of[key]
	compiled.Unlock()
	if a != nil {
		return a, nil
	}
	// What the caller changes later is not that of the next one.
	m.Parameters, m.Formulas, m.Metrics, m.State = merged(m.Parameters, nil), merged(m.Formulas, nil), merged(m.Metrics, nil), merged(m.State, nil)
	if a, err = m.compile(facts); err != nil {
		return nil, err
	}
	compiled.Lock()
	defer compiled.Unlock()
	if len(compiled.of) >= mostCompiled {
		clear(compiled.of)
	}
	compiled.of[key] = a
	return a, nil
}
