package oracle

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"sync"

	"github.com/rlzero/rlzero/shaders"
)

// Cases returns the cases of a kernel: the same ones in every process. None
// means that the kernel has no row here.
func Cases(kernel string) []Case {
	made, ok := rows[kernel]
	if !ok {
		return nil
	}
	return made()
}

// rows makes the cases of each kernel when they are first asked for.
var rows = map[string]func() []Case{}

// matrixRows makes the same cases with the bounds of matrix cores.
var matrixRows = map[string]func() []Case{}

func init() {
	for name, make := range map[string]func(*data) []Case{
		"embed":                  embedCases,
		"embed_backward":         embedBackwardCases,
		"matmul_nt":              ntCases,
		"matmul_nt_residual":     ntResidualCases,
		"matmul_nn":              nnCases,
		"matmul_nn_acc":          nnAccCases,
		"matmul_tn_acc":          tnAccCases,
		"matmul_naive":           ntCases,
		"matmul_free":            ntCases,
		"matmul_free_residual":   ntResidualCases,
		"rmsnorm":                rmsnormCases,
		"rmsnorm_residual":       rmsnormCases,
		"rmsnorm_backward_dx":    rmsnormBackwardDxCases,
		"rmsnorm_backward_dw":    rmsnormBackwardDwCases,
		"qk_rope":                qkRopeCases,
		"qk_rope_backward":       qkRopeBackwardCases,
		"qk_norm_backward_dw":    qkNormBackwardDwCases,
		"attention":              attentionCases,
		"attention_delta":        attentionDeltaCases,
		"attention_backward_dq":  attentionBackwardDqCases,
		"attention_backward_dkv": attentionBackwardDkvCases,
		"swiglu":                 swigluCases,
		"swiglu_backward":        swigluBackwardCases,
		"geglu":                  swigluCases,
		"geglu_backward":         swigluBackwardCases,
		"add_bias":               addBiasCases,
		"bias_backward":          biasBackwardCases,
		"add_columns":            addColumnsCases,
		"take_columns":           takeColumnsCases,
		"gather_rows":            gatherRowsCases,
		"scatter_rows":           scatterRowsCases,
		"vocab_stats":            vocabStatsCases,
		"vocab_backward":         vocabBackwardCases,
		"sample_mask":            sampleMaskCases,
		"sample_within":          sampleWithinCases,
		"sample_filter":          sampleFilterCases,
		"sample_draw":            sampleDrawCases,
		"adamw":                  adamwCases,
		"adam":                   adamCases,
		"amsgrad":                amsgradCases,
		"sgd":                    sgdCases,
		"grad_sumsq":             gradSumsqCases,
		"grad_clip":              gradClipCases,
		"grad_abs":               gradAbsCases,
		"grad_abs_clip":          gradAbsClipCases,
		"fill":                   fillCases,
		"add":                    addCases,
		"blend":                  blendCases,

		"embed_bf16":              embedCases,
		"matmul_nt_bf16":          ntCases,
		"matmul_nt_residual_bf16": ntResidualCases,
		"matmul_nn_bf16":          nnCases,
		"matmul_nn_acc_bf16":      nnAccCases,
		"qk_rope_bf16":            qkRopeCases,
		"attention_bf16":          attentionCases,
		"round_bf16":              roundCases,
		"expand_bf16":             expandCases,

		"matmul_nt_q8_0":          ntCases,
		"matmul_nt_residual_q8_0": ntResidualCases,
		"matmul_nn_q8_0":          nnCases,
		"matmul_nn_acc_q8_0":      nnAccCases,
		"matmul_nt_q4_0":          ntCases,
		"matmul_nt_residual_q4_0": ntResidualCases,
		"matmul_nn_q4_0":          nnCases,
		"matmul_nn_acc_q4_0":      nnAccCases,
	} {
		rows[name] = sync.OnceValue(func() []Case { return make(newData(name)) })
		matrixRows[name] = sync.OnceValue(func() []Case {
			d := newData(name)
			d.cores = true
			return make(d)
		})
	}
}

// data makes random inputs for the cases of one kernel.
type data struct {
	*rand.Rand
	kernel string
	cores  bool // bounds are those of matrix cores
}

// newData seeds the stream by the kernel's name, so that adding a kernel does
// not change the data of the others.
func newData(kernel string) *data {
	h := fnv.New64a()
	h.Write([]byte(kernel))
	return &data{Rand: rand.New(rand.NewPCG(h.Sum64(), 0)), kernel: kernel}
}

// newCase is a case without Want: one nil for each binding. Numbers for a binding
// of bf16 are packed, and a []any stands for several bindings.
func (d *data) newCase(name string, params []uint32, data ...any) Case {
	contract, _ := shaders.Lookup(d.kernel)
	var bind []any
	for _, x := range data {
		if several, ok := x.([]any); ok {
			bind = append(bind, several...)
		} else {
			bind = append(bind, x)
		}
	}
	for i, b := range contract.Bindings {
		bind[i] = inMemory(b, bind[i])
	}
	return Case{Kernel: d.kernel, Name: name, Params: params, Bind: bind, Want: make([]any, len(contract.Bindings))}
}

// normal is n normally distributed numbers of the given deviation.
func (d *data) normal(n int, deviation float64) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(d.NormFloat64() * deviation)
	}
	return out
}

// padded is rows of normal numbers whose columns real.. are zeros.
func (d *data) padded(rows, real, ld int) []float32 {
	out := d.normal(rows*ld, 1)
	for i := range out {
		if i%ld >= real {
			out[i] = 0
		}
	}
	return out
}

// below is n random numbers under limit.
func (d *data) below(n, limit int) []uint32 {
	out := make([]uint32, n)
	for i := range out {
		out[i] = uint32(d.IntN(limit))
	}
	return out
}

// distinct is n different numbers under limit.
func (d *data) distinct(n, limit int) []uint32 {
	out := make([]uint32, n)
	for i, v := range d.Perm(limit)[:n] {
		out[i] = uint32(v)
	}
	return out
}

// unwritten is what write-only bindings hold before: a NaN, so that a kernel
// that leaves an element out, or adds to it, is caught.
func unwritten(n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(math.NaN())
	}
	return out
}

// label writes pairs of a name and a number: "T=3 D=24".
func label(pairs ...any) string {
	s := ""
	for i := 0; i < len(pairs); i += 2 {
		if i > 0 {
			s += " "
		}
		s += fmt.Sprintf("%v=%v", pairs[i], pairs[i+1])
	}
	return s
}
