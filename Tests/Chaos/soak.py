"""Runs the pool at half of its maximum rate for long. Checks that nothing slows down or grows, in Haul's processes and in
PostgreSQL's.

Two workers download small files from nginx. The first files measure the maximum rate; then the run uses half of it.
"""

import dataclasses
import time

import calls
import content
import judge
import world

# Tables that do not grow with the number of ended jobs. All others are history, and grow with each job.
HOT = ["ready", "scheduled", "held", "lease", "lane", "host", "worker", "worker_call", "progress", "checkpoint", "staging",
       "submission", "batch_change", "batch_total", "queue_gate", "pulse"]
SIZES = """
SELECT c.relname, sum(pg_table_size(c.oid))::bigint, sum(pg_indexes_size(c.oid))::bigint FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'haul' AND c.relkind = 'r' GROUP BY 1"""
ENDED = "SELECT count(*) FROM haul.outcome"
STEP = 10  # seconds between two submissions
# How much more a process may use at its late peak than at its early peak: bytes of memory, descriptors, threads. Descriptors
# come and go with transfers: a socket, a file and its directory for each of the twelve places. A few looks may miss the peak. A
# leak of one per job adds thousands in a minute. A session of PostgreSQL keeps the files of all tables that its statements have
# used open, some hundreds. The sum over all sessions is judged too, because some sessions begin late.
ALLOWANCE = (8 << 20, 48, 8)
SESSION = (8 << 20, 128, 0)
TOGETHER = (32 << 20, 512, 8)


@dataclasses.dataclass
class Sample:
    at: float  # seconds since the beginning
    ended: int
    left: int
    hot: int  # bytes of the hot tables with their indexes
    history: int  # bytes of all others
    blocks: float | None  # the most blocks that a call read for each job; None if there were too few calls
    use: dict  # for each process: bytes of memory, descriptors, threads, each the maximum since the last sample


