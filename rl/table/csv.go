package table

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"
)

// delimiters are tried in this order: the first of the most frequent ones counts.
const delimiters = ",;\t|"

// readCSV reads a file with a header, as RFC 4180 has it but for the delimiter.
func readCSV(name string, f *os.File, do func(number int, r Row) error) error {
	in := &bounded{in: f}
	in.reset()
	text := bufio.NewReaderSize(in, 1<<16)
	if mark, _ := text.Peek(3); bytes.Equal(mark, []byte("\uFEFF")) {
		if _, err := text.Discard(3); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	head, _ := text.Peek(1 << 16) // shorter where the file is; a fault comes again when it is read
	r := csv.NewReader(text)
	r.Comma = delimiter(head)
	r.FieldsPerRecord = -1 // checked below, with the header's number in the error
	header, err := record(r)
	switch {
	case err == io.EOF:
		return fmt.Errorf("%s is empty; accepted: a CSV file whose first line names the columns", name)
	case err != nil:
		return fmt.Errorf("%s: %w", name, err)
	}
	seen := map[string]bool{}
	for _, column := range header {
		if seen[column] {
			return fmt.Errorf("%s: line 1: two columns are called %q", name, column)
		}
		seen[column] = true
	}
	for {
		in.reset()
		fields, err := record(r)
		if err == io.EOF {
			return nil
		}
		if err == nil {
			line, _ := r.FieldPos(0)
			if err = row(header, fields, r.Comma, func(r Row) error { return do(line, r) }); err != nil {
				err = fmt.Errorf("line %d: %w", line, err)
			}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
}

// row hands on a record.
func row(header, fields []string, comma rune, do func(Row) error) error {
	if len(fields) != len(header) {
		return fmt.Errorf("found %d fields; accepted: %d, as in the header (separated by %q)", len(fields), len(header), comma)
	}
	r := make(Row, len(fields))
	for i, field := range fields {
		raw, err := json.Marshal(field)
		if err != nil {
			return err
		}
		r[header[i]] = raw
	}
	return do(r)
}

// record reads a record of UTF-8 text. Errors begin with the line.
func record(r *csv.Reader) ([]string, error) {
	fields, err := r.Read()
	var wrong *csv.ParseError
	if errors.As(err, &wrong) {
		switch {
		case errors.Is(err, csv.ErrQuote) && wrong.Line > wrong.StartLine:
			return nil, fmt.Errorf("line %d: a quoted field of the record that begins here is not closed by line %d", wrong.StartLine, wrong.Line)
		case errors.Is(err, csv.ErrQuote):
			return nil, fmt.Errorf("line %d: byte %d: the quotes of a quoted field are not closed, or text follows them; a quote inside is written twice", wrong.Line, wrong.Column)
		case errors.Is(err, csv.ErrBareQuote):
			return nil, fmt.Errorf("line %d: byte %d: a quote stands inside a field without quotes; put the field in quotes and write the quote twice", wrong.Line, wrong.Column)
		}
		return nil, fmt.Errorf("line %d: %w", wrong.Line, wrong.Err)
	}
	if err != nil {
		if err != io.EOF {
			err = fmt.Errorf("after byte %d: %w", r.InputOffset(), err)
		}
		return nil, err
	}
	for i, field := range fields {
		if !utf8.ValidString(field) {
			line, column := r.FieldPos(i)
			return nil, fmt.Errorf("line %d: byte %d: the field that begins here is not UTF-8 text", line, column)
		}
	}
	return fields, nil
}

// delimiter is the delimiter that is most frequent in the header, quoted text aside.
func delimiter(head []byte) rune {
	counts := map[rune]int{}
	quoted := false
	for _, c := range string(head) {
		if c == '"' {
			quoted = !quoted
		}
		if c == '\n' && !quoted {
			break
		}
		if !quoted && strings.ContainsRune(delimiters, c) {
			counts[c]++
		}
	}
	best := rune(delimiters[0])
	for _, c := range delimiters {
		if counts[c] > counts[best] {
			best = c
		}
	}
	return best
}
