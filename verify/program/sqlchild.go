package program

import (
	"encoding/json"
	"errors"
	"math"
	"time"

	"github.com/rlzero/rlzero/internal/worker"
	"github.com/rlzero/rlzero/verify"
)

// The verifier "sql" judges in a child of this binary: SQLite looks at its limits
// where its machine loops, and one instruction of it can take minutes, which only the
// end of the process stops.

const sqlEngine = "sql"

var sqlPool = worker.NewPool(sqlEngine)

func init() { worker.Register(sqlEngine, judgeSQL) }

// sqlTask is a completion to be judged, as a child is told.
type sqlTask struct {
	Options              json.RawMessage
	ID, Question, Answer string
	Metadata             map[string]json.RawMessage
	Completion           string
}

// sqlVerifiers are the child's, by their options: they keep what references gave.
var sqlVerifiers = map[string]sql{}

// judgeSQL is the child's side. The verdict is the report's result.
func judgeSQL(t sqlTask) worker.Report {
	v, known := sqlVerifiers[string(t.Options)]
	if !known {
		var err error
		if v, err = newSQL(t.Options); err != nil {
			return worker.Report{Broke: err.Error()}
		}
		sqlVerifiers[string(t.Options)] = v
	}
	verdict := v.Verify(verify.Problem{ID: t.ID, Question: t.Question, Answer: t.Answer, Metadata: t.Metadata}, t.Completion)
	if math.IsNaN(verdict.Score) { // JSON has no word for it
		verdict.Score = 0
	}
	type plain verify.Verdict // with no marshaller of its own
	result, err := json.Marshal(plain(verdict))
	if err != nil {
		return worker.Report{Broke: err.Error()}
	}
	return worker.Report{Result: string(result)}
}

// sqlInChild is the parent's side.
type sqlInChild struct {
	sql
	options json.RawMessage
}

// Check implements [verify.Checker]: the child opens the row's databases and runs the
// reference.
func (v sqlInChild) Check(row verify.Problem) error {
	if verdict := v.Verify(row, ""); verdict.Verdict == verify.NotScored {
		return errors.New(verdict.Reason)
	}
	return nil
}

// Verify implements [verify.Verifier]. Where a child has to be ended, a second one says
// whether the row is to blame: it gets the row with a completion that has no query.
func (v sqlInChild) Verify(row verify.Problem, completion string) verify.Verdict {
	verdict, err := v.ask(row, completion)
	if err == nil {
		return verdict
	}
	if errors.Is(err, worker.ErrTime) || errors.Is(err, worker.ErrDied) {
		alone, failed := v.ask(row, "")
		if failed == nil && alone.Verdict == verify.NotScored {
			return alone
		}
		if failed == nil {
			query, rule, _ := v.query(completion)
			return verify.Reject(query, rule, "the query: %v", err)
		}
	}
	return verify.Abstain("the database or the reference: %v", err)
}

// limit is the processor time of a query.
func (v sql) limit() time.Duration { return time.Duration(v.Timeout * float64(time.Second)) }

// ask has a child judge. The limit by the clock is for one that waits, for a disk say:
// five times what the processor has for its queries, which are the completion's and, at
// first, three of the reference.
func (v sqlInChild) ask(row verify.Problem, completion string) (verify.Verdict, error) {
	const queries = 4
	task := sqlTask{Options: v.options, ID: row.ID, Question: row.Question, Answer: row.Answer, Metadata: row.Metadata, Completion: completion}
	report, err := sqlPool.Do(task, patience+5*queries*v.limit())
	if err == nil && report.Broke != "" {
		err = errors.New(report.Broke)
	}
	var verdict verify.Verdict
	if err == nil {
		err = json.Unmarshal([]byte(report.Result), &verdict)
	}
	if verdict.Verdict == verify.NotScored {
		verdict.Score = math.NaN()
	}
	return verdict, err
}
