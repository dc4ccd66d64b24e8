package browser

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// Unwatched ends what Complaints hears of the page, of which each request is told: that costs
// the browser a third of what the page does.
func (b *Browser) Unwatched() {
	b.t.Helper()
	for _, domain := range domains {
		b.call(domain+".disable", nil, nil)
	}
}

// Processor is the processor time that all processes of the browser have taken so far, those
// that have ended apart. Linux alone tells it, to 10 ms.
func (b *Browser) Processor() time.Duration {
	b.t.Helper()
	parents, took := map[int]int{}, map[int]time.Duration{}
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	must(b.t, err)
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended meanwhile
		}
		pid, parent, t, err := parseStat(data)
		if err != nil {
			b.t.Fatalf("%s: %v", name, err)
		}
		parents[pid], took[pid] = parent, t
	}
	sum := time.Duration(0)
	for pid := range parents {
		for p := pid; p > 0; p = parents[p] {
			if p == b.process.Process.Pid {
				sum += took[pid]
				break
			}
		}
	}
	return sum
}

// parseStat takes a process, its parent and its time from what Linux says of it: proc(5),
// fields 1, 4, 14 and 15. A tick is 10 ms on every architecture that Go runs on.
func parseStat(data []byte) (pid, parent int, took time.Duration, err error) {
	end := bytes.LastIndexByte(data, ')') // of the name, which may hold anything
	fields := bytes.Fields(data[end+1:])
	if end < 0 || len(fields) < 13 {
		return 0, 0, 0, fmt.Errorf("%q is not as proc(5) has it", data)
	}
	head, _, _ := bytes.Cut(data, []byte(" "))
	var numbers [4]int
	for i, text := range [][]byte{head, fields[1], fields[11], fields[12]} {
		if numbers[i], err = strconv.Atoi(string(text)); err != nil {
			return 0, 0, 0, err
		}
	}
	return numbers[0], numbers[1], time.Duration(numbers[2]+numbers[3]) * 10 * time.Millisecond, nil
}
