package instruct

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// The types of IFBench that are one task each.
var benchCustomKinds = []kind{
	{"custom:multiples", "the numbers are the multiples of 7 from 14 to 49", "", "any text may be between them", 0,
		func(*kwargs) check { return multiplesOf7 }},
	{"custom:mcq_count_length", "there are four questions of five options, each longer than the one before", "", "", 0,
		func(*kwargs) check { return multipleChoice }},
	{"custom:reverse_newline", "from the line with Zimbabwe on, 52 or more lines are in reverse alphabetical order", "",
		"the content of the lines is not checked; accents are dropped", 0, func(*kwargs) check { return reverseLines }},
	{"custom:word_reverse", `the completion, read backwards word by word, contains "bald eagle"`, "",
		`"eagle bald" is enough`, 0, func(*kwargs) check { return wordsReversed }},
	{"custom:character_reverse", `the completion contains "elgae dlab"`, "", "case does not count", 0,
		func(*kwargs) check { return lettersReversed }},
	{"custom:european_capitals_sort", "the capitals are in the order of their latitude", "",
		"the original's own list of 27 is expected; accents are dropped", 0, func(*kwargs) check { return capitalsSorted }},
	{"custom:csv_city", "there is a CSV header and seven rows of five fields", "",
		"a bare carriage return, on which the original raises an error, is wrong", 0, func(*kwargs) check { return cityCSV }},
	{"custom:csv_special_character", "there is a CSV header and 14 rows of five fields, one with a special character in quotes",
		"", "the rows after the one that is found are not checked", 0, func(*kwargs) check { return specialCSV }},
	{"custom:csv_quotes", "there is a tab-separated header and three rows of five fields, all in quotes", "",
		"an empty field, on which the original raises an error, is wrong", 0, func(*kwargs) check { return quotedCSV }},
	{"custom:date_format_list", "the completion is dates between commas, from 1769 to 1821", "",
		"day 00, month 00 and any 29 February pass", 0, func(*kwargs) check { return dateList }},
}

func multiplesOf7(text string) finding {
	found := digitRuns(text)
	return result(slices.Equal(found, []string{"14", "21", "28", "35", "42", "49"}),
		"the numbers are %s", quote(join(found[:min(len(found), 20)])))
}

var (
	questionHead = regexp.MustCompile(`\n*Question [` + digitClass + `]+[.|):;]?[` + spaceClass + `]*`)
	optionHead   = regexp.MustCompile(`^[A-Ea-e][.|)][` + spaceClass + `]*[` + wordClass + `]+`)
)

func multipleChoice(text string) finding {
	if !strings.HasPrefix(text, "Question") {
		return result(false, "the completion does not begin with Question")
	}
	var questions []string
	for _, q := range splitAt(questionHead, text) {
		if q = strip(q); q != "" {
			questions = append(questions, q)
		}
	}
	if len(questions) != 4 {
		return result(false, "%s; expected 4", count(len(questions), "question"))
	}
	before := -1
	for i, q := range questions {
		var head []string
		options := 0
		for _, line := range strings.Split(q, "\n") {
			line = strip(line)
			if optionHead.MatchString(line) {
				options++
			} else if options == 0 {
				head = append(head, line)
			}
		}
		if options != 5 {
			return result(false, "question %d has %s; expected 5", i+1, count(options, "option"))
		}
		n := length(strip(join(head)))
		if n <= before {
			return result(false, "question %d has %s, the one before %d", i+1, count(n, "character"), before)
		}
		before = n
	}
	return result(true, "four questions of five options, each longer than the one before")
}

// toASCII decomposes characters and drops what is not ASCII.
func toASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= utf8.RuneSelf {
			return -1
		}
		return r
	}, norm.NFKD.String(s))
}

func reverseLines(text string) finding {
	var lines []string
	for _, line := range strings.Split(text, "\n") {
		line = stripPunct(line)
		if line != "" && (len(lines) > 0 || strings.Contains(line, "Zimbabwe")) {
			lines = append(lines, toASCII(line))
		}
	}
	if len(lines) < 52 {
		return result(false, "%s from Zimbabwe on; expected 52 or more", count(len(lines), "line"))
	}
	for i := 1; i < len(lines); i++ {
		if lines[i] > lines[i-1] {
			return result(false, "%s follows %s", quote(lines[i]), quote(lines[i-1]))
		}
	}
	return result(true, "%s in reverse order", count(len(lines), "line"))
}

func wordsReversed(text string) finding {
	words := split(dropPunct(lower(text)))
	slices.Reverse(words)
	return result(strings.Contains(join(words), "bald eagle"), `the completion, read backwards word by word, must contain "bald eagle"`)
}

func lettersReversed(text string) finding {
	return result(strings.Contains(lower(text), "elgae dlab"), `the completion must contain "elgae dlab"`)
}

