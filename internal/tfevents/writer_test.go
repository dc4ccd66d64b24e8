package tfevents

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// The reader of this test is not of the writer's making: messages are decoded by Google's
// library for protobuf from the fields of event.proto and summary.proto, and checksums are
// computed bit by bit.

// messages are what the two files declare of the fields that are used.
const messages = `
name: "event.proto" package: "tensorboard" syntax: "proto3"
message_type { name: "Event"
  field { name: "wall_time" number: 1 type: TYPE_DOUBLE label: LABEL_OPTIONAL }
  field { name: "step" number: 2 type: TYPE_INT64 label: LABEL_OPTIONAL }
  field { name: "file_version" number: 3 type: TYPE_STRING label: LABEL_OPTIONAL oneof_index: 0 }
  field { name: "summary" number: 5 type: TYPE_MESSAGE type_name: ".tensorboard.Summary" label: LABEL_OPTIONAL oneof_index: 0 }
  oneof_decl { name: "what" } }
message_type { name: "Summary"
  nested_type { name: "Value"
    field { name: "tag" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL }
    field { name: "simple_value" number: 2 type: TYPE_FLOAT label: LABEL_OPTIONAL oneof_index: 0 }
    oneof_decl { name: "value" } }
  field { name: "value" number: 1 type: TYPE_MESSAGE type_name: ".tensorboard.Summary.Value" label: LABEL_REPEATED } }`

func eventType(t *testing.T) protoreflect.MessageDescriptor {
	t.Helper()
	var file descriptorpb.FileDescriptorProto
	if err := prototext.Unmarshal([]byte(messages), &file); err != nil {
		t.Fatal(err)
	}
	built, err := protodesc.NewFile(&file, nil)
	if err != nil {
		t.Fatal(err)
	}
	return built.Messages().ByName("Event")
}

// masked is the checksum of a TFRecord, from the definition of CRC-32C: the polynomial
// 0x1edc6f41, here with its bits in reverse order (RFC 3720, appendix B.4).
func masked(data []byte) uint32 {
	crc := ^uint32(0)
	for _, b := range data {
		crc ^= uint32(b)
		for range 8 {
			odd := crc & 1
			crc >>= 1
			if odd == 1 {
				crc ^= 0x82f63b78
			}
		}
	}
	crc = ^crc
	return ((crc >> 15) | (crc << 17)) + 0xa282ead8
}

// records reads the data of TFRecords, and fails where a checksum is another.
func records(t *testing.T, in io.Reader) [][]byte {
	t.Helper()
	var out [][]byte
	for {
		head := make([]byte, 12)
		if _, err := io.ReadFull(in, head); errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		if got := binary.LittleEndian.Uint32(head[8:]); got != masked(head[:8]) {
			t.Fatalf("record %d: the length has the checksum %x, want %x", len(out), got, masked(head[:8]))
		}
		data := make([]byte, binary.LittleEndian.Uint64(head)+4)
		if _, err := io.ReadFull(in, data); err != nil {
			t.Fatal(err)
		}
		data, sum := data[:len(data)-4], binary.LittleEndian.Uint32(data[len(data)-4:])
		if sum != masked(data) {
			t.Fatalf("record %d has the checksum %x, want %x", len(out), sum, masked(data))
		}
		out = append(out, data)
	}
}

type readEvent struct {
	seconds float64
	step    int64
	version string
	scalars []Scalar
}

func readEvents(t *testing.T, in io.Reader) []readEvent {
	t.Helper()
	event := eventType(t)
	summary := event.Fields().ByName("summary")
	var out []readEvent
	for i, data := range records(t, in) {
		m := dynamicpb.NewMessage(event)
		if err := proto.Unmarshal(data, m); err != nil {
			t.Fatalf("record %d: %v", i, err)
		}
		if n := len(m.GetUnknown()); n > 0 {
			t.Errorf("record %d has %d bytes that are no field of an Event", i, n)
		}
		field := func(name protoreflect.Name) protoreflect.Value { return m.Get(event.Fields().ByName(name)) }
		e := readEvent{seconds: field("wall_time").Float(), step: field("step").Int(), version: field("file_version").String()}
		values := m.Get(summary).Message()
		list := values.Get(summary.Message().Fields().ByName("value")).List()
		for j := range list.Len() {
			v := list.Get(j).Message()
			fields := v.Descriptor().Fields()
			e.scalars = append(e.scalars, Scalar{v.Get(fields.ByName("tag")).String(), v.Get(fields.ByName("simple_value")).Float()})
		}
		out = append(out, e)
	}
	return out
}

// TestWriter: an independent reader finds what was written.
func TestWriter(t *testing.T) {
	var file bytes.Buffer
	w, err := NewWriter(&file)
	if err != nil {
		t.Fatal(err)
	}
	long := make([]Scalar, 100) // lengths of more than one byte
	for i := range long {
		long[i] = Scalar{"my/metric", float64(i) / 4}
	}
	want := []readEvent{
		{version: "brain.Event:2"},
		{seconds: 0.5, step: 0, scalars: []Scalar{{"eval/pass@1", 0.25}}},
		{seconds: 1.75, step: 300, scalars: []Scalar{{"reward/mean", -1.5}, {"policy/entropy", 0.03125}, {"ü", 0}}},
		{seconds: 1e9, step: math.MaxInt32, scalars: long},
		{seconds: 1e9, step: math.MaxInt32 + 1},
	}
	for _, e := range want[1:] {
		if err := w.Add(int(e.step), e.seconds, e.scalars); err != nil {
			t.Fatal(err)
		}
	}
	got := readEvents(t, &file)
	if len(got) != len(want) {
		t.Fatalf("%d events, want %d", len(got), len(want))
	}
	for i, e := range want {
		same := slices.EqualFunc(got[i].scalars, e.scalars, func(a, b Scalar) bool { return a.Tag == b.Tag && a.Value == float64(float32(b.Value)) })
		if g := got[i]; g.seconds != e.seconds || g.step != e.step || g.version != e.version || !same {
			t.Errorf("event %d: %+v, want %+v", i, g, e)
		}
	}
	// The example of RFC 3720, appendix B.4: 32 bytes of zeros have the CRC-32C 8a9136aa.
	crc := uint32(0x8a9136aa)
	if got, want := masked(make([]byte, 32)), (crc>>15|crc<<17)+0xa282ead8; got != want {
		t.Errorf("the reader's checksum of the published example is %x, want %x", got, want)
	}
}
