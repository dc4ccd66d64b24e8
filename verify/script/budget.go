package script

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// Starlark counts steps but not bytes: forty times s = s + s are forty steps and
// a terabyte. So before a script is compiled, its operators + * % << become
// calls that charge what they are about to make to a budget. A script cannot
// name them: no name of its own holds a $.
const (
	applyName = "$apply" // (operator, x, y): x operator y
	roomName  = "$room"  // (operator, x, y): y, for x operator= y
)

const growthLeft = "growth left" // thread-local *int, bytes

// predeclared is what scripts see besides Starlark's universe.
var predeclared = starlark.StringDict{
	"math":    modules["math"],
	"json":    modules["json"],
	"re":      modules["re"],
	"range":   starlark.NewBuiltin("range", boundedRange),
	applyName: starlark.NewBuiltin("operator", apply),
	roomName:  starlark.NewBuiltin("operator", room),
}

var (
	expressions = reflect.TypeFor[syntax.Expr]()
	statements  = reflect.TypeFor[syntax.Stmt]()
	clauses     = reflect.TypeFor[syntax.Node]() // of comprehensions
	growing     = []syntax.Token{syntax.PLUS, syntax.STAR, syntax.PERCENT, syntax.LTLT}
	charged     = map[syntax.Token]syntax.Token{ // by augmented assignment
		syntax.PLUS_EQ: syntax.PLUS, syntax.STAR_EQ: syntax.STAR, syntax.PERCENT_EQ: syntax.PERCENT, syntax.LTLT_EQ: syntax.LTLT,
	}
)

// budgeted puts the calls into a file. The error is about a statement that has
// to be written in another way.
func budgeted(file *syntax.File) error {
	return rewrite(reflect.ValueOf(&file.Stmts).Elem())
}

// rewrite goes through the statements and expressions below v.
func rewrite(v reflect.Value) error {
	switch v.Kind() {
	case reflect.Slice:
		for i := range v.Len() {
			if err := rewrite(v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Interface:
		if t := v.Type(); v.IsNil() || t != expressions && t != statements && t != clauses {
			return nil
		}
		if s, ok := v.Interface().(*syntax.AssignStmt); ok {
			if err := chargeAssignment(s); err != nil {
				return err
			}
		}
		if err := rewrite(v.Elem()); err != nil {
			return err
		}
		if b, ok := v.Interface().(*syntax.BinaryExpr); ok && slices.Contains(growing, b.Op) {
			v.Set(reflect.ValueOf(operation(applyName, b.Op, b.OpPos, b.X, b.Y)))
		}
	case reflect.Pointer:
		if !v.IsNil() && v.Elem().Kind() == reflect.Struct {
			return rewrite(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				if err := rewrite(f); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// chargeAssignment turns x += y into x += $room("+", x, y). What stands left is
// read twice, so it must not call anything.
func chargeAssignment(s *syntax.AssignStmt) error {
	op, ok := charged[s.Op]
	if !ok {
		return nil
	}
	plain := true
	syntax.Walk(s.LHS, func(n syntax.Node) bool {
		switch n.(type) {
		case nil, *syntax.Ident, *syntax.Literal, *syntax.DotExpr, *syntax.IndexExpr, *syntax.BinaryExpr, *syntax.UnaryExpr, *syntax.ParenExpr:
		default:
			plain = false
		}
		return plain
	})
	if !plain {
		return fmt.Errorf("%s: a call on the left of %s is not accepted: give its result a name first", s.OpPos, s.Op)
	}
	read := s.LHS
	if id, ok := read.(*syntax.Ident); ok { // as a use of the name, not its binding
		read = &syntax.Ident{NamePos: id.NamePos, Name: id.Name}
	}
	s.RHS = operation(roomName, op, s.OpPos, read, s.RHS)
	return nil
}

func operation(name string, op syntax.Token, at syntax.Position, x, y syntax.Expr) *syntax.CallExpr {
	sign := &syntax.Literal{Token: syntax.INT, TokenPos: at, Raw: fmt.Sprint(int(op)), Value: int64(op)}
	return &syntax.CallExpr{Fn: &syntax.Ident{NamePos: at, Name: name}, Lparen: at, Args: []syntax.Expr{sign, x, y}, Rparen: at}
}

func apply(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	op, err := charge(t, args)
	if err != nil {
		return nil, err
	}
	return starlark.Binary(op, args[1], args[2])
}

func room(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	_, err := charge(t, args)
	return args[2], err
}

// charge takes the bytes of x op y off what the call may still make.
func charge(t *starlark.Thread, args starlark.Tuple) (syntax.Token, error) {
	code, _ := starlark.AsInt32(args[0])
	op, x, y := syntax.Token(code), args[1], args[2]
	bytes := bytesOf(x) + bytesOf(y)
	_, first := x.(starlark.Int)
	_, second := y.(starlark.Int)
	if first && second && bytes > maxInteger { // their product takes more than linear time
		return op, fmt.Errorf("a whole number of more than %d bytes", maxInteger)
	}
	if op == syntax.STAR {
		if n, ok := x.(starlark.Int); ok && starlark.Len(y) >= 0 {
			bytes = times(n, y)
		} else if n, ok := y.(starlark.Int); ok && starlark.Len(x) >= 0 {
			bytes = times(n, x)
		}
	}
	if list, ok := y.(starlark.Tuple); ok && op == syntax.PERCENT {
		for _, v := range list {
			bytes += bytesOf(v)
		}
	}
	left, ok := t.Local(growthLeft).(*int)
	if !ok || bytes > float64(*left) {
		return op, fmt.Errorf("more than %d MiB made by + * %% <<", maxGrowth>>20)
	}
	*left -= int(bytes)
	return op, nil
}

func times(n starlark.Int, x starlark.Value) float64 { return max(0, float64(n.Float())) * bytesOf(x) }

// bytesOf is about what a value that can grow takes; 0 for others.
func bytesOf(v starlark.Value) float64 {
	switch v := v.(type) {
	case starlark.String:
		return float64(len(v))
	case starlark.Bytes:
		return float64(len(v))
	case *starlark.List:
		return 16 * float64(v.Len())
	case starlark.Tuple:
		return 16 * float64(v.Len())
	case starlark.Int:
		if _, small := v.Int64(); small {
			return 8
		}
		return float64(v.BigInt().BitLen()) / 8
	}
	return 0
}

// boundedRange is Starlark's range with an end to its length.
func boundedRange(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	v, err := starlark.Call(t, starlark.Universe["range"], args, kwargs)
	if err != nil {
		return nil, fmt.Errorf("%s", strings.TrimPrefix(err.Error(), b.Name()+": "))
	}
	if n := starlark.Len(v); n > maxRange {
		return nil, fmt.Errorf("%d numbers; accepted: at most %d", n, maxRange)
	}
	return v, nil
}
