package outside

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/rl/world"
)

// Listed is a tool as a server lists it.
type Listed struct {
	Name   string          `json:"name"`
	About  string          `json:"description,omitempty"`
	Schema json.RawMessage `json:"inputSchema"`
}

// StartClock is how long a program may take until its first line, for each answer to rows, and for the list of its
// tools, in time that this process runs.
const StartClock = time.Minute

// MostTalks is how many episodes may have a process of a server at once.
const MostTalks = 64

// maxToolText is how long a tool may be described, in bytes.
const maxToolText = 1 << 16

// Specs are those of tools, from the text of List.
func Specs(text string, effects bool) ([]world.Spec, error) {
	all, err := listed(text)
	if err != nil {
		return nil, err
	}
	return specsOf(all, effects)
}

// listed reads the text of List.
func listed(text string) (all []Listed, err error) {
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return nil, fmt.Errorf("the list of tools: %w", err)
	}
	return all, nil
}

// otherCharacter is what a name of a tool may have, and a name in calls may not.
var otherCharacter = regexp.MustCompile(`[^A-Za-z0-9_]`)

// specsOf are those of tools. In names of tools other characters than letters, digits and _ become _.
func specsOf(all []Listed, effects bool) (specs []world.Spec, err error) {
	for _, t := range all {
		name := otherCharacter.ReplaceAllString(t.Name, "_")
		var schema struct {
			Type       string                                    `json:"type"`
			Properties map[string]struct{ Type json.RawMessage } `json:"properties"`
		}
		switch {
		case !world.ToolName(name):
			return nil, fmt.Errorf("a tool is called %s; accepted: at most 64 characters, the first one no digit", terminal.Quote(t.Name))
		case slices.ContainsFunc(specs, func(s world.Spec) bool { return s.Name == name }):
			return nil, hint.With(fmt.Errorf("two tools are called %q", name), `only = ["%s"] takes one of them`, t.Name)
		case json.Unmarshal(t.Schema, &schema) != nil || schema.Type != "object":
			return nil, fmt.Errorf("the arguments of tool %s have the schema %s; accepted: one of an object", t.Name, terminal.Quote(string(t.Schema)))
		case len(t.About)+len(t.Schema) > maxToolText:
			return nil, fmt.Errorf("tool %s is described in %d bytes; accepted: at most %d", t.Name, len(t.About)+len(t.Schema), maxToolText)
		}
		spec := world.Spec{Name: name, About: t.About, Args: t.Schema, Effects: effects}
		for key, p := range schema.Properties {
			if len(schema.Properties) == 1 && string(p.Type) == `"string"` {
				spec.Text = key
			}
		}
		specs = append(specs, spec)
	}
	return specs, nil
}
