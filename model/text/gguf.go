package text

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/model/gguf"
	"github.com/rlzero/rlzero/model/internal/jsonfile"
)

// Metadata keys of a tokenizer.
// https://github.com/ggml-org/ggml/blob/master/docs/gguf.md#tokenizer
const (
	ggufModel    = "tokenizer.ggml.model"
	ggufPre      = "tokenizer.ggml.pre"
	ggufTokens   = "tokenizer.ggml.tokens"
	ggufTypes    = "tokenizer.ggml.token_type"
	ggufScores   = "tokenizer.ggml.scores"
	ggufMerges   = "tokenizer.ggml.merges"
	ggufAddBOS   = "tokenizer.ggml.add_bos_token"
	ggufTemplate = "tokenizer.chat_template"
	ggufJSON     = "tokenizer.huggingface.json" // tokenizer.json as it is
)

// Values of tokenizer.ggml.model.
const (
	ggufBytes = "gpt2"     // byte-level BPE
	ggufSPM   = "llama"    // SentencePiece with scores
	ggufNone  = "no_vocab" // llama.cpp: the model has no tokenizer
)

// Types of tokens (llama.h: llama_token_type).
const (
	tokenNormal      = 1
	tokenUnknown     = 2
	tokenControl     = 3
	tokenUserDefined = 4
	tokenUnused      = 5
	tokenByte        = 6
)

// preTokenizer is what a value of tokenizer.ggml.pre stands for
// (https://github.com/ggml-org/llama.cpp/blob/master/src/llama-vocab.cpp, load).
type preTokenizer struct {
	normalizer, split string // of tokenizer.json
	ignoreMerges      bool   // a word that is a token is not merged
	aliases           []string
}

func quoted(text string) string {
	out, _ := json.Marshal(text) // a string always has a JSON form
	return string(out)
}

func splitBy(pattern string) string {
	return `{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":` + quoted(pattern) + `},"behavior":"Isolated","invert":false},` +
		`{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":false}]}`
}

const byteLevel = `{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true}`

// preTokenizers has a row for each value of tokenizer.ggml.pre that is known.
var preTokenizers = map[string]preTokenizer{
	"gpt-2":     {"null", byteLevel, false, nil},
	"smollm":    {"null", `{"type":"Sequence","pretokenizers":[{"type":"Digits","individual_digits":true},` + byteLevel + `]}`, false, nil},
	"llama-bpe": {"null", splitBy(llamaPattern), true, []string{"llama3", "llama-v3"}},
	"qwen2":     {`{"type":"NFC"}`, splitBy(qwenPattern), false, []string{"deepseek-r1-qwen"}},
}

// ReadGGUF reads the tokenizer that the metadata of a GGUF file describes: the
// tokenizer.json that it holds, or one made from its tokens and merges. The result is nil
// if the file has no tokenizer.
func ReadGGUF(m gguf.Metadata) (*Tokenizer, error) {
	whole, err := m.Text(ggufJSON)
	if err != nil {
		return nil, err
	}
	data := []byte(whole)
	if whole == "" {
		if data, err = madeJSON(m); err != nil || data == nil {
			return nil, err
		}
	}
	t, err := ParseTokenizer(data)
	if err != nil {
		return nil, fmt.Errorf("the tokenizer of the metadata: %w", err)
	}
	config, err := configOf(m, t)
	if err != nil {
		return nil, err
	}
	t.files[configFile], err = jsonfile.Marshal(config)
	return t, err
}

// madeJSON makes a tokenizer.json of the keys that all programs write; nil if the file has
// no tokenizer.
func madeJSON(m gguf.Metadata) ([]byte, error) {
	kind, err := m.Text(ggufModel)
	if err != nil {
		return nil, err
	}
	switch kind {
	case "", ggufNone, "none":
		return nil, nil
	case ggufBytes:
		return tokenizerJSON(m)
	case ggufSPM:
		return scoredJSON(m)
	}
	return nil, fmt.Errorf("%s: found %q; accepted: %s (byte-level BPE), %s (SentencePiece with scores), or a file with %s", ggufModel, kind, ggufBytes, ggufSPM, ggufJSON)
}

