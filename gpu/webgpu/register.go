package webgpu

import "github.com/rlzero/rlzero/gpu"

func init() { gpu.Register(backend{}) }

// backend makes List and Open known to package gpu.
type backend struct{}

func (backend) Name() string                       { return "webgpu" }
func (backend) List() ([]gpu.Info, error)          { return List() }
func (backend) Open(index int) (gpu.Device, error) { return openAny(index) }
