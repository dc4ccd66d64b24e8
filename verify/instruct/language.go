package instruct

import (
	"slices"
	"strings"
	"unicode"
)

// scripts are the writing systems that name a language, or a group of them.
// weight balances how much one letter says.
var scripts = []struct {
	table  *unicode.RangeTable
	group  string
	weight int
}{
	{unicode.Latin, "latin", 1}, {unicode.Cyrillic, "cyrillic", 1}, {unicode.Arabic, "arabic", 1},
	{unicode.Devanagari, "devanagari", 1}, {unicode.Han, "zh", 3}, {unicode.Hiragana, "ja", 3},
	{unicode.Katakana, "ja", 3}, {unicode.Hangul, "ko", 2}, {unicode.Thai, "th", 1}, {unicode.Hebrew, "he", 1},
	{unicode.Greek, "el", 1}, {unicode.Bengali, "bn", 1}, {unicode.Tamil, "ta", 1}, {unicode.Telugu, "te", 1},
	{unicode.Gujarati, "gu", 1}, {unicode.Gurmukhi, "pa", 1}, {unicode.Kannada, "kn", 1}, {unicode.Malayalam, "ml", 1},
}

// language is one of several that share a script: frequent words, and letters
// that the others lack.
type language struct {
	code, group string
	words       map[string]bool
	letters     string
}

func newLanguage(code, group, letters, words string) language {
	return language{code, group, wordSet(words), letters}
}

// languages are told apart by their function words. The first of those with the
// same score wins.
var languages = []language{
	newLanguage("en", "latin", "", "the a an and of to in is are was were be it that this these for on with as at by from not but or we you i he she they have has had will would can there my your his her our what which who how over hello world"),
	newLanguage("de", "latin", "äöüß", "der die das und ist ein eine einen nicht ich du er sie es wir ihr mit von zu im in den dem des auf für über auch als an bei aus wie so dass sich hat war oder"),
	newLanguage("fr", "latin", "çêèâîôûœë", "le la les un une des du de et est dans que qui sur pour pas ne ce cette ces il elle nous vous je tu avec au aux en mon ma son sa se par plus ou où mais ceci voilà"),
	newLanguage("es", "latin", "ñ¿¡áíóú", "el la los las un una unos de del y es en que por para con no se su sus al lo como más pero este esta yo tú muy sobre también hay ser está son"),
	newLanguage("pt", "latin", "ãõçâê", "o a os as um uma de do da dos das e é em no na nos nas que por para com não se seu sua ao mais mas este esta eu você muito como também são está"),
	newLanguage("it", "latin", "òìù", "il lo la gli le un una di del della dei delle e è in nel nella che per con non si su sul al alla come più ma questo questa io tu molto anche sono ho da"),
	newLanguage("nl", "latin", "", "de het een en van is in op dat die niet met voor zijn aan ook als maar om er bij dit deze ik je hij zij wij naar uit over wordt"),
	newLanguage("sv", "latin", "å", "och att det en ett är på som för med av inte den jag han hon vi de till har om men från var eller"),
	newLanguage("da", "latin", "æø", "og at det en et er på som for med af ikke den jeg han hun vi de til har om men fra var eller"),
	newLanguage("no", "latin", "æø", "og å det en et er på som for med av ikke den jeg han hun vi de til har om men fra var eller dette"),
	newLanguage("fi", "latin", "ä", "ja on ei se että hän joka oli mutta ovat tämä kun niin myös kuin sen minä olen tai mitä jos vain"),
	newLanguage("pl", "latin", "ąęłśźżćń", "i w na z się nie jest to że do o jak po ale od za co tak jego jej był dla przez lub są ten ta"),
	newLanguage("cs", "latin", "ěřůčšž", "a v na je se že to z s do o i ale jak by po pro za jsem jsou byl nebo tak jako"),
	newLanguage("ro", "latin", "șțăâţş", "și în de la cu pe este un o nu că din se mai pentru care sunt sau al a fost dar"),
	newLanguage("hu", "latin", "őűö", "a az és hogy nem is egy ez meg van de csak volt mint már ha vagy"),
	newLanguage("tr", "latin", "ığşç", "ve bir bu da de için ile çok ne daha gibi ama var olan olarak o değil mi"),
	newLanguage("vi", "latin", "ạảấầẩẫậắằẳẵặẹẻẽếềểễệịỉọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹđơư", "và là của có không một những được trong cho với người này"),
	newLanguage("id", "latin", "", "dan yang di ke dari ini itu untuk dengan tidak adalah dalam pada saya kami akan oleh juga sebagai ada"),
	newLanguage("tl", "latin", "", "ang ng mga sa na ay at ko siya hindi ito para kung may"),
	newLanguage("sw", "latin", "", "ya wa na kwa ni hii ni za la katika kuwa hiyo huo cha hali kuhusu pia kama watu yake"),
	newLanguage("ru", "cyrillic", "ыэё", "и в не на что он с как это по но из у за от же так о она они мы я его для"),
	newLanguage("uk", "cyrillic", "іїєґ", "і в не на що він з як це до та але із у за від так про вона вони ми я його для"),
	newLanguage("bg", "cyrillic", "ъ", "и в не на че той с как това по но от за да се е са ще аз си"),
	newLanguage("mk", "cyrillic", "ѓќѕљњџј", "и во не на дека тој со како ова по но од за да се е"),
	newLanguage("ar", "arabic", "ةىأإ", "في من على إلى هذا هذه أن التي الذي ما لا هو هي مع عن كان"),
	newLanguage("fa", "arabic", "پچژگکی", "و در به از که این است را با آن برای یک می"),
	newLanguage("ur", "arabic", "ٹڈڑںےہ", "اور کے کی کا میں ہے سے کو ہیں یہ نہیں پر ایک"),
	newLanguage("hi", "devanagari", "", "है में का के की और से को हैं यह एक नहीं पर कि ने बारे"),
	newLanguage("mr", "devanagari", "ळ", "आहे आणि आहेत या हे ही एक मध्ये नाही होते ते व"),
	newLanguage("ne", "devanagari", "", "छ छन् हो र मा को लाई यो एक पनि भएको गर्न"),
}

