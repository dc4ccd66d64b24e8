package instruct

import "strings"

// wordSet makes a set of the words of the lines.
func wordSet(lines ...string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(strings.Join(lines, " ")) {
		set[w] = true
	}
	return set
}

// stopWords are what ratio:stop_words is about: the entries without an
// apostrophe of NLTK's English list of 2023 (a word of that check is a run of
// letters, so that the others never match), here by their grammar. The verdict
// depends on each of them.
var stopWords = wordSet(
	// Personal, possessive and reflexive pronouns.
	"i me my myself we our ours ourselves you your yours yourself yourselves",
	"he him his himself she her hers herself it its itself",
	"they them their theirs themselves",
	// Question words, demonstratives, articles, quantities.
	"what which who whom when where why how this that these those a an the",
	"all any both each few more most other some such own same only no nor not",
	// Auxiliary verbs.
	"am is are was were be been being have has had having do does did doing",
	"can will should",
	// Conjunctions and prepositions.
	"and but if or because as until while than so of at by for with about against between into",
	"through during before after above below to from up down in out on off over under",
	// Adverbs.
	"again further then once here there too very just now",
	// What contractions fall into: don't is don and t, it's is it and s.
	"s t d ll m o re ve y ma ain aren couldn didn doesn don hadn hasn haven isn mightn mustn needn",
	"shan shouldn wasn weren won wouldn",
)

// conjunctions are the coordinating ones.
var conjunctions = wordSet("and but for nor or so yet")

// pronouns are those that count:pronouns counts.
var pronouns = wordSet(
	"i me we us you he him she her it they them",
	"my mine our ours your yours his hers its their theirs",
	"myself ourselves yourself yourselves himself herself itself themselves",
	"this that these those who whom whose which what whoever whomever whatever whichever",
	"anybody anyone anything everybody everyone everything nobody nothing somebody someone something",
	"each either neither both all some any none",
)

// benchNames is the list that the instruction of count:person_names shows.
var benchNames = strings.Fields(`
Emma Liam Sophia Jackson Olivia Noah Ava Lucas Isabella Mason Mia Ethan Charlotte Alexander Amelia
Benjamin Harper Leo Zoe Daniel Chloe Samuel Lily Matthew Grace Owen Abigail Gabriel Ella Jacob
Scarlett Nathan Victoria Elijah Layla Nicholas Audrey David Hannah Christopher Penelope Thomas Nora
Andrew Aria Joseph Claire Ryan Stella Jonathan`)

// capitalsByLatitude is the answer that custom:european_capitals_sort asks for.
var capitalsByLatitude = strings.Fields(`
Reykjavik Helsinki Oslo Tallinn Stockholm Riga Moscow Copenhagen Vilnius Minsk Dublin Berlin
Amsterdam Warsaw London Brussels Prague Luxembourg Paris Vienna Bratislava Budapest Vaduz Chisinau
Bern Ljubljana Zagreb`)

// abbreviations are words whose full stop ends no sentence, in lower case and
// without it.
var abbreviations = wordSet(
	"st jr sr inc ltd co corp bros vs etc al cf ca dept est fig vol pp ave blvd rd mt ft",
	"jan feb mar apr aug sep sept oct nov dec mon tues wed thurs fri",
	"a.m p.m u.s u.k u.n u.s.a ph.d b.c a.d d.c n.y l.a",
)

// titles are abbreviations that a name follows, and nameInitials letters that
// stand for first names: no sentence ends after them.
var (
	titles       = wordSet("mr mrs ms dr prof rev hon messrs gen col maj capt cpt lt sgt adm gov sen rep pres")
	nameInitials = wordSet("c d f g h j k l m n p r s t v w")
)

// sentenceStarters are capitalized words after which a full stop, be it of an
// abbreviation, has ended a sentence.
var sentenceStarters = capitalized(
	"the a an this that these those it he she they we you there here in on at as if when while after",
	"before but and or so yet for however moreover meanwhile then thus also what who why where how",
	"his her its their our my your some many most all each both once since because although under with",
	"from by to of not no is are was were do does did have has had can could will would should may let please",
)

func capitalized(lines ...string) map[string]bool {
	set := map[string]bool{}
	for w := range wordSet(lines...) {
		set[strings.ToUpper(w[:1])+w[1:]] = true
	}
	return set
}

// commonVerbs are verbs that answers begin with, in their base form.
var commonVerbs = wordSet(
	"let be do have make take give get come use find try add set put turn choose pick create build",
	"consider imagine open bring hold call watch paint start begin write read think tell ask show see say",
	"know learn teach play help buy pay send spend leave meet include continue provide follow ensure avoid",
	"allow become write draw cut mix serve pour stir cook bake heat boil place cover",
	"gather prepare apply select click check visit join share discover explore enjoy maintain compare",
	"identify implement develop improve increase reduce replace remove install download submit return",
	"break prove catch drive throw speak sing drink feel fall grow lose win wear sit stand",
)

// looksLikeVerb guesses whether a word that begins a text is a verb; next is
// the word after it.
func looksLikeVerb(word, next string) bool {
	low := lower(word)
	switch {
	case commonVerbs[low], auxiliaries[low]:
		return true
	case len(low) > 5 && strings.HasSuffix(low, "ing"), len(low) > 4 && strings.HasSuffix(low, "ed"):
		return true
	}
	return false
}

// auxiliaries are verb forms that questions begin with.
var auxiliaries = wordSet("is are were am be been has had do does did having being doing")
