package worker

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"os"
	"time"
)

// variable is set in children to the name of their engine.
const variable = "RLZERO_ENGINE"

// exitOverTime is the exit code of a child that ended itself at its limit.
const exitOverTime = 3

// graceful is the processor time that an engine has to stop when asked.
const graceful = 200 * time.Millisecond

const maxMessageBytes = 64 << 20

// Report is what a program did in an engine.
type Report struct {
	Stdout string
	Result string // JSON: what the function returned that was called
	Failed string // how the program failed, or ""
	Broke  string // how the engine itself broke, or what was wrong before the program began, or ""
}

// Register makes an engine known by name: run runs a task of type T, and starts a
// [Guard] before it runs what it was given. In a child of that name Register serves
// until its input ends, and does not return.
func Register[T any](name string, run func(T) Report) {
	if os.Getenv(variable) != name {
		return
	}
	in, out := bufio.NewReader(os.Stdin), bufio.NewWriter(os.Stdout)
	for {
		request, err := receive(in)
		if err != nil {
			os.Exit(0) // the parent is done, or gone
		}
		var task T
		report := Report{Broke: "the request is no task"}
		if json.Unmarshal(request, &task) == nil {
			report = run(task)
		}
		response, _ := json.Marshal(report) // of strings: it cannot fail
		if send(out, response) != nil || out.Flush() != nil {
			os.Exit(0)
		}
	}
}

// Guard calls stop when the process has used limit more processor time, and ends
// the process when it goes on. The caller calls done when it is through; over says
// whether the limit was met until then.
func Guard(limit time.Duration, stop func()) (done func() (over bool)) {
	ctx, cancel := context.WithCancel(context.Background())
	met := make(chan bool, 1)
	until := processorTime() + limit
	go func() {
		over := false
		for {
			left := until - processorTime()
			if left <= 0 && over {
				os.Exit(exitOverTime)
			}
			if left <= 0 {
				over, left = true, graceful
				until += graceful
				stop()
			}
			// A program runs on one processor, which cannot use up time faster than
			// the clock; what the collector uses beside it only makes this late.
			wait, release := context.WithTimeout(ctx, max(left, time.Millisecond))
			<-wait.Done()
			release()
			if ctx.Err() != nil {
				met <- over
				return
			}
		}
	}()
	return func() bool {
		cancel()
		return <-met
	}
}

func send(w io.Writer, message []byte) error {
	var size [4]byte
	binary.LittleEndian.PutUint32(size[:], uint32(len(message)))
	if _, err := w.Write(size[:]); err != nil {
		return err
	}
	_, err := w.Write(message)
	return err
}

func receive(r io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint32(size[:])
	if n > maxMessageBytes {
		return nil, io.ErrShortBuffer
	}
	message := make([]byte, n)
	_, err := io.ReadFull(r, message)
	return message, err
}
