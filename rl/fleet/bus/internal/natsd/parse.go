package natsd

import (
	"bufio"
	"bytes"
	"io"
)

// refusal is what a client is told by -ERR before its connection is closed. Clients know these
// texts.
type refusal string

func (r refusal) Error() string { return string(r) }

const (
	unknownVerb  refusal = "Unknown Protocol Operation"
	malformed    refusal = "Parser Error"
	longLine     refusal = "Maximum Control Line Exceeded"
	longPayload  refusal = "Maximum Payload Violation"
	unauthorized refusal = "Authorization Violation"
	late         refusal = "Authentication Timeout"
	stale        refusal = "Stale Connection"
	crowded      refusal = "Maximum Connections Exceeded"
	queueGroup   refusal = "Queue Groups Are Not Supported"
)

const (
	maxLine    = 4096     // bytes of a command, its end and without what is published; NATS has the same
	maxPayload = 1 << 20  // bytes of what is published, headers among them; NATS has the same by default
	readBytes  = 16 << 10 // are read at once, of commands or of short messages
)

// command is what a client says at once.
type command struct {
	verb    string // CONNECT, PUB, HPUB, SUB, UNSUB, PING or PONG
	subject string // of PUB, HPUB and SUB, as it was sent
	reply   string // of PUB and HPUB: where a reply is wanted; "": nowhere
	sid     string // of SUB and UNSUB: the client's name for the subscription
	most    int    // of UNSUB: messages since SUB; 0: it ends at once
	headers int    // of HPUB: so many bytes of body
	body    []byte // of PUB and HPUB, with CR LF after it; of CONNECT JSON, valid until the next command
}

// parser takes commands from what a client sends.
type parser struct{ in *bufio.Reader }

func newParser(r io.Reader) parser { return parser{bufio.NewReaderSize(r, readBytes)} }

// next is the next command. known says who sends it: of others than those that have connected nothing
// but CONNECT is read, so that a stranger has no memory for a message. The error is a refusal, or of
// the reader.
func (p parser) next(known bool) (command, error) {
	line, err := p.in.ReadSlice('\n')
	if len(line) > maxLine {
		return command{}, longLine
	}
	if err != nil {
		return command{}, err
	}
	line = bytes.TrimLeft(bytes.TrimSuffix(line[:len(line)-1], []byte{'\r'}), " \t")
	words, n, err := split(line)
	if err != nil {
		return command{}, err
	}
	verb, there := verbs[string(words[0])]
	switch {
	case !there:
		return command{}, unknownVerb
	case !known && verb != "CONNECT":
		return command{}, unauthorized
	case verb == "CONNECT":
		return command{verb: verb, body: bytes.TrimSpace(line[len(verb):])}, nil
	case (verb == "PING" || verb == "PONG") && n == 1:
		return command{verb: verb}, nil
	case verb == "SUB" && n == 3:
		return command{verb: verb, subject: string(words[1]), sid: string(words[2])}, nil
	case verb == "SUB" && n == 4:
		return command{}, queueGroup
	case verb == "UNSUB" && n == 2:
		return command{verb: verb, sid: string(words[1])}, nil
	case verb == "UNSUB" && n == 3:
		most, err := number(words[2])
		return command{verb: verb, sid: string(words[1]), most: most}, err
	case verb == "PUB" && (n == 3 || n == 4), verb == "HPUB" && (n == 4 || n == 5):
		return p.published(verb, words[1:n])
	}
	return command{}, malformed
}

// verbs are all there are, to be found without making a string of each word.
var verbs = map[string]string{"CONNECT": "CONNECT", "PUB": "PUB", "HPUB": "HPUB", "SUB": "SUB", "UNSUB": "UNSUB", "PING": "PING", "PONG": "PONG"}

// published is a PUB or HPUB: subject, reply or not, bytes of headers for HPUB, bytes of all.
func (p parser) published(verb string, words [][]byte) (command, error) {
	c := command{verb: verb, subject: string(words[0])}
	numbers := words[len(words)-1:]
	if verb == "HPUB" {
		numbers = words[len(words)-2:]
	}
	if len(words) > 1+len(numbers) {
		c.reply = string(words[1])
	}
	all, err := number(numbers[len(numbers)-1])
	if err == nil && verb == "HPUB" {
		c.headers, err = number(numbers[0])
	}
	switch {
	case err != nil:
		return command{}, err
	case all > maxPayload:
		return command{}, longPayload
	case c.headers > all:
		return command{}, malformed
	}
	c.body = make([]byte, all+len(lineEnd))
	if _, err := io.ReadFull(p.in, c.body); err != nil {
		return command{}, err
	}
	if string(c.body[all:]) != lineEnd {
		return command{}, malformed // more or less was sent than was said
	}
	return c, nil
}

const lineEnd = "\r\n"

// maxWords is one more than any verb has, CONNECT apart.
const maxWords = 6

// split cuts a line into its words, and makes the first upper case. Spaces and tabs are between
// them; no byte is a control character. n is how many there are, at most maxWords.
func split(line []byte) (words [maxWords][]byte, n int, err error) {
	inWord, begin := false, 0
	for i, b := range line {
		switch {
		case b < ' ' && b != '\t' || b == 0x7f:
			return words, 0, malformed
		case b == ' ' || b == '\t':
			inWord = false
			continue
		case !inWord:
			inWord, begin, n = true, i, min(n+1, maxWords)
		}
		if n == 1 && 'a' <= b && b <= 'z' {
			line[i] -= 'a' - 'A'
		}
		words[n-1] = line[begin : i+1]
	}
	return words, n, nil
}

// number reads digits.
func number(word []byte) (int, error) {
	const most = 9 // digits, so that none is too large for an int
	if len(word) > most {
		return 0, malformed
	}
	n := 0
	for _, b := range word {
		if b < '0' || b > '9' {
			return 0, malformed
		}
		n = 10*n + int(b-'0')
	}
	return n, nil
}
