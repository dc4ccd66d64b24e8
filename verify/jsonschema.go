package verify

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

func init() {
	Register(Entry{
		Name:    "json_schema",
		Summary: "JSON that a schema accepts",
		Doc: fmt.Sprintf(`json_schema: right when the completion holds one JSON value that the schema accepts.

Drafts 4, 6, 7, 2019-09 and 2020-12 (the default where $schema is absent). Nothing is
loaded from files or a network: $ref reaches inside the schema only. Patterns are RE2.
The value may have %d parts, %d items in an array and %d levels; a key that stands
twice makes it wrong.

Row: schema (an object); else its answer is the schema. The option stands above both.

Options
schema    the schema. Default: that of the row.
`+jsonExtractDoc+`
Not scored when there is no schema or it is none.
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
		Schema  json.RawMessage `json:"schema"`
		Extract string          `json:"extract"`
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
	return nil, fmt.Errorf("%s is not part of the schema, and nothing is loaded", url)
}

const schemaURL = "mem:///schema.json"

func compileSchema(text string) (*jsonschema.Schema, error) {
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	if err := c.AddResource(schemaURL, document); err != nil {
		return nil, err
	}
	return c.Compile(schemaURL)
}

// Verify implements [Verifier].
func (v jsonSchema) Verify(row Row, completion string) Verdict {
	schema := v.schema
	if schema == nil {
		text := row.Answer
		if raw, ok := row.Metadata["schema"]; ok {
			text = textOf(raw)
		}
		if text == "" {
			return Abstain("the row has no schema and no answer")
		}
		var err error
		if schema, err = compileSchema(text); err != nil {
			return Abstain("the row's schema: %v", err)
		}
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

// firstCause is one line about the innermost reason.
func firstCause(e *jsonschema.ValidationError) string {
	for len(e.Causes) > 0 {
		e = e.Causes[0]
	}
	lines := strings.Split(strings.TrimSpace(e.Error()), "\n")
	return shown(strings.TrimLeft(lines[len(lines)-1], "- "))
}
