// Package jsonfile reads and writes the small JSON files of a model folder: its
// config, its tokenizer, the index of its weights. A file is read whole and is
// bounded; what is written is laid out as transformers does.
package jsonfile
