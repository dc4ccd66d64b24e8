// Package host tells what a backend has to know about the machine beside its
// devices: how much memory a device that computes in system memory may take.
//
// Memory returns bytes, 0 where the system does not say. It is read afresh by
// each call, keeps no state and may be called from any goroutine.
package host
