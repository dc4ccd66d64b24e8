// Package spirv edits SPIR-V modules that naga has written. It removes what the
// naga command cannot be told to leave out and marks arithmetic that a driver
// may not contract. Words are 32 bits, little endian; the module layout is
// section 2.3 of the SPIR-V specification
// (https://registry.khronos.org/SPIR-V/specs/unified1/SPIRV.html), which also
// defines the opcodes. Functions keep no state.
package spirv
