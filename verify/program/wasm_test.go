package program

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/verify"
)

// modules are small WebAssembly modules, by what they do.
var modules = map[string]string{
	"adds":        "AGFzbQEAAAABBwFgAn9/AX8DAgEABwcBA2FkZAAACgkBBwAgACABags=",
	"adds64":      "AGFzbQEAAAABBwFgAn5+AX4DAgEABwcBA2FkZAAACgkBBwAgACABfAs=",
	"half":        "AGFzbQEAAAABBgFgAXwBfAMCAQAHCAEEaGFsZgAAChABDgAgAEQAAAAAAADgP6IL",
	"tenths":      "AGFzbQEAAAABBgFgAX0BfQMCAQAHCQEFdGVudGgAAAoMAQoAIABDzczMPZIL",
	"pair":        "AGFzbQEAAAABBwFgAX8Cf38DAgEABwgBBHBhaXIAAAoIAQYAIAAgAAs=",
	"none":        "AGFzbQEAAAABBAFgAAADAgEABwUBAWYAAAoEAQIACw==",
	"loops":       "AGFzbQEAAAABBQFgAAF/AwIBAAcFAQFmAAAKCwEJAANADAALQQEL",
	"startloops":  "AGFzbQEAAAABCAJgAABgAAF/AwMCAAEHBQEBZgABCAEACg4CBwADQAwACwsEAEEBCw==",
	"recurses":    "AGFzbQEAAAABBQFgAAF/AwIBAAcFAQFmAAAKCQEHABAAQQFqCw==",
	"traps":       "AGFzbQEAAAABBQFgAAF/AwIBAAcFAQFmAAAKBQEDAAAL",
	"grows":       "AGFzbQEAAAABBQFgAAF/AwIBAAUDAQABBwUBAWYAAAoSARAAA0BBEEAAQX9HDQALPwAL",
	"bigmemory":   "AGFzbQEAAAABBQFgAAF/AwIBAAUFAQCAgAQHBQEBZgAACgYBBABBAQs=",
	"tables":      "AGFzbQEAAAABBQFgAAF/AwIBAAR5FHAAgICAQHAAgICAQHAAgICAQHAAgICAQHAAgICAQHAAgICAQHAAgICAQHAAgICAQHAAgICAQHAAgICAQHAAgICAQHAAgICAQHAAgICAQHAAgICAQHAAgICAQHAAgICAQHAAgICAQHAAgICAQHAAgICAQHAAgICAQAcFAQFmAAAKBgEEAEEBCw==",
	"imports":     "AGFzbQEAAAABBQFgAAF/Ag4BA2VudgZzeXN0ZW0AAAMCAQAHBQEBZgABCgYBBABBAQs=",
	"echoes":      "AGFzbQEAAAABEANgBH9/f38Bf2AAAGABfwACZwMWd2FzaV9zbmFwc2hvdF9wcmV2aWV3MQdmZF9yZWFkAAAWd2FzaV9zbmFwc2hvdF9wcmV2aWV3MQhmZF93cml0ZQAAFndhc2lfc25hcHNob3RfcHJldmlldzEJcHJvY19leGl0AAIDAgEBBQMBAAEHEwIGX3N0YXJ0AAMGbWVtb3J5AgAKNAEyAEEAQcAANgIAQQRBgAg2AgBBAEEAQQFBCBAAGkEEQQgoAgA2AgBBAUEAQQFBCBABGgs=",
	"exits0":      "AGFzbQEAAAABEANgBH9/f38Bf2AAAGABfwACZwMWd2FzaV9zbmFwc2hvdF9wcmV2aWV3MQdmZF9yZWFkAAAWd2FzaV9zbmFwc2hvdF9wcmV2aWV3MQhmZF93cml0ZQAAFndhc2lfc25hcHNob3RfcHJldmlldzEJcHJvY19leGl0AAIDAgEBBQMBAAEHEwIGX3N0YXJ0AAMGbWVtb3J5AgAKOAE2AEEAQcAANgIAQQRBgAg2AgBBAEEAQQFBCBAAGkEEQQgoAgA2AgBBAUEAQQFBCBABGkEAEAIL",
	"exits3":      "AGFzbQEAAAABEANgBH9/f38Bf2AAAGABfwACZwMWd2FzaV9zbmFwc2hvdF9wcmV2aWV3MQdmZF9yZWFkAAAWd2FzaV9zbmFwc2hvdF9wcmV2aWV3MQhmZF93cml0ZQAAFndhc2lfc25hcHNob3RfcHJldmlldzEJcHJvY19leGl0AAIDAgEBBQMBAAEHEwIGX3N0YXJ0AAMGbWVtb3J5AgAKOAE2AEEAQcAANgIAQQRBgAg2AgBBAEEAQQFBCBAAGkEEQQgoAgA2AgBBAUEAQQFBCBABGkEDEAIL",
	"floods":      "AGFzbQEAAAABEANgBH9/f38Bf2AAAGABfwACZwMWd2FzaV9zbmFwc2hvdF9wcmV2aWV3MQdmZF9yZWFkAAAWd2FzaV9zbmFwc2hvdF9wcmV2aWV3MQhmZF93cml0ZQAAFndhc2lfc25hcHNob3RfcHJldmlldzEJcHJvY19leGl0AAIDAgEBBQMBAAEHEwIGX3N0YXJ0AAMGbWVtb3J5AgAKJAEiAEEAQcAANgIAQQRBgAg2AgADQEEBQQBBAUEIEAEaDAALCw==",
	"opens":       "AGFzbQEAAAABEgJgCX9/f39/fn5/fwF/YAABfwIkARZ3YXNpX3NuYXBzaG90X3ByZXZpZXcxCXBhdGhfb3BlbgAAAwIBAQUDAQABBw4CAWYAAQZtZW1vcnkCAAoZARcAQQNBAEEQQQpBAEJ/Qn9BAEHAABAACwsQAQBBEAsKZXRjL3Bhc3N3ZA==",
	"chance":      "AGFzbQEAAAABEgNgA39+fwF/YAJ/fwF/YAABfgJNAhZ3YXNpX3NuYXBzaG90X3ByZXZpZXcxDmNsb2NrX3RpbWVfZ2V0AAAWd2FzaV9zbmFwc2hvdF9wcmV2aWV3MQpyYW5kb21fZ2V0AAEDAgECBQMBAAEHDgIBZgACBm1lbW9yeQIACh8BHQBBAEIAQQAQABpBCEEIEAEaQQApAwBBCCkDAIUL",
	"prints argv": "AGFzbQEAAAABEgNgAn9/AX9gBH9/f38Bf2AAAAJFAhZ3YXNpX3NuYXBzaG90X3ByZXZpZXcxCGFyZ3NfZ2V0AAAWd2FzaV9zbmFwc2hvdF9wcmV2aWV3MQhmZF93cml0ZQABAwIBAgUDAQABBxMCBl9zdGFydAACBm1lbW9yeQIACkoBSABBgBBBgCAQABpBAEGEECgCADYCAAJAA0BBhBAoAgBBBCgCAGotAABFDQFBBEEEKAIAQQFqNgIADAALC0EBQQBBAUEIEAEaCw==",
}

