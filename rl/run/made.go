package run

import (
	"fmt"
	"path/filepath"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/rl/record"
	"github.com/rlzero/rlzero/rl/store"
)

// madeLog writes the rows that a run makes, each with the sum of those before it.
type madeLog struct {
	log *store.Log
	sum string // of the last line
}

// write appends the rows of a step.
func (m *madeLog) write(e event) error {
	for _, line := range e.Made {
		line.Step, line.Stage = e.At.Total, e.Stage
		line, err := line.Chained(m.sum)
		if err == nil {
			err = m.log.Append(line)
		}
		if err != nil {
			return err
		}
		m.sum = line.Sum
	}
	return nil
}

// readRows takes the rows that the run has made up to its checkpoint, to whose length the file was cut.
func (r *run) readRows() (err error) {
	if r.parts.Rows == nil {
		return nil
	}
	file := filepath.Join(r.folder.Dir(), record.MadeFile)
	r.logs.made.sum, err = record.EachMade(file, func(_ int, raw []byte, m record.Made) error { return r.parts.Rows.Read(raw, m) })
	if err != nil {
		return hint.With(fmt.Errorf("%w: %w", lines.ErrInput, err), "put the file back as it was: later steps draw its rows")
	}
	return nil
}
