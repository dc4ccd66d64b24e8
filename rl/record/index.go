package record

import (
	"bytes"
	"io"
)

// Step is what an Index knows of a step: where its lines are in the file, one after the other.
type Step struct {
	Step    int    `json:"step"` // counted through all stages
	Stage   string `json:"stage"`
	Offset  int64  `json:"offset"` // bytes
	Bytes   int64  `json:"bytes"`
	Counts  [4]int `json:"counts"`            // completions by verdict, in the order of Verdicts
	Skipped []int  `json:"skipped,omitempty"` // numbers of lines after them that are longer than MaxBytes

	line int // lines of the file before them
}

// Index of the whole lines of a log by step. It grows with the file, and begins again if the file
// has become shorter. A line without the beginning of a log line is skipped. A step has several
// entries if a line that is too long divides it.
type Index struct {
	steps  []Step
	reader Reader
}

// Steps are the entries, in the order of the file.
func (x *Index) Steps() []Step { return x.steps }

// Update indexes what is new in a file of so many bytes.
func (x *Index) Update(in io.ReaderAt, size int64) error {
	if size < x.reader.At {
		*x = Index{}
	}
	defer func() { x.reader.buf = nil }() // it is not needed until the file has grown
	for {
		err := x.reader.Pieces(in, size, func(piece []byte) error {
			x.add(piece)
			return nil
		})
		long := isTooLong(err)
		if long == nil {
			return err
		}
		step, stage, ok := Head(long.Head)
		at := x.reader
		if ended, err := x.reader.Skip(in, size); err != nil || !ended {
			return err
		}
		if k := len(x.steps); !ok && k > 0 { // no line of a log: it parts the step that it stands in
			step, stage, ok = x.steps[k-1].Step, x.steps[k-1].Stage, true
		}
		if ok {
			s := x.entry(step, stage, at.At, at.Line)
			s.Skipped = append(s.Skipped, long.Line)
		}
	}
}

// add indexes whole lines that begin where the reader stands.
func (x *Index) add(data []byte) {
	at, n := x.reader.At, x.reader.Line
	for len(data) > 0 {
		end := bytes.IndexByte(data, '\n') + 1
		line := data[:end]
		if step, stage, ok := Head(line); ok {
			s := x.entry(step, stage, at, n)
			s.Bytes = at + int64(end) - s.Offset
			if v := VerdictOf(line); v >= 0 {
				s.Counts[v]++
			}
		}
		at, n = at+int64(end), n+1
		data = data[end:]
	}
}

// entry is the entry that a line of a step belongs to: the last one, or a new one that begins
// with the line.
func (x *Index) entry(step int, stage string, at int64, line int) *Step {
	if k := len(x.steps); k == 0 || x.steps[k-1].Step != step || x.steps[k-1].Stage != stage || x.steps[k-1].Skipped != nil {
		x.steps = append(x.steps, Step{Step: step, Stage: stage, Offset: at, line: line})
	}
	return &x.steps[len(x.steps)-1]
}
