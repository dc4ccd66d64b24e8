//go:build !js

package worker

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// variable is set in children to the name of their engine.
const variable = "RLZERO_ENGINE"

// Exit codes of a child that ended itself at a limit.
const (
	exitOverTime   = 3
	exitOverMemory = 4
)

// graceful is the processor time that an engine has to stop when asked.
const graceful = 200 * time.Millisecond

// look is how often a Guard looks at the memory: what a program can take in that time
// is little beside any limit.
const look = 10 * time.Millisecond

const maxMessageBytes = 64 << 20

// Register makes an engine known by name: run runs a task of type T, and starts a
// [Guard] before it runs what it was given. In a child of that name Register serves
// until its input ends, and does not return.
func Register[T any](name string, run func(T) Report) {
	if os.Getenv(variable) != name {
		return
	}
	// What interrupts the program reaches its children too. The parent says when they end.
	signal.Ignore(interruptions...)
	in, out := bufio.NewReader(os.Stdin), bufio.NewWriter(os.Stdout)
	for {
		request, err := receive(in)
		if err != nil {
			os.Exit(0) // the parent is done, or gone
		}
		var task T
		report := Report{Broke: "the request is no task"}
		if json.Unmarshal(request, &task) == nil {
			began := processorTime()
			report = run(task)
			report.Used = processorTime() - began
		}
		response, _ := json.Marshal(report) // of strings: it cannot fail
		if send(out, response) != nil || out.Flush() != nil {
			os.Exit(0)
		}
		if memoryLimit > 0 && memoryInUse() > memoryLimit/4 {
			debug.FreeOSMemory() // the next task begins with as much room as this one
		}
	}
}

// memoryLimit is what [LimitMemory] was told, in bytes; 0: nothing yet.
var memoryLimit uint64

// LimitMemory ends this process when it takes more than the given number of bytes: on
// Linux in any case, as its allocations fail; elsewhere while a [Guard] looks on, which
// sees the memory of Go alone.
func LimitMemory(bytes int) {
	memoryLimit = uint64(bytes)
	limitData(bytes)
}

// memoryInUse is what Go has of the system's memory, in bytes.
func memoryInUse() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64() - sample[1].Value.Uint64()
}

// allowance is the processor time that a program may use: its limit and, from the moment
// when it is asked to stop, [graceful] more.
type allowance struct {
	until time.Duration // processor time of the process
	asked bool
}

// spent says what follows from the processor time of the process: whether the program is
// now asked to stop, or has gone on too long after that. The grace begins with the asking
// and not with the limit: on a busy machine the guard may look long after it was met.
func (a *allowance) spent(used time.Duration) (ask, end bool) {
	switch {
	case used < a.until:
		return false, false
	case a.asked:
		return false, true
	}
	a.until, a.asked = used+graceful, true
	return true, false
}

// Guard calls stop when the process has used limit more processor time, and ends
// the process when it goes on, or when it is over its limit of memory. The caller
// calls done when it is through; over says whether the limit of time was met until
// then.
func Guard(limit time.Duration, stop func()) (done func() (over bool)) {
	ctx, cancel := context.WithCancel(context.Background())
	met := make(chan bool, 1)
	a := allowance{until: processorTime() + limit}
	go func() {
		for {
			if memoryLimit > 0 && memoryInUse() > memoryLimit {
				os.Exit(exitOverMemory)
			}
			used := processorTime()
			ask, end := a.spent(used)
			if end {
				os.Exit(exitOverTime)
			}
			if ask {
				stop()
			}
			// A program runs on one processor, which cannot use up time faster than
			// the clock; what the collector uses beside it only makes this late.
			wait, release := context.WithTimeout(ctx, min(max(a.until-used, time.Millisecond), look))
			<-wait.Done()
			release()
			if ctx.Err() != nil {
				met <- a.asked
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
