package program

import (
	"encoding/json"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/verify"
)

// judged is what a completion is by a verifier with options.
type judged struct {
	options          map[string]any
	completion, what string
	settled          bool
}

// TestPortable: a verdict is settled where a test ends within a tenth of its time and meets
// no limit; the engine is named, and options that name something of one machine keep a
// verifier at home.
func TestPortable(t *testing.T) {
	row := verify.Problem{Metadata: map[string]json.RawMessage{"tests": json.RawMessage(`[{"stdin":"","stdout":"a"}]`)}}
	long, brief := map[string]any{"timeout": 300.0}, map[string]any{"timeout": 0.1}
	for name, c := range map[string]struct {
		cases []judged
		home  map[string]any
	}{
		"code:python": {[]judged{
			{long, "```python\nprint('a')\n```", verify.Right, true}, {long, "```python\nprint('b')\n```", verify.Wrong, true}, {long, "no program", verify.Wrong, true},
			{brief, "```python\nwhile True: pass\n```", verify.Wrong, false}, {long, "```python\nbytearray(1 << 40)\n```", verify.Wrong, false},
		}, map[string]any{"python": "/usr/bin/python3"}},
		"code:javascript": {[]judged{
			{long, "```js\nconsole.log('a')\n```", verify.Right, true}, {long, "```js\nconsole.log('b')\n```", verify.Wrong, true}, {long, "no program", verify.Wrong, true},
			{brief, "```js\nwhile (true) {}\n```", verify.Wrong, false},
		}, nil},
		"code:wasm": {[]judged{{long, "```wasm\n!\n```", verify.Wrong, true}}, map[string]any{"runtime": os.Args[0]}},
	} {
		if name == "code:python" && runtime.GOOS != "linux" {
			continue // there is no box
		}
		for _, one := range c.cases {
			v, err := verify.New(name, one.options)
			if err != nil {
				t.Fatal(err)
			}
			p := v.(verify.Portable)
			e, err := p.Engine()
			if err != nil || e.Verifier != name || !strings.HasPrefix(e.Release, name+", "+runtime.GOOS+"/"+runtime.GOARCH) || !json.Valid(e.Options) {
				t.Errorf("%s: engine %+v, %v", name, e, err)
			}
			if got, settled := p.Judge(row, one.completion); got.Verdict != one.what || settled != one.settled {
				t.Errorf("%s: %q is %+v, settled %t", name, one.completion, got, settled)
			}
			if got, settled := p.Judge(verify.Problem{}, one.completion); got.Verdict != verify.NotScored || settled {
				t.Errorf("%s: without tests it is %+v, settled %t", name, got, settled)
			}
		}
		if c.home == nil {
			continue
		}
		v, err := verify.New(name, c.home)
		if err != nil {
			t.Fatal(err)
		}
		if e, err := v.(verify.Portable).Engine(); err == nil {
			t.Errorf("%s with %v is at home here alone, and has the engine %+v", name, c.home, e)
		}
	}
}

// TestRenew: after Renew a program lies elsewhere in memory.
func TestRenew(t *testing.T) {
	if runtime.GOOS != "linux" {
		return // there is no box
	}
	row := verify.Problem{Metadata: map[string]json.RawMessage{"tests": json.RawMessage(`[{"stdin":"","stdout":"a"}]`)}}
	v, err := verify.New("code:python", nil)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for range 3 {
		seen[v.Verify(row, "```python\nprint(id(object()))\n```").Reason] = true
		v.(verify.Renewable).Renew()
	}
	if len(seen) < 2 {
		t.Errorf("three interpreters lie where one did: %v", seen)
	}
}
