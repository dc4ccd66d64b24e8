// Package gputest gives tests the devices they run on.
//
// Every test of a kernel or of the model runs on each device of the machine: every Vulkan device in
// each tier it can take, and the plain-Go device. A machine without Vulkan tests only the plain-Go
// device and says so, unless RLZERO_WANT_DEVICE names what must be there; then a missing device
// fails the test.
//
//	RLZERO_WANT_DEVICE=lavapipe go test ./gpu/...
//
// The value is a part of a device's name or driver, or "lavapipe" for Mesa's
// software Vulkan, which calls itself llvmpipe.
//
// RLZERO_LONG=1 runs the long forms of tests (make nightly): all cases on every device, more kills
// and injected faults.
//
// A test process opens each device once, shares it among its tests and never closes it. Parallel
// tests cannot use them. Package oracle has the inputs, expected values and bounds.
package gputest
