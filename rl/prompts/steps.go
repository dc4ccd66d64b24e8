package prompts

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/rlzero/rlzero/verify"
)

// Columns of a row whose completion is judged step by step. TRL calls them completions and labels
// (https://huggingface.co/docs/trl/dataset_formats, stepwise supervision).
const (
	stepsKey  = "steps"  // texts, which are joined by line feeds
	labelsKey = "labels" // for each step how right it is: true, false, or a number from 0 to 1
)

// errSteps marks steps that cannot be learned from.
var errSteps = errors.New("steps and labels do not go together")

// stepped is the one completion of a row with steps; none: the row has no steps.
//
// The label of a step stands at the token that ends the line feed after it, as TRL puts it there, and
// that of the last one at the end token: what reads it has read the whole step.
func (r *Renderer) stepped(row verify.Problem) ([]Choice, error) {
	raw, there := row.Metadata[stepsKey]
	if !there || string(raw) == "null" {
		return nil, nil
	}
	var steps []string
	if err := json.Unmarshal(raw, &steps); err != nil || len(steps) == 0 {
		return nil, fmt.Errorf(`%w: "steps" is %s; accepted: a list of texts`, errSteps, short(raw))
	}
	labels, err := labelsOf(row)
	if err != nil {
		return nil, err
	}
	if len(labels) != len(steps) {
		return nil, fmt.Errorf(`%w: the row has %d steps and %d labels; accepted: a label for each step`, errSteps, len(steps), len(labels))
	}
	for i, s := range steps {
		if strings.TrimSpace(s) == "" {
			return nil, fmt.Errorf("%w: step %d is empty; accepted: texts", errSteps, i+1)
		}
		steps[i] = strings.TrimRight(s, "\n")
	}
	lesson, err := r.Shown(row, "", strings.Join(steps, "\n"))
	if err != nil {
		return nil, err
	}
	c := Choice{Lesson: lesson, Reward: 1}
	span := lesson.Learned[0]
	c.Labels = make([]float64, span.To-span.From)
	for i := range c.Labels {
		c.Labels[i] = math.NaN()
	}
	// Line feeds are counted, which are the same in whatever form a tokenizer writes letters.
	at, end, step := 0, strings.Count(steps[0], "\n")+1, 0 // line feeds so far, and the one that ends the step
	for i, piece := range r.Pieces(lesson.IDs[span.From:span.To]) {
		at += strings.Count(piece, "\n")
		for step < len(steps)-1 && at >= end {
			c.Labels[i] = labels[step] // of steps that end in one token the last
			step++
			end += strings.Count(steps[step], "\n") + 1
		}
	}
	if step < len(steps)-1 || at != end-1 {
		return nil, fmt.Errorf("%w: the tokens of the text have other line feeds than it, so the ends of its steps are not known", errSteps)
	}
	c.Labels[len(c.Labels)-1] = labels[step]
	for _, x := range labels {
		if x <= 0.5 {
			c.Reward = 0
		}
	}
	return []Choice{c}, nil
}

// labelsOf are the labels of a row's steps.
func labelsOf(row verify.Problem) ([]float64, error) {
	raw := row.Metadata[labelsKey]
	var values []any
	if json.Unmarshal(raw, &values) != nil {
		return nil, fmt.Errorf(`%w: "labels" is %s; accepted: a list with a label for each of "steps"`, errSteps, short(raw))
	}
	labels := make([]float64, len(values))
	for i, v := range values {
		x, number := v.(float64)
		if b, truth := v.(bool); truth {
			number = true
			if b {
				x = 1
			}
		}
		if !number || x < 0 || x > 1 {
			return nil, fmt.Errorf(`%w: label %d is %v; accepted: true, false, or a number from 0 to 1`, errSteps, i+1, v)
		}
		labels[i] = x
	}
	return labels, nil
}

// short is JSON as a message shows it.
func short(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "not there"
	}
	if len(raw) > 40 {
		return string(raw[:40]) + "..."
	}
	return string(raw)
}
