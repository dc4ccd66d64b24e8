package lines

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
)

func TestOnce(t *testing.T) {
	for _, raw := range []string{`{}`, `[]`, `3`, `"a"`, `{"a":1,"b":{"a":1},"c":[{"a":1},{"a":2}]}`, `{"a":"a","b":"\"a\":"}`, ` { "a" : [ "a" , "a" ] } `, `{"\\":1,"\"":2}`} {
		if err := Once([]byte(raw)); err != nil {
			t.Errorf("%s: %v", raw, err)
		}
	}
	for raw, key := range map[string]string{
		`{"a":1,"a":2}`: "a", `{"x":[{"b":1 , "b" :1}]}`: "b", `{"a":1,"\u0061":2}`: `\u0061`, `{"a":{"x":1},"b":2,"a":{}}`: "a", "{\"\":1,\n\"\"\t:1}": "",
	} {
		if err := Once([]byte(raw)); err == nil || err.Error() != `the key "`+key+`" is there twice, and which of the two values is meant cannot be told` {
			t.Errorf("%s: %v", raw, err)
		}
	}
	many := strings.Builder{}
	for i := range 100 {
		fmt.Fprintf(&many, `"k%d":%d,`, i, i)
	}
	if err := Once([]byte("{" + many.String() + `"last":1}`)); err != nil {
		t.Error(err)
	}
	for _, key := range []string{"k0", "k20", "k99"} {
		if Once([]byte("{"+many.String()+`"`+key+`":1}`)) == nil {
			t.Errorf("%s twice among many", key)
		}
	}
	nothing := func(int, []byte) error { return nil }
	err := Input("f", strings.NewReader("{}\n{\"a\":1,\"a\":2}\n"), nothing)
	if !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), `f: line 2: the key "a" is there twice`) {
		t.Errorf("Input: %v", err)
	}
}

// FuzzOnce: valid JSON never makes it fail, and an object that the decoder gives back has every key
// once.
func FuzzOnce(f *testing.F) {
	for _, s := range []string{`{"a":[1,{"b":"\\"}]}`, `{"a":1,"a":2}`, `"\""`, `[{},{"":{}}]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) {
			return
		}
		_ = Once(raw) // returns
		var object map[string]any
		if json.Unmarshal(raw, &object) != nil {
			return
		}
		again, err := json.Marshal(maps.Clone(object))
		if err == nil && Once(again) != nil {
			t.Errorf("%s", again)
		}
	})
}
