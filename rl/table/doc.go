// Package table reads data files as rows of named values.
//
//	a file: JSON Lines, a JSON array, CSV, Parquet ─┐
//	                                                ├─ Open ─> Data: splits, Each(split) ─> Row
//	a folder: files of one format or several ───────┘
//
// A [Row] has its values by the names of their columns, each as JSON: of CSV every value
// is a string. How a Parquet value becomes JSON is said in package parquet.
//
// The format follows from the extension: .jsonl and .ndjson, .json (an array of objects,
// or JSON Lines), .csv, .tsv, .parquet. The delimiter of a CSV file is the one of comma,
// semicolon, tab and bar that is most frequent in its header. Inside quotes, carriage
// return and line feed become a line feed. A byte order mark is passed over.
//
// The files of a folder belong to splits by their names, as the Hugging Face Hub has it:
// a name, or a folder on the way to it, that has one of the words train, training,
// validation, valid, val, dev, test, testing, eval, evaluation between other characters
// than letters; where no name has one, every file is of the split train. Of a data set
// with several configurations the folder of one is to be given. A folder written by
// save_to_disk holds Arrow files, which are not read.
// https://huggingface.co/docs/hub/datasets-file-names-and-splits
//
// Files are read as a stream: one row of at most 64 MiB is held at a time, and of Parquet
// what package parquet says. Errors begin with file and line, or row for Parquet.
//
// Functions are safe for concurrent use.
package table
