//go:build (linux || darwin || windows) && (amd64 || arm64)

package vk

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"
)

// TestLayout holds the sizes and offsets that a C compiler gives Vulkan's
// structures on 64-bit systems. They follow from the declarations in
// https://registry.khronos.org/vulkan/specs/latest/html/vkspec.html by C's
// alignment rules; most of the blank fields here are checked by nothing else.
func TestLayout(t *testing.T) {
	var (
		l limits
		p properties2
		m memoryProperties2
	)
	for _, c := range []struct {
		name      string
		got, want uintptr
	}{
		{"VkPhysicalDeviceLimits", unsafe.Sizeof(l), 504},
		{"limits.maxTexelBufferElements", unsafe.Offsetof(l.maxTexelBufferElements), 20},
		{"limits.maxStorageBufferRange", unsafe.Offsetof(l.maxStorageBufferRange), 28},
		{"limits.maxPushConstantsSize", unsafe.Offsetof(l.maxPushConstantsSize), 32},
		{"limits.maxPerStageDescriptorStorageBuffers", unsafe.Offsetof(l.perStageStorageBuffers), 76},
		{"limits.maxComputeSharedMemorySize", unsafe.Offsetof(l.maxSharedMemorySize), 216},
		{"limits.maxComputeWorkGroupCount", unsafe.Offsetof(l.maxWorkgroupCount), 220},
		{"limits.maxComputeWorkGroupInvocations", unsafe.Offsetof(l.maxWorkgroupInvocations), 232},
		{"limits.timestampPeriod", unsafe.Offsetof(l.timestampPeriod), 424},
		{"VkPhysicalDeviceProperties2", unsafe.Sizeof(p), 16 + 824},
		{"properties.limits", unsafe.Offsetof(p.limits), 16 + 296},
		{"VkPhysicalDeviceMemoryProperties2", unsafe.Sizeof(m), 16 + 520},
		{"memoryProperties.memoryHeaps", unsafe.Offsetof(m.heaps), 16 + 264},
		{"VkBufferViewCreateInfo", unsafe.Sizeof(bufferViewCreateInfo{}), 56},
		{"bufferView.buffer", unsafe.Offsetof(bufferViewCreateInfo{}.buffer), 24},
		{"bufferView.format", unsafe.Offsetof(bufferViewCreateInfo{}.format), 32},
		{"bufferView.offset", unsafe.Offsetof(bufferViewCreateInfo{}.offset), 40},
		{"VkPhysicalDeviceFloatControlsProperties", unsafe.Sizeof(floatControls{}), 88},
		{"floatControls.shaderRoundingModeRTEFloat16", unsafe.Offsetof(floatControls{}.nearest), 60},
		{"VkPhysicalDeviceSubgroupProperties", unsafe.Sizeof(subgroupProperties{}), 32},
		{"VkPhysicalDeviceMaintenance3Properties", unsafe.Sizeof(maintenance3Properties{}), 32},
		{"VkPhysicalDeviceDriverProperties", unsafe.Sizeof(driverProperties{}), 536},
		{"VkPhysicalDeviceMemoryBudgetPropertiesEXT", unsafe.Sizeof(memoryBudgetProperties{}), 272},
		{"VkQueueFamilyProperties", unsafe.Sizeof(QueueFamily{}), 24},
		{"VkExtensionProperties", unsafe.Sizeof(extensionProperties{}), 260},
		{"VkApplicationInfo", unsafe.Sizeof(applicationInfo{}), 48},
		{"VkInstanceCreateInfo", unsafe.Sizeof(instanceCreateInfo{}), 64},
		{"VkDeviceQueueCreateInfo", unsafe.Sizeof(queueCreateInfo{}), 40},
		{"VkDeviceCreateInfo", unsafe.Sizeof(deviceCreateInfo{}), 72},
		{"VkBufferCreateInfo", unsafe.Sizeof(bufferCreateInfo{}), 56},
		{"VkMemoryRequirements", unsafe.Sizeof(MemoryRequirements{}), 24},
		{"VkMemoryAllocateInfo", unsafe.Sizeof(memoryAllocateInfo{}), 32},
		{"VkShaderModuleCreateInfo", unsafe.Sizeof(shaderModuleCreateInfo{}), 40},
		{"VkDescriptorSetLayoutBinding", unsafe.Sizeof(descriptorSetLayoutBinding{}), 24},
		{"VkDescriptorSetLayoutCreateInfo", unsafe.Sizeof(descriptorSetLayoutCreateInfo{}), 32},
		{"VkPipelineLayoutCreateInfo", unsafe.Sizeof(pipelineLayoutCreateInfo{}), 48},
		{"VkPipelineShaderStageCreateInfo", unsafe.Sizeof(pipelineShaderStageCreateInfo{}), 48},
		{"VkComputePipelineCreateInfo", unsafe.Sizeof(computePipelineCreateInfo{}), 96},
		{"VkDescriptorPoolCreateInfo", unsafe.Sizeof(descriptorPoolCreateInfo{}), 40},
		{"VkDescriptorSetAllocateInfo", unsafe.Sizeof(descriptorSetAllocateInfo{}), 40},
		{"VkDescriptorBufferInfo", unsafe.Sizeof(BufferRange{}), 24},
		{"VkWriteDescriptorSet", unsafe.Sizeof(writeDescriptorSet{}), 64},
		{"VkCommandPoolCreateInfo", unsafe.Sizeof(commandPoolCreateInfo{}), 24},
		{"VkCommandBufferAllocateInfo", unsafe.Sizeof(commandBufferAllocateInfo{}), 32},
		{"VkCommandBufferBeginInfo", unsafe.Sizeof(commandBufferBeginInfo{}), 32},
		{"VkQueryPoolCreateInfo", unsafe.Sizeof(queryPoolCreateInfo{}), 32},
		{"VkMemoryBarrier", unsafe.Sizeof(memoryBarrier{}), 24},
		{"VkBufferCopy", unsafe.Sizeof(bufferCopy{}), 24},
		{"VkSubmitInfo", unsafe.Sizeof(submitInfo{}), 72},
		{"VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR", unsafe.Sizeof(executableFeatures{}), 24},
		{"VkPipelineInfoKHR", unsafe.Sizeof(pipelineInfo{}), 24},
		{"VkPipelineExecutablePropertiesKHR", unsafe.Sizeof(executableProperties{}), 536},
		{"VkPipelineExecutableInfoKHR", unsafe.Sizeof(executableInfo{}), 32},
		{"VkPipelineExecutableStatisticKHR", unsafe.Sizeof(executableStatistic{}), 544},
		{"executableStatistic.value", unsafe.Offsetof(executableStatistic{}.value), 536},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d, want %d", c.name, c.got, c.want)
		}
	}
}

