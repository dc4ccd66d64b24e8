// Package modeltest has what tests of model and the packages below it share: small models that
// have every option between them, sequences for them, and what an engine and a trainer come to.
//
// Models are closed when the test ends. Helpers fail the test; the package is for tests alone.
package modeltest
