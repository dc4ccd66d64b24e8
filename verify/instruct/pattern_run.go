package instruct

import (
	"errors"
	"slices"
	"unicode"
)

// The matcher tries the alternatives of a pattern in Python's order and counts
// its steps. Where failing depends on the instruction and the position alone it
// remembers what failed, so that the work is at most the product of pattern and
// text; patterns with references, and repetitions of what may be empty, can
// take more, and are given up at the limit.

// Limits of one search, or of all the searches of one findAll; and the steps of all of them that
// judge a completion, whatever its instructions and the forms in which it is judged: a third of a
// second.
const (
	maxSteps    = 1 << 23
	maxAllSteps = 1 << 25
	maxStack    = 1 << 20 // alternatives and old slots kept
	maxMemoBits = 1 << 27
)

var errSteps = errors.New("the pattern takes too many steps on this text")

// charset is a set of characters: those in ranges and classes, or all others.
type charset struct {
	negated bool
	ranges  [][2]rune
	classes []func(rune) bool
}

func (s *charset) holds(c rune) bool {
	for _, r := range s.ranges {
		if r[0] <= c && c <= r[1] {
			return true
		}
	}
	for _, class := range s.classes {
		if class(c) {
			return true
		}
	}
	return false
}

// matches says whether the set accepts c; with fold, also for what c is equal
// to when case does not count.
func (s *charset) matches(c rune, fold bool) bool {
	held := s.holds(c)
	if !held && fold {
		held = s.holdsKin(c)
	}
	return held != s.negated
}

func (s *charset) holdsKin(c rune) bool {
	for k := unicode.SimpleFold(c); k != c; k = unicode.SimpleFold(k) {
		if s.holds(k) {
			return true
		}
	}
	return slices.Contains(dotted, c) && slices.ContainsFunc(dotted, s.holds)
}

// dotted are the characters that re.IGNORECASE holds equal to i, beside what
// Unicode's simple folding does.
var dotted = []rune("iIİı")

// undo is an entry of the matcher's stack: an alternative (slot -1), or the value
// that a slot had.
type undo struct {
	pc, at int
	slot   int
	old    int
}

// matcher runs a program over a text.
type matcher struct {
	*program
	text   []rune
	slots  []int
	stack  []undo
	failed []uint64 // bit memo + position·memos: going on from there fails
	trail  []int    // the bits that were set
	given  int
	steps  int  // that are left of the given
	start  int  // of the present search
	must   bool // the match has to be longer than nothing
}

// newMatcher is a matcher that may take maxSteps, and no more than are left.
func newMatcher(p *program, text string, left int) *matcher {
	steps := min(maxSteps, left)
	m := &matcher{program: p, text: []rune(text), slots: make([]int, p.slots), given: steps, steps: steps}
	if bits := p.memos * (len(m.text) + 1); bits > 0 && bits <= maxMemoBits {
		m.failed = make([]uint64, (bits+63)/64)
	}
	return m
}

// pay takes what the matcher used off what is left.
func (m *matcher) pay(left *int) { *left -= m.given - m.steps }

// search finds the first match from a position on, as pattern.search does. must
// says that a match of nothing right there does not count.
func (m *matcher) search(from int, must bool) (found bool, err error) {
	for at := from; at <= len(m.text); at++ {
		if m.steps--; m.steps < 0 {
			return false, errSteps
		}
		if m.literal != nil && (at == len(m.text) || !m.literal.matches(m.text[at], m.fold)) {
			continue
		}
		m.start, m.must = at, must && at == from
		for i := range m.slots {
			m.slots[i] = -1
		}
		m.stack = m.stack[:0]
		end, ok, err := m.run(0, at)
		if err != nil {
			return false, err
		}
		if ok {
			m.slots[0], m.slots[1] = at, end
			return true, nil
		}
	}
	return false, nil
}

