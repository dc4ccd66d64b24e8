package verify

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

func init() {
	Register(Entry{
		Name:    "iou",
		Summary: "overlap of boxes or time spans, matched one to one",
		Doc: fmt.Sprintf(`iou: overlap of boxes or time spans, as intersection over union.

Boxes of the completion and of the row are matched one to one, so that the sum of their
overlaps is largest (an optimal assignment, not a greedy one). The score is that sum divided
by the larger number of boxes: an extra box costs as much as a missing one. If both boxes
have a label, they match only if the labels are equal. At most %d boxes are read.

A box is [x1,y1,x2,y2] (or [x,y,width,height], see format), a span [start,end]; a list of
them, or of objects with the key box, bbox, bbox_2d, span or segment, and label. A single
box needs no list.

Row: answer, boxes or spans: such a list.

Options
kind      "box" or "span". Default "box".
format    "xyxy" or "xywh". Default "xyxy".
min_iou   overlaps below this count as 0. Default 0.
`+jsonExtractDoc+`
Not scored when the row's boxes cannot be read.
`, maxBoxesIoU),
		New: func(options json.RawMessage) (Verifier, error) {
			o := IoU{Kind: "box", Format: "xyxy", Extract: ExtractJSON}
			if err := DecodeOptions(options, &o); err != nil {
				return nil, err
			}
			return o, o.validate()
		},
	})
}

const maxBoxesIoU = 64

// IoU is the verifier "iou".
type IoU struct {
	Kind    string  `toml:"kind"`   // "box" or "span"
	Format  string  `toml:"format"` // of boxes: "xyxy" or "xywh"
	MinIoU  float64 `toml:"min_iou"`
	Extract string  `toml:"extract"` // ExtractJSON or ExtractNone
}

func (v IoU) validate() error {
	if !(v.MinIoU >= 0 && v.MinIoU <= 1) {
		return fmt.Errorf("option min_iou is %g; accepted: 0 to 1", v.MinIoU)
	}
	if err := oneOf("kind", v.Kind, "box", "span"); err != nil {
		return err
	}
	if err := oneOf("format", v.Format, "xyxy", "xywh"); err != nil {
		return err
	}
	return oneOf("extract", v.Extract, ExtractJSON, ExtractNone)
}

// region is a box or a span: low and high ends of one or two axes.
type region struct {
	low, high []float64
	label     string
}

// Check implements [Checker].
func (v IoU) Check(row Problem) error {
	_, err := v.reference(row)
	return err
}

// reference is the row's regions.
func (v IoU) reference(row Problem) ([]region, error) {
	reference := row.Answer
	for _, name := range []string{"boxes", "spans"} {
		if raw, ok := row.Metadata[name]; ok {
			reference = textOf(raw)
		}
	}
	want, err := v.regions(reference)
	if err != nil {
		err = fmt.Errorf("the row's boxes: %w", err)
	}
	return want, err
}

// Verify implements [Verifier].
func (v IoU) Verify(row Problem, completion string) Verdict {
	want, err := v.reference(row)
	if err != nil {
		return Abstain("%v", err)
	}
	text, rule, err := extractJSON(completion, v.Extract)
	if err != nil {
		return Reject(text, rule, "%v", err)
	}
	got, err := v.regions(text)
	if err != nil {
		return Reject(text, rule, "%v", err)
	}
	if len(got) == 0 || len(want) == 0 {
		return graded(float64(1-min(1, max(len(got), len(want)))), text, rule, "found %d, expected %d", len(got), len(want))
	}
	overlaps := make([][]float64, len(got))
	for i, g := range got {
		overlaps[i] = make([]float64, len(want))
		for j, w := range want {
			if o := g.iou(w); o >= v.MinIoU && (g.label == "" || w.label == "" || g.label == w.label) {
				overlaps[i][j] = o
			}
		}
	}
	score := assignment(overlaps) / float64(max(len(got), len(want)))
	return graded(score, text, rule, "overlap %.6g: found %d, expected %d", score, len(got), len(want))
}

