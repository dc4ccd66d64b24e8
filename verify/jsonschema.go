package verify

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

func init() {
	Register(Entry{
		Name:    "json_schema",
		Summary: "JSON that a schema accepts",
		Doc: fmt.Sprintf(`json_schema: right when the completion holds one JSON value that the schema accepts.

Drafts 4, 6, 7, 2019-09 and 2020-12 (the default where $schema is absent). Nothing is
loaded from files or a network: $ref works only inside the schema. Patterns are RE2.
The value may have %d parts, %d items in an array and %d levels; a repeated
key makes it wrong. As the drafts say, format is checked in drafts 4 to 7 and is only an
annotation in later ones.

Row: schema (an object); else its answer is the schema. The option takes precedence over both.

Options
schema    the schema. Default: the row's.
`+jsonExtractDoc+`
Not scored when there is no schema or it is not a valid one.
`, maxJSONNodes, maxJSONItems, maxJSONDepth),
		New: newJSONSchema,
	})
}

type jsonSchema struct {
	schema  *jsonschema.Schema // that of the options, or nil
	extract string
}

func newJSONSchema(options json.RawMessage) (Verifier, error) {
	o := struct {
		Schema  json.RawMessage `toml:"schema"`
		Extract string          `toml:"extract"`
	}{nil, ExtractJSON}
	if err := DecodeOptions(options, &o); err != nil {
		return nil, err
	}
	v := jsonSchema{extract: o.Extract}
	if o.Schema != nil {
		var err error
		if v.schema, err = compileSchema(string(o.Schema)); err != nil {
			return nil, fmt.Errorf("option schema: %w", err)
		}
	}
	return v, oneOf("extract", o.Extract, ExtractJSON, ExtractNone)
}

// noLoader refuses to load schemas from anywhere.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s is not part of the schema, and nothing is loaded from elsewhere", url)
}

const schemaURL = "mem:///schema.json"

func compileSchema(text string) (*jsonschema.Schema, error) {
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource(schemaURL, document); err != nil {
		return nil, err
	}
	schema, err := c.Compile(schemaURL)
	if err == nil && refersToItself(schema) {
		return nil, errors.New("a $ref leads back to itself")
	}
	return schema, err
}

// Check implements [Checker].
func (v jsonSchema) Check(row Problem) error {
	_, err := v.schemaOf(row)
	return err
}

// schemaOf is the schema of the options, else the row's.
func (v jsonSchema) schemaOf(row Problem) (*jsonschema.Schema, error) {
	if v.schema != nil {
		return v.schema, nil
	}
	text := row.Answer
	if raw, ok := row.Metadata["schema"]; ok {
		text = textOf(raw)
	}
	if text == "" {
		return nil, errors.New("the row has no schema and no answer")
	}
	schema, err := compileSchema(text)
	if err != nil {
		err = fmt.Errorf("the row's schema: %w", err)
	}
	return schema, err
}

// Verify implements [Verifier].
func (v jsonSchema) Verify(row Problem, completion string) Verdict {
	schema, err := v.schemaOf(row)
	if err != nil {
		return Abstain("%v", err)
	}
	text, rule, err := extractJSON(completion, v.extract)
	if err != nil {
		return Reject(text, rule, "%v", err)
	}
	value, err := decodeJSON(text)
	if err != nil {
		return Reject(text, rule, "%v", err)
	}
	var invalid *jsonschema.ValidationError
	switch err := schema.Validate(value); {
	case errors.As(err, &invalid):
		return Reject(text, rule, "%s", firstCause(invalid))
	case err != nil:
		return Reject(text, rule, "%v", err)
	}
	return Accept(text, rule, "the schema accepts it")
}

// inPlace are the parts of a schema that judge the same value as it does.
var inPlace = map[string]bool{"Ref": true, "RecursiveRef": true, "DynamicRef": true, "AllOf": true, "AnyOf": true, "OneOf": true,
	"Not": true, "If": true, "Then": true, "Else": true, "DependentSchemas": true, "Dependencies": true}

// eachPart calls f for the schemas that s is made of.
func eachPart(s *jsonschema.Schema, f func(part *jsonschema.Schema, inPlace bool)) {
	fields := reflect.ValueOf(s).Elem()
	for i := range fields.NumField() {
		if !fields.Type().Field(i).IsExported() {
			continue
		}
		here := inPlace[fields.Type().Field(i).Name]
		switch v := fields.Field(i).Interface().(type) {
		case *jsonschema.Schema:
			f(v, here)
		case *jsonschema.DynamicRef:
			if v != nil {
				f(v.Ref, here)
			}
		case []*jsonschema.Schema:
			for _, part := range v {
				f(part, here)
			}
		case map[string]*jsonschema.Schema:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				f(v[key], here)
			}
		case map[jsonschema.Regexp]*jsonschema.Schema:
			for _, part := range v { // in any order: something is found or not
				f(part, here)
			}
		case map[string]any: // of dependencies
			for _, key := range slices.Sorted(maps.Keys(v)) {
				part, _ := v[key].(*jsonschema.Schema)
				f(part, here)
			}
		}
	}
}

// refersToItself: some part of the schema hands a value back to the same part, as
// {"$ref":"#"} does, so that such a value could not be judged.
func refersToItself(s *jsonschema.Schema) bool {
	const under, done = 1, 2
	state := map[*jsonschema.Schema]int{}
	found := false
	rest := []*jsonschema.Schema{s}
	var visit func(s *jsonschema.Schema)
	visit = func(s *jsonschema.Schema) {
		if s == nil || state[s] != 0 {
			found = found || s != nil && state[s] == under
			return
		}
		state[s] = under
		eachPart(s, func(part *jsonschema.Schema, inPlace bool) {
			if inPlace {
				visit(part)
			} else if part != nil {
				rest = append(rest, part)
			}
		})
		state[s] = done
	}
	for len(rest) > 0 {
		next := rest[len(rest)-1]
		rest = rest[:len(rest)-1]
		visit(next)
	}
	return found
}

// firstCause is one line about the innermost reason.
func firstCause(e *jsonschema.ValidationError) string {
	for len(e.Causes) > 0 {
		e = e.Causes[0]
	}
	lines := strings.Split(strings.TrimSpace(e.Error()), "\n")
	return shown(strings.TrimLeft(lines[len(lines)-1], "- "))
}
