// Package tree has the rules of the whole source tree, as tests: there is no code in it.
//
//	imports_test.go    which package may import which; who may use disk, clock, network and C
//	maporder_test.go   nothing that a run consists of depends on the order of a map
//	texts_test.go      package comments, links of documents, what no file may hold
//	files_test.go      reads the tree
//
// Most rules are tables. A failure says which row to add. A row that nothing needs is a failure
// too. The tests run in the root folder, and paths begin there.
package tree
