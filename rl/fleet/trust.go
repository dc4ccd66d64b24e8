package fleet

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"math"
)

// trust is what is known of workers: who is refused, how each computes, by which canary, what
// of its answers nobody checked, and which items are. It computes nothing and talks to nobody.
type trust struct {
	mode     Mode
	share    float64 // of the items that are checked in mode Exact
	key      []byte
	refused  map[string]string          // workers, and why
	known    map[string]class           // how a worker computes
	trusted  map[string]int             // version of the first weights by which a worker answered what nobody checked
	since    map[string]int             // the same since its last canary with equal bits
	told     map[string]int             // what Remember was told last; nil: it is to be told
	canary   *job                       // of the announced weights
	canaries map[Digest]*job            // by id, of all weights so far; nil: its answer cannot be judged any more
	tardy    map[string]int             // version by which a worker's last canary came too late
	tested   map[string]int             // version of the newest canary that a worker has answered
	unlike   map[string]map[Digest]bool // items about which workers judged otherwise than this machine
}

// newTrust goes on with what an earlier part of the run remembered.
func newTrust(mode Mode, share float64, refused map[string]string, trusted map[string]int) trust {
	t := trust{mode: mode, share: share, key: make([]byte, sha256.Size), refused: map[string]string{}, known: map[string]class{}, trusted: map[string]int{}, since: map[string]int{},
		canaries: map[Digest]*job{}, tardy: map[string]int{}, tested: map[string]int{}, unlike: map[string]map[Digest]bool{}}
	rand.Read(t.key) // it never fails
	maps.Copy(t.refused, refused)
	maps.Copy(t.trusted, trusted)
	t.told = maps.Clone(t.trusted)
	return t
}

// audited says whether the result of an item is checked. It is a function of the item, a
// key that never leaves the trainer, and nothing that a worker can choose.
func (t *trust) audited(item Digest) bool {
	h := hmac.New(sha256.New, t.key)
	h.Write(item[:])
	return float64(binary.LittleEndian.Uint64(h.Sum(nil)))/math.MaxUint64 < t.share
}

// refuses says whether nothing more is taken from a worker.
func (t *trust) refuses(worker string) bool {
	_, refused := t.refused[worker]
	return refused
}

// refuse takes no more from a worker; what was told of it is to be told again.
func (t *trust) refuse(worker, why string) {
	t.refused[worker] = why
	delete(t.tardy, worker)
	t.told = nil
}

// know notes the class of a worker; false: it is known.
func (t *trust) know(worker string, c class) bool {
	if t.known[worker] == c {
		return false
	}
	t.known[worker] = c
	return true
}

// drafts says whether the tokens of a result are drafts.
func (t *trust) drafts(d Delivery) bool {
	return t.mode == Draft || !d.Tested || t.known[d.Worker] != classSame
}

// answered notes that a worker has answered the canary of a version; false: it had before.
func (t *trust) answered(worker string, version int) bool {
	last, before := t.tested[worker]
	t.tested[worker] = max(last, version)
	return !before || last < version
}

// rely notes that the run uses what a worker answered by the weights of a version. late says
// that nobody can check it any more.
func (t *trust) rely(worker string, version int, late bool) {
	if late {
		first(t.trusted, worker, version)
	}
	first(t.since, worker, version)
}

// unchecked are the versions of the first weights by which workers answered what nobody
// checked, with what the ledger has of the announced weights.
func (t *trust) unchecked(l *ledger) map[string]int {
	out := maps.Clone(t.trusted)
	for _, j := range l.given {
		if j.by != "" && !j.checked {
			first(out, j.by, l.version)
		}
	}
	for _, q := range l.judged {
		first(out, q.by, q.version)
	}
	return out
}

// announce keeps what the run relies on by the weights that go, as those of a version come. A run
// that went back to earlier weights draws again what was trusted from these on.
func (t *trust) announce(l *ledger, version int) {
	t.trusted = t.unchecked(l)
	for _, versions := range []map[string]int{t.trusted, t.since} {
		maps.DeleteFunc(versions, func(_ string, since int) bool { return since >= version })
	}
}

// test takes the canary of new weights.
func (t *trust) test(canary *job) {
	t.retire(canary.version)
	t.canary, t.canaries[digestOf(canary.data)] = canary, canary
}

// retire keeps of the canary, whose weights go, what a late answer is judged by, for a while.
// version is that of the weights of now.
func (t *trust) retire(version int) {
	if c := t.canary; c != nil {
		if c.weights = nil; c.done == nil {
			t.canaries[digestOf(c.data)] = nil
		}
	}
	t.canary = nil
	for id, c := range t.canaries {
		if c != nil && c.version < version-canaryEvery {
			t.canaries[id] = nil
		}
	}
}

// foreseen is the canary that is to be drawn here, as a worker may answer it when its weights
// are gone; nil: none is.
func (t *trust) foreseen(version int) *job {
	maps.DeleteFunc(t.tardy, func(_ string, last int) bool { return last < version-canaryEvery })
	if t.canary != nil && t.canary.done == nil && len(t.tardy) > 0 {
		return t.canary
	}
	return nil
}

// judgedOtherwise counts the items about which a worker's verdicts are not this machine's.
func (t *trust) judgedOtherwise(worker string, item Digest) int {
	if t.unlike[worker] == nil {
		t.unlike[worker] = map[Digest]bool{}
	}
	t.unlike[worker][item] = true
	return len(t.unlike[worker])
}

// first lowers the version of a worker.
func first(versions map[string]int, worker string, version int) {
	if since, there := versions[worker]; !there || version < since {
		versions[worker] = version
	}
}
