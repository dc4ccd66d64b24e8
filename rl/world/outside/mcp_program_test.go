package outside

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// serveTools is a server of the Model Context Protocol, written from its specification: of 2026-07-28
// (https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning), or of a revision with a handshake.
// Modes say which, and how it misbehaves.
func serveTools(modes []string) {
	value := func(mode, without string) string {
		for _, m := range modes {
			if v, ok := strings.CutPrefix(m, mode+"="); ok {
				return v
			}
		}
		return without
	}
	revision, notes := value("revision", modern), value("notes", "")
	note := func(text string) {
		if notes == "" {
			return
		}
		f, err := os.OpenFile(notes, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			panic(err)
		}
		fmt.Fprintln(f, text)
		f.Close()
	}
	if slices.Contains(modes, "counted") {
		note("started")
	}
	say := func(m map[string]any) {
		m["jsonrpc"] = "2.0"
		text, err := json.Marshal(m)
		if err != nil {
			panic(err)
		}
		fmt.Println(string(text))
	}
	tool := func(name, argument string) map[string]any {
		properties := map[string]any{}
		if argument != "" {
			properties[argument] = map[string]any{"type": "string"}
		}
		return map[string]any{"name": name, "description": "It is " + name + ".", "inputSchema": map[string]any{"type": "object", "properties": properties}, "icons": []any{}}
	}
	greeted, calls := false, 0
	if marker := value("late", ""); marker != "" { // it begins slowly once the file is there
		if _, err := os.Stat(marker); err == nil {
			clock, cancel := context.WithTimeout(context.Background(), probeClock+time.Second)
			<-clock.Done()
			cancel()
		}
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, MaxLine)
	for lines.Scan() {
		var m struct {
			ID     any
			Method string
			Result any
			Error  *struct{ Code int }
			Params struct {
				Meta      map[string]any `json:"_meta"`
				Name      string
				Cursor    string
				Arguments map[string]any
				RequestID int    `json:"requestId"`
				Version   string `json:"protocolVersion"`
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			panic(err)
		}
		result := func(r map[string]any) {
			if revision == modern {
				r["resultType"] = "complete"
			}
			say(map[string]any{"id": m.ID, "result": r})
		}
		refuse := func(code int, text string, data any) {
			say(map[string]any{"id": m.ID, "error": map[string]any{"code": code, "message": text, "data": data}})
		}
		text := func(text string) {
			result(map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}})
		}
		if value("mute", "nothing") == m.Method {
			hang()
		}
		said := m.Params.Meta["io.modelcontextprotocol/protocolVersion"]
		switch {
		case m.Method == "" && m.Error != nil: // an answer to what the server asked
			note(fmt.Sprintf("refused with %d", m.Error.Code))
			continue
		case m.Method == "":
			note("answered")
			continue
		case m.Method == "notifications/cancelled":
			note(fmt.Sprintf("cancelled %d", m.Params.RequestID))
			continue
		case m.Method == "notifications/initialized":
			greeted = true
			continue
		case revision == modern && (said != modern || m.Params.Meta["io.modelcontextprotocol/clientCapabilities"] == nil):
			refuse(unsupportedVersion, "Unsupported protocol version", map[string]any{"supported": []string{modern}, "requested": said})
			continue
		case revision == "dual" && m.Method == "server/discover":
			refuse(unsupportedVersion, "Unsupported protocol version", map[string]any{"supported": []string{"2025-11-25"}, "requested": said})
			continue
		case revision == "other":
			refuse(unsupportedVersion, "Unsupported protocol version", map[string]any{"supported": []string{"2031-01-01"}, "requested": said})
			continue
		case revision != modern && m.Method == "initialize":
			version := m.Params.Version
			if revision != "dual" {
				version = revision
			}
			say(map[string]any{"method": "notifications/message", "params": map[string]any{"level": "info", "data": "hello"}})
			result(map[string]any{"protocolVersion": version, "capabilities": map[string]any{"tools": map[string]any{}}, "serverInfo": map[string]any{"name": "scripted", "version": "1"}})
			continue
		case revision != modern && !greeted && slices.Contains(modes, "dies"):
			os.Exit(9)
		case revision != modern && !greeted && slices.Contains(modes, "silent"):
			continue
		case revision != modern && !greeted:
			refuse(-32601, "Method not found", nil)
			continue
		}
		switch m.Method {
		case "server/discover":
			result(map[string]any{"supportedVersions": []string{modern}, "capabilities": map[string]any{"tools": map[string]any{}}})
		case "tools/list":
			switch {
			case m.Params.Cursor == "":
				result(map[string]any{"tools": []any{tool("echo-text", "text"), tool("fail", "")}, "nextCursor": "2"})
			case value("bad", "") != "":
				result(map[string]any{"tools": []any{map[string]any{"name": "bad", "inputSchema": json.RawMessage(value("bad", ""))}}})
			default:
				names := []string{"ask", "break", "count", "die", "image", "input", "junk", "slow", "structured", "variable", "wrong"}
				var tools []any
				for _, name := range names {
					tools = append(tools, tool(name, ""))
				}
				if _, err := os.Stat(value("more", "")); err == nil {
					tools = append(tools, tool("more", ""))
				}
				result(map[string]any{"tools": tools})
			}
		case "tools/call":
			calls++
			switch m.Params.Name {
			case "count":
				text(fmt.Sprint(calls))
			case "wrong":
				refuse(invalidParams, "no such page", nil)
			case "echo-text":
				text(fmt.Sprint(m.Params.Arguments["text"]))
			case "fail":
				result(map[string]any{"content": []any{map[string]any{"type": "text", "text": "no paper"}}, "isError": true})
			case "ask":
				for i, method := range []string{"sampling/createMessage", "elicitation/create", "roots/list", "ping"} {
					say(map[string]any{"id": fmt.Sprint("s", i), "method": method, "params": map[string]any{}})
				}
				text("asked")
			case "break":
				refuse(-32603, "out of ink", nil)
			case "die":
				os.Exit(7)
			case "image":
				result(map[string]any{"content": []any{map[string]any{"type": "image", "data": "AA==", "mimeType": "image/png"}, map[string]any{"type": "resource", "resource": map[string]any{"uri": "file:///a", "text": "a text"}}, map[string]any{"type": "resource_link", "uri": "file:///b"}}})
			case "input":
				say(map[string]any{"id": m.ID, "result": map[string]any{"resultType": "input_required", "inputRequests": map[string]any{}}})
			case "junk":
				fmt.Println("hello")
			case "slow":
			case "structured":
				result(map[string]any{"content": []any{}, "structuredContent": map[string]any{"n": 5}})
			case "variable":
				text(os.Getenv("RLZERO_TOKEN"))
			}
		}
	}
}
