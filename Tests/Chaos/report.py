"""The result of a run: for the person at the terminal, and as a record for the table of several runs."""

import json
import os
import shutil
import tempfile
import time

BYTES = {
    "bytes": "in completed files", "bytes sent": "sent by the origins", "bytes sent twice": "of large files sent twice",
    "bytes resumed": "resumed at hand-offs"}
COUNTS = [
    "requests", "hand-offs", "hand-offs resumed", "transfers that a kill broke off", "leases lost", "late renames",
    "rescued too often", "set aside", "replies lost", "started without a database"]


def megabytes(count):
    return f"{count / (1 << 20):.1f} MiB"


def table(title, rows):
    print(f"\n{title}")
    width = max((len(str(name)) for name, _ in rows), default=0)
    for name, value in rows:
        print(f"  {name:<{width}}  {value:>10}")


def record(world, judge, seed, minutes, seconds):
    """Returns the whole result of a run in types that JSON has."""
    book, figures = world.ledger, world.ledger.figures
    workers = [sample for name, samples in judge.samples.items() if name.startswith("worker") for sample in samples]
    return {
        "date": time.strftime("%Y-%m-%d", time.gmtime()), "seed": seed, "minutes": minutes, "seconds": round(seconds),
        "machine": machine(), "load": round(os.getloadavg()[2], 1), "faults": dict(book.faults),
        "jobs": {str(state): count for state, count in figures.get("jobs", {}).items()},
        "bytes": {name: figures.get(key, 0) for key, name in BYTES.items()},
        "counts": {name: figures.get(name, 0) for name in COUNTS} | {"processes started": len(book.lives)},
        "checks": dict(book.checks),
        "most": {what: max((sample[index] for sample in workers), default=0)
                 for index, what in ((1, "bytes of memory"), (2, "descriptors"), (3, "threads"))},
        "calls": {"blocks": round(judge.calls.most), "waiting": judge.calls.most_waiting},
        "violations": book.violations}


def machine():
    with open("/etc/os-release") as file:
        names = dict(line.rstrip().split("=", 1) for line in file if "=" in line)
    system = "Debian " + names["VERSION_ID"].strip('"') if names.get("ID") == "debian" else names.get("PRETTY_NAME", "").strip('"')
    return f"{os.cpu_count()} cores, {system}"


def report(run):
    table("faults", sorted(run["faults"].items()) + [("all", sum(run["faults"].values()))])
    table("jobs", sorted(run["jobs"].items()) + [("all", sum(run["jobs"].values()))])
    table("bytes", [(name, megabytes(count)) for name, count in run["bytes"].items()])
    table("counts", run["counts"].items())
    table("checks", sorted(run["checks"].items()))
    most = dict(run["most"])
    table("a worker's most", [("memory", megabytes(most.pop("bytes of memory"))), *most.items()])
    table("calls that claim and settle", [("most that waited", run["calls"]["waiting"]), ("most blocks for one", run["calls"]["blocks"])])
    print(f"\nviolations: {len(run['violations'])}; seed {run['seed']}; {run['seconds']} s")
    for moment, check, text in run["violations"]:
        print(f"  {moment:6.1f} s  {check}: {text}")
    if run["violations"]:
        print(f"\nThe same faults again: scripts/chaos --minutes {run['minutes']:g} --seed {run['seed']}")


def keep(world, root, run):
    """Saves what explains a violation (logs, the origins' requests, all attempts) in a directory that stays. Returns its
    path."""
    kept = tempfile.mkdtemp(prefix="haul-chaos-logs.", dir=os.path.dirname(root))
    for name in os.listdir(root):
        if name.endswith((".log", ".errors")) or name in ("requests", "nginx-requests", "attempts"):
            shutil.copy(os.path.join(root, name), kept)
    shutil.copy(world.server.log, os.path.join(kept, "postgres.log"))
    with open(os.path.join(kept, "run"), "w") as file:
        json.dump(run | {"begin": world.ledger.begin}, file)
    return kept


def append(path, run):
    with open(path, "a") as file:
        file.write(json.dumps(run) + "\n")
