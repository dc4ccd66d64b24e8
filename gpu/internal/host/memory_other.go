//go:build !linux && !darwin && !js

package host

// Memory is how many bytes of system memory a device may use: 0, unknown.
func Memory() int { return 0 }
