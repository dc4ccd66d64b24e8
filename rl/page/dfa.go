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
	sets   [][]uint32       // [state] instructions that read a character, ascending
	next   [][utf8.RuneSelf]int32
	rare   map[rareStep]int32 // next of the other characters
	seen   []uint32           // [instruction] the last set that has it
	made   uint32             // sets so far
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

// maxStates bounds the memory of a dfa to some megabytes: all states are dropped then, and
// made again.
const maxStates = 4096

// newDFA is nil for an expression that looks at what is beside a character, such as ^, $ and
// \b: it has no states of this kind.
func newDFA(tree *syntax.Regexp) *dfa {
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil || slices.ContainsFunc(prog.Inst, func(i syntax.Inst) bool { return i.Op == syntax.InstEmptyWidth }) {
		return nil
	}
	d := &dfa{prog: prog, seen: make([]uint32, len(prog.Inst))}
	d.forget()
	return d
}

// forget drops the states but the first, which every text begins in.
func (d *dfa) forget() {
	d.states, d.rare = map[string]int32{}, map[rareStep]int32{}
	d.sets, d.next = d.sets[:0], d.next[:0]
	d.made++
	set, done := d.follow(nil, uint32(d.prog.Start))
	if d.first = found; !done {
		d.first = d.state(set)
	}
}

// match says whether a text holds a match.
func (d *dfa) match(text []byte) bool {
	s := d.first
	for i := 0; i < len(text) && s != found; {
		r, size, next := rune(text[i]), 1, unknown
		if r < utf8.RuneSelf {
			next = d.next[s-firstState][r]
		} else {
			r, size = utf8.DecodeRune(text[i:])
			next = d.rare[rareStep{s, r}]
		}
		if next == unknown {
			next = d.step(s, r)
		}
		s, i = next, i+size
	}
	return s == found
}

// step makes the state behind a character. A match may begin anywhere.
func (d *dfa) step(s int32, r rune) int32 {
	d.made++
	set, done := d.follow(nil, uint32(d.prog.Start))
	for _, pc := range d.sets[s-firstState] {
		if inst := &d.prog.Inst[pc]; !done && reads(inst, r) {
			set, done = d.follow(set, inst.Out)
		}
	}
	next := found
	if !done {
		if len(d.sets) >= maxStates {
			d.forget()
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
		d.sets, d.next = append(d.sets, set), append(d.next, [utf8.RuneSelf]int32{})
	}
	return s
}

// follow adds the instructions that read a character next; done: a match has ended.
func (d *dfa) follow(set []uint32, pc uint32) (_ []uint32, done bool) {
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
	}
	return inst.MatchRune(r)
}
