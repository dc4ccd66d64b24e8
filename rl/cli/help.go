package cli

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"
)

// Help is laid out here and not by the library, whose tables are as wide as their longest
// line: it fits a terminal of 80 columns.
const (
	helpWidth  = 80
	helpMargin = "   "
	widestTerm = 22 // a longer one has its text on the next line
)

func init() { cli.HelpPrinter = printHelp } // the library keeps it in a variable

// commands are all commands, in groups by what people do with them.
func commands() []*cli.Command {
	groups := []struct {
		name     string
		commands []*cli.Command
	}{
		{"Train and watch", []*cli.Command{trainCommand(), compareCommand(), recipesCommand(), pageCommand(), showCommand(), rowsCommand(), watchCommand(),
			reportCommand(), metricsCommand(), receiptCommand(), workersCommand()}},
		{"Models", []*cli.Command{modelCommand(), weightsCommand(), fitCommand(), chatCommand(), sampleCommand(), evalCommand(), scoreCommand(), serveCommand(), exportCommand(), inspectCommand()}},
		{"Data and rewards", []*cli.Command{tasksCommand(), worldsCommand(), toolsCommand(), verifiersCommand(), verifyCommand(), judgeCommand(), auditCommand(), formulasCommand(), algorithmsCommand()}},
		{"This machine", []*cli.Command{devicesCommand(), doctorCommand(), benchCommand(), workerCommand()}},
		{"The program", []*cli.Command{versionCommand(), completionCommand(), manCommand()}},
	}
	var all []*cli.Command
	for _, g := range groups {
		for _, c := range g.commands {
			c.Category = g.name
			all = append(all, c)
		}
	}
	return all
}

// printHelp writes the help of the program or of a command.
func printHelp(w io.Writer, _ string, of any) {
	var b strings.Builder
	switch c := of.(type) {
	case *cli.App:
		heading(&b, c.Name, c.Usage, c.Name+" COMMAND [options]", c.Description)
		for rest := c.Commands; len(rest) > 0; {
			n := 1
			for n < len(rest) && rest[n].Category == rest[0].Category {
				n++
			}
			commandList(&b, rest[0].Category, rest[:n])
			rest = rest[n:]
		}
		flagList(&b, c.VisibleFlags())
	case *cli.Command:
		usage := c.HelpName
		if len(c.VisibleFlags()) > 0 {
			usage += " [options]"
		}
		if c.ArgsUsage != "" {
			usage += " " + c.ArgsUsage
		}
		heading(&b, c.HelpName, c.Usage, usage, c.Description)
		if len(c.Subcommands) > 0 {
			commandList(&b, "Commands", c.Subcommands)
		}
		flagList(&b, c.VisibleFlags())
	}
	io.WriteString(w, b.String()) // the writer keeps its first error
}

func heading(b *strings.Builder, name, purpose, usage, description string) {
	b.WriteString("NAME:\n")
	fill(b, name+" - "+purpose)
	b.WriteString("\nUSAGE:\n")
	fill(b, usage)
	b.WriteString("\nDESCRIPTION:\n")
	fill(b, description)
}

func commandList(b *strings.Builder, title string, commands []*cli.Command) {
	terms := make([][2]string, len(commands))
	for i, c := range commands {
		terms[i] = [2]string{strings.Join(c.Names(), ", "), c.Usage}
	}
	termList(b, title, terms)
}

func flagList(b *strings.Builder, flags []cli.Flag) {
	terms := make([][2]string, len(flags))
	for i, f := range flags {
		terms[i] = flagTerm(f)
	}
	termList(b, "Options", terms)
}

// flagTerm is a flag as it is typed, with a word for its value, and its text.
func flagTerm(f cli.Flag) [2]string {
	documented, ok := f.(cli.DocGenerationFlag)
	if !ok {
		return [2]string{strings.Join(f.Names(), ", "), ""}
	}
	value, text := valueWord(f, documented.GetUsage())
	names := make([]string, len(f.Names()))
	for i, name := range f.Names() {
		names[i] = "--" + name
		if len(name) == 1 {
			names[i] = "-" + name
		}
	}
	term := strings.Join(names, ", ")
	if documented.TakesValue() {
		term += " " + value
	}
	if _, list := f.(*cli.StringSliceFlag); list {
		text += " (repeatable)"
	}
	if standard := documented.GetDefaultText(); standard != "" && documented.TakesValue() {
		text += fmt.Sprintf(" (default: %s)", strings.Trim(standard, `"`))
	}
	for _, name := range documented.GetEnvVars() {
		text += " [$" + name + "]"
	}
	return [2]string{term, text}
}

// valueWord is what stands for the value of a flag, and the flag's text: the word in back
// quotes in the text, or else one for the type.
func valueWord(f cli.Flag, usage string) (word, text string) {
	if before, rest, found := strings.Cut(usage, "`"); found {
		if word, after, found := strings.Cut(rest, "`"); found {
			return word, before + word + after
		}
	}
	switch f.(type) {
	case *cli.IntFlag, *cli.Uint64Flag:
		return "N", usage
	case *cli.Float64Flag:
		return "X", usage
	case *cli.DurationFlag:
		return "TIME", usage
	}
	name := f.Names()[0]
	return strings.ToUpper(name[strings.LastIndexByte(name, '-')+1:]), usage
}

// termList writes terms with their texts in a column beside them.
func termList(b *strings.Builder, title string, terms [][2]string) {
	fmt.Fprintf(b, "\n%s:\n", strings.ToUpper(title))
	width := 0
	for _, t := range terms {
		if n := len(t[0]); n <= widestTerm {
			width = max(width, n)
		}
	}
	beside := helpMargin + strings.Repeat(" ", cmp.Or(width, widestTerm)+2)
	for _, t := range terms {
		before := helpMargin + t[0]
		if len(before)+2 > len(beside) {
			b.WriteString(before + "\n")
			before = ""
		}
		first := before + beside[len(before):]
		b.WriteString(wrap(strings.Fields(t[1]), first, beside))
	}
}

// fill writes a text with a margin. Its paragraphs are broken anew; lines that are indented
// stay as they are.
func fill(b *strings.Builder, text string) {
	var words []string
	end := func() {
		b.WriteString(wrap(words, helpMargin, helpMargin))
		words = nil
	}
	for _, line := range strings.Split(text, "\n") {
		switch {
		case line == "":
			end()
			b.WriteString("\n")
		case line[0] == ' ':
			end()
			b.WriteString(helpMargin + line + "\n")
		default:
			words = append(words, strings.Fields(line)...)
		}
	}
	end()
}

// wrap is words on lines that begin with first and then with later.
func wrap(words []string, first, later string) string {
	var b strings.Builder
	line := first
	for i, word := range words {
		switch {
		case i == 0:
			line += word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > helpWidth:
			b.WriteString(line + "\n")
			line = later + word
		default:
			line += " " + word
		}
	}
	if len(words) > 0 {
		b.WriteString(line + "\n")
	}
	return b.String()
}
