package bench

import (
	"encoding/binary"
	"strings"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/shaders"
)

// work is what an op has to do at least: operations in float32, a multiply-add as two,
// and bytes that it has to move, each operand once.
type work struct{ flops, bytes float64 }

func (w work) add(other work) work { return work{w.flops + other.flops, w.bytes + other.bytes} }

func (w work) times(n float64) work { return work{n * w.flops, n * w.bytes} }

// workOf counts the work of an op. What is read by index is counted as far as its size
// follows from the parameters, and the keys and values of attention by the lists that the
// device holds at present. Operations of kernels that only pass over their operands are
// not counted: memory bounds them.
func workOf(op gpu.Op) (work, error) {
	var w work
	k, _ := shaders.Lookup(op.Kernel)
	for i, b := range k.Bindings {
		n, err := k.Bytes(i, op.Params)
		if err != nil {
			continue // read by index
		}
		if b.Name == "table" { // of embed: a row for each token, by index too
			n = n / int(op.Params[3]) * int(op.Params[0])
		}
		if b.Access == shaders.ReadWrite {
			n *= 2
		}
		w.bytes += float64(n)
	}
	name := strings.TrimSuffix(op.Kernel, "_bf16")
	switch {
	case strings.HasPrefix(name, "matmul_"):
		w.flops = 2 * float64(op.Params[0]) * float64(op.Params[1]) * float64(op.Params[2])
	case name == "attention" || name == "attention_backward_dq" || name == "attention_backward_dkv":
		return attentionWork(k, op, w)
	}
	return w, nil
}

// attentionWork adds what depends on how many keys each row reads: for a pair of a query
// and a key, so many products of head width: q.k and p*v forward; q.k, do.v and dq; q.k,
// do.v, dv and dk.
func attentionWork(k *shaders.Kernel, op gpu.Op, w work) (work, error) {
	rows, heads, kv, width := int(op.Params[0]), float64(op.Params[1]), float64(op.Params[2]), float64(op.Params[3])
	products := map[string]float64{"attention": 2, "attention_backward_dq": 3, "attention_backward_dkv": 4}[strings.TrimSuffix(op.Kernel, "_bf16")]
	words := map[string][]uint32{}
	for i, b := range k.Bindings {
		if b.Name != "meta" && b.Name != "kvidx" && b.Name != "ends" {
			continue
		}
		v := op.Bind[i]
		if v.Size == 0 {
			v.Size = v.Buffer.Size() - v.Offset
		}
		data := make([]byte, v.Size)
		if err := v.Buffer.Read(v.Offset, data); err != nil {
			return w, err
		}
		for ; len(data) > 0; data = data[4:] {
			words[b.Name] = append(words[b.Name], binary.LittleEndian.Uint32(data))
		}
	}
	pairs, slots := 0, map[uint32]bool{}
	for t := range rows {
		if ends := words["ends"]; ends != nil {
			pairs += int(ends[t]) - t
			continue
		}
		first, count := words["meta"][2*t], words["meta"][2*t+1]
		pairs += int(count)
		for _, slot := range words["kvidx"][first : first+count] {
			slots[slot] = true
		}
	}
	w.flops = 2 * products * float64(pairs) * heads * width
	if op.Kernel == "attention" || op.Kernel == "attention_bf16" {
		size := 8.0 // bytes of an element of a key and one of a value
		if strings.HasSuffix(op.Kernel, "_bf16") {
			size = 4
		}
		w.bytes += float64(len(slots)) * kv * width * size
	}
	return w, nil
}