// run executes from an instruction to opDone or opMatch. It leaves on the stack
// the old values of slots, and no alternative; a run that fails leaves nothing.
func (m *matcher) run(pc, at int) (end int, ok bool, err error) {
	bottom, marks := len(m.stack), len(m.trail)
	for {
		if m.steps--; m.steps < 0 || len(m.stack) > maxStack {
			return 0, false, errSteps
		}
		in := &m.code[pc]
		if in.op == opDone || in.op == opMatch && !(m.must && at == m.start) {
			break
		}
		goesOn := true
		switch in.op {
		case opSplit:
			if goesOn = m.firstTime(in, at); goesOn {
				m.stack = append(m.stack, undo{pc: in.other, at: at, slot: -1})
			}
		case opLook:
			if goesOn = m.firstTime(in, at); goesOn {
				goesOn, err = m.look(in, at)
			}
		case opAtomic:
			if goesOn = m.firstTime(in, at); goesOn {
				at, goesOn, err = m.run(in.next, at)
			}
		case opSave:
			m.stack = append(m.stack, undo{slot: in.n, old: m.slots[in.n]})
			m.slots[in.n] = at
		case opReference:
			at, goesOn = m.reference(in.n, at)
		case opChar:
			if goesOn = at < len(m.text) && in.set.matches(m.text[at], m.fold); goesOn {
				at++
			}
		case opJump, opIfMoved:
		default:
			goesOn = in.op != opMatch && m.anchored(in, at)
		}
		if err != nil {
			return 0, false, err
		}
		if goesOn {
			pc = in.next
			if in.op == opLook || in.op == opAtomic || in.op == opIfMoved && m.slots[in.n] == at {
				pc = in.other
			}
			continue
		}
		if pc, at, ok = m.back(bottom); !ok {
			return 0, false, nil
		}
	}
	m.commit(bottom, marks)
	return at, true, nil
}

// firstTime is false where going on from an instruction and a position is known
// to fail. It notes that it does, for the next time: a success takes the note back.
func (m *matcher) firstTime(in *instruction, at int) bool {
	if m.failed == nil {
		return true
	}
	bit := at*m.memos + in.memo
	if m.failed[bit/64]>>(bit%64)&1 == 1 {
		return false
	}
	m.failed[bit/64] |= 1 << (bit % 64)
	m.trail = append(m.trail, bit)
	return true
}

// back takes the last alternative off the stack and puts slots back to where
// they were then.
func (m *matcher) back(bottom int) (pc, at int, ok bool) {
	for len(m.stack) > bottom {
		u := m.stack[len(m.stack)-1]
		m.stack = m.stack[:len(m.stack)-1]
		if u.slot < 0 {
			return u.pc, u.at, true
		}
		m.slots[u.slot] = u.old
	}
	return 0, 0, false
}

// commit drops the alternatives of a run that succeeded, and its notes: what lay
// on its way did not fail.
func (m *matcher) commit(bottom, marks int) {
	kept := m.stack[:bottom]
	for _, u := range m.stack[bottom:] {
		if u.slot >= 0 {
			kept = append(kept, u)
		}
	}
	m.stack = kept
	for _, bit := range m.trail[marks:] {
		m.failed[bit/64] &^= 1 << (bit % 64)
	}
	m.trail = m.trail[:marks]
}

// look says whether a look-around holds. Groups of a negative one stay unset.
func (m *matcher) look(in *instruction, at int) (bool, error) {
	if at < in.behind {
		return in.negative, nil
	}
	bottom := len(m.stack)
	_, ok, err := m.run(in.next, at-in.behind)
	if in.negative {
		for ok && len(m.stack) > bottom {
			m.back(bottom)
		}
		return !ok, err
	}
	return ok, err
}

// reference goes past what a group matched, if it stands there again. A group
// that matched nothing fails.
func (m *matcher) reference(group, at int) (end int, ok bool) {
	from, to := m.slots[2*group], m.slots[2*group+1]
	if from < 0 || to < from || at+to-from > len(m.text) {
		return at, false
	}
	m.steps -= to - from
	for i := from; i < to; i, at = i+1, at+1 {
		if a, b := m.text[i], m.text[at]; a != b && !(m.fold && fold(a) == fold(b)) {
			return at, false
		}
	}
	return at, true
}

func (m *matcher) anchored(in *instruction, at int) bool {
	switch in.op {
	case opStart:
		return at == 0
	case opLastEnd:
		return at == len(m.text)
	case opEnd:
		return at == len(m.text) || at == len(m.text)-1 && m.text[at] == '\n'
	}
	if len(m.text) == 0 {
		return false // \B as well, up to Python 3.13
	}
	word := func(i int) bool { return i >= 0 && i < len(m.text) && isWord(m.text[i]) }
	return (word(at-1) != word(at)) == (in.n == 1)
}
