//go:build !js

package outside

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/rlzero/rlzero/internal/awake"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/rl/world"
)

// A client of the Model Context Protocol over standard input and output. Names and codes are those of its
// schema (https://modelcontextprotocol.io/specification/2026-07-28/schema, and /2025-11-25/schema for servers
// that begin with a handshake).

// Revisions of the protocol: one without a handshake, and those with one, the newest first.
const modern = "2026-07-28"

var legacy = []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

// Codes of errors.
const (
	invalidRequest     = -32600
	methodNotFound     = -32601
	invalidParams      = -32602
	unsupportedVersion = -32022
)

// Bounds of what a server says.
const (
	maxMessage = 16 << 20 // bytes of a line
	maxTools   = 256
	maxPages   = 64 // of the list of tools
)

// probeClock is how long a server of which nothing is known has to answer whether it needs no handshake: older ones
// may stay silent.
const probeClock = 5 * time.Second

// era is what is known of the revisions that a server speaks.
type era int32

const (
	unknown era = iota
	withHandshake
	withoutHandshake
)

// client talks to a server.
type client struct {
	*child
	meta map[string]any // of each request; nil: there was a handshake

	mu      sync.Mutex
	last    int
	waiting map[int]chan response
	late    map[int]bool // requests that were given up
}

// message is a line of either side.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

// rpcError is an error of the protocol.
type rpcError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *rpcError) Error() string {
	return fmt.Sprintf("it answers with error %d: %s", e.Code, terminal.Line(e.Message, 200))
}

// response is what came of a request.
type response struct {
	result json.RawMessage
	err    error
}

// connect starts a server and agrees on a revision of the protocol.
func connect(ctx context.Context, c Command, known era) (*client, error) {
	s, err := launch(c)
	if err != nil {
		return nil, err
	}
	if known != withHandshake {
		clock := probeClock
		if known == withoutHandshake {
			clock = StartClock
		}
		err := s.discover(ctx, clock)
		if err == nil {
			return s, nil
		}
		if !errors.Is(err, errLegacy) || known == withoutHandshake {
			s.end(err)
			return nil, err
		}
		if s.over() { // it ends where it is asked what it does not know
			if s, err = launch(c); err != nil {
				return nil, err
			}
		}
	}
	err = s.initialize(ctx)
	var refused *rpcError
	if errors.As(err, &refused) && known == unknown && s.discover(ctx, StartClock) == nil { // it began slowly, and needs none
		err = nil
	}
	if err != nil {
		s.end(err)
		return nil, err
	}
	return s, nil
}

// launch starts a server.
func launch(c Command) (*client, error) {
	made, err := begin(c, maxMessage)
	if err != nil {
		return nil, err
	}
	s := &client{child: made, waiting: map[int]chan response{}, late: map[int]bool{}}
	go s.serve(s.heard)
	return s, nil
}

// over says whether the server has ended.
func (s *client) over() bool {
	select {
	case <-s.dead:
		return true
	default:
		return false
	}
}

// errLegacy is that a server needs a handshake, as far as can be told.
var errLegacy = errors.New("it does not speak revision " + modern)

// discover asks a server whether it speaks the revision without a handshake. It has the clock to answer.
func (s *client) discover(ctx context.Context, clock time.Duration) error {
	s.meta = map[string]any{
		"io.modelcontextprotocol/protocolVersion":    modern,
		"io.modelcontextprotocol/clientInfo":         clientInfo,
		"io.modelcontextprotocol/clientCapabilities": struct{}{},
	}
	probe, cancel := awake.WithTimeout(ctx, clock, errLegacy)
	defer cancel()
	var found struct {
		Versions []string `json:"supportedVersions"`
	}
	err := s.ask(probe, "server/discover", map[string]any{}, &found)
	var refused *rpcError
	if errors.As(err, &refused) && refused.Code == unsupportedVersion {
		var data struct {
			Supported []string `json:"supported"`
		}
		if json.Unmarshal(refused.Data, &data) == nil {
			found.Versions = data.Supported
		}
		err = nil
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		s.meta = nil
		return fmt.Errorf("%w: %w", errLegacy, err)
	case slices.Contains(found.Versions, modern):
		return nil
	case slices.ContainsFunc(found.Versions, func(v string) bool { return slices.Contains(legacy, v) }):
		s.meta = nil
		return errLegacy
	}
	return fmt.Errorf("it speaks %s; accepted: %s, %s", terminal.Line(strings.Join(found.Versions, ", "), 200), modern, strings.Join(legacy, ", "))
}

// clientInfo says who asks.
var clientInfo = map[string]string{"name": "rlzero", "version": "1"}

// initialize is the handshake of older revisions.
func (s *client) initialize(ctx context.Context) error {
	var agreed struct {
		Version string `json:"protocolVersion"`
	}
	err := s.ask(ctx, "initialize", map[string]any{"protocolVersion": legacy[0], "capabilities": struct{}{}, "clientInfo": clientInfo}, &agreed)
	switch {
	case err != nil:
		return fmt.Errorf("the handshake: %w", err)
	case !slices.Contains(legacy, agreed.Version):
		return fmt.Errorf("it speaks revision %s; accepted: %s, %s", terminal.Quote(agreed.Version), modern, strings.Join(legacy, ", "))
	}
	return s.tell("notifications/initialized", nil)
}

