package spirv

import (
	"encoding/binary"
	"reflect"
	"slices"
	"testing"
)

const opFunction, opLoopMerge, opReturn = 54, 246, 253

// header of a module with ids below 100.
var header = [headerWords]uint32{magic, 0x00010300, 28, 100, 0}

func TestParse(t *testing.T) {
	m := &Module{header: header, code: []instruction{encode(opCapability, 1), encode(opFAdd, 1, 2, 3, 4)}}
	back, err := Parse(m.Bytes())
	if err != nil || !reflect.DeepEqual(back, m) {
		t.Errorf("%v, %v", back, err)
	}
	for name, data := range map[string][]byte{
		"short":     m.Bytes()[:16],
		"uneven":    m.Bytes()[:21],
		"truncated": m.Bytes()[:len(m.Bytes())-4],
		"no length": append(m.Bytes(), 0, 0, 0, 0),
		"magic":     append(binary.BigEndian.AppendUint32(nil, magic), m.Bytes()[4:]...),
	} {
		if _, err := Parse(data); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// FuzzClean: what Parse takes can be cleaned, whatever it says.
func FuzzClean(f *testing.F) {
	add := func(code ...instruction) { f.Add((&Module{header: header, code: code}).Bytes()) }
	add(encode(opCapability, 1), encode(opFAdd, 1, 2, 3, 4), encode(opReturn))
	add(encode(opTypeStruct, 5, 6), encode(opTypeStruct, 6, 5, 5), encode(opTypePointer, 7, storageBuffer, 5), encode(opDecorate, 5, arrayStride, 4))
	add(encode(opMemoryModel, 0, modelVulkan), encode(opConstant, 1, 7, 264), encode(opControlBarrier, 2, 2, 7))
	add(encode(opVariable, 2, 20, storageWorkgroup), encode(opSelectionMerge, 30, 0), encode(opBranchConditional, 25, 31, 30))
	for op := range uint32(512) {
		add(encode(op), encode(op, 1), encode(op, 1, 2))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Parse(data)
		if err != nil {
			return
		}
		m.Clean()
	})
}

// clean runs Clean over instructions.
func clean(code ...instruction) []instruction {
	m := &Module{header: header, code: code}
	m.Clean()
	return m.code
}

func expect(t *testing.T, got, want []instruction) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestDebugAndCapability(t *testing.T) {
	expect(t, clean(
		encode(opCapability, 1),
		encode(opCapability, capStorageBuffer16),
		encode(opCapability, capUniform16),
		encode(opCapability, capStorageInputOutput),
		encode(opExtension, 0x5f565053, 0x5f52484b, 0x69623631, 0x74735f74, 0x6761726f, 0x65), // SPV_KHR_16bit_storage
		encode(opExtension, 0x5f565053, 0x5f52484b, 0x78),                                     // SPV_KHR_x
		encode(opSource, 0, 0),
		encode(opName, 5, 0x61),
		encode(opReturn),
	), []instruction{encode(opCapability, 1), encode(opExtension, 0x5f565053, 0x5f52484b, 0x78), encode(opReturn)})
}

func TestContraction(t *testing.T) {
	expect(t, clean(
		encode(opDecorate, 9, 33, 0),
		encode(opFMul, 1, 10, 11, 12),
		encode(opFAdd, 1, 13, 10, 11),
		encode(opISub, 1, 14, 10, 11),
		encode(opStore, 13, 14),
	), []instruction{
		encode(opDecorate, 9, 33, 0),
		encode(opDecorate, 10, noContraction),
		encode(opDecorate, 13, noContraction),
		encode(opFMul, 1, 10, 11, 12),
		encode(opFAdd, 1, 13, 10, 11),
		encode(opISub, 1, 14, 10, 11),
		encode(opStore, 13, 14),
	})
}

func TestZeroFill(t *testing.T) {
	const shared, zero, merge, body = 20, 21, 30, 31
	before := []instruction{encode(opConstantNull, 1, zero), encode(opVariable, 2, shared, storageWorkgroup)}
	branch := []instruction{encode(opSelectionMerge, merge, 0), encode(opBranchConditional, 25, body, merge), encode(opLabel, body)}
	after := []instruction{encode(opBranch, merge), encode(opLabel, merge), encode(opControlBarrier, 2, 2, 264)}
	join := func(parts ...[]instruction) []instruction {
		var all []instruction
		for _, part := range parts {
			for _, x := range part {
				all = append(all, append(instruction{}, x...))
			}
		}
		return all
	}
	fill := join(before, branch, []instruction{encode(opStore, shared, zero)}, after)
	expect(t, clean(fill...), join(before, []instruction{encode(opBranch, merge), encode(opLabel, merge)}))
	// A store of anything else is the kernel's own.
	own := join(before, branch, []instruction{encode(opStore, shared, 26)}, after)
	expect(t, clean(join(own)...), own)
}

func TestLoopBounds(t *testing.T) {
	const counter, exit, body = 20, 30, 31
	kept := []instruction{encode(opConstant, 1, 2, 0xffffffff), encode(opConstantComposite, 3, 4, 2, 2), encode(opFunction, 5, 6, 0, 7)}
	code := append([]instruction{}, kept...)
	code = append(code,
		encode(opVariable, 8, counter, storageFunction, 4),
		encode(opLoopMerge, exit, 33, 0),
		encode(opLoad, 3, 21, counter),
		encode(opIEqual, 9, 22, 10, 21),
		encode(opAll, 11, 23, 22),
		encode(opSelectionMerge, body, 0),
		encode(opBranchConditional, 23, exit, body),
		encode(opLabel, body),
		encode(opISub, 3, 24, 21, 12),
		encode(opStore, counter, 24),
		encode(opReturn))
	expect(t, clean(code...), append(kept, encode(opLoopMerge, exit, 33, 0), encode(opBranch, body), encode(opLabel, body), encode(opReturn)))
}

// TestStrides: only what lies in a buffer keeps its stride, in a structure too.
func TestStrides(t *testing.T) {
	const row, rows, local, wrapped = 20, 21, 22, 23
	stride := func(id uint32) instruction { return encode(opDecorate, id, arrayStride, 4) }
	types := []instruction{
		encode(opTypeArray, row, 5, 6), encode(opTypeArray, rows, row, 6), encode(opTypeStruct, wrapped, rows),
		encode(opTypeArray, local, 5, 6), encode(opTypePointer, 30, storageBuffer, wrapped), encode(opTypePointer, 31, storageWorkgroup, local),
	}
	expect(t, clean(slices.Concat([]instruction{stride(row), stride(local), stride(rows)}, types)...), slices.Concat([]instruction{stride(row), stride(rows)}, types))
}

// TestTexelBuffers: a texture of one dimension becomes a texel buffer, fetched from without a
// level. One of two dimensions stays what it is.
func TestTexelBuffers(t *testing.T) {
	const line, plane = 20, 21
	expect(t,
		clean(encode(opCapability, capSampledLine), encode(opTypeImage, line, 5, dimLine, 0, 0, 0, 1, 0), encode(opTypeImage, plane, 5, 1, 0, 0, 0, 1, 0),
			encode(opImageFetch, 6, 30, 31, 32, 2, 33)),
		[]instruction{encode(opCapability, capSampledBuffer), encode(opTypeImage, line, 5, dimBuffer, 0, 0, 0, 1, 0), encode(opTypeImage, plane, 5, 1, 0, 0, 0, 1, 0),
			encode(opImageFetch, 6, 30, 31, 32)})
}

// TestMemoryModel: under the Vulkan memory model accesses of workgroup memory and
// barriers say that others see what is stored, also those of a subgroup; under the other one nothing
// changes.
func TestMemoryModel(t *testing.T) {
	const ofSubgroup = 0x80
	memoryModel(t, 8|ofWorkgroup)
	memoryModel(t, 8|ofSubgroup)
}

func memoryModel(t *testing.T, barrier uint32) {
	t.Helper()
	const number, shared, own, semantics = 5, 20, 21, 7
	code := func(model uint32) []instruction {
		return []instruction{
			encode(opMemoryModel, 0, model),
			encode(opTypePointer, 30, storageWorkgroup, number), encode(opTypePointer, 31, storageBuffer, number),
			encode(opConstant, 1, semantics, barrier),
			encode(opVariable, 30, shared, storageWorkgroup), encode(opVariable, 31, own, storageBuffer),
			encode(opAccessChain, 30, 40, shared, 2), encode(opAccessChain, 31, 41, own, 2),
			encode(opLoad, number, 42, 40), encode(opStore, 41, 42), encode(opStore, 40, 42),
			encode(opControlBarrier, 2, 2, semantics),
			encode(opMatrixLoad, 8, 43, 40, 0, 9), encode(opMatrixStore, 40, 43, 0, 9),
		}
	}
	expect(t, clean(code(1)...), code(1))
	m := &Module{header: header, code: code(modelVulkan)}
	m.Clean()
	want := code(modelVulkan)
	want[8], want[10] = encode(opLoad, number, 42, 40, nonPrivate), encode(opStore, 40, 42, nonPrivate)
	want[11] = encode(opControlBarrier, 2, 2, 100)
	want[12], want[13] = encode(opMatrixLoad, 8, 43, 40, 0, 9, nonPrivate), encode(opMatrixStore, 40, 43, 0, 9, nonPrivate)
	want = slices.Insert(want, 4, encode(opConstant, 1, 100, barrier|visible|ofWorkgroup))
	expect(t, m.code, want)
	if m.header[boundWord] != 101 {
		t.Errorf("ids are below %d, want 101", m.header[boundWord])
	}
}

// TestRoundHalves: a module of matrix cores says how f16 is rounded, after its capabilities and after its
// entry point; another says nothing.
func TestRoundHalves(t *testing.T) {
	const shader, entry = 1, 9
	code := func(capability uint32) []instruction {
		return []instruction{encode(opCapability, shader), encode(opCapability, capability), encode(opMemoryModel, 0, 1), encode(opEntryPoint, 5, entry, 0x6e69616d, 0)}
	}
	expect(t, clean(code(shader)...), code(shader))
	want := code(capMatrix)
	want = append(want, encode(opExecutionMode, entry, modeNearest, 16))
	extension := instruction{7<<16 | opExtension, 0x5f565053, 0x5f52484b, 0x616f6c66, 0x6f635f74, 0x6f72746e, 0x736c} // SPV_KHR_float_controls
	want = slices.Insert(want, 2, encode(opCapability, capNearest), extension)
	expect(t, clean(code(capMatrix)...), want)
	if got := text(extension[1:]); got != "SPV_KHR_float_controls" {
		t.Errorf("%q", got)
	}
}
