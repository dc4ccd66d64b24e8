package text

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dlclark/regexp2/v2"

	"github.com/rlzero/rlzero/internal/fixtures"
)

// TestTokenizers compares ids and decoded text with those of the Rust library.
func TestTokenizers(t *testing.T) {
	matched, failed := 0, 0
	for _, file := range glob(t, fixtures.Dir(t, "tokenizers"), "*/expected.json") {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			m, f := compareTokenizer(t, file)
			matched, failed = matched+m, failed+f
		})
	}
	fixtures.Report(t, "tokenizers", matched, failed, 0)
}

func compareTokenizer(t *testing.T, expected string) (matched, failed int) {
	path := filepath.Join(filepath.Dir(expected), "tokenizer.json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	tok, err := ParseTokenizer(data)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	var cases []struct {
		Text    string
		IDs     []int
		Decoded string
	}
	readJSON(t, expected, &cases)
	for _, c := range cases {
		ids, err := tok.Encode(c.Text)
		decoded := tok.Decode(c.IDs)
		if err == nil && slices.Equal(ids, c.IDs) && decoded == c.Decoded {
			matched++
			continue
		}
		if failed++; failed <= 5 {
			t.Errorf("%q: got %v, %q, %v; want %v, %q", c.Text, ids, decoded, err, c.IDs, c.Decoded)
		}
	}
	return matched, failed
}

