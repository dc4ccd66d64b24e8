package text

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/rlzero/rlzero/model/gguf"
	"github.com/rlzero/rlzero/model/internal/jsonfile"
)

// scoredJSON makes a tokenizer.json of a SentencePiece vocabulary with scores: BPE whose
// merges are all pairs of tokens that make a token, the best score first, as transformers
// converts it.
// https://github.com/huggingface/transformers/blob/v4.57.1/src/transformers/convert_slow_tokenizer.py, generate_merges
func scoredJSON(m gguf.Metadata) ([]byte, error) {
	vocab, added, err := ggufVocab(m)
	if err != nil {
		return nil, err
	}
	for _, a := range added {
		if !a.Special { // such as Gemma's runs of spaces, which are merged too
			vocab[a.Content] = a.ID
		}
	}
	scores, ok := m.Get(ggufScores).([]float32)
	if tokens, _ := m.Texts(ggufTokens); !ok || len(scores) != len(tokens) {
		return nil, fmt.Errorf("%s: found %d scores; accepted: one for each of %d tokens", ggufScores, len(scores), len(tokens))
	}
	type object = map[string]any
	space := object{"type": "Replace", "pattern": object{"String": " "}, "content": "▁"}
	normalizers := []object{space}
	decoders := []object{{"type": "Replace", "pattern": object{"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}}
	if prefix, err := m.Flag("tokenizer.ggml.add_space_prefix"); err != nil {
		return nil, err
	} else if prefix || m.Get("tokenizer.ggml.add_space_prefix") == nil { // true is llama.cpp's default
		normalizers = []object{{"type": "Prepend", "prepend": "▁"}, space}
		decoders = append(decoders, object{"type": "Strip", "content": " ", "start": 1, "stop": 0})
	}
	var unknown any
	if id, there, err := m.Int(specialKeys["unk_token"]); err != nil {
		return nil, err
	} else if there {
		for _, a := range added {
			if a.ID == id { // the model needs it among its own
				vocab[a.Content], unknown = id, a.Content
			}
		}
	}
	merges := mergesOf(vocab, scores) // of which no special token is made
	placeAdded(vocab, added)
	return jsonfile.Marshal(object{
		"version": "1.0", "truncation": nil, "padding": nil, "added_tokens": added, "post_processor": nil, "pre_tokenizer": nil,
		"normalizer": object{"type": "Sequence", "normalizers": normalizers}, "decoder": object{"type": "Sequence", "decoders": decoders},
		"model": object{"type": "BPE", "dropout": nil, "unk_token": unknown, "continuing_subword_prefix": nil, "end_of_word_suffix": nil,
			"fuse_unk": true, "byte_fallback": true, "ignore_merges": false, "vocab": vocab, "merges": merges},
	})
}

// mergesOf lists the pairs of tokens that make a token.
func mergesOf(vocab map[string]int, scores []float32) [][2]string {
	type merge struct {
		pair  [2]string
		score float32
	}
	var all []merge
	for _, token := range slices.Sorted(maps.Keys(vocab)) {
		if _, isByte := fallbackByte(token); isByte {
			continue
		}
		_, first := utf8.DecodeRuneInString(token)
		for i := first; i < len(token); {
			left, right := token[:i], token[i:]
			_, isLeft := vocab[left]
			if _, isRight := vocab[right]; isLeft && isRight {
				all = append(all, merge{[2]string{left, right}, scores[vocab[token]]})
			}
			_, n := utf8.DecodeRuneInString(right)
			i += n
		}
	}
	slices.SortStableFunc(all, func(a, b merge) int {
		return cmp.Or(cmp.Compare(b.score, a.score),
			cmp.Compare(utf8.RuneCountInString(b.pair[0]), utf8.RuneCountInString(a.pair[0])),
			cmp.Compare(utf8.RuneCountInString(b.pair[1]), utf8.RuneCountInString(a.pair[1])),
			cmp.Compare(vocab[a.pair[0]], vocab[b.pair[0]]), cmp.Compare(vocab[a.pair[1]], vocab[b.pair[1]]))
	})
	pairs := make([][2]string, len(all))
	for i, m := range all {
		pairs[i] = m.pair
	}
	return pairs
}
