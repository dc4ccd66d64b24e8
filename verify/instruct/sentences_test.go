package instruct

import (
	"slices"
	"strings"
	"testing"
)

func TestPunktSentences(t *testing.T) {
	for _, want := range [][]string{
		{"The sea is calm.", "We sail!", "Who waits?", "Nobody"},
		{"Dr. Moor met Mrs. Sund at 5 p.m. on Jan. 3."},
		{"J. Moor sails.", "It rains."},
		{`He said "No."`, "Then (he left.)", "And so on."},
		{"What?!", "Yes!!", "Really..."},
		{"It cost 3.50 in v1.2 of example.com today."},
		{"Wait... what is it."},
		{"So it ends...", "The rest is silence."},
		{"Sail to the U.S. coast."},
		{"We left the U.S.", "The sea was calm."},
		{"1.", "Raise the sail"},
		{"海。船。"},
		{"No end"},
		{"!"},
	} {
		text := ""
		for i, s := range want {
			if i > 0 {
				text += " "
			}
			text += s
		}
		if got := punktSentences(text + " \n"); !slices.Equal(got, want) {
			t.Errorf("punktSentences(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestRuleSentences(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"The sea. We sail! Who? me", []string{"The sea.", "We sail!", "Who?", "me"}},
		{"Mr. Moor of Sund Inc. sails at 3.5 knots.", []string{"Mr. Moor of Sund Inc. sails at 3.5 knots."}},
		{"Dots... end.", []string{"Dots...", "end."}},
		{`He said "No." Then?`, []string{`He said "No".`, "Then?"}},
		{"", nil},
		{"\n \n", nil},
		{"See example.com now.", []string{"See example.com now."}},
		{"a.\nb.", []string{"a. b."}}, // one letter and a full stop are an initial
	} {
		if got := ruleSentences(c.text); !slices.Equal(got, c.want) {
			t.Errorf("ruleSentences(%q) = %q, want %q", c.text, got, c.want)
		}
	}
}

func TestWordTokens(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"We can't sail, don't wait.", []string{"We", "ca", "n't", "sail", ",", "do", "n't", "wait", "."}},
		{"They'll say it's 3,000.50 knots: good!", []string{"They", "'ll", "say", "it", "'s", "3,000.50", "knots", ":", "good", "!"}},
		{`"Sea" (calm)`, []string{"``", "Sea", "''", "(", "calm", ")"}},
		{"cannot gonna", []string{"can", "not", "gon", "na"}},
		{"well-known -- so...", []string{"well-known", "--", "so", "..."}},
		{"$5 & 50% #1 @sea", []string{"$", "5", "&", "50", "%", "#", "1", "@", "sea"}},
		{"Mr. Moor left. He won.", []string{"Mr.", "Moor", "left", ".", "He", "won", "."}},
		{`He said "no."`, []string{"He", "said", "``", "no", ".", "''"}},
		{"*bold* [x]", []string{"*", "bold", "*", "[", "x", "]"}},
		{"the ships' sails", []string{"the", "ships", "'", "sails"}},
		{"```", []string{"``", "`"}},
		{".", []string{"."}},
	} {
		if got := wordTokens(c.text); !slices.Equal(got, c.want) {
			t.Errorf("wordTokens(%q) = %q, want %q", c.text, got, c.want)
		}
	}
}

func TestDetectLanguage(t *testing.T) {
	for text, want := range map[string]string{
		"The sea is calm and the ship is ready":                 "en",
		"Das Meer ist ruhig und das Schiff ist bereit":          "de",
		"La mer est calme et le navire est prêt":                "fr",
		"El mar está tranquilo y el barco está listo":           "es",
		"O mar está calmo e o navio não está pronto":            "pt",
		"Il mare è calmo e la nave è pronta":                    "it",
		"De zee is kalm en het schip is niet klaar":             "nl",
		"Biển lặng và con tàu đã sẵn sàng":                      "vi",
		"Bahari ni tulivu na meli iko tayari kwa safari ya leo": "sw",
		"Meri on tyyni ja laiva on valmis":                      "fi",
		"Morze jest spokojne i statek jest gotowy do drogi":     "pl",
		"Море спокойно, и корабль готов":                        "ru",
		"Море спокійне, і корабель готовий":                     "uk",
		"Морето е спокойно и корабът е готов":                   "bg",
		"البحر هادئ والسفينة في الميناء":                        "ar",
		"دریا آرام است و کشتی آماده است":                        "fa",
		"سمندر پرسکون ہے اور جہاز تیار ہے":                      "ur",
		"समुद्र शांत है और जहाज तैयार है":                       "hi",
		"समुद्र शांत आहे आणि जहाज तयार आहे":                     "mr",
		"海は静かで、船は準備ができています":                                     "ja",
		"大海很平静，船已经准备好了":                                         "zh",
		"바다는 고요하고 배는 준비되었습니다":                                   "ko",
		"ทะเลสงบและเรือพร้อมแล้ว":                               "th",
		"הים רגוע והספינה מוכנה":                                "he",
		"கடல் அமைதியாக உள்ளது":                                  "ta",
		"ok": "",
	} {
		if got, ok := detectLanguage(text); got != want || !ok {
			t.Errorf("detectLanguage(%q) = %q, %v, want %q", text, got, ok, want)
		}
	}
	if n := len(languageCodes()); n != 43 {
		t.Errorf("%d languages: the text of needsLanguage says 43", n)
	}
	for _, code := range strings.Fields("en es pt ar hi fr ru de ja it bn uk th ur ta te bg ko pl he fa vi ne sw kn mr gu pa ml fi") {
		if !slices.Contains(languageCodes(), code) {
			t.Errorf("%s, a language of IFEval, is missing", code)
		}
	}
	if _, ok := detectLanguage("12 !?"); ok {
		t.Error("text without letters has a language")
	}
}
