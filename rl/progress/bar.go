//go:build !js

package progress

import (
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"
)

// Live says whether a person sits at the other end of an input or an output.
func Live(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// columns is the width of a terminal, 0 if out is none.
func columns(out io.Writer) int {
	if !Live(out) {
		return 0
	}
	w, _, err := term.GetSize(int(out.(*os.File).Fd()))
	if err != nil {
		return 0
	}
	return w
}

// bar shows one stage on a terminal.
type bar struct {
	bars    *mpb.Progress
	bar     *mpb.Bar
	figures atomic.Pointer[string] // read by the bar's goroutine
}

func newBar(out io.Writer, width int, stage string, total int) *bar {
	b := &bar{bars: mpb.New(mpb.WithOutput(out), mpb.WithWidth(width), mpb.WithRefreshRate(200*time.Millisecond))}
	b.figures.Store(new(string))
	b.bar = b.bars.New(int64(total), mpb.BarStyle().Lbound("").Filler("█").Tip("█").Padding("░").Rbound(""),
		mpb.PrependDecorators(decor.Name(stage, decor.WC{W: 10, C: decor.DindentRight})),
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return *b.figures.Load() })))
	return b
}

func (b *bar) set(step int, figures string) {
	b.figures.Store(&figures)
	b.bar.SetCurrent(int64(step))
}

func (b *bar) extend(total int) { b.bar.SetTotal(int64(total), false) }

func (b *bar) above(text string) { io.WriteString(b.bars, text) }

func (b *bar) end() {
	if !b.bar.Completed() {
		b.bar.Abort(false)
	}
	b.bars.Wait()
}
