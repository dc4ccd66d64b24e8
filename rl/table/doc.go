// Package table reads data files as rows of named values.
//
//	a file: JSON Lines, a JSON array, CSV, Parquet ─┐
//	                                                ├─ Open ─> Data: splits, Each(split) ─> Row
//	a folder: files of one format or several ───────┘
//
// A [Row] has its values by column name, each as JSON. Every value of a CSV file is a string.
// Package parquet says how a Parquet value becomes JSON.
//
// The format follows from the extension: .jsonl and .ndjson, .json (an array of objects, or JSON
// Lines), .csv, .tsv, .parquet. The delimiter of a CSV file is the most frequent of comma,
// semicolon, tab and bar in its header. Inside quotes, carriage return and line feed become a line
// feed. A byte order mark is skipped.
//
// The name of a file in a folder gives its split, as on the Hugging Face Hub
// (https://huggingface.co/docs/hub/datasets-file-names-and-splits): the name, or that of a folder
// on the way to it, has one of the words train, training, validation, valid, val, dev, test,
// testing, eval, evaluation, with no letter next to it. If no name has such a word, every file
// belongs to the split train. If a data set has several configurations, give the folder of one. A
// folder written by save_to_disk holds Arrow files, which are not read.
//
// Files are read as a stream: one row of at most 64 MiB is held at a time; for Parquet see package
// parquet. Errors begin with file and line, or with file and row for Parquet.
//
// Functions are safe for concurrent use.
package table
