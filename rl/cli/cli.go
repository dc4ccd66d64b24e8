package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/rl/fleet"
	"github.com/rlzero/rlzero/rl/fleet/bus"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/run"
	"github.com/rlzero/rlzero/rl/store"
)

// Version of the program; set at link time.
var Version = "dev"

// Exit codes.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitNoDevice    = 3
	exitRefused     = 4
	exitInterrupted = 130
	exitPipe        = 141 // 128 and SIGPIPE, as of a program that the signal ends
)

// errUsage marks a wrong command line.
var errUsage = errors.New("wrong usage")

func usagef(format string, args ...any) error { return usage(fmt.Errorf(format, args...)) }

// usage marks an error as one of the command line.
func usage(err error) error { return fmt.Errorf("%w: %w", errUsage, err) }

// badValue refuses the value of a flag.
func badValue(flag string, found any, accepted string, args ...any) error {
	if text, ok := found.(string); ok {
		found = strconv.Quote(text)
	}
	return usagef("--%s is %v; accepted: %s", flag, found, fmt.Sprintf(accepted, args...))
}

// badChoice is badValue for a flag that takes one of some names.
func badChoice(flag, found string, accepted ...string) error {
	err := badValue(flag, found, "%s", strings.Join(accepted, ", "))
	if near := hint.Nearest(found, accepted); near != "" {
		return hint.With(err, "did you mean %s?", near)
	}
	return err
}

// Main runs the command line and returns the exit code.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	failedWritesAreErrors()
	out := &writer{Writer: stdout}
	a := app(stdin, out, stderr)
	if len(args) > 1 && args[1] == completeCommand {
		complete(a, args[2:], out)
		return 0
	}
	args, err := arrange(a, args)
	if err == nil {
		err = a.Run(args)
	}
	if err == nil {
		err = out.err
	}
	switch {
	case errors.Is(out.err, syscall.EPIPE): // who reads has read enough, as head does
		return exitPipe
	case err == nil:
		return 0
	}
	text, hints := explain(err)
	fmt.Fprintf(stderr, "rlzero: error: %s\n", terminal.Message(text))
	for _, h := range hints {
		fmt.Fprintf(stderr, "rlzero: hint: %s\n", terminal.Message(h))
	}
	return code(err)
}

// writer remembers the first error, so that a result that did not reach its
// file never ends in exit code 0.
type writer struct {
	io.Writer
	err error
}

func (w *writer) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if err != nil {
		err = fmt.Errorf("standard output: %w", err)
		w.err = cmp.Or(w.err, err)
	}
	return n, err
}

func app(stdin io.Reader, stdout, stderr io.Writer) *cli.App {
	a := &cli.App{
		Name:  "rlzero",
		Usage: "train language models by reinforcement learning with verifiable rewards, on any GPU",
		Description: `Example: train the built-in model from random weights, then let it solve a problem.

   rlzero train countdown-tiny --run runs/first
   rlzero sample runs/first --greedy --prompt '20 13 7 4 > 10:'

Flags may come before or after arguments; -- ends them. rlzero help COMMAND explains a command.

Results go to standard output, progress and messages to standard error. Exit codes: 0 done;
1 failed, or a check found a problem; 2 wrong usage or bad input; 3 no usable device; 4 the
trainer refuses this worker; 130 interrupted, after a checkpoint; 141 nobody reads the output.`,
		Version:                Version,
		Reader:                 stdin,
		Writer:                 stdout,
		ErrWriter:              stderr,
		UseShortOptionHandling: false,
		// --set stage.rl.optimizer.betas=[0.9,0.95] is one value.
		DisableSliceFlagSeparator: true,
		ExitErrHandler:            func(*cli.Context, error) {}, // Main reports errors
		Commands:                  commands(),
		HideHelpCommand:           true, // arrange reads "help" itself
		Action:                    cli.ShowAppHelp,
	}
	a.OnUsageError = wrongFlag(a.Name, a.Flags)
	for _, c := range a.Commands {
		prepare(a.Name, c)
	}
	return a
}

// programsTold prints the command of each program of others that a recipe starts, once however often it starts: it
// runs with the rights of the user, who has not said so by the command. Many goroutines may call what it returns.
func programsTold(c *cli.Context) func(command string) {
	var mu sync.Mutex
	told := map[string]bool{}
	return func(command string) {
		mu.Lock()
		defer mu.Unlock()
		if !told[command] {
			told[command] = true
			fmt.Fprintf(c.App.ErrWriter, "a program of the recipe runs with your rights: %s\n", command)
		}
	}
}

