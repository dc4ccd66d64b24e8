package template

import (
	"fmt"
	"slices"
	"strings"
)

// parser turns tokens into statements. The grammar is that of
// https://jinja.palletsprojects.com/en/stable/templates/
type parser struct {
	tokens []token
	next   int
	loops  int               // open for loops of this macro
	soft   int               // open ifs: an unknown filter or test in them fails when it runs
	faults []error           // unknown filters and tests elsewhere
	depth  int               // of nested expressions and statements
	uses   []map[string]bool // special names that the open macros use
	tags   map[string]func(pos int) (stmt, error)
}

// maxNesting bounds nested brackets and blocks of a template.
const maxNesting = 300

func parse(tokens []token) ([]stmt, error) {
	p := &parser{tokens: tokens}
	p.tags = map[string]func(int) (stmt, error){
		"if": p.ifTag, "for": p.forTag, "set": p.setTag, "with": p.withTag, "macro": p.macroTag, "call": p.callTag,
		"filter": p.filterTag, "block": p.blockTag, "autoescape": p.autoescapeTag, "generation": p.generationTag,
		"print": p.printTag, "break": p.jumpTag, "continue": p.jumpTag,
	}
	body, _, err := p.body()
	if err == nil && len(p.faults) > 0 {
		err = p.faults[0]
	}
	return body, err
}

func (p *parser) peek() token { return p.tokens[p.next] }

func (p *parser) advance() token {
	t := p.tokens[p.next]
	if t.kind != tokEOF {
		p.next++
	}
	return t
}

// is reports whether the token is an operator, or a name, of that text.
func (t token) is(text string) bool {
	return (t.kind == tokOp || t.kind == tokName) && t.text == text
}

// skip goes over an operator or name if it stands here.
func (p *parser) skip(text string) bool {
	if !p.peek().is(text) {
		return false
	}
	p.next++
	return true
}

func (p *parser) expect(text string) (token, error) {
	t := p.peek()
	if !t.is(text) {
		return t, failAt(t.pos, "found %s, expected %q", t.describe(), text)
	}
	return p.advance(), nil
}

func (p *parser) expectName() (token, error) {
	t := p.peek()
	if t.kind != tokName {
		return t, failAt(t.pos, "found %s, expected a name", t.describe())
	}
	return p.advance(), nil
}

func (p *parser) expectKind(k kind) error {
	if t := p.peek(); t.kind != k {
		return failAt(t.pos, "found %s, expected %s", t.describe(), token{kind: k}.describe())
	}
	p.advance()
	return nil
}

func (p *parser) enter() error {
	if p.depth++; p.depth > maxNesting {
		return failAt(p.peek().pos, "the template nests deeper than %d levels", maxNesting)
	}
	return nil
}

func (p *parser) leave() { p.depth-- }

// body reads statements up to one of the end tags, whose name it returns and goes
// over; without end tags, up to the end of the template.
func (p *parser) body(ends ...string) ([]stmt, string, error) {
	if err := p.enter(); err != nil {
		return nil, "", err
	}
	defer p.leave()
	var out []stmt
	for {
		t := p.advance()
		switch t.kind {
		case tokEOF:
			if len(ends) > 0 {
				return nil, "", failAt(t.pos, "the template ends inside a block; close it with {%% %s %%}", ends[len(ends)-1])
			}
			return out, "", nil
		case tokData:
			out = append(out, &data{t.text})
		case tokVarBegin:
			e, err := p.tuple(false)
			if err != nil {
				return nil, "", err
			}
			if err := p.expectKind(tokVarEnd); err != nil {
				return nil, "", err
			}
			out = append(out, &output{t.pos, e})
		case tokBlockBegin:
			tag, err := p.expectName()
			if err != nil {
				return nil, "", err
			}
			if slices.Contains(ends, tag.text) {
				return out, tag.text, nil
			}
			st, err := p.statement(tag, ends)
			if err != nil {
				return nil, "", err
			}
			out = append(out, st)
			if err := p.expectKind(tokBlockEnd); err != nil {
				return nil, "", err
			}
		}
	}
}

func (p *parser) statement(tag token, ends []string) (stmt, error) {
	if f, ok := p.tags[tag.text]; ok {
		return f(tag.pos)
	}
	switch {
	case slices.Contains([]string{"include", "import", "from", "extends"}, tag.text):
		return nil, failAt(tag.pos, "the tag '%s' reads another template; a chat template is one file", tag.text)
	case len(ends) > 0:
		return nil, failAt(tag.pos, "found the tag '%s'; expected another statement, or %s", tag.text, strings.Join(ends, " or "))
	}
	return nil, failAt(tag.pos, "there is no tag '%s'", tag.text)
}

