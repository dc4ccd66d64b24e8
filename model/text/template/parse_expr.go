package template

import "fmt"

// The levels of expressions, from the one that binds least: if else, or, and, not,
// comparisons, + -, ~, * / // %, **, unary - and +, then calls, attributes, items,
// filters and tests. As in Jinja and unlike in Python, ** groups from the left, and
// -2**2 is 4.

// expression reads an expression without commas outside of brackets.
func (p *parser) expression() (expr, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	faults := len(p.faults)
	e, err := p.or()
	for err == nil && p.peek().is("if") {
		p.faults = p.faults[:faults] // e is soft
		pos := p.advance().pos
		c := &conditional{pos: pos, then: e}
		p.soft++
		if c.test, err = p.or(); err == nil && p.skip("else") {
			c.without, err = p.expression()
		}
		p.soft--
		e = c
	}
	return e, err
}

// tuple reads expressions between commas: a tuple if there is a comma. Bare ones
// are without if else, which means something else after them.
func (p *parser) tuple(bare bool) (expr, error) {
	read := p.expression
	if bare {
		read = p.or
	}
	first, err := read()
	if err != nil || !p.peek().is(",") {
		return first, err
	}
	t := &tupleExpr{items: []expr{first}}
	for p.skip(",") {
		if end := p.peek(); end.kind == tokVarEnd || end.kind == tokBlockEnd || end.is(")") || end.is("recursive") {
			break
		}
		e, err := read()
		if err != nil {
			return nil, err
		}
		t.items = append(t.items, e)
	}
	return t, nil
}

func (p *parser) or() (expr, error) {
	left, err := p.and()
	for err == nil && p.skip("or") {
		var right expr
		if right, err = p.and(); err == nil {
			left = &logic{true, left, right}
		}
	}
	return left, err
}

func (p *parser) and() (expr, error) {
	left, err := p.not()
	for err == nil && p.skip("and") {
		var right expr
		if right, err = p.not(); err == nil {
			left = &logic{false, left, right}
		}
	}
	return left, err
}

func (p *parser) not() (expr, error) {
	if t := p.peek(); t.is("not") {
		p.advance()
		if err := p.enter(); err != nil {
			return nil, err
		}
		defer p.leave()
		e, err := p.not()
		return &unary{t.pos, "not", e}, err
	}
	return p.comparison()
}

var comparisons = map[string]bool{"==": true, "!=": true, "<": true, "<=": true, ">": true, ">=": true}

func (p *parser) comparison() (expr, error) {
	first, err := p.sum()
	if err != nil {
		return nil, err
	}
	c := &comparison{pos: p.peek().pos, first: first}
	for {
		t := p.peek()
		op := ""
		switch {
		case t.kind == tokOp && comparisons[t.text], t.is("in"):
			op = t.text
			p.advance()
		case t.is("not") && p.tokens[p.next+1].is("in"):
			op = "not in"
			p.next += 2
		}
		if op == "" {
			break
		}
		e, err := p.sum()
		if err != nil {
			return nil, err
		}
		c.ops, c.operands = append(c.ops, op), append(c.operands, e)
	}
	if len(c.ops) == 0 {
		return first, nil
	}
	return c, nil
}

// leftToRight reads operands between operators that group from the left.
func (p *parser) leftToRight(operand func() (expr, error), ops ...string) (expr, error) {
	left, err := operand()
	for err == nil {
		t := p.peek()
		found := false
		for _, op := range ops {
			found = found || t.kind == tokOp && t.text == op
		}
		if !found {
			break
		}
		p.advance()
		var right expr
		if right, err = operand(); err == nil {
			left = &binary{t.pos, t.text, left, right}
		}
	}
	return left, err
}

func (p *parser) sum() (expr, error) { return p.leftToRight(p.concat, "+", "-") }

func (p *parser) concat() (expr, error) {
	first, err := p.product()
	if err != nil || !p.peek().is("~") {
		return first, err
	}
	c := &concat{pos: p.peek().pos, parts: []expr{first}}
	for p.skip("~") {
		e, err := p.product()
		if err != nil {
			return nil, err
		}
		c.parts = append(c.parts, e)
	}
	return c, nil
}