// regions reads a list of boxes or spans, or a single one.
func (v IoU) regions(text string) ([]region, error) {
	value, err := decodeJSON(text)
	if err != nil {
		return nil, err
	}
	list, ok := value.([]any)
	if !ok || len(list) > 0 && isJSONNumber(list[0]) {
		list = []any{value}
	}
	if len(list) > maxBoxesIoU {
		return nil, fmt.Errorf("more than %d boxes", maxBoxesIoU)
	}
	regions := make([]region, len(list))
	for i, item := range list {
		if regions[i], err = v.region(item); err != nil {
			return nil, fmt.Errorf("box %d: %w", i+1, err)
		}
	}
	return regions, nil
}

func isJSONNumber(value any) bool {
	_, ok := value.(json.Number)
	return ok
}

func (v IoU) region(value any) (region, error) {
	label := ""
	if object, ok := value.(map[string]any); ok {
		label, _ = object["label"].(string)
		for _, key := range []string{"box", "bbox", "bbox_2d", "span", "segment"} {
			if inner, ok := object[key]; ok {
				value = inner
			}
		}
	}
	axes := 2
	if v.Kind == "span" {
		axes = 1
	}
	list, ok := value.([]any)
	if !ok || len(list) != 2*axes {
		return region{}, fmt.Errorf("a %s is a list of %d numbers", v.Kind, 2*axes)
	}
	r := region{label: label}
	for i, item := range list {
		number, ok := item.(json.Number)
		if !ok {
			return region{}, errors.New("a coordinate is not a number")
		}
		x, err := number.Float64()
		if err != nil || math.Abs(x) > 1e12 { // so that areas stay finite
			return region{}, fmt.Errorf("the coordinate %s is out of range", quote(number.String()))
		}
		if i < axes {
			r.low = append(r.low, x)
			continue
		}
		if v.Kind == "box" && v.Format == "xywh" {
			x += r.low[i-axes]
		}
		if x < r.low[i-axes] {
			return region{}, errors.New("an end is before its start")
		}
		r.high = append(r.high, x)
	}
	return r, nil
}

func (r region) size() float64 {
	size := 1.0
	for i := range r.low {
		size *= r.high[i] - r.low[i]
	}
	return size
}

// iou is 1 for equal regions, also for those without an extent.
func (r region) iou(s region) float64 {
	common, same := 1.0, true
	for i := range r.low {
		common *= max(0, min(r.high[i], s.high[i])-max(r.low[i], s.low[i]))
		same = same && r.low[i] == s.low[i] && r.high[i] == s.high[i]
	}
	if same {
		return 1
	}
	union := r.size() + s.size() - common
	if union <= 0 {
		return 0
	}
	return common / union
}

// assignment is the largest sum of values with one of each row and column at
// most (Kuhn, "The Hungarian method", 1955, with potentials; O(n³)).
func assignment(values [][]float64) float64 {
	n := max(len(values), len(values[0]))
	cost := func(i, j int) float64 {
		if i <= len(values) && j <= len(values[0]) {
			return -values[i-1][j-1]
		}
		return 0
	}
	rowPotential, columnPotential := make([]float64, n+1), make([]float64, n+1)
	rowOf, before := make([]int, n+1), make([]int, n+1)
	for i := 1; i <= n; i++ {
		rowOf[0] = i
		at := 0
		slack, done := make([]float64, n+1), make([]bool, n+1)
		for j := range slack {
			slack[j] = math.Inf(1)
		}
		for rowOf[at] != 0 {
			done[at] = true
			row, least, next := rowOf[at], math.Inf(1), 0
			for j := 1; j <= n; j++ {
				if done[j] {
					continue
				}
				if c := cost(row, j) - rowPotential[row] - columnPotential[j]; c < slack[j] {
					slack[j], before[j] = c, at
				}
				if slack[j] < least {
					least, next = slack[j], j
				}
			}
			for j := range done {
				if done[j] {
					rowPotential[rowOf[j]] += least
					columnPotential[j] -= least
				} else {
					slack[j] -= least
				}
			}
			at = next
		}
		for at != 0 {
			rowOf[at] = rowOf[before[at]]
			at = before[at]
		}
	}
	total := 0.0
	for j := 1; j <= n; j++ {
		total -= cost(rowOf[j], j)
	}
	return total
}
