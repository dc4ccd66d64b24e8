package verdict

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/rlzero/rlzero/internal/packed"
	"github.com/rlzero/rlzero/verify"
)

// Encodings begin with a mark of four bytes, of which the last is the version. Numbers are
// little-endian and of fixed width; a text is its bytes u32, then these.
//
//	item    "RZV\1", release, verifier, options as texts, rows u32; each: JSON as a text,
//	        completions u32; each a text
//	answer  "RZW\1", item [32], verdicts u32; each: kind u8 (0: none, then nothing
//	        follows), score f64, reason, extracted, rule as texts, values u32; each: name as a
//	        text, f64; SHA-256 of all before [32]
const (
	itemMark   = "RZV\x01"
	answerMark = "RZW\x01"
)

// Bounds on items that are decoded, and on answers.
const (
	maxItemBytes    = 16 << 20
	maxVerdictBytes = 8 << 10 // longer ones are not sent, nor those that are not sound
)

// kinds are what verdicts are; an answer has the index. The first is none.
var kinds = []string{"", verify.Right, verify.Wrong, verify.Graded}

// Encode is the item in bytes.
func (i Item) Encode() []byte {
	b := packed.AppendText([]byte(itemMark), i.Engine.Release)
	b = packed.AppendText(packed.AppendText(b, i.Engine.Verifier), i.Engine.Options)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(i.Asked)))
	for _, a := range i.Asked {
		b = packed.AppendText(b, a.Row)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(a.Completions)))
		for _, c := range a.Completions {
			b = packed.AppendText(b, c)
		}
	}
	return b
}

// Decode reads an item. It takes memory in proportion to the data.
func Decode(data []byte) (Item, error) {
	if len(data) > maxItemBytes {
		return Item{}, fmt.Errorf("an item of %d bytes; accepted: at most %d", len(data), maxItemBytes)
	}
	r := packed.Reader{Data: data}
	if string(r.Take(len(itemMark))) != itemMark {
		return Item{}, errors.New("this is not an item of verdicts of this version of rlzero")
	}
	release := r.Text()
	i := Item{Engine: verify.Engine{Release: release, Verifier: r.Text(), Options: json.RawMessage(r.Text())}}
	for range r.Count(8) {
		a := Asked{Row: json.RawMessage(r.Text())}
		for range r.Count(4) {
			a.Completions = append(a.Completions, r.Text())
		}
		i.Asked = append(i.Asked, a)
	}
	return i, r.End()
}

// Release is the release of the engine that an encoded item asks; ok is false if it is
// another kind of item.
func Release(item []byte) (release string, ok bool) {
	r := packed.Reader{Data: item}
	if string(r.Take(len(itemMark))) != itemMark {
		return "", false
	}
	release = r.Text()
	return release, r.Err == nil
}

// Answered is the id of the item that an encoded answer names; ok is false if it is no
// answer.
func Answered(answer []byte) (id [sha256.Size]byte, ok bool) {
	r := packed.Reader{Data: answer}
	if string(r.Take(len(answerMark))) != answerMark {
		return id, false
	}
	copy(id[:], r.Take(len(id)))
	return id, r.Err == nil
}

// MaxAnswer is the size of the largest answer to the item, bytes.
func (i Item) MaxAnswer() int {
	return len(answerMark) + 2*sha256.Size + 4 + maxVerdictBytes*i.Len()
}

// Answer is the verdicts about the completions of an item in bytes.
func (i Item) Answer(verdicts []*verify.Verdict) []byte {
	id := sha256.Sum256(i.Encode())
	b := append([]byte(answerMark), id[:]...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(verdicts)))
	for _, v := range verdicts {
		if one := appendVerdict(nil, v); len(one) <= maxVerdictBytes {
			b = append(b, one...)
		} else {
			b = append(b, 0)
		}
	}
	return seal(b)
}

