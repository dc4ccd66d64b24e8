package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/rl"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/store"
)

// Version of the program; set at link time.
var Version = "dev"

// Exit codes.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitNoDevice    = 3
	exitInterrupted = 130
)

// errUsage marks a wrong command line.
var errUsage = errors.New("wrong usage")

func usagef(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errUsage, fmt.Sprintf(format, args...))
}

// Main runs the command line and returns the exit code.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second signal ends the program at once.
	context.AfterFunc(ctx, stop)
	err := app(stdin, stdout, stderr).RunContext(ctx, args)
	if err == nil {
		return 0
	}
	text, hint := explain(err)
	fmt.Fprintf(stderr, "rlzero: error: %s\n", text)
	if hint != "" {
		fmt.Fprintf(stderr, "rlzero: hint: %s\n", hint)
	}
	return code(err)
}

func app(stdin io.Reader, stdout, stderr io.Writer) *cli.App {
	a := &cli.App{
		Name:  "rlzero",
		Usage: "train language models by reinforcement learning with verifiable rewards, on any GPU",
		Description: "Example: train the built-in model from random weights, then let it solve a problem.\n\n" +
			"   rlzero train countdown-tiny --run runs/first\n" +
			"   rlzero sample runs/first --prompt '20 13 7 4 > 10:' --greedy",
		Version:                Version,
		Reader:                 stdin,
		Writer:                 stdout,
		ErrWriter:              stderr,
		HideHelpCommand:        true,
		Suggest:                true,
		UseShortOptionHandling: false,
		ExitErrHandler:         func(*cli.Context, error) {}, // Main reports errors
		Commands: []*cli.Command{trainCommand(), evalCommand(), sampleCommand(), scoreCommand(), verifyCommand(),
			devicesCommand(), doctorCommand(), benchCommand(), recipesCommand(), tasksCommand(), verifiersCommand(), metricsCommand(), inspectCommand()},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return usagef("unknown command %q%s; rlzero --help lists the commands", c.Args().First(), suggestion(c))
			}
			return cli.ShowAppHelp(c)
		},
		OnUsageError: func(_ *cli.Context, err error, _ bool) error { return usagef("%v", err) },
	}
	for _, c := range a.Commands {
		prepare(c)
	}
	return a
}

// prepare gives a command what all have in common.
func prepare(c *cli.Command) {
	c.HideHelpCommand = true
	c.OnUsageError = func(_ *cli.Context, err error, _ bool) error { return usagef("%v; see rlzero %s --help", err, c.Name) }
	for _, sub := range c.Subcommands {
		prepare(sub)
	}
}

func suggestion(c *cli.Context) string {
	if s := cli.SuggestCommand(c.App.Commands, c.Args().First()); s != "" {
		return fmt.Sprintf(", did you mean %q?", s)
	}
	return ""
}

// explain turns an error into what a person reads.
func explain(err error) (text, hint string) {
	text = err.Error()
	for _, prefix := range []string{errUsage.Error() + ": ", rl.ErrInput.Error() + ": "} {
		text = strings.TrimPrefix(text, prefix)
	}
	switch {
	case errors.Is(err, gpu.ErrDeviceLost):
		hint = "the driver reset the device; run the same command with --resume to continue from the last checkpoint"
	}
	return text, hint
}

func code(err error) int {
	switch {
	case errors.Is(err, rl.ErrInterrupted):
		return exitInterrupted
	case errors.Is(err, gpu.ErrNoDevice):
		return exitNoDevice
	case errors.Is(err, errUsage), errors.Is(err, rl.ErrInput), errors.Is(err, recipe.ErrInvalid), errors.Is(err, store.ErrExists), errors.Is(err, store.ErrLocked), errors.Is(err, store.ErrNotRun),
		errors.Is(err, fs.ErrNotExist), errors.Is(err, gpu.ErrOutOfMemory):
		return exitUsage
	}
	return exitFailed
}

// Flags that several commands have.
var (
	deviceFlag = &cli.StringFlag{Name: "device", Usage: "auto, vulkan, vulkan:N or ref", EnvVars: []string{"RLZERO_DEVICE"}, Value: "auto"}
	jsonFlag   = &cli.BoolFlag{Name: "json", Usage: "one JSON object per line"}
)

// positional returns the command's arguments, exactly as many as names says.
// The flag package stops at the first argument, so a flag behind it would pass
// unseen: it is refused here.
func positional(c *cli.Context, names ...string) ([]string, error) {
	args := c.Args().Slice()
	for i, a := range args {
		if i > 0 && strings.HasPrefix(a, "-") && a != "-" {
			return nil, usagef("flag %s stands after %q: flags come before the arguments, as in rlzero %s %s %s", a, args[i-1], c.Command.Name, a, strings.Join(names, " "))
		}
	}
	if len(args) != len(names) {
		return nil, usagef("rlzero %s takes %s, found %d argument(s); see rlzero %s --help", c.Command.Name, countOf(names), len(args), c.Command.Name)
	}
	return args, nil
}

func countOf(names []string) string {
	if len(names) == 0 {
		return "no arguments"
	}
	return strings.Join(names, " ")
}

// input opens the file of --in; - and /dev/stdin mean standard input.
func input(c *cli.Context, path string) (io.ReadCloser, error) {
	if path == "-" || path == "/dev/stdin" {
		return io.NopCloser(c.App.Reader), nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", rl.ErrInput, err)
	}
	return f, nil
}

func printJSON(c *cli.Context, v any) error {
	enc := json.NewEncoder(c.App.Writer)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// openDevice opens the device of --device.
func openDevice(c *cli.Context) (gpu.Device, error) { return gpu.Open(c.String("device")) }

func warn(c *cli.Context, warnings []string) {
	for _, w := range warnings {
		fmt.Fprintf(c.App.ErrWriter, "rlzero: warning: %s\n", w)
	}
}
