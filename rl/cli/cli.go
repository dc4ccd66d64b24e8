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
	"slices"
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
	ignoreFileSizeSignal()
	out := &writer{Writer: stdout}
	a := app(stdin, out, stderr)
	err := a.Run(flagsFirst(a, args))
	if err == nil {
		err = out.err
	}
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

// stoppable is for commands that have something to save or to remove: the first
// interrupt cancels their context, the second ends the program at once, as the
// first does in all other commands.
func stoppable(action cli.ActionFunc) cli.ActionFunc {
	return func(c *cli.Context) error {
		ctx, stop := signal.NotifyContext(c.Context, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
		defer stop()
		unused := context.AfterFunc(ctx, func() {
			stop()
			fmt.Fprintln(c.App.ErrWriter, "stopping as soon as everything is safe; once more to stop at once")
		})
		defer unused()
		c.Context = ctx
		return action(c)
	}
}

// writer remembers the first error, so that a result that did not reach its
// file never ends in exit code 0.
type writer struct {
	io.Writer
	err error
}

func (w *writer) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if w.err == nil && err != nil {
		w.err = fmt.Errorf("standard output: %w", err)
	}
	return n, err
}

func app(stdin io.Reader, stdout, stderr io.Writer) *cli.App {
	a := &cli.App{
		Name:  "rlzero",
		Usage: "train language models by reinforcement learning with verifiable rewards, on any GPU",
		Description: "Example: train the built-in model from random weights, then let it solve a problem.\n\n" +
			"   rlzero train --run runs/first countdown-tiny\n" +
			"   rlzero sample --prompt '20 13 7 4 > 10:' --greedy runs/first\n\n" +
			"Exit codes: 0 done; 1 failed, or a check found something; 2 wrong usage or input;\n" +
			"3 no usable device; 130 interrupted, with a checkpoint. Progress goes to standard\n" +
			"error, results to standard output.",
		Version:                Version,
		Reader:                 stdin,
		Writer:                 stdout,
		ErrWriter:              stderr,
		UseShortOptionHandling: false,
		// --set stage.rl.optimizer.betas=[0.9,0.95] is one value.
		DisableSliceFlagSeparator: true,
		ExitErrHandler:            func(*cli.Context, error) {}, // Main reports errors
		Commands: []*cli.Command{trainCommand(), evalCommand(), sampleCommand(), scoreCommand(), verifyCommand(),
			devicesCommand(), doctorCommand(), benchCommand(), recipesCommand(), tasksCommand(), verifiersCommand(), rewardsCommand(), formulasCommand(), algorithmsCommand(), metricsCommand(), inspectCommand()},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return usagef("unknown command %q%s; rlzero --help lists the commands", c.Args().First(), recipe.DidYouMean(c.Args().First(), commandNames(c.App.Commands)))
			}
			return cli.ShowAppHelp(c)
		},
	}
	a.OnUsageError = wrongFlag(a.Name, a.Flags)
	for _, c := range a.Commands {
		prepare(a.Name, c)
	}
	return a
}

// prepare gives a command what all have in common.
func prepare(parent string, c *cli.Command) {
	c.HideHelpCommand = true
	name := parent + " " + c.Name
	c.OnUsageError = wrongFlag(name, c.Flags)
	for _, sub := range c.Subcommands {
		prepare(name, sub)
	}
}

// wrongFlag reports a flag that the command does not have, or a value that the
// flag does not take.
func wrongFlag(command string, flags []cli.Flag) cli.OnUsageErrorFunc {
	return func(_ *cli.Context, err error, _ bool) error {
		text := err.Error()
		if name, unknown := strings.CutPrefix(text, "flag provided but not defined: -"); unknown {
			names := []string{"help"}
			for _, f := range flags {
				names = append(names, f.Names()...)
			}
			text = "unknown flag --" + name + recipe.DidYouMean(name, names)
		}
		return usagef("%s; see %s --help", text, command)
	}
}

func commandNames(commands []*cli.Command) []string {
	var names []string
	for _, c := range commands {
		names = append(names, c.Name)
	}
	return names
}

// explain turns an error into what a person reads.
func explain(err error) (text, hint string) {
	text = err.Error()
	for _, prefix := range []string{errUsage.Error() + ": ", rl.ErrInput.Error() + ": "} {
		text = strings.ReplaceAll(text, prefix, "")
	}
	switch {
	case errors.Is(err, gpu.ErrDeviceLost):
		hint = "the driver reset the device, or it went away; start the command again, a training run with --resume"
	case errors.Is(err, context.Canceled):
		text = "interrupted"
	}
	return text, hint
}

func code(err error) int {
	switch {
	case errors.Is(err, rl.ErrInterrupted), errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.Is(err, gpu.ErrNoDevice):
		return exitNoDevice
	case errors.Is(err, errUsage), errors.Is(err, rl.ErrInput), errors.Is(err, recipe.ErrInvalid), errors.Is(err, store.ErrExists), errors.Is(err, store.ErrLocked), errors.Is(err, store.ErrNotRun),
		errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ENAMETOOLONG), errors.Is(err, syscall.EROFS),
		errors.Is(err, gpu.ErrOutOfMemory), errors.Is(err, gpu.ErrDeviceName):
		return exitUsage
	}
	return exitFailed
}

// Flags that several commands have.
var (
	deviceFlag = &cli.StringFlag{Name: "device", Usage: "auto, vulkan, webgpu or ref; vulkan:N and webgpu:N as rlzero devices lists them", EnvVars: []string{"RLZERO_DEVICE"}, Value: "auto"}
	jsonFlag   = &cli.BoolFlag{Name: "json", Usage: "one JSON object per line"}
)

// positional returns the command's arguments, exactly as many as names says.
// The flag package stops at the first argument, so a flag behind it would pass
// unseen: it is refused here.
func positional(c *cli.Context, names ...string) ([]string, error) {
	args := c.Args().Slice()
	for i, a := range args {
		if i > 0 && strings.HasPrefix(a, "-") && a != "-" {
			return nil, usagef("flag %s stands after %q: flags come before the arguments: %s %s", a, args[i-1],
				c.Command.HelpName, strings.Join(append(slices.Clone(args[i:]), args[:i]...), " "))
		}
	}
	if len(args) != len(names) {
		return nil, usagef("%s takes %s, found %d argument(s); see %s --help", c.Command.HelpName, countOf(names), len(args), c.Command.HelpName)
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
	if path == "" {
		return nil, usagef("%s needs --in FILE of JSON lines, - for standard input; see %s --help", c.Command.HelpName, c.Command.HelpName)
	}
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
