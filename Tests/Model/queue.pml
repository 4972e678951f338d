/* The queue under READ COMMITTED: every interleaving of a few sessions' statements. Run by scripts/model.

   Compare with claim_band() in Functions/50_claim.sql (claim), 40_end_leases.sql (settle), arm() in 00_common.sql,
   80_submit.sql, withdraw() and resume() in 90_control.sql, apply_policies() in 95_hosts.sql (cap) and 70_leader.sql
   (rescue). One host with two lanes (two queues); jobs 0 and 1 belong to lane 0, job 2 to lane 1. Two workers, a rescuer
   that may think anybody dead, a submitter, an operator.

   A statement is a step: it sees what was committed when it began, and its own transaction's writes. A lock is a step that
   waits (or, SKIP LOCKED, passes by) and then sees the row as it is by now. A deadlock is an invalid end state. Left out:
   how a lane is made (ArmInterleavingTests), hear_hosts() of heartbeats, which raises the places as cap does and waits
   for nobody (SilentHostTests), time (blocks, intervals, scheduled jobs, marks), priorities, instances, batches, max_running, hosts beyond the one.

   Broken on purpose, to see that it would be found:
     ONE_CLAIM    claim reads `ready` in the statement that locks the lane
     ONE_SETTLE   settle reads the parked lanes in the statement that locks the host
     HOST_LATE    claim looks at the host before it has locked it                                                    */

#define JOBS 3
#define LANES 2
#define NONE JOBS
#ifndef CALLS
#define CALLS 2   /* of each worker */
#endif
#ifndef ROUNDS
#define ROUNDS 1  /* of the rescuer */
#endif
#ifndef ORDERS
#define ORDERS 1  /* of the operator */
#endif
#define LANE(j) (j / 2)
#define me (_pid + 1)

/* Rows: `by` has it locked; the second value of each column is that session's, uncommitted. */
typedef Lane { byte by; byte head = NONE, head2; bool due, due2 }  /* head NONE = NULL; due = next_at IS NOT NULL */
typedef Host { byte by; byte in_flight, in_flight2; byte cap = 1, cap2 }
typedef Lease { byte by; byte token, token2 }                       /* token 0 = no such row */
Lane lane[LANES];
Host host;
Lease lease[JOBS];
byte last_token[JOBS];
byte ready, held, ended, known;  /* sets of jobs, a bit each, as committed; known: submitted */
byte taken;                      /* rows of `ready` that somebody has deleted and not committed */

#define BIT(j) (1 << (j))
#define MINE(row) (row.by == me)
#define FREE(row) (row.by == 0 || MINE(row))
/* What this session's statements see. */
#define READY ((ready & ~minus) | plus)
#define HEAD(l) (MINE(lane[l]) -> lane[l].head2 : lane[l].head)
#define DUE(l) (MINE(lane[l]) -> lane[l].due2 : lane[l].due)

/* What a session has written and not committed, what it wants ended, and what it wants armed. */
#define session \
  byte minus, plus, minus_held, plus_held, plus_ended; \
  byte want[JOBS], result[JOBS], head[LANES]; \
  byte j, l, n; bool freed; \
  byte seen, room, next

inline lock_lane(l) {  /* FREE(lane[l]) is true */
  if :: !MINE(lane[l]) -> lane[l].by = me; lane[l].head2 = lane[l].head; lane[l].due2 = lane[l].due :: else fi
}
inline lock_host() {
  if :: !MINE(host) -> host.by = me; host.in_flight2 = host.in_flight; host.cap2 = host.cap :: else fi
}

