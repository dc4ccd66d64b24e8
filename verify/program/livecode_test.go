package program

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/verify"
)

// Tests as Python packs them: base64(zlib.compress(pickle.dumps(json.dumps(cases),
// protocol))) with protocol 2 and 4 of one functional test, and 4 of one that prints 300
// times x.
const (
	packed2 = "eJxrYIpwZGBgiK5WyswrKC1RslJQijbUUTCKjckzVtJRUMovLYEKm4C4JanFJSWVBakggbTSvOSSzPy8xByl2thCBj0ACQQV1w=="
	packed4 = "eJxrYJnqygABPY7R1UqZeQWlJUpWCkrRhjoKRrExecZKOgpK+aUlUGETELcktbikpLIgFSSQVpqXXJKZn5eYo1QbO0UPAEWxFwo="
	packed  = "eJxrYJmawcgABhGJQEZ0tVJmXkFpiZKVgpJhTJ6SjoJSfmkJVKBiFBANQCFXklpcUlJZkAoKu+KSlMw8pdrYKXoAHwOgDQ=="
)

// TestLiveCode: rows of LiveCodeBench, as published.
func TestLiveCode(t *testing.T) {
	for _, c := range []struct{ row, want string }{
		{`{"public_test_cases":"[{\"input\":\"1\\n\",\"output\":\"2\\n\",\"testtype\":\"stdin\"}]"}`, `1:stdin "1\n" "2\n" "" []`},
		{`{"public_test_cases":[{"input":"\"a\"\n\n[1]","output":"{\"x\":1}","testtype":"functional"}],"func_name":"f"}`, `1:stdin "" "" "f" ["a" [1]] {"x":1}`},
		{`{"public_test_cases":"[]","private_test_cases":"` + packed2 + `","func_name":"g"}`, `1:stdin "" "" "g" [[1, 2] 3] 4`},
		{`{"private_test_cases":"` + packed4 + `","func_name":"g"}`, `1:stdin "" "" "g" [[1, 2] 3] 4`},
		{`{"private_test_cases":"` + packed + `"}`, `1:stdin "1\n" "` + strings.Repeat("x", 300) + `" "" []`},
		{`{"private_test_cases":"` + packed4 + `"}`, `error "private_test_cases" of the row, test 1: a functional test needs func_name`},
		{`{"private_test_cases":"eJxr"}`, `error "private_test_cases" of the row: unexpected EOF`},
		{`{"private_test_cases":"?"}`, `error "private_test_cases" of the row: neither a list of tests as JSON nor base64`},
		{`{"public_test_cases":[{"input":"","output":"","testtype":"x"}]}`, `error "public_test_cases" of the row, test 1: testtype is "x"; accepted: stdin, functional`},
		{`{"public_test_cases":[{"input":"x","output":"1","testtype":"functional"}],"func_name":"f"}`, `error "public_test_cases" of the row, test 1: "x" is not JSON`},
		{`{"public_test_cases":[]}`, "error the row's list of tests is empty"},
	} {
		var row verify.Problem
		if err := json.Unmarshal([]byte(c.row), &row); err != nil {
			t.Fatal(err)
		}
		s, err := readSuite(row)
		got := fmt.Sprintf("%d:", len(s.tests))
		for _, one := range s.tests {
			got += fmt.Sprintf("stdin %q %q %q %s", one.stdin, one.stdout, one.call, one.args)
			for _, e := range one.expected {
				got += " " + string(e)
			}
		}
		if err != nil {
			got = "error " + err.Error()
		}
		if got != c.want && !(strings.HasPrefix(c.want, "error") && strings.HasPrefix(got, c.want)) {
			t.Errorf("%.80s: %s, want %s", c.row, got, c.want)
		}
	}
	for _, data := range []string{"", "\x80\x04c", "X\xff\xff\xff\xffabc", "\x80", "\x80\x04\x95"} {
		if text, err := unpickle([]byte(data)); err == nil {
			t.Errorf("%q unpickles to %q", data, text)
		}
	}
}
