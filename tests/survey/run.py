#!/usr/bin/env python3
"""The survey: models of a fixed list, exported in two forms; which of them magneton-ir reads, and whether it proves the forms equal.

    nice -n 10 python3 tests/survey/run.py export
    nice -n 10 python3 tests/survey/run.py check target/release/magneton-ir
    python3 tests/survey/run.py table --page docs/src/survey.md
    python3 tests/survey/run.py operators"""

import argparse
import os
import sys
from pathlib import Path


def cache():
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "magneton-ir" / "survey-exports"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=cache(), help="where the exports are")
    part = parser.add_mutually_exclusive_group()
    part.add_argument("--held-out", action="store_true", help="the third that nobody looks at while magneton-ir is worked on")
    part.add_argument("--only", metavar="MODEL,...", type=lambda names: names.split(","), default=[], help="some models of the development part")
    commands = parser.add_subparsers(dest="command", required=True)
    export = commands.add_parser("export", help="write the exports that are missing")
    export.add_argument("--again", action="store_true", help="write all of them")
    check = commands.add_parser("check", help="ask magneton-ir about every export")
    check.add_argument("binary")
    table = commands.add_parser("table", help="print the results, or write the page of the docs")
    table.add_argument("--page", type=Path, help="write this page, of both parts")
    commands.add_parser("operators", help="print every operator of the exports, and whether it is read")
    commands.add_parser("gaps", help="print what is not read and not proven, by number of models")
    commands.add_parser("list", help="print the list")
    return parser.parse_args()


def chosen(args):
    from models import ENTRIES

    part = [e for e in ENTRIES.values() if e.held_out == args.held_out]
    unknown = set(args.only) - {e.name for e in part}
    if unknown:
        sys.exit(f"not in this part of the survey: {', '.join(sorted(unknown))}")
    return [e for e in part if not args.only or e.name in args.only]


def main():
    args = arguments()
    part = "held-out" if args.held_out else "development"
    if args.command == "export":
        from exporting import export_all

        export_all(chosen(args), args.folder / part, again=args.again or bool(args.only))
    elif args.command == "check":
        from results import check_all

        check_all(args.folder, part, os.path.abspath(args.binary), args.only)
    elif args.command == "table" and args.page:
        import table

        args.page.write_text("\n".join(table.page(args.folder)) + "\n")
    elif args.command == "table":
        import table

        print("\n".join(table.lines(args.folder, [part])))
    elif args.command == "operators":
        import operators

        print("\n".join(operators.table(args.folder, part)))
    elif args.command == "gaps":
        import gaps

        print("\n".join(gaps.report(args.folder, part)))
    elif args.command == "list":
        for entry in chosen(args):
            print(f"{entry.name}\t{entry.library}\t{part}")


if __name__ == "__main__":
    main()
