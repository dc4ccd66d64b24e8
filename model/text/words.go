package text

import (
	"fmt"

	"github.com/rlzero/rlzero/model/internal/jsonfile"
)

// wordLevel gives each word of a vocabulary its id.
type wordLevel struct {
	vocab   map[string]int
	unknown int // -1: an unknown word is an error
}

func (m wordLevel) appendIDs(out []int, word string) ([]int, error) {
	id, ok := m.vocab[word]
	if !ok {
		id = m.unknown
	}
	if id < 0 {
		return nil, fmt.Errorf("the tokenizer has no token for %q", word)
	}
	return append(out, id), nil
}

// The tokens that every vocabulary of NewWords begins with.
const (
	wordsPAD = "<pad>" // id 0
	wordsEOS = "<eos>" // id 1
)

// NewWords makes the tokenizer of a small model trained from scratch. A token's id
// is its index in vocab, which begins with "<pad>" and "<eos>". The other tokens are
// words: a run of decimal digits, or a single other visible character, so that
// "12+3=15" has five. White space separates words and is not kept: Decode joins
// without spaces. An unknown word is an error of Encode.
//
// It is stored as a tokenizer.json in the schema of the Rust library tokenizers.
func NewWords(vocab []string) (*Tokenizer, error) {
	if len(vocab) < 2 || vocab[0] != wordsPAD || vocab[1] != wordsEOS {
		return nil, fmt.Errorf("vocabulary: found a list that begins with %.40q, accepted: %q, %q", vocab[:min(2, len(vocab))], wordsPAD, wordsEOS)
	}
	ids := map[string]int{}
	for id, word := range vocab {
		spans, err := wordsSpans(word)
		if err != nil {
			return nil, err
		}
		if id > 1 && (len(spans) != 1 || !spans[0].match) {
			return nil, fmt.Errorf("vocabulary: token %d: found %q, accepted: decimal digits, or one other visible character", id, word)
		}
		if first, ok := ids[word]; ok {
			return nil, fmt.Errorf("vocabulary: token %d: %q is also token %d", id, word, first)
		}
		ids[word] = id
	}
	type object = map[string]any
	special := func(id int, content string) addedToken {
		return addedToken{ID: id, Content: content, Special: true}
	}
	data, err := jsonfile.Marshal(object{
		"version": "1.0", "truncation": nil, "padding": nil, "normalizer": nil, "post_processor": nil,
		"added_tokens": []addedToken{special(0, wordsPAD), special(1, wordsEOS)},
		"pre_tokenizer": object{"type": "Split", "pattern": object{"Regex": wordsPattern},
			"behavior": "Removed", "invert": true},
		"decoder": object{"type": "Fuse"},
		// The Rust library insists on an unk_token; as the vocabulary lacks it, an
		// unknown word is an error there too.
		"model": object{"type": "WordLevel", "vocab": ids, "unk_token": "<unk>"},
	})
	if err != nil {
		return nil, err
	}
	t, err := ParseTokenizer(data)
	if err != nil {
		return nil, err
	}
	t.files["tokenizer_config.json"], err = jsonfile.Marshal(object{
		"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": false,
		"pad_token": wordsPAD, "eos_token": wordsEOS,
	})
	return t, err
}