func (p *parser) product() (expr, error) { return p.leftToRight(p.power, "*", "/", "//", "%") }

func (p *parser) power() (expr, error) {
	return p.leftToRight(func() (expr, error) { return p.unary(true) }, "**")
}

// unary reads a sign or a primary with what follows it.
func (p *parser) unary(filters bool) (expr, error) {
	var e expr
	var err error
	if t := p.peek(); t.is("-") || t.is("+") {
		p.advance()
		if err := p.enter(); err != nil {
			return nil, err
		}
		defer p.leave()
		if e, err = p.unary(false); err == nil {
			e = &unary{t.pos, t.text, e}
		}
	} else {
		e, err = p.primary()
	}
	if err == nil {
		e, err = p.postfix(e)
	}
	if err == nil && filters {
		e, err = p.filters(e)
	}
	return e, err
}

func (p *parser) primary() (expr, error) {
	t := p.advance()
	switch t.kind {
	case tokName:
		if v, ok := constants[t.text]; ok {
			return &constant{v}, nil
		}
		for _, uses := range p.uses {
			switch t.text {
			case "caller", "varargs", "kwargs":
				uses[t.text] = true
			}
		}
		return &name{t.pos, t.text}, nil
	case tokString:
		text := t.text
		for p.peek().kind == tokString {
			text += p.advance().text
		}
		return &constant{text}, nil
	case tokNumber:
		return &constant{t.value}, nil
	case tokOp:
		switch t.text {
		case "(":
			return p.parenthesis()
		case "[":
			items, err := p.list("]")
			return &listExpr{items}, err
		case "{":
			return p.dict(t.pos)
		}
	}
	return nil, failAt(t.pos, "found %s, expected an expression", t.describe())
}

func (p *parser) parenthesis() (expr, error) {
	if p.skip(")") {
		return &tupleExpr{}, nil
	}
	e, err := p.tuple(false)
	if err == nil {
		_, err = p.expect(")")
	}
	return e, err
}

// list reads expressions between commas up to a closing bracket.
func (p *parser) list(end string) ([]expr, error) {
	var items []expr
	for !p.skip(end) {
		if len(items) > 0 {
			if _, err := p.expect(","); err != nil {
				return nil, err
			}
			if p.skip(end) {
				break
			}
		}
		e, err := p.expression()
		if err != nil {
			return nil, err
		}
		items = append(items, e)
	}
	return items, nil
}

func (p *parser) dict(pos int) (expr, error) {
	d := &dictExpr{pos: pos}
	for !p.skip("}") {
		if len(d.keys) > 0 {
			if _, err := p.expect(","); err != nil {
				return nil, err
			}
			if p.skip("}") {
				break
			}
		}
		key, err := p.expression()
		if err != nil {
			return nil, err
		}
		if _, err := p.expect(":"); err != nil {
			return nil, err
		}
		value, err := p.expression()
		if err != nil {
			return nil, err
		}
		d.keys, d.values = append(d.keys, key), append(d.values, value)
	}
	return d, nil
}

