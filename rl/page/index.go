package page

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"sync"
)

// verdicts in the order in which a step counts them.
var verdicts = []string{"right", "wrong", "graded", "not_scored"}

// Step is what the index knows of a step: where its lines stand in the file.
type Step struct {
	Step   int    `json:"step"` // counted through all stages
	Stage  string `json:"stage"`
	Offset int64  `json:"offset"` // bytes
	Bytes  int64  `json:"bytes"`
	Counts [4]int `json:"counts"` // completions by verdict: right, wrong, graded, not scored
}

// index of the whole lines of completions.jsonl, or of tokens.jsonl, which has no
// verdicts. It grows with the file, and begins
// again where the file has become shorter.
type index struct {
	mu    sync.Mutex
	steps []Step
	end   int64 // bytes that are indexed
}

// chunk is how much of a file is read at a time.
const chunk = 4 << 20

// update indexes what is new.
func (x *index) update(f *os.File, size int64) error {
	if size < x.end {
		x.steps, x.end = nil, 0
	}
	buf := make([]byte, 0, chunk)
	for x.end+int64(len(buf)) < size {
		if len(buf) == cap(buf) { // a line that is longer
			buf = append(buf, make([]byte, cap(buf))...)[:len(buf)]
		}
		n, err := f.ReadAt(buf[len(buf):cap(buf)], x.end+int64(len(buf)))
		buf = buf[:len(buf)+n]
		whole := bytes.LastIndexByte(buf, '\n') + 1
		x.add(buf[:whole])
		buf = append(buf[:0], buf[whole:]...)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// add indexes whole lines.
func (x *index) add(data []byte) {
	for len(data) > 0 {
		n := bytes.IndexByte(data, '\n') + 1
		line := data[:n]
		if step, stage, ok := head(line); ok {
			if k := len(x.steps); k == 0 || x.steps[k-1].Step != step || x.steps[k-1].Stage != stage {
				x.steps = append(x.steps, Step{Step: step, Stage: stage, Offset: x.end})
			}
			s := &x.steps[len(x.steps)-1]
			s.Bytes = x.end + int64(n) - s.Offset
			if v := verdictOf(line); v >= 0 {
				s.Counts[v]++
			}
		}
		x.end += int64(n)
		data = data[n:]
	}
}

// head reads how a line begins: {"step":7,"stage":"rl",
func head(line []byte) (step int, stage string, ok bool) {
	rest, ok := bytes.CutPrefix(line, []byte(`{"step":`))
	digits, rest, ok2 := bytes.Cut(rest, []byte(`,"stage":`))
	step, err := strconv.Atoi(string(digits))
	if !ok || !ok2 || err != nil {
		return 0, "", false
	}
	end := bytes.Index(rest, []byte(`",`))
	if end < 0 || json.Unmarshal(rest[:end+1], &stage) != nil {
		return 0, "", false
	}
	return step, stage, true
}

// verdictOf finds the verdict of a line without parsing it: inside a text, JSON has no
// quotation mark without a backslash before it. -1: none of the verdicts.
func verdictOf(line []byte) int {
	const key = `,"verdict":"`
	i := bytes.Index(line, []byte(key))
	if i < 0 {
		return -1
	}
	for v, name := range verdicts {
		if rest, ok := bytes.CutPrefix(line[i+len(key):], []byte(name)); ok && len(rest) > 0 && rest[0] == '"' {
			return v
		}
	}
	return -1
}

// stepsFrom brings the index of completions.jsonl or tokens.jsonl up to date and returns
// its entries from one on, which may be the last one known: it may have grown.
func (o *run) stepsFrom(file string, from int) ([]Step, error) {
	x := &o.completions
	if file == "tokens.jsonl" {
		x = &o.tokens
	}
	f, info, err := o.open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.update(f, info.Size()); err != nil {
		return nil, err
	}
	return append([]Step{}, x.steps[min(max(from, 0), len(x.steps)):]...), nil
}

// Query asks for completions.
type Query struct {
	Text    string // that prompt or completion hold; "" is in all
	Regexp  bool   // Text is a regular expression (RE2), of the text as JSON has it
	Verdict string // ""; right, wrong, graded or not_scored
	First   int    // step; 0: from the beginning
	Last    int    // step; 0: to the end
	Limit   int    // lines that are returned
}

// Found is the answer.
type Found struct {
	Count int               `json:"count"` // completions that match
	Lines []json.RawMessage `json:"lines"` // the first of them
}

// search goes through the completions of a run.
func (o *run) search(q Query) (Found, error) {
	found := Found{Lines: []json.RawMessage{}}
	next, err := q.matcher()
	if err != nil {
		return found, err
	}
	steps, err := o.stepsFrom("completions.jsonl", 0)
	if err != nil {
		return found, err
	}
	f, _, err := o.open("completions.jsonl")
	if err != nil {
		return found, err
	}
	defer f.Close()
	verdict := -1
	for v, name := range verdicts {
		if name == q.Verdict {
			verdict = v
		}
	}
	var buf []byte
	for _, s := range steps {
		if s.Step < q.First || q.Last > 0 && s.Step > q.Last || verdict >= 0 && s.Counts[verdict] == 0 {
			continue
		}
		if q.Text == "" && len(found.Lines) >= q.Limit { // the index has the rest
			found.Count += counted(s, verdict)
			continue
		}
		if int64(cap(buf)) < s.Bytes {
			buf = make([]byte, s.Bytes)
		}
		buf = buf[:s.Bytes]
		if _, err := f.ReadAt(buf, s.Offset); err != nil {
			return found, err
		}
		eachMatch(buf, next, func(line []byte) {
			if verdict >= 0 && verdictOf(line) != verdict || next(texts(line)) < 0 {
				return
			}
			found.Count++
			if len(found.Lines) < q.Limit {
				found.Lines = append(found.Lines, bytes.Clone(bytes.TrimSpace(line)))
			}
		})
	}
	return found, nil
}

// eachMatch calls do for every line in which next finds something.
func eachMatch(data []byte, next func([]byte) int, do func(line []byte)) {
	for len(data) > 0 {
		at := next(data)
		if at < 0 || at >= len(data) {
			return
		}
		from, to := bytes.LastIndexByte(data[:at], '\n')+1, len(data)
		if end := bytes.IndexByte(data[at:], '\n'); end >= 0 {
			to = at + end + 1
		}
		do(data[from:to])
		data = data[to:]
	}
}

func counted(s Step, verdict int) int {
	if verdict >= 0 {
		return s.Counts[verdict]
	}
	n := 0
	for _, c := range s.Counts {
		n += c
	}
	return n
}

// matcher finds what is looked for: where it begins, in a part of a line or in several
// lines; below 0: nowhere.
func (q Query) matcher() (func([]byte) int, error) {
	if q.Text == "" {
		return func([]byte) int { return 0 }, nil
	}
	if q.Regexp {
		re, err := regexp.Compile(q.Text)
		if err != nil {
			return nil, fmt.Errorf("the regular expression cannot be read: %w", err)
		}
		return func(data []byte) int {
			if at := re.FindIndex(data); at != nil {
				return at[0]
			}
			return -1
		}, nil
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false) // as the log is written
	if err := enc.Encode(q.Text); err != nil {
		return nil, err
	}
	needle := bytes.TrimSpace(text.Bytes())
	needle = needle[1 : len(needle)-1]
	return func(data []byte) int { return bytes.Index(data, needle) }, nil
}

// texts are prompt and completion of a line.
func texts(line []byte) []byte {
	from, to := bytes.Index(line, []byte(`,"prompt":"`)), bytes.Index(line, []byte(`,"reward":`))
	if from < 0 || to < from {
		return line
	}
	return line[from+len(`,"prompt":"`) : to]
}
