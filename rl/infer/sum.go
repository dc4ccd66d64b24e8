package infer

import (
	"fmt"

	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/sample"
)

// Sum says whose logits are added to those of a model that draws, and by which factors; nil: nobody's.
type Sum struct {
	Own    float64 // of the model itself
	Others []Summand
}

// Summand is a model whose logits are added.
type Summand struct {
	Name   string
	Model  *model.Model
	Factor float64
}

// NewEngine makes an engine that draws from a model by the sum.
func (s *Sum) NewEngine(m *model.Model, o sample.Options) (*sample.Engine, error) {
	if s == nil {
		return sample.NewEngine(m, o)
	}
	var factors []float64
	for _, other := range s.Others {
		if most := other.Model.Positions(); o.Context > most {
			return nil, fmt.Errorf("%w: model %s has %d positions, and a prompt with its completion takes %d", lines.ErrInput, other.Name, most, o.Context)
		}
		o.Others, factors = append(o.Others, other.Model), append(factors, other.Factor)
	}
	e, err := sample.NewEngine(m, o)
	if err == nil {
		e.Sum(s.Own, factors)
	}
	return e, err
}
