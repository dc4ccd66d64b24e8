package model_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/internal/modeltest"
)

// TestLeavesChangedFile: parameters do not come back to the device from a file that was written to, or cut, meanwhile.
// The error names it, and what helps.
func TestLeavesChangedFile(t *testing.T) {
	const name = "model.safetensors"
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		cfg := modeltest.SmallConfig(hf.F32, hf.F32)
		files, err := hf.FolderFiles(cfg, nil)
		if err != nil {
			t.Fatal(err)
		}
		for about, change := range map[string]func(path string, was time.Time) error{
			"written": func(path string, was time.Time) error { return os.Chtimes(path, was, was.Add(time.Second)) },
			"cut": func(path string, was time.Time) error {
				err := os.Truncate(path, 1000)
				if err == nil {
					err = os.Chtimes(path, was, was)
				}
				return err
			},
		} {
			dir := modeltest.WriteFolder(t, files, name, modeltest.SmallAs(t, dev, 64, hf.F32, hf.F32).Tensors())
			path := filepath.Join(dir, name)
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			scratch, err := model.NewScratch(dev, []int{1 << 20})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(scratch.Close)
			own, other := scratch.Phase("own"), scratch.Phase("other")
			m, err := model.Load(dev, dir, model.LoadOptions{Positions: 64, Frozen: true, Phase: own})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(m.Close)
			enter := func(p *model.Phase) error {
				err := p.Enter()
				if err == nil {
					p.Leave()
				}
				return err
			}
			for _, p := range []*model.Phase{other, own, other} {
				if err := enter(p); err != nil {
					t.Fatal(err)
				}
			}
			if err := change(path, info.ModTime()); err != nil {
				t.Fatal(err)
			}
			if err := enter(own); err == nil || !strings.Contains(err.Error(), path+" has changed since it was opened") || !strings.Contains(strings.Join(hint.All(err), ""), `resident = "always"`) {
				t.Errorf("%s: %v, %q", about, err, hint.All(err))
			}
		}
	})
}
