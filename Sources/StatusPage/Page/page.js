"use strict";
// Shows what /api/state says, once a second. Texts of others (paths, hosts, messages) become text nodes and nothing else.

const UNITS = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
const POLL = 1000, HIDDEN_POLL = 15000, PATIENCE = 8000, LATE = 6;
const $ = (id) => document.getElementById(id);

// Amounts, as the command line spells them.
function amount(bytes) {
  if (Math.abs(bytes) < 1024) return [String(bytes), "B"];
  let value = bytes / 1024, unit = 0;
  while (Math.abs(value) >= 1023.5 && unit < UNITS.length - 1) { value /= 1024; unit += 1; }
  return [Math.abs(value) < 99.95 ? value.toFixed(1) : value.toFixed(0), UNITS[unit]];
}
const bytes = (value) => amount(value).join(" ");
const rate = (value) => (value > 0 ? bytes(value) + "/s" : "–");
const count = (value) => value.toLocaleString("en-US");
const counted = (value, word) => `${count(value)} ${word}${value === 1 ? "" : "s"}`;
// More jobs than places: the rest waits for a silent host or for a disk, which takes no place.
const placesTaken = (running, places) => (running > places ? `${count(places)}+${count(running - places)}` : count(running));
const two = (value) => String(value).padStart(2, "0");
function span(seconds) {
  const s = Math.max(0, Math.floor(seconds));
  if (s < 60) return `${s}s`;
  if (s < 3600) return `${Math.floor(s / 60)}m${two(s % 60)}s`;
  if (s < 86400) return `${Math.floor(s / 3600)}h${two(Math.floor(s / 60) % 60)}m`;
  return `${Math.floor(s / 86400)}d${two(Math.floor(s / 3600) % 24)}h`;
}
const left = (seconds) => (seconds == null || seconds >= 8640000 ? "–" : span(Math.ceil(seconds)));
const age = (seconds) => span(seconds).match(/^\d+[smhd]/)[0];
const clock = (seconds) => new Date(seconds * 1000).toISOString().slice(11, 16);
const percent = (part, whole) => Math.max(0, Math.min(100, Math.floor((100 * part) / whole)));

// The page's nodes. What stays the same is not touched, so that nothing moves under a reader or a selection.
function set(node, value) { const text = value == null ? "" : String(value); if (node.textContent !== text) node.textContent = text; }
// A name of labels breaks after their dots, where it has to.
function dotted(node, name) {
  if (node.textContent !== name) node.replaceChildren(...name.split(/(?<=\.)/).flatMap((label) => [label, make("wbr")]));
}
function look(node, classes) { if (node.className !== classes) node.className = classes; }
function make(name, classes, ...children) {
  const node = document.createElement(name);
  if (classes) node.className = classes;
  node.append(...children);
  return node;
}
function bar(node, value, label) {
  if (value == null) node.removeAttribute("value");
  else if (node.value !== value || !node.hasAttribute("value")) node.value = value;
  if (node.getAttribute("aria-label") !== label) node.setAttribute("aria-label", label);
}
function progress() { const node = make("progress"); node.max = 100; return node; }
// A path breaks after its slashes, where it has to.
function named(node, path) {
  if (node.title === path) return;
  node.replaceChildren(...path.split(/(?<=\/)/).map((part) => make("span", part.endsWith("/") ? "dir" : "file", part)));
  node.title = path;
}

/// A table whose columns are {title, classes, parts() → nodes, show(nodes, item)}; rows are kept by their keys.
class Table {
  constructor(id, columns, key, empty) {
    Object.assign(this, { columns, key, empty, kept: new Map() });
    const node = $(id), head = this.head = make("tr");
    for (const column of columns) {
      const cell = make("th", column.classes, column.title);
      cell.scope = "col";
      head.append(cell);
    }
    this.body = make("tbody");
    node.append(make("thead", "", head), this.body);
  }

