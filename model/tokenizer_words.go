package model

import (
	"fmt"
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

// The special tokens of NewWords and their ids.
const (
	wordsPAD, wordsPADToken = 0, "<pad>"
	wordsEOS, wordsEOSToken = 1, "<eos>"
)

// NewWords makes the tokenizer of a small model trained from scratch: each word has
// the id 2 + its index; "<pad>" is 0 and "<eos>" is 1. A word is a run of decimal
// digits or a single other visible character, so "12+3=15" has five. White space
// separates words and is not kept: Decode joins without spaces. An unknown word is
// an error of Encode.
//
// It is stored as a tokenizer.json that the Rust library tokenizers reads alike.
func NewWords(words []string) (*Tokenizer, error) {
	vocab := map[string]int{wordsPADToken: wordsPAD, wordsEOSToken: wordsEOS}
	for i, word := range words {
		spans, err := wordsSpans(word)
		if err != nil {
			return nil, err
		}
		if len(spans) != 1 || !spans[0].match {
			return nil, fmt.Errorf("word %d: found %q, accepted: decimal digits, or one other visible character", i, word)
		}
		if _, ok := vocab[word]; ok {
			return nil, fmt.Errorf("word %d: %q is there twice", i, word)
		}
		vocab[word] = len(vocab)
	}
	type object = map[string]any
	special := func(id int, content string) addedToken {
		return addedToken{ID: id, Content: content, Special: true}
	}
	data, err := indented(object{
		"version": "1.0", "truncation": nil, "padding": nil, "normalizer": nil, "post_processor": nil,
		"added_tokens": []addedToken{special(wordsPAD, wordsPADToken), special(wordsEOS, wordsEOSToken)},
		"pre_tokenizer": object{"type": "Split", "pattern": object{"Regex": wordsPattern},
			"behavior": "Removed", "invert": true},
		"decoder": object{"type": "Fuse"},
		// The Rust library insists on an unk_token; as the vocabulary lacks it, an
		// unknown word is an error there too.
		"model": object{"type": "WordLevel", "vocab": vocab, "unk_token": "<unk>"},
	})
	if err != nil {
		return nil, err
	}
	t, err := ParseTokenizer(data)
	if err != nil {
		return nil, err
	}
	t.files["tokenizer_config.json"], err = indented(object{
		"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": false,
		"pad_token": wordsPADToken, "eos_token": wordsEOSToken,
	})
	return t, err
}
