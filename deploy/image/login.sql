-- Creates the login of workers and coordinators, after "haul migrate" has created the role haul_worker. compose.yaml runs
-- this script at each start. The password is the last field of the workers' password file. No log shows it.
\set ON_ERROR_STOP on
\set password `cut -d: -f5 /run/secrets/worker.pgpass`
SET log_statement = 'none';
SET log_min_error_statement = 'panic';
SET client_min_messages = 'warning';
SELECT 'CREATE ROLE haul_worker_1 LOGIN'
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'haul_worker_1') \gexec
ALTER ROLE haul_worker_1 PASSWORD :'password';
GRANT haul_worker TO haul_worker_1;
