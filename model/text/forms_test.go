package text

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"testing"

	unorm "golang.org/x/text/unicode/norm"
)

// TestNormalForms: the forms of all characters below U+30000, and their order beside marks of four classes, are those
// of the package tokenizers 0.22.2: the hash is what peers/golden/normal_forms.py prints.
func TestNormalForms(t *testing.T) {
	h := sha256.New()
	for c := rune(0); c < 0x30000; c++ {
		if 0xd800 <= c && c < 0xe000 {
			continue
		}
		for _, form := range []unorm.Form{unorm.NFC, unorm.NFD, unorm.NFKC, unorm.NFKD} {
			fmt.Fprintln(h, asIn9(form, string(c)))
		}
		for _, mark := range "\u0338\u0316\u0301\u0345" { // classes 1, 220, 230, 240
			fmt.Fprintln(h, asIn9(unorm.NFD, "x"+string(mark)+string(c)))
			fmt.Fprintln(h, asIn9(unorm.NFD, "x"+string(c)+string(mark)))
		}
	}
	if got, want := hex.EncodeToString(h.Sum(nil)), "607dcd88a7a766a9f523b4457007c3aae0bfa7450692f4578ea9b7951bce06fb"; got != want {
		t.Errorf("the hash is %s, want %s", got, want)
	}
	for _, c := range []struct {
		form       unorm.Form
		text, want string
	}{
		{unorm.NFKD, "\u00e9\ua7f4\u00e9", "e\u0301\ua7f4e\u0301"},
		{unorm.NFC, "\U00011935\U00011930", "\U00011935\U00011930"}, // composed since version 13
		{unorm.NFC, "e\u1abf\u0301", "e\u1abf\u0301"},               // not across a later mark
	} {
		if got := asIn9(c.form, c.text); got != c.want {
			t.Errorf("%+q: %+q, want %+q", c.text, got, c.want)
		}
	}
}
