package fleet

import (
	"maps"
	"slices"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/rollout"
)

// ledger has the announced weights, what was handed out by them and earlier ones, and what
// came of it. It knows no carrier and no worker's standing.
//
//	announce ──> cut: items ──> begun (Begin), loose (Pick) ──> given (Sample is done)
//	                            judged (Judge is done)
//
// A job that stands in given, and a question that stands in judged, was answered by the
// announced weights and can still be checked.
type ledger struct {
	seed    func(random.Key) uint64 // of the generator
	weights Policy                  // announced; without what is known of workers
	version int                     // of the announced weights; -1: none
	begun   *table                  // handed out by Begin, for the Sample that follows; nil: nothing is
	loose   *table                  // handed out by Pick, by the weights of now and earlier ones
	given   []*job                  // of earlier calls
	judged  []*question             // by workers, and used
	ahead   map[random.Key]*ahead   // episodes that workers have played on, by the keys of their turns
	backlog []Delivery              // for the next Pick, that came while the run waited for something else
}

func newLedger(seed func(random.Key) uint64, mode Mode) ledger {
	return ledger{seed: seed, weights: Policy{Mode: mode}, version: -1, loose: &table{byID: map[Digest]*job{}}, ahead: map[random.Key]*ahead{}}
}

// announce begins with new weights: what earlier ones answered cannot be checked any more.
func (l *ledger) announce(version int, data []byte) {
	l.given, l.judged, l.ahead, l.version = nil, nil, map[random.Key]*ahead{}, version
	l.weights.Weights, l.weights.Data, l.weights.Version = digestOf(data), data, version
}

// taken gives the items of Begin to the Sample that asks for them; nil: they are others, or of
// other weights. withdrawn are then those that nobody asks for any more.
func (l *ledger) taken(requests []rollout.Request, version int) (t *table, withdrawn []Digest) {
	t, l.begun = l.begun, nil
	if t == nil || l.version == version && t.answers(requests) {
		return t, nil
	}
	return nil, t.ids()
}

// outstanding are the items that Begin handed out, whose results may come meanwhile.
func (l *ledger) outstanding() *table {
	if l.begun != nil {
		return l.begun
	}
	return &table{}
}

// keep puts a result aside for the next Pick, but no second one of a worker.
func (l *ledger) keep(id Digest, d Delivery) (kept bool) {
	for _, b := range l.backlog {
		if had, _ := answered(b.Result); had == id && b.Worker == d.Worker { // of those that are kept it is known
			return false
		}
	}
	l.backlog = append(l.backlog, d)
	return true
}

// putAside is the first result that keep put aside.
func (l *ledger) putAside() (d Delivery, ok bool) {
	if len(l.backlog) == 0 {
		return d, false
	}
	d, l.backlog = l.backlog[0], l.backlog[1:]
	return d, true
}

// close forgets what was answered by weights other than those of a version. unchecked is told of
// each answer that nobody checked.
func (l *ledger) close(version int, unchecked func(worker string, version int)) {
	if l.version != version {
		for _, j := range l.given {
			if j.by != "" && !j.checked {
				unchecked(j.by, l.version)
			}
		}
		l.given = nil
	}
	l.judged = slices.DeleteFunc(l.judged, func(q *question) bool {
		if q.version != version {
			unchecked(q.by, q.version)
		}
		return q.version != version
	})
}

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
	offered  bool
	ahead    claimant            // who played the episodes on whose turns these are; zero: nobody
	turns    [][]rollout.Segment // as that one drew them, [request][1]
}

// table has the items of one call of Sample, in the order of its requests.
type table struct {
	jobs []*job
	byID map[Digest]*job
	open int
}

// job is an item by the announced weights, which has no requests yet.
func (l *ledger) job(item Item) *job {
	item.Weights = l.weights.Weights
	return &job{version: l.version, weights: l.weights.Data, item: item}
}

// cut makes items of consecutive requests that are drawn alike, at most size in one. Those of which
// known has the turn are in items that the same worker has answered ahead.
func (l *ledger) cut(requests []rollout.Request, size int, known ...known) *table {
	t := &table{byID: map[Digest]*job{}}
	tokens := 0
	for at, r := range requests {
		seed := l.seed(r.Key)
		var has claimant
		if known != nil {
			has = known[at].by
		}
		plays, row := playsOf(r)
		more := len(r.Prompt) + len(row)/tokenBytes
		var j *job
		if n := len(t.jobs); n > 0 {
			j = t.jobs[n-1]
		}
		if j == nil || len(j.requests) == size || tokens+more > itemTokens || !j.item.Params.Equal(r.Params) || j.item.Seed != seed || !j.item.Plays.equal(plays) || j.ahead != has {
			j = l.job(Item{Seed: seed, Params: r.Params, Plays: plays})
			j.ahead = has
			t.jobs = append(t.jobs, j)
			tokens = 0
		}
		tokens += more
		j.requests = append(j.requests, r)
		j.item.Prompts = append(j.item.Prompts, Prompt{r.Prompt, r.Key.Stream, r.N, row})
		if has != (claimant{}) {
			j.turns = append(j.turns, []rollout.Segment{known[at].turn})
		}
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

// ids are those of the items.
func (t *table) ids() []Digest { return slices.Collect(maps.Keys(t.byID)) }