  show(items) {
    const now = new Map();
    for (const item of items) {
      const key = String(this.key(item));
      now.set(key, this.kept.get(key) ?? this.row());
    }
    for (const [key, row] of this.kept) if (now.get(key) !== row) row.node.remove();
    this.nothing?.remove();
    let place = this.body.firstElementChild;
    items.forEach((item) => {
      const row = now.get(String(this.key(item)));
      this.columns.forEach((column, index) => column.show(row.cells[index], item));
      if (row.node === place) place = place.nextElementSibling;
      else this.body.insertBefore(row.node, place);
    });
    this.kept = now;
    if (items.length) return;
    const cell = make("td", "empty", this.empty);
    // A cell that spans columns which a narrow screen leaves out would make room for them.
    cell.colSpan = [...this.head.cells].filter((title) => getComputedStyle(title).display !== "none").length;
    this.nothing = make("tr", "", cell);
    this.body.append(this.nothing);
  }

  row() {
    const node = make("tr");
    const cells = this.columns.map((column, index) => {
      const cell = make(index ? "td" : "th", column.classes, ...(column.parts?.() ?? []));
      if (!index) cell.scope = "row";
      node.append(cell);
      return cell;
    });
    return { node, cells };
  }
}
/// Whether all workers have their hands full, so that no host is what keeps jobs waiting.
let noPlace = false;
const plain = (title, classes, value) => ({ title, classes, show: (cell, item) => set(cell, value(item)) });
const spans = (...classes) => () => classes.map((name) => make("span", name));

