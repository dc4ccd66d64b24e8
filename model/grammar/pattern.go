package grammar

import (
	"encoding/binary"
	"errors"
	"fmt"
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

// Limits of a pattern.
const (
	maxPattern = 1000    // bytes
	maxInst    = 10_000  // instructions that it is compiled to
	maxStates  = 2000    // of its automaton
	maxWork    = 4 << 20 // steps of all patterns of a form
)

var errPattern = fmt.Errorf("the pattern is too large; accepted: one of at most %d states", maxStates)

// pattern makes a deterministic automaton of a pattern by the subset construction. Its
// states are sets of instructions, and characters that no instruction tells apart are one.
type pattern struct {
	b      *builder
	prog   *syntax.Prog
	cuts   []rune // where classes of characters begin
	states map[string]int32
	todo   []place
}

// place is a state of a pattern, with its node.
type place struct {
	set  []uint32 // instructions that read a character, sorted
	ends []uint32 // those that go on at the end of the text alone
	over bool     // a match was found: whatever follows, it stays one
	node int32
}

// pattern reads a string of JSON in which a pattern is found.
func (b *builder) pattern(from int32, text string, to int32) error {
	if len(text) > maxPattern {
		return fmt.Errorf("the pattern has %d bytes; accepted: at most %d", len(text), maxPattern)
	}
	re, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return fmt.Errorf("%w (the syntax is that of https://golang.org/s/re2syntax)", err)
	}
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return err
	}
	if len(prog.Inst) > maxInst {
		return fmt.Errorf("the pattern has %d instructions; accepted: at most %d", len(prog.Inst), maxInst)
	}
	p := &pattern{b: b, prog: prog, states: map[string]int32{}}
	if err := p.cut(); err != nil {
		return err
	}
	first := place{}
	p.follow(&first, uint32(prog.Start), true)
	at, err := p.state(first)
	if err != nil {
		return err
	}
	b.text(from, `"`, at)
	for len(p.todo) > 0 {
		s := p.todo[len(p.todo)-1]
		p.todo = p.todo[:len(p.todo)-1]
		if s.over || p.matchesAtEnd(s) {
			b.on(s.node, '"', '"', to)
		}
		if err := p.read(s); err != nil {
			return err
		}
	}
	return nil
}

// cut finds the classes of characters, and refuses what is not done.
func (p *pattern) cut() error {
	p.cuts = []rune{0, 0xD800, 0xE000}
	class := func(lo, hi rune) { p.cuts = append(p.cuts, lo, hi+1) }
	for _, in := range p.prog.Inst {
		if len(p.cuts) > 1<<16 { // a class such as \pL has over a thousand, wherever it stands
			p.compact()
		}
		switch in.Op {
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(in.Arg)&^(syntax.EmptyBeginText|syntax.EmptyEndText) != 0 {
				return errors.New(`\b, \B and (?m) are not supported in patterns`)
			}
		case syntax.InstRune1, syntax.InstRune:
			if len(in.Rune) == 1 {
				class(in.Rune[0], in.Rune[0])
				for r := unicode.SimpleFold(in.Rune[0]); r != in.Rune[0] && syntax.Flags(in.Arg)&syntax.FoldCase != 0; r = unicode.SimpleFold(r) {
					class(r, r)
				}
			}
			for i := 0; i+1 < len(in.Rune); i += 2 {
				class(in.Rune[i], in.Rune[i+1])
			}
		case syntax.InstRuneAnyNotNL:
			class('\n', '\n')
		}
	}
	p.compact()
	return nil
}

func (p *pattern) compact() {
	slices.Sort(p.cuts)
	p.cuts = slices.Compact(p.cuts)
}

// follow adds what an instruction comes to without a character.
func (p *pattern) follow(s *place, pc uint32, begin bool) {
	seen := map[uint32]bool{}
	todo := []uint32{pc}
	for len(todo) > 0 {
		pc := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[pc] {
			continue
		}
		seen[pc] = true
		p.b.work++
		switch in := &p.prog.Inst[pc]; in.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			todo = append(todo, in.Out, in.Arg)
		case syntax.InstCapture, syntax.InstNop:
			todo = append(todo, in.Out)
		case syntax.InstEmptyWidth:
			switch op := syntax.EmptyOp(in.Arg); {
			case op&syntax.EmptyBeginText != 0 && !begin:
			case op&syntax.EmptyEndText != 0:
				s.ends = append(s.ends, pc)
			default:
				todo = append(todo, in.Out)
			}
		case syntax.InstMatch:
			s.over = true
		case syntax.InstFail:
		default:
			s.set = append(s.set, pc)
		}
	}
}

// matchesAtEnd says whether a match ends where the text does. A begin of the text after its
// end, as in $^, is never found.
func (p *pattern) matchesAtEnd(s place) bool {
	for _, pc := range s.ends {
		for todo, seen := []uint32{p.prog.Inst[pc].Out}, map[uint32]bool{}; len(todo) > 0; {
			pc := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			if seen[pc] {
				continue
			}
			seen[pc] = true
			p.b.work++
			switch in := &p.prog.Inst[pc]; in.Op {
			case syntax.InstAlt, syntax.InstAltMatch:
				todo = append(todo, in.Out, in.Arg)
			case syntax.InstCapture, syntax.InstNop:
				todo = append(todo, in.Out)
			case syntax.InstEmptyWidth:
				if syntax.EmptyOp(in.Arg)&syntax.EmptyBeginText == 0 {
					todo = append(todo, in.Out)
				}
			case syntax.InstMatch:
				return true
			}
		}
	}
	return false
}

// state finds the node of a state, or makes one that is still to be read from.
func (p *pattern) state(s place) (int32, error) {
	if s.over {
		s.set, s.ends = nil, nil
	}
	slices.Sort(s.set)
	slices.Sort(s.ends)
	s.set, s.ends = slices.Compact(s.set), slices.Compact(s.ends)
	key := []byte{0}
	if s.over {
		key[0] = 1
	}
	key = binary.LittleEndian.AppendUint32(key, uint32(len(s.set)))
	for _, pc := range slices.Concat(s.set, s.ends) {
		key = binary.LittleEndian.AppendUint32(key, pc)
	}
	if at, ok := p.states[string(key)]; ok {
		return at, nil
	}
	if len(p.states) == maxStates || p.b.work > maxWork || p.b.large() {
		return 0, errPattern
	}
	s.node = p.b.node()
	p.states[string(key)] = s.node
	p.todo = append(p.todo, s)
	return s.node, nil
}

// read adds what the characters lead to from a state.
func (p *pattern) read(s place) error {
	if s.over {
		p.b.quoted(s.node, 0, utf8.MaxRune, s.node)
		return nil
	}
	var lo rune
	target := int32(-1)
	flush := func(hi rune) {
		if target >= 0 {
			p.b.quoted(s.node, lo, hi, target)
		}
	}
	for i, c := range p.cuts {
		if c > utf8.MaxRune {
			break
		}
		if c == 0xD800 { // no characters; what is before goes on after them
			continue
		}
		next := place{}
		if p.b.work > maxWork {
			return errPattern
		}
		for _, pc := range s.set {
			p.b.work++
			if p.prog.Inst[pc].MatchRune(c) {
				p.follow(&next, p.prog.Inst[pc].Out, false)
			}
		}
		p.follow(&next, uint32(p.prog.Start), false)
		at, err := p.state(next)
		if err != nil {
			return err
		}
		if at != target || i == 0 {
			flush(c - 1)
			lo, target = c, at
		}
	}
	flush(utf8.MaxRune)
	return nil
}