// tokenizerJSON makes a tokenizer.json from tokens, their types and merges.
func tokenizerJSON(m gguf.Metadata) ([]byte, error) {
	name, err := m.Text(ggufPre)
	if err != nil {
		return nil, err
	}
	pre, ok := preTokenizers[name]
	for _, row := range preTokenizers {
		if slices.Contains(row.aliases, name) {
			pre, ok = row, true
		}
	}
	if !ok {
		return nil, fmt.Errorf("%s: found %q; accepted: %s, or a file with %s", ggufPre, name, strings.Join(slices.Sorted(maps.Keys(preTokenizers)), ", "), ggufJSON)
	}
	merges, err := m.Texts(ggufMerges)
	if err != nil {
		return nil, err
	}
	vocab, added, err := ggufVocab(m)
	if err != nil {
		return nil, err
	}
	if merges == nil {
		merges = []string{}
	}
	placeAdded(vocab, added)
	return jsonfile.Marshal(map[string]any{
		"version": "1.0", "truncation": nil, "padding": nil, "added_tokens": added, "post_processor": nil,
		"normalizer": json.RawMessage(pre.normalizer), "pre_tokenizer": json.RawMessage(pre.split), "decoder": json.RawMessage(byteLevel),
		"model": map[string]any{"type": "BPE", "dropout": nil, "unk_token": nil, "continuing_subword_prefix": nil, "end_of_word_suffix": nil,
			"fuse_unk": false, "byte_fallback": false, "ignore_merges": pre.ignoreMerges, "vocab": vocab, "merges": merges},
	})
}

// ggufVocab reads the tokens: those of the model, and those that are cut out of the text
// before.
func ggufVocab(m gguf.Metadata) (vocab map[string]int, added []addedToken, err error) {
	tokens, err := m.Texts(ggufTokens)
	if err != nil {
		return nil, nil, err
	}
	types, err := m.Ints(ggufTypes)
	if err != nil {
		return nil, nil, err
	}
	if len(tokens) == 0 || types != nil && len(types) != len(tokens) {
		return nil, nil, fmt.Errorf("%s has %d tokens and %s %d types; accepted: as many types as tokens", ggufTokens, len(tokens), ggufTypes, len(types))
	}
	vocab, added = map[string]int{}, []addedToken{}
	for id, token := range tokens {
		kind := tokenNormal
		if types != nil {
			kind = types[id]
		}
		switch kind {
		case tokenUnused:
		case tokenControl, tokenUserDefined, tokenUnknown:
			added = append(added, addedToken{ID: id, Content: token, Special: kind != tokenUserDefined})
		default:
			if other, there := vocab[token]; there {
				return nil, nil, fmt.Errorf("%s: %q is token %d and token %d", ggufTokens, token, other, id)
			}
			vocab[token] = id
		}
	}
	return vocab, added, nil
}

// placeAdded puts the added tokens into the vocabulary where libraries would give them other ids: those that
// it lacks are counted on from its size, whatever id the file says.
// https://github.com/huggingface/tokenizers/blob/v0.22.1/tokenizers/src/tokenizer/added_vocabulary.rs, add_tokens
func placeAdded(vocab map[string]int, added []addedToken) {
	next, counted := len(vocab), true
	for _, a := range added {
		if _, there := vocab[a.Content]; !there {
			counted = counted && a.ID == next
			next++
		}
	}
	if !counted {
		for _, a := range added {
			vocab[a.Content] = a.ID
		}
	}
}

