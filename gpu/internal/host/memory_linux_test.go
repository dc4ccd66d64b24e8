package host

import "testing"

func TestHostMemory(t *testing.T) {
	const meminfo = "MemTotal:       24567 kB\nMemFree:  1 kB\nMemAvailable:   1000 kB\n"
	if got := availableMemory(meminfo); got != 1000<<10 {
		t.Errorf("available %d", got)
	}
	unlimited := availableMemory("")
	for _, limit := range []string{"", "max\n"} {
		if got := cgroupMemory(limit, "5"); got != unlimited {
			t.Errorf("limit %q leaves %d", limit, got)
		}
	}
	if got := cgroupMemory("4096\n", "1000\n"); got != 3096 {
		t.Errorf("limit 4096, used 1000: %d", got)
	}
	if got := cgroupMemory("4096\n", "5000\n"); got != 0 {
		t.Errorf("limit 4096, used 5000: %d", got)
	}
}