const tables = {
  running: new Table("running", [
    {
      title: "File", parts: () => [make("span", "name path"), progress(), make("span", "sub"), make("span", "sub wrap narrow")],
      show(cell, job) {
        const [name, meter, where, narrow] = cell.children;
        named(name, job.path);
        bar(meter, job.total > 0 ? percent(job.bytes, job.total) : null, `Progress of ${job.path}`);
        const again = job.attempt > 1 ? ` · attempt ${job.attempt}` : "";
        const word = job.command ? ` · to ${job.command}` : "";
        set(where, `${job.host} · worker ${job.worker} on ${job.machine}${again}${word}`);
        set(narrow, [done(job), received(job), rate(job.rate)].filter(Boolean).join(" · "));
      },
    },
    plain("Done", "n wide w-1", done),
    plain("Received", "n wide w-5", received),
    plain("Rate", "n wide w-3", (job) => rate(job.rate)),
    plain("Time left", "n w-2", (job) => left(job.secondsLeft)),
  ], (job) => job.job, "Nothing is running."),

  batches: new Table("batches", [
    {
      title: "Batch", parts: () => [make("span", "name"), progress(), make("span", "sub wrap")],
      show(cell, batch) {
        const [name, meter, more] = cell.children, ended = batch.completed + batch.failed + batch.cancelled;
        set(name, batch.batch);
        name.title = batch.batch;
        // What was cancelled leaves the bar as empty as it was; parts of files fill it by as much as is there of them.
        const tried = batch.completed + batch.failed, there = Math.min(tried + batch.parts, batch.jobs);
        bar(meter, batch.jobs ? percent(there, batch.jobs) : 0, `Progress of batch ${batch.batch}`);
        look(meter, batch.failed ? "some-bad" : "");
        // However few have failed, it shows.
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
  ], (batch) => batch.batch, "No batch yet: haul submit --batch NAME makes one."),

  queues: new Table("queues", [
    {
      title: "Queue", parts: spans("name", "sub wrap"),
      show(cell, queue) {
        set(cell.children[0], queue.queue);
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
  ], (queue) => queue.queue, "No queue yet: haul store init makes the first."),

  hosts: new Table("hosts", [
    {
      title: "Host", parts: spans("name"),
      show(cell, host) { dotted(cell.children[0], host.host); cell.children[0].title = host.host; },
    },
    plain("Running", "n w-3", (host) => `${host.running} of ${host.cap}`),
    {
      title: "Starts more", classes: "w-4", parts: spans("", "sub wrap"),
      show(cell, host) {
        const [word, more] = cell.children;
        set(word, { null: noPlace ? "no worker has a place" : "yes", empty: "nothing waits" }[String(host.whyIdle ?? null)] ?? `no: ${host.whyIdle}`);
        look(word, host.whyIdle === "blocked" ? "bad" : ["adaptive", "unanswered"].includes(host.whyIdle) ? "warn" : "");
        const reasons = host.whyIdle === "blocked" ? [host.blockReason, until(host.blockedUntil)] : [];
        if (host.cap < host.policyCap) reasons.push(`cap lowered from ${host.policyCap}`);
        set(more, reasons.filter(Boolean).join(", "));
      },
    },
  ], (host) => host.host, "No host yet."),

  workers: new Table("workers", [
    {
      title: "Worker", parts: spans("name", "sub wrap", "sub wrap bad"),
      show(cell, worker) {
        const [name, more, trouble] = cell.children;
        set(name, `${worker.worker} on ${worker.machine}`);
        set(more, `pid ${worker.pid} · ${worker.stores.join(", ") || "no store"} · heard ${worker.silence < 3 ? "just now" : `${age(worker.silence)} ago`}`);
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
  ], (worker) => worker.worker, "No worker lives: haul worker starts one."),

  failures: new Table("failures", [
    {
      title: "Class", classes: "w-7", parts: spans("bad", "narrow", "sub wrap narrow"),
      show(cell, failure) {
        set(cell.children[0], failure.error);
        set(cell.children[1], failure.lastMessage);
        set(cell.children[2], lastFailed(failure));
      },
    },
    plain("Jobs", "n w-2", (failure) => count(failure.jobs)),
    {
      title: "The last submitted of them", classes: "wide", parts: spans("", "sub wrap"),
      show(cell, failure) {
        set(cell.children[0], failure.lastMessage);
        set(cell.children[1], lastFailed(failure));
      },
    },
  ], (failure) => failure.error, "No job is failed."),
};

function lastFailed(failure) { return `job ${failure.lastJob} · ${failure.lastHost} · ${age(failure.lastAge)} ago`; }
function done(job) { return job.total > 0 ? `${percent(job.bytes, job.total)} %` : ""; }
function received(job) { return job.total > 0 ? `${bytes(job.bytes)} of ${bytes(job.total)}` : bytes(job.bytes); }
function until(moment) {
  if (moment == null) return "";
  return moment === "infinity" ? "until unblocked" : `until ${moment.slice(11, 19)} UTC`;
}

// The chart: a bar a minute, the failed ones as a mark on top.
const SVG = "http://www.w3.org/2000/svg";
const bars = Array.from({ length: 60 }, (_, index) => {
  const group = document.createElementNS(SVG, "g"), title = document.createElementNS(SVG, "title");
  const rects = ["bar", "bad-bar"].map((name) => {
    const rect = document.createElementNS(SVG, "rect");
    rect.setAttribute("class", name + (index === 59 ? " now" : ""));
    rect.setAttribute("x", index * 10 + 1.25);
    rect.setAttribute("width", 7.5);
    return rect;
  });
  group.append(title, ...rects);
  $("chart").append(group);
  return { title, rects };
});
function stand(rect, height, from) {
  rect.setAttribute("y", 100 - from - height);
  rect.setAttribute("height", height);
}
function chart(minutes, now) {
  const last = Math.floor(now / 60) * 60, at = new Map(minutes.map((row) => [row[0], row]));
  const shown = bars.map((_, index) => at.get(last - 60 * (59 - index)) ?? [last - 60 * (59 - index), 0, 0, 0, 0]);
  const most = Math.max(...shown.map((row) => row[1]));
  // A round number above the highest bar: 1, 2 or 5 times a power of 1024 or a part of it.
  let top = 1;
  for (let unit = 1; top < most; unit *= 1024) top = [1, 2, 5, 10, 20, 50, 100, 200, 500].map((n) => n * unit).find((n) => n >= most) ?? 1024 * unit;
  shown.forEach(([minute, size, done, failed], index) => {
    const height = most ? (96 * size) / top : 0;
    stand(bars[index].rects[0], done ? Math.max(height, 1.5) : 0, 0);
    stand(bars[index].rects[1], failed ? 3 : 0, done ? Math.max(height, 1.5) + 1 : 0);
    set(bars[index].title, `${clock(minute)} UTC: ${counted(done, "file")}, ${bytes(size)}${failed ? `, ${counted(failed, "failure")}` : ""}`);
  });
  const sum = (column) => shown.reduce((total, row) => total + row[column], 0);
  set($("chart-top"), most ? `${bytes(top)} a minute` : "");
  set($("chart-text"), sum(2) + sum(3) === 0 ? "none yet"
    : `${counted(sum(2), "file")}, ${bytes(sum(1))}${sum(3) ? `, ${counted(sum(3), "failure")}` : ""}`);
}

// What an operator should look at.
function notes(state) {
  const found = [];
  if (!state.up) found.push(["bad", state.trouble ?? "The database does not answer."]);
  if (state.totals && !(state.totals.leaderRoundAge < 6)) {
    found.push(["bad", "Nobody keeps house: work of dead workers is not taken back."]);
  }
  for (const worker of state.workers ?? []) {
    if (worker.state === "silent") found.push(["bad", `Worker ${worker.worker} on ${worker.machine} has been silent for ${age(worker.silence)}.`]);
    if (worker.trouble) found.push(["bad", `Worker ${worker.worker} on ${worker.machine} cannot write: ${worker.trouble}`]);
  }
  for (const queue of state.queues ?? []) {
    const waiting = waitingIn(queue);
    const wait = waiting === 1 ? "waits" : "wait";
    if (waiting && !queue.workers) found.push(["bad", `${counted(waiting, "job")} of queue ${queue.queue} ${wait}, and no live worker serves it.`]);
    else if (waiting && queue.paused) found.push(["", `Queue ${queue.queue} is paused; ${counted(waiting, "job")} ${wait}.`]);
  }
  const blocked = (state.hostCounts ?? []).find((row) => row.whyIdle === "blocked");
  if (blocked?.waiting) {
    const one = blocked.waiting === 1 && (state.hosts ?? []).find((host) => host.waiting && host.whyIdle === "blocked");
    const who = one ? `The host ${one.host}, which jobs wait for,` : `${counted(blocked.waiting, "host")} with jobs that wait`;
    found.push(["", `${who} ${blocked.waiting === 1 ? "is" : "are"} blocked: nothing starts there for now.`]);
  }
  const list = $("notes");
  found.slice(0, 8).forEach(([kind, text], index) => {
    const item = list.children[index] ?? list.appendChild(make("li"));
    look(item, kind);
    set(item, text);
  });
  while (list.children.length > Math.min(found.length, 8)) list.lastElementChild.remove();
  list.hidden = found.length === 0;
}

// Jobs that start without an operator's word: haul top and haul queues count the same.
function waitingIn(queue) { return queue.queued + queue.interrupted + queue.scheduled; }

function show(state) {
  notes(state);
  up = state.up;
  if (state.pool) set($("pool"), state.pool);
  document.body.classList.toggle("stale", !up);
  if (!up) return;
  const totals = state.totals, [number, unit] = amount(totals.rate);
  set($("rate"), number);
  set($("rate-unit"), `${unit}/s`);
  const places = state.workers.filter((worker) => worker.state === "alive").reduce((sum, worker) => sum + worker.concurrency, 0);
  noPlace = totals.running >= places;
  set($("rate-more"), `${placesTaken(totals.running, places)} of ${counted(places, "place")} taken, ${counted(state.workers.length, "worker")}`);
  set($("n-running"), count(totals.running));
  // As the queues say below it. Paused jobs wait for an operator alone.
  const queues = state.queues ?? [], all = (part) => queues.reduce((sum, queue) => sum + part(queue), 0);
  const held = all((queue) => queue.held);
  set($("n-waiting"), state.queues ? count(all(waitingIn)) : "–");
  set($("n-held"), held ? `and ${count(held)} paused` : "");
  set($("n-completed"), count(totals.completed));
  set($("n-bytes"), bytes(totals.completedBytes));
  set($("n-failed"), count(totals.failed));
  look($("n-failed"), totals.failed ? "some" : "");
  set($("n-cancelled"), count(totals.cancelled));
  set($("running-count"), totals.running > state.running.length ? `${state.running.length} of ${count(totals.running)}` : "");
  chart(state.minutes, totals.now);
  tables.running.show(state.running);
  tables.workers.show(state.workers);
  const gone = [[state.gone.dead, "died"], [state.gone.stopped, "stopped"]].filter(([workers]) => workers);
  set($("workers-count"), gone.map(([workers, word]) => `${count(workers)} ${word}`).join(", "));
  for (const name of ["batches", "queues", "hosts", "failures"]) if (state[name]) tables[name].show(state[name]);
  const hosts = (state.hostCounts ?? []).reduce((sum, row) => sum + row.hosts, 0);
  set($("batches-count"), state.batchCount > (state.batches ?? []).length ? `${state.batches.length} of ${count(state.batchCount)}` : "");
  set($("hosts-count"), hosts > (state.hosts ?? []).length ? `${state.hosts.length} of ${count(hosts)}` : "");
  document.title = `${totals.running ? `${number} ${unit}/s – ` : ""}${state.pool} – Haul`;
  const late = state.countedAge >= 3 ? `Queues, hosts, batches and failures were counted ${age(state.countedAge)} ago. ` : "";
  set($("foot"), `${late}This process ${state.leads ? "keeps house" : "stands by"}. Times are in UTC.`);
}

// Asking, and saying whether what is shown is fresh. The line is a status region: it changes with the connection alone.
let heard = Date.now(), failed = "", still = false, up = true, timer = 0;
function tell() {
  const silence = (Date.now() - heard) / 1000;
  const [kind, text] = still ? ["", "Not updated"]
    : failed ? ["lost", failed]
    : !up ? ["lost", "No answer from the database"]
    : silence > LATE ? ["late", "Stale: waiting for an answer"] : ["live", "Live"];
  set($("link"), text);
  look($("link"), `link ${kind}`);
  if (failed || silence > LATE) document.body.classList.add("stale");
  $("link").title = `Last answer ${new Date(heard).toISOString().slice(11, 19)} UTC`;
}
async function poll() {
  clearTimeout(timer);
  if (still) return tell();
  try {
    const answer = await fetch("/api/state", { cache: "no-store", signal: AbortSignal.timeout(PATIENCE) });
    if (answer.status === 401) return location.reload();
    if (!answer.ok) throw new Error(`The coordinator answers ${answer.status}`);
    const state = await answer.json();
    if (!still) show(state);
    [heard, failed] = [Date.now(), ""];
  } catch (error) {
    failed = error instanceof TypeError || error.name === "TimeoutError" ? "Disconnected: trying again" : error.message;
  }
  tell();
  timer = setTimeout(poll, document.hidden ? HIDDEN_POLL : POLL);
}
$("still").addEventListener("click", () => {
  still = !still;
  set($("still"), still ? "Update" : "Hold still");
  poll();
});
document.addEventListener("visibilitychange", () => { if (!document.hidden) poll(); });
show(JSON.parse($("first").textContent));
tell();
setInterval(tell, 1000);
timer = setTimeout(poll, POLL);
