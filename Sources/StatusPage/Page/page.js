// Polls the coordinator and shows whether the data is fresh. Screen readers read each new text in #link aloud, so the text
// changes only when the state of the connection changes.
let heard = Date.now(), failed = "", still = false, up = true, timer = 0;
function tell() {
  const silence = (Date.now() - heard) / 1000;
  const [kind, text] = still ? ["", "Updates paused"]
    : failed ? ["lost", failed]
    : !up ? ["lost", "The database does not answer"]
    : silence > LATE ? ["late", "Old data: waiting for the coordinator"] : ["live", "Live"];
  set($("link"), text);
  look($("link"), `link ${kind}`);
  if (failed || silence > LATE) document.body.classList.add("stale");
  $("link").title = `Last update ${new Date(heard).toISOString().slice(11, 19)} UTC`;
}
async function poll() {
  clearTimeout(timer);
  if (still) return tell();
  try {
    const answer = await fetch("/api/state", { cache: "no-store", signal: AbortSignal.timeout(PATIENCE) });
    if (answer.status === 401) return location.reload();
    if (!answer.ok) throw new Error(`The coordinator answered with status ${answer.status}`);
    const state = await answer.json();
    if (!still) show(state);
    [heard, failed] = [Date.now(), ""];
  } catch (error) {
    failed = error instanceof TypeError || error.name === "TimeoutError" ? "Disconnected: retrying" : error.message;
  }
  tell();
  timer = setTimeout(poll, document.hidden ? HIDDEN_POLL : POLL);
}
$("still").addEventListener("click", () => {
  still = !still;
  set($("still"), still ? "Resume updates" : "Pause updates");
  poll();
  askForJobs();
});
document.addEventListener("visibilitychange", () => { if (!document.hidden) poll(); });
show(JSON.parse($("first").textContent));
tell();
go();
setInterval(tell, 1000);
timer = setTimeout(poll, POLL);
