// Package peers holds no Go of its own: it is the folder of what rlzero is compared with, as locked
// lists of Python packages and a script that installs them into .venv (make peers). Its tests are of
// how that script refuses; the comparisons are tests of other packages, which skip where .venv is
// not there. README.md says what it holds.
package peers
