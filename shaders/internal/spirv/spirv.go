package spirv

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
)

const (
	magic       = 0x07230203
	headerWords = 5
	boundWord   = 3 // of the header: all ids are below it
)

// Opcodes.
const (
	opSourceContinued     = 2
	opSource              = 3
	opSourceExtension     = 4
	opName                = 5
	opMemberName          = 6
	opString              = 7
	opLine                = 8
	opExtension           = 10
	opMemoryModel         = 14
	opEntryPoint          = 15
	opExecutionMode       = 16
	opCapability          = 17
	opTypeArray           = 28
	opTypeRuntimeArray    = 29
	opTypeStruct          = 30
	opTypePointer         = 32
	opConstant            = 43
	opConstantComposite   = 44
	opConstantNull        = 46
	opVariable            = 59
	opLoad                = 61
	opStore               = 62
	opAccessChain         = 65
	opDecorate            = 71
	opCompositeConstruct  = 80
	opCompositeExtract    = 81
	opFNegate             = 127
	opFAdd                = 129
	opISub                = 130
	opFSub                = 131
	opFMul                = 133
	opFDiv                = 136
	opVectorTimesScalar   = 142
	opDot                 = 148
	opAll                 = 155
	opSelect              = 169
	opIEqual              = 170
	opSelectionMerge      = 247
	opLabel               = 248
	opBranch              = 249
	opBranchConditional   = 250
	opControlBarrier      = 224
	opNoLine              = 317
	opModuleProcessed     = 330
	opTypeImage           = 25
	opImageFetch          = 95
	opMatrixLoad          = 4457
	opMatrixStore         = 4458
	storageUniform        = 2
	storageWorkgroup      = 4
	storageFunction       = 7
	storagePush           = 9
	storageBuffer         = 12
	arrayStride           = 6
	noContraction         = 42
	modelVulkan           = 3
	nonPrivate            = 0x20   // a memory operand
	visible               = 0x6000 // semantics: MakeAvailable and MakeVisible
	ofWorkgroup           = 0x100  // semantics: WorkgroupMemory, which naga leaves out where a subgroup waits
	dimLine               = 0      // dimensions of images
	dimBuffer             = 5
	capMatrix             = 6022
	capNearest            = 4467 // RoundingModeRTE
	modeNearest           = 4462
	capSampledLine        = 43
	capSampledBuffer      = 46
	capStorageBuffer16    = 4433 // these three naga declares with f16, which no binding has; lavapipe lacks the last
	capUniform16          = 4434
	capStorageInputOutput = 4436
)

// extension16 is what these capabilities are in.
const extension16 = "SPV_KHR_16bit_storage"

type instruction []uint32

func (x instruction) op() uint32 { return x[0] & 0xffff }

func encode(op uint32, operands ...uint32) instruction {
	return append(instruction{uint32(len(operands)+1)<<16 | op}, operands...)
}

// Module is a module cut into instructions.
type Module struct {
	header [headerWords]uint32
	code   []instruction
}

// least is the number of words of the instructions that the edits look into.
var least = map[uint32]int{
	opMemoryModel: 3, opEntryPoint: 4, opCapability: 2, opTypeArray: 4, opTypeRuntimeArray: 3, opTypeStruct: 2, opTypePointer: 4,
	opConstant: 4, opConstantComposite: 3, opConstantNull: 3, opVariable: 4, opLoad: 4, opStore: 3, opAccessChain: 4,
	opDecorate: 3, opTypeImage: 9, opImageFetch: 5, opCompositeConstruct: 3, opCompositeExtract: 4, opFNegate: 4, opFAdd: 5, opISub: 5, opFSub: 5,
	opFMul: 5, opFDiv: 5, opVectorTimesScalar: 5, opDot: 5, opAll: 4, opSelect: 6, opIEqual: 5, opSelectionMerge: 3,
	opBranchConditional: 4, opControlBarrier: 4, opMatrixLoad: 5, opMatrixStore: 4,
}

