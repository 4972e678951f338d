"""Ways to break Haul on purpose, in a database and in a copy of the source, so that the judge has something to find."""

import os
import subprocess

# For each function: pairs of the text to replace and its replacement.
SQL = {
    "a cap that is off by one": {
        "haul.places": [("THEN 1 ELSE p_cap END", "THEN 1 ELSE p_cap + 1 END")]},
    "intervals that are not kept": {
        "haul.starts": [("SELECT CASE", "SELECT NULL::integer FROM (SELECT CASE"), ("integer END", "integer END) none")],
        "haul.next_start": [("SELECT CASE", "SELECT NULL::timestamptz FROM (SELECT CASE"), ("(p_burst - 1) END", "(p_burst - 1) END) none")]},
    "tokens that are not compared": {
        "haul.end_together": [
            ("  v_leases tid[] := haul.lock_leases(p_worker, p_endings);\n", "  v_leases tid[];\n"),
            ("BEGIN\n  IF v_leases IS NULL",
             "BEGIN\n  p_endings := (SELECT jsonb_agg(e || jsonb_build_object('token', l.token))"
             " FROM jsonb_array_elements(p_endings) e JOIN haul.lease l ON l.job = (e ->> 'job')::bigint);\n"
             "  v_leases := haul.lock_leases(p_worker, p_endings);\n  IF v_leases IS NULL")],
        "haul.lock_leases": [("      AND (p_worker IS NULL OR l.worker = p_worker)\n", "")]},
    # The claim sees `ready` as it was at the beginning of the statement that locks the lane. A delay makes the race happen in
    # seconds, not hours. A setting passes the jobs that the claim sees to the functions that choose jobs.
    "a claim in one statement": {
        "haul.claim_band": [
            ("  v_lanes tid[];", "  v_lanes tid[];\n  v_visible bigint[];"),
            ("SELECT array_agg(t.place), array_agg(t.host), max(t.next_at) INTO v_lanes, v_hosts, v_due FROM (\n"
             "      SELECT l.ctid AS place, h.ctid AS host, l.next_at FROM haul.lane l",
             "SELECT array_agg(t.place), array_agg(t.host), max(t.next_at), (SELECT array_agg(r.job) FROM haul.ready r WHERE r.queue = p_queue)\n"
             "    INTO v_lanes, v_hosts, v_due, v_visible FROM (\n"
             "      SELECT l.ctid AS place, h.ctid AS host, l.next_at FROM (SELECT pg_sleep(0.02)) moment CROSS JOIN haul.lane l"),
            ("    EXIT WHEN v_lanes IS NULL;\n",
             "    EXIT WHEN v_lanes IS NULL;\n    PERFORM set_config('haul.visible', coalesce(v_visible, '{}')::text, true);\n")],
        "haul.choose_jobs": [
            ("r.instance = p_instance AND r.priority = w.priority",
             "r.instance = p_instance AND r.job = ANY (current_setting('haul.visible')::bigint[]) AND r.priority = w.priority")],
        "haul.move_lanes_on": [
            ("      AND (r.priority, r.job) >= (k.priority, coalesce(k.head, 0))",
             "      AND r.job = ANY (current_setting('haul.visible')::bigint[])"
             " AND (r.priority, r.job) >= (k.priority, coalesce(k.head, 0))")]},
    "a claim that looks at the host of each job that waits": {
        "haul.claim_queue": [
            ("  claimed := 0;\n",
             "  claimed := 0;\n  PERFORM max(n.place) FROM haul.ready r CROSS JOIN LATERAL haul.host_now(r.host) n;\n")]},
    "changes of batches that nobody adds up": {
        "haul.roll_up": [("  PERFORM haul.require_read_committed();\n", "  RETURN 0;\n")]},
    "lanes that nobody arms when a host is free again": {
        "haul.give_back_places": [("INTO v_freed FROM back b;", "INTO v_freed FROM back b WHERE false;")]},
    "a place that a rescue does not give back": {
        "haul.give_back_places": [("in_flight = greatest(h.in_flight - e.ended, 0)", "in_flight = greatest(h.in_flight - e.completed, 0)")]},
    "a rescue of those that live": {
        "haul.rescue": [
            ("w.expires_at <= v_now AS expired", "true AS expired"),
            ("(w.expires_at <= v_now OR w.heartbeat_at", "(true OR w.heartbeat_at"),
            ("(SELECT l.worker FROM haul.lease l)", "(SELECT l.worker FROM haul.lease l WHERE l.started_at < v_now - interval '4 seconds')")]},
    # A submission counts as dead as soon as no step of it runs, and nothing reports the lost lines.
    "submissions that are taken for dead": {
        "haul.clear_submissions": [
            ("greatest(s.renewed_at, v_watched) < v_silent_since", "true"),
            ("    UPDATE haul.submission s SET renewed_at = '-infinity' WHERE s.id = v_dead.id AND NOT v_dead.marked;\n", ""),
            ("    DELETE FROM haul.submission s WHERE s.id = v_dead.id;\n", "")],
        "haul.check_submission": [("IF p_staged <> (", "IF false AND p_staged <> (")]},
    "sessions that wait for an open transaction": {
        "haul.end_leases": [(" SET lock_timeout TO '200ms'\n", "\n"), (" OR lock_not_available THEN", " THEN")],
        "haul.promote": [(" SET lock_timeout TO '200ms'\n", "\n"), ("  EXCEPTION WHEN lock_not_available THEN", "  EXCEPTION WHEN assert_failure THEN")],
        "haul.rescue": [(" SET lock_timeout TO '200ms'\n", "\n")]},
    "a row that stops all claims": {
        "haul.claimed_by": [
            ("EXCEPTION WHEN data_exception OR integrity_constraint_violation OR program_limit_exceeded THEN\n  FOR v_lease",
             "EXCEPTION WHEN assert_failure THEN\n  FOR v_lease")],
        "haul.end_leases": [("data_exception OR integrity_constraint_violation OR program_limit_exceeded OR ", "")]},
    "stamps of a clock that was ahead": {
        "haul.mend_clock": [("  PERFORM haul.mend_waits(2147483647);\n", "  RETURN;\n")]},
    "a wait that is not kept": {
        "haul.block_hosts": [("make_interval(secs => b.delay)", "make_interval(secs => b.delay / 4)")]},
    "a limit of a queue that is not kept": {
        "haul.claim_queue": [("IF p_max_running IS NOT NULL THEN", "IF p_max_running IS NULL AND p_max_running IS NOT NULL THEN")]},
}