// specialKeys are the keys of special tokens, by their names in tokenizer_config.json.
var specialKeys = map[string]string{
	"bos_token": "tokenizer.ggml.bos_token_id", "eos_token": "tokenizer.ggml.eos_token_id",
	"pad_token": "tokenizer.ggml.padding_token_id", "unk_token": "tokenizer.ggml.unknown_token_id",
}

// configOf is the tokenizer_config.json of a tokenizer from a GGUF file.
func configOf(m gguf.Metadata, t *Tokenizer) (map[string]any, error) {
	config := map[string]any{"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": false}
	for name, key := range specialKeys {
		id, there, err := m.Int(key)
		if err != nil {
			return nil, err
		}
		if there && id >= 0 && id < len(t.tokens) && t.tokens[id] != "" {
			config[name] = t.tokens[id]
		}
	}
	if m.Get(ggufAddBOS) != nil {
		add, err := m.Flag(ggufAddBOS)
		if err != nil {
			return nil, err
		}
		config["add_bos_token"] = add
	}
	template, err := m.Text(ggufTemplate)
	if template != "" {
		config["chat_template"] = template
	}
	return config, err
}

// ErrNotGGUF marks a tokenizer that llama.cpp does not have.
var ErrNotGGUF = errors.New("llama.cpp has no such tokenizer")

// GGUF describes the tokenizer as metadata of a GGUF file for a model with so many rows
// of embeddings. Where llama.cpp does not have the tokenizer the error is [ErrNotGGUF],
// and the metadata describe it for this program alone.
func (t *Tokenizer) GGUF(rows int) (gguf.Metadata, error) {
	var file struct {
		Normalizer    json.RawMessage `json:"normalizer"`
		PreTokenizer  json.RawMessage `json:"pre_tokenizer"`
		PostProcessor json.RawMessage `json:"post_processor"`
		Model         struct {
			Type         string            `json:"type"`
			Merges       []json.RawMessage `json:"merges"`
			ByteFallback bool              `json:"byte_fallback"`
		} `json:"model"`
	}
	data := t.files[tokenizerFile]
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	var err error
	out := gguf.Metadata{}
	pre := preOf(file.Normalizer, file.PreTokenizer)
	switch {
	case file.Model.Type == "BPE" && file.Model.ByteFallback:
		out = append(out, gguf.Pair{Key: ggufModel, Value: ggufSPM}, gguf.Pair{Key: ggufPre, Value: "default"})
	case file.Model.Type == "BPE" && pre != "":
		out = append(out, gguf.Pair{Key: ggufModel, Value: ggufBytes}, gguf.Pair{Key: ggufPre, Value: pre})
	default:
		return gguf.Metadata{{Key: ggufModel, Value: ggufNone}, {Key: ggufJSON, Value: string(data)}},
			fmt.Errorf("%w: model %s with this pre_tokenizer; it has byte-level BPE as in %s, and BPE with byte fallback", ErrNotGGUF, file.Model.Type, strings.Join(slices.Sorted(maps.Keys(preTokenizers)), ", "))
	}
	merges := make([]string, len(file.Model.Merges))
	for i, raw := range file.Model.Merges {
		var pair []string
		if json.Unmarshal(raw, &merges[i]) != nil {
			if err = json.Unmarshal(raw, &pair); err != nil || len(pair) != 2 {
				return nil, fmt.Errorf("merge %d: found %s; accepted: two tokens", i, raw)
			}
			merges[i] = pair[0] + " " + pair[1]
		}
	}
	tokens, types := t.ggufTokens(max(rows, len(t.tokens)))
	out = append(out, gguf.Pair{Key: ggufTokens, Value: tokens}, gguf.Pair{Key: ggufTypes, Value: types})
	if file.Model.ByteFallback {
		out = append(out, gguf.Pair{Key: ggufScores, Value: t.scores(tokens, merges)}, gguf.Pair{Key: "tokenizer.ggml.add_space_prefix", Value: false})
	} else {
		out = append(out, gguf.Pair{Key: ggufMerges, Value: merges})
	}
	return append(out, gguf.Pair{Key: ggufAddBOS, Value: addsFirst(file.PostProcessor)}, gguf.Pair{Key: ggufJSON, Value: string(data)}), nil
}

