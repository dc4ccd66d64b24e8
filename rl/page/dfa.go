package page

import (
	"encoding/binary"
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// dfa says whether a text holds a match of an expression, with one look at each byte. Its
// states are made as they are met (K. Thompson, Regular Expression Search Algorithm, CACM
// 11(6), 1968; R. Cox, https://swtch.com/~rsc/regexp/regexp1.html). Package regexp, which
// also finds out where the match is, takes ten times as long.
//
// A dfa belongs to one goroutine.
type dfa struct {
	prog   *syntax.Prog
	first  int32
	states map[string]int32 // by their instructions
	sets   [][]uint32       // [state] instructions that read a character or wait for the end, ascending
	ends   []bool           // [state] a match ends with the text
	next   [][utf8.RuneSelf]int32
	rare   map[rareStep]int32 // next of the other characters
	words  int                // of all sets
	seen   []uint32           // [instruction] the last set that has it
	made   uint32             // sets so far
	forgot bool               // the states were dropped before
	read   int                // bytes of former texts since then; less what of this text came before
}

type rareStep struct {
	state int32
	r     rune
}

// Places of next that are no state; states follow.
const (
	unknown int32 = iota
	found
	firstState
)

// maxStates and maxWords bound the memory of a dfa: all states are dropped then, and made
// again. A state has 512 bytes of next and 8 for each word of its set, which is there a
// second time as a key: 10 MB in all, and one set more.
const (
	maxStates = 4096
	maxWords  = 1 << 20
)

// bytesPerState is how many bytes of text a state has to serve, lest making states takes
// longer than package regexp does without them: 10 in RE2
// (https://github.com/google/re2/blob/main/re2/dfa.cc).
const bytesPerState = 10

// edges are the conditions that a dfa knows: the beginning and the end of the text.
const edges = syntax.EmptyBeginText | syntax.EmptyEndText

// newDFA is nil for an expression that looks at what is beside a character, such as \b: it
// has no states of this kind.
func newDFA(tree *syntax.Regexp) *dfa {
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil || slices.ContainsFunc(prog.Inst, func(i syntax.Inst) bool {
		return i.Op == syntax.InstEmptyWidth && syntax.EmptyOp(i.Arg)&^edges != 0
	}) {
		return nil
	}
	d := &dfa{prog: prog, seen: make([]uint32, len(prog.Inst))}
	d.forget()
	return d
}

// forget drops the states but the first, which every text begins in.
func (d *dfa) forget() {
	d.states, d.rare, d.words = map[string]int32{}, map[rareStep]int32{}, 0
	clear(d.sets) // else the array keeps them alive
	d.sets, d.ends, d.next = d.sets[:0], d.ends[:0], d.next[:0]
	d.made++
	set, done := d.follow(nil, uint32(d.prog.Start), syntax.EmptyBeginText)
	if d.first = found; !done {
		d.first = d.state(set)
	}
}

// match says whether a text holds a match. It gives up where states are rarely met again,
// from the second time on that there is no room for more.
func (d *dfa) match(text []byte) (holds, gaveUp bool) {
	s := d.first
	if len(text) == 0 { // its begin is its end
		d.made++
		_, done := d.follow(nil, uint32(d.prog.Start), edges)
		return done, false
	}
	i := 0
	for i < len(text) && s != found {
		r, size, next := rune(text[i]), 1, unknown
		if r < utf8.RuneSelf {
			next = d.next[s-firstState][r]
		} else {
			r, size = utf8.DecodeRune(text[i:])
			next = d.rare[rareStep{s, r}]
		}
		if next == unknown {
			if next = d.step(s, r, i); next == unknown {
				return false, true
			}
		}
		s, i = next, i+size
	}
	d.read += i
	return s == found || d.ends[s-firstState], false
}

// step makes the state after a character at a place of the text; unknown: it gives up. A
// match may begin anywhere.
func (d *dfa) step(s int32, r rune, at int) int32 {
	d.made++
	set, done := d.follow(nil, uint32(d.prog.Start), 0)
	for _, pc := range d.sets[s-firstState] {
		if inst := &d.prog.Inst[pc]; !done && reads(inst, r) {
			set, done = d.follow(set, inst.Out, 0)
		}
	}
	next := found
	if !done {
		if len(d.sets) >= maxStates || d.words+len(set) > maxWords {
			if d.forgot && d.read+at < bytesPerState*len(d.sets) {
				return unknown
			}
			d.forget()
			d.forgot, d.read = true, -at
			return d.state(set)
		}
		next = d.state(set)
	}
	if r < utf8.RuneSelf {
		d.next[s-firstState][r] = next
	} else {
		if len(d.rare) >= maxStates {
			clear(d.rare)
		}
		d.rare[rareStep{s, r}] = next
	}
	return next
}

// state is that of a set of instructions.
func (d *dfa) state(set []uint32) int32 {
	slices.Sort(set)
	key := make([]byte, 0, 4*len(set))
	for _, pc := range set {
		key = binary.LittleEndian.AppendUint32(key, pc)
	}
	s, ok := d.states[string(key)]
	if !ok {
		s = int32(len(d.sets)) + firstState
		d.states[string(key)] = s
		d.sets, d.next = append(d.sets, slices.Clone(set)), append(d.next, [utf8.RuneSelf]int32{})
		d.words += len(set)
		d.made++
		ends := false
		for _, pc := range set {
			if !ends && d.prog.Inst[pc].Op == syntax.InstEmptyWidth {
				_, ends = d.follow(nil, pc, syntax.EmptyEndText)
			}
		}
		d.ends = append(d.ends, ends)
	}
	return s
}

// follow adds the instructions that read a character next or wait for the end of the text,
// from a place of which conditions hold; done: a match has ended.
func (d *dfa) follow(set []uint32, pc uint32, hold syntax.EmptyOp) (_ []uint32, done bool) {
	for todo := []uint32{pc}; len(todo) > 0 && !done; {
		pc, todo = todo[len(todo)-1], todo[:len(todo)-1]
		if d.seen[pc] == d.made {
			continue
		}
		d.seen[pc] = d.made
		switch inst := &d.prog.Inst[pc]; inst.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			todo = append(todo, inst.Arg, inst.Out)
		case syntax.InstCapture, syntax.InstNop:
			todo = append(todo, inst.Out)
		case syntax.InstMatch:
			done = true
		case syntax.InstEmptyWidth:
			switch need := syntax.EmptyOp(inst.Arg); {
			case need&^hold == 0:
				todo = append(todo, inst.Out)
			case need&syntax.EmptyEndText != 0:
				set = append(set, pc)
			}
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			set = append(set, pc)
		}
	}
	return set, done
}

func reads(inst *syntax.Inst, r rune) bool {
	switch inst.Op {
	case syntax.InstRuneAny:
		return true
	case syntax.InstRuneAnyNotNL:
		return r != '\n'
	case syntax.InstEmptyWidth:
		return false
	}
	return inst.MatchRune(r)
}
