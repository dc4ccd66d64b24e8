package grammar

// Form is what a text may be.
type Form struct {
	add func(b *builder, from, to int32) error
}

// Text is a text as it is.
func Text(t string) Form {
	return Form{func(b *builder, from, to int32) error {
		b.text(from, t, to)
		return nil
	}}
}

// Object is any object of JSON.
func Object() Form {
	return Form{func(b *builder, from, to int32) error {
		b.called(from, ruleObject, to)
		return nil
	}}
}

// JSON is a value of a JSON schema. What is not supported is a [*SchemaError].
func JSON(schema []byte) Form {
	return Form{func(b *builder, from, to int32) error {
		v, err := readValue(schema)
		if err != nil {
			return unsupported("", "%v", err)
		}
		c := &schemas{b: b, root: v, rules: map[string]int32{}, heads: map[string][]string{}}
		if err := c.schema(v, "", "", from, to); err != nil {
			return err
		}
		return c.circular()
	}}
}

// Sequence is one form after the other.
func Sequence(forms ...Form) Form {
	return Form{func(b *builder, from, to int32) error {
		for _, f := range forms {
			next := b.node()
			if err := f.add(b, from, next); err != nil {
				return err
			}
			from = next
		}
		b.skip(from, to)
		return nil
	}}
}

// OneOf is one of several forms.
func OneOf(forms ...Form) Form {
	return Form{func(b *builder, from, to int32) error {
		for _, f := range forms {
			if err := f.add(b, from, to); err != nil {
				return err
			}
		}
		return nil
	}}
}

// List is a form once or several times, with another between.
func List(f, between Form) Form {
	return Form{func(b *builder, from, to int32) error {
		first, end := b.node(), b.node()
		b.skip(from, first)
		if err := f.add(b, first, end); err != nil {
			return err
		}
		b.skip(end, to)
		return between.add(b, end, first)
	}}
}