inline commit() {
  atomic {
    ready = READY; known = known | ready; held = (held & ~minus_held) | plus_held; ended = ended | plus_ended;
    taken = taken & ~minus; minus = 0; plus = 0; minus_held = 0; plus_held = 0; plus_ended = 0;
    for (l : 0 .. LANES - 1) {
      if :: MINE(lane[l]) -> lane[l].head = lane[l].head2; lane[l].due = lane[l].due2; lane[l].by = 0;
          lane[l].head2 = 0; lane[l].due2 = 0 :: else fi }
    if :: MINE(host) -> host.in_flight = host.in_flight2; host.cap = host.cap2; host.by = 0;
        host.in_flight2 = 0; host.cap2 = 0 :: else fi
    for (j : 0 .. JOBS - 1) {
      if :: MINE(lease[j]) -> lease[j].token = lease[j].token2; lease[j].by = 0; lease[j].token2 = 0 :: else fi }
    n = 0;
    for (j : 0 .. JOBS - 1) {
      n = n + (lease[j].token != 0);
      /* I2: in exactly one state. */
      assert(((ready >> j) & 1) + ((held >> j) & 1) + ((ended >> j) & 1) + (lease[j].token != 0) == ((known >> j) & 1));
      /* I5: what waits can be found: its lane has a head that is not behind it, and is due or its host is full. */
      assert(!(ready & BIT(j)) || (lane[LANE(j)].head <= j && (lane[LANE(j)].due || host.in_flight >= host.cap)))
    }
    assert(host.in_flight == n);  /* I1 */
    j = 0; l = 0; n = 0
  }
}

/* arm(): lanes in key order, each waited for; head[l] NONE = leave it alone. */
inline arm() {
  for (l : 0 .. LANES - 1) {
    if
    :: head[l] != NONE -> atomic { FREE(lane[l]) -> lock_lane(l);
         lane[l].head2 = (head[l] < lane[l].head2 -> head[l] : lane[l].head2); lane[l].due2 = true; head[l] = NONE }
    :: else
    fi
  }
}
/* Lanes of the host that are parked though something waits, as this statement sees them. */
inline see_parked() {
  for (l : 0 .. LANES - 1) { if :: !DUE(l) && HEAD(l) < head[l] -> head[l] = HEAD(l) :: else fi }
}

/* end_leases(): want[j] is the token that the caller believes in, 0 = none; result[j] 1 = completed, 0 = waits again. */
inline settle() {
  /* Lock the leases in job order; a token that is not there is passed by. */
  for (j : 0 .. JOBS - 1) {
    if
    :: want[j] -> atomic { lease[j].token != want[j] || lease[j].by == 0 ->
         if :: lease[j].token == want[j] -> lease[j].by = me; lease[j].token2 = want[j] :: else -> want[j] = 0 fi }
    :: else
    fi
  }
  /* A new statement: delete them, and write what became of the jobs. */
  atomic {
    for (j : 0 .. JOBS - 1) {
      if
      :: want[j] -> lease[j].token2 = 0; n++;
           if :: result[j] -> plus_ended = plus_ended | BIT(j)
           :: else -> plus = plus | BIT(j); head[LANE(j)] = (j < head[LANE(j)] -> j : head[LANE(j)]) fi
      :: else
      fi;
      want[j] = 0; result[j] = 0
    }
  }
  if
  :: n ->
#ifdef ONE_SETTLE
       see_parked();
#endif
       atomic { FREE(host) -> lock_host() }
       d_step {
         freed = host.in_flight2 >= host.cap2 && host.in_flight2 - n < host.cap2;
         host.in_flight2 = host.in_flight2 - n; n = 0 }
#ifndef ONE_SETTLE
       d_step { if :: freed -> see_parked() :: else fi; freed = false }
#endif
       arm()
  :: else
  fi
}

