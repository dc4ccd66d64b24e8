package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/rl/recipe/presets"
	"github.com/rlzero/rlzero/rl/tasks"
	"github.com/rlzero/rlzero/verify"
)

// completeCommand is how the scripts of shells ask for the words that can stand at the end of a
// command line: rlzero __complete WORD..., the last of which may be begun or empty. It prints
// one a line; none means that a file can.
const completeCommand = "__complete"

// shells have a script each that asks.
var shells = []struct{ name, use, script string }{
	{"bash", `add to ~/.bashrc:  eval "$(rlzero completion bash)"`, `_rlzero() {
    local line=${COMP_LINE:0:COMP_POINT} words last
    read -r -a words <<< "$line"
    [[ $line == *' ' ]] && words+=("")
    last=${words[-1]}
    mapfile -t COMPREPLY < <(rlzero __complete "${words[@]:1}")
    COMPREPLY=("${COMPREPLY[@]#"${last%"${COMP_WORDS[COMP_CWORD]}"}"}") # bash takes words apart at : and =
}
complete -o default -F _rlzero rlzero
`},
	{"zsh", `add to ~/.zshrc, after compinit:  eval "$(rlzero completion zsh)"`, `_rlzero() {
    local found
    found=("${(@f)$(rlzero __complete "${(@)words[2,CURRENT]}")}")
    if [[ -n ${found[1]} ]]; then
        compadd -Q -- "${found[@]}"
    else
        _files
    fi
}
compdef _rlzero rlzero
`},
	{"fish", `rlzero completion fish > ~/.config/fish/completions/rlzero.fish`, `function __rlzero_complete
    set -l words (commandline -opc) (commandline -ct)
    rlzero __complete $words[2..-1]
end
complete -c rlzero -a '(__rlzero_complete)'
`},
}

func completionCommand() *cli.Command {
	var names []string
	text := "Prints a script with which a shell completes commands, flags and names after a tab:\n\n"
	for _, s := range shells {
		names = append(names, s.name)
		text += fmt.Sprintf("   %-5s  %s\n", s.name, s.use)
	}
	return &cli.Command{
		Name: "completion", Usage: "print a script that completes command lines in " + strings.Join(names, ", "), ArgsUsage: strings.Join(names, "|"),
		Description: text + "\nExample:\n   rlzero completion bash",
		Action: func(c *cli.Context) error {
			args, err := positional(c, strings.Join(names, "|"))
			if err != nil {
				return err
			}
			i := slices.Index(names, args[0])
			if i < 0 {
				return usage(hint.Unknown("shell", args[0], names, ""))
			}
			_, err = io.WriteString(c.App.Writer, shells[i].script)
			return err
		},
	}
}

// complete prints the words that can stand in place of the last one.
func complete(a *cli.App, words []string, out io.Writer) {
	for _, word := range completions(a, words) {
		fmt.Fprintln(out, word) // who asks may be gone
	}
}

// completions are the words that begin as the last one does.
func completions(a *cli.App, words []string) []string {
	if len(words) == 0 {
		words = []string{""}
	}
	last, before := words[len(words)-1], words[:len(words)-1]
	valued := valueFlags(a)
	line, err := split(valued, before)
	if err != nil { // the flag before has no value yet: it is the last word
		return beginning(last, flagValues(flagName(before[len(before)-1])))
	}
	commands, path := a.Commands, []string{}
	flags := a.Flags
	for len(line.words) > 0 && len(commands) > 0 {
		at := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(line.words[0]) })
		if at < 0 {
			return nil
		}
		path, flags, line.words = append(path, commands[at].Name), commands[at].Flags, line.words[1:]
		commands = commands[at].Subcommands
	}
	if name, value, found := strings.Cut(last, "="); found && strings.HasPrefix(last, "-") {
		var all []string
		for _, v := range beginning(value, flagValues(flagName(name))) {
			all = append(all, name+"="+v)
		}
		return all
	}
	if strings.HasPrefix(last, "-") && !slices.Contains(before, "--") {
		var names []string
		for _, f := range flags {
			names = append(names, "--"+f.Names()[0])
		}
		return beginning(last, append(names, "--help"))
	}
	var names []string
	for _, c := range commands {
		if c.Name != searchCommand {
			names = append(names, c.Name)
		}
	}
	return beginning(last, append(names, arguments(path, len(line.words))...))
}

// beginning are the names that begin with a word, sorted.
func beginning(word string, names []string) []string {
	all := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !strings.HasPrefix(name, word) })
	slices.Sort(all)
	return all
}

// arguments are the names that a command takes as its n-th argument, from 0.
func arguments(path []string, n int) []string {
	command := strings.Join(path, " ")
	if len(path) == 2 && path[1] == "show" && n == 0 {
		return shown(path[0])
	}
	switch {
	case command == "train" && n == 0, command == "compare":
		return presets.Names()
	case command == "tasks draw" && n == 0:
		return taskNames()
	case command == "bench" && n == 0:
		return strings.Split(benchNames, "|")
	case command == "completion" && n == 0:
		var names []string
		for _, s := range shells {
			names = append(names, s.name)
		}
		return names
	}
	return nil
}

// flagValues are the names that a flag takes. A flag means the same in all commands.
func flagValues(flag string) []string {
	switch flag {
	case "verifier", "against":
		var names []string
		for _, e := range verify.Entries() {
			names = append(names, e.Name)
		}
		return names
	case "task":
		return append(taskNames(), presets.Names()...)
	case "preset":
		return presets.Names()
	case "format":
		return exportFormats
	case "type":
		return typeNames(hf.GGUFTypes)
	case "size":
		return sizeNames()
	case "dtype":
		return []string{string(hf.F32), string(hf.BF16), string(hf.Q8), string(hf.Q4)}
	case "kv-dtype":
		return []string{string(hf.F32), string(hf.BF16)}
	case "split":
		return []string{tasks.Train.String(), tasks.HeldOut.String(), "test", "validation"}
	}
	return nil
}
