// The tables of the page and their columns.

/// Whether every place of every worker is taken. Then jobs wait for a place, even if their host allows more transfers.
let noPlace = false;
const plain = (title, classes, value) => ({ title, classes, show: (cell, item) => set(cell, value(item)) });
const spans = (...classes) => () => classes.map((name) => make("span", name));

const tables = {
  running: new Table("running", [
    {
      title: "File", parts: () => [make("a", "name path"), progress(), make("span", "sub"), make("span", "sub wrap narrow")],
      show(cell, job) {
        const [name, meter, where, narrow] = cell.children;
        named(name, job.path);
        name.href = jobURL(job.job);
        bar(meter, job.total > 0 ? percent(job.bytes, job.total) : null, `Progress of ${job.path}`);
        const again = job.attempt > 1 ? ` · attempt ${job.attempt}` : "";
        const word = job.command ? ` · ${job.command} requested` : "";
        set(where, `${job.host} · worker ${job.worker} on ${job.machine}${again}${word}`);
        set(narrow, [done(job), received(job), rate(job.rate)].filter(Boolean).join(" · "));
      },
    },
    plain("Done", "n wide w-1", done),
    plain("Received", "n wide w-5", received),
    plain("Rate", "n wide w-3", (job) => rate(job.rate)),
    plain("Time left", "n w-2", (job) => left(job.secondsLeft)),
  ], (job) => job.job, "No running transfers."),

  batches: new Table("batches", [
    {
      title: "Batch", parts: () => [make("a", "name"), progress(), make("span", "sub wrap")],
      show(cell, batch) {
        const [name, meter, more] = cell.children, ended = batch.completed + batch.failed + batch.cancelled;
        link(name, jobsURL({ batch: batch.batch }), batch.batch);
        name.title = batch.batch;
        // Cancelled jobs do not fill the bar. Partial files fill it by the part that is downloaded.
        const tried = batch.completed + batch.failed, there = Math.min(tried + batch.parts, batch.jobs);
        bar(meter, batch.jobs ? percent(there, batch.jobs) : 0, `Progress of batch ${batch.batch}`);
        look(meter, batch.failed ? "some-bad" : "");
        // A single failure among many jobs must be visible.
        meter.style.setProperty("--good", `${Math.min(97, 100 - (100 * batch.failed) / Math.max(there, 1))}%`);
        const parts = [`${count(ended)} of ${count(batch.jobs)} ended`, bytes(batch.bytes)];
        if (batch.failed) parts.push(`${count(batch.failed)} failed`);
        if (batch.cancelled) parts.push(`${count(batch.cancelled)} cancelled`);
        if (batch.steering) parts.push(`being ${batch.steering === "pause" ? "paused" : "cancelled"}`);
        set(more, parts.join(" · "));
      },
    },
    plain("Rate", "n wide w-3", (batch) => rate(batch.rate)),
    {
      title: "Time left", classes: "n w-6",
      show(cell, batch) {
        const ended = batch.completed + batch.failed + batch.cancelled === batch.jobs;
        set(cell, !batch.jobs ? "–" : ended ? (batch.cancelled === batch.jobs ? "cancelled" : batch.completed < batch.jobs ? "ended" : "done") : batch.paused ? "paused" : left(batch.secondsLeft));
      },
    },
  ], (batch) => batch.batch, "No batches yet. Create one with haul submit --batch NAME."),

  queues: new Table("queues", [
    {
      title: "Queue", parts: () => [make("a", "name"), make("span", "sub wrap")],
      show(cell, queue) {
        link(cell.children[0], jobsURL({ queue: queue.queue }), queue.queue);
        const rest = [["interrupted", queue.interrupted], ["scheduled", queue.scheduled], ["paused", queue.held]]
          .filter(([, jobs]) => jobs > 0).map(([state, jobs]) => `${count(jobs)} ${state}`);
        if (queue.paused) rest.unshift("queue paused");
        look(cell.children[1], queue.paused ? "sub wrap warn" : "sub wrap");
        set(cell.children[1], rest.join(" · ") || `store ${queue.store}`);
      },
    },
    plain("Queued", "n w-2", (queue) => count(queue.queued)),
    plain("Running", "n w-2", (queue) => (queue.maxRunning ? `${queue.running} of ${queue.maxRunning}` : count(queue.running))),
    plain("Rate", "n wide w-3", (queue) => rate(queue.rate)),
  ], (queue) => queue.queue, "No queues yet. Create the first one with haul store init."),

  hosts: new Table("hosts", [
    {
      title: "Host", parts: () => [make("a", "name")],
      show(cell, host) {
        dotted(cell.children[0], host.host);
        cell.children[0].title = host.host;
        cell.children[0].href = jobsURL({ host: host.host });
      },
    },
    plain("Running", "n w-3", (host) => `${host.running} of ${host.cap}`),
    {
      title: "Can start?", classes: "w-4", parts: spans("", "sub wrap"),
      show(cell, host) {
        const [word, more] = cell.children;
        set(word, { null: noPlace ? "no free worker" : "yes", empty: "no waiting jobs" }[String(host.whyIdle ?? null)] ?? `no: ${host.whyIdle}`);
        look(word, host.whyIdle === "blocked" ? "bad" : ["adaptive", "unanswered"].includes(host.whyIdle) ? "warn" : "");
        const reasons = host.whyIdle === "blocked" ? [host.blockReason, until(host.blockedUntil)] : [];
        if (host.cap < host.policyCap) reasons.push(`limit lowered from ${host.policyCap}`);
        set(more, reasons.filter(Boolean).join(", "));
      },
    },
  ], (host) => host.host, "No hosts yet."),

  workers: new Table("workers", [
    {
      title: "Worker", parts: spans("name", "sub wrap", "sub wrap bad"),
      show(cell, worker) {
        const [name, more, trouble] = cell.children;
        set(name, `${worker.worker} on ${worker.machine}`);
        set(more, `pid ${worker.pid} · ${worker.stores.join(", ") || "no store"} · last heartbeat ${worker.silence < 3 ? "just now" : `${age(worker.silence)} ago`}`);
        set(trouble, worker.trouble);
      },
    },
    {
      title: "State", classes: "w-2",
      show(cell, worker) {
        const state = worker.trouble && worker.state === "alive" ? "trouble" : worker.state;
        set(cell, state);
        look(cell, `w-2 ${{ alive: "good", trouble: "bad", silent: "bad", draining: "warn" }[state] ?? ""}`);
      },
    },
    plain("Running", "n w-2", (worker) => `${placesTaken(worker.running, worker.concurrency)} of ${worker.concurrency}`),
    plain("Rate", "n wide w-3", (worker) => rate(worker.rate)),
  ], (worker) => worker.worker, "No running workers. Start one with haul worker."),

  failures: new Table("failures", [
    {
      title: "Class", classes: "w-7", parts: () => [make("a", "bad"), make("span", "narrow"), make("span", "sub wrap narrow")],
      show(cell, failure) {
        link(cell.children[0], jobsURL({ state: "failed", error: failure.error }), failure.error);
        set(cell.children[1], failure.lastMessage);
        set(cell.children[2], lastFailed(failure));
      },
    },
    plain("Jobs", "n w-2", (failure) => count(failure.jobs)),
    {
      title: "Latest job of this class", classes: "wide", parts: spans("", "sub wrap"),
      show(cell, failure) {
        set(cell.children[0], failure.lastMessage);
        set(cell.children[1], lastFailed(failure));
      },
    },
  ], (failure) => failure.error, "No failed jobs."),

  jobs: new Table("jobs", [
    {
      title: "File", parts: () => [make("a", "name path"), make("span", "sub wrap")],
      show(cell, job) {
        named(cell.children[0], job.path);
        cell.children[0].href = jobURL(job.job);
        set(cell.children[1], [`job ${job.job}`, job.host, job.batch && `batch ${job.batch}`].filter(Boolean).join(" · "));
      },
    },
    {
      title: "State", classes: "w-4", parts: spans("", "sub wrap"),
      show(cell, job) {
        set(cell.children[0], job.state ?? "–");
        look(cell.children[0], { failed: "bad", completed: "good" }[job.state] ?? "");
        set(cell.children[1], job.error ?? "");
      },
    },
    plain("Size", "n wide w-5", received),
    plain("Submitted", "n wide w-5", (job) => moment(job.submittedAt)),
  ], (job) => job.job, "No jobs match."),

  attempts: new Table("attempts", [
    plain("Attempt", "w-2", (attempt) => attempt.attempt),
    {
      title: "Result", parts: spans("", "sub wrap"),
      show(cell, attempt) {
        set(cell.children[0], attempt.error ? `${attempt.result}: ${attempt.error}` : attempt.result);
        look(cell.children[0], attempt.result === "failed" ? "bad" : "");
        set(cell.children[1], attempt.message);
      },
    },
    plain("Worker", "wide w-4", (attempt) => `${attempt.worker} on ${attempt.machine ?? "–"}`),
    plain("Started", "wide w-5", (attempt) => moment(attempt.startedAt)),
    plain("Duration", "n w-2", (attempt) => span(attempt.seconds)),
    plain("Received", "n wide w-3", (attempt) => bytes(attempt.fetched)),
  ], (attempt) => attempt.attempt, "No attempts yet."),
};
