package text

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/model/text/template"
)

func folderOf(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestReadChat: where a template is looked for, and which tokens it sees.
func TestReadChat(t *testing.T) {
	const config = `{"bos_token":"<b>","eos_token":{"content":"<e>"},"pad_token":null,"add_bos_token":true,"chat_template":"config {{ bos_token }}{{ eos_token }}{{ pad_token is defined }}{{ add_bos_token is defined }}{{ sep_token }}"}`
	for _, c := range []struct {
		name  string
		files map[string]string
		vars  map[string]any
		want  string
	}{
		{"config", map[string]string{"tokenizer_config.json": config, "special_tokens_map.json": `{"bos_token":"<old>","sep_token":"<s>"}`}, nil, "config <b><e>FalseFalse<s>"},
		{"file wins", map[string]string{"tokenizer_config.json": config, "chat_template.jinja": "file {{ bos_token }} {{ tools is none }}"}, nil, "file <b> True"},
		{"processor", map[string]string{"tokenizer_config.json": config, "chat_template.json": `{"chat_template":"json"}`}, nil, "json"},
		{"the line wins", map[string]string{"tokenizer_config.json": config}, map[string]any{"bos_token": "!"}, "config !<e>FalseFalse"},
		{"list", map[string]string{"tokenizer_config.json": `{"chat_template":[{"name":"default","template":"plain"},{"name":"tool_use","template":"tools"}]}`}, nil, "plain"},
		{"list with tools", map[string]string{"tokenizer_config.json": `{"chat_template":[{"name":"default","template":"plain"},{"name":"tool_use","template":"tools"}]}`}, map[string]any{"tools": "x"}, "tools"},
	} {
		chat, err := ReadChat(folderOf(t, c.files))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if r, err := chat.Render(c.vars, template.Options{}); err != nil || r.Text != c.want {
			t.Errorf("%s: got %q, %v; want %q", c.name, r.Text, err, c.want)
		}
	}
}

func TestReadChatRefused(t *testing.T) {
	for _, c := range []struct {
		files map[string]string
		want  string
	}{
		{map[string]string{"tokenizer_config.json": `{"chat_template":5}`}, `tokenizer_config.json: chat_template: found 5, accepted: a string, or a list of {"name", "template"}`},
		{map[string]string{"tokenizer_config.json": `{`}, "tokenizer_config.json: "},
		{map[string]string{"chat_template.jinja": "\n{% if"}, `chat_template.jinja: template "default": line 2, column 1: the tag has no end; close it with "%}"`},
		{map[string]string{"tokenizer_config.json": `{}`}, ErrNoChat.Error()},
	} {
		dir := folderOf(t, c.files)
		if _, err := ReadChat(dir); err == nil || !strings.HasPrefix(err.Error(), dir+": "+c.want) {
			t.Errorf("%v: got %v, want %s", c.files, err, c.want)
		}
	}
	if _, err := ReadChat(t.TempDir()); !errors.Is(err, ErrNoChat) {
		t.Errorf("an empty folder gives %v", err)
	}
	chat, err := ReadChat(folderOf(t, map[string]string{"tokenizer_config.json": `{"chat_template":[{"name":"rag","template":"x"}]}`}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := chat.Render(nil, template.Options{}); err == nil || !strings.Contains(err.Error(), `templates named ["rag"] and none named "default"`) {
		t.Errorf("%v", err)
	}
}

// TestTokenizerChat: the template that a tokenizer carries along.
func TestTokenizerChat(t *testing.T) {
	tok, err := NewWords([]string{wordsPAD, wordsEOS, "1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tok.Chat(); !errors.Is(err, ErrNoChat) {
		t.Errorf("without a template: %v", err)
	}
	tok.files[chatFile] = []byte("{{ eos_token }}")
	chat, err := tok.Chat()
	if err != nil {
		t.Fatal(err)
	}
	if r, err := chat.Render(nil, template.Options{}); err != nil || r.Text != "<eos>" {
		t.Errorf("%q %v", r.Text, err)
	}
}
