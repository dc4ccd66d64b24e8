package text

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	unorm "golang.org/x/text/unicode/norm"

	"github.com/rlzero/rlzero/model/internal/jsonfile"
)

// The parts of a tokenizer.json, each an object with a "type". Meanings follow the
// Rust library: https://github.com/huggingface/tokenizers, tokenizers/src.

// splitter cuts a text into pieces and appends them to out.
type splitter func(out []string, text string) ([]string, error)

// decodeStep changes the strings that tokens stand for.
type decodeStep struct {
	do   func(tokens []string) []string
	each edit // what it does to each string, where that may make one longer
}

// tokenizerPart has the keys of all parts that we know.
type tokenizerPart struct {
	Type string `json:"type"`

	Normalizers   []json.RawMessage `json:"normalizers"`
	Pretokenizers []json.RawMessage `json:"pretokenizers"`
	Decoders      []json.RawMessage `json:"decoders"`

	Pattern struct {
		String *string
		Regex  *string
	} `json:"pattern"`
	Content string `json:"content"`

	Behavior         string `json:"behavior"`
	Invert           bool   `json:"invert"`
	IndividualDigits bool   `json:"individual_digits"`
	AddPrefixSpace   bool   `json:"add_prefix_space"`
	UseRegex         *bool  `json:"use_regex"` // true when absent

	Prepend     string `json:"prepend"`
	Start, Stop int
}

// parsePart reads a part; the type is "" for null and an absent key.
func parsePart(raw json.RawMessage) (tokenizerPart, error) {
	var p tokenizerPart
	if len(raw) == 0 || string(raw) == "null" {
		return p, nil
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return p, err
	}
	if p.Type == "" {
		return p, fmt.Errorf("found %s, accepted: an object with a type", jsonfile.Describe(raw))
	}
	return p, nil
}

func (p tokenizerPart) unknown(accepted string) error {
	return fmt.Errorf("found type %q, accepted: %s", p.Type, accepted)
}

// replacement is a Replace part: every occurrence of a fixed string.
func (p tokenizerPart) replacement() (edit, error) {
	if p.Pattern.String == nil || *p.Pattern.String == "" {
		return edit{}, fmt.Errorf("a part Replace needs a pattern of the form {\"String\": ...}")
	}
	return replacing(*p.Pattern.String, p.Content), nil
}

func parseNormalizer(raw json.RawMessage) ([]edit, error) {
	p, err := parsePart(raw)
	if err != nil {
		return nil, err
	}
	forms := map[string]unorm.Form{"NFC": unorm.NFC, "NFD": unorm.NFD, "NFKC": unorm.NFKC, "NFKD": unorm.NFKD}
	if form, ok := forms[p.Type]; ok {
		return []edit{normalForm(form)}, nil
	}
	switch p.Type {
	case "":
		return nil, nil
	case "Sequence":
		var all []edit
		for _, inner := range p.Normalizers {
			steps, err := parseNormalizer(inner)
			if err != nil {
				return nil, err
			}
			all = append(all, steps...)
		}
		return all, nil
	case "Replace":
		f, err := p.replacement()
		return []edit{f}, err
	case "Prepend":
		return []edit{prepending(p.Prepend)}, nil
	}
	return nil, p.unknown("NFC, NFD, NFKC, NFKD, Replace, Prepend, Sequence")
}

// parsePreTokenizer also reports whether the words are to be read byte by byte.
func parsePreTokenizer(raw json.RawMessage) (split []splitter, bytewise bool, err error) {
	p, err := parsePart(raw)
	if err != nil {
		return nil, false, err
	}
	switch p.Type {
	case "":
		return nil, false, nil
	case "Sequence":
		for _, inner := range p.Pretokenizers {
			if bytewise {
				return nil, false, fmt.Errorf("found a part after ByteLevel, accepted: ByteLevel as the last one")
			}
			var more []splitter
			if more, bytewise, err = parsePreTokenizer(inner); err != nil {
				return nil, false, err
			}
			split = append(split, more...)
		}
		return split, bytewise, nil
	case "ByteLevel":
		if p.AddPrefixSpace {
			split = append(split, prependSpace)
		}
		if p.UseRegex == nil || *p.UseRegex {
			split = append(split, isolate(scan(gpt2Word)))
		}
		return split, true, nil
	case "Digits":
		return []splitter{digits(p.IndividualDigits)}, false, nil
	case "Split":
		f, err := parseSplit(p)
		return []splitter{f}, false, err
	}
	return nil, false, p.unknown("ByteLevel, Digits, Split, Sequence")
}

