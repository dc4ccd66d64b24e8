package instruct

import (
	"errors"
	"strings"
)

// maxFieldChars is Python's csv.field_size_limit().
const maxFieldChars = 131072

var errField = errors.New("a CSV field is too long")
var errReturn = errors.New("a carriage return is inside a CSV line")

// readCSV reads a table as Python's csv.reader does over the lines of text:
// quotation marks are doubled inside quotes, text may follow a closing one, an
// open one runs to the end, and an empty line is a row without fields.
func readCSV(text string, separator byte) ([][]string, error) {
	r := csvReader{separator: rune(separator)}
	for _, line := range strings.SplitAfter(text, "\n") {
		if line == "" {
			break // after the last line end
		}
		for _, c := range line {
			if err := r.read(c); err != nil {
				return nil, err
			}
		}
		r.endLine()
	}
	if r.state == csvQuoted || r.chars > 0 {
		r.field()
		r.rows = append(r.rows, r.row)
	}
	return r.rows, nil
}

type csvState int

const (
	csvRow    csvState = iota // before a row
	csvField                  // before a field
	csvPlain                  // in a field
	csvQuoted                 // in quotes
	csvQuote                  // after a quotation mark in quotes
	csvEnd                    // after the end of a row, on its line
)

type csvReader struct {
	separator rune
	state     csvState
	text      strings.Builder // of the field
	chars     int             // in text
	row       []string
	rows      [][]string
}

func (r *csvReader) field() {
	r.row = append(r.row, r.text.String())
	r.text.Reset()
	r.chars = 0
}

func (r *csvReader) read(c rune) error {
	newline := c == '\n' || c == '\r'
	if r.state == csvRow && !newline {
		r.state = csvField
	}
	switch r.state {
	case csvRow:
		r.state = csvEnd
		return nil
	case csvEnd:
		if !newline {
			return errReturn
		}
		return nil
	case csvQuoted:
		if c == '"' {
			r.state = csvQuote
			return nil
		}
		return r.add(c)
	case csvQuote:
		if c == '"' {
			r.state = csvQuoted
			return r.add(c)
		}
	case csvField:
		if c == '"' {
			r.state = csvQuoted
			return nil
		}
	}
	switch {
	case newline:
		r.field()
		r.state = csvEnd
	case c == r.separator:
		r.field()
		r.state = csvField
	default:
		r.state = csvPlain
		return r.add(c)
	}
	return nil
}

func (r *csvReader) add(c rune) error {
	if r.chars++; r.chars > maxFieldChars {
		return errField
	}
	r.text.WriteRune(c)
	return nil
}

// endLine ends the row with the line, unless the line ends inside quotes.
func (r *csvReader) endLine() {
	switch r.state {
	case csvQuoted:
		return
	case csvField, csvPlain, csvQuote: // the last line may lack its line end
		r.field()
	}
	r.rows = append(r.rows, r.row)
	r.row, r.state = nil, csvRow
}
