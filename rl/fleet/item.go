package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/rollout"
)

// Digest is a SHA-256.
type Digest [sha256.Size]byte

func digestOf(data []byte) Digest { return sha256.Sum256(data) }

// String is the beginning of a digest, for people.
func (d Digest) String() string { return hex.EncodeToString(d[:8]) }

// Item is work: completions of some prompts by one policy.
type Item struct {
	Weights Digest // of the policy, as [Trainer.Weights] returns them
	Seed    uint64 // of the generator
	Params  rollout.Params
	Prompts []Prompt
}

// Prompt asks for completions of one prompt. Completion i draws from stream Stream+i.
type Prompt struct {
	IDs    []int
	Stream uint32
	N      int
}

// ID names an item by its content.
func (i Item) ID() Digest { return digestOf(i.Encode()) }

// Requests are the item's as a sampler takes them. Of their keys the streams alone are set.
func (i Item) Requests() []rollout.Request {
	out := make([]rollout.Request, len(i.Prompts))
	for k, p := range i.Prompts {
		out[k] = rollout.Request{Prompt: p.IDs, N: p.N, Params: i.Params, Key: random.Key{Stream: p.Stream}}
	}
	return out
}

// Result is a worker's answer to an item: for each prompt its completions. Of a segment,
// IDs, Logprob, Entropy and Stop are sent.
type Result struct {
	Item        Digest
	Completions [][]rollout.Segment // [prompt][completion]
}

// plausible says whether the completions of a result could be those of an item, for a
// vocabulary of so many ids: whatever passes can be trained on, right or wrong.
func (r Result) plausible(i Item, vocab int) bool {
	for _, group := range r.Completions {
		for _, s := range group {
			if !plausible(s, i.Params.MaxTokens, vocab) {
				return false
			}
		}
	}
	return true
}

// plausible says whether a completion could be one.
func plausible(s rollout.Segment, maxTokens, vocab int) bool {
	n := len(s.IDs)
	if n < 1 || n > maxTokens || s.Stop == rollout.Length && n != maxTokens {
		return false
	}
	for t, id := range s.IDs {
		if id < 0 || id >= vocab || !finite(s.Logprob[t]) || !finite(s.Entropy[t]) {
			return false
		}
	}
	return true
}

func finite(x float32) bool { return !math.IsNaN(float64(x)) && !math.IsInf(float64(x), 0) }

// same says whether two completions are equal to the bit.
func same(a, b rollout.Segment) bool {
	if len(a.IDs) != len(b.IDs) || a.Stop != b.Stop {
		return false
	}
	for t := range a.IDs {
		if a.IDs[t] != b.IDs[t] || math.Float32bits(a.Logprob[t]) != math.Float32bits(b.Logprob[t]) || math.Float32bits(a.Entropy[t]) != math.Float32bits(b.Entropy[t]) {
			return false
		}
	}
	return true
}

// Differs tells where an answer to the same item is another; "" if it is not.
func (r Result) Differs(from Result) string {
	for k := range from.Completions {
		for i := range from.Completions[k] {
			a, b := r.Completions[k][i], from.Completions[k][i]
			if same(a, b) {
				continue
			}
			n := kept(a.IDs, b.IDs)
			what := fmt.Sprintf("token %d", n+1)
			if n == len(b.IDs) && n == len(a.IDs) {
				what = "a log-prob, an entropy or the end"
			}
			return fmt.Sprintf("prompt %d, completion %d: %s differs", k+1, i+1, what)
		}
	}
	return ""
}

// sameAll says whether the completions of an item are equal to the bit.
func sameAll(a, b [][]rollout.Segment) bool {
	for k := range a {
		for j := range a[k] {
			if !same(a[k][j], b[k][j]) {
				return false
			}
		}
	}
	return true
}
