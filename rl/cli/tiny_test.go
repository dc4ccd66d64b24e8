package cli

import (
	"cmp"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
)

// chatML is the chat template of the tiny model: that of Qwen and SmolLM, in short.
const chatML = `{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}{% endfor %}` +
	`{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}`

// controlTokens follow the tokens of the texts, as in published tokenizers. Texts end
// with the first two.
var controlTokens = []string{"<|im_end|>", "<|endoftext|>", "<|im_start|>"}

// llama3Pattern cuts texts into words, with numbers of up to three digits
// (https://huggingface.co/meta-llama/Llama-3.2-1B/blob/main/tokenizer.json).
const llama3Pattern = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`

// writeTiny makes a Hugging Face folder as a published chat model has it, with random
// weights: a llama of two layers whose tokenizer was trained on the texts.
func writeTiny(t *testing.T, dir string, texts []string, seed uint64) {
	t.Helper()
	words := trainBPE(texts, 256)
	write := func(name string, value any) {
		data, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	type object = map[string]any
	var added []object
	for i, content := range controlTokens {
		added = append(added, object{"id": len(words.vocab) + i, "content": content, "special": true})
	}
	write("tokenizer.json", object{
		"added_tokens": added,
		"pre_tokenizer": object{"type": "Sequence", "pretokenizers": []object{
			{"type": "Split", "pattern": object{"Regex": llama3Pattern}, "behavior": "Isolated"},
			{"type": "ByteLevel", "add_prefix_space": false, "use_regex": false},
		}},
		"decoder": object{"type": "ByteLevel"},
		"model":   object{"type": "BPE", "ignore_merges": true, "vocab": words.vocab, "merges": words.merges},
	})
	write("tokenizer_config.json", object{"eos_token": controlTokens[0], "chat_template": chatML})

	cfg, err := hf.NewConfig("llama")
	if err != nil {
		t.Fatal(err)
	}
	cfg.Vocab = len(words.vocab) + len(controlTokens)
	cfg.Width, cfg.Layers, cfg.Heads, cfg.KVHeads, cfg.HeadDim, cfg.MLP = 64, 2, 2, 2, 32, 160
	cfg.NormEps, cfg.RopeTheta, cfg.MaxPositions, cfg.InitStd, cfg.TieEmbeddings = 1e-5, 1e3, 2048, 0.1, true
	cfg.EOS = []int{len(words.vocab), len(words.vocab) + 1}
	if err := cfg.Complete(); err != nil {
		t.Fatal(err)
	}
	small, err := hf.FolderFiles(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range small {
		write(name, json.RawMessage(data))
	}
	dev, err := gpu.Open("ref")
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	m, err := model.New(dev, cfg, seed, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	var weights strings.Builder
	if err := hf.WriteSafetensors(&weights, m.Tensors()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "model.safetensors"), []byte(weights.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// bpe is the model of a byte-level BPE tokenizer.
type bpe struct {
	vocab  map[string]int // tokens in the byte alphabet
	merges []string       // "left right", the most frequent pair first
}

// trainWords cuts texts as llama3Pattern does, but for white space before a word, for
// which Go's expressions have no lookahead.
var trainWords = regexp.MustCompile(strings.Replace(llama3Pattern, `|\s+(?!\S)`, "", 1))

// trainBPE learns merges from texts: the most frequent pair of neighbours becomes a token,
// again and again (arXiv 1508.07909, algorithm 1), of equally frequent ones the first in
// the order of text.
func trainBPE(texts []string, merges int) bpe {
	count := map[string]int{}
	for _, text := range texts {
		for _, word := range trainWords.FindAllString(text, -1) {
			count[word]++
		}
	}
	out := bpe{vocab: map[string]int{}}
	alphabet := byteAlphabet()
	for _, r := range alphabet {
		out.vocab[string(r)] = len(out.vocab)
	}
	words := slices.Sorted(maps.Keys(count))
	parts := make([][]string, len(words))
	for i, word := range words {
		for _, b := range []byte(word) {
			parts[i] = append(parts[i], string(alphabet[b]))
		}
	}
	for range merges {
		pairs := map[[2]string]int{}
		for i, p := range parts {
			for j := range p[1:] {
				pairs[[2]string{p[j], p[j+1]}] += count[words[i]]
			}
		}
		if len(pairs) == 0 {
			break
		}
		best := slices.MaxFunc(slices.Collect(maps.Keys(pairs)), func(a, b [2]string) int {
			return cmp.Or(cmp.Compare(pairs[a], pairs[b]), slices.Compare(b[:], a[:]))
		})
		out.merges = append(out.merges, best[0]+" "+best[1])
		out.vocab[best[0]+best[1]] = len(out.vocab)
		for i, p := range parts {
			for j := 0; j+1 < len(p); j++ {
				if p[j] == best[0] && p[j+1] == best[1] {
					p = slices.Replace(p, j, j+2, best[0]+best[1])
				}
			}
			parts[i] = p
		}
	}
	return out
}

// byteAlphabet are the characters that stand for bytes: printable ones for themselves,
// the others for those from 256 on, in order.
func byteAlphabet() (alphabet [256]rune) {
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
}
