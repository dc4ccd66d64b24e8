package endpoint

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/rlzero/rlzero/internal/awake"
	"github.com/rlzero/rlzero/rl/panel"
	"github.com/rlzero/rlzero/verify/judge"
)

// Bounds on what a server says.
const (
	maxReply  = 1 << 20 // bytes of a body
	maxHeader = 1 << 16 // bytes of the header
)

// refusals are the statuses by which a server says that it does not take a question.
var refusals = []int{http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity}

const (
	idHeader = "X-Request-Id"
	own      = "rlzero-" // what the names of requests begin with
)

// message is of a conversation.
type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// request is the body of one.
type request struct {
	Model       string    `json:"model,omitempty"`
	Messages    []message `json:"messages"`
	MaxTokens   int       `json:"max_tokens"`
	Temperature float64   `json:"temperature"`
	Seed        uint64    `json:"seed"`
}

// New makes what asks.
func New() panel.Ask {
	client := &http.Client{
		Transport:     &http.Transport{DisableCompression: true, MaxResponseHeaderBytes: maxHeader},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return func(ctx context.Context, at panel.Server, q panel.Query) (judge.Said, error) {
		late := fmt.Errorf("there is no answer after %v s", at.Seconds)
		ctx, cancel := awake.WithTimeout(ctx, time.Duration(at.Seconds*float64(time.Second)), late)
		defer cancel()
		said, err := ask(ctx, client, at, q)
		if errors.Is(context.Cause(ctx), late) {
			return judge.Said{}, panel.Failing{Err: late}
		}
		return said, err
	}
}

// ask sends a question and reads the reply.
func ask(ctx context.Context, client *http.Client, at panel.Server, q panel.Query) (judge.Said, error) {
	body, err := json.Marshal(request{at.Model, []message{{"user", q.Text}}, q.MaxTokens, q.Temperature, q.Seed})
	if err != nil {
		return judge.Said{}, err
	}
	sum := sha256.Sum256(body)
	id := own + hex.EncodeToString(sum[:12])
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+at.Address+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return judge.Said{}, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(idHeader, id)
	r.Header["Idempotency-Key"] = nil // is not sent: net/http asks again where a server has closed an idle connection
	reply, err := client.Do(r)
	if err != nil {
		return judge.Said{}, panel.Failing{Err: fmt.Errorf("%s cannot be asked: %w", at.Address, innermost(err))}
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(io.LimitReader(reply.Body, maxReply+1))
	switch {
	case err != nil:
		return judge.Said{}, panel.Failing{Err: fmt.Errorf("the answer of %s ends early: %w", at.Address, innermost(err))}
	case reply.StatusCode != http.StatusOK:
		err := fmt.Errorf("%s answers with status %d: %s", at.Address, reply.StatusCode, refusal(text))
		switch {
		case reply.StatusCode >= 500, reply.StatusCode == http.StatusTooManyRequests:
			err = panel.Failing{Err: err}
		case slices.Contains(refusals, reply.StatusCode):
			err = panel.Refused{Err: err}
		}
		return judge.Said{}, err
	case len(text) > maxReply:
		return judge.Said{}, fmt.Errorf("the answer of %s has more than %d bytes", at.Address, maxReply)
	}
	return read(text, id, reply.Header.Get(idHeader))
}

// innermost is the error that caused others, without addresses and ports of this process.
func innermost(err error) error {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err
}

// refusal is what a server says of a status, one line.
func refusal(text []byte) string {
	var body struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	said := string(text)
	if json.Unmarshal(text, &body) == nil && body.Error.Message != "" {
		said = body.Error.Message
	}
	return strings.Join(strings.Fields(said), " ")
}

// read reads a reply to the request of a name. named is the name that its header has; "": none.
func read(text []byte, id, named string) (judge.Said, error) {
	var body struct {
		ID      string `json:"id"`
		Choices []struct {
			Message struct {
				Content *string `json:"content"`
			} `json:"message"`
			Finish string `json:"finish_reason"`
		} `json:"choices"`
		Usage struct {
			Tokens int `json:"completion_tokens"`
		} `json:"usage"`
	}
	if err := json.Unmarshal(text, &body); err != nil {
		return judge.Said{}, fmt.Errorf("the answer is no chat completion: %w", err)
	}
	for _, name := range []string{named, body.ID} {
		if at := strings.Index(name, own); at >= 0 && !strings.HasPrefix(name[at:], id) {
			return judge.Said{}, errors.New("the answer is to another question")
		}
	}
	if n := len(body.Choices); n != 1 {
		return judge.Said{}, fmt.Errorf("the answer has %d choices; accepted: 1", n)
	}
	c := body.Choices[0]
	switch {
	case c.Finish != "stop" && c.Finish != "length":
		return judge.Said{}, fmt.Errorf("the answer ended by finish_reason %q; accepted: stop, length", c.Finish)
	case c.Message.Content == nil:
		return judge.Said{}, errors.New("the answer has no text")
	case body.Usage.Tokens < 0 || body.Usage.Tokens > 1<<30:
		return judge.Said{}, fmt.Errorf("the answer has completion_tokens %d; accepted: 0 to %d", body.Usage.Tokens, 1<<30)
	}
	return judge.Said{Text: *c.Message.Content, Tokens: body.Usage.Tokens, Ended: c.Finish == "stop"}, nil
}
