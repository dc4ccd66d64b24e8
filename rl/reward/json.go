package reward

import (
	"encoding/json"
	"math"
)

// Number is a number of a checkpoint that may have no value: NaN is null in JSON.
type Number float64

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(n)) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *Number) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*n = Number(math.NaN())
		return nil
	}
	return json.Unmarshal(data, (*float64)(n))
}

// numbers is a score whose numbers may have no value.
type numbers struct {
	Reward    Number
	NotScored string       `json:",omitempty"`
	Terms     []numberTerm `json:",omitempty"`
}

type numberTerm struct {
	Name  string
	Value Number
}

// MarshalJSON implements json.Marshaler.
func (s Score) MarshalJSON() ([]byte, error) {
	out := numbers{Reward: Number(s.Reward), NotScored: s.NotScored}
	for _, t := range s.Terms {
		out.Terms = append(out.Terms, numberTerm{t.Name, Number(t.Value)})
	}
	return json.Marshal(out)
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *Score) UnmarshalJSON(data []byte) error {
	var in numbers
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*s = Score{Reward: float64(in.Reward), NotScored: in.NotScored}
	for _, t := range in.Terms {
		s.Terms = append(s.Terms, Term{t.Name, float64(t.Value)})
	}
	return nil
}
