package cli

import (
	"io"
	"strings"

	"github.com/urfave/cli/v2"
)

func manCommand() *cli.Command {
	return &cli.Command{
		Name: "man", Usage: "print the manual page of all commands",
		Description: `Writes a manual page for man(1), made of the texts that --help shows.

Examples:
   rlzero man | man -l -
   rlzero man > ~/.local/share/man/man1/rlzero.1`,
		Action: func(c *cli.Context) error {
			if _, err := positional(c); err != nil {
				return err
			}
			_, err := io.WriteString(c.App.Writer, manual(c.App))
			return err
		},
	}
}

// manual is a page in the macros of man(7).
func manual(a *cli.App) string {
	var b strings.Builder
	b.WriteString(".TH RLZERO 1 \"\" \"rlzero " + roff(a.Version) + "\"\n.SH NAME\n" + roff(a.Name+" - "+a.Usage) + "\n.SH SYNOPSIS\n.B rlzero\n.I COMMAND\n[\\fIoptions\\fR]\n.SH DESCRIPTION\n")
	manText(&b, a.Description)
	group := ""
	for _, c := range a.Commands {
		if c.Category != group {
			group = c.Category
			b.WriteString(".SH " + roff(strings.ToUpper(group)) + "\n")
		}
		manCommandOf(&b, a.Name, c)
	}
	return b.String()
}

// manCommandOf writes a command and those below it.
func manCommandOf(b *strings.Builder, parent string, c *cli.Command) {
	name := parent + " " + c.Name
	usage := name
	if len(c.VisibleFlags()) > 0 {
		usage += " [options]"
	}
	if c.ArgsUsage != "" {
		usage += " " + c.ArgsUsage
	}
	b.WriteString(".SS " + roff(usage) + "\n" + roff(c.Usage) + ".\n")
	manText(b, c.Description)
	for _, f := range c.VisibleFlags() {
		term := flagTerm(f)
		b.WriteString(".TP\n.B " + roff(term[0]) + "\n" + roff(term[1]) + "\n")
	}
	for _, sub := range c.Subcommands {
		manCommandOf(b, name, sub)
	}
}

// manText writes a text in which lines that are indented stay as they are.
func manText(b *strings.Builder, text string) {
	b.WriteString(".PP\n")
	kept := false
	for _, line := range strings.Split(text, "\n") {
		switch indented := strings.HasPrefix(line, " "); {
		case line == "" && !kept:
			b.WriteString(".PP\n")
			continue
		case indented && !kept:
			b.WriteString(".nf\n")
		case !indented && line != "" && kept:
			b.WriteString(".fi\n.PP\n")
		}
		kept = kept && line == "" || strings.HasPrefix(line, " ")
		b.WriteString(roff(line) + "\n")
	}
	if kept {
		b.WriteString(".fi\n")
	}
}

// roff is a line as text.
func roff(line string) string {
	line = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(line)
	if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
		line = `\&` + line
	}
	return line
}
