package shaders

import (
	"slices"
	"strings"
)

// Access says what a kernel does with a binding.
type Access string

// What a kernel does with a binding.
const (
	Read      Access = "read"
	Write     Access = "write" // every element in the extent is overwritten
	ReadWrite Access = "read_write"
)

// Binding is one storage buffer of a kernel.
type Binding struct {
	Name   string
	Access Access
	Shape  string // element type f32 unless the text says u32, bf16, q8_0 or q4_0
}

// Kernel is the contract of one operation: what it computes, on which buffers,
// with which parameters. Every tier has its own shader for it; gpu/refdev has
// the plain-Go twin, which is the definition.
//
// All matrices are row-major. Every width (columns, strides) is a multiple of
// 8; columns past the model's real width hold zeros and stay zero. Row counts
// are free. Views start at multiples of 256 bytes.
type Kernel struct {
	Name     string
	Bindings []Binding
	Params   []string // 32-bit words in order; u32 unless suffixed ":f32"
	Size     string   // what Op.Size counts, x first
	Doc      string
}

// table has the kernels that are written down here, then those that follow from them.
var table = slices.Concat(rows, storedKernels())

// storage is a way to keep an operand that is not f32.
type storage struct {
	suffix string   // of the names of kernels
	bits   int      // of a number
	blocks bool     // 32 numbers of a row have a factor in a binding of their own
	of     []string // kernels that have it, and operands
}

// storages are the ways to keep the operands that operands names.
var storages = []storage{
	{suffix: "_bf16", bits: 16, of: []string{"embed", "matmul_nt", "matmul_nt_residual", "matmul_nn", "matmul_nn_acc", "qk_rope", "attention"}},
	{suffix: "_q8_0", bits: 8, blocks: true, of: []string{"matmul_nt", "matmul_nt_residual", "matmul_nn", "matmul_nn_acc"}},
	{suffix: "_q4_0", bits: 4, blocks: true, of: []string{"matmul_nt", "matmul_nt_residual", "matmul_nn", "matmul_nn_acc"}},
}

// operands are those of a kernel that it may keep in another storage.
func operands(kernel string) []string {
	switch kernel {
	case "embed":
		return []string{"table"}
	case "qk_rope", "attention":
		return []string{"k", "v"}
	}
	return []string{"b"}
}

// cutStorage cuts the ending off a kernel's name that tells its storage; without one
// all operands are f32.
func cutStorage(name string) (string, storage) {
	for _, s := range storages {
		if plain, ok := strings.CutSuffix(name, s.suffix); ok && slices.Contains(s.of, plain) {
			return plain, s
		}
	}
	return name, storage{bits: 32}
}

// storedKernels are kernels of rows with another storage of some operands, and the same
// arithmetic in the same order: on numbers that the storage can hold the two give equal
// bits.
func storedKernels() []Kernel {
	var list []Kernel
	for _, s := range storages {
		for _, name := range s.of {
			k := rows[slices.IndexFunc(rows, func(k Kernel) bool { return k.Name == name })]
			list = append(list, k.stored(s))
		}
	}
	return list
}

// stored is the kernel with some operands in a storage. Factors of blocks come after
// their numbers, as binding "scale".
func (k Kernel) stored(s storage) Kernel {
	operands := operands(k.Name)
	format := s.suffix[1:]
	k.Doc = k.Name + " with " + strings.Join(operands, " and ") + " as " + format
	var bindings []Binding
	for _, b := range k.Bindings {
		kept := slices.Contains(operands, b.Name)
		if !kept {
			bindings = append(bindings, b)
			continue
		}
		if b.Access != Read {
			k.Doc += "; " + b.Name + " is rounded as by round_bf16"
		}
		shape := b.Shape
		b.Shape += " " + format
		bindings = append(bindings, b)
		if s.blocks {
			bindings = append(bindings, Binding{"scale", Read, strings.Replace(shape, "ldb", "ceil(ldb/32)", 1)})
			k.Doc += ": b[r][c] = the signed number there * scale[r][c/32], rounded once; ldb, and K of an NT product, are multiples of 32"
		}
	}
	k.Name, k.Bindings = k.Name+s.suffix, bindings
	return k
}

// Bits is the size of an element, 32 for f32 and u32. Elements of 16 bits are bf16, the
// upper half of an f32; those of 8 and 4 are signed numbers. Several lie in a u32, the
// one of the lowest column in its lowest bits.
func (b Binding) Bits() int {
	for _, s := range storages {
		if strings.HasSuffix(b.Shape, " "+s.suffix[1:]) {
			return s.bits
		}
	}
	return 32
}

