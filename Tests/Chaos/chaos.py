"""Runs the pool under faults and judges it. Started by scripts/chaos, in namespaces of its own."""

import argparse
import os
import sys
import threading
import time

import final
import judge
import place
import proofs
import report
import schedule
import soak
import workload
import world


class Parser(argparse.ArgumentParser):
    def error(self, message):
        self.print_usage(sys.stderr)
        self.exit(64, f"chaos: {message}\n")


def arguments():
    parser = Parser(prog="scripts/chaos")
    parser.add_argument("--minutes", type=float, default=10, metavar="N", help="how long there are faults (10)")
    parser.add_argument("--seed", type=int, metavar="N", help="replays the faults of another run")
    parser.add_argument("--jobs", type=int, metavar="N", help="how many (800 a minute)")
    parser.add_argument("--large", type=int, metavar="N", help="how many of them are large files (8 a minute)")
    parser.add_argument("--record", metavar="FILE", help="also appends what the run came to to this file, for --table")
    parser.add_argument("--prove-judge", action="store_true", help="break Haul on purpose, and see that the judge finds it")
    parser.add_argument("--only", metavar="WORDS", help="with --prove-judge: scenes whose name has them")
    parser.add_argument("--soak", type=float, metavar="N", help="half of what the pool can do for N minutes, without faults")
    parser.add_argument("--scene", help=argparse.SUPPRESS)
    parser.add_argument("--broken", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--keep", action="store_true", help="leave logs and disks behind, in TMPDIR (/var/tmp)")
    parser.add_argument("--haul", required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.soak is not None and options.soak < 5:
        parser.error("a soak of less than 5 minutes says nothing")
    return options


def run(options, root):
    begin = time.time()
    seconds = 60 * options.minutes
    waves = workload.waves(
        options.seed, seconds, options.jobs or int(800 * options.minutes), options.large or int(8 * options.minutes),
        largest=500 << 20 if options.minutes >= 8 else None)
    plan = schedule.faults(options.seed, seconds)
    print(f"chaos: seed {options.seed}: {sum(len(w.jobs) for w in waves)} jobs, {len(plan)} faults in {seconds:.0f} s", flush=True)
    stage = world.World(root, options.haul, options.seed, waves, in_memory=not options.keep)
    stage.start()
    watcher = judge.Judge(stage)
    watcher.start()
    threads = [threading.Thread(target=stage.submit, daemon=True)]
    threads += [threading.Thread(target=stage.carry_out, args=(fault,), daemon=True) for fault in plan]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"chaos: all is healed after {time.time() - stage.ledger.begin:.0f} s", flush=True)
    final.finish(stage, watcher, 60, 240 + seconds)
    record = report.record(stage, watcher, options.seed, options.minutes, time.time() - begin)
    report.report(record)
    if options.record:
        report.append(options.record, record)
    if stage.ledger.violations:
        print(f"chaos: the logs of this run are in {report.keep(stage, root, record)}")
    return 1 if stage.ledger.violations else 0


def main():
    options = arguments()
    options.seed = options.seed if options.seed is not None else int.from_bytes(os.urandom(3))
    way = proofs.play if options.scene else proofs.prove if options.prove_judge else soak.run if options.soak else run
    place.inside("chaos", lambda root: way(options, root), keep=options.keep)


if __name__ == "__main__":
    main()
