package program

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/rlzero/rlzero/verify"
)

// readLiveCode reads the form of LiveCodeBench (arXiv 2403.07974): public_test_cases and
// private_test_cases are lists of {"input","output","testtype"}, as JSON text; the
// private ones may be that text pickled by Python, compressed by zlib, in base64. Of a
// test of type functional the input has an argument as JSON in each line, and func_name
// is the function, which the data set has in its column metadata.
// https://github.com/LiveCodeBench/LiveCodeBench/blob/main/lcb_runner/benchmarks/code_generation.py
func readLiveCode(row verify.Problem, s *suite) (bool, error) {
	var name string
	if _, err := field(row, "func_name", &name); err != nil {
		return false, err
	}
	found := false
	for _, key := range []string{"public_test_cases", "private_test_cases"} {
		var raw json.RawMessage
		there, err := field(row, key, &raw)
		if err != nil {
			return true, err
		}
		if !there {
			continue
		}
		found = true
		cases, err := liveCases(raw)
		if err != nil {
			return true, fmt.Errorf("%q of the row: %w", key, inWords(err))
		}
		for i, c := range cases {
			t, err := c.test(name)
			if err != nil {
				return true, fmt.Errorf("%q of the row, test %d: %w", key, i+1, inWords(err))
			}
			s.tests = append(s.tests, t)
		}
	}
	return found, nil
}

// liveCase is a test of LiveCodeBench.
type liveCase struct {
	Input    string `json:"input"`
	Output   string `json:"output"`
	TestType string `json:"testtype"`
}

func (c liveCase) test(name string) (test, error) {
	switch c.TestType {
	case "stdin":
		return test{stdin: c.Input, stdout: c.Output}, nil
	case "functional":
	default:
		return test{}, fmt.Errorf("testtype is %q; accepted: stdin, functional", c.TestType)
	}
	if name == "" {
		return test{}, errors.New("a functional test needs func_name, which the row lacks")
	}
	t := test{call: name, expected: []json.RawMessage{json.RawMessage(c.Output)}}
	for line := range strings.Lines(c.Input) {
		if line = strings.TrimSpace(line); line != "" {
			t.args = append(t.args, json.RawMessage(line))
		}
	}
	for _, raw := range append(t.args, t.expected...) {
		if !json.Valid(raw) {
			return test{}, fmt.Errorf("%q is not JSON", raw)
		}
	}
	return t, nil
}

// liveCases reads a list of tests, or its text, or that packed.
func liveCases(raw json.RawMessage) (cases []liveCase, err error) {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return cases, json.Unmarshal(raw, &cases)
	}
	if err = json.Unmarshal([]byte(text), &cases); err == nil {
		return cases, nil
	}
	packed, base := base64.StdEncoding.DecodeString(text)
	if base != nil {
		return nil, fmt.Errorf("neither a list of tests as JSON nor base64: %w", err)
	}
	unpacked, err := unpack(packed)
	if err != nil {
		return nil, err
	}
	return cases, json.Unmarshal(unpacked, &cases)
}

// maxUnpacked bounds the tests of a row.
const maxUnpacked = 256 << 20 // bytes

// unpack decompresses a pickled string.
func unpack(packed []byte) ([]byte, error) {
	in, err := zlib.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(in, maxUnpacked+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxUnpacked {
		return nil, fmt.Errorf("the tests have more than %d bytes unpacked", maxUnpacked)
	}
	return unpickle(data)
}

// Opcodes of a pickle that is one string, protocols 2 to 5.
// https://github.com/python/cpython/blob/main/Lib/pickletools.py
const (
	pickleProto    = 0x80 // and a byte
	pickleFrame    = 0x95 // and 8 bytes
	pickleShort    = 0x8c // SHORT_BINUNICODE: length of 1 byte
	pickleUnicode  = 'X'  // BINUNICODE: length of 4 bytes
	pickleUnicode8 = 0x8d // BINUNICODE8: length of 8 bytes
)

// unpickle returns the string of a pickle that holds nothing else. Pickles can call any
// function of Python's, so no other is read.
func unpickle(data []byte) ([]byte, error) {
	wrong := errors.New("the packed tests are not a pickled string")
	for len(data) > 0 {
		code := data[0]
		data = data[1:]
		width := map[byte]int{pickleProto: 1, pickleFrame: 8, pickleShort: 1, pickleUnicode: 4, pickleUnicode8: 8}[code]
		if width == 0 || len(data) < width {
			return nil, wrong
		}
		var operand [8]byte
		copy(operand[:], data[:width])
		data = data[width:]
		if code == pickleProto || code == pickleFrame {
			continue
		}
		n := binary.LittleEndian.Uint64(operand[:])
		if n > uint64(len(data)) {
			return nil, wrong
		}
		return data[:n], nil // what follows stores the string and stops
	}
	return nil, wrong
}
