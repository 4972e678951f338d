"""What a run came to, for the person at the terminal."""


def megabytes(count):
    return f"{count / (1 << 20):.1f} MiB"


def table(title, rows):
    print(f"\n{title}")
    width = max((len(str(name)) for name, _ in rows), default=0)
    for name, value in rows:
        print(f"  {name:<{width}}  {value:>10}")


def report(world, judge, seed, seconds):
    book, figures = world.ledger, world.ledger.figures
    table("faults", sorted(book.faults.items()) + [("all", sum(book.faults.values()))])
    jobs = figures.get("jobs", {})
    table("jobs", [(str(state), count) for state, count in sorted(jobs.items(), key=str)] + [("all", sum(jobs.values()))])
    names = {
        "bytes": "in completed files", "bytes sent": "sent by the origins", "bytes sent twice": "of large files sent twice",
        "bytes resumed": "resumed at hand-offs"}
    table("bytes", [(name, megabytes(figures.get(key, 0))) for key, name in names.items()])
    counts = ["requests", "hand-offs", "hand-offs resumed", "transfers that a kill broke off", "leases lost", "late renames", "rescued too often",
              "replies lost", "started without a database", "started on a full disk"]
    table("counts", [(name, figures.get(name, 0)) for name in counts] + [("processes started", len(book.lives))])
    table("checks", sorted(book.checks.items()))
    peaks = [max(s[1] for s in samples) for name, samples in judge.samples.items() if name.startswith("worker")]
    table("a worker's most", [("memory", megabytes(max(peaks, default=0)))] + [
        (what, max((s[index] for n, samples in judge.samples.items() if n.startswith("worker") for s in samples), default=0))
        for index, what in ((2, "descriptors"), (3, "threads"))])
    print(f"\nviolations: {len(book.violations)}; seed {seed}; {seconds:.0f} s")
    for moment, check, text in book.violations:
        print(f"  {moment:6.1f} s  {check}: {text}")
    if book.violations:
        print(f"\nThe same faults again: scripts/chaos --seed {seed}")
