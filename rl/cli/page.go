package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/web"
	"github.com/rlzero/rlzero/rl/page"
	"github.com/rlzero/rlzero/rl/progress"
	"github.com/rlzero/rlzero/rl/store"
)

func pageCommand() *cli.Command {
	return &cli.Command{
		Name: "page", Usage: "look at runs in a browser, finished or in progress", ArgsUsage: "RUN... | DIR",
		Description: `Serves a page that shows runs: accuracy and rewards as they come, every completion with what
it was paid and what it taught each token, held-out problems, runs side by side, and whether
to trust them. It reads the files of the runs and writes nothing into them. DIR is a folder of
runs; new runs appear by themselves. Ctrl-C ends the server.

The address is loopback, and the page loads nothing from anywhere else. An address beyond
loopback needs a token, which is part of the link that is printed. To look at a run on another
machine, use an SSH tunnel:

   ssh -L 8080:127.0.0.1:8080 HOST rlzero page --listen 127.0.0.1:8080 runs

Examples:
   rlzero page runs                    every run in the folder runs
   rlzero page runs/first runs/second
   rlzero page --try dist/web          the page that trains in the browser,
                                       as make web built it
   rlzero page --out first.html runs/first
The last one writes a file to send or to keep; a run writes it itself, as report.html.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "listen", Usage: "`ADDRESS` to listen on, host:port; port 0 is any free port", Value: web.Default},
			&cli.StringFlag{Name: "out", Usage: "write one self-contained HTML `FILE` instead"},
			&cli.StringFlag{Name: "try", Usage: "serve the page in `FOLDER` that trains in the browser, as make web built it"},
			&cli.IntFlag{Name: "limit", Usage: "size of that file in `MB`; to stay below it, completions and tokens of some steps are left out", Value: page.Room >> 20},
		},
		Action: func(c *cli.Context) error {
			if c.IsSet("try") {
				return tryPage(c)
			}
			places := c.Args().Slice()
			if len(places) == 0 {
				return usagef("%s needs RUN or DIR", c.Command.HelpName)
			}
			for _, p := range places {
				if err := checkRun(p); err != nil {
					return err
				}
			}
			runs, err := page.Open(places...)
			if err != nil {
				return err
			}
			if out := c.String("out"); out != "" {
				if c.Int("limit") < 1 {
					return badValue("limit", c.Int("limit"), "a whole number from 1, in MB")
				}
				data, err := runs.File(c.Int("limit") << 20)
				if err != nil {
					return fmt.Errorf("%w: %w", lines.ErrInput, err)
				}
				return store.Write(store.OS(), out, data)
			}
			ctx, done := interruptible(c)
			defer done()
			server, err := listenPage(c)
			if err != nil {
				return err
			}
			return ended(server.Serve(ctx, runs.Handler()))
		},
	}
}

// tryPage serves the page that trains in the browser.
func tryPage(c *cli.Context) error {
	if c.NArg() > 0 || c.IsSet("out") {
		return usagef("--try takes no run and no --out: that page has the browser's own runs")
	}
	site, err := page.Try(c.String("try"))
	if err != nil {
		return err
	}
	ctx, done := interruptible(c)
	defer done()
	server, err := listenPage(c)
	if err != nil {
		return err
	}
	return ended(server.Serve(ctx, site))
}

// listenPage opens the address of a page and prints its link.
func listenPage(c *cli.Context) (*web.Server, error) {
	server, err := web.Listen(c.String("listen"))
	if err != nil {
		return nil, usage(err)
	}
	fmt.Fprintf(c.App.ErrWriter, "page  %s\n", server.URL())
	return server, nil
}

// ended is how a page ends that was interrupted: as it should.
func ended(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// besidePage is the page of a run that trains; before it is open, and where none is wanted, there
// is no socket.
type besidePage struct {
	url  string
	runs *page.Runs
	stop context.CancelFunc
	done chan error
}

// open begins to serve the page of train --page.
func (p *besidePage) open(ctx context.Context, c *cli.Context) error {
	if !c.Bool("page") {
		return nil
	}
	server, err := listenPage(c)
	if err != nil {
		return err
	}
	p.url, p.runs, p.done = server.URL(), &page.Runs{}, make(chan error, 1)
	ctx, p.stop = context.WithCancel(context.WithoutCancel(ctx))
	go func() { p.done <- server.Serve(ctx, p.runs.Handler()) }()
	return nil
}

// show adds a run that may not have its folder yet.
func (p *besidePage) show(dir string) {
	if p.runs != nil {
		p.runs.Add(dir)
	}
}

// stay keeps the page after a run that is complete, where a person sits at a terminal, until Ctrl-C.
func (p *besidePage) stay(c *cli.Context) {
	if p.runs != nil && progress.Live(c.App.ErrWriter) {
		fmt.Fprintf(c.App.ErrWriter, "  page    %s until Ctrl-C\n", p.url)
		untilInterrupted(c)
	}
}

// close ends the page.
func (p *besidePage) close() {
	if p.runs != nil {
		p.stop()
		<-p.done
	}
}
