package page

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"regexp/syntax"
	"runtime"
	"slices"
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
// its entries from one on, which may be the last one known: it may have grown. A file that
// is not there has none.
func (o *run) stepsFrom(file string, from int) ([]Step, error) {
	x := &o.completions
	if file == "tokens.jsonl" {
		x = &o.tokens
	}
	f, info, err := o.open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return []Step{}, nil // not yet, or no longer: the page learns of it a moment later
	}
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

// search goes through the completions of a run, on all processors, until the context ends.
func (o *run) search(ctx context.Context, q Query) (Found, error) {
	match, err := q.matcher()
	if err != nil {
		return Found{}, err
	}
	steps, err := o.stepsFrom("completions.jsonl", 0)
	if err != nil {
		return Found{}, err
	}
	steps = slices.DeleteFunc(steps, func(s Step) bool {
		return s.Step < q.First || q.Last > 0 && s.Step > q.Last || match.verdict >= 0 && s.Counts[match.verdict] == 0
	})
	f, _, err := o.open("completions.jsonl")
	if err != nil {
		return Found{}, err
	}
	defer f.Close()
	if match.re != nil && len(steps) > 0 {
		sample := make([]byte, min(steps[0].Bytes, chunk))
		if _, err := f.ReadAt(sample, steps[0].Offset); err != nil {
			return Found{}, err
		}
		match.text = rarest(match.literals, sample)
	}
	workers := min(runtime.GOMAXPROCS(0), max(1, len(steps)))
	parts, failed := make([]Found, workers), make([]error, workers)
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() {
			parts[w], failed[w] = match.inSteps(ctx, f, steps[w*len(steps)/workers:(w+1)*len(steps)/workers], q.Limit)
		})
	}
	wait.Wait()
	found := Found{Lines: []json.RawMessage{}}
	for _, p := range parts {
		found.Count += p.Count
		found.Lines = append(found.Lines, p.Lines[:min(len(p.Lines), q.Limit-len(found.Lines))]...)
	}
	return found, errors.Join(failed...)
}

// matcher decides which lines are found.
type matcher struct {
	verdict  int            // -1: any
	text     []byte         // what a line holds that is found; none: a line may hold anything
	re       *regexp.Regexp // nil: text is all that is looked for
	tree     *syntax.Regexp // of re
	literals []string       // texts that every match of re holds
}

// finder decides whether a text holds what is looked for. It belongs to one goroutine.
func (m *matcher) finder() func(text []byte) bool {
	if m.re == nil {
		return func(text []byte) bool { return bytes.Contains(text, m.text) }
	}
	d := newDFA(m.tree)
	return func(text []byte) bool {
		if d != nil {
			holds, gaveUp := d.match(text)
			if !gaveUp {
				return holds
			}
			d = nil
		}
		return m.re.Match(text)
	}
}

// inSteps finds lines of steps, and returns the first of them.
func (m *matcher) inSteps(ctx context.Context, f *os.File, steps []Step, limit int) (Found, error) {
	var found Found
	var buf []byte
	find := m.finder()
	for _, s := range steps {
		if len(m.text) == 0 && m.re == nil && len(found.Lines) >= limit { // the index has the rest
			found.Count += counted(s, m.verdict)
			continue
		}
		if int64(cap(buf)) < s.Bytes {
			buf = make([]byte, s.Bytes)
		}
		buf = buf[:s.Bytes]
		if _, err := f.ReadAt(buf, s.Offset); err != nil {
			return found, err
		}
		for data := buf; len(data) > 0; {
			if err := ctx.Err(); err != nil { // looked at here, as an expression can take long on one line
				return found, err
			}
			at := bytes.Index(data, m.text)
			if at < 0 {
				break
			}
			from, to := bytes.LastIndexByte(data[:at], '\n')+1, len(data)
			if end := bytes.IndexByte(data[at:], '\n'); end >= 0 {
				to = at + end + 1
			}
			if line := data[from:to]; m.holds(line, find) {
				found.Count++
				if len(found.Lines) < limit {
					found.Lines = append(found.Lines, bytes.Clone(bytes.TrimSpace(line)))
				}
			}
			data = data[to:]
		}
	}
	return found, nil
}

// holds says whether a line is found; it may be that it has the text outside of prompt and
// completion.
func (m *matcher) holds(line []byte, find func([]byte) bool) bool {
	switch {
	case m.verdict >= 0 && verdictOf(line) != m.verdict:
		return false
	case m.re == nil && len(m.text) == 0:
		return true
	}
	prompt, rest := stringAfter(line, `,"prompt":"`)
	if find(prompt) {
		return true
	}
	completion, _ := stringAfter(rest, `,"completion":"`)
	return find(completion)
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

// matcher reads the query.
func (q Query) matcher() (*matcher, error) {
	m := &matcher{verdict: slices.Index(verdicts, q.Verdict)}
	if q.Text == "" {
		return m, nil
	}
	if q.Regexp {
		re, err := regexp.Compile(q.Text)
		if err != nil {
			return nil, fmt.Errorf("the regular expression cannot be read: %w", err)
		}
		tree, err := syntax.Parse(q.Text, syntax.Perl)
		if err != nil {
			return nil, err
		}
		m.re, m.tree, m.literals = re, tree, literals(tree)
		return m, nil
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false) // as the log is written
	if err := enc.Encode(q.Text); err != nil {
		return nil, err
	}
	m.text = bytes.TrimSpace(text.Bytes())
	m.text = m.text[1 : len(m.text)-1]
	return m, nil
}

// literals are texts that every match of an expression holds, as far as its tree shows
// them: looking for one of them first is several times as fast as the expression alone.
func literals(tree *syntax.Regexp) []string {
	switch {
	case tree.Op == syntax.OpLiteral && tree.Flags&syntax.FoldCase == 0:
		return []string{string(tree.Rune)}
	case tree.Op == syntax.OpCapture, tree.Op == syntax.OpPlus, tree.Op == syntax.OpRepeat && tree.Min > 0:
		return literals(tree.Sub[0])
	case tree.Op == syntax.OpConcat:
		var all []string
		for _, part := range tree.Sub {
			all = append(all, literals(part)...)
		}
		return all
	}
	return nil
}

// rarest is the text that a sample holds least often; none: there are no texts.
func rarest(texts []string, sample []byte) []byte {
	if len(texts) == 0 {
		return nil
	}
	return []byte(slices.MinFunc(texts, func(a, b string) int {
		return cmp.Compare(bytes.Count(sample, []byte(a)), bytes.Count(sample, []byte(b)))
	}))
}

// stringAfter is the string that begins with a key, without its quotation marks, and what
// comes after it. A quotation mark in a string has an odd number of backslashes before it.
func stringAfter(line []byte, key string) (text, rest []byte) {
	_, line, _ = bytes.Cut(line, []byte(key))
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