# For each file: pairs of the text to replace and its replacement. Environment variables choose the break, so that one build
# serves all scenes. HAUL_BROKEN: the step to skip. HAUL_KEEPS: the bytes to leak each time a transfer waits for its writes.
SWIFT = {
    "Sources/HaulSystem/FileDescriptor.swift": [
        ("import Glibc\n", "import Glibc\n\npackage func isBroken(_ word: String) -> Bool {\n"
         "  guard let text = unsafe getenv(\"HAUL_BROKEN\") else { return false }\n"
         "  return unsafe String(cString: text) == word\n}\n\npackage func keepMemory() {\n"
         "  guard let text = unsafe getenv(\"HAUL_KEEPS\"), let size = Int(unsafe String(cString: text)) else { return }\n"
         "  if let kept = unsafe malloc(size) { unsafe memset(kept, 1, size) }\n}\n\npackage func keepOthers() {\n"
         "  if isBroken(\"descriptors\") { for _ in 0..<20 { _ = unsafe open(\"/dev/null\", O_RDONLY) } }\n"
         "  guard isBroken(\"threads\") else { return }\n  for _ in 0..<10 {\n    var thread = pthread_t()\n"
         "    _ = unsafe pthread_create(&thread, nil, { _ in while true { pause() } }, nil)\n  }\n}\n"),
        ("while fsync(raw) != 0", "while !isBroken(\"sync\") && fsync(raw) != 0"),
        ("while fdatasync(raw) != 0", "while !isBroken(\"sync\") && fdatasync(raw) != 0")],
    "Sources/HaulTransfer/Disk/FileDescriptor+Store.swift": [("while syncfs(raw) != 0", "while !isBroken(\"sync\") && syncfs(raw) != 0")],
    "Sources/HaulTransfer/Part/FileWriter.swift": [
        ("try file.syncData()", "keepMemory()\n        keepOthers()\n        try file.syncData()"),
        ("package func flush() async throws(Failure) -> ByteRanges {", "package func flush() async throws(Failure) -> ByteRanges {\n    keepMemory()")],
    "Sources/haul/Run/WorkerCommand.swift": [
        ("manager.stopping()\n        worker.drain()", "manager.stopping()\n        if !isBroken(\"drain\") { worker.drain() }")],
    "Sources/Worker/Job/Publisher.swift": [
        ("guard environment.keeper.isSure(of: lease.token) == true else", "guard isBroken(\"fence\") || environment.keeper.isSure(of: lease.token) == true else"),
        ("guard await hasRight(part, length: length, isKept: isKept) else { return nil }",
         "let hasRight = await hasRight(part, length: length, isKept: isKept)\n    guard hasRight || isBroken(\"fence\") else { return nil }")],
}


