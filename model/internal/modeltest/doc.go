// Package modeltest has what tests of model and the packages below it share: small models that
// cover every option between them, sequences for them, and the results of an engine and a trainer.
//
// Models are closed when the test ends. Helpers fail the test; only tests may use the package.
package modeltest
