#!/usr/bin/env python3
"""Calls of PyTorch's operators over a grid of attributes and shapes, each exported before and after `run_decompositions()`: which of
them magneton-ir proves equal.

    nice -n 10 python3 tests/decompositions/run.py export
    nice -n 10 python3 tests/decompositions/run.py check target/release/magneton-ir
    python3 tests/decompositions/run.py gaps
    python3 tests/decompositions/run.py table --page docs/src/decompositions.md"""

import argparse
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "survey"))


def cache():
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "magneton-ir" / "decomposition-exports"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=cache(), help="where the exports are")
    part = parser.add_mutually_exclusive_group()
    part.add_argument("--held-out", action="store_true", help="the third that nobody looks at while magneton-ir is worked on")
    part.add_argument("--only", metavar="CASE,...", type=lambda names: names.split(","), default=[], help="some cases of the development part")
    commands = parser.add_subparsers(dest="command", required=True)
    export = commands.add_parser("export", help="write the exports that are missing")
    export.add_argument("--again", action="store_true", help="write all of them")
    check = commands.add_parser("check", help="ask magneton-ir about every export")
    check.add_argument("binary")
    commands.add_parser("gaps", help="print what is not read and not proven")
    table = commands.add_parser("table", help="print the results by operator, or write the page of the docs")
    table.add_argument("--page", type=Path, help="write this page, of both parts")
    return parser.parse_args()


def main():
    args = arguments()
    part = "held-out" if args.held_out else "development"
    if args.command == "export":
        from cases import ENTRIES
        from exporting import export_all

        chosen = [case for case in ENTRIES.values() if case.held_out == args.held_out and (not args.only or case.name in args.only)]
        export_all(chosen, args.folder / part, again=args.again or bool(args.only))
    elif args.command == "check":
        from results import check_all

        check_all(args.folder, part, os.path.abspath(args.binary), args.only)
    elif args.command == "gaps":
        import gaps

        print("\n".join(gaps.report(args.folder, part)))
    elif args.page:
        import page

        args.page.write_text("\n".join(page.page(args.folder)) + "\n")
    else:
        import page

        print("\n".join(page.lines(args.folder, [part])))


if __name__ == "__main__":
    main()