// block reads the end of a tag and the statements after it, up to the end tag.
func (p *parser) block(ends ...string) ([]stmt, string, error) {
	p.skip(":")
	if err := p.expectKind(tokBlockEnd); err != nil {
		return nil, "", err
	}
	return p.body(ends...)
}

// scoped is block for a tag that has variables of its own. An if around it does
// not soften what is in it.
func (p *parser) scoped(ends ...string) ([]stmt, string, error) {
	soft := p.soft
	p.soft = 0
	body, end, err := p.block(ends...)
	p.soft = soft
	return body, end, err
}

// unknown notes a filter or test that there is none of.
func (p *parser) unknown(pos int, message string) {
	if p.soft == 0 {
		p.faults = append(p.faults, failAt(pos, "%s", message))
	}
}

func (p *parser) ifTag(int) (stmt, error) {
	st := &ifStmt{}
	p.soft++
	defer func() { p.soft-- }()
	for {
		test, err := p.tuple(true)
		if err != nil {
			return nil, err
		}
		body, end, err := p.block("elif", "else", "endif")
		if err != nil {
			return nil, err
		}
		st.tests, st.bodies = append(st.tests, test), append(st.bodies, body)
		if end == "elif" {
			continue
		}
		if end == "else" {
			if body, _, err = p.block("endif"); err != nil {
				return nil, err
			}
			st.bodies = append(st.bodies, body)
		}
		return st, nil
	}
}

func (p *parser) forTag(pos int) (stmt, error) {
	st := &forStmt{pos: pos}
	var err error
	if st.target, err = p.targets(false); err != nil {
		return nil, err
	}
	if _, err = p.expect("in"); err != nil {
		return nil, err
	}
	if st.in, err = p.tuple(true); err != nil {
		return nil, err
	}
	if p.skip("if") {
		if st.filter, err = p.expression(); err != nil {
			return nil, err
		}
	}
	st.recursive = p.skip("recursive")
	p.loops++
	body, end, err := p.scoped("endfor", "else")
	p.loops--
	if err != nil {
		return nil, err
	}
	if st.body = body; end == "else" {
		st.empty, _, err = p.scoped("endfor")
	}
	return st, err
}

// targets reads what an assignment sets; attributes of namespaces if they may be.
func (p *parser) targets(attributes bool) (target, error) {
	pos := p.peek().pos
	first, err := p.target(attributes)
	if err != nil || !p.peek().is(",") {
		return first, err
	}
	out := target{pos: pos, parts: []target{first}}
	for p.skip(",") {
		if t := p.peek(); t.kind != tokName && !t.is("(") || t.is("in") {
			break
		}
		part, err := p.target(attributes)
		if err != nil {
			return out, err
		}
		out.parts = append(out.parts, part)
	}
	return out, nil
}

func (p *parser) target(attributes bool) (target, error) {
	if p.skip("(") {
		if err := p.enter(); err != nil {
			return target{}, err
		}
		defer p.leave()
		t, err := p.targets(attributes)
		if err != nil {
			return t, err
		}
		_, err = p.expect(")")
		return t, err
	}
	t, err := p.targetName()
	if err != nil || !attributes || !p.skip(".") {
		return target{pos: t.pos, name: t.text}, err
	}
	attr, err := p.expectName()
	return target{pos: t.pos, name: t.text, attr: attr.text}, err
}

var constants = map[string]any{"true": true, "True": true, "false": false, "False": false, "none": nil, "None": nil}

func (p *parser) targetName() (token, error) {
	t, err := p.expectName()
	if _, ok := constants[t.text]; ok && err == nil {
		err = failAt(t.pos, "cannot assign to '%s'", t.text)
	}
	return t, err
}

func (p *parser) setTag(pos int) (stmt, error) {
	t, err := p.targets(true)
	if err != nil {
		return nil, err
	}
	if p.skip("=") {
		value, err := p.tuple(false)
		return &setStmt{pos, t, value}, err
	}
	filters, err := p.blockFilters(false)
	if err != nil {
		return nil, err
	}
	body, _, err := p.scoped("endset")
	return &setBlock{pos, t, filters, body}, err
}