func TestWasm(t *testing.T) {
	call := func(name, args, expected string) string {
		return `{"tests":[{"call":"` + name + `","args":` + args + `,"expected":` + expected + `}]}`
	}
	echo := `{"tests":[{"stdin":"a b\n","stdout":"a b\n"}]}`
	run(t, "code:wasm", "wasm", []check{
		{nil, call("add", "[1,2]", "3"), modules["adds"], "right", 1, ""},
		{nil, call("add", "[1,2]", "4"), modules["adds"], "wrong", 0, "it returns"},
		{nil, call("add", "[4294967295,2147483647]", "2147483646"), modules["adds"], "right", 1, ""},
		{nil, call("add", "[2147483647,1]", "-2147483648"), modules["adds"], "right", 1, ""},
		{nil, call("add", "[4294967296,1]", "1"), modules["adds"], "wrong", 0, "argument 1"},
		{nil, call("add", "[1]", "1"), modules["adds"], "wrong", 0, "takes 2 values"},
		{nil, call("sub", "[1,1]", "0"), modules["adds"], "wrong", 0, "exports no function"},
		{nil, call("add", "[9223372036854775807,-1]", "9223372036854775806"), modules["adds64"], "right", 1, ""},
		{nil, call("add", "[18446744073709551615,0]", "-1"), modules["adds64"], "right", 1, ""},
		{nil, call("half", "[5]", "2.5"), modules["half"], "right", 1, ""},
		{nil, call("tenth", "[0.2]", "0.3"), modules["tenths"], "right", 1, ""}, // as f32 is written
		{nil, call("tenth", "[0]", "0.1"), modules["tenths"], "right", 1, ""},
		{nil, call("pair", "[7]", "[7,7]"), modules["pair"], "right", 1, ""},
		{nil, call("f", "[]", "null"), modules["none"], "right", 1, ""},
		{nil, call("add", "[1,2]", "3"), strings.ReplaceAll(modules["adds"], "A", "A\n "), "right", 1, ""},
		{nil, echo, modules["echoes"], "right", 1, ""},
		{nil, echo, modules["exits0"], "right", 1, ""},
		{nil, echo, modules["exits3"], "wrong", 0, "exit_code(3)"},
		{nil, echo, modules["adds"], "wrong", 0, "no _start"},
		{nil, call("f", "[]", "1"), "not base64!", "wrong", 0, "base64"},
		{nil, call("f", "[]", "1"), "AAAA", "wrong", 0, ""},
		{nil, asserts("x"), modules["adds"], "not_scored", 0, "code"},
		{nil, `{}`, modules["adds"], "not_scored", 0, "no tests"},
		// WASI's clock and chance are the same in every run.
		{nil, call("f", "[]", "971256625159507027"), modules["chance"], "right", 1, ""},
	})
}

