package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/rl/infer"
	"github.com/rlzero/rlzero/rl/progress"
)

func chatCommand() *cli.Command {
	return &cli.Command{
		Name: "chat", Usage: "talk with a model in the terminal", ArgsUsage: "MODEL",
		Description: `Asks for a message, prints the model's answer while it is written, and remembers both. MODEL
is a Hugging Face folder, a .gguf file, a run or a checkpoint folder, with a chat template. A
line that ends in \ continues on the next one.

   /system TEXT  set the system message; without TEXT, remove it
   /seed N       draw from another seed; the same seed and the same messages
                 give the same answers
   /undo         take back the last turn
   /clear        forget all turns
   /help         list these commands
   /quit         end, as Ctrl-D does

Ctrl-C ends the answer that is being written. The part that was written stays in the
conversation; /undo removes it. Messages may also come from a pipe, one on each line.

Examples:
   rlzero chat SmolLM2-135M-Instruct
   rlzero chat runs/first --system 'Be brief.' --temperature 0.7 --top-p 0.9
   echo 'Why is the sky blue?' | rlzero chat Qwen3-0.6B --greedy \
      --var enable_thinking=false`,
		Flags: append(samplingFlags(),
			&cli.IntFlag{Name: "context", Usage: "largest number of tokens of a conversation", DefaultText: fmt.Sprintf("what the model allows, at most %d", infer.DefaultContext)},
			systemFlag, varFlag, checkpointFlag, adapterFlag, dtypeFlag, kvDtypeFlag, deviceFlag, tierFlag),
		Action: converse,
	}
}

func converse(c *cli.Context) error {
	args, err := positional(c, "MODEL")
	if err != nil {
		return err
	}
	o := infer.TalkOptions{Context: c.Int("context"), MaxTokens: c.Int("max-tokens")}
	if o.Sampling, err = samplingOf(c); err != nil {
		return err
	}
	if c.IsSet("context") && o.Context < 1 {
		return badValue("context", o.Context, "whole numbers from 1")
	}
	if o.Chat, err = chatOptions(c); err != nil {
		return err
	}
	m, done, err := openModel(c, args[0])
	if err != nil {
		return err
	}
	defer done()
	t, err := infer.NewTalk(m, o)
	if err != nil {
		return err
	}
	defer t.Close()
	p := &parlour{c: c, talk: t, in: bufio.NewReader(c.App.Reader), live: progress.Live(c.App.Reader) && progress.Live(c.App.Writer.(*writer).Writer)}
	if p.live {
		fmt.Fprintln(c.App.ErrWriter, "/help lists commands, Ctrl-C ends an answer, Ctrl-D the conversation")
	}
	return p.run()
}

// parlour is where a person and a model talk.
type parlour struct {
	c    *cli.Context
	talk *infer.Talk
	in   *bufio.Reader
	live bool // a person sits at both ends
}

func (p *parlour) run() error {
	for {
		text, err := p.listen()
		if text = strings.TrimSpace(text); text != "" {
			quit, failed := p.do(text)
			switch {
			case failed != nil && !p.live: // nobody is there to say it otherwise
				return failed
			case failed != nil:
				p.tell(failed)
			case quit:
				return nil
			}
		}
		if errors.Is(err, io.EOF) {
			if p.live {
				fmt.Fprintln(p.c.App.Writer)
			}
			return nil
		}
		if err != nil {
			return fmt.Errorf("standard input: %w", err)
		}
	}
}

// maxMessage bounds what is read of a message, in bytes.
const maxMessage = 1 << 20

// listen reads a message.
func (p *parlour) listen() (string, error) {
	var text strings.Builder
	mark := "> "
	for {
		if p.live {
			fmt.Fprint(p.c.App.Writer, mark)
		}
		line, err := p.line(maxMessage - text.Len())
		text.WriteString(line)
		more, goesOn := strings.CutSuffix(text.String(), "\\")
		if err != nil || !goesOn {
			return text.String(), err
		}
		text.Reset()
		text.WriteString(more + "\n")
		mark = ". "
	}
}

// line reads up to the end of a line, which is left out.
func (p *parlour) line(most int) (string, error) {
	var text []byte
	for {
		part, err := p.in.ReadSlice('\n')
		if text = append(text, part...); len(text) > most {
			return "", usagef("a message has more than %d bytes; accepted: at most that many", maxMessage)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return strings.TrimRight(string(text), "\r\n"), err
		}
	}
}

// do follows a command, or has the model answer a message.
func (p *parlour) do(text string) (quit bool, err error) {
	name, rest, _ := strings.Cut(text, " ")
	rest = strings.TrimSpace(rest)
	switch {
	case !strings.HasPrefix(name, "/"):
		return false, p.answer(text)
	case name == "/quit":
		return true, nil
	case name == "/help":
		fmt.Fprintln(p.c.App.ErrWriter, "/system TEXT, /seed N, /undo, /clear, /quit; a line that ends in \\ continues on the next one")
	case name == "/system":
		p.talk.System(rest)
	case name == "/clear":
		p.talk.Clear()
	case name == "/undo":
		if !p.talk.Undo() {
			return false, usagef("/undo: there is no turn yet")
		}
	case name == "/seed":
		seed, err := strconv.ParseUint(rest, 10, 64)
		if err != nil {
			return false, usagef("/seed is %s; accepted: a whole number from 0", terminal.Quote(rest))
		}
		p.talk.Seed(seed)
	default:
		return false, usage(hint.Unknown("command", name, []string{"/system", "/seed", "/undo", "/clear", "/help", "/quit"}, "/help"))
	}
	return false, nil
}

// answer prints what the model says. An interrupt ends the answer and not the program.
func (p *parlour) answer(text string) error {
	ctx, stop := signal.NotifyContext(p.c.Context, os.Interrupt)
	defer stop()
	shown := func(text string) { fmt.Fprint(p.c.App.Writer, text) }
	if p.live {
		shown = func(text string) { fmt.Fprint(p.c.App.Writer, terminal.Text(text)) }
	}
	a, err := p.talk.Say(ctx, text, shown)
	if err != nil {
		return err
	}
	fmt.Fprintln(p.c.App.Writer)
	switch {
	case ctx.Err() != nil && p.c.Context.Err() == nil:
		fmt.Fprintf(p.c.App.ErrWriter, "(ended after %s; /undo takes back the turn)\n", terminal.Count(a.Tokens, "token", ""))
	case ctx.Err() != nil:
		return context.Cause(p.c.Context)
	case a.Cut:
		fmt.Fprintf(p.c.App.ErrWriter, "(cut off after %s: --max-tokens or --context allows more)\n", terminal.Count(a.Tokens, "token", ""))
	}
	return nil
}

// tell reports an error, after which the conversation goes on.
func (p *parlour) tell(err error) {
	text, hints := explain(err)
	fmt.Fprintln(p.c.App.ErrWriter, terminal.Message(text))
	for _, h := range hints {
		fmt.Fprintln(p.c.App.ErrWriter, "hint: "+terminal.Message(h))
	}
}
