//go:build !js

package outside

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/files"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/terminal"
)

// Command is a program of others.
type Command struct {
	Words []string // the program and its arguments; one without a path is looked up
	Env   []string // names of variables that it sees besides the usual ones

	// Told is told of the command, as String has it, before each process of it starts: it has the rights of the user,
	// who may not know of it. Many goroutines may call it. nil: nobody is told.
	Told func(command string)
}

// String is the command as a line of a shell. What a terminal would obey is escaped.
func (c Command) String() string {
	words := make([]string, len(c.Words))
	for i, w := range c.Words {
		words[i] = terminal.ShellWord(w)
	}
	line := strings.Join(words, " ")
	return terminal.Line(line, len(line))
}

// scripts are the ends of the names of files that an interpreter runs.
var scripts = []string{".py", ".js", ".mjs", ".cjs", ".ts", ".sh", ".rb", ".pl", ".php", ".lua", ".jl", ".r", ".jar", ".wasm"}

// Digest is the SHA-256 of the program and the scripts that the command names, in hexadecimal digits, and of its
// other words: a program that is looked up counts by its name, and so do files that it is given, which it may
// write. A file is a script if its name ends like one, or if it begins with #!.
func (c Command) Digest() (string, error) {
	whole := sha256.New()
	for i, word := range c.Words {
		info, err := os.Stat(word)
		if err != nil || !info.Mode().IsRegular() || !strings.ContainsAny(word, `/\`) {
			fmt.Fprintf(whole, "word %q\n", word)
			continue
		}
		f, err := files.Open(word)
		if err != nil {
			return "", err
		}
		begins := make([]byte, 2)
		n, _ := io.ReadFull(f, begins)
		begins = begins[:n]
		if i > 0 && string(begins) != "#!" && !slices.Contains(scripts, strings.ToLower(filepath.Ext(word))) {
			f.Close()
			fmt.Fprintf(whole, "given %q\n", filepath.Base(word))
			continue
		}
		sum := sha256.New()
		sum.Write(begins)
		_, err = io.Copy(sum, f)
		f.Close()
		if err != nil {
			return "", err
		}
		fmt.Fprintf(whole, "file %q %x\n", filepath.Base(word), sum.Sum(nil))
	}
	return hex.EncodeToString(whole.Sum(nil)), nil
}

// usual are the variables that every program sees: where programs, the user's files and temporary ones lie.
var usual = []string{"PATH", "HOME", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "USERPROFILE", "APPDATA", "LOCALAPPDATA"}

// minSecret is the length of the shortest value that is cut out of what a program says, in bytes: a shorter one
// is likely a word of its own.
const minSecret = 8

// environment is all that the program sees, and secrets what is not to be said of it, with the names of the
// variables.
func (c Command) environment() (env []string, secrets [][2]string, err error) {
	for _, name := range slices.Concat(usual, c.Env) {
		value, there := os.LookupEnv(name)
		named := slices.Contains(c.Env, name)
		if !there {
			if named {
				return nil, nil, hint.With(fmt.Errorf("the variable %s, which %s is to see, is not set", name, c.Words[0]), "set it: export %s=...", name)
			}
			continue
		}
		env = append(env, name+"="+value)
		if named && len(value) >= minSecret {
			secrets = append(secrets, [2]string{value, "[" + name + "]"})
		}
	}
	slices.SortFunc(secrets, func(a, b [2]string) int { return len(b[0]) - len(a[0]) }) // one may be a part of another
	// Else sets of Python come in another order in every process, and no world written in it would be pure.
	return append(env, "PYTHONHASHSEED=0"), secrets, nil
}
