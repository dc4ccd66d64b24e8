package cli

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/rl/chat"
	"github.com/rlzero/rlzero/rl/infer"
	"github.com/rlzero/rlzero/rl/prompts"
)

// How conversations are written.
var (
	systemFlag = &cli.StringFlag{Name: "system", Usage: "system message for conversations that have none"}
	varFlag    = &cli.StringSliceFlag{Name: "var", Usage: "set a variable of the chat template: `NAME=VALUE`, such as enable_thinking=false"}
)

// templateVars reads --var: a value is JSON, or else text.
func templateVars(c *cli.Context) (map[string]any, error) {
	var vars map[string]any
	for _, pair := range c.StringSlice("var") {
		name, text, ok := strings.Cut(pair, "=")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, badValue("var", pair, "NAME=VALUE, such as enable_thinking=false")
		}
		var value any
		if json.Unmarshal([]byte(text), &value) != nil {
			value = text
		}
		if vars == nil {
			vars = map[string]any{}
		}
		vars[name] = value
	}
	return vars, nil
}

// chatOptions are --chat, --system and --var.
func chatOptions(c *cli.Context) (infer.ChatOptions, error) {
	vars, err := templateVars(c)
	return infer.ChatOptions{Always: c.Bool("chat"), System: c.String("system"), Options: chat.Options{Variables: vars}}, err
}

// needsChat refuses --system and --var where no line can be a conversation.
func needsChat(c *cli.Context) error {
	if c.Bool("chat") || c.IsSet("in") {
		return nil
	}
	for _, flag := range []string{"system", "var"} {
		if c.IsSet(flag) {
			return hint.With(usagef("--%s is about conversations, but the prompt is plain text", flag), "--chat makes the prompt a message of the user")
		}
	}
	return nil
}

// styleOf is what --form, --system and --var change of how prompts are written; nil:
// nothing.
func styleOf(c *cli.Context) (func(*prompts.Style), error) {
	forms := []string{prompts.Auto, prompts.Chat, prompts.Text}
	if form := c.String("form"); c.IsSet("form") && !slices.Contains(forms, form) {
		return nil, badChoice("form", form, forms...)
	}
	vars, err := templateVars(c)
	if err != nil {
		return nil, err
	}
	return func(s *prompts.Style) {
		if c.IsSet("form") {
			s.Form = c.String("form")
		}
		if c.IsSet("system") {
			s.System = c.String("system")
		}
		if vars != nil {
			s.Variables = vars
		}
	}, nil
}