class Soak:
    def __init__(self, options, root, seconds, period=60, spread=0.05, hand=None, environments=None):
        """`seconds`: how long; `period`: seconds between two samples; `spread`: by what share a minute's throughput may differ
        from what was submitted; `hand`: a function that runs once after half of the time; `environments`: environment variables
        of each worker number."""
        self.seconds, self.period, self.spread, self.hand, self.sent, self.samples = seconds, period, spread, hand, 0, []
        # Room for a block and an inode of each file.
        self.stage = world.World(root, options.haul, options.seed, [], 2, environments, size=int((10 + seconds / 60) * (100 << 20)))
        with open(self.stage.site.path("files", "small"), "wb") as file:
            file.write(content.File(1, 1024).piece(0, 0, 1024))
        self.stage.set_host("nginx.test", cap=64)
        self.stage.start()
        self.watcher = judge.Judge(self.stage)
        self.session = self.stage.server.session()
        self.calls, self.blocks, self.most = calls.Calls(self.session), [], {}

    def submit(self, count):
        lines = "\n".join(f"http://nginx.test/small?{self.sent + n}" for n in range(count))
        self.sent += count
        self.stage.persist("submit", "--queue", "disk", "--input", "-", text=lines)

    def ended(self):
        return self.session.run(ENDED)[0][0]

    def fastest(self):
        """Returns the jobs per second while many wait."""
        self.submit(6000)
        while self.ended() < 1000:
            time.sleep(0.2)  # no event reports how many have ended
        begin, first = time.time(), self.ended()
        while self.ended() < 5000:
            time.sleep(0.2)  # no event reports how many have ended
        return (self.ended() - first) / (time.time() - begin)

    def run(self):
        most = self.fastest()
        count = int(most / 2 * STEP)
        print(f"chaos: {most:.0f} jobs a second at most; {count / STEP:.0f} from now on", flush=True)
        begin = time.time()
        due = self.period
        while time.time() < begin + self.seconds:
            time.sleep(max(0, begin + STEP * (self.sent - 6000) / count - time.time()))  # jobs come at a steady rate
            self.submit(count)
            self.look()
            if time.time() >= begin + due:
                self.sample(time.time() - begin)
                due += self.period
            if self.hand and time.time() >= begin + self.seconds / 2:
                self.hand(self.stage)
                self.hand = None
        self.judge(count)

    def sample(self, at):
        sizes = {name: table + index for name, table, index in self.session.run(SIZES)}
        hot = sum(sizes[name] for name in HOT)
        ended = self.ended()
        self.samples.append(Sample(
            at, ended, self.sent - ended, hot, sum(sizes.values()) - hot, max(self.blocks, default=None), self.most))
        self.blocks, self.most = [], {}
        last = self.samples[-1]
        most = max(use[0] for name, use in last.use.items() if not name.startswith("PostgreSQL"))
        print(f"  {at / 60:6.1f} min  {ended:9} ended  {last.left:6} left  {last.blocks or 0:4.0f} blocks  hot {hot >> 10:7} KiB  "
              f"history {last.history / max(ended, 1):6.0f} bytes a job  memory {most >> 20} MiB  "
              f"PostgreSQL {last.use['PostgreSQL'][0] >> 20} MiB", flush=True)

    def look(self):
        found = self.calls.look()
        if found:
            self.blocks.append(found[0])
        for name, use in self.use().items():
            self.most[name] = tuple(map(max, use, self.most.get(name, use)))

    def use(self):
        """Returns what each process of the pool and of PostgreSQL uses. For PostgreSQL's processes, only their own memory counts,
        because each session touches nearly all of the shared memory in time."""
        for program in self.stage.pool.programs:
            program.watch()
            self.watcher.measure(program)
        use = {name: samples[-1][1:] for name, samples in self.watcher.samples.items()}
        sessions = {}
        for pid in self.stage.server.processes():
            has = judge.use_of(pid, "RssAnon")
            if has:
                sessions[f"PostgreSQL {pid}"] = has
        return use | sessions | {"PostgreSQL": tuple(sum(column) for column in zip(*sessions.values()))}

    def judge(self, count):
        """Checks that nothing changes after the first ten minutes, or the first third of a shorter run."""
        steady = [s for s in self.samples if s.at >= min(600, self.seconds / 3)]
        if len(steady) < 2:
            self.violation("judge", f"of {len(self.samples)} samples too few are late enough to compare")
        else:
            self.judge_throughput(steady, count)
            # Compare halves: a single minute reflects the machine's other work more than the pool.
            half = len(steady) // 2
            self.judge_sizes(steady[:half], steady[-half:])
            self.judge_growth(steady[:half], steady[-half:])
        deadline = time.time() + 120
        while self.ended() < self.sent and time.time() < deadline:
            time.sleep(0.5)  # no event reports that the last job has ended
        if self.ended() < self.sent:
            self.violation("settled", f"{self.sent - self.ended()} jobs have not ended 120 s after the last was submitted")
        self.watcher.look_at_jobs()
        self.watcher.look_at_hosts()
        self.stage.pool.stop()
        self.stage.stop()

    def judge_throughput(self, steady, count):
        """Checks that as much ends in every minute as is submitted, and that the backlog does not grow."""
        wide = min(max(1, 60 // self.period), len(steady) - 1)
        for then, now in zip(steady, steady[wide:]):
            part = (now.ended - then.ended) / (now.at - then.at) / (count / STEP)
            if abs(part - 1) > self.spread:
                self.violation("throughput", f"{part:.0%} of what was submitted ended from {then.at:.0f} to {now.at:.0f} s")
        left = max(s.left for s in steady)
        if left > 3 * count:
            self.violation("backlog", f"at most {left} jobs were left, {count} are submitted at once")

    def judge_sizes(self, early, late):
        # Hot tables grow until they are vacuumed: compare their maximum.
        for name, what, more, floor in (
            ("hot tables", lambda s: s.hot, 1.1, 1 << 20), ("history", lambda s: s.history / s.ended, 1.05, 0),
            ("claim", lambda s: s.blocks, 1.5, 0)):
            first, last = (max((value for value in map(what, part) if value is not None), default=None) for part in (early, late))
            if first is None or last is None:
                self.violation("judge", f"too few calls to judge {name} by")
            elif last > first * more + floor:
                self.violation(name, f"at most {first:.0f} at first, {last:.0f} at last")

    def judge_growth(self, early, late):
        for name in late[-1].use:
            first, last = (tuple(max(column) for column in zip(*(s.use[name] for s in part if name in s.use))) for part in (early, late))
            allowed = TOGETHER if name == "PostgreSQL" else SESSION if name.startswith("PostgreSQL ") else ALLOWANCE
            if first and any(now > before + more for now, before, more in zip(last, first, allowed)):
                self.violation("growth", f"{name}: at most {first} at first, {last} at last")

    def violation(self, check, text):
        self.stage.ledger.violation(check, text)


def run(options, root):
    soak = Soak(options, root, 60 * options.soak)
    soak.run()
    print(f"violations: {len(soak.stage.ledger.violations)}")
    return 1 if soak.stage.ledger.violations else 0