// seal adds the SHA-256 of all before it.
func seal(b []byte) []byte {
	sum := sha256.Sum256(b)
	return append(b, sum[:]...)
}

func appendVerdict(b []byte, v *verify.Verdict) []byte {
	kind := 0
	if v != nil {
		kind = slices.Index(kinds, v.Verdict)
	}
	if kind <= 0 || sound(*v) != nil { // none, or one that is not scored
		return append(b, 0)
	}
	le := binary.LittleEndian
	b = le.AppendUint64(append(b, byte(kind)), math.Float64bits(v.Score))
	b = packed.AppendText(packed.AppendText(packed.AppendText(b, v.Reason), v.Extracted), v.Rule)
	b = le.AppendUint32(b, uint32(len(v.Values)))
	for _, name := range slices.Sorted(maps.Keys(v.Values)) {
		b = le.AppendUint64(packed.AppendText(b, name), math.Float64bits(v.Values[name]))
	}
	return b
}

// Read reads an answer to the item. Its size is bounded before it is decoded.
func (i Item) Read(answer []byte) ([]*verify.Verdict, error) {
	if most := i.MaxAnswer(); len(answer) > most {
		return nil, fmt.Errorf("it has %d bytes; accepted for this item: at most %d", len(answer), most)
	}
	_, ok := Answered(answer)
	const begin = len(answerMark) + sha256.Size
	body := len(answer) - sha256.Size
	if !ok || body < begin {
		return nil, packed.ErrShort
	}
	if sum := sha256.Sum256(answer[:body]); !bytes.Equal(sum[:], answer[body:]) {
		return nil, errors.New("the answer is damaged: its SHA-256 does not match")
	}
	r := packed.Reader{Data: answer[begin:body]}
	n := r.Count(1)
	if r.Err == nil && n != i.Len() {
		return nil, fmt.Errorf("it has %d verdicts; the item asks for %d", n, i.Len())
	}
	out := make([]*verify.Verdict, n)
	for k := range out {
		var err error
		if out[k], err = readVerdict(&r); err != nil {
			return nil, err
		}
	}
	return out, r.End()
}

// readVerdict reads one; nil: none is given.
func readVerdict(r *packed.Reader) (*verify.Verdict, error) {
	kind := r.Take(1)
	switch {
	case r.Err != nil:
		return nil, r.Err
	case kind[0] == 0:
		return nil, nil
	case int(kind[0]) >= len(kinds):
		return nil, fmt.Errorf("a verdict is of kind %d; accepted: 0 to %d", kind[0], len(kinds)-1)
	}
	v := &verify.Verdict{Verdict: kinds[kind[0]], Score: r.F64(), Reason: r.Text(), Extracted: r.Text(), Rule: r.Text()}
	for range r.Count(12) {
		if v.Values == nil {
			v.Values = map[string]float64{}
		}
		name := r.Text()
		v.Values[name] = r.F64()
	}
	if r.Err != nil {
		return nil, r.Err
	}
	return v, sound(*v)
}

// sound says why the files of a run cannot keep a verdict: they are JSON, which has numbers
// that are finite and texts of UTF-8 alone. It also holds the score against the kind.
func sound(v verify.Verdict) error {
	low, high := 0.0, 1.0
	switch v.Verdict {
	case verify.Right:
		low = 1
	case verify.Wrong:
		high = 0
	}
	if !(v.Score >= low && v.Score <= high) {
		return fmt.Errorf("a score of %v in a verdict %q; accepted: %v to %v", v.Score, v.Verdict, low, high)
	}
	for _, text := range []string{v.Reason, v.Extracted, v.Rule} {
		if !utf8.ValidString(text) {
			return fmt.Errorf("the text %q; accepted: UTF-8", text)
		}
	}
	for name, x := range v.Values {
		if !utf8.ValidString(name) || math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("the value %v of %q; accepted: finite numbers, names in UTF-8", x, name)
		}
	}
	return nil
}
