package fleet

import (
	"slices"
	"time"

	"github.com/rlzero/rlzero/rl/rollout"
)

// job is an item and what became of it.
type job struct {
	item     Item
	data     []byte // the item, encoded
	requests []rollout.Request
	version  int                 // of the weights
	weights  []byte              // as workers load them
	done     [][]rollout.Segment // nil: open
	by       string              // worker; "": the trainer
	checked  bool
}

// table has the items of one call of Sample, in the order of its requests.
type table struct {
	jobs []*job
	byID map[Digest]*job
	open int
}

// cut makes items of consecutive requests that are drawn alike, at most size in one.
func (f *Fleet) cut(requests []rollout.Request, size int) *table {
	t := &table{byID: map[Digest]*job{}}
	tokens := 0
	for _, r := range requests {
		seed := f.trainer.Seed(r.Key)
		var j *job
		if n := len(t.jobs); n > 0 {
			j = t.jobs[n-1]
		}
		if j == nil || len(j.requests) == size || tokens+len(r.Prompt) > itemTokens || !j.item.Params.Equal(r.Params) || j.item.Seed != seed {
			j = &job{version: f.version, weights: f.policy.Data, item: Item{Weights: f.policy.Weights, Seed: seed, Params: r.Params}}
			t.jobs = append(t.jobs, j)
			tokens = 0
		}
		tokens += len(r.Prompt)
		j.requests = append(j.requests, r)
		j.item.Prompts = append(j.item.Prompts, Prompt{r.Prompt, r.Key.Stream, r.N})
	}
	for _, j := range t.jobs {
		j.data = j.item.Encode()
		t.byID[j.item.ID()] = j
	}
	t.open = len(t.jobs)
	return t
}

// answers says whether the items are those of some requests.
func (t *table) answers(requests []rollout.Request) bool {
	for _, j := range t.jobs {
		if len(requests) < len(j.requests) {
			return false
		}
		for i, r := range j.requests {
			if q := requests[i]; q.Key != r.Key || q.N != r.N || !q.Params.Equal(r.Params) || !slices.Equal(q.Prompt, r.Prompt) {
				return false
			}
		}
		requests = requests[len(j.requests):]
	}
	return len(requests) == 0
}

// settle closes a job, or replaces what closed it.
func (t *table) settle(j *job, done [][]rollout.Segment, by string, checked bool) {
	if j.done == nil {
		t.open--
	}
	j.done, j.by, j.checked = done, by, checked
}

// segments are the completions of all requests.
func (t *table) segments() [][]rollout.Segment {
	var out [][]rollout.Segment
	for _, j := range t.jobs {
		out = append(out, j.done...)
	}
	return out
}

func median(d []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(d))
	return sorted[len(sorted)/2]
}
