// Package peers holds no Go of its own: it is the folder of what rlzero is compared with, in
// Python and shell. It tests how its scripts refuse and end, and runs the tests in Python.
//
//	make peers ── setup ──> .venv ──> differ ── golden/*.py ──> golden tests of rl/algo
//	                              └─> bench ── beside/work.py, rlzero bench ──> docs/benchmarks.md
//
// README.md says what is here. Nothing outside this folder needs it.
package peers
