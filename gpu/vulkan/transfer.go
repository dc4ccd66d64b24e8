//go:build (linux || darwin || windows) && (amd64 || arm64)

package vulkan

import "github.com/rlzero/rlzero/gpu/internal/vk"

// stagingSize is large enough that a submission costs little beside its copy.
const stagingSize = 16 << 20

// transfer copies between the host and memory that it cannot reach. Writes are collected
// in one command buffer, which is submitted before the next program or read: an engine
// writes dozens of small lists a round, and a submission for each takes longer than the round.
type transfer struct {
	staging  *buffer // host memory, stagingSize bytes
	commands vk.CommandBuffer
	submit   func(vk.CommandBuffer) vk.Result // to the queue; a test lets it fail
	lastUse  uint64                           // number of the last submission of commands
	open     bool                             // commands are being recorded
	used     int                              // bytes of staging that they read
	queued   map[*buffer][]extent             // what they write
}

// extent is the bytes from low to high-1 of a buffer.
type extent struct{ low, high int }

// copies is all that transfers do.
var copies = vk.Scope{Stages: vk.StageTransfer, Access: vk.AccessTransferRead | vk.AccessTransferWrite}

// queueWrite copies data to the staging buffer and records their way to b.
func (d *Device) queueWrite(b *buffer, offset int, data []byte) error {
	for len(data) > 0 {
		if t := d.transfer; t != nil && t.used == stagingSize {
			if err := d.flush(); err != nil {
				return err
			}
		}
		t, err := d.openTransfer()
		if err != nil {
			return err
		}
		n := copy(t.staging.mapped[t.used:], data)
		d.after(t, b, extent{offset, offset + n})
		d.vk.CopyBuffer(t.commands, t.staging.handle, b.handle, uint64(t.used), uint64(offset), uint64(n))
		t.used += n
		offset, data = offset+n, data[n:]
	}
	return nil
}

// queueZeros records that b is filled with zeros.
func (d *Device) queueZeros(b *buffer) error {
	t, err := d.openTransfer()
	if err != nil {
		return err
	}
	d.after(t, b, extent{0, b.size})
	d.vk.ZeroBuffer(t.commands, b.handle)
	return nil
}

// after notes a write of the open transfer, with a barrier before it if it meets
// another one.
func (d *Device) after(t *transfer, b *buffer, r extent) {
	for _, other := range t.queued[b] {
		if r.low < other.high && other.low < r.high {
			d.vk.Barrier(t.commands, copies, copies)
			t.queued[b] = t.queued[b][:0]
			break
		}
	}
	t.queued[b] = append(t.queued[b], r)
}

// download copies from b once everything submitted or queued has finished.
func (d *Device) download(b *buffer, offset int, data []byte) error {
	for len(data) > 0 {
		if err := d.flush(); err != nil {
			return err
		}
		t, err := d.openTransfer()
		if err != nil {
			return err
		}
		n := min(len(data), stagingSize)
		d.vk.CopyBuffer(t.commands, b.handle, t.staging.handle, uint64(offset), 0, uint64(n))
		if err := d.flush(); err != nil {
			return err
		}
		if err := d.wait(); err != nil {
			return err
		}
		copy(data[:n], t.staging.mapped)
		offset, data = offset+n, data[n:]
	}
	return nil
}

// openTransfer begins to record copies after everything submitted, unless it did already.
func (d *Device) openTransfer() (*transfer, error) {
	if d.failed != nil {
		return nil, d.failed
	}
	if d.transfer == nil {
		if err := d.makeTransfer(); err != nil {
			return nil, err
		}
	}
	t := d.transfer
	if t.open {
		return t, nil
	}
	if err := d.waitFor(t.lastUse); err != nil { // its staging buffer is still read
		return nil, err
	}
	if err := checkResult(d.vk.Begin(t.commands), "vkBeginCommandBuffer", transferLabel); err != nil {
		return nil, err
	}
	d.vk.Barrier(t.commands, vk.Scope{
		Stages: computeScope.Stages | copies.Stages,
		Access: computeScope.Access | copies.Access,
	}, copies)
	t.open = true
	return t, nil
}

const transferLabel = "a copy"

// makeTransfer makes the staging buffer and its commands.
func (d *Device) makeTransfer() error {
	staging, err := d.allocate("staging", stagingSize, d.traits.stagingType, true)
	if err != nil {
		return err
	}
	commands, r := d.vk.AllocateCommandBuffer(d.commands)
	if err := checkResult(r, "vkAllocateCommandBuffers", "the staging buffer"); err != nil {
		staging.free()
		return err
	}
	d.transfer = &transfer{staging: staging, commands: commands, submit: d.vk.Submit, queued: map[*buffer][]extent{}}
	return nil
}

// flush submits what is queued.
func (d *Device) flush() error {
	t := d.transfer
	if d.failed != nil || t == nil || !t.open {
		return d.failed
	}
	t.open, t.used = false, 0
	queued := t.queued
	t.queued = map[*buffer][]extent{}
	d.vk.Barrier(t.commands, copies, vk.Scope{
		Stages: computeScope.Stages | copies.Stages | vk.StageHost,
		Access: computeScope.Access | copies.Access | vk.AccessHostRead | vk.AccessHostWrite,
	})
	err := checkResult(d.vk.End(t.commands), "vkEndCommandBuffer", transferLabel)
	if err == nil {
		err = checkResult(t.submit(t.commands), "vkQueueSubmit", transferLabel)
	}
	if err != nil { // writes that were promised are lost: no buffer can be relied on any more
		d.failed = err
		return err
	}
	d.submitted++
	t.lastUse = d.submitted
	for b := range queued {
		b.lastUse = d.submitted
	}
	return nil
}

// flushFor submits what is queued if it writes b.
func (d *Device) flushFor(b *buffer) error {
	if t := d.transfer; t != nil && t.open && t.queued[b] != nil {
		return d.flush()
	}
	return nil
}
