// The pool as a whole.

function lastFailed(failure) { return `job ${failure.lastJob} · ${failure.lastHost} · ${age(failure.lastAge)} ago`; }
function done(job) { return job.total > 0 ? `${percent(job.bytes, job.total)} %` : ""; }
function received(job) { return job.total > 0 ? `${bytes(job.bytes)} of ${bytes(job.total)}` : bytes(job.bytes); }
const moment = (text) => (text ? text.slice(0, 19).replace("T", " ") : "–");
function until(moment) {
  if (moment == null) return "";
  return moment === "infinity" ? "until unblocked" : `until ${moment.slice(11, 19)} UTC`;
}

// The chart: one bar per minute, with a mark on top for failures.
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
  // The top of the scale: the first of 1, 2, 5, 10, … 500 B, KiB, MiB and so on that is at least as high as the highest bar.
  let top = 1;
  for (let unit = 1; top < most; unit *= 1024) top = [1, 2, 5, 10, 20, 50, 100, 200, 500].map((n) => n * unit).find((n) => n >= most) ?? 1024 * unit;
  shown.forEach(([minute, size, done, failed], index) => {
    const height = most ? (96 * size) / top : 0;
    stand(bars[index].rects[0], done ? Math.max(height, 1.5) : 0, 0);
    stand(bars[index].rects[1], failed ? 3 : 0, done ? Math.max(height, 1.5) + 1 : 0);
    set(bars[index].title, `${clock(minute)} UTC: ${counted(done, "file")}, ${bytes(size)}${failed ? `, ${counted(failed, "failure")}` : ""}`);
  });
  const sum = (column) => shown.reduce((total, row) => total + row[column], 0);
  set($("chart-top"), most ? `${bytes(top)}/min` : "");
  set($("chart-text"), sum(2) + sum(3) === 0 ? "none yet"
    : `${counted(sum(2), "file")}, ${bytes(sum(1))}${sum(3) ? `, ${counted(sum(3), "failure")}` : ""}`);
}

// Problems that need an operator.
function notes(state) {
  const found = [];
  if (!state.up) found.push(["bad", state.trouble ?? "The database does not answer."]);
  if (state.totals && !(state.totals.leaderRoundAge < 6)) {
    found.push(["bad", "No coordinator or worker maintains the pool, so jobs of dead workers do not continue. To start a coordinator, run haul coordinator."]);
  }
  for (const worker of state.workers ?? []) {
    if (worker.state === "silent") found.push(["bad", `Worker ${worker.worker} on ${worker.machine} has sent no heartbeat for ${age(worker.silence)}.`]);
    if (worker.trouble) found.push(["bad", `Worker ${worker.worker} on ${worker.machine} cannot write to a store: ${worker.trouble}`]);
  }
  for (const queue of state.queues ?? []) {
    const waiting = waitingIn(queue);
    const wait = waiting === 1 ? "waits" : "wait";
    if (waiting && !queue.workers) found.push(["bad", `${counted(waiting, "job")} ${wait} in queue ${queue.queue}, but no live worker serves it.`]);
    else if (waiting && queue.paused) found.push(["", `Queue ${queue.queue} is paused. ${counted(waiting, "job")} ${wait} in it.`]);
  }
  const blocked = (state.hostCounts ?? []).find((row) => row.whyIdle === "blocked");
  if (blocked?.waiting) {
    const one = blocked.waiting === 1 && (state.hosts ?? []).find((host) => host.waiting && host.whyIdle === "blocked");
    const who = one ? `Host ${one.host} is` : `${counted(blocked.waiting, "host")} ${blocked.waiting === 1 ? "is" : "are"}`;
    found.push(["", `${who} blocked. ${blocked.waiting === 1 ? "Its" : "Their"} waiting jobs do not start for now.`]);
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

// Jobs that start without an operator's command. haul top and haul queues count the same jobs.
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
  set($("rate-more"), `${placesTaken(totals.running, places)} of ${counted(places, "transfer slot")} in use, ${counted(state.workers.length, "worker")}`);
  set($("n-running"), count(totals.running));
  // The same numbers as in the table of queues. Paused jobs wait for an operator.
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
  set($("foot"), `${late}This process ${state.leads ? "maintains" : "does not maintain"} the pool. Times are in UTC.`);
}
