package grammar

import (
	"fmt"
	"testing"

	"github.com/rlzero/rlzero/internal/fixtures"
	"github.com/rlzero/rlzero/model/text"
)

// BenchmarkAllow is the time of a mask for the vocabulary of Llama 3, over the places of
// some texts: the second time that each is asked, and the first.
func BenchmarkAllow(b *testing.B) {
	tok, err := text.ReadFolder(fixtures.Dir(b, "tokenizers/llama3"))
	if err != nil {
		b.Fatal(err)
	}
	bytes := tok.TokenBytes()
	v := NewVocabulary(bytes)
	end, _ := tok.ID("<|eot_id|>")
	for name, schema := range map[string]string{
		"object":  `{"type":"object","properties":{"name":{"type":"string"},"tags":{"type":"array","items":{"type":"string"}},"size":{"type":"integer","minimum":0,"maximum":300},"kind":{"enum":["small","large"]},"next":{"anyOf":[{"$ref":"#"},{"type":"null"}]}},"required":["name","tags","size","kind","next"],"additionalProperties":false}`,
		"any":     `{"type":"object"}`,
		"pattern": `{"type":"string","pattern":"^[A-Z][a-z]+(, [A-Z][a-z]+)*$"}`,
	} {
		texts := map[string]string{
			"object":  `{"name": "A \"long\" name — with all sorts", "tags": ["one", "two", "drei"], "size": 299, "kind": "small", "next": {"name":"x","tags":[],"size":0,"kind":"large","next":null}}`,
			"any":     `{"a": {"b": [1, 2.5, {"c": "text, and more", "d": [[[[{"e": null}]]]]}], "f": true}}`,
			"pattern": `"London, Paris, Berlin"`,
		}
		ids, err := tok.Encode(texts[name])
		if err != nil {
			b.Fatal(err)
		}
		set := make([]uint32, v.words())
		pass := func(b *testing.B, g *Grammar) {
			s := g.Start()
			for i, id := range ids {
				if err := s.Allow(set); err != nil {
					b.Fatal(err)
				}
				if set[id/32]>>(id%32)&1 == 0 {
					b.Fatalf("%s: token %d, %q, is not allowed", name, i, bytes[id])
				}
				s = s.Next(id)
			}
		}
		for _, warm := range []bool{true, false} {
			b.Run(fmt.Sprintf("%s/warm=%v", name, warm), func(b *testing.B) {
				g, err := New(v, []int{end}, JSON([]byte(schema)))
				if err != nil {
					b.Fatal(err)
				}
				pass(b, g)
				b.ResetTimer()
				for range b.N {
					if !warm {
						g.forget()
					}
					pass(b, g)
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(ids)), "us/mask")
			})
		}
	}
}