// Parse cuts a binary module into instructions.
func Parse(data []byte) (*Module, error) {
	if len(data)%4 != 0 || len(data) < 4*headerWords {
		return nil, fmt.Errorf("%d bytes are not a SPIR-V module", len(data))
	}
	words := make([]uint32, len(data)/4)
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(data[4*i:])
	}
	if words[0] != magic {
		return nil, fmt.Errorf("magic number %#x, a SPIR-V module starts with %#x", words[0], magic)
	}
	m := &Module{header: [headerWords]uint32(words[:headerWords])}
	for i := headerWords; i < len(words); {
		n := int(words[i] >> 16)
		if n == 0 || i+n > len(words) {
			return nil, fmt.Errorf("instruction at word %d has %d words of %d left", i, n, len(words)-i)
		}
		x := instruction(words[i : i+n])
		if n < least[x.op()] {
			return nil, fmt.Errorf("instruction at word %d, opcode %d, has %d words, needs %d", i, x.op(), n, least[x.op()])
		}
		m.code = append(m.code, x)
		i += n
	}
	return m, nil
}

// Bytes is the binary form of the module.
func (m *Module) Bytes() []byte {
	var data []byte
	put := func(words []uint32) {
		for _, w := range words {
			data = binary.LittleEndian.AppendUint32(data, w)
		}
	}
	put(m.header[:])
	for _, x := range m.code {
		put(x)
	}
	return data
}

// Clean applies all edits: it removes debug text, the unused capabilities, the
// strides of arrays that have no layout, the zero-filling of workgroup memory and the
// loop counters, then what only they used, forbids contraction, and lets a workgroup
// see its memory under the Vulkan memory model. Conversions to f16 round to the nearest in modules of
// matrix cores. Textures become texel buffers.
func (m *Module) Clean() {
	m.removeDebug()
	m.removeStrides()
	m.removeZeroFill()
	m.removeLoopBounds()
	m.removeUnused()
	m.forbidContraction()
	m.shareMemory()
	m.roundHalves()
	m.useTexelBuffers()
}

// roundHalves says, in a module of matrix cores, that what is converted to f16 is rounded to
// the nearest, ties to even; without it a driver may cut off
// (https://registry.khronos.org/SPIR-V/specs/unified1/SPIRV.html, RoundingModeRTE).
func (m *Module) roundHalves() {
	matrices := func(x instruction) bool { return x.op() == opCapability && x[1] == capMatrix }
	if !slices.ContainsFunc(m.code, matrices) {
		return
	}
	var code []instruction
	for i, x := range m.code {
		code = append(code, x)
		if next := m.code[min(i+1, len(m.code)-1)]; x.op() == opCapability && next.op() != opCapability {
			code = append(code, encode(opCapability, capNearest), encode(opExtension, literal("SPV_KHR_float_controls")...))
		}
		if x.op() == opEntryPoint {
			code = append(code, encode(opExecutionMode, x[2], modeNearest, 16))
		}
	}
	m.code = code
}

// literal is a string as the words of an instruction.
func literal(text string) []uint32 {
	data := append([]byte(text), make([]byte, 4-len(text)%4)...)
	words := make([]uint32, len(data)/4)
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(data[4*i:])
	}
	return words
}

// useTexelBuffers makes texel buffers of the one-dimensional textures that WGSL has in their
// place. They have one level, so a fetch names none.
func (m *Module) useTexelBuffers() {
	for i, x := range m.code {
		switch {
		case x.op() == opCapability && x[1] == capSampledLine:
			m.code[i] = encode(opCapability, capSampledBuffer)
		case x.op() == opTypeImage && x[3] == dimLine:
			x[3] = dimBuffer
		case x.op() == opImageFetch:
			m.code[i] = encode(opImageFetch, x[1:5]...)
		}
	}
}

// filter keeps the instructions for which keep is true.
func (m *Module) filter(keep func(instruction) bool) {
	kept := m.code[:0]
	for _, x := range m.code {
		if keep(x) {
			kept = append(kept, x)
		}
	}
	m.code = kept
}

