package record

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
)

// The finders of this file take a value from a line without parsing it, which is many times as
// fast. They rest on two facts: the order of the keys is that of the types in line.go, and
// inside a text JSON has no quotation mark without a backslash before it, so that ,"key": is
// found where it is a key alone.

// Head reads how a line of any log begins: {"step":7,"stage":"rl",
func Head(line []byte) (step int, stage string, ok bool) {
	rest, begins := bytes.CutPrefix(line, []byte(`{"step":`))
	comma := bytes.IndexByte(rest, ',')
	if !begins || comma < 0 {
		return 0, "", false
	}
	step, err := strconv.Atoi(string(rest[:comma]))
	rest, named := bytes.CutPrefix(rest[comma:], []byte(`,"stage":"`))
	name, rest := upToQuote(rest)
	if err != nil || !named || len(rest) < 2 || rest[1] != ',' && rest[1] != '}' {
		return 0, "", false
	}
	if stage = string(name); bytes.IndexByte(name, '\\') >= 0 && json.Unmarshal(slices.Concat([]byte{'"'}, name, []byte{'"'}), &stage) != nil {
		return 0, "", false
	}
	return step, stage, true
}

// VerdictOf is the place of a completion's verdict in Verdicts; -1: it is none of them.
func VerdictOf(line []byte) int {
	const key = `,"verdict":"`
	i := bytes.Index(line, []byte(key))
	if i < 0 {
		return -1
	}
	for v, name := range Verdicts {
		if rest, ok := bytes.CutPrefix(line[i+len(key):], []byte(name)); ok && len(rest) > 0 && rest[0] == '"' {
			return v
		}
	}
	return -1
}

// TextsOf are a completion's prompt and completion as JSON has them, without their quotation
// marks.
func TextsOf(line []byte) (prompt, completion []byte) {
	prompt, rest := stringAfter(line, `,"prompt":"`)
	completion, _ = stringAfter(rest, `,"completion":"`)
	return prompt, completion
}

// groupOf is the group of a line of CompletionsFile or TokensFile; -1: it has none.
func groupOf(line []byte) int {
	_, rest, _ := bytes.Cut(line, []byte(`,"group":`))
	digits, _, _ := bytes.Cut(rest, []byte{','})
	group, err := strconv.Atoi(string(digits))
	if err != nil {
		return -1
	}
	return group
}

// stringAfter is the string that begins with a key, without its quotation marks, and what
// comes after it.
func stringAfter(line []byte, key string) (text, rest []byte) {
	_, line, _ = bytes.Cut(line, []byte(key))
	return upToQuote(line)
}

// upToQuote is a string up to its end, and what begins with its quotation mark. One that belongs
// to the string has an odd number of backslashes before it.
func upToQuote(line []byte) (text, rest []byte) {
	for end := 0; ; end++ {
		next := bytes.IndexByte(line[end:], '"')
		if next < 0 {
			return line, nil
		}
		end += next
		if escapes := end - len(bytes.TrimRight(line[:end], `\`)); escapes%2 == 0 {
			return line[:end], line[end:]
		}
	}
}
