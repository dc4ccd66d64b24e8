// Package jsonfile reads and writes the small JSON files of a model folder: its config, its
// tokenizer, the index of its weights. A file is read as a whole and has a bounded size. Written
// files have the layout of those of transformers.
package jsonfile
