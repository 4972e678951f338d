"""The pool at half of what it can do, for long: that nothing slows down and nothing grows.

Small files from nginx, two workers. First as many as it takes to see how many a second it can do; then half of that.
"""

import time

import content
import judge
import world

# What is made anew for each job and goes with it; all else is history, and grows by the job.
HOT = ["ready", "scheduled", "held", "lease", "lane", "host", "worker", "worker_call", "progress", "checkpoint", "staging",
       "submission", "batch_change", "batch_total", "queue_gate", "pulse"]
SIZES = """
SELECT c.relname, sum(pg_table_size(c.oid))::bigint, sum(pg_indexes_size(c.oid))::bigint FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'haul' AND c.relkind = 'r' GROUP BY 1"""
ENDED = "SELECT count(*) FROM haul.outcome"
STEP = 10  # seconds between two submissions


class Soak:
    def __init__(self, options, root, seconds, period=60, hand=None, environments=None):
        """`seconds`: how long; `period`: seconds between two samples; `hand`: what reaches in once after half of the time; `environments`: of
        workers, by number."""
        self.seconds, self.period, self.hand, self.sent, self.samples = seconds, period, hand, 0, []
        # A block and an inode for each file.
        self.stage = world.World(root, options.haul, options.seed, [], 2, environments, size=int((10 + seconds / 60) * (100 << 20)))
        with open(self.stage.site.path("files", "small"), "wb") as file:
            file.write(content.File(1, 1024).piece(0, 0, 1024))
        self.stage.set_host("nginx.test", cap=64)
        self.stage.start()
        self.watcher = judge.Judge(self.stage)
        self.session = self.stage.server.session()

    def submit(self, count):
        lines = "\n".join(f"http://nginx.test/small?{self.sent + n}" for n in range(count))
        self.sent += count
        self.stage.persist("submit", "--queue", "disk", "--input", "-", text=lines)

    def ended(self):
        return self.session.run(ENDED)[0][0]

    def fastest(self):
        """Jobs a second with plenty to do."""
        self.submit(6000)
        while self.ended() < 1000:
            time.sleep(0.2)
        begin, first = time.time(), self.ended()
        while self.ended() < 5000:
            time.sleep(0.2)
        return (self.ended() - first) / (time.time() - begin)

    def run(self):
        most = self.fastest()
        count = int(most / 2 * STEP)
        print(f"chaos: {most:.0f} jobs a second at most; {count / STEP:.0f} from now on", flush=True)
        begin = time.time()
        due = self.period
        while time.time() < begin + self.seconds:
            time.sleep(max(0, begin + STEP * (self.sent - 6000) / count - time.time()))
            self.submit(count)
            for program in self.stage.pool.programs:
                program.watch()
                self.watcher.measure(program)
            if time.time() >= begin + due:
                self.sample(due / 60, time.time() - begin)
                due += self.period
            if self.hand and time.time() >= begin + self.seconds / 2:
                self.hand(self.stage)
                self.hand = None
        self.judge(count)

    def sample(self, minute, at):
        sizes = {name: (table, index) for name, table, index in self.session.run(SIZES)}
        hot = sum(sum(sizes[name]) for name in HOT)
        history = sum(sum(size) for name, size in sizes.items() if name not in HOT)
        memory = {name: samples[-1][1:] for name, samples in self.watcher.samples.items()}
        ended = self.ended()
        self.samples.append((at, self.sent - ended, hot, history, memory))
        print(f"  {minute:6.1f} min  {ended:9} ended  {self.sent - ended:6} left  hot {hot >> 10:7} KiB  history {history / max(ended, 1):6.0f} "
              f"bytes a job  memory {max(m[0] for m in memory.values()) >> 20} MiB", flush=True)

    def judge(self, count):
        """After the first ten minutes, or the first third of a shorter time, nothing may change any more."""
        book = self.stage.ledger
        steady = [s for s in self.samples if s[0] >= min(600, self.seconds / 3)]
        # By halves: a single minute says more of the machine's other work than of the pool.
        half = max(1, len(steady) // 2)
        halves = steady[:half], steady[-half:]
        first, last = (max(s[1] for s in part) for part in halves)
        if last > first + 2 * count:
            book.violation("throughput", f"at most {first} jobs were left at first, {last} at last")
        deadline = time.time() + 120
        while self.ended() < self.sent and time.time() < deadline:
            time.sleep(0.5)
        if self.ended() < self.sent:
            book.violation("settled", f"{self.sent - self.ended()} jobs have not ended 120 s after the last was submitted")
        # Tables grow until they are tidied: their most counts.
        early, late = (max(s[2] for s in part) for part in halves)
        if late > early * 1.1 + (1 << 20):
            book.violation("hot tables", f"at most {early >> 10} KiB at first, {late >> 10} KiB at last")
        # Descriptors come and go with transfers, a socket and a file for each of the twelve places: their most counts, and a few
        # looks do not meet it. What leaks one a job has thousands more in a minute.
        for name in steady[-1][4]:
            early, late = (
                tuple(max(column) for column in zip(*(s[4][name] for s in part if name in s[4]))) for part in halves)
            if early and any(now > before + more for now, before, more in zip(late, early, (8 << 20, 24, 8))):
                book.violation("growth", f"{name}: at most {early} at first, {late} at last")
        self.stage.pool.stop()
        self.stage.stop()


def run(options, root):
    soak = Soak(options, root, 60 * options.soak)
    soak.run()
    print(f"violations: {len(soak.stage.ledger.violations)}")
    return 1 if soak.stage.ledger.violations else 0
