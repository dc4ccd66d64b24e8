package program

import (
	"encoding/json"
	"errors"
)

// begin loads a program that will answer questions. ready is false when it ended
// instead.
func (p *interpreter) begin(j job) (e end, ready bool, err error) {
	request, err := json.Marshal(j)
	if err == nil {
		err = p.send(request)
	}
	if err != nil {
		return e, false, err
	}
	frame, ended, err := p.receive()
	if err != nil || !ended {
		return e, err == nil, err
	}
	err = json.Unmarshal(frame, &e)
	p.bad = p.bad || e.Left
	return e, false, err
}

// converse runs test code and passes its questions to the program in serving, and
// the answers back. Whatever the program answers is a value to the test code, or
// ends the test.
func (p *interpreter) converse(j job, serving *interpreter) (end, error) {
	var e end
	request, err := json.Marshal(j)
	if err == nil {
		err = p.send(request)
	}
	for err == nil {
		frame, ended, failed := p.receive()
		if failed != nil {
			return e, failed
		}
		if ended {
			err = json.Unmarshal(frame, &e)
			p.bad = p.bad || e.Left
			return e, err
		}
		err = p.send(serving.answer(frame))
	}
	return e, err
}

// gone is the answer in the place of a program that has ended.
const gone = `{"raised":"","text":"the program has ended"}`

// answer is the program's answer to a question.
func (p *interpreter) answer(question []byte) []byte {
	if p.bad {
		return []byte(gone)
	}
	err := p.send(question)
	var frame []byte
	var ended bool
	if err == nil {
		frame, ended, err = p.receive()
	}
	if ended {
		p.gone = new(end)
		err = json.Unmarshal(frame, p.gone)
	}
	if err != nil || ended || !json.Valid(frame) {
		p.bad = true
		return []byte(gone)
	}
	return frame
}

// dismiss ends the conversation with a program.
func (p *interpreter) dismiss() error {
	if p.bad {
		return nil // it is closed when it is given back
	}
	if err := p.send([]byte("end")); err != nil {
		return err
	}
	frame, ended, err := p.receive()
	if err == nil && !ended {
		err = errors.New("an answer to no question")
	}
	var e end
	if err == nil {
		err = json.Unmarshal(frame, &e)
	}
	p.bad = p.bad || e.Left
	return err
}
