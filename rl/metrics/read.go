package metrics

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"

	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/rl/record"
)

// Point is a row as it was read.
type Point struct {
	Step   int // counted through all stages, from 1; 0: before the first
	Stage  string
	Values Row // NaN: not measured
}

// Read reads metrics.jsonl or timing.jsonl as [Each] does. The points before a line that cannot
// be read come beside the error.
func Read(file string) ([]Point, error) {
	var out []Point
	err := Each(file, func(p Point) error {
		out = append(out, p)
		return nil
	})
	return out, err
}

// Each calls do for the points of metrics.jsonl or timing.jsonl, in order. A second line of a
// step completes the first, as the evaluation after a stage does. What cannot be read is
// lines.ErrInput; do has the points before it.
func Each(file string, do func(Point) error) error {
	var last *Point // not told yet: a line may complete it
	var told error
	tell := func() error {
		if p := last; p != nil {
			last = nil
			told = do(*p)
		}
		return told
	}
	unread := false
	err := record.Raw(file, func(_ int, line []byte) error {
		p, err := Parse(line)
		if err != nil {
			unread = true
			return err
		}
		if last != nil && last.Step == p.Step && last.Stage == p.Stage {
			maps.Copy(last.Values, p.Values)
			return nil
		}
		err = tell()
		last = &p
		return err
	})
	if told != nil { // with file and line
		return err
	}
	if unread {
		err = fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	return cmp.Or(err, tell())
}

// Parse reads a line: {"step":1,"stage":"rl","reward/mean":0.5,...}. A value that is no number
// is none of a metric.
func Parse(line []byte) (Point, error) {
	var head struct {
		Step  *int   `json:"step"`
		Stage string `json:"stage"`
	}
	var all map[string]any
	if err := errors.Join(json.Unmarshal(line, &head), json.Unmarshal(line, &all)); err != nil {
		return Point{}, fmt.Errorf("not a JSON object with a whole step and a stage's name: %w", err)
	}
	if head.Step == nil {
		return Point{}, errors.New(`no "step"; accepted: {"step":1,"stage":"...",...}`)
	}
	p := Point{Step: *head.Step, Stage: head.Stage, Values: Row{}}
	delete(all, "step")
	for name, v := range all {
		switch v := v.(type) {
		case float64:
			p.Values[name] = v
		case nil:
			p.Values[name] = math.NaN()
		}
	}
	return p, nil
}