func glob(t testing.TB, dir, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func readJSON(t testing.TB, path string, v any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// bytesTokenizer is a byte-level BPE: ids 0 to 255 are the bytes, then come the
// merges, then the added tokens. parts replaces or adds parts of the file.
func bytesTokenizer(t testing.TB, merges [][2]string, parts map[string]any) *Tokenizer {
	t.Helper()
	vocab := map[string]int{}
	for b, r := range byteAlphabet {
		vocab[string(r)] = b
	}
	for _, m := range merges {
		if _, ok := vocab[m[0]+m[1]]; !ok {
			vocab[m[0]+m[1]] = len(vocab)
		}
	}
	file := map[string]any{
		"pre_tokenizer": map[string]any{"type": "ByteLevel", "add_prefix_space": false},
		"decoder":       map[string]any{"type": "ByteLevel"},
		"model":         map[string]any{"type": "BPE", "vocab": vocab, "merges": merges},
	}
	for key, part := range parts {
		file[key] = part
	}
	data, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	tok, err := ParseTokenizer(data)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// tokensOf is an encoded text as the tokens' strings, with | between them.
func tokensOf(t testing.TB, tok *Tokenizer, text string) string {
	t.Helper()
	ids, err := tok.Encode(text)
	if err != nil {
		t.Errorf("%q: %v", text, err)
	}
	var tokens []string
	for _, id := range ids {
		tokens = append(tokens, tok.tokens[id])
	}
	return strings.Join(tokens, "|")
}

// Merges go by rank, then from the left, whatever the length.
func TestMergeOrder(t *testing.T) {
	tok := bytesTokenizer(t, [][2]string{{"b", "c"}, {"a", "b"}, {"a", "a"}, {"aa", "aa"}, {"bc", "d"}}, nil)
	for text, want := range map[string]string{
		"abc":     "a|bc",
		"ab":      "ab",
		"aaa":     "aa|a",
		"aaaaaaa": "aaaa|aa|a",
		"abcd":    "a|bcd",
		"aab":     "a|ab",
		"":        "",
	} {
		if got := tokensOf(t, tok, text); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
	long := strings.Repeat("a", 1<<17) // one word: quadratic merging would not end
	if got, want := tokensOf(t, tok, long), strings.TrimSuffix(strings.Repeat("aaaa|", 1<<15), "|"); got != want {
		t.Errorf("a word of %d bytes is merged wrongly", len(long))
	}
}

// ignore_merges: a word of the vocabulary is one token though no merge makes it.
func TestIgnoreMerges(t *testing.T) {
	for _, ignore := range []bool{false, true} {
		vocab := map[string]int{"a": 0, "b": 1, "é": 2, "Ġab": 3, "Ġ": 4}
		tok := bytesTokenizer(t, nil, map[string]any{"model": map[string]any{
			"type": "BPE", "vocab": vocab, "merges": []string{}, "ignore_merges": ignore}})
		want := map[bool]string{false: "b|Ġ|a|b", true: "b|Ġab"}[ignore]
		if got := tokensOf(t, tok, "b ab"); got != want {
			t.Errorf("ignore_merges %v: got %s, want %s", ignore, got, want)
		}
	}
}

// SmolLM2: digits one by one, then ByteLevel with its own pattern.
func TestDigitsThenByteLevel(t *testing.T) {
	sequence := func(individual bool) map[string]any {
		return map[string]any{"pre_tokenizer": map[string]any{"type": "Sequence", "pretokenizers": []any{
			map[string]any{"type": "Digits", "individual_digits": individual},
			map[string]any{"type": "ByteLevel", "add_prefix_space": false, "use_regex": true},
		}}}
	}
	merges := [][2]string{{"1", "2"}, {"Ġ", "1"}, {"a", "Ġ"}, {"Ġ", "Ġ"}}
	if got, want := tokensOf(t, bytesTokenizer(t, merges, sequence(true)), "a 12  1"), "a|Ġ|1|2|ĠĠ|1"; got != want {
		t.Errorf("individual: got %s, want %s", got, want)
	}
	if got, want := tokensOf(t, bytesTokenizer(t, merges, sequence(false)), "a 12  1"), "a|Ġ|12|ĠĠ|1"; got != want {
		t.Errorf("runs: got %s, want %s", got, want)
	}
	prefixed := map[string]any{"pre_tokenizer": map[string]any{"type": "ByteLevel", "add_prefix_space": true}}
	if got, want := tokensOf(t, bytesTokenizer(t, merges, prefixed), "12"), "Ġ|12"; got != want {
		t.Errorf("prefix space: got %s, want %s", got, want)
	}
}

// Added tokens are found in the raw text, the longest first; their flags take in
// white space or ask for a word of its own.
func TestAddedTokens(t *testing.T) {
	added := []addedToken{
		{ID: 300, Content: "<a>"}, {ID: 301, Content: "<a><b>", Special: true},
		{ID: 302, Content: "[L]", LStrip: true}, {ID: 303, Content: "[R]", RStrip: true},
		{ID: 304, Content: "word", SingleWord: true},
	}
	tok := bytesTokenizer(t, nil, map[string]any{"added_tokens": added})
	for text, want := range map[string]string{
		"x<a>y":        "x|<a>|y",
		"<a><b><a>":    "<a><b>|<a>",
		"<a":           "<|a",
		"x  [L] y":     "x|[L]|Ġ|y",
		"x [R] \ny":    "x|Ġ|[R]|y",
		"[R] [L]":      "[R]|[L]",
		"word words":   "word|Ġ|w|o|r|d|s",
		"(word) sword": "(|word|)|Ġ|s|w|o|r|d",
		"wordⅫ":        "w|o|r|d|â|ħ|«", // letters to Rust, and numbers to Unicode's categories
		"wordⓐ":        "w|o|r|d|â|ĵ|Ĳ",
		"\u200dword":   "â|Ģ|į|w|o|r|d",
		"word½":        "word|Â|½",
	} {
		if got := tokensOf(t, tok, text); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
	spaced := bytesTokenizer(t, nil, map[string]any{"added_tokens": append(slices.Clone(added), addedToken{ID: 305, Content: " of"}, addedToken{ID: 306, Content: " [M]", LStrip: true}, addedToken{ID: 307, Content: "  "}, addedToken{ID: 308, Content: " on", Normalized: true})})
	for text, want := range map[string]string{ // as the library has them
		"[R] of x":  "[R]| of|Ġ|x",
		"[R]  of x": "[R]|  |o|f|Ġ|x",
		"[R]  [M]x": "[R]|  |[|M|]|x",
		"[R]   x":   "[R]|  |Ġ|x",  // the last space of three again
		"[R] on on": "[R]|o|n| on", // what is normalised is looked for in what is left
	} {
		if got := tokensOf(t, spaced, text); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
	if !tok.Special(301) || tok.Special(300) || tok.Vocab() != 305 {
		t.Errorf("special or size is wrong: %v %v %d", tok.Special(301), tok.Special(300), tok.Vocab())
	}
	if id, ok := tok.ID("<a>"); id != 300 || !ok {
		t.Errorf("ID gives %d, %v", id, ok)
	}
	if got := tok.Decode([]int{'h', 299, 301, -1, 9999}); got != "h<a><b>" {
		t.Errorf("ids without a token: decoded %q", got)
	}
}

// TestSplitScanners holds the scanners written by hand against the regular
// expressions they stand for.
func TestSplitScanners(t *testing.T) {
	texts := []string{"", "I'm HE'LL 'S'ſ 'rE 'X", "  \n\n  x  ", "a\r\n\tb \r\n", "1234567 ½²Ⅷ ٣٤", "x!?...\n\n y", "é\u0301 中文\u3000\u0085\u1680z",
		"\u2028 \u2029\n", "'", "' s", " 's", "_a_b", "\U0001F600x\u200d", "12+3=15 \u00a0 7"}
	for _, expr := range []string{gpt2Pattern, llamaPattern, qwenPattern, wordsPattern} {
		for _, text := range texts {
			compareScanner(t, expr, text)
		}
	}
}

func compareScanner(t *testing.T, expr, text string) {
	t.Helper()
	cut, err := compilePattern(expr)
	if err != nil {
		t.Fatal(err)
	}
	got, err := cut(text)
	if err != nil {
		t.Fatal(err)
	}
	want, err := regexpSpans(regexp2.MustCompile(expr, regexp2.None), text)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s on %q:\n got %+v\nwant %+v", expr, text, got, want)
	}
}

// A pattern that no scanner stands for is compiled.
func TestUnknownPattern(t *testing.T) {
	for behavior, want := range map[string]string{"Isolated": "ab|-|-|c", "Removed": "ab|c", "MergedWithPrevious": "ab-|-|c"} {
		tok := bytesTokenizer(t, [][2]string{{"a", "b"}, {"ab", "-"}, {"-", "c"}}, map[string]any{
			"pre_tokenizer": map[string]any{"type": "Sequence", "pretokenizers": []any{
				map[string]any{"type": "Split", "pattern": map[string]any{"Regex": `-(?=[-\p{L}])`}, "behavior": behavior, "invert": false},
				map[string]any{"type": "ByteLevel", "use_regex": false, "add_prefix_space": false},
			}}})
		if got := tokensOf(t, tok, "ab--c"); got != want {
			t.Errorf("%s: got %s, want %s", behavior, got, want)
		}
	}
}

// The kind of Llama 2 and Gemma: characters, with bytes for unknown ones.
func TestByteFallback(t *testing.T) {
	vocab := map[string]int{"<unk>": 0, "▁": 1, "a": 2, "▁a": 3, "<0xC3>": 4, "<0xA9>": 5}
	data, err := json.Marshal(map[string]any{
		"normalizer": map[string]any{"type": "Sequence", "normalizers": []any{
			map[string]any{"type": "Prepend", "prepend": "▁"},
			map[string]any{"type": "Replace", "pattern": map[string]any{"String": " "}, "content": "▁"}}},
		"decoder": map[string]any{"type": "Sequence", "decoders": []any{
			map[string]any{"type": "Replace", "pattern": map[string]any{"String": "▁"}, "content": " "},
			map[string]any{"type": "ByteFallback"}, map[string]any{"type": "Fuse"},
			map[string]any{"type": "Strip", "content": " ", "start": 1, "stop": 0}}},
		"model": map[string]any{"type": "BPE", "vocab": vocab, "merges": []string{"▁ a"},
			"unk_token": "<unk>", "fuse_unk": true, "byte_fallback": true},
	})
	if err != nil {
		t.Fatal(err)
	}
	tok, err := ParseTokenizer(data)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := tokensOf(t, tok, "a é中国 a"), "▁a|▁|<0xC3>|<0xA9>|<unk>|▁a"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := tok.Decode([]int{3, 4, 5, 1, 4, 4, 2}), "aé \uFFFD\uFFFDa"; got != want {
		t.Errorf("decoded %q, want %q", got, want)
	}
}

// One U+FFFD for each maximal part of a broken character: table 3-8 of the Unicode
// standard 15.0, and a character cut off at the end.
func TestLossyUTF8(t *testing.T) {
	for in, want := range map[string]string{
		"\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41": "????????A",
		"\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41": "????????A",
		"\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42": "?????A??B",
		"\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41": "????A",
		"a\xF0\x9F\x98":                        "a?",
		"é\uFFFD":                              "é?",
	} {
		if got := lossyUTF8([]byte(in)); got != strings.ReplaceAll(want, "?", "\uFFFD") {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestTokenizerRefused(t *testing.T) {
	for _, c := range []struct{ data, want string }{
		{"", "not a tokenizer.json"},
		{"{}", "model: missing"},
		{`{"model": {"type": "Unigram", "vocab": null}}`, `model: found type "Unigram"`},
		{`{"model": {"type": "BPE", "vocab": {}, "merges": []}}`, "the vocabulary is empty"},
		{`{"model": {"type": "BPE", "vocab": {"a": 99999999}, "merges": []}}`, "found id 99999999"},
		{`{"model": {"type": "BPE", "vocab": {"a": 0, "b": 0}, "merges": []}}`, `tokens "a" and "b" have the same id 0`},
		{`{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]}}`, "merges: entry 0"},
		{`{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a"]}}`, "merges: entry 0"},
		{`{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": 1}}`, "merges"},
		{`{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": [], "dropout": 0.1}}`, "dropout"},
		{`{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": [], "end_of_word_suffix": "</w>"}}`, "end_of_word_suffix"},
		{`{"normalizer": {"type": "Lowercase"}}`, `normalizer: found type "Lowercase"`},
		{`{"normalizer": 1}`, "normalizer"},
		{`{"pre_tokenizer": {"type": "Metaspace"}}`, `pre_tokenizer: found type "Metaspace"`},
		{`{"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "("}, "behavior": "Isolated"}}`, `pattern "("`},
		{`{"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "a"}, "behavior": "Contiguous"}}`, `behavior "Contiguous"`},
		{`{"pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "ByteLevel"}, {"type": "Digits"}]}}`, "ByteLevel as the last one"},
		{`{"decoder": {"type": "WordPiece"}}`, `decoder: found type "WordPiece"`},
		{`{"added_tokens": [{"id": 1, "content": ""}], "model": {"type": "WordLevel", "vocab": {"a": 0}}}`, "empty token with id 1"},
		{`{"added_tokens": [{"id": 1, "content": "a"}], "model": {"type": "WordLevel", "vocab": {"a": 0}}}`, `"a": found id 1`},
		{`{"added_tokens": [{"id": -1, "content": "b"}], "model": {"type": "WordLevel", "vocab": {"a": 0}}}`, "found id -1"},
	} {
		if _, err := ParseTokenizer([]byte(c.data)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.data, err, c.want)
		}
	}
}

func TestWords(t *testing.T) {
	words := []string{"<pad>", "<eos>", "+", "=", "0", "1", "15", "é"}
	tok, err := NewWords(words)
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseTokenizer(tok.files["tokenizer.json"])
	if err != nil {
		t.Fatal(err)
	}
	for _, tok := range []*Tokenizer{tok, again} {
		ids, err := tok.Encode(" 15+0\n=\t15<eos>é")
		if want := []int{6, 2, 4, 3, 6, 1, 7}; err != nil || !slices.Equal(ids, want) {
			t.Errorf("got %v, %v, want %v", ids, err, want)
		}
		if got, want := tok.Decode(ids), "15+0=15<eos>é"; got != want {
			t.Errorf("decoded %q, want %q", got, want)
		}
		if tok.Vocab() != len(words) || !tok.Special(0) || !tok.Special(1) || tok.Special(2) {
			t.Errorf("%d ids, want %d; or special tokens wrong", tok.Vocab(), len(words))
		}
		for text, want := range map[string]string{"1+2": `no token for "2"`, "151": `no token for "151"`, "\xff": "UTF-8"} {
			if _, err := tok.Encode(text); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: got %v, want %q", text, err, want)
			}
		}
	}
	for _, c := range []struct {
		words []string
		want  string
	}{
		{nil, "accepted: \"<pad>\", \"<eos>\""}, {[]string{"<eos>", "<pad>"}, "begins with"},
		{[]string{wordsPAD, wordsEOS, "a", "a"}, `token 3: "a" is also token 2`},
		{[]string{wordsPAD, wordsEOS, ""}, "token 2"}, {[]string{wordsPAD, wordsEOS, "ab"}, `found "ab"`},
		{[]string{wordsPAD, wordsEOS, " "}, `found " "`}, {[]string{wordsPAD, wordsEOS, "1 "}, `found "1 "`},
	} {
		if _, err := NewWords(c.words); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %q", c.words, err, c.want)
		}
	}
}

// FuzzTokenizerFile: no bytes make the reader panic, nor the tokenizer it made.
func FuzzTokenizerFile(f *testing.F) {
	tok, err := NewWords([]string{wordsPAD, wordsEOS, "1", "+"})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(tok.files["tokenizer.json"], "1+1")
	f.Add([]byte(`{"pre_tokenizer":{"type":"ByteLevel"},"decoder":{"type":"ByteLevel"},"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]}}`), "ab")
	f.Add([]byte(`{"model":{"type":"BPE","vocab":{"<0x41>":0,"<unk>":1},"merges":[],"byte_fallback":true,"unk_token":"<unk>"}}`), "A中")
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		tok, err := ParseTokenizer(data)
		if err != nil {
			return
		}
		ids, err := tok.Encode(text)
		if err != nil {
			return
		}
		for _, id := range ids {
			if id < 0 || id >= tok.Vocab() {
				t.Errorf("id %d of %d", id, tok.Vocab())
			}
		}
		if !utf8.ValidString(tok.Decode(ids)) {
			t.Errorf("decoded text is not valid UTF-8")
		}
	})
}

// FuzzEncode: byte-level tokens give back the text, and the scanners agree with
// the patterns they stand for.
func FuzzEncode(f *testing.F) {
	for _, s := range []string{"hello world's  12345\r\n\n x", "'ſ'Ll \u3000\u0085é", strings.Repeat("ab", 50), "\xff"} {
		f.Add(s)
	}
	tok := bytesTokenizer(f, [][2]string{{"a", "b"}, {"ab", "ab"}, {"Ġ", "a"}, {"l", "l"}}, nil)
	f.Fuzz(func(t *testing.T, text string) {
		ids, err := tok.Encode(text)
		if utf8.ValidString(text) != (err == nil) {
			t.Fatalf("%q: %v", text, err)
		}
		if err != nil {
			return
		}
		if got := tok.Decode(ids); got != text {
			t.Errorf("%q came back as %q", text, got)
		}
		for _, expr := range []string{gpt2Pattern, llamaPattern, qwenPattern, wordsPattern} {
			compareScanner(t, expr, text)
		}
	})
}

// BenchmarkEncode measures each reference tokenizer on its own test strings.
func BenchmarkEncode(b *testing.B) {
	for _, file := range glob(b, fixtures.Dir(b, "tokenizers"), "*/expected.json") {
		data, err := os.ReadFile(filepath.Join(filepath.Dir(file), "tokenizer.json"))
		if err != nil {
			b.Fatal(err)
		}
		tok, err := ParseTokenizer(data)
		if err != nil {
			b.Fatal(err)
		}
		var cases []struct{ Text string }
		readJSON(b, file, &cases)
		var all strings.Builder
		for _, c := range cases {
			fmt.Fprintln(&all, c.Text)
		}
		b.Run(filepath.Base(filepath.Dir(file)), func(b *testing.B) {
			b.SetBytes(int64(all.Len()))
			for b.Loop() {
				if _, err := tok.Encode(all.String()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
