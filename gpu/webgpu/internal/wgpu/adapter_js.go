package wgpu

import (
	"errors"
	"fmt"
	"strings"
	"syscall/js"
)

type adapterHandle = js.Value

// NoAdapter is what to do where there is no adapter.
const NoAdapter = "switch on hardware acceleration in the browser's settings, or try another browser; chrome://gpu tells what Chromium found"

// Adapters lists the one adapter that a browser shows. It fails where there is no
// WebGPU, and lists none where the browser has no adapter for it.
func Adapters() ([]Adapter, error) {
	navigator := js.Global().Get("navigator")
	if navigator.IsUndefined() || navigator.Get("gpu").IsUndefined() {
		return nil, errors.New("this browser does not offer it here; a page has it if its address begins with https: or is of this machine")
	}
	handle, _, err := await(navigator.Get("gpu").Call("requestAdapter", object{"powerPreference": "high-performance"}), nil)
	if err != nil {
		return nil, invalid(err)
	}
	if handle.IsNull() {
		return nil, nil
	}
	info := handle.Get("info")
	if info.IsUndefined() { // older browsers
		info = js.Global().Get("Object").New()
	}
	a := Adapter{
		Name:       nameOf(info),
		Driver:     browserOf(navigator),
		Limits:     limitsOf(handle.Get("limits")),
		Timestamps: handle.Get("features").Call("has", "timestamp-query").Bool(),
		Tick:       1, // https://www.w3.org/TR/webgpu/#timestamp
		handle:     handle,
	}
	// Where the flag is depends on the browser's age.
	if info.Get("isFallbackAdapter").Truthy() || handle.Get("isFallbackAdapter").Truthy() || textOf(info, "architecture") == "swiftshader" {
		a.Type = CPU
	}
	return []Adapter{a}, nil
}

// nameOf is what the browser tells of an adapter: its description, which most keep to
// themselves, else vendor, architecture and device, as in "nvidia ampere".
func nameOf(info js.Value) string {
	if text := textOf(info, "description"); text != "" {
		return text
	}
	var parts []string
	for _, key := range []string{"vendor", "architecture", "device"} {
		if text := textOf(info, key); text != "" {
			parts = append(parts, text)
		}
	}
	if len(parts) == 0 {
		return "a GPU that the browser does not name"
	}
	return strings.Join(parts, " ")
}

func textOf(v js.Value, key string) string {
	if text := v.Get(key); text.Type() == js.TypeString {
		return text.String()
	}
	return ""
}

// browserOf names the browser and the system. Browsers that list their brands add one
// that is none, with "Not" and punctuation in it, and Chromium beside their own name
// (https://wicg.github.io/ua-client-hints/#grease).
func browserOf(navigator js.Value) string {
	data := navigator.Get("userAgentData")
	if data.IsUndefined() {
		return textOf(navigator, "userAgent")
	}
	name := ""
	brands := data.Get("brands")
	for i := range brands.Length() {
		brand := textOf(brands.Index(i), "brand")
		if strings.HasPrefix(brand, "Not") || name != "" && brand == "Chromium" {
			continue
		}
		name = brand + " " + textOf(brands.Index(i), "version")
	}
	return fmt.Sprintf("%s on %s", name, textOf(data, "platform"))
}

func limitsOf(l js.Value) Limits {
	get := func(name string) int {
		if v := l.Get(name); v.Type() == js.TypeNumber {
			return int(min(v.Float(), 1<<53))
		}
		return 0
	}
	return Limits{
		StorageBuffers:  get("maxStorageBuffersPerShaderStage"),
		Binding:         get("maxStorageBufferBindingSize"),
		Uniform:         get("maxUniformBufferBindingSize"),
		OffsetAlignment: max(get("minStorageBufferOffsetAlignment"), get("minUniformBufferOffsetAlignment")),
		Buffer:          get("maxBufferSize"),
		SharedMemory:    get("maxComputeWorkgroupStorageSize"),
		Invocations:     get("maxComputeInvocationsPerWorkgroup"),
		Groups:          get("maxComputeWorkgroupsPerDimension"),
	}
}

// Release does nothing: the browser's collector frees adapters.
func (a Adapter) Release() {}

// Open makes a device with those limits, each at most the adapter's, and with
// timestamps if the adapter has them. An adapter opens one device.
func (a Adapter) Open(l Limits) (Device, error) {
	features := array{}
	if a.Timestamps {
		features = array{"timestamp-query"}
	}
	var promise js.Value
	err := guard(func() {
		promise = a.handle.Call("requestDevice", object{
			"label":            "rlzero",
			"requiredFeatures": features,
			"requiredLimits": object{
				"maxStorageBuffersPerShaderStage":   l.StorageBuffers,
				"maxStorageBufferBindingSize":       l.Binding,
				"maxUniformBufferBindingSize":       l.Uniform,
				"maxBufferSize":                     l.Buffer,
				"maxComputeWorkgroupStorageSize":    l.SharedMemory,
				"maxComputeInvocationsPerWorkgroup": l.Invocations,
				"maxComputeWorkgroupSizeX":          l.Invocations,
				"maxComputeWorkgroupsPerDimension":  l.Groups,
			},
		})
	})
	if err != nil {
		return Device{}, err
	}
	made, _, err := await(promise, nil)
	if err != nil {
		return Device{}, invalid(err)
	}
	return Device{newDevice(made)}, nil
}
