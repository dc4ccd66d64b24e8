package cli

import (
	"fmt"
	"os"
	"runtime"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/internal/terminal"
)

// secretFile is the file of a flag that holds a key or a token, "" for none. If other users of the
// machine can read it, a warning says so.
func secretFile(c *cli.Context, flag string) string {
	path := c.String(flag)
	info, err := os.Stat(path)
	const others = 0o077 // the group, and all
	if err != nil || runtime.GOOS == "windows" || !info.Mode().IsRegular() || info.Mode().Perm()&others == 0 {
		return path // whoever reads it says what is wrong with it
	}
	warn(c, []string{fmt.Sprintf("--%s: other users of this machine can read %s (mode %04o): chmod 600 %s", flag, path, info.Mode().Perm(), terminal.ShellWord(path))})
	return path
}