func parseSplit(p tokenizerPart) (splitter, error) {
	var cut pattern
	switch {
	case p.Pattern.Regex != nil:
		var err error
		if cut, err = compilePattern(*p.Pattern.Regex); err != nil {
			return nil, err
		}
	case p.Pattern.String != nil && *p.Pattern.String != "":
		literal := *p.Pattern.String
		cut = func(text string) ([]span, error) { return literalSpans(literal, text), nil }
	default:
		return nil, fmt.Errorf("a part Split needs a pattern {\"Regex\": ...} or {\"String\": ...}")
	}
	switch p.Behavior {
	case "Isolated": // matches and what lies between them
		return isolate(cut), nil
	case "Removed": // what lies between matches; inverted: the matches
		return func(out []string, text string) ([]string, error) {
			spans, err := cut(text)
			for _, s := range spans {
				if s.match == p.Invert {
					out = append(out, s.text)
				}
			}
			return out, err
		}, nil
	case "MergedWithPrevious": // a match ends its piece
		return func(out []string, text string) ([]string, error) {
			spans, err := cut(text)
			open := false
			for _, s := range spans {
				if match := s.match != p.Invert; match && open {
					out[len(out)-1] += s.text
					open = false
				} else {
					out = append(out, s.text)
					open = !match
				}
			}
			return out, err
		}, nil
	}
	return nil, fmt.Errorf("a part Split: found behavior %q, accepted: Isolated, Removed, MergedWithPrevious", p.Behavior)
}

func isolate(cut pattern) splitter {
	return func(out []string, text string) ([]string, error) {
		spans, err := cut(text)
		for _, s := range spans {
			out = append(out, s.text)
		}
		return out, err
	}
}

func prependSpace(out []string, text string) ([]string, error) {
	if text != "" && text[0] != ' ' {
		text = " " + text
	}
	return append(out, text), nil
}

// digits separates numeric characters from the rest, and from each other.
func digits(individual bool) splitter {
	return func(out []string, text string) ([]string, error) {
		for text != "" {
			n := prefix(text, func(r rune) bool { return !unicode.IsNumber(r) })
			if n == 0 {
				if _, n = utf8.DecodeRuneInString(text); !individual {
					n = prefix(text, unicode.IsNumber)
				}
			}
			out = append(out, text[:n])
			text = text[n:]
		}
		return out, nil
	}
}

// decodesApart says whether a decoder has the text of ids after a whole character not
// depend on the ids before it: one that turns tokens into bytes and does nothing else.
func decodesApart(raw json.RawMessage) bool {
	p, err := parsePart(raw)
	if err != nil {
		return false
	}
	return p.Type == "ByteLevel" || p.Type == "Sequence" && len(p.Decoders) == 1 && decodesApart(p.Decoders[0])
}

// parseDecoder also returns what stands between the decoder's strings: without a
// decoder, tokens are joined by spaces.
func parseDecoder(raw json.RawMessage) (steps []decodeStep, separator string, err error) {
	p, err := parsePart(raw)
	if err != nil {
		return nil, "", err
	}
	switch p.Type {
	case "":
		return nil, " ", nil
	case "Sequence":
		for _, inner := range p.Decoders {
			more, _, err := parseDecoder(inner)
			if err != nil {
				return nil, "", err
			}
			steps = append(steps, more...)
		}
		return steps, "", nil
	case "ByteLevel":
		return []decodeStep{{do: decodeByteLevel}}, "", nil
	case "ByteFallback":
		return []decodeStep{{do: decodeByteFallback}}, "", nil
	case "Fuse":
		return []decodeStep{{do: func(tokens []string) []string { return []string{strings.Join(tokens, "")} }}}, "", nil
	case "Replace":
		f, err := p.replacement()
		return []decodeStep{{each(f.do), f}}, "", err
	case "Strip":
		return []decodeStep{{do: each(func(s string) string { return strip(s, p.Content, p.Start, p.Stop) })}}, "", nil
	}
	return nil, "", p.unknown("ByteLevel, ByteFallback, Fuse, Replace, Strip, Sequence")
}

