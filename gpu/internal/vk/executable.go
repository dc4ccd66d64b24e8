//go:build (linux || darwin || windows) && (amd64 || arm64)

package vk

import (
	"math"
	"unsafe"
)

// The structures of VK_KHR_pipeline_executable_properties
// (https://registry.khronos.org/vulkan/specs/latest/man/html/VK_KHR_pipeline_executable_properties.html).

type executableFeatures struct {
	header
	info uint32
}

type pipelineInfo struct {
	header
	pipeline Pipeline
}

type executableProperties struct {
	header
	stages       uint32
	name         [maxNameSize]byte
	description  [maxNameSize]byte
	subgroupSize uint32
}

type executableInfo struct {
	header
	pipeline Pipeline
	index    uint32
}

type executableStatistic struct {
	header
	name        [maxNameSize]byte
	description [maxNameSize]byte
	format      uint32
	value       uint64 // the bits of the member
}

// VkPipelineExecutableStatisticFormatKHR: which member of the union value is. The
// systems of this package are little-endian, so a shorter member is the low bits.
const (
	statisticBool = iota
	statisticInt64
	_ // 64 bits, unsigned
	statisticFloat64
)

// Executable is a program that a driver made of a pipeline's shader.
type Executable struct {
	Name       string // in the driver's words
	Subgroup   int    // lanes; 0 if the driver does not say
	Statistics map[string]float64
}

// Executables tells about a pipeline of a device with Statistics.
func (d *Device) Executables(p Pipeline) ([]Executable, Result) {
	pipeline := pipelineInfo{header: header{sType: typePipelineInfo}, pipeline: p}
	programs, r := enumerateInto(executableProperties{header: header{sType: typeExecutableProperties}}, func(count *uint32, list *executableProperties) Result {
		return invoke(d.executableProperties, d.handle, uintptr(unsafe.Pointer(&pipeline)), uintptr(unsafe.Pointer(count)), uintptr(unsafe.Pointer(list)))
	})
	if r != Success {
		return nil, r
	}
	list := make([]Executable, len(programs))
	for i, program := range programs {
		info := executableInfo{header: header{sType: typeExecutableInfo}, pipeline: p, index: uint32(i)}
		statistics, r := enumerateInto(executableStatistic{header: header{sType: typeExecutableStatistic}}, func(count *uint32, list *executableStatistic) Result {
			return invoke(d.executableStatistics, d.handle, uintptr(unsafe.Pointer(&info)), uintptr(unsafe.Pointer(count)), uintptr(unsafe.Pointer(list)))
		})
		if r != Success {
			return nil, r
		}
		list[i] = Executable{Name: goString(program.name[:]), Subgroup: int(program.subgroupSize), Statistics: map[string]float64{}}
		for _, s := range statistics {
			list[i].Statistics[goString(s.name[:])] = s.number()
		}
	}
	return list, Success
}

// number is the value as the format says to read it.
func (s *executableStatistic) number() float64 {
	switch s.format {
	case statisticBool:
		return float64(uint32(s.value))
	case statisticInt64:
		return float64(int64(s.value))
	case statisticFloat64:
		return math.Float64frombits(s.value)
	default:
		return float64(s.value)
	}
}
