package instruct

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A reader of Python's regular expressions (Python 3.11, module re,
// docs.python.org/3/library/re.html#regular-expression-syntax). Not read, and
// errors: conditional groups, inline flags, \N{…}.

// partKind is what a part of a pattern is.
type partKind uint8

const (
	partChar      partKind = iota // set
	partSequence                  // parts
	partChoice                    // parts
	partRepeat                    // parts[0], low, high, lazy, atomic
	partGroup                     // parts[0], group
	partAtomic                    // parts[0]
	partLook                      // parts[0], behind, negative
	partReference                 // group
	partStart                     // ^ and \A
	partEnd                       // $
	partLastEnd                   // \Z
	partBorder                    // \b
	partNoBorder                  // \B
)

type part struct {
	kind      partKind
	set       charset
	parts     []*part
	low, high int // repetitions; high is endless for no limit
	lazy      bool
	possess   bool // possessive: what is matched is not given back
	group     int
	behind    bool
	width     int // of what a look-behind looks at
	negative  bool
}

// endless repetitions; Python has the same limit on the numbers in {}.
const endless = 1<<32 - 1

// patternReader reads a pattern from left to right.
type patternReader struct {
	in     string
	at     int
	depth  int
	groups int            // opened so far
	names  map[string]int // of groups
	closed []bool         // by group; a reference may be to a closed one only
	widths []int          // by group, of those that have one fixed width; else -1
	behind int            // the first group inside the outermost look-behind; 0: there is none
}

const maxPatternDepth = 100

func readPattern(python string) (*part, int, error) {
	r := &patternReader{in: python, names: map[string]int{}, closed: []bool{false}, widths: []int{-1}}
	p, err := r.choice()
	if err == nil && r.at < len(r.in) {
		err = r.fail("unbalanced parenthesis")
	}
	return p, r.groups, err
}

func (r *patternReader) fail(format string, args ...any) error {
	return fmt.Errorf(format+" at byte %d of %s", append(args, r.at, quote(r.in))...)
}

func (r *patternReader) rest() string { return r.in[r.at:] }

func (r *patternReader) accept(text string) bool {
	if strings.HasPrefix(r.rest(), text) {
		r.at += len(text)
		return true
	}
	return false
}

func (r *patternReader) choice() (*part, error) {
	if r.depth++; r.depth > maxPatternDepth {
		return nil, r.fail("groups nested deeper than %d", maxPatternDepth)
	}
	defer func() { r.depth-- }()
	out := &part{kind: partChoice}
	for {
		p, err := r.sequence()
		if err != nil {
			return nil, err
		}
		out.parts = append(out.parts, p)
		if !r.accept("|") {
			break
		}
	}
	if len(out.parts) == 1 {
		return out.parts[0], nil
	}
	return out, nil
}

func (r *patternReader) sequence() (*part, error) {
	out := &part{kind: partSequence}
	for r.at < len(r.in) && r.in[r.at] != '|' && r.in[r.at] != ')' {
		low, high, isRepeat, err := r.repeat()
		if err != nil {
			return nil, err
		}
		if isRepeat {
			if err := r.repeatLast(out, low, high); err != nil {
				return nil, err
			}
			continue
		}
		p, err := r.item()
		if err != nil {
			return nil, err
		}
		if p != nil {
			out.parts = append(out.parts, p)
		}
	}
	return out, nil
}

// repeat reads * + ? or {low,high}. Braces with anything else are literal.
func (r *patternReader) repeat() (low, high int, isRepeat bool, err error) {
	switch r.in[r.at] {
	case '*':
		r.at++
		return 0, endless, true, nil
	case '+':
		r.at++
		return 1, endless, true, nil
	case '?':
		r.at++
		return 0, 1, true, nil
	case '{':
	default:
		return 0, 0, false, nil
	}
	inside, _, closed := strings.Cut(r.rest()[1:], "}")
	from, to, isRange := strings.Cut(inside, ",")
	if !closed || inside == "" || !isASCIIDigits(from) || !isASCIIDigits(to) {
		return 0, 0, false, nil
	}
	low, high = 0, endless
	if from != "" {
		if low, err = strconv.Atoi(from); err != nil || low >= endless {
			return 0, 0, false, r.fail("the repetition number is too large")
		}
	}
	if !isRange {
		high = low
	} else if to != "" {
		if high, err = strconv.Atoi(to); err != nil || high >= endless {
			return 0, 0, false, r.fail("the repetition number is too large")
		}
	}
	if high < low {
		return 0, 0, false, r.fail("min repeat greater than max repeat")
	}
	r.at += len("{") + len(inside) + len("}")
	return low, high, true, nil
}

func isASCIIDigits(s string) bool { return strings.Trim(s, "0123456789") == "" }

