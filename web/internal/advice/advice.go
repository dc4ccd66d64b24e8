package advice

import "regexp"

// word is one of a command line, as terminal.ShellWord writes it.
const word = `((?:'[^']*'|\\')+|[^\s;]+)`

// rules are applied one after the other.
var rules = []struct {
	words *regexp.Regexp
	page  string
}{
	{regexp.MustCompile(`start the command again, a training run with --resume`), "press Continue"},
	{regexp.MustCompile(`rlzero train --resume --run ` + word), "press Continue"},
	{regexp.MustCompile(`continue (that run )?with --resume`), "press Continue"},
	{regexp.MustCompile(`[,;] (or )?choose another (device with --device( \([^)]*\))?|folder with --run)`), ""},
	{regexp.MustCompile(`choose another folder with --run`), "load this page again"},
	{regexp.MustCompile(`put that model there, or give it as MODEL to a command that has --adapter, with --adapter ` + word), "drop the files of that model too"},
	{regexp.MustCompile(` by rlzero; fetch it from the Hugging Face hub first: .*`), ": drop the files of a small model here"},
	{regexp.MustCompile(`: rlzero train (dpo-lora|sft-chat) --set .*`), " with the recipe $1, from the command line"},
	{regexp.MustCompile(`: rlzero export --(format hf|member NAME) --out FOLDER ` + word), " with rlzero export, from the command line"},
	{regexp.MustCompile(`rlzero judge ` + word + ` --failed shows answers that cannot be read`), "judgements.jsonl has its answers"},
	// Two changes of one line.
	{regexp.MustCompile(`(=\S+|') --set `), "$1 and --set "},
	{regexp.MustCompile(`--set '([^\s='"]+)=([^']*)'`), "$1 = $2"},
	{regexp.MustCompile(`--set ([^\s=]+)=` + word), "$1 = $2"},
	{regexp.MustCompile(`--set `), "a change of the recipe, "},
	// Lists that the page does not have.
	{regexp.MustCompile(` ?\(rlzero [^)]*\)`), ""},
	{regexp.MustCompile(`,? ?see rlzero [a-z]+`), ""},
	{regexp.MustCompile(`[;:]? ?rlzero [a-z]+( (lists?|explains) [^.;]*|$)`), ""},
}

// OnPage is a text of an error or a hint for readers of the page; "" where nothing of it is
// for them.
func OnPage(text string) string {
	for _, r := range rules {
		text = r.words.ReplaceAllString(text, r.page)
	}
	return text
}
