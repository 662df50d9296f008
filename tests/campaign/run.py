#!/usr/bin/env python3
"""The differential campaign: random programs, each against variants and edits of itself; libtorch judges the verdicts.

    nice -n 10 python3 tests/campaign/run.py target/release/magneton-ir --pairs 20000"""

import argparse
import collections
import concurrent.futures
import contextlib
import faulthandler
import multiprocessing
import os
import sys
import threading
import time
import warnings

# Vector code and what is left over at its end round transcendental functions differently.
os.environ.setdefault("ATEN_CPU_CAPABILITY", "default")
os.environ.setdefault("OMP_NUM_THREADS", "1")
warnings.simplefilter("ignore")


# Two variants and two edits.
PER_PROGRAM = 4


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--pairs", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="one pair, as PROGRAM.PAIR, or one program")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", help="folder for what was found")
    parser.add_argument("--no-shrink", action="store_true")
    parser.add_argument("--missed", action="store_true", help="print the edits that libtorch tells apart and the verdict does not")
    return parser.parse_args()


def serve(connection):
    # PyTorch is loaded in the workers, once the settings above are in place.
    from trial import programs

    faulthandler.enable()
    with contextlib.suppress(EOFError):
        while True:
            connection.send(programs(*connection.recv()))


class Worker:
    """A process that judges programs. PyTorch takes it down on some, and a new one goes on."""

    def __init__(self):
        self.start()

    def start(self):
        context = multiprocessing.get_context("spawn")
        self.connection, end = context.Pipe()
        context.Process(target=serve, args=(end,), daemon=True).start()
        end.close()

    def run(self, args, numbers, wanted):
        """Counts and finds of some programs."""
        try:
            self.connection.send((args, numbers, wanted))
            return self.connection.recv()
        except (EOFError, ConnectionError):
            self.start()
        if len(numbers) > 1:
            parts = [self.run(args, [number], wanted) for number in numbers]
            return sum((counts for counts, _ in parts), collections.Counter()), [find for _, finds in parts for find in finds]
        print(f"not judged: program {numbers[0]}, which took the process down", file=sys.stderr, flush=True)
        return collections.Counter({"not judged: PyTorch took the process down": 1}), []


def main():
    args = arguments()
    args.binary = os.path.abspath(args.binary)
    if args.only:
        program, _, pair = args.only.partition(".")
        tasks = [(args, [int(program)], int(pair) if pair else None)]
    else:
        # Some programs give fewer pairs, and some are not exported.
        programs = range(args.pairs * 5 // (4 * PER_PROGRAM) + 1)
        tasks = [(args, list(programs[i : i + 5]), None) for i in range(0, len(programs), 5)]
    started = time.time()
    counts, finds = collections.Counter(), []
    own = threading.local()
    with concurrent.futures.ThreadPoolExecutor(args.jobs, initializer=lambda: setattr(own, "worker", Worker())) as pool:
        running = [pool.submit(lambda task: own.worker.run(*task), task) for task in tasks]
        for done, future in enumerate(concurrent.futures.as_completed(running), 1):
            some, found = future.result()
            counts.update(some)
            print(f"{done} of {len(tasks)}, {time.time() - started:.0f} s", end="\r", file=sys.stderr, flush=True)
            for find in found:
                finds.append(find)
                print(find, flush=True)
    for name in sorted(counts):
        print(f"{counts[name]:8d}  {name}")
    pairs = sum(n for name, n in counts.items() if name.startswith(("variant", "edit")))
    print(f"{pairs} pairs in {time.time() - started:.0f} s, {len(finds)} finds")
    sys.exit(bool(finds))


if __name__ == "__main__":
    main()
