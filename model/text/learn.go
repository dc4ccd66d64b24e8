package text

import (
	"cmp"
	"container/heap"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/rlzero/rlzero/model/internal/jsonfile"
)

// Control tokens of a tokenizer that [Learn] makes, in the order of their ids, which
// follow those of the texts.
const (
	EndOfTurn  = "<|im_end|>"
	EndOfText  = "<|endoftext|>" // padding, too
	turnBegins = "<|im_start|>"
)

var control = []string{EndOfTurn, EndOfText, turnBegins}

// FewestTokens is the smallest vocabulary that [Learn] can make: a token for each byte, and
// the control tokens.
const FewestTokens = 256 + 3

// MaxLearned is how many bytes of text [Learn] reads; what comes later is left out.
const MaxLearned = 64 << 20

// chatML is the chat template of a tokenizer that Learn makes: each turn is its role, a line
// break and its text between two control tokens
// (https://github.com/openai/openai-python/blob/v0.28.1/chatml.md).
const chatML = `{%- for message in messages %}` +
	`{{- '` + turnBegins + `' + message.role + '\n' + message.content + '` + EndOfTurn + `\n' }}` +
	`{%- endfor %}` +
	`{%- if add_generation_prompt %}{{- '` + turnBegins + `assistant\n' }}{%- endif %}`

// Learn makes the tokenizer of a small chat model from texts: byte-level BPE with tokens in
// all, which reads every text, and a ChatML template. Digits are tokens of their own. The
// most frequent pair of neighbours becomes a token, again and again (arXiv 1508.07909,
// algorithm 1); of equally frequent pairs the one with the lower ids goes first. Where no
// pair is left that comes twice, there are fewer tokens. Equal texts give equal tokenizers.
//
// Words are cut as by SmolLM's tokenizer, so that llama.cpp knows how to.
func Learn(texts iter.Seq[string], tokens int) (*Tokenizer, error) {
	return learnFrom(texts, tokens, MaxLearned)
}

// learnFrom learns from the texts up to so many bytes.
func learnFrom(texts iter.Seq[string], tokens, most int) (*Tokenizer, error) {
	if tokens < FewestTokens || tokens > maxTokens {
		return nil, fmt.Errorf("found %d tokens; accepted: %d to %d", tokens, FewestTokens, maxTokens)
	}
	bytes, err := learned(nil)
	if err != nil {
		return nil, err
	}
	counts, read := map[string]int{}, 0
	for text := range texts {
		if read += len(text); read > most {
			break
		}
		words, err := bytes.words(text)
		if err != nil {
			return nil, err
		}
		for _, word := range words {
			counts[word]++
		}
	}
	l := newLearner(counts)
	for len(l.tokens) < tokens-len(control) && l.merge() {
	}
	return learned(l)
}

// learned is the tokenizer of what was learned; nil: bytes alone.
func learned(l *learner) (*Tokenizer, error) {
	if l == nil {
		l = newLearner(nil)
	}
	vocab := map[string]int{}
	for id, token := range l.tokens {
		vocab[inAlphabet(token)] = id
	}
	merges := make([]string, len(l.merges))
	for i, p := range l.merges {
		merges[i] = inAlphabet(l.tokens[p.left]) + " " + inAlphabet(l.tokens[p.right])
	}
	var added []addedToken
	for i, content := range control {
		added = append(added, addedToken{ID: len(l.tokens) + i, Content: content, Special: true})
	}
	pre := preTokenizers["smollm"]
	type object = map[string]any
	data, err := jsonfile.Marshal(object{
		"version": "1.0", "truncation": nil, "padding": nil, "post_processor": nil, "added_tokens": added,
		"normalizer": json.RawMessage(pre.normalizer), "pre_tokenizer": json.RawMessage(pre.split), "decoder": json.RawMessage(byteLevel),
		"model": object{"type": "BPE", "dropout": nil, "unk_token": nil, "continuing_subword_prefix": nil, "end_of_word_suffix": nil,
			"fuse_unk": false, "byte_fallback": false, "ignore_merges": pre.ignoreMerges, "vocab": vocab, "merges": merges},
	})
	if err != nil {
		return nil, err
	}
	t, err := ParseTokenizer(data)
	if err != nil {
		return nil, err
	}
	t.files[configFile], err = jsonfile.Marshal(object{
		"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": false,
		"eos_token": EndOfTurn, "pad_token": EndOfText, "chat_template": chatML,
	})
	return t, err
}

