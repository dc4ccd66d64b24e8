package serve

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu/refdev"
)

type embedded struct {
	Data []struct {
		Index     int
		Embedding []float32
	}
	Usage   struct{ Prompt, Total int }
	Pooling string
	Layer   string
	Norm    bool `json:"normalized"`
}

func length(v []float32) (sum float64) {
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return math.Sqrt(sum)
}

// TestEmbeddings: a text has one vector, of length 1 and of the same bits alone, beside others, with a
// few rows a step and while the server answers; the last token's is that of no text before it, and the
// answer says how it was made.
func TestEmbeddings(t *testing.T) {
	long := strings.Repeat("abc ", 40)
	s := plain(t, nil)
	many := got[embedded](t, s, embeds, fmt.Sprintf(`{"input":["ab",%q,"b"]}`, long))
	if many.Pooling != poolMean || !many.Norm || !strings.HasPrefix(many.Layer, "last") || len(many.Data) != 3 {
		t.Fatalf("%+v", many)
	}
	one := got[embedded](t, s, embeds, fmt.Sprintf(`{"input":%q,"pooling":"mean"}`, long)).Data[0].Embedding
	if !slices.Equal(one, many.Data[1].Embedding) {
		t.Errorf("alone %v, beside others %v", one, many.Data[1].Embedding)
	}
	few := plain(t, func(o *Options) { o.Engine.StepRows, o.Engine.Draws, o.Engine.CacheToken = 16, 16, 512 })
	for i, d := range got[embedded](t, few, embeds, fmt.Sprintf(`{"input":["ab",%q,"b"]}`, long)).Data {
		if d.Index != i || !slices.Equal(d.Embedding, many.Data[i].Embedding) {
			t.Errorf("text %d in parts: %v, want %v", i, d.Embedding, many.Data[i].Embedding)
		}
		// float32 rounds each of 16 numbers by half a unit of its last place at most.
		if n := length(d.Embedding); math.Abs(n-1) > 16*0x1p-24 {
			t.Errorf("text %d has length %v", i, n)
		}
	}
	ask(t, s, "/v1/completions", fmt.Sprintf(`{"prompt":%q,"max_tokens":2}`, long)) // its pages are kept, and not read
	if again := got[embedded](t, s, embeds, fmt.Sprintf(`{"input":%q}`, long)).Data[0].Embedding; !slices.Equal(again, one) {
		t.Errorf("after a completion %v, want %v", again, one)
	}
	last := got[embedded](t, s, embeds, `{"input":["ab","b"],"pooling":"last"}`)
	if last.Pooling != poolLast || slices.Equal(last.Data[0].Embedding, many.Data[0].Embedding) {
		t.Errorf("%+v", last)
	}
	if !slices.Equal(last.Data[1].Embedding, many.Data[2].Embedding) {
		t.Error("the last of one token is not their mean")
	}
	packed := got[struct{ Data []struct{ Embedding string } }](t, s, embeds, `{"input":"b","encoding_format":"base64"}`)
	bytes, err := base64.StdEncoding.DecodeString(packed.Data[0].Embedding)
	v := make([]float32, len(bytes)/4)
	if _, wrong := binary.Decode(bytes, binary.LittleEndian, v); err != nil || wrong != nil || !slices.Equal(v, many.Data[2].Embedding) {
		t.Errorf("%v %v: %v, want %v", err, wrong, v, many.Data[2].Embedding)
	}
}

// TestIgnoreEOS: a completion that the model ends goes on, in the same tokens, and those that would
// have ended it are no text.
func TestIgnoreEOS(t *testing.T) {
	s := plain(t, nil)
	for seed := range 100 {
		body := fmt.Sprintf(`{"prompt":"a","max_tokens":100,"seed":%d,"return_token_ids":true`, seed)
		short := got[spoken](t, s, completions, body+"}").Choices[0]
		if short.Finish != "stop" {
			continue
		}
		long := got[spoken](t, s, completions, body+`,"ignore_eos":true}`).Choices[0]
		if long.Finish != "length" || len(long.IDs) != 100 || !slices.Equal(long.IDs[:len(short.IDs)], short.IDs) || strings.Contains(long.Text, "<|im_end|>") || !strings.HasPrefix(long.Text, short.Text) {
			t.Errorf("seed %d: %+v, without it %+v", seed, long, short)
		}
		return
	}
	t.Error("no completion comes to its end")
}

// TestEffort: the effort of a request reaches a template that reads it, in each format, in place of
// what the server was told.
func TestEffort(t *testing.T) {
	templates["thinks"] = `{% for m in messages %}{{ m.content or '' }}{% endfor %}{% if reasoning_effort %}!{{ reasoning_effort }}{% endif %}`
	defer delete(templates, "thinks")
	m := withTemplate(t, tiny(t, refdev.New()), "thinks")
	s := serving(t, m, func(o *Options) { o.Chat.Variables = map[string]any{"reasoning_effort": "high"} })
	for path, body := range map[string]string{
		talk:      `{"messages":[{"role":"user","content":"a"}],"max_tokens":1%s}`,
		responses: `{"input":"a","max_output_tokens":1%s}`,
		said:      `{"messages":[{"role":"user","content":"a"}],"max_tokens":1%s}`,
	} {
		key := map[string]string{talk: `,"reasoning_effort":"low"`, responses: `,"reasoning":{"effort":"low"}`, said: `,"output_config":{"effort":"low"}`}[path]
		for more, want := range map[string]int{"": len("a!high"), key: len("a!low")} {
			u := got[struct{ Usage map[string]any }](t, s, path, fmt.Sprintf(body, more)).Usage
			n := u["prompt_tokens"]
			if path != talk {
				n = u["input_tokens"]
			}
			if n != float64(want) {
				t.Errorf("%s%s: a prompt of %v tokens, want %d", path, more, n, want)
			}
		}
	}
}
