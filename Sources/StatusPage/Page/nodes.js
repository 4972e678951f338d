"use strict";
// Shows /api/state once a second, and jobs from /api/jobs and /api/job. Text from elsewhere (paths, hosts, messages) becomes
// text nodes, never HTML.

const UNITS = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
const POLL = 1000, HIDDEN_POLL = 15000, PATIENCE = 8000, LATE = 6, JOBS_POLL = 3000;
const $ = (id) => document.getElementById(id);

// Returns an amount as a number and a unit, in the same form as on the command line.
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
// A worker may hold more jobs than places: jobs that wait for a silent host or for a disk take no place.
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

// Sets the text of a node. Functions here change a node only if its content differs, so that text that you read or select
// does not move.
function set(node, value) { const text = value == null ? "" : String(value); if (node.textContent !== text) node.textContent = text; }
// A host name may wrap after a dot.
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
/// Links to a filtered list of jobs or to one job.
const jobsURL = (query) => `#/jobs?${new URLSearchParams(query)}`;
const jobURL = (id) => `#/job/${id}`;
function link(node, url, text) { if (node.getAttribute("href") !== url) node.setAttribute("href", url); set(node, text); }
function progress() { const node = make("progress"); node.max = 100; return node; }
// A path may wrap after a slash.
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
    // Count only the columns that a narrow screen shows: a wider cell would make room for hidden ones.
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