// quietFlag is one of every command.
var quietFlag = &cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "print warnings and errors only, no progress and no messages"}

// talkative are the commands whose messages are what they are for: an address, an answer.
var talkative = []string{"chat", "page", "serve", "worker", "workers"}

// What warnings begin with, and lines of a run that nobody may miss: a method that is likely
// not meant, an alert, the link to its page.
const warning = "rlzero: warning: "

var kept = [][]byte{[]byte(warning), []byte("warning: "), []byte("! "), []byte("page  ")}

// quiet passes on what nobody may miss.
type quiet struct{ io.Writer }

func (q quiet) Write(p []byte) (int, error) {
	if slices.ContainsFunc(kept, func(begin []byte) bool { return bytes.HasPrefix(p, begin) }) {
		return q.Writer.Write(p)
	}
	return len(p), nil
}

// prepare gives a command what all have in common.
func prepare(parent string, c *cli.Command) {
	c.HideHelpCommand = true
	if action := c.Action; action != nil {
		c.Flags = append(slices.Clip(c.Flags), quietFlag)
		c.Action = func(c *cli.Context) error {
			if c.Bool(quietFlag.Name) && !slices.Contains(talkative, c.Command.Name) {
				c.App.ErrWriter = quiet{c.App.ErrWriter}
			}
			return action(c)
		}
	}
	for _, f := range c.Flags {
		if b, ok := f.(*cli.BoolFlag); ok {
			b.DisableDefaultText = true // it is always false
		}
	}
	name := parent + " " + c.Name
	c.OnUsageError = wrongFlag(name, c.Flags)
	for _, sub := range c.Subcommands {
		prepare(name, sub)
	}
	if c.Action == nil {
		c.Action = func(*cli.Context) error {
			return hint.With(usagef("%s needs a subcommand", name), "%s --help lists its subcommands", name)
		}
	}
}

// wrongFlag reports a flag that the command does not have, or a value that the
// flag does not take.
func wrongFlag(command string, flags []cli.Flag) cli.OnUsageErrorFunc {
	return func(_ *cli.Context, err error, _ bool) error {
		name, unknown := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
		if !unknown {
			return hint.With(usage(wrongValue(err, flags)), "%s --help shows its flags", command)
		}
		if now := moved[strings.TrimPrefix(command, "rlzero ")+" --"+name]; now != "" {
			return hint.With(usagef("%s --%s is now a command of its own", command, name), "write %s", now)
		}
		names := []string{"--help"}
		for _, f := range flags {
			for _, n := range f.Names() {
				names = append(names, "--"+n)
			}
		}
		return usage(hint.Unknown("flag", "--"+name, names, command+" --help"))
	}
}

// wrongValue says what a flag takes whose value the flag package has refused.
func wrongValue(err error, flags []cli.Flag) error {
	parts := refusedValue.FindStringSubmatch(err.Error())
	if parts == nil {
		return err
	}
	value, name, accepted := parts[1], parts[2], "true, false"
	for _, f := range flags {
		if !slices.Contains(f.Names(), name) {
			continue
		}
		switch f.(type) {
		case *cli.IntFlag:
			accepted = "a whole number"
		case *cli.Uint64Flag:
			accepted = "a whole number from 0"
		case *cli.Float64Flag:
			accepted = "a number"
		case *cli.DurationFlag:
			accepted = "a time with its unit, such as 90s or 5m"
		}
	}
	return fmt.Errorf("--%s is %s; accepted: %s", name, value, accepted)
}

// refusedValue is what package flag says of a value that does not parse.
var refusedValue = regexp.MustCompile(`^invalid (?:boolean )?value (".*") for (?:flag )?-([^ ]+): `)

// moved has the commands that took the place of flags.
var moved = map[string]string{
	"verify --audit":   "rlzero audit RUN, or rlzero audit FILE",
	"verify --against": "rlzero audit RUN --against NAME",
	"doctor --receipt": "rlzero receipt RUN",
}

// explain turns an error into what a person reads: the problem, and hints at
// what to do.
func explain(err error) (text string, hints []string) {
	text = err.Error()
	for _, prefix := range []string{errUsage.Error() + ": ", lines.ErrInput.Error() + ": "} {
		text = strings.ReplaceAll(text, prefix, "")
	}
	if errors.Is(err, context.Canceled) {
		text = "interrupted"
	}
	return text, hint.All(err)
}

