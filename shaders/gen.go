package shaders

// The compiler is naga-cli 30.0.1 (cargo install naga-cli --version 30.0.1);
// its version decides the bytes of spv/, so a change of it regenerates all.
// spirv-val, when present, checks every module.

//go:generate go run ./internal/generate
