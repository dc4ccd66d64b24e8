package hf

import "math"

// RopeTable returns cosines and sines of the rotation angles, [positions] rows of
// HeadDim/2 each, computed in float64 and rounded once. Row p, column i is the
// angle p * f_i, f_i = theta^(-2i/HeadDim) before scaling. Element i of a head is
// paired with element i + HeadDim/2 (rotate_half).
//
// llama3 scaling: wavelengths above original/low are divided by factor, those
// below original/high are kept, and between them the frequency is blended
// linearly in original/wavelength. Source: modeling_rope_utils.py of transformers,
// _compute_llama3_parameters.
func RopeTable(headDim int, theta float64, scaling *RopeScaling, positions int) (cos, sin [][]float32) {
	half := headDim / 2
	freq := make([]float64, half)
	for i := range freq {
		freq[i] = scaling.scale(math.Pow(theta, -2*float64(i)/float64(headDim)))
	}
	cos, sin = make([][]float32, positions), make([][]float32, positions)
	for p := range positions {
		cos[p], sin[p] = make([]float32, half), make([]float32, half)
		for i, f := range freq {
			s, c := math.Sincos(float64(p) * f)
			cos[p][i], sin[p][i] = float32(c), float32(s)
		}
	}
	return cos, sin
}

// scale changes one frequency, in radians per token.
func (s *RopeScaling) scale(f float64) float64 {
	switch {
	case s == nil:
		return f
	case s.Type == "linear":
		return f / s.Factor
	}
	turns := float64(s.OriginalMaxPositions) * f / (2 * math.Pi) // original / wavelength
	switch {
	case turns < s.LowFreqFactor:
		return f / s.Factor
	case turns > s.HighFreqFactor:
		return f
	}
	blend := (turns - s.LowFreqFactor) / (s.HighFreqFactor - s.LowFreqFactor)
	return (1-blend)*f/s.Factor + blend*f
}
