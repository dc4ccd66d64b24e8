package fleet

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/rlzero/rlzero/internal/packed"
	"github.com/rlzero/rlzero/rl/fleet/verdict"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify"
)

// Encodings begin with a mark of four bytes, of which the last is the version. All numbers
// are little-endian and of fixed width: there is one encoding of a value, as an id needs.
//
//	item    "RZI\3", weights [32], seed u64, temperature, top_k, top_p, min_p u64, max tokens u32,
//	        stop texts u32; each: bytes u32, UTF-8..., stop ids u32, ids u32...,
//	        without u32, ids u32..., prompts u32; each: stream u32, n u32, tokens u32, ids u32...;
//	        plays u32 (0 or 1); if it does: stage u32, turns u32, tokens u32, and for each
//	        prompt its row as a text
//	result  "RZR\1", item [32], prompts u32; each: completions u32; each: a turn, and if the item
//	        plays: turns u32; each: tokens u32, ids u32... that were read before it, a turn;
//	        SHA-256 of all before [32]
//	turn    stop u8, tokens u32, ids u32..., log-probs f32..., entropies f32...
const (
	itemMark   = "RZI\x03"
	resultMark = "RZR\x01"
)

// Bounds on items that are decoded: their size, the completions that they ask for, and the
// size of a result that they allow.
const (
	maxItemBytes   = 16 << 20
	maxCompletions = 1 << 20
	maxResultBytes = 1<<31 - 1
)

// stops are what a completion may end with; a result has the index.
var stops = []rollout.Stop{rollout.EOS, rollout.Length, rollout.Text}

// Encode is the item in bytes.
func (i Item) Encode() []byte {
	le := binary.LittleEndian
	b := append([]byte(itemMark), i.Weights[:]...)
	p := i.Params
	for _, x := range []uint64{i.Seed, math.Float64bits(p.Temperature), uint64(p.TopK), math.Float64bits(p.TopP), math.Float64bits(p.MinP)} {
		b = le.AppendUint64(b, x)
	}
	b = le.AppendUint32(b, uint32(p.MaxTokens))
	b = le.AppendUint32(b, uint32(len(p.StopText)))
	for _, text := range p.StopText {
		b = append(le.AppendUint32(b, uint32(len(text))), text...)
	}
	b = appendIDs(b, p.StopIDs)
	b = appendIDs(b, p.Without)
	b = le.AppendUint32(b, uint32(len(i.Prompts)))
	for _, q := range i.Prompts {
		b = le.AppendUint32(b, q.Stream)
		b = le.AppendUint32(b, uint32(q.N))
		b = appendIDs(b, q.IDs)
	}
	if i.Plays == nil {
		return le.AppendUint32(b, 0)
	}
	for _, x := range []int{1, i.Plays.Stage, i.Plays.Turns, i.Plays.Tokens} {
		b = le.AppendUint32(b, uint32(x))
	}
	for _, q := range i.Prompts {
		b = packed.AppendText(b, q.Row)
	}
	return b
}

// DecodeItem reads an item. It takes memory in proportion to the data.
func DecodeItem(data []byte) (Item, error) {
	if len(data) > maxItemBytes {
		return Item{}, fmt.Errorf("an item of %d bytes; accepted: at most %d", len(data), maxItemBytes)
	}
	r := packed.Reader{Data: data}
	if string(r.Take(len(itemMark))) != itemMark {
		return Item{}, errors.New("this is not an item of this version of rlzero")
	}
	i := Item{Weights: digest(&r), Seed: r.U64()}
	i.Params = rollout.Params{Temperature: r.F64(), TopK: int(r.U64()), TopP: r.F64(), MinP: r.F64(), MaxTokens: int(r.U32())}
	for range r.Count(4) {
		i.Params.StopText = append(i.Params.StopText, r.Text())
	}
	i.Params.StopIDs = ids(&r, r.Count(4))
	i.Params.Without = ids(&r, r.Count(4))
	for range r.Count(12) {
		i.Prompts = append(i.Prompts, Prompt{Stream: r.U32(), N: int(r.U32()), IDs: ids(&r, r.Count(4))})
	}
	switch plays := r.U32(); {
	case plays > 1:
		return Item{}, fmt.Errorf("an item that plays %d; accepted: 0 or 1", plays)
	case plays == 1:
		i.Plays = &Plays{Stage: int(r.U32()), Turns: int(r.U32()), Tokens: int(r.U32())}
		for k := range i.Prompts {
			i.Prompts[k].Row = slices.Clone(r.Take(r.Count(1)))
		}
	}
	if err := r.End(); err != nil {
		return Item{}, err
	}
	if i.Plays != nil {
		for k, p := range i.Prompts {
			if err := json.Unmarshal(p.Row, &verify.Problem{}); err != nil {
				return Item{}, fmt.Errorf("prompt %d: its row: %w", k+1, err)
			}
		}
	}
	n := uint64(0)
	for _, p := range i.Prompts {
		n += uint64(p.N)
	}
	if n > maxCompletions || i.MaxResultBytes() >= maxResultBytes {
		return Item{}, fmt.Errorf("an item that asks for %d completions of %d tokens; accepted: at most %d, and a result of at most %d bytes", n, i.Params.MaxTokens, maxCompletions, maxResultBytes)
	}
	return i, nil
}

