package learn_test

import (
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/gpu/refdev"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/internal/modeltest"
)

// TestSumGradient: through a sum of logits, in which the model's own have a factor, the gradient is that of difference
// quotients, within the bound of TestFiniteDifferences.
func TestSumGradient(t *testing.T) {
	summed := func(t *testing.T, dev gpu.Device) objective {
		p := objectiveOf(t, modeltest.Small(t, dev, 64), 2)
		cfg := modeltest.SmallConfig(hf.F32, hf.F32)
		cfg.Layers++
		other, err := model.New(dev, cfg, 11, 64)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(other.Close)
		if err := p.Mix([]*model.Model{other}); err != nil {
			t.Fatal(err)
		}
		p.Sum(0.75, []float64{0.5})
		return p
	}
	want := finiteDifferences(t, summed(t, refdev.New()))
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		if dev.Caps().Kind != gpu.Reference {
			want.compare(t, summed(t, dev))
		}
	})
}
