package host

import "golang.org/x/sys/unix"

// Memory is how many bytes of system memory a device may use, 0 if the system
// does not say. macOS gives back what other programs cache, so it is a share of
// all there is: three quarters, Metal's own recommendation on most machines
// (MTLDevice.recommendedMaxWorkingSetSize).
func Memory() int {
	size, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return 0
	}
	return int(size / 4 * 3)
}
