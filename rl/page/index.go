package page

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"regexp/syntax"
	"runtime"
	"slices"
	"sync"

	"github.com/rlzero/rlzero/rl/record"
)

// index of one of stepLogs, for several goroutines.
type index struct {
	mu sync.Mutex
	record.Index
}

// stepsFrom brings the index of one of stepLogs up to date and returns its entries from one on, which may be the last one known: it may have grown. A file that
// is not there has none.
func (o *run) stepsFrom(file string, from int) ([]record.Step, error) {
	x := &o.indexes[slices.Index(stepLogs, file)]
	f, info, err := o.open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return []record.Step{}, nil // not yet, or no longer: the page learns of it a moment later
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.Update(f, info.Size()); err != nil {
		return nil, err
	}
	steps := x.Steps()
	return append([]record.Step{}, steps[min(max(from, 0), len(steps)):]...), nil
}

// search asks for completions.
type search struct {
	Text    string // that prompt or completion hold; "" is in all
	Regexp  bool   // Text is a regular expression (RE2), of the text as JSON has it
	Verdict string // ""; right, wrong, graded or not_scored
	First   int    // step; 0: from the beginning
	Last    int    // step; 0: to the end
	Limit   int    // lines that are returned
}

// hits is the answer.
type hits struct {
	Count int               `json:"count"` // completions that match
	Lines []json.RawMessage `json:"lines"` // the first of them
}

// search goes through the completions of a run, on all processors, until the context ends.
func (o *run) search(ctx context.Context, q search) (hits, error) {
	match, err := q.matcher()
	if err != nil {
		return hits{}, err
	}
	steps, err := o.stepsFrom(record.CompletionsFile, 0)
	if err != nil {
		return hits{}, err
	}
	steps = slices.DeleteFunc(steps, func(s record.Step) bool {
		return s.Step < q.First || q.Last > 0 && s.Step > q.Last || match.verdict >= 0 && s.Counts[match.verdict] == 0
	})
	f, _, err := o.open(record.CompletionsFile)
	if err != nil {
		return hits{}, err
	}
	defer f.Close()
	if match.re != nil && len(steps) > 0 {
		const some = 4 << 20 // bytes
		sample := make([]byte, min(steps[0].Bytes, some))
		if _, err := f.ReadAt(sample, steps[0].Offset); err != nil {
			return hits{}, err
		}
		match.text = rarest(match.literals, sample)
	}
	workers := min(runtime.GOMAXPROCS(0), max(1, len(steps)))
	parts, failed := make([]hits, workers), make([]error, workers)
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() {
			parts[w], failed[w] = match.inSteps(ctx, f, steps[w*len(steps)/workers:(w+1)*len(steps)/workers], q.Limit)
		})
	}
	wait.Wait()
	found := hits{Lines: []json.RawMessage{}}
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
func (m *matcher) inSteps(ctx context.Context, f *os.File, steps []record.Step, limit int) (hits, error) {
	var found hits
	var in record.Reader
	find := m.finder()
	for _, s := range steps {
		if len(m.text) == 0 && m.re == nil && len(found.Lines) >= limit { // the index has the rest
			found.Count += counted(s, m.verdict)
			continue
		}
		in.At = s.Offset
		err := in.Pieces(f, s.Offset+s.Bytes, func(data []byte) error {
			for len(data) > 0 {
				if err := ctx.Err(); err != nil { // looked at here, as an expression can take long on one line
					return err
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
			return nil
		})
		if err != nil {
			return found, err
		}
	}
	return found, nil
}

// holds says whether a line is found; it may be that it has the text outside of prompt and
// completion.
func (m *matcher) holds(line []byte, find func([]byte) bool) bool {
	switch {
	case m.verdict >= 0 && record.VerdictOf(line) != m.verdict:
		return false
	case m.re == nil && len(m.text) == 0:
		return true
	}
	prompt, completion := record.TextsOf(line)
	return find(prompt) || find(completion)
}

func counted(s record.Step, verdict int) int {
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
func (q search) matcher() (*matcher, error) {
	m := &matcher{verdict: slices.Index(record.Verdicts, q.Verdict)}
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