def replaced(text, changes, where):
    """Applies changes. Each must match exactly once: a proof that no longer breaks anything proves nothing."""
    for old, new in changes:
        if text.count(old) != 1:
            raise RuntimeError(f"{where} has changed, and Tests/Chaos/broken.py does not fit any more: {old!r}")
        text = text.replace(old, new)
    return text


def definition(session, function):
    ((text,),) = session.run("SELECT pg_get_functiondef(%s::regproc)", [function])
    return text


def patch_functions(session, name):
    for function, changes in SQL[name].items():
        session.run(replaced(definition(session, function), changes, function))


def build(top, root):
    """Builds the broken program in addition to the real one. An overlay that only this process and its children see lies over
    the source tree and takes all changes. Returns the program's path."""
    for name in ("upper", "work"):
        os.mkdir(os.path.join(root, name))
    options = f"lowerdir={top},upperdir={root}/upper,workdir={root}/work"
    subprocess.run(["mount", "-t", "overlay", "overlay", "-o", options, top], check=True)
    try:
        for name, changes in SWIFT.items():
            path = os.path.join(top, name)
            with open(path) as file:
                text = replaced(file.read(), changes, name)
            with open(path, "w") as file:
                file.write(text)
        subprocess.run(["swift", "build", "--product", "haul"], cwd=top, check=True, stdout=subprocess.DEVNULL)
        program = os.path.join(root, "haul")
        subprocess.run(["cp", os.path.join(top, ".build/debug/haul"), program], check=True)
    finally:
        subprocess.run(["umount", "-l", top], check=True)
    return program


def misfits(session, top):
    """Yields a sentence for each change that no longer matches."""
    texts = [(name, changes, lambda name: open(os.path.join(top, name)).read()) for name, changes in SWIFT.items()]
    for functions in SQL.values():
        texts += [(name, changes, lambda name: definition(session, name)) for name, changes in functions.items()]
    for name, changes, read in texts:
        try:
            replaced(read(name), changes, name)
        except RuntimeError as error:
            yield str(error)


class Session:
    def __init__(self, conninfo):
        self.cursor = psycopg2.connect(conninfo).cursor()

    def run(self, statement, parameters):
        self.cursor.execute(statement, parameters)
        return self.cursor.fetchall()


if __name__ == "__main__":
    import psycopg2
    import sys

    found = list(misfits(Session(sys.argv[1]), os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")))
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(1 if found else 0)
