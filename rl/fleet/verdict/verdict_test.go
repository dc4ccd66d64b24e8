package verdict

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rlzero/rlzero/internal/packed"
	"github.com/rlzero/rlzero/verify"
)

func init() {
	verify.Register(verify.Entry{Name: "test:length", New: func(raw json.RawMessage) (verify.Verifier, error) { return length{raw}, nil }})
	verify.Register(verify.Entry{Name: "test:absent", New: func(raw json.RawMessage) (verify.Verifier, error) { return absent{length{raw}}, nil }})
}

// length grades by the length of a completion; "late" is not settled, and "broken" breaks it.
type length struct{ raw json.RawMessage }

func (v length) Engine() (verify.Engine, error) {
	return verify.Engine{Verifier: "test:length", Options: v.raw, Release: "length 1"}, nil
}

func (v length) Verify(row verify.Problem, completion string) verify.Verdict {
	out, _ := v.Judge(row, completion)
	return out
}

func (v length) Judge(row verify.Problem, completion string) (verify.Verdict, bool) {
	if completion == "broken" {
		panic("broken")
	}
	out := verify.Accept(completion, row.ID, "%d bytes", len(completion))
	out.Verdict, out.Score, out.Values = verify.Graded, 1/float64(1+len(completion)), map[string]float64{"n": float64(len(completion)), "z": -0.5}
	return out, completion != "late"
}

// absent has no engine here.
type absent struct{ length }

func (absent) Engine() (verify.Engine, error) {
	return verify.Engine{}, errors.New("not on this system")
}

func itemOf(release, options string, completions ...string) Item {
	return Item{Engine: verify.Engine{Verifier: "test:length", Options: json.RawMessage(options), Release: release},
		Asked: []Asked{{json.RawMessage(`{"id":"a","question":""}`), completions}, {json.RawMessage(`{"id":"b","question":""}`), completions}}}
}

// TestItem: an item comes to what the verifier comes to, through its encoding and that of
// the answer, for any bytes; what is not settled is not answered, nor what is no text.
func TestItem(t *testing.T) {
	texts := []string{"", "a", "late", "\xff\x00<", "broken", strings.Repeat("x", 1000)}
	i, err := Decode(itemOf("length 1", "{}", texts...).Encode())
	if err != nil {
		t.Fatal(err)
	}
	if release, ok := Release(i.Encode()); !ok || release != "length 1" {
		t.Errorf("release %q, %t", release, ok)
	}
	answer := i.Answer(i.Judge(t.Context()))
	got, err := i.Read(answer)
	if err != nil || len(got) != 2*len(texts) {
		t.Fatalf("%d verdicts, %v", len(got), err)
	}
	for k, v := range got {
		row, text := verify.Problem{ID: "ab"[k/len(texts) : k/len(texts)+1]}, texts[k%len(texts)]
		if text == "late" || text == "broken" || !utf8.ValidString(text) {
			if v != nil {
				t.Errorf("%q: %+v", text, v)
			}
		} else if want := (length{}).Verify(row, text); v == nil || !v.Agrees(want) || v.Reason != want.Reason {
			t.Errorf("%q: %+v, want %+v", text, v, want)
		}
	}
	for name, other := range map[string]Item{
		"another release": itemOf("length 2", "{}", texts...),
		"not an engine":   {Engine: verify.Engine{Verifier: "exact", Options: json.RawMessage("{}")}, Asked: i.Asked},
		"no verifier":     {Engine: verify.Engine{Verifier: "nosuch"}, Asked: i.Asked},
		"no engine here":  {Engine: verify.Engine{Verifier: "test:absent", Release: "length 1"}, Asked: i.Asked},
	} {
		if n := slices.IndexFunc(other.Judge(t.Context()), func(v *verify.Verdict) bool { return v != nil }); n >= 0 {
			t.Errorf("%s has a verdict", name)
		}
	}
	releases, lacks := Engines()
	if releases["test:length"] != "length 1" || lacks["test:absent"] != "not on this system" || len(releases)+len(lacks) != 2 {
		t.Errorf("%v, %v", releases, lacks)
	}
}

