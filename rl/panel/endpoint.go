package panel

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/verify/judge"
)

// Server is where a model behind an address is asked.
type Server struct {
	Address string  // host:port
	Model   string  // its name there; "": there is one
	Seconds float64 // longest time of an answer
}

// Query is a question to a model behind an address.
type Query struct {
	Text        string
	MaxTokens   int
	Temperature float64
	Seed        uint64 // below 1<<31, which every server takes
}

// Ask asks a model behind an address. The error says why there is no answer; it is a [Failing] if others have none
// either, and a [Refused] if this question never has one.
type Ask func(ctx context.Context, at Server, q Query) (judge.Said, error)

// Failing is an error of a server, rather than of the question that it was asked.
type Failing struct{ Err error }

func (f Failing) Error() string { return f.Err.Error() }

// Unwrap is what went wrong.
func (f Failing) Unwrap() error { return f.Err }

// Refused is an error of a question, which a server does not take.
type Refused struct{ Err error }

func (r Refused) Error() string { return r.Err.Error() }

// Unwrap is what went wrong.
func (r Refused) Unwrap() error { return r.Err }

// Journal keeps what models behind addresses say, so that a run which is resumed or repeated asks nothing again.
// It may be called by several goroutines.
type Journal interface {
	// Said is what the model of a name is known to say to a query, or else what ask says, which is known from then
	// on: an answer, and a refusal, wherever the query is asked, and another fault where it was asked, by a completion
	// with this key. vote counts from 1. An error of ask is not kept.
	Said(model string, q Query, vote int, by random.Key, ask func() (judge.Said, error)) (judge.Said, error)
}

// Endpoint is a model behind an address. It draws answers, and nothing of it can be read. What it reads are the bytes of a text.
type Endpoint struct {
	Name    string
	Server  Server
	Ask     Ask
	Journal Journal // nil: nobody keeps what it says
}

var _ Model = (*Endpoint)(nil)

// Bounds on what is asked of a server at a time.
const (
	inFlight = 16 // answers that are waited for
	missed   = 16 // answers that are missing as the server fails, after which the others of a call are not asked for
)

// maxFault is the length of a fault, bytes.
const maxFault = 300

// Question implements [Model]: the bytes of a text.
func (e *Endpoint) Question(text string) ([]int, error) {
	ids := make([]int, len(text))
	for i := range ids {
		ids[i] = int(text[i])
	}
	return ids, nil
}

// Room implements [Model]: each judge says it of itself.
func (e *Endpoint) Room() int { return 1 << 30 }

// Version implements [Model]: as far as is known a server has the same model as long as a run goes on.
func (e *Endpoint) Version() any { return e.Server }

// Write implements [Model]. A question that has no answer has a fault in its place.
func (e *Endpoint) Write(ctx context.Context, asked []Asked) ([][]judge.Said, error) {
	out := make([][]judge.Said, len(asked))
	var all []place
	for i, a := range asked {
		out[i] = make([]judge.Said, a.Answers)
		for vote := range a.Answers {
			all = append(all, place{i, vote})
		}
	}
	var work sync.WaitGroup
	var next, faults atomic.Int64
	failed := make([]error, inFlight)
	for w := range failed {
		work.Go(func() {
			for n := next.Add(1) - 1; n < int64(len(all)) && failed[w] == nil; n = next.Add(1) - 1 {
				at := all[n]
				out[at.asked][at.vote], failed[w] = e.said(ctx, asked[at.asked], at.vote, &faults)
			}
		})
	}
	work.Wait()
	return out, errors.Join(failed...)
}

// place is an answer to be had.
type place struct{ asked, vote int }

// said is what the model says to a question, by the journal or the server.
func (e *Endpoint) said(ctx context.Context, a Asked, vote int, faults *atomic.Int64) (judge.Said, error) {
	text := make([]byte, len(a.IDs))
	for i, id := range a.IDs {
		text[i] = byte(id)
	}
	q := Query{strings.ToValidUTF8(string(text), "�"), a.MaxTokens, a.Temperature, random.At(a.Seed, random.Stream(random.Judge, 0), uint64(vote)).Uint64() >> 33}
	ask := func() (judge.Said, error) {
		if faults.Load() >= missed {
			return judge.Said{Fault: "it was not asked, as too many of its answers before were missing"}, nil
		}
		if e.Ask == nil {
			return judge.Said{}, fmt.Errorf("the judge %s is behind %s, and nobody here asks it", e.Name, e.Server.Address)
		}
		said, err := e.Ask(ctx, e.Server, q)
		if ctx.Err() != nil { // nothing came of it
			return said, ctx.Err()
		}
		if err != nil {
			if errors.As(err, &Failing{}) {
				faults.Add(1)
			}
			said = judge.Said{Fault: short(err.Error()), Refused: errors.As(err, &Refused{})}
		}
		return said, nil
	}
	if e.Journal == nil {
		return ask()
	}
	return e.Journal.Said(e.Name, q, vote+1, a.By, ask)
}

// short is a text of at most maxFault bytes.
func short(text string) string {
	text = strings.ToValidUTF8(text, "�")
	if len(text) <= maxFault {
		return text
	}
	return strings.ToValidUTF8(text[:maxFault], "") + "..."
}
