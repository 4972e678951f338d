"""Runs one flavour of a pool on three machines. Started by scripts/machines, in namespaces of its own."""

import argparse
import os
import pathlib
import shutil
import sys
import tempfile
import time
import traceback

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parent.parent / "Chaos"))

import machine  # noqa: E402
import place  # noqa: E402
import proof  # noqa: E402
import stage as stages  # noqa: E402
import steps  # noqa: E402


class Parser(argparse.ArgumentParser):
    def error(self, message):
        self.print_usage(sys.stderr)
        self.exit(64, f"machines: {message}\n")


def arguments():
    parser = Parser(prog="scripts/machines")
    parser.add_argument("--flavour", required=True, choices=stages.FLAVOURS, help="how the machines store files")
    parser.add_argument("--files", type=int, default=100, metavar="N", help="how many files (100)")
    parser.add_argument("--seed", type=int, metavar="N", help="repeats the files and the losses of another run")
    parser.add_argument("--keep", action="store_true", help="leave logs behind, in TMPDIR (/var/tmp)")
    parser.add_argument("--haul", required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.files < 40:
        parser.error("fewer than 40 files are too few for all steps")
    options.seed = options.seed if options.seed is not None else int.from_bytes(os.urandom(3))
    return options


def run(options, root):
    disks = "FUSE (bindfs)" if machine.has_fuse() else "a bind mount"
    print(f"machines: {options.flavour}, seed {options.seed}, {options.files} files; {disks} for shared directories", flush=True)
    stage = stages.Stage(root, options.haul, options.flavour, options.seed, options.files)
    final = proof.Proof(stage)
    print(f"  {time.time() - stage.ledger.begin:5.1f} s  The machines are set up.", flush=True)
    try:
        steps.play(stage)
        final.check_database()
        stage.pool.stop()
        final.check_directories()
    except stages.Late as error:
        stage.violation("in time", str(error))
    except Exception as error:  # a driver that fails must not look like a pool that works
        stage.violation("driver", "".join(traceback.format_exception(error)))
    report(stage, final, stage.stop())
    if stage.ledger.violations or options.keep:
        print(f"machines: the logs of this run are in {keep(stage, root)}")
    return 1 if stage.ledger.violations else 0


def report(stage, final, counts):
    for name, count in (final.checks | counts).items():
        print(f"  {count:7} {name}")
    for what, said in stage.ledger.figures.items():
        print(f"  {what} got: {said}")
    print(f"machines: {stage.flavour}, seed {stage.seed}: {len(stage.ledger.violations)} violations; "
          f"{time.time() - stage.ledger.begin:.0f} s", flush=True)


def keep(stage, root):
    """Copies the logs to a directory that stays, and returns it."""
    kept = tempfile.mkdtemp(prefix="haul-machines-logs.", dir=os.path.dirname(root))
    for name in os.listdir(root):
        if name.endswith((".log", ".errors")) or name == "requests":
            shutil.copy(os.path.join(root, name), kept)
    shutil.copy(stage.server.log, os.path.join(kept, "postgres.log"))
    return kept


def main():
    options = arguments()
    place.inside("machines", lambda root: run(options, root))


if __name__ == "__main__":
    main()