func (m *Module) removeDebug() {
	m.filter(func(x instruction) bool {
		switch x.op() {
		case opSourceContinued, opSource, opSourceExtension, opName, opMemberName, opString, opLine, opNoLine, opModuleProcessed:
			return false
		case opCapability:
			return x[1] != capStorageBuffer16 && x[1] != capUniform16 && x[1] != capStorageInputOutput
		case opExtension:
			return text(x[1:]) != extension16
		}
		return true
	})
}

// text is a literal string: bytes up to a zero.
func text(words []uint32) string {
	var data []byte
	for _, w := range words {
		data = binary.LittleEndian.AppendUint32(data, w)
	}
	name, _, _ := bytes.Cut(data, []byte{0})
	return string(name)
}

// removeStrides removes the strides of arrays that lie in no buffer: SPIR-V allows a
// layout where it is needed alone (the validation layer's
// VUID-StandaloneSpirv-None-10684).
func (m *Module) removeStrides() {
	parts := map[uint32][]uint32{} // types by the type they are part of
	laid := map[uint32]bool{}      // types that need a layout
	var need func(t uint32)
	need = func(t uint32) {
		if laid[t] {
			return
		}
		laid[t] = true
		for _, part := range parts[t] {
			need(part)
		}
	}
	for _, x := range m.code {
		switch x.op() {
		case opTypeArray, opTypeRuntimeArray:
			parts[x[1]] = x[2:3]
		case opTypeStruct:
			parts[x[1]] = x[2:]
		case opTypePointer:
			if c := x[2]; c == storageUniform || c == storagePush || c == storageBuffer {
				need(x[3])
			}
		}
	}
	m.filter(func(x instruction) bool { return x.op() != opDecorate || x[2] != arrayStride || laid[x[1]] })
}

// removeZeroFill removes the start of an entry point in which one invocation
// stores zeros to every workgroup variable and all wait:
//
//	SelectionMerge M; BranchConditional _ T M; Label T; Store var null ...; Branch M; Label M; ControlBarrier
//
// becomes Branch M; Label M. Kernels write workgroup memory before they read
// it. On lavapipe the store of 8 KiB costs 11 s of compilation.
func (m *Module) removeZeroFill() {
	shared, null := map[uint32]bool{}, map[uint32]bool{}
	for _, x := range m.code {
		switch {
		case x.op() == opVariable && x[3] == storageWorkgroup:
			shared[x[2]] = true
		case x.op() == opConstantNull:
			null[x[2]] = true
		}
	}
	for i := 0; i+2 < len(m.code); i++ {
		x, next := m.code[i], m.code[i+1]
		if x.op() != opSelectionMerge || next.op() != opBranchConditional || next[3] != x[1] {
			continue
		}
		end := i + 3
		for end < len(m.code) && m.code[end].op() == opStore && shared[m.code[end][1]] && null[m.code[end][2]] {
			end++
		}
		if end == i+3 || end+2 >= len(m.code) || m.code[end+2].op() != opControlBarrier {
			continue
		}
		merge := x[1]
		m.code[i] = encode(opBranch, merge)
		m.code[i+1] = encode(opLabel, merge)
		m.code = append(m.code[:i+2], m.code[end+3:]...)
	}
}

// removeLoopBounds removes the counters with which naga ends every loop after
// 2^64 iterations: function variables of type vec2<u32> that start at
// (0xffffffff, 0xffffffff), their stores, and the branches taken when they
// reach zero. They keep drivers from unrolling.
func (m *Module) removeLoopBounds() {
	value, full, counter := map[uint32]uint32{}, map[uint32]bool{}, map[uint32]bool{}
	derived := map[uint32]bool{} // ids that hold a counter or a test of one
	for _, x := range m.code {
		switch x.op() {
		case opConstant:
			value[x[2]] = x[3]
		case opConstantComposite:
			full[x[2]] = len(x) == 5 && value[x[3]] == 0xffffffff && value[x[4]] == 0xffffffff
		case opVariable:
			if x[3] == storageFunction && len(x) == 5 && full[x[4]] {
				counter[x[2]] = true
			}
		case opLoad:
			derived[x[2]] = counter[x[3]]
		case opIEqual:
			derived[x[2]] = derived[x[3]] || derived[x[4]]
		case opAll:
			derived[x[2]] = derived[x[3]]
		}
	}
	for i := 0; i+1 < len(m.code); i++ {
		if branch := m.code[i+1]; m.code[i].op() == opSelectionMerge && branch.op() == opBranchConditional && derived[branch[1]] {
			m.code[i] = encode(opBranch, branch[3])
			m.code[i+1] = nil // dropped below
			i++
		}
	}
	m.filter(func(x instruction) bool { return x != nil && !(x.op() == opStore && counter[x[1]]) })
}

