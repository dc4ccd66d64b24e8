// Package host has what the backends need to know of the machine besides its devices: how much
// memory a device that computes in system memory may take, how many cores compile shaders, and a
// limit of the software driver.
//
// Memory returns bytes, 0 where the system does not say; each call reads it anew. Nothing here
// keeps state, and any goroutine may call it.
package host

// LlvmpipeLoop is how many loop iterations llvmpipe lets one invocation make, over
// all its loops: LP_MAX_TGSI_LOOP_ITERATIONS in Mesa's
// src/gallium/auxiliary/gallivm/lp_bld_limits.h, and as measured.
const LlvmpipeLoop = 65535
