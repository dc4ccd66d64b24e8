package verdict

import (
	"bytes"
	"context"
	"encoding/json"
	"runtime"
	"sync"

	"github.com/rlzero/rlzero/verify"
)

// Item asks a verifier about completions.
type Item struct {
	Engine verify.Engine
	Asked  []Asked
}

// Asked are completions of one row.
type Asked struct {
	Row         json.RawMessage // a verify.Problem
	Completions []string        // any bytes
}

// Len is the number of completions.
func (i Item) Len() int {
	n := 0
	for _, a := range i.Asked {
		n += len(a.Completions)
	}
	return n
}

// Judge finds the verdicts of an item here, side by side, in the order of its completions.
// nil: not settled, or this machine has not the engine.
func (i Item) Judge(ctx context.Context) []*verify.Verdict {
	out := make([]*verify.Verdict, i.Len())
	v := i.verifier()
	if v == nil {
		return out
	}
	type place struct {
		row        verify.Problem
		completion string
		at         int
	}
	next := make(chan place)
	var work sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		work.Go(func() {
			for p := range next {
				settled := false
				found := verify.Guard(func() (w verify.Verdict) {
					w, settled = v.Judge(p.row, p.completion)
					return w
				})
				if settled {
					out[p.at] = &found
				}
			}
		})
	}
	at := 0
	for _, a := range i.Asked {
		var row verify.Problem
		readable := json.Unmarshal(a.Row, &row) == nil
		for _, c := range a.Completions {
			if readable && ctx.Err() == nil {
				next <- place{row, c, at}
			}
			at++
		}
	}
	close(next)
	work.Wait()
	return out
}

// verifier is the one that the item asks; nil: this machine has none whose verdicts are
// the same.
func (i Item) verifier() verify.Portable {
	e, err := verify.Lookup(i.Engine.Verifier)
	if err != nil {
		return nil
	}
	v, err := e.New(i.Engine.Options)
	if err != nil {
		return nil
	}
	p, ok := v.(verify.Portable)
	if !ok {
		return nil
	}
	own, err := p.Engine()
	if err != nil || own.Release != i.Engine.Release || !bytes.Equal(own.Options, i.Engine.Options) {
		return nil
	}
	return p
}

// Engines are what this machine can judge by: the release of each verifier, and why it
// cannot by the others.
func Engines() (releases, lacks map[string]string) {
	releases, lacks = map[string]string{}, map[string]string{}
	for _, e := range verify.Entries() {
		v, err := e.New(json.RawMessage("{}"))
		if err != nil {
			continue
		}
		p, ok := v.(verify.Portable)
		if !ok {
			continue
		}
		own, err := p.Engine()
		if err != nil {
			lacks[e.Name] = err.Error()
			continue
		}
		releases[e.Name] = own.Release
	}
	return releases, lacks
}
