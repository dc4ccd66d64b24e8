//go:build amd64 || arm64

package vk

var libraryNames = []string{"libvulkan.so.1"}

var libraryFolders []string
