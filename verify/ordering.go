package verify

import (
	"encoding/json"
	"fmt"
	"strings"
)

func init() {
	Register(Entry{
		Name:    "ordering",
		Summary: "items in the right order, as a whole or by pairs",
		Doc: fmt.Sprintf(`ordering: right when the completion lists the row's items in the row's order.

A list is a JSON array, or items separated by line ends, ">", "->", ";" or commas,
whichever of these is found first in this order. Numbers and bullets before items are
dropped, and "and" before the last one. Case, punctuation around items and extra white
space are ignored, and numbers are compared by value. Missing, unknown or repeated items
make the answer wrong. At most %d items are read.

Row: answer: the items in order, as such a list; or items, a JSON array.

Options
score     "exact": all or nothing. "pairs": the share of pairs in the right order
          (Kendall's τ moved to 0 to 1). "positions": the share of items in their place.
          Default "exact".
extract   "answer": the last <answer>…</answer>; else the last fenced block; else the last
          \boxed{…}; else the whole text. "none": the whole completion.
          Default "answer".

Not scored when the row has fewer than two items or repeats one.
`, maxOrdered),
		New: func(options json.RawMessage) (Verifier, error) {
			o := Ordering{Score: "exact", Extract: "answer"}
			if err := DecodeOptions(options, &o); err != nil {
				return nil, err
			}
			if err := oneOf("score", o.Score, "exact", "pairs", "positions"); err != nil {
				return nil, err
			}
			return o, oneOf("extract", o.Extract, "answer", ExtractNone)
		},
	})
}

const maxOrdered = 1000

// Ordering is the verifier "ordering".
type Ordering struct {
	Score   string `toml:"score"`   // "exact", "pairs" or "positions"
	Extract string `toml:"extract"` // "answer" or ExtractNone
}

// Check implements [Checker].
func (v Ordering) Check(row Problem) error {
	_, err := places(row)
	return err
}

// places are the places of the row's items in the right order.
func places(row Problem) (map[string]int, error) {
	reference := row.Answer
	if raw, ok := row.Metadata["items"]; ok {
		reference = textOf(raw)
	}
	want, err := readItems(reference)
	if err != nil {
		return nil, fmt.Errorf("the row's items: %w", err)
	}
	place := map[string]int{}
	for i, item := range want {
		if _, twice := place[item]; twice {
			return nil, fmt.Errorf("the row has the item %s twice", quote(item))
		}
		place[item] = i
	}
	if len(want) < 2 {
		return nil, fmt.Errorf("the row has %d items: an order needs at least two", len(want))
	}
	return place, nil
}

// Verify implements [Verifier].
func (v Ordering) Verify(row Problem, completion string) Verdict {
	place, err := places(row)
	if err != nil {
		return Abstain("%v", err)
	}
	text, rule, err := v.extracted(completion)
	if err != nil {
		return Reject(text, rule, "%v", err)
	}
	got, err := readItems(text)
	if err != nil {
		return Reject(text, rule, "%v", err)
	}
	if len(got) != len(place) {
		return Reject(text, rule, "found %d items, expected %d", len(got), len(place))
	}
	order := make([]int, len(got))
	seen := map[string]bool{}
	for i, item := range got {
		at, known := place[item]
		if !known || seen[item] {
			return Reject(text, rule, "%s is not one of the items, or is repeated", quote(item))
		}
		seen[item] = true
		order[i] = at
	}
	score := v.scoreOf(order)
	if score < 1 && v.Score == "exact" {
		score = 0
	}
	return graded(score, text, rule, "the order agrees to %.6g", score)
}

// scoreOf is the agreement of a permutation with 0, 1, 2, …
func (v Ordering) scoreOf(order []int) float64 {
	n, good, all := len(order), 0, len(order)
	if v.Score == "pairs" {
		all = n * (n - 1) / 2
	}
	for i, at := range order {
		if v.Score != "pairs" && at == i {
			good++
		} else if v.Score == "pairs" {
			for _, later := range order[i+1:] {
				if at < later {
					good++
				}
			}
		}
	}
	return float64(good) / float64(all)
}

func (v Ordering) extracted(completion string) (text, rule string, err error) {
	if v.Extract == ExtractNone {
		return extractJSON(completion, ExtractNone)
	}
	if text, rule, err = extractJSON(completion, ExtractJSON); err != nil || rule != "whole" {
		return text, rule, err
	}
	if inside, found := lastBoxed(text); found {
		return inside, "boxed", nil
	}
	return text, rule, nil
}

// readItems reads a list, each item in its normal form.
func readItems(text string) ([]string, error) {
	text = strings.TrimSpace(text)
	var items []string
	if strings.HasPrefix(text, "[") {
		value, err := decodeJSON(text)
		if err != nil {
			return nil, err
		}
		for _, item := range value.([]any) { // the text begins with [
			switch item.(type) {
			case []any, map[string]any:
				return nil, fmt.Errorf("an item is a list or an object, not a text or a number")
			}
			items = append(items, itemNormal(fmt.Sprint(item)))
		}
	} else {
		separator := ","
		for _, s := range []string{"\n", "->", "→", ">", ";"} {
			if strings.Contains(text, s) {
				separator = s
				break
			}
		}
		if strings.Count(text, separator) > maxOrdered {
			return nil, fmt.Errorf("more than %d items", maxOrdered)
		}
		for part := range strings.SplitSeq(text, separator) {
			item := itemNormal(part)
			if separator == "," && len(items) > 1 { // "a, b, and c"
				item = strings.TrimPrefix(item, "and ")
			}
			if item != "" {
				items = append(items, item)
			}
		}
	}
	if len(items) > maxOrdered {
		return nil, fmt.Errorf("more than %d items", maxOrdered)
	}
	return items, nil
}

// itemNormal drops "3. ", "3) ", "- " and "* " before an item, marks around it,
// case and surplus white space.
func itemNormal(item string) string {
	item = strings.TrimSpace(item)
	for _, bullet := range []string{"- ", "* ", "• ", "•"} {
		item = strings.TrimLeft(strings.TrimPrefix(item, bullet), " ")
	}
	if digits := strings.TrimLeft(item, "0123456789"); digits != item && (strings.HasPrefix(digits, ". ") || strings.HasPrefix(digits, ") ")) {
		item = digits[2:]
	}
	item = strings.Trim(item, " \t\"'`*.")
	if x, err := parseNumber(item, true); err == nil { // 1.0 is 1
		return x.RatString()
	}
	return strings.ToLower(strings.Join(strings.Fields(item), " "))
}