// BF16 tells whether the elements are bf16.
func (b Binding) BF16() bool { return b.Bits() == 16 }

var rows = []Kernel{
	{"embed", []Binding{{"ids", Read, "[T] u32"}, {"table", Read, "[rows][D]"}, {"out", Write, "[T][D]"}},
		[]string{"T", "D", "row0", "rows", "scale:f32"}, "D, T",
		"out[t] = scale*table[ids[t]-row0] where row0 <= ids[t] < row0+rows; other rows of out are left alone (a large table comes in slabs)"},
	{"embed_backward", []Binding{{"rows", Read, "[U] u32"}, {"start", Read, "[U+1] u32"}, {"order", Read, "[*] u32"}, {"dx", Read, "[T][D]"}, {"dtable", ReadWrite, "[*][D]"}},
		[]string{"U", "D", "row0", "count", "scale:f32"}, "D, U",
		"for each u with row0 <= rows[u] < row0+count: dtable[rows[u]-row0] += scale*dx[order[i]], i = start[u] .. start[u+1]-1 ascending, one add at a time"},

	{"matmul_nt", []Binding{{"a", Read, "[M][lda]"}, {"b", Read, "[N][ldb]"}, {"c", Write, "[M][ldc]"}},
		[]string{"M", "N", "K", "lda", "ldb", "ldc"}, "N, M",
		"c[i][j] = sum over k ascending, from 0, of fma(a[i][k], b[j][k], acc)"},
	{"matmul_nt_residual", []Binding{{"a", Read, "[M][lda]"}, {"b", Read, "[N][ldb]"}, {"r", Read, "[M][ldc]"}, {"c", Write, "[M][ldc]"}},
		[]string{"M", "N", "K", "lda", "ldb", "ldc"}, "N, M",
		"c[i][j] = r[i][j] + the sum of matmul_nt (the sum first, then one add); r and c never overlap"},
	{"matmul_nn", []Binding{{"a", Read, "[M][lda]"}, {"b", Read, "[K][ldb]"}, {"c", Write, "[M][ldc]"}},
		[]string{"M", "N", "K", "lda", "ldb", "ldc"}, "N, M",
		"c[i][j] = sum over k ascending, from 0, of fma(a[i][k], b[k][j], acc)"},
	{"matmul_nn_acc", []Binding{{"a", Read, "[M][lda]"}, {"b", Read, "[K][ldb]"}, {"c", ReadWrite, "[M][ldc]"}},
		[]string{"M", "N", "K", "lda", "ldb", "ldc"}, "N, M",
		"c[i][j] continues its own chain: acc = c[i][j]; for k ascending acc = fma(a[i][k], b[k][j], acc); so K may be cut anywhere"},
	{"matmul_tn_acc", []Binding{{"a", Read, "[K][lda]"}, {"b", Read, "[K][ldb]"}, {"c", ReadWrite, "[M][ldc]"}},
		[]string{"M", "N", "K", "lda", "ldb", "ldc"}, "N, M",
		"c[i][j] continues its own chain: acc = c[i][j]; for k ascending acc = fma(a[k][i], b[k][j], acc); so a batch of rows may be cut anywhere"},

	{"rmsnorm", []Binding{{"x", Read, "[T][ld]"}, {"w", Read, "[ld]"}, {"y", Write, "[T][ld]"}, {"rstd", Write, "[T]"}},
		[]string{"T", "n", "ld", "eps:f32", "plus:f32"}, "T",
		"rstd = 1/sqrt(sum(x^2)/n + eps); y = x*rstd*(w+plus); n is the real width"},
	{"rmsnorm_residual", []Binding{{"x", Read, "[T][ld]"}, {"w", Read, "[ld]"}, {"r", Read, "[T][ld]"}, {"y", Write, "[T][ld]"}, {"rstd", Write, "[T]"}},
		[]string{"T", "n", "ld", "eps:f32", "plus:f32"}, "T",
		"y = r + what rmsnorm gives (one add); r and y never overlap"},
	{"rmsnorm_backward_dx", []Binding{{"dy", Read, "[T][ld]"}, {"x", Read, "[T][ld]"}, {"w", Read, "[ld]"}, {"rstd", Read, "[T]"}, {"dx", ReadWrite, "[T][ld]"}},
		[]string{"T", "n", "ld", "accumulate", "plus:f32"}, "T",
		"g = rstd*(f*dy - xhat*sum(f*dy*xhat)/n), f = w+plus, xhat = x*rstd; dx = g, or dx + g if accumulate is 1"},
	{"rmsnorm_backward_dw", []Binding{{"dy", Read, "[T][ld]"}, {"x", Read, "[T][ld]"}, {"rstd", Read, "[T]"}, {"dw", ReadWrite, "[ld]"}},
		[]string{"T", "ld"}, "ld",
		"dw[j] continues its chain over t ascending: fma(dy[t][j], x[t][j]*rstd[t], dw[j])"},

	{"qk_rope", []Binding{{"qkv", Read, "[T][(H+2*KV)*hd]"}, {"norm", Read, "[2][hd] (q, k)"}, {"rope", Read, "[P][hd] (hd/2 cosines, hd/2 sines)"}, {"meta", Read, "[T][2] u32 (position, slot)"},
		{"q", Write, "[T][H*hd]"}, {"k", ReadWrite, "[slots][KV*hd]"}, {"v", ReadWrite, "[slots][KV*hd]"}, {"rstd", Write, "[T][H+KV]"}},
		[]string{"T", "H", "KV", "hd", "n", "eps:f32", "use_norm", "plus:f32"}, "H+2*KV, T",
		"per head: RMSNorm with factors norm+plus over the n real of hd elements (if use_norm), then rotation of the pairs (i, i+hd/2) by rope[position]; q to row t, k and v (v unchanged) to row slot"},
	{"qk_rope_backward", []Binding{{"qkv", Read, "as above"}, {"norm", Read, "[2][hd]"}, {"rope", Read, "[P][hd]"}, {"meta", Read, "[T][2] u32"},
		{"dq", ReadWrite, "[T][H*hd]"}, {"dk", ReadWrite, "[T][KV*hd]"}, {"dv", Read, "[T][KV*hd]"}, {"dqkv", Write, "[T][(H+2*KV)*hd]"}},
		[]string{"T", "H", "KV", "hd", "n", "eps:f32", "use_norm", "plus:f32"}, "H+2*KV, T",
		"rotates dq, dk back in place (what qk_norm_backward_dw needs), then the RMSNorm's input gradient (if use_norm) into dqkv; dv is copied"},
	{"qk_norm_backward_dw", []Binding{{"dy", Read, "[T][heads*hd], rotated back"}, {"qkv", Read, "[T][ldq]"}, {"rstd", Read, "[T][ldr]"}, {"dw", ReadWrite, "[*]"}},
		[]string{"T", "heads", "hd", "ldq", "off", "ldr", "roff", "dw0"}, "hd",
		"dw[dw0+j] continues its chain over t, then h, ascending: fma(dy[t][h*hd+j], qkv[t][off+h*hd+j]*rstd[t][roff+h], dw[dw0+j])"},

	{"attention", []Binding{{"q", Read, "[T][H*hd]"}, {"k", Read, "[slots][KV*hd]"}, {"v", Read, "[slots][KV*hd]"}, {"kvidx", Read, "[*] u32 slot of each key"}, {"meta", Read, "[T][2] u32 (offset into kvidx, number of keys)"},
		{"o", Write, "[T][H*hd]"}, {"stat", ReadWrite, "[T][H][2]"}},
		[]string{"T", "H", "KV", "hd", "scale:f32"}, "H, T",
		"o = softmax(scale*q.k) v over the row's keys in order (blocks counted from the first key, online softmax; a block has 8 keys on TL, 32 elsewhere); query head h reads kv head h/(H/KV); stat[t][h][0] = log-sum-exp of the scaled scores"},
	{"attention_delta", []Binding{{"o", Read, "[T][H*hd]"}, {"do", Read, "[T][H*hd]"}, {"stat", ReadWrite, "[T][H][2]"}},
		[]string{"T", "H", "hd"}, "H, T",
		"stat[t][h][1] = sum over the head of o*do"},
	{"attention_backward_dq", []Binding{{"q", Read, "[T][H*hd]"}, {"k", Read, "[T][KV*hd]"}, {"v", Read, "[T][KV*hd]"}, {"do", Read, "[T][H*hd]"}, {"stat", Read, "[T][H][2]"}, {"kvidx", Read, "[*] u32 row of each key"}, {"meta", Read, "[T][2] u32 (offset into kvidx, number of keys)"}, {"dq", Write, "[T][H*hd]"}},
		[]string{"T", "H", "KV", "hd", "scale:f32"}, "H, T",
		"p_j = exp(scale*q.k_j - stat0); dq = sum over keys j ascending of p_j*(do.v_j - stat1)*scale*k_j; key j of the row is row kvidx[offset+j] of k, v"},
	{"attention_backward_dkv", []Binding{{"q", Read, "[T][H*hd]"}, {"k", Read, "[T][KV*hd]"}, {"v", Read, "[T][KV*hd]"}, {"do", Read, "[T][H*hd]"}, {"stat", Read, "[T][H][2]"}, {"ends", Read, "[T] u32 row after the last that reads this one"}, {"dk", Write, "[T][KV*hd]"}, {"dv", Write, "[T][KV*hd]"}},
		[]string{"T", "H", "KV", "hd", "scale:f32"}, "KV, T",
		"for key row t, over its query heads ascending, then query rows i = t .. ends[t]-1 ascending: dv += p*do_i; dk += p*(do_i.v_t - stat1)*scale*q_i"},

	{"swiglu", []Binding{{"gu", Read, "[T][2*F] gate then up"}, {"y", Write, "[T][F]"}},
		[]string{"T", "F"}, "F, T", "y = silu(gate)*up"},
	{"swiglu_backward", []Binding{{"gu", Read, "[T][2*F]"}, {"dy", Read, "[T][F]"}, {"dgu", Write, "[T][2*F]"}},
		[]string{"T", "F"}, "F, T", "s = 1/(1+exp(-g)); dup = dy*g*s; dgate = dy*u*s*(1+g*(1-s))"},
	{"geglu", []Binding{{"gu", Read, "[T][2*F] gate then up"}, {"y", Write, "[T][F]"}},
		[]string{"T", "F"}, "F, T", "y = g*s*u, s = 1/(1+exp(-a)), a = 2*sqrt(2/pi)*g*(1+0.044715*g^2): gelu(gate)*up with gelu by tanh, for (1+tanh(a/2))/2 = s"},
	{"geglu_backward", []Binding{{"gu", Read, "[T][2*F]"}, {"dy", Read, "[T][F]"}, {"dgu", Write, "[T][2*F]"}},
		[]string{"T", "F"}, "F, T", "s as in geglu, b = da/dg = 2*sqrt(2/pi)*(1+3*0.044715*g^2); dup = dy*g*s; dgate = dy*u*s*(1+g*(1-s)*b)"},

	{"add_bias", []Binding{{"y", ReadWrite, "[T][N]"}, {"b", Read, "[N]"}},
		[]string{"T", "N"}, "N, T", "y[t][j] += b[j]"},
	{"bias_backward", []Binding{{"dy", Read, "[T][N]"}, {"db", ReadWrite, "[N]"}},
		[]string{"T", "N"}, "N", "db[j] continues its chain over t ascending, one add at a time: db[j] += dy[t][j]"},
	{"add_columns", []Binding{{"dst", ReadWrite, "[T][ld]"}, {"src", Read, "[T][N]"}},
		[]string{"T", "N", "ld", "off", "scale:f32"}, "N, T", "dst[t][off+j] += scale*src[t][j]"},
	{"take_columns", []Binding{{"src", Read, "[T][ld]"}, {"dst", Write, "[T][N]"}},
		[]string{"T", "N", "ld", "off", "scale:f32"}, "N, T", "dst[t][j] = scale*src[t][off+j]"},

	{"gather_rows", []Binding{{"src", Read, "[*][D]"}, {"idx", Read, "[R] u32"}, {"dst", Write, "[R][D]"}},
		[]string{"R", "D"}, "D, R", "dst[r] = src[idx[r]]"},
	{"scatter_rows", []Binding{{"src", Read, "[*][D]"}, {"start", Read, "[T+1] u32"}, {"dst", Write, "[T][D]"}},
		[]string{"T", "D"}, "D, T", "dst[t] = sum of src[r], r = start[t] .. start[t+1]-1 ascending, from 0, one add at a time: what gather_rows did backwards, where idx ascends"},

	{"vocab_stats", []Binding{{"logits", Read, "[R][ld]"}, {"target", Read, "[R] u32"}, {"inv_temp", Read, "[R]"}, {"out", Write, "[R][4]"}},
		[]string{"R", "V", "ld"}, "R",
		"x = logits*inv_temp over the first V columns; lse = log-sum-exp; out = (x[target]-lse, entropy = lse - sum p*x, mean(x)-lse, lse)"},
	{"vocab_backward", []Binding{{"logits", ReadWrite, "[R][ld], becomes the gradient"}, {"target", Read, "[R] u32"}, {"inv_temp", Read, "[R]"}, {"stats", Read, "[R][4] of vocab_stats"}, {"weights", Read, "[R][4] (dlogprob, dentropy, dmean, -)"}},
		[]string{"R", "V", "ld"}, "ld, R",
		"p = exp(x-lse); dlogits = inv_temp*(g*([j=target]-p) - h*p*((x-lse)+entropy) + c*(1/V-p)); columns V.. become 0"},
	{"sample_filter", []Binding{{"logits", Read, "[R][ld]"}, {"rowp", Read, "[R][8] u32, see sample_draw"}, {"out", Write, "[R][ld]"}},
		[]string{"R", "V", "ld"}, "R",
		"out = logits where the token stays, -inf where top-k, top-p or min-p (applied in this order, on logits*inv_temp, each on what the one before left, renormalised) drops it or j >= V; logits equal to the k-th stay, those equal at the border of top-p by lower index first; off is top_k 0, top_p >= 1, min_p 0; a row with all three off, or with inv_temp 0 (greedy), is copied up to V"},
	{"sample_within", []Binding{{"logits", Read, "[R][ld]"}, {"kept", Read, "[R][ld], as sample_filter leaves them"}, {"out", Write, "[R][ld]"}},
		[]string{"R", "V", "ld"}, "ld, R",
		"out[r][j] = logits[r][j] where kept[r][j] > -1e30 and j < V, else -1e30: what the filter of another model leaves of this one's tokens"},
	{"sample_mask", []Binding{{"logits", Read, "[R][ld]"}, {"allow", Read, "[R][ceil(V/32)] u32"}, {"out", Write, "[R][ld]"}},
		[]string{"R", "V", "ld"}, "ld, R",
		"out[r][j] = logits[r][j] where bit j%32 of allow[r][j/32] is 1 and j < V, else -1e30, which sample_filter weighs and sample_draw never draws while another is left"},
	{"sample_draw", []Binding{{"logits", Read, "[R][ld]"}, {"rowp", Read, "[R][8] u32 (inv_temp f32, top_k, top_p f32, min_p f32, seed low, seed high, stream, position)"}, {"ids", Write, "[R] u32"}},
		[]string{"R", "V", "ld"}, "R",
		"inv_temp 0: the index of the largest logit, lowest first. Else Gumbel-max: argmax of logits*inv_temp - log(-log(u)), u = ((bits>>8)+0.5)*2^-24 as an exact number (f32 would round it to 1 and log(u) would lose the tail: near 1 take -log(u) = v + v^2/2 + v^3/3 + .. from v = 1-u = ((0xffffff-(bits>>8))+0.5)*2^-24), bits = component j%4 of Philox4x32-10 with key (seed low, seed high), counter (position, stream, j/4, 0)"},

	{"adamw", []Binding{{"p", ReadWrite, "[n]"}, {"g", Read, "[n]"}, {"m", ReadWrite, "[n]"}, {"v", ReadWrite, "[n]"}, {"ctl", Read, "[8], [0] = factor on g; [2] to [7] = lr, weight decay, 1/(1-b1^t), 1/sqrt(1-b2^t), 1-b1, 1-b2"}},
		[]string{"n", "b1:f32", "b2:f32", "eps:f32", "decay"}, "n",
		"g*=ctl0; m = b1*m + ctl6*g; v = b2*v + ctl7*g^2 (1-b in f32 would be off by 5e-5 of itself); p = p*(1-lr*wd if decay is 1) - lr*ctl4*m/(sqrt(v)*ctl5 + eps)"},
	{"adam", []Binding{{"p", ReadWrite, "[n]"}, {"g", Read, "[n]"}, {"m", ReadWrite, "[n]"}, {"v", ReadWrite, "[n]"}, {"ctl", Read, "[8], see adamw"}},
		[]string{"n", "b1:f32", "b2:f32", "eps:f32", "decay"}, "n",
		"g = g*ctl0 + (wd*p if decay is 1); m and v as of adamw; p = p - lr*ctl4*m/(sqrt(v)*ctl5 + eps)"},
	{"amsgrad", []Binding{{"p", ReadWrite, "[n]"}, {"g", Read, "[n]"}, {"m", ReadWrite, "[n]"}, {"v", ReadWrite, "[n]"}, {"x", ReadWrite, "[n]"}, {"ctl", Read, "[8], see adamw"}},
		[]string{"n", "b1:f32", "b2:f32", "eps:f32", "decay"}, "n",
		"g*=ctl0; m and v as of adamw; x = max(x, v); p = p*(1-lr*wd if decay is 1) - lr*ctl4*m/(sqrt(x)*ctl5 + eps)"},
	{"sgd", []Binding{{"p", ReadWrite, "[n]"}, {"g", Read, "[n]"}, {"m", ReadWrite, "[n]"}, {"ctl", Read, "[8], [0], [2] and [3] of adamw, [6] = share of the gradient"}},
		[]string{"n", "momentum:f32", "nesterov", "decay"}, "n",
		"g = g*ctl0 + (wd*p if decay is 1); m = momentum*m + ctl6*g; p = p - lr*(g + momentum*m if nesterov is 1, else m)"},
	{"grad_sumsq", []Binding{{"g", Read, "[n]"}, {"part", ReadWrite, "[*]"}},
		[]string{"n", "part0"}, "ceil(n/4096)",
		"part[part0+s] = sum of squares of g[4096*s .. 4096*s+4095]"},
	{"grad_clip", []Binding{{"part", Read, "[count]"}, {"ctl", ReadWrite, "[8]"}},
		[]string{"count", "max_norm:f32"}, "1",
		"ctl[1] = norm = sqrt(sum of part); ctl[0] = min(1, max_norm/(norm+1e-6)), or 1 if max_norm is 0"},
	{"grad_abs", []Binding{{"g", Read, "[n]"}, {"part", ReadWrite, "[*]"}},
		[]string{"n", "part0", "largest"}, "ceil(n/4096)",
		"part[part0+s] = sum of |g[4096*s .. 4096*s+4095]|, or the largest of it if largest is 1 (NaN if one is)"},
	{"grad_abs_clip", []Binding{{"part", Read, "[count]"}, {"ctl", ReadWrite, "[8]"}},
		[]string{"count", "max_norm:f32", "largest"}, "1",
		"ctl[1] = norm = sum of part, or the largest of it if largest is 1; ctl[0] as of grad_clip; part is at least 0"},
	{"fill", []Binding{{"dst", Write, "[n]"}}, []string{"n", "value:f32"}, "n", "dst = value"},
	{"round_bf16", []Binding{{"src", Read, "[n]"}, {"dst", Write, "[n] bf16"}}, []string{"n"}, "n",
		"dst = src rounded to the nearest bf16, ties to the even one, beyond the largest to infinity; a NaN keeps its sign and upper bits and becomes quiet"},
	{"expand_bf16", []Binding{{"src", Read, "[n] bf16"}, {"dst", Write, "[n]"}}, []string{"n"}, "n", "dst = src, exactly"},
	{"add", []Binding{{"dst", ReadWrite, "[n]"}, {"src", Read, "[n]"}}, []string{"n"}, "n", "dst += src"},
	{"blend", []Binding{{"dst", ReadWrite, "[n]"}, {"src", Read, "[n]"}}, []string{"n", "share:f32"}, "n", "dst += share*(src - dst)"},
	{"matmul_free", []Binding{{"a", Read, "[M][lda]"}, {"b", Read, "[N][ldb]"}, {"c", Write, "[M][ldc]"}},
		[]string{"M", "N", "K", "lda", "ldb", "ldc"}, "N, M",
		"c[i][j] = sum of a[i][k]*b[j][k] over k in an order of the tier's own, which is not that of matmul_nt: what the benchmark measures the price of the one order against, never part of a run"},
	{"matmul_free_residual", []Binding{{"a", Read, "[M][lda]"}, {"b", Read, "[N][ldb]"}, {"r", Read, "[M][ldc]"}, {"c", Write, "[M][ldc]"}},
		[]string{"M", "N", "K", "lda", "ldb", "ldc"}, "N, M",
		"c[i][j] = r[i][j] + the sum of matmul_free (the sum first, then one add); r and c never overlap"},
	{"matmul_naive", []Binding{{"a", Read, "[M][lda]"}, {"b", Read, "[N][ldb]"}, {"c", Write, "[M][ldc]"}},
		[]string{"M", "N", "K", "lda", "ldb", "ldc"}, "N, M",
		"matmul_nt with one invocation for each output and no tiling: the baseline of the benchmark"},
}