func capitalsSorted(text string) finding {
	var capitals []string
	for _, c := range strings.Split(toASCII(text), ",") {
		if c = strip(c); c != "" {
			capitals = append(capitals, c)
		}
	}
	if len(capitals) != len(capitalsByLatitude) {
		return result(false, "%d capitals; expected %d", len(capitals), len(capitalsByLatitude))
	}
	for i, c := range capitals {
		if c != capitalsByLatitude[i] {
			return result(false, "capital %d is %s; expected %s", i+1, quote(c), capitalsByLatitude[i])
		}
	}
	return result(true, "the capitals are in the expected order")
}

// tableShape checks the numbers of rows and fields.
func tableShape(rows [][]string, err error, asked int) finding {
	switch {
	case err != nil:
		return result(false, "%v", err)
	case len(rows) != asked:
		return result(false, "%s; expected %d", count(len(rows), "row"), asked)
	}
	return result(true, "%d rows of 5 fields", asked)
}

func cityCSV(text string) finding {
	rows, err := readCSV(text, ',')
	f := tableShape(rows, err, 8)
	if !f.followed {
		return f
	}
	if !slices.Equal(rows[0], []string{"ID", "Country", "City", "Year", "Count"}) {
		return result(false, "the header is %s", quote(strings.Join(rows[0], ",")))
	}
	return eachRow(rows[1:], f, func([]string) bool { return true })
}

// eachRow asks for five fields in each row, and for what accept says.
func eachRow(rows [][]string, whole finding, accept func(row []string) bool) finding {
	for i, row := range rows {
		if len(row) != 5 || !accept(row) {
			return result(false, "row %d, %s, does not have five fields", i+1, quote(strings.Join(row, " ")))
		}
	}
	return whole
}

var (
	specialHead = csvHead(`,[ \t]*`, "ProductID", "Category", "Brand", "Price", "Stock")
	quotedHead  = csvHead(`\t *`, "StudentID", "Subject", "Grade", "Semester", "Score")
	special     = regexp.MustCompile(`^"[^\n]*[^` + wordClass + spaceClass + `][^\n]*"`)
)

// csvHead is the pattern of a head line; each name may stand in quotes.
func csvHead(separator string, names ...string) *regexp.Regexp {
	parts := make([]string, len(names))
	for i, n := range names {
		parts[i] = `(?:` + n + `|"` + n + `")`
	}
	return regexp.MustCompile(`^` + strings.Join(parts, separator) + `$`)
}

// readQuoted reads a table with a head after its pattern. Quotation marks are
// kept as part of the fields.
func readQuoted(text string, head *regexp.Regexp, separator byte, rows int) ([][]string, finding) {
	line, _, _ := strings.Cut(text, "\n")
	if line = strip(line); !head.MatchString(line) {
		return nil, result(false, "the header is %s", quote(line))
	}
	table, err := readCSV(strings.ReplaceAll(text, `"`, `"""`), separator)
	return table, tableShape(table, err, rows)
}

func specialCSV(text string) finding {
	rows, f := readQuoted(text, specialHead, ',', 15)
	if !f.followed {
		return f
	}
	for i, row := range rows[1:] {
		if len(row) != 5 {
			return result(false, "row %d has %s; expected 5", i+1, count(len(row), "field"))
		}
		if slices.ContainsFunc(row, special.MatchString) {
			return result(true, "row %d has a special character in quotes", i+1)
		}
	}
	return result(false, "no field has a special character in quotes")
}

func quotedCSV(text string) finding {
	rows, f := readQuoted(text, quotedHead, '\t', 4)
	if !f.followed {
		return f
	}
	return eachRow(rows, f, func(row []string) bool {
		for _, field := range row {
			if field = strip(field); !strings.HasPrefix(field, `"`) || !strings.HasSuffix(field, `"`) {
				return false
			}
		}
		return true
	})
}

func dateList(text string) finding {
	dates := strings.Split(strip(text), ",")
	for _, d := range dates {
		if !napoleonic(strip(d)) {
			return result(false, "%s is not a date from 1769 to 1821 as YYYY-MM-DD", quote(strip(d)))
		}
	}
	return result(true, "%s from 1769 to 1821", count(len(dates), "date"))
}

var dateShape = regexp.MustCompile(`^[` + digitClass + `]{4}-[` + digitClass + `]{2}-[` + digitClass + `]{2}$`)

func napoleonic(date string) bool {
	if !dateShape.MatchString(date) {
		return false
	}
	var parts [3]int
	for i, p := range strings.Split(date, "-") {
		for _, r := range p {
			parts[i] = parts[i]*10 + digitValue(r)
		}
	}
	year, month, day := parts[0], parts[1], parts[2]
	days := []int{99, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31} // month 00 has no limit
	return year >= 1769 && year <= 1821 && month <= 12 && day <= days[month]
}

// digitValue is the value of a decimal digit of any script: they stand in
// blocks of ten, from zero on.
func digitValue(r rune) int {
	for _, block := range unicode.Nd.R16 {
		if r >= rune(block.Lo) && r <= rune(block.Hi) {
			return int(r-rune(block.Lo)) % 10
		}
	}
	for _, block := range unicode.Nd.R32 {
		if r >= rune(block.Lo) && r <= rune(block.Hi) {
			return int(r-rune(block.Lo)) % 10
		}
	}
	return 0
}