func TestStatisticNumber(t *testing.T) {
	for _, c := range []struct {
		format uint32
		bits   uint64
		want   float64
	}{{statisticBool, 1<<40 | 1, 1}, {statisticInt64, ^uint64(2), -3}, {2, 1 << 40, 1 << 40}, {statisticFloat64, 0x3ff8000000000000, 1.5}} {
		if got := (&executableStatistic{format: c.format, value: c.bits}).number(); got != c.want {
			t.Errorf("format %d, bits %#x: %g, want %g", c.format, c.bits, got, c.want)
		}
	}
}

func TestEnumerate(t *testing.T) {
	// A list that grows between the two calls is asked for again.
	have, calls := 2, 0
	list, r := enumerate[int](func(count *uint32, list *int) Result {
		calls++
		if list == nil {
			*count = uint32(have)
			have = 3
			return Success
		}
		out := unsafe.Slice(list, *count)
		for i := range out {
			out[i] = i
		}
		if int(*count) < have {
			return Incomplete
		}
		return Success
	})
	if r != Success || len(list) != 3 || list[2] != 2 || calls != 4 {
		t.Errorf("%v, %v after %d calls", list, r, calls)
	}
}

func TestGoString(t *testing.T) {
	if got := goString([]byte("llvm\x00pipe")); got != "llvm" {
		t.Errorf("%q", got)
	}
	if got := goString([]byte("full")); got != "full" {
		t.Errorf("%q", got)
	}
}

func TestResultString(t *testing.T) {
	if got := DeviceLost.String(); got != "VK_ERROR_DEVICE_LOST" {
		t.Error(got)
	}
	if got := Result(-99).String(); got != "VkResult -99" {
		t.Error(got)
	}
}

func TestNoLibrary(t *testing.T) {
	missing, text := filepath.Join(t.TempDir(), "missing"), filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("no library"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := openFirst([]string{missing, text})
	if !errors.Is(err, ErrNoLoader) || !strings.Contains(err.Error(), missing) || !strings.Contains(err.Error(), text) {
		t.Errorf("%v, want ErrNoLoader and both paths", err)
	}
}