// TestLongVerdicts: what is too long is not answered, so that the bound on answers holds.
func TestLongVerdicts(t *testing.T) {
	i := itemOf("length 1", "{}", "a")
	long := verify.Accept("", "", "%s", strings.Repeat("x", maxVerdictBytes))
	short := verify.Accept("", "", "%s", strings.Repeat("x", maxVerdictBytes-25)) // kind, score, three lengths, number of values
	got, err := i.Read(i.Answer([]*verify.Verdict{&long, &short}))
	if err != nil || got[0] != nil || got[1] == nil || len(i.Answer([]*verify.Verdict{&short, &short})) != i.MaxAnswer() {
		t.Errorf("%v, %v", got, err)
	}
}

// TestUnsound: a verdict that the files of a run could not keep, or whose score belies its
// kind, is not sent by this program, and malformed where another one sends it.
func TestUnsound(t *testing.T) {
	i := itemOf("length 1", "{}", "a")
	i.Asked = i.Asked[:1]
	for name, spoil := range map[string]func(v *verify.Verdict){
		"NaN":             func(v *verify.Verdict) { v.Values = map[string]float64{"q": math.NaN()} },
		"infinite":        func(v *verify.Verdict) { v.Values = map[string]float64{"q": math.Inf(-1)} },
		"no name":         func(v *verify.Verdict) { v.Values = map[string]float64{"\xff": 1} },
		"no text":         func(v *verify.Verdict) { v.Extracted = "\xff" },
		"no reason":       func(v *verify.Verdict) { v.Reason = "\xff" },
		"right with half": func(v *verify.Verdict) { v.Score = 0.5 },
		"wrong with one":  func(v *verify.Verdict) { v.Verdict = verify.Wrong },
		"score NaN":       func(v *verify.Verdict) { v.Verdict, v.Score = verify.Graded, math.NaN() },
	} {
		v := verify.Accept("x", "rule", "why")
		v.Values = map[string]float64{"q": 1}
		if got, err := i.Read(i.Answer([]*verify.Verdict{&v})); err != nil || got[0] == nil {
			t.Fatalf("a sound verdict: %v, %v", got, err)
		}
		spoil(&v)
		if got, err := i.Read(i.Answer([]*verify.Verdict{&v})); err != nil || got[0] != nil {
			t.Errorf("%s is sent: %v, %v", name, got, err)
		}
		id := i.Answer(nil)[len(answerMark):][:32]
		b := binary.LittleEndian.AppendUint32(append([]byte(answerMark), id...), 1)
		b = binary.LittleEndian.AppendUint64(append(b, byte(slices.Index(kinds, v.Verdict))), math.Float64bits(v.Score))
		b = packed.AppendText(packed.AppendText(packed.AppendText(b, v.Reason), v.Extracted), v.Rule)
		b = binary.LittleEndian.AppendUint32(b, 1)
		for name, x := range v.Values {
			b = binary.LittleEndian.AppendUint64(packed.AppendText(b, name), math.Float64bits(x))
		}
		if _, err := i.Read(seal(b)); err == nil || !strings.Contains(err.Error(), "accepted: ") {
			t.Errorf("%s is taken: %v", name, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(itemOf("length 1", "{}", "a", "").Encode())
	f.Fuzz(func(t *testing.T, data []byte) {
		i, err := Decode(data)
		if err == nil && !bytes.Equal(i.Encode(), data) {
			t.Error("an item has two encodings")
		}
	})
}

func FuzzRead(f *testing.F) {
	i := itemOf("length 1", "{}", "a", "late")
	f.Add(i.Answer(i.Judge(f.Context())))
	f.Fuzz(func(t *testing.T, body []byte) {
		// The digest after it is made right, or nothing would get past it.
		whole := append([]byte(nil), body...)
		if n := len(whole) - 32; n > 0 {
			whole = seal(whole[:n])
		}
		all, err := i.Read(whole)
		if err != nil {
			return
		}
		for _, v := range all {
			if v == nil {
				continue
			}
			if _, err := json.Marshal(v); err != nil || !(v.Score >= 0 && v.Score <= 1) {
				t.Errorf("%+v: %v", v, err)
			}
		}
		if again, err := i.Read(i.Answer(all)); err != nil || fmt.Sprint(len(again)) != fmt.Sprint(len(all)) {
			t.Errorf("%v", err)
		}
	})
}