// repeatLast puts the last part of a sequence under a quantifier.
func (r *patternReader) repeatLast(seq *part, low, high int) error {
	if len(seq.parts) == 0 {
		return r.fail("nothing to repeat")
	}
	last := seq.parts[len(seq.parts)-1]
	switch last.kind {
	case partStart, partEnd, partLastEnd, partBorder, partNoBorder:
		return r.fail("nothing to repeat")
	case partRepeat:
		return r.fail("multiple repeat")
	}
	p := &part{kind: partRepeat, parts: []*part{last}, low: low, high: high}
	p.lazy = r.accept("?")
	p.possess = !p.lazy && r.accept("+")
	seq.parts[len(seq.parts)-1] = p
	return nil
}

// item reads what a quantifier may follow; nil for a comment.
func (r *patternReader) item() (*part, error) {
	switch r.in[r.at] {
	case '\\':
		return r.escape()
	case '[':
		return r.class()
	case '(':
		return r.bracket()
	case '.':
		r.at++
		return &part{set: charset{negated: true, ranges: [][2]rune{{'\n', '\n'}}}}, nil
	case '^':
		r.at++
		return &part{kind: partStart}, nil
	case '$':
		r.at++
		return &part{kind: partEnd}, nil
	}
	c, size := utf8.DecodeRuneInString(r.rest())
	r.at += size
	return literal(c), nil
}

func literal(c rune) *part { return &part{set: charset{ranges: [][2]rune{{c, c}}}} }

// bracket reads a group of any kind.
func (r *patternReader) bracket() (*part, error) {
	open := r.at
	switch {
	case r.accept("(?#"):
		_, after, closed := strings.Cut(r.rest(), ")")
		if !closed {
			return nil, r.fail("missing ), unterminated comment")
		}
		r.at = len(r.in) - len(after)
		return nil, nil
	case r.accept("(?P="):
		name, _, closed := strings.Cut(r.rest(), ")")
		group, known := r.names[name]
		if !closed || !known {
			return nil, r.fail("unknown group name")
		}
		r.at += len(name) + 1
		return r.reference(group)
	case r.accept("(?:"):
		return r.inside(open, nil)
	case r.accept("(?>"):
		return r.inside(open, &part{kind: partAtomic})
	case r.accept("(?="), r.accept("(?!"):
		return r.inside(open, &part{kind: partLook, negative: r.in[r.at-1] == '!'})
	case r.accept("(?<="), r.accept("(?<!"):
		outer := r.behind
		if outer == 0 {
			r.behind = r.groups + 1
		}
		p, err := r.inside(open, &part{kind: partLook, behind: true, negative: r.in[r.at-1] == '!'})
		r.behind = outer
		if err != nil {
			return nil, err
		}
		if p.width = r.width(p.parts[0]); p.width < 0 {
			return nil, r.fail("look-behind requires fixed-width pattern")
		}
		return p, nil
	case r.accept("(?P<"):
		name, after, closed := strings.Cut(r.rest(), ">")
		if _, taken := r.names[name]; !closed || !isIdentifier(name) || taken {
			return nil, r.fail("bad or second use of a group name")
		}
		r.at = len(r.in) - len(after)
		r.names[name] = r.groups + 1
	case r.accept("(?"):
		return nil, r.fail("this kind of group is not supported")
	default:
		r.at++
	}
	r.groups++
	group := r.groups
	r.closed, r.widths = append(r.closed, false), append(r.widths, -1)
	p, err := r.inside(open, &part{kind: partGroup, group: group})
	if err == nil {
		r.closed[group], r.widths[group] = true, r.width(p.parts[0])
	}
	return p, err
}

// inside reads what stands in a group up to its ), into outer; without one, the
// group is what it holds.
func (r *patternReader) inside(open int, outer *part) (*part, error) {
	p, err := r.choice()
	if err != nil {
		return nil, err
	}
	if !r.accept(")") {
		r.at = open
		return nil, r.fail("missing ), unterminated group")
	}
	if outer == nil { // a sequence of one's own, so that a quantifier takes it whole
		return &part{kind: partSequence, parts: []*part{p}}, nil
	}
	outer.parts = []*part{p}
	return outer, nil
}

func isIdentifier(name string) bool {
	for i, c := range name {
		if !isWord(c) || i == 0 && isDecimal(c) {
			return false
		}
	}
	return name != ""
}

func (r *patternReader) reference(group int) (*part, error) {
	if group > r.groups {
		return nil, r.fail("invalid group reference %d", group)
	}
	if !r.closed[group] {
		return nil, r.fail("cannot refer to an open group")
	}
	if r.behind > 0 && group >= r.behind {
		return nil, r.fail("cannot refer to group defined in the same lookbehind subpattern")
	}
	return &part{kind: partReference, group: group}, nil
}

// width is the number of characters that a part matches, -1 if there are several.
func (r *patternReader) width(p *part) int {
	switch p.kind {
	case partChar:
		return 1
	case partGroup, partAtomic:
		return r.width(p.parts[0])
	case partReference:
		return r.widths[p.group]
	case partRepeat:
		w := r.width(p.parts[0])
		if p.low != p.high && w != 0 || w > 0 && p.high > maxPatternSize {
			return -1
		}
		return w * p.low
	case partSequence:
		total := 0
		for _, q := range p.parts {
			w := r.width(q)
			if w < 0 {
				return -1
			}
			total += w
		}
		return total
	case partChoice:
		w := r.width(p.parts[0])
		for _, q := range p.parts[1:] {
			if r.width(q) != w {
				return -1
			}
		}
		return w
	}
	return 0
}