// Encode is the result in bytes.
func (r Result) Encode() []byte {
	le := binary.LittleEndian
	b := append([]byte(resultMark), r.Item[:]...)
	b = le.AppendUint32(b, uint32(len(r.Completions)))
	for k, group := range r.Completions {
		b = le.AppendUint32(b, uint32(len(group)))
		for j, s := range group {
			b = appendTurn(b, s)
			if r.Later == nil {
				continue
			}
			later := r.Later[k][j]
			b = le.AppendUint32(b, uint32(len(later)/2))
			for n := 0; n+1 < len(later); n += 2 {
				b = appendTurn(appendIDs(b, later[n].IDs), later[n+1])
			}
		}
	}
	sum := sha256.Sum256(b)
	return append(b, sum[:]...)
}

func appendTurn(b []byte, s rollout.Segment) []byte {
	b = append(b, byte(slices.Index(stops, s.Stop)))
	b = appendIDs(b, s.IDs)
	for _, column := range [][]float32{s.Logprob, s.Entropy} {
		for _, x := range column {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
	}
	return b
}

// answered is the item that a result, or an answer about verdicts, says it answers.
func answered(data []byte) (Digest, error) {
	if id, ok := verdict.Answered(data); ok {
		return id, nil
	}
	return resultItem(data)
}

// resultItem is the item that a result says it answers.
func resultItem(data []byte) (Digest, error) {
	r := packed.Reader{Data: data}
	if string(r.Take(len(resultMark))) != resultMark {
		return Digest{}, errors.New("this is not a result of this version of rlzero")
	}
	return digest(&r), r.Err
}

// MaxResultBytes is the size of the largest result that an item can have, or the bound on
// all results if that is less.
func (i Item) MaxResultBytes() int {
	n := float64(len(resultMark) + 2*sha256.Size + 4) // whole numbers, which cannot overflow
	for _, p := range i.Prompts {
		n += 4 + float64(p.N)*(5+12*float64(i.Params.MaxTokens))
		if i.Plays != nil {
			n += float64(p.N) * (4 + 9*float64(i.Plays.Turns) + 12*float64(i.Plays.Tokens))
		}
	}
	return int(min(n, maxResultBytes))
}

// Decode reads a result that answers the item, for a vocabulary of so many ids. Its size
// is bounded before it is decoded.
func (i Item) Decode(result []byte, vocab int) (Result, error) {
	if most := i.MaxResultBytes(); len(result) > most {
		return Result{}, fmt.Errorf("it has %d bytes; accepted for this item: at most %d", len(result), most)
	}
	r, err := i.decodeResult(result)
	if err == nil && !r.plausible(i, vocab) {
		err = fmt.Errorf("it does not answer item %v", r.Item)
	}
	return r, err
}

// decodeResult reads a result of the item. It takes memory in proportion to the data, and
// for no more completions than the item asks for: one without a token has 5 bytes there and
// some 300 here.
func (i Item) decodeResult(data []byte) (Result, error) {
	item, err := resultItem(data)
	if err != nil {
		return Result{}, err
	}
	body := len(data) - sha256.Size
	if body < len(resultMark)+sha256.Size {
		return Result{}, packed.ErrShort
	}
	if sum := sha256.Sum256(data[:body]); !bytes.Equal(sum[:], data[body:]) {
		return Result{}, errors.New("the result is damaged: its SHA-256 does not match")
	}
	r := packed.Reader{Data: data[len(resultMark)+sha256.Size : body]}
	out := Result{Item: item}
	if n := r.Count(4); n != len(i.Prompts) && r.Err == nil {
		return Result{}, fmt.Errorf("it has completions of %d prompts; the item has %d", n, len(i.Prompts))
	}
	for _, p := range i.Prompts {
		n := r.Count(5)
		if n != p.N && r.Err == nil {
			return Result{}, fmt.Errorf("it has %d completions of a prompt; the item asks for %d", n, p.N)
		}
		group := make([]rollout.Segment, 0, n)
		var later [][]rollout.Segment
		for range n {
			s, err := turn(&r)
			if err != nil {
				return Result{}, err
			}
			group = append(group, s)
			if i.Plays == nil {
				continue
			}
			episode := []rollout.Segment{}
			for range r.Count(9) {
				read := rollout.Segment{Author: rollout.Outside, IDs: ids(&r, r.Count(4))}
				s, err := turn(&r)
				if err != nil {
					return Result{}, err
				}
				episode = append(episode, read, s)
			}
			later = append(later, episode)
		}
		out.Completions = append(out.Completions, group)
		if i.Plays != nil {
			out.Later = append(out.Later, later)
		}
	}
	return out, r.End()
}

// turn reads what was drawn at once.
func turn(r *packed.Reader) (rollout.Segment, error) {
	stop := r.Take(1)
	if r.Err == nil && int(stop[0]) >= len(stops) {
		return rollout.Segment{}, fmt.Errorf("a completion ends for reason %d; accepted: 0 to %d", stop[0], len(stops)-1)
	}
	n := r.Count(12)
	s := rollout.Segment{Author: rollout.Policy, IDs: ids(r, n), Logprob: f32s(r, n), Entropy: f32s(r, n)}
	if r.Err == nil {
		s.Stop = stops[stop[0]]
	}
	return s, nil
}

func appendIDs(b []byte, ids []int) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(ids)))
	for _, id := range ids {
		b = binary.LittleEndian.AppendUint32(b, uint32(id))
	}
	return b
}

func ids(r *packed.Reader, n int) []int {
	raw := r.Take(4 * n)
	ids := make([]int, len(raw)/4)
	for i := range ids {
		ids[i] = int(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return ids
}

func f32s(r *packed.Reader, n int) []float32 {
	raw := r.Take(4 * n)
	out := make([]float32, len(raw)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return out
}

func digest(r *packed.Reader) (d Digest) {
	copy(d[:], r.Take(len(d)))
	return d
}
