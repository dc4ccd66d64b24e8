//go:build (linux || darwin || windows) && (amd64 || arm64)

package vulkan

import (
	"os"
	"runtime"
	"slices"
	"strings"
)

// installHint says how to get a Vulkan loader and driver on this system.
func installHint() string {
	release, _ := os.ReadFile("/etc/os-release") // absent outside Linux
	return hintFor(runtime.GOOS, string(release))
}

// hintFor is installHint for a system and the text of its os-release file
// (https://www.freedesktop.org/software/systemd/man/latest/os-release.html).
func hintFor(goos, release string) string {
	switch goos {
	case "darwin":
		return "install a Vulkan driver with: brew install molten-vk vulkan-loader"
	case "windows":
		return "install the current driver of your GPU's vendor; it brings Vulkan with it"
	}
	families := distributions(release)
	for _, hint := range []struct{ family, command string }{
		{"debian", "apt install mesa-vulkan-drivers libvulkan1"},
		{"ubuntu", "apt install mesa-vulkan-drivers libvulkan1"},
		{"fedora", "dnf install mesa-vulkan-drivers vulkan-loader"},
		{"rhel", "dnf install mesa-vulkan-drivers vulkan-loader"},
		{"arch", "pacman -S vulkan-swrast vulkan-icd-loader"},
		{"alpine", "apk add mesa-vulkan-swrast vulkan-loader"},
		{"suse", "zypper install libvulkan1 Mesa-vulkan-device-select libvulkan_lvp"},
	} {
		if slices.Contains(families, hint.family) {
			return "install a Vulkan driver with: " + hint.command + " (for an NVIDIA GPU, NVIDIA's own driver)"
		}
	}
	return "install your system's packages of the Vulkan loader (libvulkan.so.1) and of Mesa's Vulkan drivers"
}

// distributions are the values of ID and ID_LIKE in an os-release file.
func distributions(release string) []string {
	var list []string
	for line := range strings.Lines(release) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if key == "ID" || key == "ID_LIKE" {
			list = append(list, strings.Fields(strings.Trim(value, "\"'"))...)
		}
	}
	return list
}
