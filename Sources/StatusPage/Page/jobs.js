// The views: the pool (#/), jobs (#/jobs?state=failed&batch=…) and one job (#/job/17).
const PARTS = ["state", "batch", "queue", "host", "error", "text"];
let view = "pool", asked = 0, jobsTimer = 0;
function route() {
  const [path, query] = location.hash.slice(1).split("?"), words = path.split("/").filter(Boolean);
  if (words[0] === "jobs") return { view: "jobs", query: new URLSearchParams(query) };
  if (words[0] === "job" && /^[0-9]+$/.test(words[1] ?? "")) return { view: "job", query: new URLSearchParams({ id: words[1] }) };
  return { view: "pool", query: new URLSearchParams() };
}
/// Shows the view that the address names, for example after a click on a link or on the back button.
function go() {
  const { view: next, query } = route(), isNew = next !== view;
  view = next;
  for (const name of ["pool", "jobs", "job"]) $(`view-${name}`).hidden = name !== view;
  for (const [name, shown] of [["pool", view === "pool"], ["jobs", view !== "pool"]]) {
    if (shown) $(`to-${name}`).setAttribute("aria-current", "page");
    else $(`to-${name}`).removeAttribute("aria-current");
  }
  if (view === "jobs") for (const name of PARTS) $("filter").elements[name].value = query.get(name) ?? "";
  if (isNew && view !== "pool") { window.scrollTo(0, 0); $(`${view}-title`).focus({ preventScroll: true }); }
  askForJobs();
}
/// Requests the data of the current jobs view. If a newer request has begun, the answer is ignored.
async function askForJobs() {
  clearTimeout(jobsTimer);
  if (view === "pool") return;
  const { query } = route(), mine = ++asked, name = view;
  try {
    const answer = await fetch(`/api/${name}?${query}`, { cache: "no-store", signal: AbortSignal.timeout(PATIENCE) });
    if (answer.status === 401) return location.reload();
    if (mine !== asked) return;
    if (!answer.ok) throw new Error((await answer.text()).trim() || `The coordinator answered with status ${answer.status}`);
    const found = await answer.json();
    if (mine !== asked) return;
    tellOf(name, "");
    if (name === "jobs") showJobs(found, query);
    else showJob(found);
  } catch (error) {
    if (mine !== asked) return;
    tellOf(name, error instanceof TypeError || error.name === "TimeoutError" ? "The coordinator does not answer. Retrying." : error.message);
  }
  if (!still) jobsTimer = setTimeout(askForJobs, document.hidden ? HIDDEN_POLL : JOBS_POLL);
}
function tellOf(name, sentence) { set($(`${name}-note`), sentence); $(`${name}-note`).hidden = !sentence; }
function showJobs(found, query) {
  tables.jobs.show(found.jobs);
  set($("jobs-count"), found.older ? `newest ${count(found.jobs.length)}` : count(found.jobs.length));
  const older = new URLSearchParams(query);
  if (found.older) older.set("before", found.older);
  $("older").href = `#/jobs?${older}`;
  $("older").hidden = !found.older;
}
function showJob({ job, attempts }) {
  set($("job-title"), `Job ${job.job}`);
  const facts = [
    ["File", job.path], ["State", job.state], ["Error", [job.error, job.message].filter(Boolean).join(": ")], ["URL", job.url],
    ["Host", make("a", "", job.host), jobsURL({ host: job.host })], ["Batch", job.batch && make("a", "", job.batch), job.batch && jobsURL({ batch: job.batch })],
    ["Queue", make("a", "", job.queue), jobsURL({ queue: job.queue })], ["Store", job.store], ["Size", received(job)],
    ["Digest", job.digest], ["Media type", job.mediaType], ["Priority", job.priority], ["Submitted", moment(job.submittedAt)],
    ["Not before", job.runAt && moment(job.runAt)], ["Ended", job.finishedAt && moment(job.finishedAt)], ["Worker", job.worker],
  ].filter(([, value]) => value != null && value !== "");
  $("job-facts").replaceChildren(...facts.flatMap(([name, value, url]) => {
    if (url) value.href = url;
    return [make("dt", "", name), make("dd", "", url ? value : String(value))];
  }));
  tables.attempts.show(attempts);
}
$("filter").addEventListener("submit", (event) => {
  event.preventDefault();
  const query = PARTS.map((name) => [name, $("filter").elements[name].value.trim()]).filter(([, value]) => value);
  location.hash = `#/jobs?${new URLSearchParams(query)}`;
});
window.addEventListener("hashchange", go);
