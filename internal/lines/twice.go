package lines

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Once refuses JSON in which an object has a key twice, at whatever depth: decoders take one of the
// two values, and not all the same. The JSON must be valid. The time is linear in its length.
func Once(raw []byte) error {
	var open []keys // of the objects and lists around the place, the outermost first
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '{', '[':
			open = append(open, keys{})
		case '}', ']':
			open = open[:len(open)-1]
		case '"':
			end := i + 1
			for raw[end] != '"' {
				if raw[end] == '\\' {
					end++
				}
				end++
			}
			text := raw[i : end+1]
			i = end
			if rest := bytes.TrimLeft(raw[end+1:], " \t\r\n"); len(rest) > 0 && rest[0] == ':' && !open[len(open)-1].add(text) {
				return fmt.Errorf("the key %s is there twice, and which of the two values is meant cannot be told", text)
			}
		}
	}
	return nil
}

// keys are those of an object so far: a list while they are few, which most objects stay.
type keys struct {
	few  [][]byte
	many map[string]bool
}

// add takes a key, quoted; false: it is there already.
func (k *keys) add(quoted []byte) bool {
	key := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(key, '\\') >= 0 {
		var text string
		if err := json.Unmarshal(quoted, &text); err == nil {
			key = []byte(text)
		}
	}
	const most = 16
	if k.many == nil && len(k.few) < most {
		for _, have := range k.few {
			if bytes.Equal(have, key) {
				return false
			}
		}
		k.few = append(k.few, key)
		return true
	}
	if k.many == nil {
		k.many = map[string]bool{}
		for _, have := range k.few {
			k.many[string(have)] = true
		}
	}
	if k.many[string(key)] {
		return false
	}
	k.many[string(key)] = true
	return true
}
