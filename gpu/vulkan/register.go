package vulkan

import "github.com/rlzero/rlzero/gpu"

func init() { gpu.Register(backend{}) }

// backend makes List and Open known to package gpu.
type backend struct{}

func (backend) Name() string                              { return "vulkan" }
func (backend) List() ([]gpu.Info, error)                 { return List() }
func (backend) Open(index int) (gpu.Device, error)        { return openAny(index) }
func (backend) Inspect(index int) ([]gpu.Compiled, error) { return Inspect(index) }