// blockFilters reads |filters of a block; bare is for the first without its bar.
func (p *parser) blockFilters(bare bool) ([]*filterExpr, error) {
	var out []*filterExpr
	for bare || p.skip("|") {
		bare = false
		f, err := p.filter(nil)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

func (p *parser) withTag(int) (stmt, error) {
	st := &withStmt{}
	for p.peek().kind != tokBlockEnd {
		if len(st.targets) > 0 {
			if _, err := p.expect(","); err != nil {
				return nil, err
			}
		}
		t, err := p.target(false)
		if err != nil {
			return nil, err
		}
		if _, err := p.expect("="); err != nil {
			return nil, err
		}
		v, err := p.expression()
		if err != nil {
			return nil, err
		}
		st.targets, st.values = append(st.targets, t), append(st.values, v)
	}
	var err error
	st.body, _, err = p.scoped("endwith")
	return st, err
}

// signature reads the parameters of a macro.
func (p *parser) signature(m *macro) error {
	if _, err := p.expect("("); err != nil {
		return err
	}
	for !p.peek().is(")") {
		if len(m.params) > 0 {
			if _, err := p.expect(","); err != nil {
				return err
			}
		}
		t, err := p.targetName()
		if err != nil {
			return err
		}
		if slices.Contains(m.params, t.text) {
			return failAt(t.pos, "the parameter '%s' appears twice", t.text)
		}
		m.params = append(m.params, t.text)
		if p.skip("=") {
			v, err := p.expression()
			if err != nil {
				return err
			}
			m.defaults = append(m.defaults, v)
		} else if len(m.defaults) > 0 {
			return failAt(t.pos, "the parameter '%s' has no default and follows one that has", t.text)
		}
	}
	_, err := p.expect(")")
	return err
}

// macroBody reads the body of a macro or call block.
func (p *parser) macroBody(m *macro, end string) error {
	m.uses = map[string]bool{}
	p.uses = append(p.uses, m.uses)
	loops := p.loops
	p.loops = 0
	var err error
	m.body, _, err = p.scoped(end)
	p.loops = loops
	p.uses = p.uses[:len(p.uses)-1]
	return err
}

func (p *parser) macroTag(pos int) (stmt, error) {
	t, err := p.targetName()
	if err != nil {
		return nil, err
	}
	m := &macro{pos: pos, name: t.text}
	if err := p.signature(m); err != nil {
		return nil, err
	}
	return &macroStmt{m}, p.macroBody(m, "endmacro")
}

func (p *parser) callTag(pos int) (stmt, error) {
	m := &macro{pos: pos, name: "caller"}
	if p.peek().is("(") {
		if err := p.signature(m); err != nil {
			return nil, err
		}
	}
	e, err := p.expression()
	if err != nil {
		return nil, err
	}
	c, ok := e.(*callExpr)
	if !ok {
		return nil, failAt(pos, "a call block needs a call, as in {%% call name() %%}")
	}
	return &callBlock{pos, m, c}, p.macroBody(m, "endcall")
}

func (p *parser) filterTag(int) (stmt, error) {
	filters, err := p.blockFilters(true)
	if err != nil {
		return nil, err
	}
	body, _, err := p.scoped("endfilter")
	return &filterBlock{filters, body}, err
}

func (p *parser) blockTag(int) (stmt, error) {
	if _, err := p.expectName(); err != nil {
		return nil, err
	}
	st := &blockStmt{scoped: p.skip("scoped")}
	p.skip("required")
	var err error
	if st.body, _, err = p.scoped("endblock"); err != nil {
		return nil, err
	}
	if p.peek().kind == tokName {
		p.advance() // {% endblock name %}
	}
	return st, nil
}

func (p *parser) autoescapeTag(pos int) (stmt, error) {
	e, err := p.expression()
	if err != nil {
		return nil, err
	}
	if c, ok := e.(*constant); !ok || truth(c.value) {
		return nil, failAt(pos, "autoescape can only be off: a prompt is not HTML")
	}
	body, _, err := p.scoped("endautoescape")
	return &scopeStmt{body}, err
}

func (p *parser) generationTag(pos int) (stmt, error) {
	body, _, err := p.scoped("endgeneration")
	return &generation{pos, body}, err
}

func (p *parser) printTag(pos int) (stmt, error) {
	out := &concat{pos: pos}
	for p.peek().kind != tokBlockEnd {
		if len(out.parts) > 0 {
			if _, err := p.expect(","); err != nil {
				return nil, err
			}
		}
		e, err := p.expression()
		if err != nil {
			return nil, err
		}
		out.parts = append(out.parts, e)
	}
	return &output{pos, out}, nil
}

func (p *parser) jumpTag(pos int) (stmt, error) {
	err := errBreak
	if p.tokens[p.next-1].text == "continue" {
		err = errContinue
	}
	if p.loops == 0 {
		return nil, failAt(pos, "%v", err)
	}
	return &jump{err}, nil
}

// unknownFilter says what is wrong with a filter's name.
func unknownFilter(name string) string {
	if why, ok := refusedFilters[name]; ok {
		return fmt.Sprintf("the filter '%s' is not supported: %s", name, why)
	}
	return fmt.Sprintf("there is no filter '%s'", name)
}
