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
	invalid  = "invalid_request_error"
	codeLost = "device_lost"
)

// bad refuses a key of a request.
func bad(param, format string, args ...any) *fault {
	return &fault{http.StatusBadRequest, invalid, "", param, fmt.Sprintf(format, args...)}
}

// unsupported refuses a key that asks for what is not done.
func unsupported(param, format string, args ...any) *fault {
	return &fault{http.StatusBadRequest, invalid, "unsupported_parameter", param, fmt.Sprintf(format, args...)}
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

// body is the JSON of a fault.
func (f *fault) body() []byte {
	orNull := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	data, err := json.Marshal(map[string]any{"error": map[string]any{"message": f.message, "type": f.kind, "param": orNull(f.param), "code": orNull(f.code)}})
	if err != nil {
		panic(err) // four texts
	}
	return data
}

func (f *fault) write(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	switch f.status {
	case http.StatusTooManyRequests:
		h.Set("Retry-After", "1")
	case http.StatusInternalServerError:
		h.Set("X-Should-Retry", "false") // OpenAI's clients read it: the next try would end in the same way
	}
	extend(w)
	w.WriteHeader(f.status)
	w.Write(append(f.body(), '\n')) // a client that has gone away needs nothing
}

// Refuse writes the refusal of a [web.API].
func Refuse(w http.ResponseWriter, status int, why string) {
	nameRequest(w)
	f := &fault{status, "permission_error", "forbidden_host", "", why}
	if status == http.StatusUnauthorized {
		f.kind, f.code = "authentication_error", "invalid_api_key"
	}
	f.write(w)
}
