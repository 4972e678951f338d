"""Chooses the faults and their times. The list follows from the seed and the length alone, so a seed repeats it."""

import dataclasses
import random

WORKERS, COORDINATORS = 6, 2

# For each kind: what no other fault may use meanwhile, shortest and longest duration in seconds, and how often it occurs.
KINDS = {
    "worker kill -9": ("worker", 1, 5, 8),
    "worker SIGTERM": ("worker", 0.5, 2, 2),
    "worker haul drain": ("worker", 0.5, 2, 1),
    "worker SIGSTOP": ("worker", 2, 8, 1),
    "worker SIGSTOP past its lease": ("worker", 18, 24, 2),
    "worker cut off": ("worker", 4, 22, 2),
    "worker killed while cut off": ("worker", 4, 22, 1),
    "worker loses what it sends to the database": ("worker", 5, 20, 1),
    "worker loses what the database sends": ("worker", 5, 20, 1),
    "worker loses what origins send": ("worker", 5, 20, 1),
    "worker on a slow line": ("worker", 8, 16, 1),
    "worker's clock three hours fast": ("worker", 8, 16, 1),
    "database on a slow line": ("relay", 6, 14, 1),
    "database replies lost": ("relay", 0.5, 3, 2),
    "lists submitted through a pooler": ("server", 3, 5, 0.5),
    "coordinator kill -9": ("coordinator", 1, 5, 1),
    "coordinator SIGTERM": ("coordinator", 1, 4, 1),
    "coordinator SIGSTOP": ("coordinator", 4, 22, 1),
    "sessions terminated": ("server", 0, 0, 3),
    "one backend kill -9": ("server", 6, 6, 1),
    "one backend SIGSTOP": ("server", 16, 20, 0.5),
    "server SIGSTOP": ("server", 16, 20, 0.5),
    "server restarted": ("server", 6, 6, 1),
    "server stopped for a while": ("server", 10, 14, 1),
    "failover to a standby": ("server", 2, 5, 0.5),
    "database's clock set back": ("server", 5, 8, 0.5),
    "database's clock set forward": ("server", 5, 8, 0.5),
    "transaction left open": ("transaction", 5, 40, 2),
    "job with options of an older version": ("row", 0, 0, 2),
    "origin restarted": ("origin", 0.5, 3, 2),
    "nginx restarted": ("nginx", 0.5, 3, 1),
    "origin misbehaves": ("odd.test", 8, 20, 4),
    "storm of 429": ("odd.test", 4, 8, 1),
    "storm of 503": ("odd.test", 4, 8, 1),
    "connections for large files reset": ("large.test", 2, 5, 2),
    "files replaced": ("versions", 0, 0, 3),
    "disk full": ("small", 6, 12, 1),
    "disk hangs": ("disk", 3, 20, 1),
    "loss of power": ("server", 4, 4, 2),
    "cap changed": ("cap", 0, 0, 4),
    "interval changed": ("interval", 0, 0, 1),
    "queue paused": ("queues", 3, 7, 2),
    "batch paused": ("batches", 2, 6, 2),
    "batch cancelled": ("batches", 3, 3, 1),
    "jobs prioritised": ("batches", 0, 0, 2),
    "haul migrate": ("migrate", 0, 0, 1),
}


@dataclasses.dataclass(frozen=True)
class Fault:
    at: float
    kind: str
    duration: float
    target: int  # the number of the worker or coordinator; any number for other kinds
    dice: int    # the seed of the fault's own random numbers


def faults(seed, seconds, gap=1.6):
    """Chooses every kind once, then by weight. No fault needs what another fault still occupies."""
    dice = random.Random(f"{seed} schedule")
    free = {}  # for each (need, number): from when it is free
    made, now = [], 3.0
    first = list(KINDS)
    dice.shuffle(first)
    while (now := now + dice.expovariate(1 / gap)) < seconds - 2:
        for _ in range(20):
            kind = first[0] if first else dice.choices(list(KINDS), [k[3] for k in KINDS.values()])[0]
            need, shortest, longest, _ = KINDS[kind]
            count = {"worker": WORKERS, "coordinator": COORDINATORS}.get(need, 1)
            open_targets = [n for n in range(count) if free.get((need, n), 0) <= now]
            # Half of the workers are always without faults.
            if not open_targets or need == "worker" and len(open_targets) <= WORKERS // 2:
                if first:
                    first.append(first.pop(0))
                continue
            first = first[1:]
            target = dice.choice(open_targets)
            duration = min(dice.uniform(shortest, longest), max(seconds - now, 0.5))
            free[need, target] = now + duration + 3
            made.append(Fault(now, kind, duration, target, dice.randrange(1 << 30)))
            break
    return made
