package text

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/model/gguf"
	"github.com/rlzero/rlzero/model/internal/jsonfile"
	"github.com/rlzero/rlzero/model/text/template"
)

// Chat writes conversations with the chat template of a model. It is immutable
// and safe for use by several goroutines.
type Chat struct {
	templates map[string]*template.Template // by name; most models have "default" alone
	tokens    map[string]any                // bos_token and the like, variables of the template
}

// ErrNoChat marks a model without a chat template.
var ErrNoChat = errors.New("the model has no chat template")

// Files of a chat template, in the order in which transformers looks at them.
const (
	chatFile     = "chat_template.jinja"
	chatJSONFile = "chat_template.json"
	configFile   = "tokenizer_config.json"
	specialsFile = "special_tokens_map.json"
)

// defaultTemplate is the name of a template that has none.
const defaultTemplate = "default"

// NewChat makes a chat from only the source of a template. The variables bos_token and eos_token
// are "<s>" and "</s>", since there is no model to define them.
func NewChat(source string) (*Chat, error) {
	t, err := template.Parse(source)
	if err != nil {
		return nil, err
	}
	return &Chat{map[string]*template.Template{defaultTemplate: t}, map[string]any{"bos_token": "<s>", "eos_token": "</s>"}}, nil
}

// ReadChat reads the chat template of a folder or a GGUF file and the names of its
// special tokens. The error is [ErrNoChat] if there is no template.
func ReadChat(dir string) (*Chat, error) {
	if gguf.IsFile(dir) {
		t, err := readGGUFFile(dir)
		if err != nil {
			return nil, err
		}
		c, err := t.Chat()
		if err != nil {
			err = fmt.Errorf("%s: %w", dir, err)
		}
		return c, err
	}
	files := map[string][]byte{}
	for _, name := range []string{chatFile, chatJSONFile, configFile, specialsFile} {
		data, err := jsonfile.Read(filepath.Join(dir, name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		files[name] = data
	}
	c, err := chatOf(files)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return c, nil
}

// Chat is the chat template among the files of the tokenizer. The error is
// [ErrNoChat] if there is none.
func (t *Tokenizer) Chat() (*Chat, error) { return chatOf(t.files) }

func chatOf(files map[string][]byte) (*Chat, error) {
	c := &Chat{map[string]*template.Template{}, map[string]any{}}
	for _, name := range []string{specialsFile, configFile} { // the second overrides the first
		if err := c.readTokens(name, files[name]); err != nil {
			return nil, err
		}
	}
	sources, from, err := templateSources(files)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		if c.templates[name], err = template.Parse(sources[name]); err != nil {
			return nil, fmt.Errorf("%s: template %q: %w", from, name, err)
		}
	}
	return c, nil
}

// readTokens reads the special tokens of a JSON file: keys that end in "_token",
// strings or objects with their "content".
func (c *Chat) readTokens(file string, data []byte) error {
	if data == nil {
		return nil
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(data, &keys); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	for key, raw := range keys { // into a map: no order
		if !strings.HasSuffix(key, "_token") {
			continue
		}
		var token string
		var object struct{ Content *string }
		switch {
		case json.Unmarshal(raw, &token) == nil && string(raw) != "null":
			c.tokens[key] = token
		case json.Unmarshal(raw, &object) == nil && object.Content != nil:
			c.tokens[key] = *object.Content
		}
	}
	return nil
}

// templateSources are the templates by name, and the file that they come from.
func templateSources(files map[string][]byte) (sources map[string]string, from string, err error) {
	if data, ok := files[chatFile]; ok {
		return map[string]string{defaultTemplate: string(data)}, chatFile, nil
	}
	for _, name := range []string{chatJSONFile, configFile} {
		var file struct {
			Chat json.RawMessage `json:"chat_template"`
		}
		data, ok := files[name]
		if !ok {
			continue
		}
		if err := json.Unmarshal(data, &file); err != nil {
			return nil, name, fmt.Errorf("%s: %w", name, err)
		}
		if len(file.Chat) == 0 || string(file.Chat) == "null" {
			continue
		}
		var one string
		if json.Unmarshal(file.Chat, &one) == nil {
			return map[string]string{defaultTemplate: one}, name, nil
		}
		var list []struct{ Name, Template string }
		if err := json.Unmarshal(file.Chat, &list); err != nil {
			return nil, name, fmt.Errorf(`%s: chat_template: found %s, accepted: a string, or a list of {"name", "template"}`, name, jsonfile.Describe(file.Chat))
		}
		sources = map[string]string{}
		for _, t := range list {
			sources[t.Name] = t.Template
		}
		return sources, name, nil
	}
	return nil, "", ErrNoChat
}

// Render writes a conversation. vars are the variables of the template, "messages"
// among them; tools and documents are none unless they are there. A model that has
// several templates takes "tool_use" if there are tools. An error of the template
// is a [*template.Error].
func (c *Chat) Render(vars map[string]any, o template.Options) (template.Result, error) {
	all := map[string]any{"tools": nil, "documents": nil}
	maps.Copy(all, c.tokens)
	maps.Copy(all, vars)
	t := c.templates[defaultTemplate]
	if tools := c.templates["tool_use"]; tools != nil && (all["tools"] != nil || t == nil) {
		t = tools
	}
	if t == nil {
		return template.Result{}, fmt.Errorf("the model has templates named %q and none named %q",
			slices.Sorted(maps.Keys(c.templates)), defaultTemplate)
	}
	return t.Render(all, o)
}
