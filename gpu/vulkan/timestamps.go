//go:build (linux || darwin || windows) && (amd64 || arm64)

package vulkan

import (
	"fmt"
	"time"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/internal/vk"
)

// Timestamps runs the program alone with a barrier and a timestamp after each
// op, so no two ops overlap and the times add up to the whole.
func (d *Device) Timestamps(p gpu.Program) ([]time.Duration, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	prog, err := d.own(p)
	if err != nil {
		return nil, err
	}
	if d.traits.timestamps == 0 {
		return nil, fmt.Errorf("%w: timestamps", gpu.ErrUnsupported)
	}
	if err := d.wait(); err != nil {
		return nil, err
	}
	label := fmt.Sprintf("timestamps of program %q", prog.label)
	count := len(prog.dispatches) + 1
	queries, r := d.vk.CreateQueryPool(count)
	if err := checkResult(r, "vkCreateQueryPool", label); err != nil {
		return nil, err
	}
	defer d.vk.DestroyQueryPool(queries)
	commands, err := d.recordCommands(label, func(c vk.CommandBuffer) {
		d.vk.ResetQueryPool(c, queries, count)
		d.vk.WriteTimestamp(c, vk.StageBottomOfPipe, queries, 0)
		for i := range prog.dispatches {
			prog.writeDispatch(c, i)
			d.vk.Barrier(c, computeScope, computeScope)
			d.vk.WriteTimestamp(c, vk.StageBottomOfPipe, queries, i+1)
		}
	})
	if err != nil {
		return nil, err
	}
	defer d.vk.FreeCommandBuffer(d.commands, commands)
	if err := d.submit(prog, commands); err != nil {
		return nil, err
	}
	if err := d.wait(); err != nil {
		return nil, err
	}
	ticks, r := d.vk.Timestamps(queries, count)
	if err := checkResult(r, "vkGetQueryPoolResults", label); err != nil {
		return nil, err
	}
	return durations(ticks, d.traits.timestamps, d.properties.TimestampPeriod), nil
}

// durations are the times between timestamps of so many valid bits, which may
// have wrapped around. period is nanoseconds per tick.
func durations(ticks []uint64, bits int, period float32) []time.Duration {
	list := make([]time.Duration, len(ticks)-1)
	for i := range list {
		elapsed := (ticks[i+1] - ticks[i]) << (64 - bits) >> (64 - bits)
		list[i] = time.Duration(float64(elapsed) * float64(period))
	}
	return list
}