// post sends a message.
func (s *client) post(m message) error {
	m.Version = "2.0"
	line, err := json.Marshal(m)
	if err != nil {
		return err
	}
	s.send(append(line, '\n'))
	return nil
}

// tell sends a notification.
func (s *client) tell(method string, params map[string]any) error {
	m := message{Method: method}
	if params != nil {
		m.Params = params
	}
	return s.post(m)
}

// ask sends a request and decodes its result. One that is late is cancelled.
func (s *client) ask(ctx context.Context, method string, params map[string]any, into any) error {
	if s.meta != nil {
		params["_meta"] = s.meta
	}
	came := make(chan response, 1)
	s.mu.Lock()
	s.last++
	id := s.last
	s.waiting[id] = came
	s.mu.Unlock()
	if err := s.post(message{ID: json.RawMessage(fmt.Sprint(id)), Method: method, Params: params}); err != nil {
		return err
	}
	var r response
	select {
	case r = <-came:
	case <-s.dead:
		select {
		case r = <-came: // it came before the end
		default:
			r.err = s.err
		}
	case <-ctx.Done():
		s.mu.Lock()
		delete(s.waiting, id)
		s.late[id] = true
		s.mu.Unlock()
		return errors.Join(context.Cause(ctx), s.tell("notifications/cancelled", map[string]any{"requestId": id, "reason": "it takes too long"}))
	}
	if r.err != nil {
		return r.err
	}
	var kind struct {
		Type string `json:"resultType"`
	}
	if err := json.Unmarshal(r.result, &kind); err != nil {
		return fmt.Errorf("%w: the result of %s is no object", world.ErrSpoken, method)
	}
	if kind.Type != "" && kind.Type != "complete" {
		return fmt.Errorf("the result of %s is %s: it asks for what this client does not offer", method, terminal.Quote(kind.Type))
	}
	if err := json.Unmarshal(r.result, into); err != nil {
		return fmt.Errorf("%w: the result of %s: %w", world.ErrSpoken, method, err)
	}
	return nil
}

// heard takes a line of the server. An error ends it.
func (s *client) heard(line []byte) error {
	m, err := parseMessage(line)
	if err != nil {
		return s.blamed(err)
	}
	switch {
	case m.Method != "" && m.ID == nil: // a notification
		return nil
	case m.Method == "ping":
		return s.post(message{ID: m.ID, Result: json.RawMessage("{}")})
	case m.Method != "":
		return s.post(message{ID: m.ID, Error: &rpcError{Code: methodNotFound, Message: "this client offers no sampling, no input and no roots"}})
	}
	var id int
	if json.Unmarshal(m.ID, &id) != nil {
		id = 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if came := s.waiting[id]; came != nil {
		delete(s.waiting, id)
		r := response{result: m.Result}
		if m.Error != nil {
			r.err = m.Error
		}
		came <- r
		return nil
	}
	if s.late[id] {
		delete(s.late, id)
		return nil
	}
	return fmt.Errorf("it answers with the id %s, for which nothing was asked", terminal.Line(string(m.ID), 80))
}

// blamed gives an error that the server is to blame for to whoever waits.
func (s *client) blamed(err error) error {
	err = fmt.Errorf("%w: %w", world.ErrSpoken, err)
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, came := range s.waiting {
		came <- response{err: err}
		delete(s.waiting, id)
	}
	return err
}

// parseMessage reads a line of a server.
func parseMessage(line []byte) (m message, err error) {
	quoted := terminal.Quote(string(line))
	switch {
	case !utf8.Valid(line):
		return m, fmt.Errorf("%s is not UTF-8 text", quoted)
	case json.Unmarshal(line, &m) != nil:
		return m, fmt.Errorf("%s is no message of JSON-RPC", quoted)
	}
	if err := lines.Once(line); err != nil {
		return m, fmt.Errorf("%s: %w", quoted, err)
	}
	if n := deep(line); n > maxDeepMessage {
		return m, fmt.Errorf("%s is nested %d deep; accepted: at most %d", quoted, n, maxDeepMessage)
	}
	if string(m.ID) == "null" {
		m.ID = nil
	}
	answers := 0
	for _, there := range []bool{m.Method != "", m.Result != nil, m.Error != nil} {
		if there {
			answers++
		}
	}
	if m.Version != "2.0" || answers != 1 || m.Method == "" && m.ID == nil {
		return m, fmt.Errorf(`%s is no message of JSON-RPC: it needs "jsonrpc":"2.0" and one of method, result and error`, quoted)
	}
	return m, nil
}

// maxDeepMessage is how deep objects and lists of a message may be nested.
const maxDeepMessage = 64
