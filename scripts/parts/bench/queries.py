"""The queries of docs/queries.md, and one query for each view, as scripts/parts/bench/queue runs them."""

import itertools
import os
import re
import statistics
import time

QUERIES = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../../docs/queries.md")

# A worker with every outcome: the first four jobs of each claim continue to run, the others end in one of eight ways.
LIVELY = """
DO $$
DECLARE
  v_worker bigint;
  v_secret text;
  v_claimed jsonb;
  v_endings jsonb := '[]';
BEGIN
  SELECT (r->>'worker')::bigint, r->>'secret' INTO v_worker, v_secret
  FROM haul.register(haul.schema_version(), 'bench', 'bench', 2, 4000, (
    SELECT jsonb_agg(jsonb_build_object('store', 'bench', 'marker', marker)) FROM haul.store_instance)) r;
  UPDATE haul.worker SET expires_at = 'infinity', heartbeat_at = 'infinity' WHERE id = v_worker;
  FOR v_call IN 1..1000 LOOP
    v_claimed := haul.work(v_worker, v_secret, v_call, v_endings, ARRAY['bench'], 64) -> 'claimed';
    PERFORM haul.checkpoint(v_worker, v_secret, (
      SELECT jsonb_agg(jsonb_build_object('job', c.job, 'token', c.token, 'instance', 1, 'durable', '{[0,4096)}',
        'length', 16384, 'resume', '{}')) FROM jsonb_to_recordset(v_claimed) c(job bigint, token bigint) WHERE c.token % 2 = 0));
    SELECT jsonb_agg(jsonb_strip_nulls(jsonb_build_object('job', c.job, 'token', c.token, 'bytes', 16384, 'fetched', 16384,
      'result', coalesce(w.result, 'failed'), 'error', w.error, 'message', w.error, 'retry_after', w.retry_after)))
    INTO v_endings FROM ROWS FROM (jsonb_to_recordset(v_claimed) AS (job bigint, token bigint)) WITH ORDINALITY c(job, token, place)
    JOIN (VALUES (0, 'completed', NULL, NULL), (1, 'completed', NULL, NULL), (2, 'released', NULL, NULL), (3, 'released', NULL, NULL),
      (4, NULL, 'http_4xx', NULL), (5, NULL, 'timeout', 600), (6, NULL, 'rate_limited', 600), (7, NULL, 'blocked_address', NULL))
      w(number, result, error, retry_after) ON w.number = c.place % 8 WHERE c.place > 4;
    COMMIT;
  END LOOP;
  PERFORM haul.work(v_worker, v_secret, 1001, v_endings, ARRAY['bench'], 0);
END
$$;
SELECT haul.roll_up(1000000);
"""


def queries():
    """Yields each question and query of the page, in order, and whether the page says that the query may take longer."""
    with open(QUERIES, encoding="utf-8") as page:
        sections = page.read().split("\n## ")[1:]
    for section in sections:
        before, query, after = re.fullmatch(r"(.*?)```sql\n(.*?)```(.*)", section, re.S).groups()
        query = query.replace("queue = 'data'", "queue = 'bench'")
        yield before.splitlines()[0], query, "second" in before + after


def looks(psql):
    """Yields a name, a query and False for each view, with a LIMIT. For health, which reads everything, yields each check."""
    views = psql("bench_run", "SELECT viewname FROM pg_views WHERE schemaname = 'haul' ORDER BY 1").split()
    for view in views:
        if view != "health":
            yield f"haul.{view} with a LIMIT", f"SELECT * FROM haul.{view} LIMIT 50", False
    for check in psql("bench_run", 'SELECT "check" FROM haul.health').split():
        yield f"haul.health of {check}", f"SELECT * FROM haul.health WHERE \"check\" = '{check}'", False


def measure(table, psql):
    """Lets jobs in the database bench_run end in every way, then measures the queries."""
    psql("bench_run", "", LIVELY)
    psql("bench_run", "ANALYZE")
    for question, query, may_be_slow in itertools.chain(queries(), looks(psql)):
        took = []
        for _ in range(3):
            begin = time.monotonic()
            psql("bench_run", query)
            took.append(time.monotonic() - begin)
        table.add(question, statistics.median(took), "s", most=None if may_be_slow else 1)