// removeUnused removes instructions without effect whose result nobody reads,
// until none is left.
func (m *Module) removeUnused() {
	for {
		used := map[uint32]bool{}
		for _, x := range m.code {
			_, pure := pureResult(x)
			for i, word := range x[1:] { // a literal may look like an id: that keeps too much, never too little
				if !pure || i != 1 {
					used[word] = true
				}
			}
		}
		before := len(m.code)
		m.filter(func(x instruction) bool {
			id, ok := pureResult(x)
			return !ok || used[id]
		})
		if len(m.code) == before {
			return
		}
	}
}

// pureResult returns the result of an instruction of the kinds that the
// removed code leaves.
func pureResult(x instruction) (uint32, bool) {
	switch x.op() {
	case opLoad, opIEqual, opAll, opCompositeExtract, opSelect, opCompositeConstruct, opISub:
		return x[2], true
	case opVariable:
		return x[2], x[3] == storageFunction
	}
	return 0, false
}

// forbidContraction decorates every float add, subtract, multiply, divide,
// negate, scale and dot so that a driver does not fuse two of them.
func (m *Module) forbidContraction() {
	var marks []instruction
	last := -1 // of the existing decorations and what stands before them
	for i, x := range m.code {
		switch x.op() {
		case opFNegate, opFAdd, opFSub, opFMul, opFDiv, opVectorTimesScalar, opDot:
			marks = append(marks, encode(opDecorate, x[2], noContraction))
		case opDecorate:
			last = i
		}
	}
	code := append([]instruction{}, m.code[:last+1]...)
	code = append(code, marks...)
	m.code = append(code, m.code[last+1:]...)
}

// shareMemory says, in a module of the Vulkan memory model, that what an invocation
// stores in workgroup memory is seen by the others after a barrier. naga writes barriers
// and accesses as for the other model, where that goes without saying.
func (m *Module) shareMemory() {
	class, shared := map[uint32]uint32{}, map[uint32]bool{} // storage class by pointer type; pointers
	wider := map[uint32]uint32{}                            // semantics of barriers, and what takes their place
	vulkan, bound := false, m.header[boundWord]
	for _, x := range m.code {
		switch x.op() {
		case opMemoryModel:
			vulkan = x[2] == modelVulkan
		case opTypePointer:
			class[x[1]] = x[2]
		case opVariable, opAccessChain:
			shared[x[2]] = class[x[1]] == storageWorkgroup
		case opControlBarrier:
			if _, ok := wider[x[3]]; !ok {
				wider[x[3]] = bound
				bound++
			}
		}
	}
	if !vulkan {
		return
	}
	m.header[boundWord] = bound
	// operand adds the memory operand to an instruction whose pointer is word at.
	operand := func(x instruction, at int) instruction {
		if !shared[x[at]] {
			return x
		}
		return encode(x.op(), append(slices.Clone(x[1:]), nonPrivate)...)
	}
	code := m.code
	m.code = nil
	for _, x := range code {
		switch x.op() {
		case opLoad, opMatrixLoad:
			x = operand(x, 3)
		case opStore, opMatrixStore:
			x = operand(x, 1)
		case opControlBarrier:
			x = encode(opControlBarrier, x[1], x[2], wider[x[3]])
		}
		m.code = append(m.code, x)
		if x.op() == opConstant && wider[x[2]] != 0 {
			m.code = append(m.code, encode(opConstant, x[1], wider[x[2]], x[3]|visible|ofWorkgroup))
		}
	}
}
