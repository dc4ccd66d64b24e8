package mathans

import (
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

type tokenKind uint8

const (
	tEnd     tokenKind = iota
	tNumber            // value, text
	tLetter            // text: a variable, a Greek letter's name
	tWord              // text: words, from \text{…} or a run of letters
	tCommand           // text: a LaTeX command that the parser knows, without \
	tMark              // text: an operator, a bracket, a separator
)

type token struct {
	kind    tokenKind
	text    string
	spaced  bool // white space stands before it
	value   *big.Rat
	decimal bool
	groups  []string // the groups of digits of a number written 1,234,567 with bare commas
	or      bool     // a separator that was written "or"
}

// marks maps commands, characters and pairs of characters to one mark each.
var marks = map[string]string{
	`\le`: "<=", `\leq`: "<=", `\leqslant`: "<=", "≤": "<=", "⩽": "<=", `\ge`: ">=", `\geq`: ">=", `\geqslant`: ">=", "≥": ">=", "⩾": ">=",
	`\lt`: "<", `\gt`: ">", `\ne`: "!=", `\neq`: "!=", "≠": "!=", `\approx`: "~", "≈": "~", `\sim`: "~", `\simeq`: "~", `\doteq`: "~", "≃": "~",
	`\equiv`: "=", "≡": "=", `\in`: "in", "∈": "in", `\notin`: "notin", "∉": "notin", `\subset`: "sub", `\subseteq`: "sub", "⊂": "sub", "⊆": "sub",
	`\to`: "=", `\rightarrow`: "=", `\longrightarrow`: "=", `\mapsto`: "=", "→": "=", `\colon`: ":",
	`\Rightarrow`: "=>", `\implies`: "=>", `\iff`: "=>", `\Leftrightarrow`: "=>", `\therefore`: "=>", "⇒": "=>", `\Longrightarrow`: "=>",
	`\cdot`: "*", `\times`: "*", `\ast`: "*", `\bullet`: "*", "×": "*", "·": "*", "⋅": "*", "∗": "*", `\div`: "/", "÷": "/", "∕": "/", "⁄": "/",
	"−": "-", "–": "-", "—": "-", `\pm`: "+-", "±": "+-", `\mp`: "-+", "∓": "-+",
	`\cup`: "cup", "∪": "cup", `\bigcup`: "cup", `\cap`: "cap", "∩": "cap", `\setminus`: "minus", `\backslash`: "minus", "∖": "minus",
	`\land`: ",", `\wedge`: ",", "∧": ",", `\lor`: ",", `\vee`: ",", "∨": ",", "，": ",", "；": ";", "：": ":", "（": "(", "）": ")",
	`\langle`: "(", `\rangle`: ")", "⟨": "(", "⟩": ")", `\lbrace`: `\{`, `\rbrace`: `\}`, `\lbrack`: "[", `\rbrack`: "]",
	`\vert`: "|", `\lvert`: "|", `\rvert`: "|", `\|`: "|", `\Vert`: "|", `\lVert`: "|", `\rVert`: "|", `\mid`: "suchthat",
	`\circ`: "deg", `\degree`: "deg", "°": "deg", "º": "deg", `\%`: "%", "％": "%", `\prime`: "'", "′": "'", `\infty`: "inf", "∞": "inf",
	`\emptyset`: "empty", `\varnothing`: "empty", "∅": "empty", `\lfloor`: "lfloor", `\rfloor`: "rfloor", `\lceil`: "lceil", `\rceil`: "rceil",
	"⌊": "lfloor", "⌋": "rfloor", "⌈": "lceil", "⌉": "rceil", `\{`: `\{`, `\}`: `\}`, `\\`: `\\`, `\cr`: `\\`,
	"<=": "<=", ">=": ">=", "!=": "!=", "=>": "=>", "==": "=", "**": "^",
}

// skipped commands leave nothing but a space.
var skipped = wordSet(`left right middle big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr displaystyle textstyle scriptstyle
	limits nolimits quad qquad hspace vspace enspace thinspace hfill hline left. right. boldsymbol nonumber notag allowbreak`)

// textual commands have words as their argument, styles a formula.
var (
	textual = wordSet(`text textbf textit textrm textsf texttt textnormal mbox hbox mathrm mathbf mathit mathsf mathtt mathcal mathscr operatorname mathop emph underline`)
	symbols = map[string]string{`π`: "pi", `√`: "sqrt", `ℝ`: "Reals", `θ`: "theta", `α`: "alpha", `β`: "beta", `λ`: "lambda", `φ`: "phi", `σ`: "sigma", `μ`: "mu", `ω`: "omega", `ℤ`: "Integers", `ℕ`: "Naturals", `ℚ`: "Rationals", `ℂ`: "Complexes"}
	boards  = map[string]string{"R": "Reals", "Z": "Integers", "N": "Naturals", "Q": "Rationals", "C": "Complexes"}
)

var greek = wordSet(`alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi rho sigma tau
	upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega pi ell hbar aleph infty`)

// structural commands are left to the parser.
var structural = wordSet(`frac dfrac tfrac cfrac sqrt binom dbinom tbinom begin end boxed fbox overline overrightarrow vec hat bar tilde
	mathbb sum prod int oint lim angle triangle mod pmod bmod ldots dots cdots vdots dotsc dotsb widehat stackrel dot perp parallel partial nabla forall exists color not over choose`)

var functions = wordSet(`sin cos tan sec csc cot arcsin arccos arctan sinh cosh tanh ln log lg exp asin acos atan abs sqrt cbrt
	gcd lcm max min floor ceil det binomial factorial`)

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

// lexer turns text into tokens in one pass.
type lexer struct {
	text   string
	at     int
	tokens []token
	spaced bool
	rows   bool   // & and \\ part the cells of a matrix
	prose  bool   // inside \text{…}: two letters are a word
	open   []byte // the brackets that are open: ( stands for all but a plain {
}

func tokenize(text string) ([]token, error) {
	l := lexer{text: text, rows: strings.Contains(text, `\begin`)}
	return l.all()
}

func (l *lexer) all() ([]token, error) {
	for l.at < len(l.text) {
		if err := l.next(); err != nil {
			return nil, err
		}
	}
	return bareOperators(l.tokens), nil
}

// bareOperators takes the braces off operators that stand alone in them: 5{\times}3.
func bareOperators(tokens []token) []token {
	out := tokens[:0]
	for i := 0; i < len(tokens); i++ {
		if isBrace(tokens, i, "{") && isBrace(tokens, i+2, "}") && tokens[i+1].kind == tMark && strings.Contains("+-*/=<>", tokens[i+1].text) {
			i++
			out = append(out, tokens[i])
			i++
			continue
		}
		out = append(out, tokens[i])
	}
	return out
}

func isBrace(tokens []token, i int, brace string) bool {
	return i < len(tokens) && tokens[i].kind == tMark && tokens[i].text == brace
}

func (l *lexer) add(t token) {
	t.spaced = l.spaced
	l.tokens, l.spaced = append(l.tokens, t), false
}

func (l *lexer) mark(text string) {
	switch { // [0,1[ and ]0,1[ are [0,1) and (0,1)
	case text == "[" && len(l.open) > 0 && !l.after("", "(", "[", "{", `\{`, ",", "+", "-", "*", "/", "=") && endsSet.MatchString(l.text[l.at:]):
		text = ")"
	case text == "]" && len(l.open) == 0 && l.after("", "cup", "cap", "minus", "in", "=", ",", ";"):
		text = "("
	}
	switch text {
	case "(", "[", `\{`:
		l.open = append(l.open, '(')
	case "{":
		l.open = append(l.open, '{')
	case ")", "]", `\}`, "}":
		if len(l.open) > 0 {
			l.open = l.open[:len(l.open)-1]
		}
	}
	l.add(token{kind: tMark, text: text})
}

// What follows a bracket that closes a set, and what comes before one.
var (
	endsSet   = regexp.MustCompile(`^\s*(?:$|[,;.)$∪∩∖]|\\(?:big)?c[ua]p|\\setminus|U\b|\\text|\\right)`)
	startsSet = regexp.MustCompile(`^\s*(?:\\left\s*)?(?:[(\[\]]|\\\{)`)
)

// after reports whether the last token is one of the marks; "" is the beginning.
func (l *lexer) after(marks ...string) bool {
	if len(l.tokens) == 0 {
		return slices.Contains(marks, "")
	}
	last := l.tokens[len(l.tokens)-1]
	return last.kind == tMark && slices.Contains(marks, last.text)
}

func (l *lexer) next() error {
	rest := l.text[l.at:]
	r, size := utf8.DecodeRuneInString(rest)
	switch {
	case r == '~' || r == '$' || r == '&' && !l.rows || unicode.IsSpace(r) || r == '\u200b' || r == '\ufeff':
		l.at += size
		l.spaced = true
		return nil
	case r == '\\':
		return l.command()
	case isDigit(rest[0]) || r == '.' && len(rest) > 1 && isDigit(rest[1]):
		return l.number()
	case unicode.IsLetter(r):
		l.letters()
		return nil
	}
	for _, n := range []int{2, size} {
		if n <= len(rest) {
			if m, ok := marks[rest[:n]]; ok {
				l.at += n
				l.mark(m)
				return nil
			}
		}
	}
	l.at += size
	if name, ok := symbols[string(r)]; ok {
		l.symbol(name)
		return nil
	}
	if d, ok := superscripts[r]; ok {
		l.script("^", d, superscripts)
		return nil
	}
	if d, ok := subscripts[r]; ok {
		l.script("_", d, subscripts)
		return nil
	}
	if f, ok := fractions[r]; ok {
		l.add(token{kind: tCommand, text: "frac"})
		for _, n := range f {
			l.add(token{kind: tNumber, text: strconv.Itoa(n), value: big.NewRat(int64(n), 1)})
		}
		return nil
	}
	if strings.ContainsRune("+-*/^_=<>()[]{}|,;:!%'&", r) {
		l.mark(string(r))
		return nil
	}
	if r == '.' || r == '"' || r == '?' || r == '`' {
		l.spaced = true
		return nil
	}
	if unicode.Is(unicode.Sc, r) { // a currency sign
		if name, ok := currencies[string(r)]; ok {
			l.mark(name)
		}
		return nil
	}
	return fmt.Errorf("%q has no meaning here", string(r))
}

var superscripts = map[rune]byte{'⁰': '0', '¹': '1', '²': '2', '³': '3', '⁴': '4', '⁵': '5', '⁶': '6', '⁷': '7', '⁸': '8', '⁹': '9', '⁻': '-'}

var subscripts = map[rune]byte{'₀': '0', '₁': '1', '₂': '2', '₃': '3', '₄': '4', '₅': '5', '₆': '6', '₇': '7', '₈': '8', '₉': '9'}

// fractions are the characters that are fractions of one-digit numbers.
var fractions = map[rune][2]int{'½': {1, 2}, '⅓': {1, 3}, '⅔': {2, 3}, '¼': {1, 4}, '¾': {3, 4}, '⅕': {1, 5}, '⅖': {2, 5}, '⅗': {3, 5}, '⅘': {4, 5},
	'⅙': {1, 6}, '⅚': {5, 6}, '⅐': {1, 7}, '⅛': {1, 8}, '⅜': {3, 8}, '⅝': {5, 8}, '⅞': {7, 8}, '⅑': {1, 9}}

// script reads x²³ as x^{23} and x₁ as x_{1}; the first character is consumed
// already.
func (l *lexer) script(mark string, first byte, all map[rune]byte) {
	digits := []byte{first}
	for {
		r, size := utf8.DecodeRuneInString(l.text[l.at:])
		d, ok := all[r]
		if !ok {
			break
		}
		digits = append(digits, d)
		l.at += size
	}
	n, err := strconv.Atoi(string(digits))
	if err != nil {
		n = 0
	}
	l.mark(mark)
	l.mark("{")
	l.add(token{kind: tNumber, text: string(digits), value: big.NewRat(int64(n), 1)})
	l.mark("}")
}

// command reads a backslash and what belongs to it.
func (l *lexer) command() error {
	rest := l.text[l.at:]
	n := 1
	for n < len(rest) && isLetter(rest[n]) {
		n++
	}
	if n == 1 { // a command of one character that is no letter
		n += max(1, runeLen(rest[1:]))
		n = min(n, len(rest))
		l.at += n
		if m, ok := marks[rest[:n]]; ok {
			l.mark(m)
		} else if name, ok := currencies[rest[:n]]; ok {
			l.mark(name)
		} else if rest[:n] == `\&` || rest[:n] == `\_` || rest[:n] == `\#` {
			return fmt.Errorf("%s has no meaning here", rest[:n])
		} else {
			l.spaced = true // \, \; \! \: \$ and the like
		}
		return nil
	}
	name := rest[1:n]
	if known := knownCommand(name); known < len(name) && known > 0 {
		name = name[:known]
	}
	l.at += 1 + len(name)
	switch m, isMark := marks[`\`+name]; {
	case name == "lor" || name == "vee":
		l.separator("or")
	case isMark:
		l.mark(m)
	case skipped[name]:
		l.spaced = true
		if (name == "left" || name == "right") && strings.HasPrefix(l.text[l.at:], ".") {
			l.at++
		}
		if name == "hspace" || name == "vspace" {
			l.argument()
		}
	case textual[name]:
		words, ok := l.argument()
		if !ok {
			return nil // \mathrm without braces: what follows is read as it is
		}
		return l.words(words)
	case name == "mathbb":
		set, _ := l.argument()
		if long, ok := boards[strings.TrimSpace(set)]; ok {
			set = long
		}
		l.add(token{kind: tLetter, text: set})
	case functions[name], greek[name]:
		l.symbol(name)
	case structural[name]:
		l.add(token{kind: tCommand, text: name})
	default:
		l.add(token{kind: tLetter, text: name}) // an unknown command is a symbol of its own
	}
	return nil
}

func runeLen(text string) int {
	_, n := utf8.DecodeRuneInString(text)
	return n
}

// knownCommand is the length of the longest prefix of name that is a command:
// \quadx is \quad x. It is 0 when there is none.
func knownCommand(name string) int {
	for n := len(name); n > 1; n-- {
		p := name[:n]
		if _, ok := marks[`\`+p]; ok || skipped[p] || textual[p] || greek[p] || structural[p] || functions[p] {
			return n
		}
	}
	return 0
}

// argument takes {…} off the text, if it stands there.
func (l *lexer) argument() (string, bool) {
	rest := strings.TrimLeft(l.text[l.at:], " ")
	if !strings.HasPrefix(rest, "{") {
		return "", false
	}
	depth := 0
	for i := range len(rest) {
		switch rest[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				l.at = len(l.text) - len(rest) + i + 1
				return rest[1:i], true
			}
		}
	}
	l.at = len(l.text)
	return rest[1:], true
}

// words adds what stands in \text{…}: a separator, a formula or words.
func (l *lexer) words(words string) error {
	words = strings.Trim(words, " \t\n.$~")
	bare := strings.TrimFunc(words, func(r rune) bool { return r == ',' || r == ' ' })
	if inner, ok := strings.CutPrefix(bare, "("); ok && len(inner) == 2 && inner[1] == ')' {
		bare = inner[:1] // the letter of a choice
	}
	switch {
	case bare == "":
		if strings.Contains(words, ",") {
			l.mark(",")
		}
		l.spaced = true
	case isSeparator(bare):
		l.separator(bare)
	case strings.HasSuffix(bare, " and") || strings.HasSuffix(bare, " or"): // "for part (a) and"
		at := strings.LastIndexByte(bare, ' ')
		if strings.ContainsAny(bare, "0123456789") { // "between 6 and" has an answer of its own
			if err := l.words(bare[:at]); err != nil {
				return err
			}
		}
		l.separator(bare[at+1:])
	case alternative.MatchString(bare) && (len(l.tokens) > 0 || alternative.FindStringSubmatch(bare)[1] != ""): // "or anything"
		m := alternative.FindStringSubmatch(bare)
		if err := l.words(m[1]); err != nil {
			return err
		}
		l.separator(m[2] + m[3])
		return l.words(m[4])
	case unitOf(bare).base != "" && len(l.tokens) > 0 && endsValue(l.tokens[len(l.tokens)-1]):
		l.add(token{kind: tWord, text: bare})
	case functions[bare] || utf8.RuneCountInString(bare) == 1 && unicode.IsLetter([]rune(bare)[0]):
		l.symbol(bare)
	case dated.MatchString(bare) && len(l.tokens) > 0 && endsValue(l.tokens[len(l.tokens)-1]): // "rather 8" after 7
		l.separator("or")
		l.add(token{kind: tWord, text: strings.Join(strings.Fields(bare), " ")})
	case dated.MatchString(bare) && !KnownWord(dated.FindStringSubmatch(bare)[1]): // "May 5, 2021"
		l.add(token{kind: tWord, text: strings.Join(strings.Fields(bare), " ")})
	case strings.ContainsAny(bare, "0123456789\\^"):
		saved := l.open
		inside := lexer{text: bare, prose: true}
		inner, err := inside.all()
		if err != nil {
			return err
		}
		l.open = saved
		for _, t := range inner {
			l.add(t)
		}
	default:
		l.add(token{kind: tWord, text: strings.Join(strings.Fields(bare), " ")})
	}
	return nil
}

// hedges are words before another answer.
const hedges = `and/or|or|maybe|perhaps|possibly|alternatively|otherwise|else|oder|ou`

// alternative parts words at a hedge, and at an "and" that they begin with: what follows
// is an answer of its own, and no unit that may be dropped.
var alternative = regexp.MustCompile(`(?i)^(?:(?:(.+?)[\s,]+)??(` + hedges + `)|(and))\b[\s,]*(\S.*)$`)

var hedged = regexp.MustCompile(`^\W*(?i:` + hedges + `)\b`)

// Hedged says that a text, after an answer, begins with a word such as "or" or "maybe":
// what follows is another answer.
func Hedged(text string) bool { return hedged.MatchString(text) }

// dated is a text that begins with a word and goes on with a number.
var dated = regexp.MustCompile(`^([A-Za-z]{3,})[.,]? \d+[\d, ]*$`)

// endsOperand: the last token is no operator and no opening bracket.
func (l *lexer) endsOperand() bool {
	if len(l.tokens) == 0 {
		return false
	}
	last := l.tokens[len(l.tokens)-1]
	return last.kind != tMark || endsValue(last) || l.after("]", "%", "!", "'", "deg", "|", "/")
}

// endsValue: a unit may follow this token.
func endsValue(t token) bool {
	return t.kind == tNumber || t.kind == tMark && (t.text == "}" || t.text == ")")
}

// separator adds a comma for "and" or "or".
func (l *lexer) separator(word string) {
	l.mark(",")
	l.tokens[len(l.tokens)-1].or = strings.HasPrefix(strings.ToLower(word), "or")
}

func isSeparator(word string) bool {
	switch strings.ToLower(word) {
	case "and", "or", "and/or", "or else", "and also":
		return true
	}
	return false
}

// symbol adds a letter or a function's name, whichever name is.
func (l *lexer) symbol(name string) {
	switch {
	case functions[name]:
		l.add(token{kind: tCommand, text: name})
	default:
		l.add(token{kind: tLetter, text: name})
	}
}

// plainWords are runs of letters that mean something without a backslash.
var plainWords = map[string]string{"infinity": "inf", "infty": "inf", "inf": "inf", "oo": "inf", "Infinity": "inf", "union": "cup", "percent": "%", "percentage": "%", "pct": "%",
	"degrees": "deg", "degree": "deg", "cup": "cup", "per": "/"}

// letters reads a run of letters: a known word, a word, or single variables.
func (l *lexer) letters() {
	rest := l.text[l.at:]
	n := strings.IndexFunc(rest, func(r rune) bool { return !unicode.IsLetter(r) || symbols[string(r)] != "" })
	if n < 0 {
		n = len(rest)
	}
	if n == 0 { // a Greek letter or another symbol
		_, n = utf8.DecodeRuneInString(rest)
		l.at += n
		l.symbol(symbols[rest[:n]])
		return
	}
	run := rest[:n]
	for _, w := range []string{"or", "and"} { // "(11,7)or(7,11)", "1orW(x)"
		if after, ok := strings.CutPrefix(run, w); ok && (after == "" || !l.spaced && unicode.IsUpper([]rune(after)[0])) {
			l.at += len(w)
			l.separator(w)
			return
		}
	}
	if Hedged(run) && len(l.tokens) > 0 && strings.TrimSpace(rest[n:]) != "" { // "7 maybe eight"
		l.at += n
		l.separator(run)
		return
	}
	if run == "x" && l.isTimes(rest[n:]) {
		l.at += n
		l.mark("*")
		return
	}
	l.at += n
	if after, ok := strings.CutPrefix(rest[n:], ".m"); ok && strings.Contains("apAP", run) { // 3:45 p.m.
		l.at = len(l.text) - len(strings.TrimPrefix(after, "."))
		l.add(token{kind: tWord, text: strings.ToLower(run) + "m"})
		return
	}
	if run == "U" && l.after(")", "]", `\}`) && startsSet.MatchString(l.text[l.at:]) {
		l.mark("cup")
		return
	}
	m, isWord := plainWords[run]
	switch {
	case isWord:
		l.mark(m)
	case run == "min" && len(l.tokens) > 0 && l.tokens[len(l.tokens)-1].kind == tNumber && !strings.HasPrefix(l.text[l.at:], "("):
		l.add(token{kind: tWord, text: run})
	case run == "sqrt" || functions[run]:
		l.symbol(run)
	case run == "mod":
		l.add(token{kind: tCommand, text: run})
	case greek[run] && len(run) > 1:
		l.symbol(run)
	case utf8.RuneCountInString(run) >= 4 || l.prose && len(run) > 1 || units[run] != (unit{}) && len(run) > 1 && l.endsOperand():
		l.add(token{kind: tWord, text: run})
	default:
		for _, r := range run {
			l.add(token{kind: tLetter, text: string(r)})
		}
	}
}

// isTimes: an x between two numbers, with a space on both sides or on none, is a sign:
// 1.5 x 10^12, 2x3. after is what follows it.
func (l *lexer) isTimes(after string) bool {
	digits := strings.TrimLeft(after, " ")
	return len(l.tokens) > 0 && l.tokens[len(l.tokens)-1].kind == tNumber &&
		digits != "" && isDigit(digits[0]) && l.spaced == (len(digits) < len(after))
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// KnownWord reports whether a word of plain text has a meaning in an answer: a
// function, a unit, a Greek letter, "and", "or".
func KnownWord(word string) bool {
	lower := strings.ToLower(word)
	return functions[lower] || lower == "mod" || greek[word] || units[lower] != (unit{}) || plainWords[lower] != "" || isSeparator(lower) ||
		strings.HasPrefix(word, "or") && len(word) == 3 && unicode.IsUpper(rune(word[2]))
}
