package webgpu

import (
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/shaders"
)

// TestAllTexts has the browser's compiler read every text of the manifest: the quick form
// of TestAllPipelines, of whose time nine tenths are SwiftShader's compiler.
func TestAllTexts(t *testing.T) {
	t.Setenv("RLZERO_TIER", string(gpu.TierWide))
	d := openOne(t)
	read := 0
	eachText(t, func(v shaders.Variant, shared uint32) error {
		text, err := v.WebGPU(shared)
		if err != nil {
			return err
		}
		read++
		return d.device.Check(v.ID, text)
	})
	t.Logf("%d texts", read)
}
