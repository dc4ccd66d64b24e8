package program

import (
	"encoding/json"
	"errors"
	"runtime"
	"slices"
	"time"

	"github.com/rlzero/rlzero/internal/worker"
)

// patience is by how much the limit of a test by the clock exceeds five times its limit on
// processor time. The tests of this package have more of it: programs that a busy machine
// gives no processor are not what they are about.
var patience = 5 * time.Second

// processorTime is the limit of a test.
func (o options) processorTime() time.Duration {
	return time.Duration(o.Timeout * float64(time.Second))
}

// clock is its limit by the clock.
func (o options) clock() time.Duration { return 5*o.processorTime() + patience }

// engine runs a test as a task of an engine in a child, which may need more time by
// the clock to make itself ready, and compares what comes of it.
func (o options) engine(pool *worker.Pool, t test, task any, ready time.Duration) outcome {
	report, err := pool.Do(task, ready+o.clock())
	switch {
	case errors.Is(err, worker.ErrTime):
		return outcome{reason: "out of time", limited: true}
	case errors.Is(err, worker.ErrDied): // twice
		return outcome{reason: "it breaks the engine that runs it: " + err.Error(), limited: true}
	case err != nil:
		return outcome{unscored: true, reason: err.Error()}
	case report.Broke != "":
		return outcome{unscored: true, reason: report.Broke}
	case report.Failed != "":
		return outcome{reason: report.Failed}
	case t.assert != "":
		return outcome{passed: true}
	case t.call != "":
		return o.returned(report.Result, t)
	case o.samePrinted(report.Stdout, t.stdout):
		return outcome{passed: true}
	}
	return outcome{reason: "it prints " + brief(report.Stdout) + ", not " + brief(t.stdout)}
}

// returned compares a result, as JSON, with what is expected. A result that cannot
// be read is the program's fault, an expected value that cannot is the row's.
func (o options) returned(got string, t test) outcome {
	want, err := t.values()
	if err != nil {
		return outcome{unscored: true, reason: err.Error()}
	}
	result, err := fromJSON(json.RawMessage(got))
	if err != nil {
		return outcome{reason: "its result: " + err.Error()}
	}
	return o.oneOf(result, want, got, t)
}

// oneOf compares a result with the values that are right. shown is it for the reason.
func (o options) oneOf(result value, want []value, shown string, t test) outcome {
	if slices.ContainsFunc(want, func(w value) bool { return o.sameValue(result, w) }) {
		return outcome{passed: true}
	}
	return outcome{reason: "it returns " + brief(shown) + ", not " + brief(string(t.expected[0]))}
}

// ownRelease names an engine that this binary has. Floating-point arithmetic of Go may
// differ between processors: https://go.dev/ref/spec#Floating_point_operators.
func ownRelease(verifier string) string {
	return verifier + ", " + runtime.GOOS + "/" + runtime.GOARCH
}

// brief is a text in quotation marks, cut to what fits a reason.
func brief(text string) string {
	const most = 60 // bytes
	if len(text) > most {
		text = text[:most] + "…"
	}
	quoted, _ := json.Marshal(text) // of a string: it cannot fail
	return string(quoted)
}
