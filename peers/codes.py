"""Exit codes of the programs here: 0 equal, 1 something differs, 2 a mistake of the program or of its call, 3 it could not be
compared."""

import sys
import traceback

WORKS = "rlzero itself needs none of this: make demo and make test work without it"
FULL = "No space left on device"  # which libraries say in errors of their own


class Broken(Exception):
    """It could not be compared: the reason, in a clause."""


def ends(program, main):
    """Runs main. What is missing, such as a program, a module or room on the disk, is one sentence and 3; any other error is a
    mistake of the program, and 2."""
    try:
        main()
    except Exception as why:
        if not isinstance(why, (Broken, OSError)) and not absent(why) and FULL not in str(why):
            traceback.print_exc()
            sys.exit(2)
        broke = "" if isinstance(why, Broken) else f"the comparison broke off: {type(why).__name__}: "
        print(f"{program}: error: {broke}{' '.join(str(why).split())}; {WORKS}", file=sys.stderr)
        sys.exit(3)


def absent(why):
    """Whether an error says that a package is not here; modules of this folder always are."""
    return isinstance(why, ModuleNotFoundError) and (why.name or "").split(".")[0] not in ("beside", "codes", "compare", "golden")


def last(said):
    """Of what a program printed the last line, which is its error; not the hint that rlzero writes below one."""
    lines = [line.strip() for line in said.splitlines() if line.strip() and not line.startswith("rlzero: hint:")]
    return lines[-1] if lines else "it said nothing"
