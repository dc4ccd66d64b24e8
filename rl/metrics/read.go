package metrics

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/rlzero/rlzero/internal/lines"
)

// Point is a row as it was read.
type Point struct {
	Step   int // counted through all stages, from 1; 0: before the first
	Stage  string
	Values Row // NaN: not measured
}

// Read reads the whole lines of metrics.jsonl or timing.jsonl: a run in progress may be
// writing a last one. A second line of a step completes the first, as the evaluation after
// a stage does. The points before a line that cannot be read come beside the error, which
// names it.
func Read(file string) ([]Point, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var out []Point
	err = lines.Each(file, bytes.NewReader(raw[:bytes.LastIndexByte(raw, '\n')+1]), func(_ int, line []byte) error {
		p, err := parse(line)
		if n := len(out); err == nil && n > 0 && out[n-1].Step == p.Step && out[n-1].Stage == p.Stage {
			for name, v := range p.Values {
				out[n-1].Values[name] = v
			}
		} else if err == nil {
			out = append(out, p)
		}
		return err
	})
	return out, err
}

// parse reads {"step":1,"stage":"rl","reward/mean":0.5,...}. A value that is no number is
// none of a metric.
func parse(line []byte) (Point, error) {
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