/* claim_band() of one lane, room for one job; mine[j] is the token it gets. */
inline claim(c) {
  /* Lane and host, SKIP LOCKED: a lane whose host is taken stays locked, and due. */
  seen = READY;
  atomic {
    if :: lane[c].due && FREE(lane[c]) && (!MINE(lane[c]) || lane[c].due2) -> lock_lane(c); l = 1 :: else -> l = 0 fi }
  if
  :: l ->
#ifdef HOST_LATE
       d_step { room = host.cap > host.in_flight }
       atomic { if :: FREE(host) -> lock_host() :: else -> l = 0 fi }
#else
       atomic { if :: FREE(host) -> lock_host(); room = host.cap2 > host.in_flight2 :: else -> l = 0 fi }
#endif
  :: else
  fi;
  if
  :: l ->
#ifndef ONE_CLAIM
       /* A new statement: everything is read again. */
       d_step { seen = READY }
#endif
       /* The first of the lane or, of a host in trouble, any. */
       atomic {
         next = NONE; j = lane[c].head2;
         do :: j < JOBS -> if :: room && LANE(j) == c && (seen & BIT(j)) -> next = j; if :: break :: j++ fi :: else -> j++ fi
         :: else -> break od; j = 0 }
       /* DELETE … RETURNING finds what is still there and nobody else is taking, INSERT its lease. */
       d_step {
         if
         :: next != NONE && (READY & BIT(next)) && !(taken & BIT(next)) ->
              assert(lease[next].token == 0 && lease[next].by == 0 || MINE(lease[next]));  /* I3 */
              assert(host.in_flight2 < host.cap2);                                          /* I1 */
              if :: plus & BIT(next) -> plus = plus & ~BIT(next) :: else -> minus = minus | BIT(next); taken = taken | BIT(next) fi;
              last_token[next]++; lease[next].by = me; lease[next].token2 = last_token[next];
              mine[next] = last_token[next]; host.in_flight2++; seen = seen & ~BIT(next)
         :: else
         fi; next = NONE }
#ifndef ONE_CLAIM
       d_step { seen = READY }
#endif
       /* What is next in the lane; empty or full: parked. */
       d_step {
         j = lane[c].head2;
         do :: j < JOBS -> if :: LANE(j) == c && (seen & BIT(j)) -> break :: else -> j++ fi :: else -> break od;
         lane[c].head2 = j; lane[c].due2 = j != NONE && host.in_flight2 < host.cap2 }
  :: else
  fi;
  d_step { seen = 0; room = 0; j = 0; l = 0 }
}

active [2] proctype worker() {
  session; byte mine[JOBS]; byte call;
  atomic { for (l : 0 .. LANES - 1) { head[l] = NONE } next = NONE }
  do
  :: call < CALLS ->
       /* Of what it believes to hold, whatever it likes: keep, complete, release. */
       atomic { for (j : 0 .. JOBS - 1) {
         if :: true
            :: mine[j] -> want[j] = mine[j]; result[j] = 1; mine[j] = 0
            :: mine[j] -> want[j] = mine[j]; mine[j] = 0 fi } }
       settle(); claim(0); claim(1); commit(); call++
  :: else -> break
  od
}

active proctype rescuer() {
  session; byte round;
  atomic { for (l : 0 .. LANES - 1) { head[l] = NONE } next = NONE }
  do
  :: round < ROUNDS ->
       atomic { for (j : 0 .. JOBS - 1) { if :: true :: lease[j].token -> want[j] = lease[j].token fi } }
       settle(); commit(); round++
  :: else -> break
  od
}

active proctype submitter() {
  session;
  atomic { for (l : 0 .. LANES - 1) { head[l] = NONE } next = NONE }
  atomic { plus = BIT(0); head[0] = 0 } arm(); commit();
  atomic { plus = BIT(1) | BIT(2); head[0] = 1; head[1] = 2 } arm(); commit()
}

active proctype operator() {
  session; byte order, job;
  atomic { for (l : 0 .. LANES - 1) { head[l] = NONE } next = NONE }
  do
  :: order < ORDERS ->
       if
       :: atomic { FREE(host) -> lock_host() } d_step { host.cap2 = 3 - host.cap2 }  /* 1 or 2 */
          d_step { if :: host.in_flight2 < host.cap2 -> see_parked() :: else fi } arm()
       /* withdraw() locks no lane, and waits for whoever is taking the row. */
       :: ready -> atomic { select(job : 0 .. JOBS - 1) }
          atomic { !(taken & BIT(job)) ->
            if :: READY & BIT(job) -> minus = BIT(job); taken = taken | minus; plus_held = BIT(job) :: else fi }
       :: held -> d_step { minus_held = held; plus = held;
            for (j : 0 .. JOBS - 1) {
              if :: held & BIT(j) -> head[LANE(j)] = (j < head[LANE(j)] -> j : head[LANE(j)]) :: else fi } }
          arm()
       fi;
       atomic { job = 0 } commit(); order++
  :: order < ORDERS -> order++
  :: else -> break
  od
}
