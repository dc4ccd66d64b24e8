"""Exit codes of the programs here: 0 equal, 1 something differs, 3 it could not be compared."""

import sys
import traceback


def ends(program, main):
    """Runs main. What breaks off, such as a full disk or a program that is not there, is one sentence and 3."""
    try:
        main()
    except Exception as why:
        at = traceback.extract_tb(why.__traceback__)[-1]
        print(f"{program}: error: the comparison broke off: {type(why).__name__}: {why} ({at.filename}:{at.lineno})", file=sys.stderr)
        sys.exit(3)