// classes are the sets that one letter names; a capital negates.
var classes = map[byte]func(rune) bool{'w': isWord, 'd': isDecimal, 's': isSpace}

// namedClass reads \w, \D and the like.
func (r *patternReader) namedClass() (charset, bool) {
	rest := r.rest()
	if len(rest) < 2 || rest[0] != '\\' || classes[rest[1]|0x20] == nil {
		return charset{}, false
	}
	r.at += 2
	class := classes[rest[1]|0x20]
	if rest[1]&0x20 == 0 {
		return charset{classes: []func(rune) bool{func(c rune) bool { return !class(c) }}}, true
	}
	return charset{classes: []func(rune) bool{class}}, true
}

// escape reads a backslash outside a class.
func (r *patternReader) escape() (*part, error) {
	if set, ok := r.namedClass(); ok {
		return &part{set: set}, nil
	}
	switch {
	case r.accept(`\A`):
		return &part{kind: partStart}, nil
	case r.accept(`\Z`):
		return &part{kind: partLastEnd}, nil
	case r.accept(`\b`):
		return &part{kind: partBorder}, nil
	case r.accept(`\B`):
		return &part{kind: partNoBorder}, nil
	}
	digits := r.rest()[1:]
	digits = digits[:min(3, len(digits)-len(strings.TrimLeft(digits, "0123456789")))]
	octal := len(digits) == 3 && strings.Trim(digits, "01234567") == ""
	if digits != "" && digits[0] != '0' && !octal {
		digits = digits[:min(2, len(digits))]
		group, _ := strconv.Atoi(digits) // one or two digits
		if group > r.groups {
			return nil, r.fail("invalid group reference %d", group)
		}
		r.at += 1 + len(digits)
		return r.reference(group)
	}
	c, err := r.escapedRune()
	return literal(c), err
}

var letterEscapes = map[byte]rune{'a': 7, 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v'}

// escapedRune reads an escape that stands for one character.
func (r *patternReader) escapedRune() (rune, error) {
	rest := r.rest()[1:]
	if rest == "" {
		return 0, r.fail("bad escape (end of pattern)")
	}
	if c, ok := letterEscapes[rest[0]]; ok {
		r.at += 2
		return c, nil
	}
	if size := map[byte]int{'x': 2, 'u': 4, 'U': 8}[rest[0]]; size > 0 {
		if len(rest) > size {
			if v, err := strconv.ParseUint(rest[1:1+size], 16, 32); err == nil && v <= utf8.MaxRune {
				r.at += 2 + size
				return rune(v), nil
			}
		}
		return 0, r.fail("incomplete escape \\%c", rest[0])
	}
	if rest[0] >= '0' && rest[0] <= '7' {
		digits := rest[:min(3, len(rest)-len(strings.TrimLeft(rest, "01234567")))]
		v, _ := strconv.ParseUint(digits, 8, 16) // three octal digits at most
		if v > 0o377 {
			return 0, r.fail("octal escape \\%s outside of range 0-0o377", digits)
		}
		r.at += 1 + len(digits)
		return rune(v), nil
	}
	c, size := utf8.DecodeRuneInString(rest)
	if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
		return 0, r.fail("bad escape \\%c", c)
	}
	r.at += 1 + size
	return c, nil
}

// class reads a bracketed class.
func (r *patternReader) class() (*part, error) {
	start := r.at
	r.at++
	set := charset{negated: r.accept("^")}
	for n := 0; ; n++ {
		if r.at >= len(r.in) {
			r.at = start
			return nil, r.fail("unterminated character set")
		}
		if n > 0 && r.accept("]") {
			return &part{set: set}, nil
		}
		if named, ok := r.namedClass(); ok {
			if rest := r.rest(); len(rest) > 1 && rest[0] == '-' && rest[1] != ']' {
				return nil, r.fail("bad character range")
			}
			set.classes = append(set.classes, named.classes...)
			continue
		}
		low, err := r.classRune()
		if err != nil {
			return nil, err
		}
		high := low
		if rest := r.rest(); len(rest) > 1 && rest[0] == '-' && rest[1] != ']' {
			r.at++
			if _, ok := r.namedClass(); ok {
				return nil, r.fail("bad character range")
			}
			if high, err = r.classRune(); err != nil {
				return nil, err
			}
		}
		if high < low {
			return nil, r.fail("bad character range")
		}
		set.ranges = append(set.ranges, [2]rune{low, high})
	}
}

// classRune reads one character of a class.
func (r *patternReader) classRune() (rune, error) {
	if r.accept(`\b`) {
		return '\b', nil
	}
	if r.in[r.at] == '\\' {
		return r.escapedRune()
	}
	c, size := utf8.DecodeRuneInString(r.rest())
	r.at += size
	return c, nil
}