// inAlphabet writes bytes in the byte alphabet.
func inAlphabet(token string) string {
	out := make([]rune, len(token))
	for i := range len(token) {
		out[i] = byteAlphabet[token[i]]
	}
	return string(out)
}

// learner counts pairs of neighbours in words and merges them.
type learner struct {
	tokens []string // by id, as bytes
	ids    map[string]int32
	merges []pair
	words  []countedWord
	counts map[pair]int
	where  map[pair][]int32 // words that have had the pair, some several times
	queue  frequent
}

// countedWord is a different word of the texts as tokens, and how often it comes.
type countedWord struct {
	symbols []int32
	times   int
}

func newLearner(counts map[string]int) *learner {
	l := &learner{ids: map[string]int32{}, counts: map[pair]int{}, where: map[pair][]int32{}}
	for b := range 256 {
		l.token(string([]byte{byte(b)}))
	}
	for i, word := range slices.Sorted(maps.Keys(counts)) {
		w := countedWord{times: counts[word]}
		for j := range len(word) {
			w.symbols = append(w.symbols, int32(word[j]))
		}
		l.words = append(l.words, w)
		l.count(int32(i), func(pair) bool { return true })
	}
	for p, n := range l.counts {
		l.queue = append(l.queue, counted{p, n})
	}
	heap.Init(&l.queue)
	return l
}

// token is the id of some bytes, which become a token if they are none.
func (l *learner) token(bytes string) int32 {
	id, there := l.ids[bytes]
	if !there {
		id = int32(len(l.tokens))
		l.ids[bytes], l.tokens = id, append(l.tokens, bytes)
	}
	return id
}

// count adds the pairs of a word, and notes the word for those that are new to it.
func (l *learner) count(word int32, isNew func(pair) bool) {
	w := l.words[word]
	for i := range len(w.symbols) - 1 {
		p := pair{w.symbols[i], w.symbols[i+1]}
		l.counts[p] += w.times
		if of := l.where[p]; isNew(p) && (len(of) == 0 || of[len(of)-1] != word) {
			l.where[p] = append(of, word)
		}
	}
}

// merge makes a token of the most frequent pair; false: none comes twice.
func (l *learner) merge() bool {
	var best pair
	for {
		if len(l.queue) == 0 {
			return false
		}
		top := heap.Pop(&l.queue).(counted)
		if n := l.counts[top.pair]; n != top.times { // it has changed since it was noted
			if n > 0 {
				heap.Push(&l.queue, counted{top.pair, n})
			}
			continue
		}
		if top.times < 2 {
			return false
		}
		best = top.pair
		break
	}
	made := l.token(l.tokens[best.left] + l.tokens[best.right])
	l.merges = append(l.merges, best)
	changed := map[pair]bool{}
	for _, word := range l.where[best] {
		w := &l.words[word]
		before := w.symbols
		after := joined(before, best, made)
		if len(after) == len(before) { // merged already
			continue
		}
		for i := range len(before) - 1 {
			l.counts[pair{before[i], before[i+1]}] -= w.times
		}
		w.symbols = after
		l.count(word, func(p pair) bool {
			isNew := p.left == made || p.right == made
			changed[p] = changed[p] || isNew
			return isNew
		})
	}
	delete(l.where, best)
	for p, isNew := range changed {
		if isNew {
			heap.Push(&l.queue, counted{p, l.counts[p]})
		}
	}
	return true
}

// joined puts one symbol in place of a pair, from the left.
func joined(symbols []int32, p pair, made int32) []int32 {
	out := make([]int32, 0, len(symbols))
	for i := 0; i < len(symbols); i++ {
		if i+1 < len(symbols) && symbols[i] == p.left && symbols[i+1] == p.right {
			out = append(out, made)
			i++
		} else {
			out = append(out, symbols[i])
		}
	}
	return out
}

// counted is a pair with the count that it had when it was noted.
type counted struct {
	pair
	times int
}

// frequent is a heap with the most frequent pair on top.
type frequent []counted

func (f frequent) Len() int { return len(f) }

func (f frequent) Less(i, j int) bool {
	a, b := f[i], f[j]
	return cmp.Or(b.times-a.times, int(a.left-b.left), int(a.right-b.right)) < 0
}

func (f frequent) Swap(i, j int) { f[i], f[j] = f[j], f[i] }

func (f *frequent) Push(x any) { *f = append(*f, x.(counted)) }

func (f *frequent) Pop() any {
	last := len(*f) - 1
	x := (*f)[last]
	*f = (*f)[:last]
	return x
}
