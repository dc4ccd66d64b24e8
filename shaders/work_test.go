package shaders

import "testing"

func TestNumber(t *testing.T) {
	k := Kernel{Name: "test", Params: []string{"n", "h", "scale:f32"}}
	for text, want := range map[string]int{
		"n": 9, "n+2*h": 15, "(n+2*h)*h": 45, "ceil(n/4)": 3, "ceil((n+h)/4)*2": 6, " 2 * n ": 18,
		"": -1, "m": -1, "scale": -1, "*": -1, "(n": -1, "n)": -1, "n/2": -1,
	} {
		got, err := k.Number(text, []uint32{9, 3, 1})
		if (err != nil) != (want < 0) || err == nil && got != want {
			t.Errorf("%q: %d, %v, want %d", text, got, err, want)
		}
	}
}

// TestBytes: the size of a binding follows from the shape alone, or cannot be told.
func TestBytes(t *testing.T) {
	k, _ := Lookup("qk_rope_bf16")
	params := []uint32{2, 4, 2, 8, 8, 0, 0, 0} // T, H, KV, hd, ...
	for i, want := range []int{4 * 2 * 64, 4 * 2 * 8, -1, 4 * 2 * 2, 4 * 2 * 32, -1, -1, 4 * 2 * 6} {
		got, err := k.Bytes(i, params)
		if (err != nil) != (want < 0) || err == nil && got != want {
			t.Errorf("%s %s: %d, %v, want %d", k.Bindings[i].Name, k.Bindings[i].Shape, got, err, want)
		}
	}
	products, _ := Lookup("matmul_nt_residual_q4_0")
	for i, want := range []int{4 * 3 * 64, 5 * 96 / 2, 4 * 5 * 3, 4 * 3 * 8, 4 * 3 * 8} {
		if got, err := products.Bytes(i, []uint32{3, 5, 64, 64, 96, 8}); err != nil || got != want {
			t.Errorf("%s %s: %d, %v, want %d", products.Bindings[i].Name, products.Bindings[i].Shape, got, err, want)
		}
	}
	if n, err := (&Kernel{Bindings: []Binding{{Shape: "[4][2] bf16"}}}).Bytes(0, nil); n != 16 || err != nil {
		t.Errorf("bf16: %d, %v", n, err)
	}
}
