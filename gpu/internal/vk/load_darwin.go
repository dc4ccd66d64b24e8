//go:build amd64 || arm64

package vk

// The loader first, since it finds every installed driver; then the drivers for
// Metal, which work without it.
var libraryNames = []string{"libvulkan.1.dylib", "libvulkan.dylib", "libMoltenVK.dylib", "libvulkan_kosmickrisp.dylib"}

// Homebrew's folder on Apple Silicon (https://docs.brew.sh/Installation) is not
// among those that dyld searches.
var libraryFolders = []string{"/opt/homebrew/lib"}
