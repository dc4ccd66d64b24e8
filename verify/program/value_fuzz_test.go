package program

import (
	"strings"
	"testing"
)

// FuzzValue: whatever a program writes as its result is a value, equal to itself, or
// an error; and so is what an engine returns as JSON.
func FuzzValue(f *testing.F) {
	for _, text := range []string{
		`null`, `true`, `"a"`, `{"i":"12"}`, `{"i":"-0"}`, `{"f":"nan"}`, `{"f":"1e308"}`, `{"l":[{"t":[]},{"s":[{"i":"1"},{"f":"1.0"}]}]}`,
		`{"d":[["a",null],[{"i":"1"},true]]}`, `{"d":[[null,1]]}`, `{"d":[["1",null],[{"i":"1"},null]]}`, `{"b":"00"}`, `{"c":["1","2"]}`,
		`{"other":"object"}`, `{"i":"1","f":"2"}`, `{"i":1}`, `{"l":{}}`, `[1,2.50,{"a":[1e3]}]`, `1e999`, `1e9999`, strings.Repeat(`{"l":[`, 70) + strings.Repeat(`]}`, 70),
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for name, read := range map[string]func(string) (value, error){
			"python": func(text string) (value, error) { v, _, err := fromPython(text); return v, err },
			"json":   func(text string) (value, error) { return fromJSON([]byte(text)) },
		} {
			v, err := read(text)
			if err != nil {
				continue
			}
			for _, o := range []options{{}, {Tolerance: 0.5}} {
				if !o.sameValue(v, v) {
					t.Errorf("%s: the value of %q is not equal to itself", name, text)
				}
			}
			again, _ := read(text)
			if !(options{}).sameItems([]value{v}, []value{again}) {
				t.Errorf("%s: two readings of %q are not the same item", name, text)
			}
		}
	})
}

func words(text string) string { return strings.Join(strings.Fields(text), " ") }

// FuzzExtract: a program is a part of the completion but for indentation, is never blank, and a fence put
// after any text without fences is found.
func FuzzExtract(f *testing.F) {
	for _, text := range []string{"", "x", "```python\nx\n```", "```\nx\n```\n```py\ny\n```", "<think>```python\nx\n```", "</think>```python\r\nx\r\n```\r\n", "~~~\n```python\n```", "`", "  ```Python x\n\t```"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, how := range []string{extractBlock, "none"} {
			program, rule, err := extract(text, how, "python", "py")
			if err == nil && (strings.TrimSpace(program) == "" || !strings.Contains(words(text), words(program)) || rule == "") {
				t.Errorf("%s: program %q, rule %q of %q", how, program, rule, text)
			}
		}
		if strings.Contains(text, "```") || strings.Contains(text, "<think>") {
			return
		}
		program, _, err := extract(text+"\n```python\nprint(1)\n```", extractBlock, "python", "py")
		if err != nil || program != "print(1)" {
			t.Errorf("after %q: %q, %v", text, program, err)
		}
	})
}
