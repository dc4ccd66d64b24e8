package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"
)

// interruptible is for work that has something to save or to remove: the first
// interrupt cancels the context, the second ends the program at once, as the first
// does everywhere else. What was told to be ignored, as nohup does with SIGHUP and a
// shell with SIGINT for a command in the background, stays ignored. What comes together
// is one interrupt: timeout(1) sends its signal to the program and again to its group.
func interruptible(c *cli.Context) (ctx context.Context, done func()) {
	ctx, stop := signal.NotifyContext(c.Context, interrupts()...)
	unused := context.AfterFunc(ctx, func() {
		fmt.Fprintln(c.App.ErrWriter, "stopping at the next safe point; press Ctrl-C again to stop at once")
		time.Sleep(together)
		stop()
	})
	return ctx, func() { unused(); stop() }
}

// together is how far apart signals at most are that count as one: less than a person takes to read
// what was said, and to press a key again.
const together = 500 * time.Millisecond

// untilInterrupted waits for the first interrupt: there is nothing to save.
func untilInterrupted(c *cli.Context) {
	ctx, stop := signal.NotifyContext(c.Context, interrupts()...)
	defer stop()
	<-ctx.Done()
}

// interrupts are the signals that end a program, but for those that it was told to ignore.
func interrupts() []os.Signal {
	signals := []os.Signal{syscall.SIGTERM}
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signals = append(signals, s)
		}
	}
	return signals
}