func each(f func(string) string) func([]string) []string {
	return func(tokens []string) []string {
		for i, s := range tokens {
			tokens[i] = f(s)
		}
		return tokens
	}
}

// strip removes up to start copies of a string from the front of a text, and up to stop from
// its end.
func strip(s, cut string, start, stop int) string {
	for ; start > 0 && cut != "" && strings.HasPrefix(s, cut); start-- {
		s = s[len(cut):]
	}
	for ; stop > 0 && cut != "" && strings.HasSuffix(s, cut); stop-- {
		s = s[:len(s)-len(cut)]
	}
	return s
}

// decodeByteLevel turns characters of the byte alphabet into bytes; a token with
// any other character stands for itself.
func decodeByteLevel(tokens []string) []string {
	var few [64]byte // of a token or two, as a Stream has them decoded
	b := few[:0]
	for _, token := range tokens {
		if more, ok := appendAlphabet(b, token); ok {
			b = more
		} else {
			b = append(b, token...)
		}
	}
	return append(tokens[:0], lossyUTF8(b))
}

// decodeByteFallback turns runs of tokens such as <0xE2> into characters, and each
// byte of a run that is not valid UTF-8 into U+FFFD.
func decodeByteFallback(tokens []string) []string {
	var out []string
	var run []byte
	flush := func() {
		if utf8.Valid(run) {
			out = append(out, string(run))
		} else {
			out = append(out, strings.Repeat("\uFFFD", len(run)))
		}
		run = run[:0]
	}
	for _, token := range tokens {
		if b, ok := fallbackByte(token); ok {
			run = append(run, b)
			continue
		}
		flush()
		out = append(out, token)
	}
	flush()
	return out
}

func fallbackByte(token string) (byte, bool) {
	if len(token) != 6 || !strings.HasPrefix(token, "<0x") || token[5] != '>' {
		return 0, false
	}
	b, err := strconv.ParseUint(token[3:5], 16, 8)
	return byte(b), err == nil
}

// byteAlphabet gives each byte a visible character, as GPT-2 does: printable Latin-1
// characters stand for themselves, the others for U+0100 and up, in order.
// https://github.com/openai/gpt-2/blob/master/src/encoder.py, bytes_to_unicode.
var byteAlphabet = func() (alphabet [256]rune) {
	next := rune(256)
	for b := range alphabet {
		if r := rune(b); '!' <= r && r <= '~' || '¡' <= r && r <= '¬' || '®' <= r && r <= 'ÿ' {
			alphabet[b] = r
		} else {
			alphabet[b] = next
			next++
		}
	}
	return alphabet
}()

// alphabetByte is the byte of each character of the alphabet, -1 of others.
var alphabetByte = func() []int16 {
	bytes := slices.Repeat([]int16{-1}, int(slices.Max(byteAlphabet[:]))+1)
	for b, r := range byteAlphabet {
		bytes[r] = int16(b)
	}
	return bytes
}()

// alphabetBytes is the inverse of the alphabet; not ok if a character lies outside.
func alphabetBytes(token string) (string, bool) {
	b, ok := appendAlphabet(nil, token)
	return string(b), ok
}

func appendAlphabet(b []byte, token string) ([]byte, bool) {
	for _, r := range token {
		if int(r) >= len(alphabetByte) || alphabetByte[r] < 0 {
			return nil, false
		}
		b = append(b, byte(alphabetByte[r]))
	}
	return b, true
}

// lossyUTF8 replaces each maximal part of an invalid sequence by one U+FFFD, as
// Rust's String::from_utf8_lossy does (the Unicode standard, section 3.9, "U+FFFD
// Substitution of Maximal Subparts"); Go replaces each byte.
func lossyUTF8(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	var out bytes.Buffer
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			n = maximalSubpart(b)
		}
		out.WriteRune(r)
		b = b[n:]
	}
	return out.String()
}

// maximalSubpart is the length of the longest beginning of b that also begins some
// valid character, at least 1.
func maximalSubpart(b []byte) int {
	for n := min(3, len(b)); n > 1; n-- {
		// A cut-off character is incomplete to FullRune, a wrong one is complete.
		if !utf8.FullRune(b[:n]) {
			return n
		}
	}
	return 1
}
