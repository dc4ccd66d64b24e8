package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/model/text"
	"github.com/rlzero/rlzero/model/text/template"
	"github.com/rlzero/rlzero/rl/chat"
)

const templateHelp = `Reads {"messages":[...]} lines and writes {"text":"..."}, or {"error":"..."} where the template fails
or refuses the conversation. Every other key of a line becomes a variable of the template:
"tools", "documents", "add_generation_prompt", "enable_thinking" ...

Example:
   echo '{"messages":[{"role":"user","content":"Hi"}],' \
      '"add_generation_prompt":true}' | \
      rlzero inspect template --model SmolLM2-135M-Instruct --in -

--probe tries the template of --model on a few known words, and writes

   {"end_token":"...","end_id":7,"system_role":true,"rewrites":"..."}

end_token ends a turn of the assistant; system_role says whether the template reads a system
message; rewrites says what it changes in earlier turns when the conversation goes on ("" for
nothing).

If the template has {% generation %} blocks, a line also has "assistant_mask":
[[start,end],...], the characters that the assistant wrote, counted from 0, end excluded.

With --template, bos_token is "<s>" and eos_token "</s>", unless the line says otherwise.
strftime_now gives the date of --date and never today's, so that a conversation always gives
the same text.`

func templateCommand() *cli.Command {
	return &cli.Command{
		Name: "template", Usage: "write conversations as text, with a chat template", Description: templateHelp,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "template", Usage: "`FILE` of a chat template"},
			&cli.StringFlag{Name: "model", Usage: "Hugging Face folder, run or checkpoint with a chat template"},
			&cli.StringFlag{Name: "in", Usage: "`FILE` of JSON lines; - is standard input"},
			&cli.BoolFlag{Name: "probe", Usage: "say what the template of --model does, instead of --in"},
			&cli.StringFlag{Name: "date", Usage: "`DATE` that the template sees, YYYY-MM-DD", Value: template.Today.Format(time.DateOnly)},
		},
		Action: func(c *cli.Context) error {
			if _, err := positional(c); err != nil {
				return err
			}
			now, err := time.Parse(time.DateOnly, c.String("date"))
			if err != nil {
				return usagef("--date %q; accepted: dates such as %s", c.String("date"), template.Today.Format(time.DateOnly))
			}
			if c.Bool("probe") {
				return probeTemplate(c)
			}
			chat, err := openChat(c)
			if err != nil {
				return err
			}
			in, err := input(c, c.String("in"))
			if err != nil {
				return err
			}
			defer in.Close()
			return renderLines(c.String("in"), in, c.App.Writer, chat, template.Options{Now: now})
		},
	}
}

// openChat reads the template of --template or --model.
func openChat(c *cli.Context) (*text.Chat, error) {
	file, model := c.String("template"), c.String("model")
	if (file == "") == (model == "") {
		return nil, hint.With(usagef("%s needs either --template FILE or --model DIR", c.Command.HelpName), "FILE is a chat template; DIR is a model, a run or a checkpoint that has one")
	}
	if file != "" {
		source, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", lines.ErrInput, err)
		}
		chat, err := text.NewChat(string(source))
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", lines.ErrInput, file, err)
		}
		return chat, nil
	}
	found, err := findText(c, model)
	if err != nil {
		return nil, err
	}
	chat, err := text.ReadChat(found.Dir)
	if errors.Is(err, text.ErrNoChat) {
		err = fmt.Errorf("%w: chat_template.jinja or tokenizer_config.json has it, and base models have none", err)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	return chat, nil
}

// probeTemplate writes what the template of --model was found to do.
func probeTemplate(c *cli.Context) error {
	if c.String("model") == "" || c.IsSet("in") {
		return hint.With(usagef("--probe needs --model DIR, and no --in"), "DIR is a model, a run or a checkpoint with a chat template and a tokenizer.json")
	}
	found, err := findText(c, c.String("model"))
	if err != nil {
		return err
	}
	tok, err := text.ReadFolder(found.Dir)
	if err != nil {
		return fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	f, err := chat.New(tok, nil, chat.Options{})
	if err != nil {
		return err
	}
	return printJSON(c, struct {
		Token    string `json:"end_token"`
		ID       int    `json:"end_id"`
		System   bool   `json:"system_role"`
		Rewrites string `json:"rewrites"`
	}{tok.Decode([]int{f.End()}), f.End(), f.HasSystem(), f.Rewrites()})
}

// rendered is a line of output.
type rendered struct {
	Text  *string   `json:"text,omitempty"`
	Error string    `json:"error,omitempty"`
	Mask  *[][2]int `json:"assistant_mask,omitempty"`
}

func renderLines(name string, in io.Reader, w io.Writer, chat *text.Chat, o template.Options) error {
	out := bufio.NewWriter(w)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	err := lines.Each(name, in, func(_ int, raw []byte) error {
		vars, err := conversation(raw)
		if err != nil {
			return err
		}
		result, err := chat.Render(vars, o)
		line := rendered{}
		if err != nil {
			line.Error = err.Error()
		} else {
			line.Text = &result.Text
			line.Mask = characters(result)
		}
		return enc.Encode(line)
	})
	if err != nil {
		err = fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	return errors.Join(err, out.Flush())
}

// conversation reads a line: its keys are variables, and "messages" has to be one.
func conversation(raw []byte) (map[string]any, error) {
	const accepted = `{"messages":[{"role":"user","content":"..."}], ...}`
	if !bytes.HasPrefix(raw, []byte("{")) {
		return nil, fmt.Errorf("found no object; accepted: %s", accepted)
	}
	v, err := template.DecodeJSON(raw)
	if err != nil {
		return nil, fmt.Errorf("%w; accepted: %s", err, accepted)
	}
	vars := v.(*template.Dict).Vars()
	if _, ok := vars["messages"]; !ok {
		return nil, fmt.Errorf(`found no "messages"; accepted: %s`, accepted)
	}
	return vars, nil
}

// characters are the spans of the assistant in characters. It is nil for a template
// without generation blocks and where the place of one is unknown.
func characters(r template.Result) *[][2]int {
	if r.Assistant == nil || r.Lost != nil {
		return nil
	}
	out := make([][2]int, len(r.Assistant))
	for i, s := range r.Assistant {
		start := utf8.RuneCountInString(r.Text[:s.Start])
		out[i] = [2]int{start, start + utf8.RuneCountInString(r.Text[s.Start:s.End])}
	}
	return &out
}
