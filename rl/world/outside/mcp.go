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
	"time"

	"github.com/rlzero/rlzero/internal/awake"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

// Server is a server of the Model Context Protocol over standard input and output.
type Server struct {
	Command Command
	Effects bool // its calls change something outside, so that none is made twice

	clock   time.Duration // that it has to begin, and to list its tools
	era     atomic.Int32  // what it is known to speak
	running chan struct{} // has an element for each process that an episode has
}

// NewServer is a server, which is not started yet.
func NewServer(c Command, effects bool) *Server {
	return &Server{Command: c, Effects: effects, clock: StartClock, running: make(chan struct{}, MostTalks)}
}

// connect starts the server.
func (s *Server) connect(ctx context.Context) (*client, error) {
	ctx, cancel := awake.WithTimeout(ctx, s.clock, fmt.Errorf("it does not begin within %v", s.clock))
	defer cancel()
	c, err := connect(ctx, s.Command, era(s.era.Load()))
	switch {
	case err != nil:
	case c.meta == nil:
		s.era.Store(int32(withHandshake))
	default:
		s.era.Store(int32(withoutHandshake))
	}
	return c, err
}

// List starts the server, asks for its tools and ends it. only are the names of those that are wanted; none: all.
// The text is what List gives each time, as long as the tools are the same.
func (s *Server) List(ctx context.Context, only []string) (text string, err error) {
	c, err := s.connect(ctx)
	if err != nil {
		return "", err
	}
	defer c.close()
	ctx, cancel := awake.WithTimeout(ctx, s.clock, fmt.Errorf("it does not list its tools within %v", s.clock))
	defer cancel()
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
func (s *Server) Tools(text string) ([]world.Tool, error) {
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

// mcpTool is a tool of a server. Each episode that calls it has a process of its own, which all tools of the
// server share.
type mcpTool struct {
	server *Server
	text   string   // of List
	only   []string // the tools in it
	name   string   // as the server calls it
	spec   world.Spec
}

var _ world.Sibling = mcpTool{}

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

// Set implements [world.Sibling].
func (t mcpTool) Set() any { return t.server }

// Open implements [world.Tool].
func (t mcpTool) Open(context.Context, verify.Problem) (world.Session, error) {
	return &mcpSession{talk: &talk{server: t.server}, tool: t.name}, nil
}

// Beside implements [world.Sibling].
func (t mcpTool) Beside(s world.Session) world.Session {
	return &mcpSession{talk: s.(*mcpSession).talk, tool: t.name, beside: true}
}

// talk is what an episode has to do with a server, through all of its tools. The server is started with the
// first call.
type talk struct {
	server *Server
	client *client // nil: it has not been started
	behind []call  // calls that a journal answered, and the server has not been told of
}

// call is a call of a tool.
type call struct {
	tool string
	args json.RawMessage
}

// mcpSession answers the calls of a tool in an episode.
type mcpSession struct {
	talk   *talk
	tool   string // as the server calls it
	beside bool   // another session ends the talk
}

var _ interface {
	world.Learner
	world.Starter
} = &mcpSession{}

// Close implements [world.Session].
func (s *mcpSession) Close() error {
	if t := s.talk; !s.beside && t.client != nil {
		t.client.close()
		<-t.server.running
		t.client = nil
	}
	return nil
}

// Told implements [world.Learner].
func (s *mcpSession) Told(args json.RawMessage, _ world.Answer) {
	s.talk.behind = append(s.talk.behind, call{s.tool, args})
}

// CatchUp implements [world.Starter].
func (s *mcpSession) CatchUp(ctx context.Context) error { return s.talk.caughtUp(ctx) }

// Call implements [world.Session].
func (s *mcpSession) Call(ctx context.Context, args json.RawMessage) (world.Answer, error) {
	if err := s.talk.caughtUp(ctx); err != nil {
		return world.Answer{}, err
	}
	return s.talk.make(ctx, call{s.tool, args})
}

// caughtUp starts the server and makes the calls that the journal answered, if that has not been done.
func (t *talk) caughtUp(ctx context.Context) error {
	if len(t.behind) > 0 && t.server.Effects {
		return fmt.Errorf("%w: the process that knew the %d calls before it is gone", world.ErrOnce, len(t.behind))
	}
	if t.client == nil {
		select {
		case t.server.running <- struct{}{}:
		case <-ctx.Done():
			return fmt.Errorf("%w: %d processes of the server hold an episode each; accepted: at most that many at once", world.ErrUnable, MostTalks)
		}
		c, err := t.server.connect(ctx)
		if err != nil {
			<-t.server.running
			return err
		}
		t.client = c
	}
	for ; len(t.behind) > 0; t.behind = t.behind[1:] {
		if _, err := t.make(ctx, t.behind[0]); err != nil {
			return fmt.Errorf("made again, since its process is new: %w", err)
		}
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

// make makes a call. An error of the protocol that says that the call is wrong is the policy's mistake. Where calls
// have effects every error of the protocol is: the call has been answered and cannot be tried again, so a policy
// that provokes errors would else never be scored.
func (t *talk) make(ctx context.Context, c call) (world.Answer, error) {
	var result struct {
		Content    []content       `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
		Failed     bool            `json:"isError"`
	}
	if err := t.client.ask(ctx, "tools/call", map[string]any{"name": c.tool, "arguments": c.args}, &result); err != nil {
		var refused *rpcError
		if errors.As(err, &refused) && (refused.Code == invalidParams || refused.Code == invalidRequest || t.server.Effects) {
			return world.Answer{Text: refused.Message, Failed: true}, nil
		}
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
