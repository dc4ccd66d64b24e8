package instruct

import (
	"fmt"
	"strings"
)

// needs are the outside programs that an original uses and ours imitates.
type needs int

const (
	needsLanguage needs = 1 << iota
	needsSentences
	needsTokens
	needsTagger
	needsSyllables
	needsEmoji
)

// imitations say what stands in for each.
var imitations = []struct {
	need needs
	text string
}{
	{needsLanguage, "the language comes from langdetect there (n-gram statistics, not the same in every run); here from the script and the frequent words of 45 languages."},
	{needsSentences, "sentences come from NLTK's trained Punkt model there; here from its algorithm with a short list of abbreviations and of words that begin sentences."},
	{needsTokens, "words come from NLTK's word_tokenize there; here from rules for the same Penn Treebank tokens, after the sentences named in ifeval:length_constraints:number_sentences."},
	{needsTagger, "the verb comes from NLTK's trained tagger there; here from a list of verbs that answers begin with and from the endings -ing and -ed."},
	{needsSyllables, "syllables come from syllapy's dictionary there; here from counting runs of vowels."},
	{needsEmoji, "emoji come from the package emoji there; here from the property of Unicode 16."},
}

// doc says what is approximated and how far the verdicts differ.
func (n needs) doc(name string) string {
	var lines []string
	for _, i := range imitations {
		if n&i.need != 0 {
			lines = append(lines, i.text)
		}
	}
	lines = append(lines, differences[name].String())
	return strings.Join(lines, "\n")
}

// difference counts, over the reference lines that lean on an outside program,
// the verdicts (strict and loose each) and those of ours that are not the same.
type difference struct{ verdicts, differ int }

func (d difference) String() string {
	return fmt.Sprintf("Of %d reference verdicts that lean on it, %d differ.", d.verdicts, d.differ)
}

// differences has every approximated type. TestVerdicts prints the figures that
// it measures under -v and fails where a type that differs is not listed.
var differences = map[string]difference{
	"ifeval:language:response_language":          {1, 0},
	"ifeval:length_constraints:number_sentences": {1, 0},
	"ifeval:change_case:capital_word_frequency":  {1, 0},
	"ifeval:change_case:english_capital":         {1, 0},
	"ifeval:change_case:english_lowercase":       {1, 0},
	"ifrlvr:count:counting_composition":          {1, 0},
	"ifrlvr:count:count_unique":                  {1, 0},
	"ifrlvr:keywords:keyword_specific_position":  {1, 0},
	"ifrlvr:keywords:start_end":                  {1, 0},
	"ifbench:words:start_verb":                   {1, 0},
	"ifbench:count:pronouns":                     {1, 0},
	"ifbench:words:odd_even_syllables":           {1, 0},
	"ifbench:words:words_position":               {1, 0},
	"ifbench:ratio:sentence_type":                {1, 0},
	"ifbench:ratio:sentence_balance":             {1, 0},
	"ifbench:sentence:alliteration_increment":    {1, 0},
	"ifbench:format:emoji":                       {1, 0},
	"ifbench:ratio:sentence_words":               {1, 0},
	"ifbench:sentence:keyword":                   {1, 0},
	"ifbench:words:last_first":                   {1, 0},
	"ifbench:sentence:increment":                 {1, 0},
	"ifbench:words:keywords_specific_position":   {1, 0},
	"ifbench:custom:sentence_alphabet":           {1, 0},
	"ifbench:format:no_bullets_bullets":          {1, 0},
	"ifbench:format:title_case":                  {1, 0},
}
