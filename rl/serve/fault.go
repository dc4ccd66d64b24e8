package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/rlzero/rlzero/gpu"
)

// fault is an answer that tells what is wrong, in OpenAI's shape
// (https://platform.openai.com/docs/guides/error-codes).
type fault struct {
	status  int
	kind    string // error.type
	code    string // "": null
	param   string // the key that is wrong; "": null
	message string
}

func (f *fault) Error() string { return f.message }

const (
	invalid     = "invalid_request_error"
	codeLost    = "device_lost"
	codeTooLong = "context_length_exceeded"
)

// bad refuses a key of a request for which OpenAI has no code.
func bad(param, format string, args ...any) *fault { return coded("", param, format, args...) }

// coded refuses a key with OpenAI's code for what is wrong: how the codes are named is seen in the
// answers of its API alone.
func coded(code, param, format string, args ...any) *fault {
	return &fault{http.StatusBadRequest, invalid, code, param, fmt.Sprintf(format, args...)}
}

// unsupported refuses a key that asks for what is not done.
func unsupported(param, format string, args ...any) *fault {
	return coded("unsupported_parameter", param, format, args...)
}

// missing refuses a body without a key that it has to have.
func missing(param, format string, args ...any) *fault {
	return coded("missing_required_parameter", param, format, args...)
}

// invalidType refuses a value of another type of JSON.
func invalidType(param, format string, args ...any) *fault {
	return coded("invalid_type", param, format, args...)
}

// notList refuses what is to be a list that is not empty.
func notList(value json.RawMessage, param, format string, args ...any) *fault {
	if kindOf(value) == "an empty list" {
		return coded("empty_array", param, format, args...)
	}
	return invalidType(param, format, args...)
}

// invalidValue refuses a value that is none of those which are known.
func invalidValue(param, format string, args ...any) *fault {
	return coded("invalid_value", param, format, args...)
}

// faultOf is an error of the engine, or of its device.
func faultOf(ctx context.Context, err error) *fault {
	var f *fault
	switch {
	case errors.As(err, &f):
		return f
	case ctx.Err() != nil: // the server is shutting down, or nobody is left to read this
		return &fault{http.StatusServiceUnavailable, "server_error", "shutting_down", "", "the server is shutting down; the same request gives the same answer once it is back"}
	case errors.Is(err, gpu.ErrDeviceLost):
		return &fault{http.StatusInternalServerError, "server_error", codeLost, "", "the device was lost: " + err.Error()}
	}
	return &fault{http.StatusInternalServerError, "server_error", "", "", err.Error()}
}

// refusal is a fault in OpenAI's shape.
func refusal(f *fault) any {
	orNull := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	return map[string]any{"error": map[string]any{"message": f.message, "type": f.kind, "param": orNull(f.param), "code": orNull(f.code)}}
}

// encoded is the JSON of what can always be written.
func encoded(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // texts and numbers
	}
	return data
}

// write answers with a fault in the shape that a client reads.
func (f *fault) write(w http.ResponseWriter, shape func(*fault) any) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	switch f.status {
	case http.StatusTooManyRequests:
		h.Set("Retry-After", "1")
	case http.StatusInternalServerError:
		h.Set("X-Should-Retry", "false") // OpenAI's and Anthropic's clients read it: the next try would end in the same way
	}
	extend(w)
	w.WriteHeader(f.status)
	w.Write(append(encoded(shape(f)), '\n')) // a client that has gone away needs nothing
}

// Refuse writes the refusal of a [web.API].
func Refuse(w http.ResponseWriter, r *http.Request, status int, why string) {
	nameRequest(w, r)
	f := &fault{status, "permission_error", "forbidden_host", "", why}
	if status == http.StatusUnauthorized {
		f.kind, f.code = "authentication_error", "invalid_api_key"
	}
	f.write(w, routes[r.URL.Path].shape())
}
