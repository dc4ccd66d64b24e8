// Package parquet reads Parquet files row by row, as JSON.
//
//	footer ── Open ──> schema, row groups
//	row groups ── Each ──> one JSON object a row
//	    a leaf column: pages ── levels + values ──> entries (repetition, definition, value)
//	    a row: one walk over the schema takes the entries of every leaf
//
// All physical types are read, all encodings but the deprecated BIT_PACKED levels, and
// the codecs uncompressed, snappy, gzip, zstd, LZ4_RAW and, outside the browser, brotli. Encrypted files are
// refused.
//
// Values: integers, floats and decimals are JSON numbers, NaN and infinities null.
// Text is a string. Bytes without annotation are a string where they are UTF-8 text, as
// older writers did not annotate text, and base64 where they are not. Dates and times are
// strings as in RFC 3339. A group is an object with its fields in the order of the
// schema, a LIST an array, a MAP an array of objects with key and value.
//
// A file is not trusted. One page and one dictionary of each column are held, all of them together
// at most 512 MiB. A row has at most as many bytes as the caller allows. Runs of levels and values
// are never expanded, so a page that claims a billion values costs no memory. Checksums of pages
// are compared if there are any. Errors name row and column.
//
// A File is not safe for concurrent use.
//
// Source: https://github.com/apache/parquet-format (README, LogicalTypes.md,
// Encodings.md, Compression.md, parquet.thrift of version 2.11)
package parquet
