package instruct

import "errors"

// A pattern becomes a list of instructions for the matcher of pattern_run.go.

type opcode uint8

const (
	opChar      opcode = iota // one character of set
	opSplit                   // go on at next, and if that fails at other
	opJump                    // go on at next
	opSave                    // note the position in slot n
	opIfMoved                 // next, unless the position is still that of slot n: other
	opReference               // what group n matched
	opBorder                  // a word begins or ends here (n = 1) or not (n = 0)
	opStart                   // at the text's start
	opEnd                     // at the text's end, or before a line end there
	opLastEnd                 // at the text's end
	opLook                    // the program at next matches here, or, behind, ends here; go on at other
	opAtomic                  // the same and go on after it, for good
	opDone                    // of a part: it matches
	opMatch                   // the pattern matches
)

type instruction struct {
	op          opcode
	set         *charset
	next, other int
	n           int
	negative    bool
	behind      int // characters to step back, of opLook
	memo        int // which bit of a position says that going on from here fails; -1: none
}

// program is a compiled pattern.
type program struct {
	code    []instruction
	slots   int // groups' ends, then the starts of repetitions
	groups  int
	fold    bool     // re.IGNORECASE
	memos   int      // instructions with a bit; 0 where failing depends on more than the position
	literal *charset // what every match begins with, if it is known
}

// Limits of a pattern.
const (
	maxPatternBytes = 4096
	maxPatternSize  = 1 << 13 // instructions: {2,9} counts as its copies
)

var errPatternSize = errors.New("the pattern's repetitions make it too large")

type compiler struct {
	program
	fickle bool // a reference, or a repetition of what may be empty: no memos
}

func compile(root *part, groups int, fold bool) (*program, error) {
	c := &compiler{program: program{slots: 2 * (groups + 1), groups: groups, fold: fold}}
	if err := c.part(root); err != nil {
		return nil, err
	}
	c.emit(instruction{op: opMatch})
	c.program.literal = c.first()
	for i := range c.code {
		in := &c.code[i]
		in.memo = -1
		if in.op == opSplit || in.op == opLook || in.op == opAtomic {
			in.memo = c.memos
			c.memos++
		}
	}
	if c.fickle {
		c.memos = 0
	}
	return &c.program, nil
}

// emit adds an instruction that goes on after itself, and says where it is.
func (c *compiler) emit(in instruction) int {
	in.next = len(c.code) + 1
	c.code = append(c.code, in)
	return len(c.code) - 1
}

func (c *compiler) part(p *part) error {
	if len(c.code) > maxPatternSize {
		return errPatternSize
	}
	switch p.kind {
	case partChar:
		c.emit(instruction{op: opChar, set: &p.set})
	case partSequence:
		for _, q := range p.parts {
			if err := c.part(q); err != nil {
				return err
			}
		}
	case partChoice:
		return c.choice(p.parts)
	case partGroup:
		c.emit(instruction{op: opSave, n: 2 * p.group})
		if err := c.part(p.parts[0]); err != nil {
			return err
		}
		c.emit(instruction{op: opSave, n: 2*p.group + 1})
	case partReference:
		c.fickle = true
		c.emit(instruction{op: opReference, n: p.group})
	case partRepeat:
		if p.possess {
			return c.apart(instruction{op: opAtomic}, func() error { return c.repeat(p) })
		}
		return c.repeat(p)
	case partAtomic:
		return c.apart(instruction{op: opAtomic}, func() error { return c.part(p.parts[0]) })
	case partLook:
		in := instruction{op: opLook, negative: p.negative}
		if p.behind {
			in.behind = p.width
		}
		return c.apart(in, func() error { return c.part(p.parts[0]) })
	default:
		c.emit(anchors[p.kind])
	}
	return nil
}

var anchors = map[partKind]instruction{
	partStart: {op: opStart}, partEnd: {op: opEnd}, partLastEnd: {op: opLastEnd},
	partBorder: {op: opBorder, n: 1}, partNoBorder: {op: opBorder},
}

// apart emits a part that is matched by a run of its own.
func (c *compiler) apart(in instruction, body func() error) error {
	at := c.emit(in)
	if err := body(); err != nil {
		return err
	}
	c.emit(instruction{op: opDone})
	c.code[at].other = len(c.code)
	return nil
}

func (c *compiler) choice(parts []*part) error {
	var ends []int
	for _, p := range parts[:len(parts)-1] {
		split := c.emit(instruction{op: opSplit})
		if err := c.part(p); err != nil {
			return err
		}
		ends = append(ends, c.emit(instruction{op: opJump}))
		c.code[split].other = len(c.code)
	}
	if err := c.part(parts[len(parts)-1]); err != nil {
		return err
	}
	for _, end := range ends {
		c.code[end].next = len(c.code)
	}
	return nil
}

// repeat emits low copies, then a loop or as many optional copies as are left.
// A copy that matches nothing ends the repetition, as in Python.
func (c *compiler) repeat(p *part) error {
	body := p.parts[0]
	for range p.low {
		size := len(c.code)
		if err := c.part(body); err != nil {
			return err
		}
		if len(c.code) == size { // (?:){9}: more copies add nothing
			break
		}
	}
	slot := -1
	if canBeEmpty(body) {
		slot = c.slots
		c.slots++
		c.fickle = true
	}
	if p.high == endless {
		split := c.emit(instruction{op: opSplit})
		if err := c.iteration(body, slot); err != nil {
			return err
		}
		c.code[len(c.code)-1].next = split
		c.leave(split, p.lazy)
		return nil
	}
	var splits []int
	for range p.high - p.low {
		splits = append(splits, c.emit(instruction{op: opSplit}))
		if err := c.iteration(body, slot); err != nil {
			return err
		}
	}
	for _, split := range splits {
		c.leave(split, p.lazy)
	}
	return nil
}

// iteration emits one optional copy; its last instruction goes on to the next.
func (c *compiler) iteration(body *part, slot int) error {
	if slot < 0 {
		if err := c.part(body); err != nil {
			return err
		}
		c.emit(instruction{op: opJump})
		return nil
	}
	c.emit(instruction{op: opSave, n: slot})
	if err := c.part(body); err != nil {
		return err
	}
	c.emit(instruction{op: opIfMoved, n: slot})
	return nil
}

// leave makes a split, and an iteration that came to nothing, go on after the
// code there is.
func (c *compiler) leave(split int, lazy bool) {
	end := len(c.code)
	s := &c.code[split]
	s.other = end
	if lazy {
		s.next, s.other = s.other, s.next
	}
	for i := split; i < end; i++ {
		if in := &c.code[i]; in.op == opIfMoved && in.other == 0 {
			in.other = end
		}
	}
}

// canBeEmpty: the part may match no character.
func canBeEmpty(p *part) bool {
	switch p.kind {
	case partChar:
		return false
	case partGroup, partAtomic:
		return canBeEmpty(p.parts[0])
	case partRepeat:
		return p.low == 0 || canBeEmpty(p.parts[0])
	case partSequence:
		for _, q := range p.parts {
			if !canBeEmpty(q) {
				return false
			}
		}
	case partChoice:
		for _, q := range p.parts {
			if canBeEmpty(q) {
				return true
			}
		}
		return false
	}
	return true
}

// first is the set that holds the first character of every match, nil if a
// match may be empty or begin in several ways.
func (c *compiler) first() *charset {
	for at := 0; ; {
		switch in := c.code[at]; in.op {
		case opChar:
			return in.set
		case opSave, opJump:
			at = in.next
		default:
			return nil
		}
	}
}
