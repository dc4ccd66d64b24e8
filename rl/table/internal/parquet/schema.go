package parquet

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// node is a field of the schema.
type node struct {
	element
	path     string // names from the root, with dots
	children []*node
	column   int // of a leaf: its index in a row group

	// Levels of an entry that reaches this node: how many repeated fields, and how
	// many that may be absent, lie on the way to it, itself included.
	repetitionLevel, definitionLevel int
}

// ConvertedType, parquet.thrift: the annotations that came before LogicalType.
var converted = map[int]logical{
	0: {kind: logicalString}, 1: {kind: logicalMap}, 2: {kind: logicalMap}, 3: {kind: logicalList}, 4: {kind: logicalEnum},
	6: {kind: logicalDate}, 7: {kind: logicalTime, unit: 1}, 8: {kind: logicalTime, unit: 2},
	9: {kind: logicalTimestamp, unit: 1}, 10: {kind: logicalTimestamp, unit: 2},
	11: {kind: logicalInteger, unsigned: true}, 12: {kind: logicalInteger, unsigned: true},
	13: {kind: logicalInteger, unsigned: true}, 14: {kind: logicalInteger, unsigned: true},
	19: {kind: logicalJSON},
}

// convertedDecimal is the ConvertedType whose scale stands in the schema element.
const convertedDecimal = 5

// buildSchema makes the tree of a schema and lists its leaves.
func buildSchema(elements []element) (root *node, leaves []*node, err error) {
	if len(elements) == 0 {
		return nil, nil, errors.New("the schema is empty")
	}
	b := builder{elements: elements}
	elements[0].repetition = required
	root, err = b.node(nil)
	if err == nil && len(b.elements) > 0 {
		err = fmt.Errorf("the schema has %d fields that belong to no group", len(b.elements))
	}
	return root, b.leaves, err
}

type builder struct {
	elements []element // that are left
	leaves   []*node
	depth    int
}

func (b *builder) node(parent *node) (*node, error) {
	if b.depth++; b.depth > maxDepth || len(b.elements) == 0 {
		return nil, fmt.Errorf("the schema is damaged: it has groups that lack fields, or is nested deeper than %d", maxDepth)
	}
	defer func() { b.depth-- }()
	n := &node{element: b.elements[0]}
	b.elements = b.elements[1:]
	if !utf8.ValidString(n.name) {
		return nil, fmt.Errorf("the name %q of a column is not UTF-8 text", n.name)
	}
	if n.logical.kind == 0 {
		n.logical = converted[n.converted]
		if n.converted == convertedDecimal {
			n.logical = logical{kind: logicalDecimal, scale: n.scale}
		}
	}
	if parent != nil {
		n.path = strings.TrimPrefix(parent.path+"."+n.name, ".")
		n.repetitionLevel, n.definitionLevel = parent.repetitionLevel, parent.definitionLevel
	}
	if n.repetition != required {
		n.definitionLevel++
	}
	if n.repetition == repeated {
		n.repetitionLevel++
	}
	if n.kind >= 0 && n.element.children == 0 {
		if n.kind > typeFixed || n.kind == typeFixed && (n.length < 1 || n.length > maxPlain) {
			return nil, fmt.Errorf("column %s has physical type %d of %d bytes, which is not supported", n.path, n.kind, n.length)
		}
		n.column = len(b.leaves)
		b.leaves = append(b.leaves, n)
		return n, nil
	}
	for range n.element.children {
		child, err := b.node(n)
		if err != nil {
			return nil, err
		}
		n.children = append(n.children, child)
	}
	if len(n.children) == 0 {
		return nil, fmt.Errorf("group %q of the schema has no fields", n.path)
	}
	return n, nil
}

// maxPlain bounds values of fixed length.
const maxPlain = 1 << 20 // bytes

// first is the first leaf below a node: its levels say what of the node is there.
func (n *node) first() *node {
	for len(n.children) > 0 {
		n = n.children[0]
	}
	return n
}

// listElement is what the elements of a LIST are, where the repeated field is only a
// wrapping (LogicalTypes.md, Lists: backward compatibility rules); nil if n is no list.
func (n *node) listElement() (repeatedField, element *node) {
	if n.logical.kind != logicalList || len(n.children) != 1 || n.children[0].repetition != repeated {
		return nil, nil
	}
	inner := n.children[0]
	if len(inner.children) != 1 || inner.name == "array" || inner.name == n.name+"_tuple" {
		return inner, nil
	}
	return inner, inner.children[0]
}

// mapEntries is the repeated field of a MAP; nil if n is none.
func (n *node) mapEntries() *node {
	if n.logical.kind == logicalMap && len(n.children) == 1 && n.children[0].repetition == repeated {
		return n.children[0]
	}
	return nil
}