// ggufTokens are the tokens by id with their types. Rows of the embedding that stand for
// no token are unused.
func (t *Tokenizer) ggufTokens(rows int) (tokens []string, types []int32) {
	tokens, types = make([]string, rows), make([]int32, rows)
	added := map[int]bool{}
	for _, a := range t.added {
		added[a.ID] = true
	}
	for id := range tokens {
		tokens[id], types[id] = fmt.Sprintf("[PAD%d]", id), tokenUnused
		if id >= len(t.tokens) || t.tokens[id] == "" {
			continue
		}
		tokens[id], types[id] = t.tokens[id], tokenNormal
		_, isByte := fallbackByte(t.tokens[id])
		switch {
		case t.special[id]:
			types[id] = tokenControl
		case added[id]:
			types[id] = tokenUserDefined
		case isByte && t.separator == "":
			types[id] = tokenByte
		}
	}
	return tokens, types
}

// scores give a token that merges make minus the place of its first merge, so that the
// pair that is merged first has the highest score.
func (t *Tokenizer) scores(tokens, merges []string) []float32 {
	scores := make([]float32, len(tokens))
	for rank := len(merges) - 1; rank >= 0; rank-- {
		left, right, _ := strings.Cut(merges[rank], " ")
		if id, ok := t.ids[left+right]; ok {
			scores[id] = -float32(rank + 1)
		}
	}
	return scores
}

// preOf is the value of tokenizer.ggml.pre for a normalizer and a pre-tokenizer; "" for
// none.
func preOf(normalizer, split json.RawMessage) string {
	for _, name := range slices.Sorted(maps.Keys(preTokenizers)) {
		row := preTokenizers[name]
		if sameParts(normalizer, row.normalizer) && sameParts(split, row.split) {
			return name
		}
	}
	return ""
}

// sameParts compares two parts of a tokenizer.json by what this package reads of them.
func sameParts(a json.RawMessage, b string) bool {
	one, err := flatParts(a)
	if err != nil {
		return false
	}
	other, err := flatParts(json.RawMessage(b))
	return err == nil && slices.Equal(one, other)
}

func flatParts(raw json.RawMessage) ([]string, error) {
	p, err := parsePart(raw)
	if err != nil || p.Type == "" {
		return nil, err
	}
	if p.Type != "Sequence" {
		regex, words := "", p.Type == "ByteLevel" && (p.UseRegex == nil || *p.UseRegex)
		if p.Pattern.Regex != nil {
			regex = *p.Pattern.Regex
		}
		return []string{fmt.Sprintf("%s %q %s %v %v %v %v", p.Type, regex, p.Behavior, p.Invert, p.IndividualDigits, p.AddPrefixSpace, words)}, nil
	}
	var out []string
	for _, inner := range slices.Concat(p.Normalizers, p.Pretokenizers) {
		more, err := flatParts(inner)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	return out, nil
}

// addsFirst says whether a post-processor puts a token in front of every text.
func addsFirst(raw json.RawMessage) bool {
	var p struct {
		Type       string            `json:"type"`
		Processors []json.RawMessage `json:"processors"`
		Single     []map[string]any  `json:"single"`
	}
	if json.Unmarshal(raw, &p) != nil {
		return false
	}
	if p.Type == "TemplateProcessing" && len(p.Single) > 0 {
		_, special := p.Single[0]["SpecialToken"]
		return special
	}
	return slices.ContainsFunc(p.Processors, addsFirst)
}

// Template is the source of the chat template that conversations have by default; ""
// for none.
func (t *Tokenizer) Template() (string, error) {
	sources, _, err := templateSources(t.files)
	if errors.Is(err, ErrNoChat) {
		return "", nil
	}
	return sources[defaultTemplate], err
}
