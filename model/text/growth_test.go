package text

import (
	"fmt"
	"strings"
	"testing"

	unorm "golang.org/x/text/unicode/norm"
)

// TestGrowth: a tokenizer whose steps may multiply a text without end is refused when it is
// read, and those that real ones have are not.
func TestGrowth(t *testing.T) {
	replace := func(old, new string) string {
		return fmt.Sprintf(`{"type":"Replace","pattern":{"String":%q},"content":%q}`, old, new)
	}
	sequence := func(list string, steps ...string) string {
		return fmt.Sprintf(`{"type":"Sequence",%q:[%s]}`, list, strings.Join(steps, ","))
	}
	doubled := strings.Split(strings.Repeat(replace("a", "aa")+"\n", 40), "\n")[:40]
	prepended := strings.Split(strings.Repeat(`{"type":"Prepend","prepend":"`+strings.Repeat("x", 1000)+"\"}\n", 5), "\n")[:5]
	for _, c := range []struct{ name, normalizer, decoder, want string }{
		{"none", "null", "null", ""},
		{"llama 2", sequence("normalizers", `{"type":"Prepend","prepend":"▁"}`, replace(" ", "▁")), sequence("decoders", replace("▁", " "), `{"type":"ByteFallback"}`, `{"type":"Fuse"}`), ""},
		{"composed, then spaces", sequence("normalizers", `{"type":"NFKC"}`, replace(" ", "▁")), "null", ""},
		{"doubled 40 times", sequence("normalizers", doubled...), "null", "normalizer: after step 7 a text"},
		{"one long replacement", replace("a", strings.Repeat("b", 65)), "null", "normalizer: after step 1 a text of n bytes may have 65*n + 0 bytes"},
		{"long prefixes", sequence("normalizers", prepended...), "null", "normalizer: after step 5 a text"},
		{"a prefix that grows", sequence("normalizers", `{"type":"Prepend","prepend":"`+strings.Repeat("a", 100)+`"}`, replace("a", strings.Repeat("b", 60))), "null", "normalizer: after step 2 a text"},
		{"decoded", "null", sequence("decoders", doubled...), "decoder: after step 7 a text"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ParseTokenizer(fmt.Appendf(nil, `{"normalizer":%s,"decoder":%s,"model":{"type":"WordLevel","vocab":{"a":0},"unk_token":"a"}}`, c.normalizer, c.decoder))
			switch {
			case c.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "accepted: at most 64*n + 4096")):
				t.Errorf("got %v; want an error with %q and what is accepted", err, c.want)
			}
		})
	}
}

// TestFormGrowth: no character grows by more than the table says, alone or after another.
func TestFormGrowth(t *testing.T) {
	for form, most := range formGrowth {
		worst := 0.0
		for r := rune(1); r <= 0x10ffff; r++ {
			if r == 0xd800 {
				r = 0xe000
			}
			s := string(r)
			worst = max(worst, float64(len(form.String(s)))/float64(len(s)))
		}
		if worst > most {
			t.Errorf("form %d: a character grows %.3g times, the table says %v", form, worst, most)
		}
		if (form == unorm.NFKC || form == unorm.NFKD) && worst != most {
			t.Errorf("form %d: no character grows more than %.3g times, the table says %v", form, worst, most)
		}
	}
}
