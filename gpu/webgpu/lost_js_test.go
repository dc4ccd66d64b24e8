package webgpu

import (
	"errors"
	"strings"
	"syscall/js"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/internal/hint"
)

// TestCrashedGPU: a device whose GPU process ends is lost, and another can be opened.
func TestCrashedGPU(t *testing.T) {
	d := openOne(t)
	b, err := d.NewBuffer("test", 256)
	if err != nil {
		t.Fatal(err)
	}
	js.Global().Call("crashGPU")
	for err == nil { // until the browser has noticed
		err = b.Read(0, make([]byte, 4))
	}
	if !errors.Is(err, gpu.ErrDeviceLost) || !strings.Contains(strings.Join(hint.All(err), " "), "--resume") {
		t.Errorf("a read after the crash: %v, want ErrDeviceLost with what to do", err)
	}
	if err := d.Close(); !errors.Is(err, gpu.ErrDeviceLost) {
		t.Errorf("close: %v", err)
	}
	again := openOne(t)
	if _, err := again.NewBuffer("test", 256); err != nil {
		t.Error(err)
	}
}