// postfix reads attributes, items and calls after an expression.
func (p *parser) postfix(e expr) (expr, error) {
	for {
		t := p.peek()
		var err error
		switch {
		case t.is("."):
			e, err = p.attribute(e)
		case t.is("["):
			e, err = p.subscript(e)
		case t.is("("):
			e, err = p.call(e)
		default:
			return e, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (p *parser) attribute(object expr) (expr, error) {
	p.advance()
	t := p.advance()
	switch {
	case t.kind == tokName:
		return &attrExpr{t.pos, object, t.text}, nil
	case t.kind == tokNumber:
		if _, ok := t.value.(float64); !ok {
			return &itemExpr{t.pos, object, &constant{t.value}}, nil
		}
	}
	return nil, failAt(t.pos, "found %s, expected the name of an attribute", t.describe())
}

func (p *parser) subscript(object expr) (expr, error) {
	pos := p.advance().pos
	var bounds [3]expr
	colons := 0
	var keys []expr
	for !p.skip("]") {
		t := p.peek()
		switch {
		case t.is(":") && colons < 2:
			p.advance()
			colons++
			continue
		case t.is(",") && colons == 0 && bounds[0] != nil:
			p.advance()
			keys, bounds[0] = append(keys, bounds[0]), nil
			continue
		}
		if bounds[colons] != nil {
			return nil, failAt(t.pos, "found %s, expected \"]\"", t.describe())
		}
		var err error
		if bounds[colons], err = p.expression(); err != nil {
			return nil, err
		}
	}
	switch {
	case len(keys) > 0 && colons == 0:
		if bounds[0] != nil {
			keys = append(keys, bounds[0])
		}
		return &itemExpr{pos, object, &tupleExpr{keys}}, nil
	case len(keys) > 0 || colons == 0 && bounds[0] == nil:
		return nil, failAt(pos, "expected an index or a slice, as in [0] or [1:]")
	case colons == 0:
		return &itemExpr{pos, object, bounds[0]}, nil
	}
	return &sliceExpr{pos, object, bounds[0], bounds[1], bounds[2]}, nil
}

func (p *parser) call(f expr) (expr, error) {
	pos := p.peek().pos
	args, err := p.arguments()
	return &callExpr{pos, f, args}, err
}

// arguments reads (a, b, name=c, *list, **dict).
func (p *parser) arguments() (arguments, error) {
	var a arguments
	open, err := p.expect("(")
	if err != nil {
		return a, err
	}
	for first := true; !p.skip(")"); first = false {
		if !first {
			if _, err := p.expect(","); err != nil {
				return a, err
			}
			if p.skip(")") {
				break
			}
		}
		t := p.peek()
		legal := false
		switch {
		case p.skip("**"):
			legal = a.kwargs == nil
			a.kwargs, err = p.expression()
		case p.skip("*"):
			legal = a.spread == nil && a.kwargs == nil
			a.spread, err = p.expression()
		case t.kind == tokName && p.tokens[p.next+1].is("="):
			p.next += 2
			legal = a.kwargs == nil
			var v expr
			v, err = p.expression()
			a.names, a.values = append(a.names, t.text), append(a.values, v)
		default:
			legal = a.spread == nil && a.kwargs == nil && len(a.names) == 0
			var v expr
			v, err = p.expression()
			a.args = append(a.args, v)
		}
		if err != nil {
			return a, err
		}
		if !legal {
			return a, failAt(open.pos, "the arguments of a call are positional ones, then name=value, *list and **dict")
		}
	}
	return a, nil
}

// filters reads |filter and is test after an expression.
func (p *parser) filters(e expr) (expr, error) {
	for {
		var err error
		switch t := p.peek(); {
		case t.is("|"):
			p.advance()
			e, err = p.filter(e)
		case t.is("is"):
			e, err = p.test(e)
		case t.is("("):
			e, err = p.call(e)
		default:
			return e, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (p *parser) filter(input expr) (*filterExpr, error) {
	t, err := p.expectName()
	if err != nil {
		return nil, err
	}
	f := &filterExpr{pos: t.pos, input: input, name: t.text}
	if _, ok := filters[t.text]; !ok {
		p.unknown(t.pos, unknownFilter(t.text))
	}
	if p.peek().is("(") {
		f.args, err = p.arguments()
	}
	return f, err
}

func (p *parser) test(input expr) (expr, error) {
	pos := p.advance().pos
	negated := p.skip("not")
	t, err := p.expectName()
	if err != nil {
		return nil, err
	}
	test := &testExpr{pos: t.pos, input: input, name: t.text}
	if _, ok := tests[t.text]; !ok {
		p.unknown(t.pos, fmt.Sprintf("there is no test '%s'", t.text))
	}
	switch next := p.peek(); {
	case next.is("("):
		test.args, err = p.arguments()
	case next.is("is"):
		return nil, failAt(next.pos, "tests cannot be chained with 'is'")
	case next.is("else") || next.is("or") || next.is("and"):
	case next.kind == tokName || next.kind == tokString || next.kind == tokNumber || next.is("[") || next.is("{"):
		var arg expr
		if arg, err = p.primary(); err == nil {
			arg, err = p.postfix(arg)
		}
		test.args.args = []expr{arg}
	}
	if err != nil || !negated {
		return test, err
	}
	return &unary{pos, "not", test}, nil
}
