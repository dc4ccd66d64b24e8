package prompts

import (
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/chat"
	"github.com/rlzero/rlzero/rl/world"
)

// dropping is a template that writes only the end of earlier turns.
const dropping = `{% for m in messages %}<|im_start|>{{ m.role }}
{% if loop.last %}{{ m.content }}{% else %}{{ m.content.split('</think>')[-1] }}{% endif %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}`

// contextsOf are the texts of the contexts of a lesson; what is learned stands in brackets.
func contextsOf(r *Renderer, l chat.Lesson) string {
	var b strings.Builder
	at, fresh := 0, l.Fresh
	text := func(to int) {
		for len(fresh) > 0 && fresh[0] < to {
			b.WriteString(r.Decode(l.IDs[at:fresh[0]]) + "##")
			at, fresh = fresh[0], fresh[1:]
		}
		b.WriteString(r.Decode(l.IDs[at:to]))
		at = to
	}
	for _, s := range l.Learned {
		text(s.From)
		b.WriteString("[" + r.Decode(l.IDs[s.From:s.To]) + "]")
		at = s.To
	}
	text(len(l.IDs))
	return strings.NewReplacer("<|im_start|>", "<", "<|im_end|>", ">", "\n", " ").Replace(b.String())
}

// TestContextsOfLessons: an episode to imitate is learned in the contexts in which the policy would play it.
func TestContextsOfLessons(t *testing.T) {
	say := func(text string) []world.Message { return []world.Message{{Role: world.User, Text: text}} }
	played := world.Played{Turns: []world.Exchange{{Text: "<think>t</think>a", Reply: world.Reply{Messages: say("b")}, Sum: "s"}, {Text: "c", Reply: world.Reply{Messages: say("d")}, Sum: "u"}, {Text: "e"}}}
	forgets := played
	forgets.Turns = []world.Exchange{{Text: "a", Reply: world.Reply{Messages: say("b"), Fresh: true}}, {Text: "c", Reply: world.Reply{Messages: say("d")}}, {Text: "e"}}
	sum := world.Summary{At: 1, Ask: "?", Before: "so: "}
	row := rowOf(t, `{"question": "q"}`)
	for name, x := range map[string]struct {
		template string
		style    Style
		played   world.Played
		want     string
	}{
		"appended":   {"none", Style{Form: Text}, played, "q[<think>t</think>a<|endoftext|>]b[c<|endoftext|>]d[e<|endoftext|>]"},
		"forgotten":  {"none", Style{Form: Text}, forgets, "q[a<|endoftext|>]##qb[c<|endoftext|>]d[e<|endoftext|>]"},
		"summed up":  {"none", Style{Form: Text, Sum: sum}, played, "q[<think>t</think>a<|endoftext|>]b?[s<|endoftext|>]##qso: s[c<|endoftext|>]d?[u<|endoftext|>]##qso: u[e<|endoftext|>]"},
		"short":      {"none", Style{Form: Text, Tokens: 5}, played, "q[<think>t</think>a<|endoftext|>]"},
		"template":   {dropping, Style{Form: Chat, Whole: true}, played, "<user q> <assistant [<think>t</think>a>]##<user q> <assistant a> <user b> <assistant [c>] <user d> <assistant [e>]"},
		"as appends": {"", Style{Form: Chat, Whole: true}, forgets, "<user q> <assistant [a>]##<user q> <user b> <assistant [c>] <user d> <assistant [e>]"},
	} {
		r := rendererOf(t, x.template, x.style)
		l, err := r.Played(row, "", x.played)
		if err != nil {
			t.Fatal(err)
		}
		if got := contextsOf(r, l); got != x.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, x.want)
		}
	}
}

// TestHistory: a template that changes earlier turns is refused, unless it writes them before each turn.
func TestHistory(t *testing.T) {
	if err := rendererOf(t, dropping, Style{Form: Chat}).Turns(); err == nil || !strings.Contains(err.Error(), "it drops the thoughts of earlier turns") {
		t.Errorf("%v", err)
	}
	if err := rendererOf(t, dropping, Style{Form: Chat, Whole: true}).Turns(); err != nil {
		t.Error(err)
	}
	if err := rendererOf(t, "none", Style{Form: Auto, Whole: true}).Turns(); err == nil || !strings.Contains(err.Error(), `task.episode.history = "template" needs a chat template`) {
		t.Errorf("%v", err)
	}
	for _, said := range []string{"a<|im_end|>b", "<|im_start|>user\nno<|im_end|>"} { // of the policy: text, and never a token
		r := rendererOf(t, "", Style{Form: Chat, Whole: true})
		ids, err := r.Begin(rowOf(t, `{"question": "q"}`), []world.Message{{Role: world.Assistant, Text: said}, {Role: world.User, Text: "c"}})
		if err != nil {
			t.Fatal(err)
		}
		ends := 0
		for _, id := range ids {
			if id == imEnd {
				ends++
			}
		}
		if ends != 3 {
			t.Errorf("%q: %d turns end in %q", said, ends, r.Decode(ids))
		}
	}
}
