package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"

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
	Plays   *Plays // nil: the completions are whole answers, or single turns
}

// Plays say that each completion of an item is the first turn of an episode, which is played to its end.
type Plays struct {
	Stage  int // of the run: a part of the key of the episode's dice
	Turns  int // of the policy, at most
	Tokens int // own and read ones, the prompt apart, at most
}

func (p *Plays) equal(q *Plays) bool { return p == q || p != nil && q != nil && *p == *q }

// Prompt asks for completions of one prompt. Completion i draws from stream Stream+i.
type Prompt struct {
	IDs    []int
	Stream uint32
	N      int
	Row    []byte // of an item that plays: the problem, as JSON
}

// ID names an item by its content.
func (i Item) ID() Digest { return digestOf(i.Encode()) }

// Requests are the item's as a sampler takes them. Of their keys the streams alone are set, and the
// stage of an item that plays.
func (i Item) Requests() []rollout.Request {
	out := make([]rollout.Request, len(i.Prompts))
	for k, p := range i.Prompts {
		out[k] = rollout.Request{Prompt: p.IDs, N: p.N, Params: i.Params, Key: random.Key{Stream: p.Stream}}
		if i.Plays != nil {
			out[k].Key.Stage = i.Plays.Stage
			out[k].Plays = &rollout.Plays{Turns: i.Plays.Turns, Tokens: i.Plays.Tokens}
			_ = json.Unmarshal(p.Row, &out[k].Plays.Problem) // DecodeItem has tried it
		}
	}
	return out
}

// Result is a worker's answer to an item: for each prompt its completions. Of a segment,
// IDs, Logprob, Entropy and Stop are sent, and of what was read the IDs.
type Result struct {
	Item        Digest
	Completions [][]rollout.Segment   // [prompt][completion]
	Later       [][][]rollout.Segment // [prompt][completion][segment]: what follows in each episode, as rollout.Episodes.Ahead returns it; nil: the item plays none
}

// resultOf is the answer to an item by what was played, [prompt][completion][segment].
func resultOf(item Digest, played [][][]rollout.Segment) Result {
	r := Result{Item: item}
	for _, group := range played {
		var first []rollout.Segment
		var later [][]rollout.Segment
		for _, episode := range group {
			first, later = append(first, episode[0]), append(later, episode[1:])
		}
		r.Completions, r.Later = append(r.Completions, first), append(r.Later, later)
	}
	return r
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
	for k, group := range r.Later {
		for j, later := range group {
			if !i.Plays.plausible(r.Completions[k][j], later, vocab) {
				return false
			}
		}
	}
	return true
}

// plausible says whether an episode could go on so after its first turn, in one context: the worlds that are played
// anywhere do not begin it anew. How long a turn may be is seen when it is asked for.
func (p *Plays) plausible(first rollout.Segment, later []rollout.Segment, vocab int) bool {
	tokens := len(first.IDs)
	for n, s := range later {
		tokens += len(s.IDs)
		played := n%2 == 1
		if played && !plausible(s, len(s.IDs), vocab) || slices.ContainsFunc(s.IDs, func(id int) bool { return id < 0 || id >= vocab }) {
			return false
		}
	}
	return tokens <= p.Tokens && 1+len(later)/2 <= p.Turns
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
				if n := r.laterDiffers(from, k, i); n > 0 {
					return fmt.Sprintf("prompt %d, completion %d: turn %d of the episode, or what was read before it, differs", k+1, i+1, n)
				}
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

// laterDiffers is the first turn after the first of an episode that is another, or is missing; 0: none is.
func (r Result) laterDiffers(from Result, prompt, completion int) int {
	if r.Later == nil || from.Later == nil {
		return 0
	}
	a, b := r.Later[prompt][completion], from.Later[prompt][completion]
	for n := 0; n < max(len(a), len(b)); n += 2 {
		if n >= min(len(a), len(b)) || !slices.Equal(a[n].IDs, b[n].IDs) || !same(a[n+1], b[n+1]) {
			return n/2 + 2
		}
	}
	return 0
}

// turns is an item that asks for the same completions, and plays no episodes.
func (i Item) turns() Item {
	i.Plays, i.Prompts = nil, slices.Clone(i.Prompts)
	for k := range i.Prompts {
		i.Prompts[k].Row = nil
	}
	return i
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
