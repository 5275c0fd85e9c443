"""The entry point of `cbn`: from a command line to an exit code.

No traceback reaches a user unless CBN_DEBUG=1 asks for it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from testbed.cli import exits
from testbed.cli.parser import build_parser

DEBUG = "CBN_DEBUG"


def main(argv: Sequence[str] | None = None) -> int:
    """Run `cbn` with these arguments and return its exit code."""
    given = sys.argv[1:] if argv is None else argv
    args = build_parser(only=given[0] if given else "").parse_args(given)
    with exits.Signals() as signals:
        try:
            code = int(args.execute(args))
            sys.stdout.flush()
        except KeyboardInterrupt:
            _say("interrupted")
            code = exits.INTERRUPTED
        except BrokenPipeError:
            code = _reader_has_gone()
        except exits.CommandError as error:
            _say(str(error), debug=error)
            code = error.code
        except Exception as error:
            code = _defect(error)
    return signals.exit_code or code


def _say(text: str, debug: BaseException | None = None) -> None:
    if debug is not None and os.environ.get(DEBUG) == "1":
        import traceback  # takes longer than all else that `cbn --help` imports

        traceback.print_exception(debug)
    print(f"cbn: {text}", file=sys.stderr)


def _reader_has_gone() -> int:
    """The reader of our output has closed it (`cbn ... | head`): there is nothing more to print."""
    sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - the exit flushes it
    return exits.OK


def _defect(error: Exception) -> int:
    missing = getattr(error, "name", None) if isinstance(error, ImportError) else None
    if missing is not None and str(missing).startswith("fastpath"):
        _say(f"the compiled extension {missing} is not built here: run `make build`", debug=error)
        return exits.MACHINE
    if missing == "nodes.compiled":
        _say(str(error), debug=error)
        return exits.MACHINE
    _say(
        f"this is a defect of cbn, not of what you asked for: {type(error).__name__}: {error}\n"
        f"Run it again with {DEBUG}=1 and report what it then prints, the command line and, if a run was "
        "started, its run directory.",
        debug=error,
    )
    return exits.DEFECT
