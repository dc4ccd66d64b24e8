// Package host has what the backends share of the machine beside its devices: how
// much memory a device that computes in system memory may take, all cores for
// compiling shaders, and a limit of the software driver.
//
// Memory returns bytes, 0 where the system does not say. It is read afresh by
// each call. Nothing here keeps state, and all of it may be called from any
// goroutine.
package host

// LlvmpipeLoop is how many loop iterations llvmpipe lets one invocation make, over
// all its loops: LP_MAX_TGSI_LOOP_ITERATIONS in Mesa's
// src/gallium/auxiliary/gallivm/lp_bld_limits.h, and as measured.
const LlvmpipeLoop = 65535
