package text

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Tokenizer turns text into token ids and back as the Rust library tokenizers
// does with the same tokenizer.json:
//
//	text ─ added tokens cut out ─ normalise ─ split into words ─ model: BPE or whole words ─ ids
//
// No token is added before or after (add_special_tokens false). Safe for use
// by several goroutines.
type Tokenizer struct {
	added     []addedToken
	firstByte [256][]int // added tokens that begin with a byte, longest first
	normalise []edit
	split     []splitter // applied in turn, each to the pieces of the one before
	model     wordModel
	decode    []decodeStep
	separator string            // between the decoder's strings
	apart     bool              // see decodesApart
	ids       map[string]int    // by token, of model and added tokens
	tokens    []string          // by id; "" where there is none
	base      int               // ids of the model's own vocabulary are below it
	special   map[int]bool      // control tokens
	files     map[string][]byte // tokenizer.json and what lies beside it
}

type addedToken struct {
	ID         int    `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LStrip     bool   `json:"lstrip"`
	RStrip     bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"`
	Special    bool   `json:"special"`
}

// wordModel gives the ids of one word and appends them to out.
type wordModel interface {
	appendIDs(out []int, word string) ([]int, error)
}

// maxTokens bounds token ids; the largest vocabulary in use has 262,144.
const maxTokens = 1 << 22