// minLetters is how many Latin letters are too few to tell a language.
const minLetters = 5

// detectLanguage guesses the language of a text by its script, then by the
// frequent words and rare letters of the languages that share the script. ok is
// false for text without letters; code is "" where nothing speaks for any.
func detectLanguage(text string) (code string, ok bool) {
	weights, letters := map[string]int{}, 0
	for _, r := range text {
		if !unicode.IsLetter(r) && !unicode.IsMark(r) {
			continue
		}
		letters++
		for _, s := range scripts {
			if unicode.Is(s.table, r) {
				weights[s.group] += s.weight
				break
			}
		}
	}
	if weights["ja"] > 0 {
		weights["ja"] += weights["zh"] // kana and Han together are Japanese
		delete(weights, "zh")
	}
	group := ""
	for _, s := range scripts {
		if weights[s.group] > weights[group] {
			group = s.group
		}
	}
	if letters < minLetters && group == "latin" {
		return "", letters > 0
	}
	if code, shared := amongSharing(group, lower(text)); shared {
		return code, true
	}
	return group, letters > 0
}

// amongSharing picks one of the languages that share a script; shared is false
// when the script has one language only.
func amongSharing(group, text string) (code string, shared bool) {
	words := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) })
	known := map[string]int{}
	for _, w := range words {
		known[w]++
	}
	best := 0
	for _, l := range languages {
		if l.group != group {
			continue
		}
		shared = true
		score := 0 // a frequent word and a rare letter count alike
		for w, n := range known {
			if l.words[w] {
				score += n
			}
		}
		for _, r := range l.letters {
			score += min(strings.Count(text, string(r)), len(words))
		}
		if score > best {
			best, code = score, l.code
		}
	}
	if code == "" && shared {
		code = fallbacks[group]
		if group == "latin" && len(words) < 3 {
			code = "" // a word or two without a function word may be anything
		}
	}
	return code, shared
}

// fallbacks are guessed where no frequent word occurs.
var fallbacks = map[string]string{"latin": "en", "cyrillic": "ru", "arabic": "ar", "devanagari": "hi"}

// languageCodes are the codes that detectLanguage can answer.
func languageCodes() []string {
	var codes []string
	for _, l := range languages {
		codes = append(codes, l.code)
	}
	for _, s := range scripts {
		if _, shared := fallbacks[s.group]; !shared && !slices.Contains(codes, s.group) {
			codes = append(codes, s.group)
		}
	}
	slices.Sort(codes)
	return codes
}

func responseLanguage(k *kwargs) check {
	asked := k.text("language")
	code, _, _ := strings.Cut(asked, "-") // zh-cn and zh-tw are not told apart
	if codes := languageCodes(); k.err == nil && !slices.Contains(codes, code) {
		k.fail("kwargs: language is %s; accepted: %s", quote(asked), strings.Join(codes, ", "))
	}
	return func(text string) finding {
		found, ok := detectLanguage(text)
		if !ok {
			return result(true, "there is no letter, which counts as every language")
		}
		if found == "" {
			found = "unknown"
		}
		return result(found == code, "the language is %s; expected %s", found, quote(asked))
	}
}

// englishIn asks for English in one case.
func englishIn(what string, inCase func(string) bool) check {
	return func(text string) finding {
		if !inCase(text) {
			return result(false, "not all letters are in %s, or there are none", what)
		}
		found, ok := detectLanguage(text)
		return result(!ok || found == "en", "in %s, the language is %s; expected en", what, found)
	}
}
