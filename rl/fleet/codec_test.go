package fleet

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/rollout"
)

func someItem() Item {
	return Item{
		Weights: Digest{1, 2, 3}, Seed: math.MaxUint64 - 5,
		Params:  rollout.Params{Temperature: 0.7, TopK: 20, TopP: 0.9, MinP: 0.05, MaxTokens: 3, StopText: []string{"\n\n", "é"}, StopIDs: []int{7, 70000}, Without: []int{3, 65537}},
		Prompts: []Prompt{{IDs: []int{5, 70000}, Stream: 8, N: 2}, {IDs: []int{9}, Stream: math.MaxUint32, N: 1}},
	}
}

func someResult(i Item) Result {
	segment := func(stop rollout.Stop, ids ...int) rollout.Segment {
		s := rollout.Segment{Author: rollout.Policy, IDs: ids, Stop: stop, Logprob: []float32{}, Entropy: []float32{}}
		for t := range ids {
			s.Logprob, s.Entropy = append(s.Logprob, -float32(t)/3), append(s.Entropy, float32(t)/7)
		}
		return s
	}
	return Result{Item: i.ID(), Completions: [][]rollout.Segment{
		{segment(rollout.EOS, 4, 1), segment(rollout.Length, 7, 8, 9)},
		{segment(rollout.Text, 65536)},
	}}
}

// somePlay is an item that plays, and an answer to it.
func somePlay() (Item, Result) {
	i := someItem()
	i.Plays = &Plays{Stage: 3, Turns: 3, Tokens: 20}
	for k := range i.Prompts {
		i.Prompts[k].Row = fmt.Appendf(nil, `{"id":"%d","question":"q","answer":"a"}`, k)
	}
	r := someResult(i)
	read := rollout.Segment{Author: rollout.Outside, IDs: []int{3, 70000}}
	turn := r.Completions[0][0]
	r.Later = [][][]rollout.Segment{{{read, turn, read, turn}, {}}, {{read, turn}}}
	return i, r
}

// TestCodecPlays: the same of an item that plays, and of its answer.
func TestCodecPlays(t *testing.T) {
	i, r := somePlay()
	back, err := DecodeItem(i.Encode())
	if err != nil || !reflect.DeepEqual(back, i) {
		t.Errorf("item %+v, %v", back, err)
	}
	got, err := i.decodeResult(r.Encode())
	if err != nil || !reflect.DeepEqual(got, r) {
		t.Errorf("result %+v, %v", got, err)
	}
	if n := len(r.Encode()); n > i.MaxResultBytes() {
		t.Errorf("a result of %d bytes; the largest should have %d", n, i.MaxResultBytes())
	}
	seen := map[Digest]bool{i.ID(): true, i.turns().ID(): true}
	for n, change := range []func(*Item){func(i *Item) { i.Plays.Stage++ }, func(i *Item) { i.Plays.Turns++ }, func(i *Item) { i.Plays.Tokens++ }, func(i *Item) { i.Prompts[1].Row = []byte("{}") }} {
		i, _ := somePlay()
		if change(&i); seen[i.ID()] {
			t.Errorf("change %d has the id of another item", n)
		}
		seen[i.ID()] = true
	}
	i.Prompts[0].Row = []byte("{")
	if _, err := DecodeItem(i.Encode()); err == nil || !strings.Contains(err.Error(), "prompt 1: its row") {
		t.Errorf("a row that is no JSON: %v", err)
	}
}

// FuzzDecode: no item and no result breaks the decoders, and what they take is what they write.
func FuzzDecode(f *testing.F) {
	plays, played := somePlay()
	for _, data := range [][]byte{someItem().Encode(), plays.Encode()} {
		f.Add(data, someResult(someItem()).Encode())
		f.Add(data, played.Encode())
	}
	f.Fuzz(func(t *testing.T, asked, answer []byte) {
		i, err := DecodeItem(asked)
		if err == nil && !bytes.Equal(i.Encode(), asked) {
			t.Errorf("an item is written in another way than it was read")
		}
		if err != nil {
			i = plays
		}
		_ = i.Requests()
		if r, err := i.Decode(answer, math.MaxInt32); err == nil && !bytes.Equal(r.Encode(), answer) {
			t.Errorf("a result is written in another way than it was read")
		}
	})
}

// TestCodec: what is decoded is what was encoded, and an id changes with everything that
// a completion depends on.
func TestCodec(t *testing.T) {
	i := someItem()
	back, err := DecodeItem(i.Encode())
	if err != nil || !reflect.DeepEqual(back, i) {
		t.Errorf("item %+v, %v", back, err)
	}
	r := someResult(i)
	got, err := i.decodeResult(r.Encode())
	if err != nil || !reflect.DeepEqual(got, r) {
		t.Errorf("result %+v, %v", got, err)
	}
	if n := len(r.Encode()); n > i.MaxResultBytes() {
		t.Errorf("a result of %d bytes; the largest should have %d", n, i.MaxResultBytes())
	}
	seen := map[Digest]bool{i.ID(): true}
	for n, change := range []func(*Item){
		func(i *Item) { i.Weights[31]++ }, func(i *Item) { i.Seed++ }, func(i *Item) { i.Params.Temperature = 0.8 }, func(i *Item) { i.Params.TopK++ },
		func(i *Item) { i.Params.TopP = 1 }, func(i *Item) { i.Params.MinP = 0 }, func(i *Item) { i.Params.MaxTokens++ },
		func(i *Item) { i.Params.StopText[1] = "e" }, func(i *Item) { i.Params.StopText = i.Params.StopText[:1] }, func(i *Item) { i.Params.StopIDs[0]++ }, func(i *Item) { i.Params.Without[1]++ }, func(i *Item) { i.Params.Without, i.Params.StopIDs = nil, append(i.Params.StopIDs, 3, 65537) },
		func(i *Item) { i.Prompts[0].IDs[1]++ }, func(i *Item) { i.Prompts[0].Stream++ }, func(i *Item) { i.Prompts[1].N++ }, func(i *Item) { i.Prompts = i.Prompts[:1] },
	} {
		other := someItem()
		change(&other)
		if seen[other.ID()] {
			t.Errorf("change %d leaves the id as it was", n)
		}
		seen[other.ID()] = true
	}
}

