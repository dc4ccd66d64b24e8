package host

import (
	"math"
	"os"
	"strconv"
	"strings"
)

// Memory is how many bytes of system memory a device may use, 0 if the system
// does not say. An eighth of what is free is left to the rest of the process and
// to the system.
func Memory() int {
	meminfo, _ := os.ReadFile("/proc/meminfo")
	limit, _ := os.ReadFile("/sys/fs/cgroup/memory.max")
	used, _ := os.ReadFile("/sys/fs/cgroup/memory.current")
	free := min(availableMemory(string(meminfo)), cgroupMemory(string(limit), string(used)))
	if free == math.MaxInt {
		return 0
	}
	return free / 8 * 7
}

// availableMemory reads MemAvailable, in bytes, out of /proc/meminfo
// (https://www.kernel.org/doc/html/latest/filesystems/proc.html#meminfo);
// math.MaxInt if it is not there.
func availableMemory(meminfo string) int {
	for line := range strings.Lines(meminfo) {
		fields := strings.Fields(line)
		if len(fields) == 3 && fields[0] == "MemAvailable:" {
			if kib, err := strconv.Atoi(fields[1]); err == nil {
				return kib << 10
			}
		}
	}
	return math.MaxInt
}

// cgroupMemory is what a container's limit leaves, in bytes; math.MaxInt without
// a limit (https://docs.kernel.org/admin-guide/cgroup-v2.html#memory).
func cgroupMemory(limit, used string) int {
	most, err := strconv.Atoi(strings.TrimSpace(limit))
	if err != nil { // "max", or no such file
		return math.MaxInt
	}
	now, _ := strconv.Atoi(strings.TrimSpace(used))
	return max(0, most-now)
}