func code(err error) int {
	switch {
	case errors.Is(err, run.ErrInterrupted), errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.Is(err, fleet.ErrRefused), errors.Is(err, bus.ErrShut), errors.Is(err, errUnfit):
		return exitRefused
	case errors.Is(err, gpu.ErrNoDevice):
		return exitNoDevice
	case errors.Is(err, errUsage), errors.Is(err, lines.ErrInput), errors.Is(err, recipe.ErrInvalid), errors.Is(err, store.ErrExists), errors.Is(err, store.ErrLocked), errors.Is(err, store.ErrNotRun),
		errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ENAMETOOLONG), errors.Is(err, syscall.EROFS),
		errors.Is(err, gpu.ErrOutOfMemory), errors.Is(err, gpu.ErrDeviceName):
		return exitUsage
	}
	return exitFailed
}

// Flags that several commands have.
var (
	deviceFlag  = &cli.StringFlag{Name: "device", Usage: "auto, vulkan, webgpu, ref, or a name from rlzero devices, such as vulkan:1", EnvVars: []string{"RLZERO_DEVICE"}, Value: "auto"}
	tierFlag    = &cli.StringFlag{Name: "tier", Usage: "use the kernels of this tier, not those that the device would get: T0, T1, T2 (matrix cores; different bits) or TL; the same as $RLZERO_TIER"}
	verboseFlag = &cli.BoolFlag{Name: "verbose", Usage: "show every formula of a method before its first step"}
	jsonFlag    = &cli.BoolFlag{Name: "json", Usage: "write JSON"}
	// Of commands that print nothing else.
	alwaysJSON = &cli.BoolFlag{Name: "json", Usage: "write JSON, as the command always does"}
	inFlag     = &cli.StringFlag{Name: "in", Usage: "`FILE` of JSON lines; - is standard input"}
	// Of lines, which may name their own.
	verifierFlag = &cli.StringFlag{Name: "verifier", Usage: "verifier for lines that name none: a name that rlzero verifiers lists, \"NAME key=value\", or a script of yours, FILE.star or FILE.py"}
)

// input opens the file of --in; - and /dev/stdin mean standard input.
func input(c *cli.Context, path string) (io.ReadCloser, error) {
	if path == "" {
		return nil, hint.With(usagef("%s needs --in FILE", c.Command.HelpName), "FILE holds JSON lines; - is standard input; %s --help shows an example", c.Command.HelpName)
	}
	if path == "-" || path == "/dev/stdin" {
		return io.NopCloser(c.App.Reader), nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	return f, nil
}

// checkRun is nil for a folder that is there; whether it is a run shows later.
func checkRun(dir string) error {
	if err := checkNewRun(dir); err != nil {
		return err
	}
	if _, err := os.Stat(dir); err != nil {
		err := usagef("run %s: there is no such folder", dir)
		if near := store.NearRun(dir); near != "" {
			err = hint.With(err, "did you mean %s?", near)
		}
		return withEntry(err, dir)
	}
	return nil
}

// checkNewRun is nil for what may become a run's folder.
func checkNewRun(dir string) error {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return hint.With(usagef("run %s is a file", dir), "give the folder of the run")
	}
	return nil
}

// oneLine is a text as a JSON line {key: text}.
func oneLine(key, text string) (io.ReadCloser, error) {
	line, err := json.Marshal(map[string]string{key: text})
	return io.NopCloser(bytes.NewReader(line)), err
}

func printJSON(c *cli.Context, v any) error {
	enc := json.NewEncoder(c.App.Writer)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// openDevice opens the device of --device in the tier of --tier. Backends read the tier in
// the environment, for devices that are opened later too. The plain-Go device does not: it
// has one tier, and is refused where another is asked for.
func openDevice(c *cli.Context) (gpu.Device, error) {
	tier := c.String("tier")
	if tier != "" {
		if err := os.Setenv("RLZERO_TIER", tier); err != nil {
			return nil, err
		}
	}
	dev, err := gpu.Open(c.String("device"))
	if err != nil {
		return nil, err
	}
	if caps := dev.Caps(); tier != "" && tier != string(caps.Tier) {
		return nil, errors.Join(badValue("tier", tier, "%s, the only tier of %s", caps.Tier, caps.ID), dev.Close())
	}
	return dev, nil
}

func warn(c *cli.Context, warnings []string) {
	for _, w := range warnings {
		fmt.Fprintf(c.App.ErrWriter, warning+"%s\n", terminal.Message(w))
	}
}
