"""Prints the runs that scripts/chaos --record has noted in a file as Markdown tables: one of the runs, one of their faults."""

import json
import sys

RUN_ROWS = [
    ("date", lambda run: run["date"]),
    ("machine", lambda run: run["machine"]),
    ("load of the machine", lambda run: run["load"]),
    ("duration of the faults", lambda run: f"{run['minutes']:g} min"),
    ("until all jobs had ended", lambda run: f"{run['seconds'] / 60:.0f} min"),
    ("faults", lambda run: number(sum(run["faults"].values()))),
    ("processes started", lambda run: number(run["counts"]["processes started"])),
    ("jobs", lambda run: number(sum(run["jobs"].values()))),
    ("– completed", lambda run: number(run["jobs"].get("completed", 0))),
    ("– failed: no origin has the file, or the job was rescued too often", lambda run: number(run["jobs"].get("failed", 0))),
    ("– cancelled", lambda run: number(run["jobs"].get("cancelled", 0))),
    ("size of the completed files", lambda run: gibibytes(run["bytes"]["in completed files"])),
    ("data sent by the origins", lambda run: gibibytes(run["bytes"]["sent by the origins"])),
    ("hand-offs", lambda run: number(run["counts"]["hand-offs"])),
    ("– that resumed a part file", lambda run: number(run["counts"]["hand-offs resumed"])),
    ("data resumed at hand-offs", lambda run: gibibytes(run["bytes"]["resumed at hand-offs"])),
    ("leases lost", lambda run: number(run["counts"]["leases lost"])),
    ("files compared", lambda run: number(run["checks"].get("files compared", 0))),
    ("digests compared", lambda run: number(run["checks"].get("digests compared", 0))),
    ("maximum memory of a worker", lambda run: f"{run['most']['bytes of memory'] / (1 << 20):.0f} MiB"),
    ("maximum number of waiting jobs", lambda run: number(run["calls"]["waiting"])),
    ("maximum number of blocks read per call or started job", lambda run: number(run["calls"]["blocks"])),
    ("**violations**", lambda run: f"**{len(run['violations'])}**"),
]


def number(count):
    return f"{count:,}"


def gibibytes(count):
    return f"{count / (1 << 30):.1f} GiB"


def rows(head, body):
    print(f"| {' | '.join(head)} |")
    print(f"| --- |{' ---: |' * (len(head) - 1)}")
    for row in body:
        print(f"| {' | '.join(str(cell) for cell in row)} |")


def main():
    with open(sys.argv[1]) as file:
        runs = [json.loads(line) for line in file]
    seeds = [f"seed {run['seed']}" for run in runs]
    rows(["", *seeds], ([name, *(value(run) for run in runs)] for name, value in RUN_ROWS))
    print()
    kinds = sorted({kind for run in runs for kind in run["faults"]})
    counts = {kind: [run["faults"].get(kind, 0) for run in runs] for kind in kinds}
    rows(["fault", *seeds, "all"], ([kind, *counts[kind], sum(counts[kind])] for kind in kinds))


if __name__ == "__main__":
    main()