// ParseTokenizer reads a tokenizer.json: byte-level BPE (GPT-2, Llama 3, Qwen,
// SmolLM), BPE with byte fallback (Gemma), and WordLevel. What it does not know it
// refuses by name.
func ParseTokenizer(data []byte) (*Tokenizer, error) {
	var file struct {
		AddedTokens  []addedToken    `json:"added_tokens"`
		Normalizer   json.RawMessage `json:"normalizer"`
		PreTokenizer json.RawMessage `json:"pre_tokenizer"`
		Decoder      json.RawMessage `json:"decoder"`
		Model        json.RawMessage `json:"model"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("not a tokenizer.json: %w", err)
	}
	t := &Tokenizer{files: map[string][]byte{tokenizerFile: data}, special: map[int]bool{}}
	var err error
	if t.normalise, err = parseNormalizer(file.Normalizer); err == nil {
		err = bounded(t.normalise)
	}
	if err != nil {
		return nil, fmt.Errorf("normalizer: %w", err)
	}
	var bytewise bool
	if t.split, bytewise, err = parsePreTokenizer(file.PreTokenizer); err != nil {
		return nil, fmt.Errorf("pre_tokenizer: %w", err)
	}
	if t.decode, t.separator, err = parseDecoder(file.Decoder); err == nil {
		err = boundedDecoder(t.decode)
	}
	if err != nil {
		return nil, fmt.Errorf("decoder: %w", err)
	}
	t.apart = decodesApart(file.Decoder)
	if t.model, t.ids, err = parseModel(file.Model, bytewise); err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	for _, id := range t.ids {
		t.base = max(t.base, id+1)
	}
	if err := t.setAdded(file.AddedTokens); err != nil {
		return nil, fmt.Errorf("added_tokens: %w", err)
	}
	return t, t.indexTokens()
}

func (t *Tokenizer) setAdded(added []addedToken) error {
	t.added = added
	ids := map[string]int{} // the model's own map must not learn the added tokens
	maps.Copy(ids, t.ids)
	t.ids = ids
	for i, a := range added {
		if a.Content == "" {
			return fmt.Errorf("found an empty token with id %d", a.ID)
		}
		if a.Normalized && len(t.normalise) > 0 {
			return fmt.Errorf("%q: normalized: found true, accepted: false (or a tokenizer without normalizer)", a.Content)
		}
		if id, ok := t.ids[a.Content]; ok && id != a.ID {
			return fmt.Errorf("%q: found id %d, the model's vocabulary says %d", a.Content, a.ID, id)
		}
		t.ids[a.Content] = a.ID
		if a.Special {
			t.special[a.ID] = true
		}
		t.firstByte[a.Content[0]] = append(t.firstByte[a.Content[0]], i)
	}
	for _, list := range t.firstByte {
		slices.SortStableFunc(list, func(i, j int) int { return len(added[j].Content) - len(added[i].Content) })
	}
	return nil
}

// indexTokens fills the table from id to token.
func (t *Tokenizer) indexTokens() error {
	largest := -1
	for token, id := range t.ids {
		if id < 0 || id >= maxTokens {
			return fmt.Errorf("token %q: found id %d, accepted: 0 to %d", token, id, maxTokens-1)
		}
		largest = max(largest, id)
	}
	if largest < 0 {
		return errors.New("model: the vocabulary is empty")
	}
	t.tokens = make([]string, largest+1)
	for token, id := range t.ids {
		if other := t.tokens[id]; other != "" {
			return fmt.Errorf("tokens %q and %q have the same id %d", min(token, other), max(token, other), id)
		}
		t.tokens[id] = token
	}
	return nil
}

// Base is the number of ids that the model's own vocabulary takes: the largest one
// plus 1. Added tokens may lie beyond it.
func (t *Tokenizer) Base() int { return t.base }

// Vocab is the number of ids: the largest one plus 1.
func (t *Tokenizer) Vocab() int { return len(t.tokens) }

// ID is the id of a token as it stands in tokenizer.json, such as "<|im_end|>".
func (t *Tokenizer) ID(token string) (int, bool) {
	id, ok := t.ids[token]
	return id, ok
}

// Token is the token of an id as it stands in the vocabulary; "" for none.
func (t *Tokenizer) Token(id int) string {
	if id < 0 || id >= len(t.tokens) {
		return ""
	}
	return t.tokens[id]
}

// Special reports whether an id is a special token: control, not text.
func (t *Tokenizer) Special(id int) bool { return t.special[id] }

// Encode returns the ids of a text. Added tokens are recognised in it, special
// ones too.
func (t *Tokenizer) Encode(text string) ([]int, error) { return t.EncodeBeside(text) }

// Range is the bytes From to To-1 of a text.
type Range struct{ From, To int }

// EncodeBeside is Encode, except that special tokens that begin in the given ranges are read as
// text, since others wrote it. It is an error if the text there cannot be written without them.
func (t *Tokenizer) EncodeBeside(text string, plain ...Range) ([]int, error) {
	if !utf8.ValidString(text) {
		return nil, errors.New("the text is not valid UTF-8")
	}
	return t.appendAdded(nil, text, 0, false, plain)
}

// appendAdded encodes the part of a text that begins at from. It looks for the added tokens that are
// normalised or for those that are not: those come first, and the others stand only between them.
func (t *Tokenizer) appendAdded(ids []int, text string, from int, normalized bool, plain []Range) ([]int, error) {
	beside := func(ids []int, begin, end int) ([]int, error) {
		if normalized {
			return t.appendBeside(ids, text[begin:end], plain)
		}
		return t.appendAdded(ids, text[begin:end], from+begin, true, plain)
	}
	var err error
	done := 0 // text before it is encoded
	for i := 0; i < len(text) && err == nil; {
		a, ok := t.addedAt(text, i, normalized)
		if ok && a.Special {
			ok = !slices.ContainsFunc(plain, func(r Range) bool { return r.From <= from+i && from+i < r.To })
		}
		if !ok {
			i++
			continue
		}
		end := i + len(a.Content)
		if a.SingleWord && (endsWithWord(text[:i]) || startsWithWord(text[end:])) {
			i = end
			continue
		}
		begin, stop := i, end
		i = end // an added token may begin with white space that the one before it takes in
		if a.LStrip {
			begin = max(done, len(strings.TrimRightFunc(text[:begin], unicode.IsSpace)))
		}
		if a.RStrip {
			stop = len(text) - len(strings.TrimLeftFunc(text[end:], unicode.IsSpace))
		}
		if done < begin {
			ids, err = beside(ids, done, begin)
		}
		if err == nil {
			ids = append(ids, a.ID)
		}
		done = stop
	}
	if err == nil {
		ids, err = beside(ids, done, len(text))
	}
	return ids, err
}

// appendBeside is appendText, and where parts of the text are plain an error if it comes to a
// special token: a vocabulary may have one among its words.
func (t *Tokenizer) appendBeside(ids []int, text string, plain []Range) ([]int, error) {
	n := len(ids)
	ids, err := t.appendText(ids, text)
	if err != nil || plain == nil {
		return ids, err
	}
	if at := slices.IndexFunc(ids[n:], t.Special); at >= 0 {
		return nil, fmt.Errorf("the text has %s, which this tokenizer knows only as a control token", t.Token(ids[n+at]))
	}
	return ids, nil
}

// addedAt finds the longest added token, normalised or not, that stands at a position.
func (t *Tokenizer) addedAt(text string, i int, normalized bool) (addedToken, bool) {
	for _, k := range t.firstByte[text[i]] {
		if t.added[k].Normalized == normalized && strings.HasPrefix(text[i:], t.added[k].Content) {
			return t.added[k], true
		}
	}
	return addedToken{}, false
}

// isWordRune is \w of Rust's regular expressions (https://www.unicode.org/reports/tr18/#Compatibility_Properties).
func isWordRune(r rune) bool {
	return unicode.In(r, unicode.Letter, unicode.Nl, unicode.Other_Alphabetic, unicode.Mark, unicode.Nd, unicode.Pc, unicode.Join_Control)
}

func endsWithWord(s string) bool {
	r, n := utf8.DecodeLastRuneInString(s)
	return n > 0 && isWordRune(r)
}

func startsWithWord(s string) bool {
	r, n := utf8.DecodeRuneInString(s)
	return n > 0 && isWordRune(r)
}

// appendText encodes text without added tokens.
func (t *Tokenizer) appendText(ids []int, text string) ([]int, error) {
	if text == "" {
		return ids, nil
	}
	words, err := t.words(text)
	if err != nil {
		return nil, err
	}
	for _, word := range words {
		if ids, err = t.model.appendIDs(ids, word); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// words cuts a text as encoding does.
func (t *Tokenizer) words(text string) ([]string, error) {
	for _, f := range t.normalise {
		text = f.do(text)
	}
	pieces := []string{text}
	for _, f := range t.split {
		var next []string
		for _, piece := range pieces {
			var err error
			if next, err = f(next, piece); err != nil {
				return nil, err
			}
		}
		pieces = next
	}
	return pieces, nil
}

// Decode returns the text of ids, special tokens included. Bytes that are not
// valid UTF-8 become U+FFFD; ids without a token are passed over.
func (t *Tokenizer) Decode(ids []int) string {
	parts := make([]string, 0, len(ids))
	for _, id := range ids {
		if id >= 0 && id < len(t.tokens) && t.tokens[id] != "" {
			parts = append(parts, t.tokens[id])
		}
	}
	for _, step := range t.decode {
		parts = step.do(parts)
	}
	return strings.Join(parts, t.separator)
}
