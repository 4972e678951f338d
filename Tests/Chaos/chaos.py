"""Runs the pool under faults and judges it. Started by scripts/chaos, in namespaces of its own."""

import argparse
import os
import shutil
import signal
import sys
import tempfile
import threading
import time

import final
import judge
import report
import schedule
import traffic
import workload
import world


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/chaos")
    parser.add_argument("--minutes", type=float, default=10, metavar="N", help="how long there are faults (10)")
    parser.add_argument("--seed", type=int, metavar="N", help="replays the faults of another run")
    parser.add_argument("--jobs", type=int, metavar="N", help="how many (800 a minute)")
    parser.add_argument("--large", type=int, metavar="N", help="how many of them are large files (10 a minute)")
    parser.add_argument("--keep", action="store_true", help="leave logs and disks behind")
    parser.add_argument("--haul", required=True, help=argparse.SUPPRESS)
    return parser.parse_args()


def run(options, root):
    begin = time.time()
    seconds = 60 * options.minutes
    waves = workload.waves(
        options.seed, seconds, options.jobs or int(800 * options.minutes), options.large or int(10 * options.minutes),
        largest=500 << 20 if options.minutes >= 8 else None)
    plan = schedule.faults(options.seed, seconds)
    print(f"chaos: seed {options.seed}: {sum(len(w.jobs) for w in waves)} jobs, {len(plan)} faults in {seconds:.0f} s", flush=True)
    stage = world.World(root, options.haul, options.seed, waves)
    stage.ledger.begin = time.time()
    watcher = judge.Judge(stage)
    watcher.start()
    threads = [threading.Thread(target=stage.submit, daemon=True)]
    threads += [threading.Thread(target=stage.carry_out, args=(fault,), daemon=True) for fault in plan]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"chaos: all is healed after {time.time() - stage.ledger.begin:.0f} s", flush=True)
    final.settle(stage, 60)
    last = final.Final(stage)
    last.check()
    watcher.stop()
    final.check_processes(stage, watcher)
    stage.ledger.figures["replies lost"] = stage.relay.lost
    stage.stop()
    traffic.Traffic(stage).check()
    report.report(stage, watcher, options.seed, time.time() - begin)
    return 1 if stage.ledger.violations else 0


def main():
    options = arguments()
    options.seed = options.seed if options.seed is not None else int.from_bytes(os.urandom(3))
    root = tempfile.mkdtemp(prefix="haul-chaos.", dir=os.environ.get("TMPDIR", "/var/tmp"))
    os.chmod(root, 0o711)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        status = run(options, root)
    finally:
        # The kernel takes processes, mounts and network with this process, which is the first of its namespace.
        if options.keep:
            print(f"chaos: logs are in {root}")
        else:
            shutil.rmtree(root, ignore_errors=True)
    sys.exit(status)


if __name__ == "__main__":
    main()