// TestCodecRefuses: what is cut short, too long, of another version or damaged is an
// error; of a result, each changed byte is.
func TestCodecRefuses(t *testing.T) {
	i := someItem()
	item, result := i.Encode(), someResult(i).Encode()
	for n := range item {
		if _, err := DecodeItem(item[:n]); err == nil {
			t.Errorf("%d of %d bytes of an item are accepted", n, len(item))
		}
	}
	for n := range result {
		if _, err := i.decodeResult(result[:n]); err == nil {
			t.Errorf("%d of %d bytes of a result are accepted", n, len(result))
		}
		bad := slices.Clone(result)
		bad[n] ^= 16
		if _, err := i.decodeResult(bad); err == nil {
			t.Errorf("a result with another byte %d is accepted", n)
		}
	}
	for _, data := range [][]byte{append(slices.Clone(item), 0), make([]byte, maxItemBytes+1)} {
		if _, err := DecodeItem(data); err == nil {
			t.Errorf("an item of %d bytes is accepted", len(data))
		}
	}
	for _, change := range []func(*Item){
		func(i *Item) { i.Prompts[0].N = maxCompletions },
		func(i *Item) { i.Params.MaxTokens = math.MaxUint32; i.Prompts[0].N = 1 << 19 }, // of which the product is above 2^63
		func(i *Item) { i.Params.MaxTokens, i.Prompts[0].N = 1<<20, 1<<10 },
	} {
		other := someItem()
		change(&other)
		if _, err := DecodeItem(other.Encode()); err == nil || !strings.Contains(err.Error(), "accepted: at most") {
			t.Errorf("an item of %d completions of %d tokens: %v", other.Prompts[0].N, other.Params.MaxTokens, err)
		}
	}
	endless := slices.Clone(result[:len(resultMark)+sha256.Size])
	endless = sealed(append(endless, 255, 255, 255, 255, 255, 255, 255, 255))
	if _, err := i.decodeResult(endless); err == nil {
		t.Error("a result of four thousand million prompts is accepted")
	}
}

// TestDecodedMemory: a result of many completions without a token, 5 bytes each, takes no
// more memory than the completions that were asked for.
func TestDecodedMemory(t *testing.T) {
	i := someItem()
	body := binary.LittleEndian.AppendUint32(append([]byte(resultMark), make([]byte, len(Digest{}))...), 2)
	const n = 1 << 20
	data := sealed(append(binary.LittleEndian.AppendUint32(body, n), make([]byte, 5*n)...))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := i.decodeResult(data)
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; err == nil || took > 1<<20 {
		t.Errorf("%d bytes take %d bytes of memory: %v", len(data), took, err)
	}
}

// sealed is a result's body with the digest that fits.
func sealed(body []byte) []byte {
	sum := sha256.Sum256(body)
	return append(body, sum[:]...)
}

// TestAnswers: results that have the form of an answer and those that do not.
func TestAnswers(t *testing.T) {
	i := someItem()
	const vocab = 70001
	if _, err := i.Decode(someResult(i).Encode(), vocab); err != nil {
		t.Errorf("an answer is refused: %v", err)
	}
	for n, change := range []func(*Result){
		func(r *Result) { r.Completions = r.Completions[:1] },
		func(r *Result) { r.Completions[0] = r.Completions[0][:1] },
		func(r *Result) { r.Completions[0][0].IDs[1] = vocab },
		func(r *Result) { r.Completions[0][0].Logprob[1] = float32(math.NaN()) },
		func(r *Result) { r.Completions[0][0].Entropy[0] = float32(math.Inf(1)) },
		func(r *Result) { r.Completions[0][0].Stop = rollout.Length },
		func(r *Result) { r.Completions[1][0] = rollout.Segment{Stop: rollout.EOS} },
		func(r *Result) {
			s := &r.Completions[1][0]
			s.IDs, s.Logprob, s.Entropy = make([]int, 4), make([]float32, 4), make([]float32, 4)
		},
	} {
		r := someResult(i)
		change(&r)
		if _, err := i.Decode(r.Encode(), vocab); err == nil {
			t.Errorf("change %d is accepted", n)
		}
	}
}

// FuzzItem and FuzzResult: no data break a decoder, and what it accepts has that encoding
// alone.
func FuzzItem(f *testing.F) {
	f.Add(someItem().Encode())
	f.Add(Item{}.Encode())
	f.Fuzz(func(t *testing.T, data []byte) {
		if i, err := DecodeItem(data); err == nil && !bytes.Equal(i.Encode(), data) {
			t.Errorf("%x is accepted, its encoding is %x", data, i.Encode())
		}
	})
}

func FuzzResult(f *testing.F) {
	r := someResult(someItem()).Encode()
	f.Add(r[:len(r)-sha256.Size])
	f.Add([]byte(resultMark))
	i := someItem()
	f.Fuzz(func(t *testing.T, body []byte) {
		data := sealed(slices.Clone(body))
		if r, err := i.decodeResult(data); err == nil && !bytes.Equal(r.Encode(), data) {
			t.Errorf("%x is accepted, its encoding is %x", data, r.Encode())
		}
	})
}
