// Package gputest gives tests the devices they run on.
//
// Every test of a kernel or of the model runs on each device of the machine:
// every Vulkan device in each tier it can take, and the plain-Go device. A
// machine without Vulkan tests the plain-Go device alone and says so, unless
// RLZERO_WANT_DEVICE names what must be there; then a missing device fails
// the test.
//
//	RLZERO_WANT_DEVICE=lavapipe go test ./gpu/...
//
// The value is a part of a device's name or driver, or "lavapipe" for Mesa's
// software Vulkan, which calls itself llvmpipe.
//
// RLZERO_LONG=1 asks for the long forms of tests (make nightly): all cases on every
// device, more kills and injected faults.
//
// Devices are opened once for each test process, shared by its tests and never
// closed. They are not for parallel tests. Inputs, expected values and bounds
// are package oracle's.
package gputest