func TestWasmHostile(t *testing.T) {
	small := map[string]any{"timeout": 0.05, "memory_mb": 16, "output_kb": 16}
	roomy := map[string]any{"memory_mb": 16}
	run(t, "code:wasm", "wasm", []check{
		{small, one, modules["loops"], "wrong", 0, "processor time"},
		{small, one, modules["startloops"], "wrong", 0, "processor time"},
		{small, one, modules["recurses"], "wrong", 0, ""},
		{small, one, modules["traps"], "wrong", 0, "unreachable"},
		{roomy, returns("256"), modules["grows"], "wrong", 0, ""}, // 1 + 15 times 16 pages fit 16 MiB
		{roomy, returns("241"), modules["grows"], "right", 1, ""},
		{small, one, modules["bigmemory"], "wrong", 0, ""},
		{roomy, one, modules["tables"], "wrong", 0, ""}, // 20 of a GiB each, which no limit of the engine counts
		{small, one, modules["imports"], "wrong", 0, "env"},
		{small, `{"tests":[{"stdout":""}]}`, modules["floods"], "wrong", 0, "prints more than"},
		{roomy, returns("8"), modules["opens"], "right", 1, ""}, // errno 8: there is no such descriptor
	})
}

// The runtime of this test prints its program and ends.
func TestWasmRuntime(t *testing.T) {
	data, err := base64.StdEncoding.DecodeString(modules["prints argv"])
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "printer.wasm")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	options := map[string]any{"runtime": path, "language": "printer", "argv": []string{"printer", "{program}"}}
	run(t, "code:wasm", "printer", []check{
		{options, `{"tests":[{"stdout":"hello\n"}]}`, "hello", "right", 1, ""},
		{options, `{"tests":[{"stdout":"hello\n"}]}`, "bye", "wrong", 0, "bye"},
		{options, `{"setup":"import x","tests":[{"stdout":"import x\nhello\n"}]}`, "hello", "right", 1, ""},
		{options, one, "hello", "not_scored", 0, "stdin"},
	})
	for _, options := range []map[string]any{{"runtime": "absent.wasm"}, {"runtime": path, "argv": []string{"x"}}, {"folder": "."}, {"runtime": path, "folder": path}, {"runtime": path, "folder": path + ".lib"}} {
		if _, err := verify.New("code:wasm", options); err == nil {
			t.Errorf("%v is accepted", options)
		}
	}
	bad := filepath.Join(t.TempDir(), "bad.wasm")
	if err := os.WriteFile(bad, []byte("no module"), 0o600); err != nil {
		t.Fatal(err)
	}
	options["runtime"] = bad
	run(t, "code:wasm", "printer", []check{{options, `{"tests":[{"stdout":"hello\n"}]}`, "hello", "not_scored", 0, "bad.wasm"}})
}

// Nothing that stands in a completion makes it not scored.
func FuzzWasm(f *testing.F) {
	for _, name := range []string{"adds", "echoes", "grows", "traps"} {
		data, _ := base64.StdEncoding.DecodeString(modules[name])
		f.Add(data)
	}
	v := verifier(f, "code:wasm", map[string]any{"timeout": 0.1, "memory_mb": 16, "output_kb": 16})
	task := row(f, one)
	f.Fuzz(func(t *testing.T, module []byte) {
		if got := v.Verify(task, block("wasm", base64.StdEncoding.EncodeToString(module))); got.Verdict == verify.NotScored {
			t.Errorf("%x: %+v", module, got)
		}
	})
}

func BenchmarkWasm(b *testing.B) {
	v, task := verifier(b, "code:wasm", nil), row(b, `{"tests":[{"call":"add","args":[1,2],"expected":3}]}`)
	completion := block("wasm", modules["adds"])
	for b.Loop() {
		if got := v.Verify(task, completion); got.Score != 1 {
			b.Fatal(got)
		}
	}
}
