//go:build !js

package outside

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/rlzero/rlzero/internal/awake"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

// Server is a server of the Model Context Protocol over standard input and output.
type Server struct {
	Command Command
	Effects bool // its calls change something outside, so that none is made twice

	handshake *atomic.Bool // it is known to need one
}

// NewServer is a server, which is not started yet.
func NewServer(c Command, effects bool) Server { return Server{c, effects, new(atomic.Bool)} }

// connect starts the server.
func (s Server) connect(ctx context.Context) (*client, error) {
	ctx, cancel := awake.WithTimeout(ctx, StartClock, fmt.Errorf("it does not begin within %v", StartClock))
	defer cancel()
	c, err := connect(ctx, s.Command, s.handshake.Load())
	if err == nil && c.meta == nil {
		s.handshake.Store(true)
	}
	return c, err
}

// List starts the server, asks for its tools and ends it. only are the names of those that are wanted; none: all.
// The text is what List gives each time, as long as the tools are the same.
func (s Server) List(ctx context.Context, only []string) (text string, err error) {
	c, err := s.connect(ctx)
	if err != nil {
		return "", err
	}
	defer c.close()
	all, err := c.list(ctx)
	if err != nil {
		return "", err
	}
	var names []string
	for _, t := range all {
		names = append(names, t.Name)
	}
	for _, name := range only {
		if !slices.Contains(names, name) {
			return "", hint.Unknown("tool of the server", name, names, "")
		}
	}
	if len(only) > 0 {
		all = slices.DeleteFunc(all, func(t Listed) bool { return !slices.Contains(only, t.Name) })
	}
	if len(all) == 0 {
		return "", errors.New("it lists no tools")
	}
	if _, err := specsOf(all, s.Effects); err != nil {
		return "", err
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err = enc.Encode(all)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// list asks for all tools, in the order of their names.
func (c *client) list(ctx context.Context) (all []Listed, err error) {
	params := map[string]any{}
	for range maxPages {
		var page struct {
			Tools []Listed `json:"tools"`
			Next  string   `json:"nextCursor"`
		}
		if err := c.ask(ctx, "tools/list", params, &page); err != nil {
			return nil, fmt.Errorf("tools/list: %w", err)
		}
		if all = append(all, page.Tools...); len(all) > maxTools {
			return nil, fmt.Errorf("it lists more than %d tools; accepted: at most that many", maxTools)
		}
		if page.Next == "" {
			for i := range all {
				var b bytes.Buffer
				if json.Compact(&b, all[i].Schema) == nil {
					all[i].Schema = b.Bytes()
				}
			}
			slices.SortFunc(all, func(a, b Listed) int { return cmp.Compare(a.Name, b.Name) })
			return all, nil
		}
		params = map[string]any{"cursor": page.Next}
	}
	return nil, fmt.Errorf("its list of tools has more than %d pages; accepted: at most that many", maxPages)
}

// Tools are those of the server, from the text of List.
func (s Server) Tools(text string) ([]world.Tool, error) {
	all, err := listed(text)
	if err != nil {
		return nil, err
	}
	specs, err := specsOf(all, s.Effects)
	if err != nil {
		return nil, err
	}
	var only []string
	for _, t := range all {
		only = append(only, t.Name)
	}
	tools := make([]world.Tool, len(all))
	for i := range all {
		tools[i] = mcpTool{s, text, only, all[i].Name, specs[i]}
	}
	return tools, nil
}

// mcpTool is a tool of a server. Each episode that calls it has a process of its own.
type mcpTool struct {
	server Server
	text   string   // of List
	only   []string // the tools in it
	name   string   // as the server calls it
	spec   world.Spec
}

// Spec implements [world.Tool].
func (t mcpTool) Spec() world.Spec { return t.spec }

// Test implements [world.Tool]: the server lists the same tools.
func (t mcpTool) Test(ctx context.Context) error {
	text, err := t.server.List(ctx, t.only)
	if err == nil && text != t.text {
		err = errors.New("its server lists other tools than before")
	}
	return err
}

// Open implements [world.Tool].
func (t mcpTool) Open(context.Context, verify.Problem) (world.Session, error) {
	return &mcpSession{mcpTool: t}, nil
}

// mcpSession answers the calls of an episode. The server is started with the first.
type mcpSession struct {
	mcpTool
	client *client // nil: it has not been started
}

// Close implements [world.Session].
func (s *mcpSession) Close() error {
	if s.client != nil {
		s.client.close()
	}
	return nil
}

// content is a part of a result.
type content struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Resource struct {
		URI  string `json:"uri"`
		Text string `json:"text"`
	} `json:"resource"`
	URI string `json:"uri"`
}

// String is the part as a policy reads it: texts as they are, of others what they are.
func (c content) String() string {
	switch {
	case c.Type == "text":
		return c.Text
	case c.Type == "resource" && c.Resource.Text != "":
		return c.Resource.Text
	case c.Type == "resource":
		return "[resource " + c.Resource.URI + "]"
	case c.Type == "resource_link":
		return "[resource " + c.URI + "]"
	}
	return "[" + cmp.Or(c.Type, "nothing") + "]"
}

// Call implements [world.Session].
func (s *mcpSession) Call(ctx context.Context, args json.RawMessage) (world.Answer, error) {
	if s.client == nil {
		var err error
		if s.client, err = s.server.connect(ctx); err != nil {
			return world.Answer{}, err
		}
	}
	var result struct {
		Content    []content       `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
		Failed     bool            `json:"isError"`
	}
	if err := s.client.ask(ctx, "tools/call", map[string]any{"name": s.name, "arguments": args}, &result); err != nil {
		return world.Answer{}, err
	}
	var parts []string
	for _, c := range result.Content {
		parts = append(parts, c.String())
	}
	text := strings.Join(parts, "\n")
	if parts == nil && result.Structured != nil {
		text = string(result.Structured)
	}
	return world.Answer{Text: text, Failed: result.Failed}, nil
}
