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
	var rows []verify.Problem
	var texts []string
	for _, a := range i.Asked {
		var row verify.Problem
		if err := json.Unmarshal(a.Row, &row); err != nil { // of no trainer
			return out
		}
		for _, c := range a.Completions {
			rows, texts = append(rows, row), append(texts, c)
		}
	}
	SideBySide(ctx, len(texts), func(k int) {
		settled := false
		found := verify.Guard(func() (w verify.Verdict) {
			w, settled = v.Judge(rows[k], texts[k])
			return w
		})
		if settled {
			out[k] = &found
		}
	})
	return out
}

// SideBySide calls do for 0 to n-1, as many at once as there are processors, until the
// context ends.
func SideBySide(ctx context.Context, n int, do func(k int)) {
	next := make(chan int)
	var work sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		work.Go(func() {
			for k := range next {
				do(k)
			}
		})
	}
	for k := 0; k < n && ctx.Err() == nil; k++ {
		next <- k
	}
	close(next)
	work.Wait()
}

// verifier is the one that the item asks; nil: this machine has none whose verdicts are
// the same.
func (i Item) verifier() verify.Portable {
	releases, _ := Engines()
	if releases[i.Engine.Verifier] != i.Engine.Release { // before any code reads options that came over the net
		return nil
	}
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
