// Package tfevents writes scalars as an event file of TensorBoard, which other trackers
// of experiments read too.
//
//	scalars of a step ── Writer.Add ──> record ──> events.out.tfevents.*
//
// A file is a sequence of TFRecords: the length in 8 bytes, its checksum, the data, its
// checksum, all little-endian; a checksum is a CRC-32C that is rotated and shifted by a
// constant (https://www.tensorflow.org/tutorials/load_data/tfrecord). The data is a
// message Event of protobuf:
//
//	Event    1 wall_time double, 2 step int64, 3 file_version string, 5 summary Summary
//	Summary  1 value Value, repeated
//	Value    1 tag string, 2 simple_value float
//
// (https://github.com/tensorflow/tensorboard/tree/master/tensorboard/compat/proto: event.proto,
// summary.proto). The first Event has only the file_version.
//
// # Units and caveats
//
// Times are seconds since 1970. Values are float32, since the format has no room for more. Equal
// calls give equal bytes. A Writer belongs to one goroutine.
package tfevents
