-- The four roles. Roles belong to the whole cluster, and several databases may be migrated at the same time. So another
-- session may have created a role already. Then this session continues with the existing role.
DO $$
DECLARE
  v_role text;
  -- Since PostgreSQL 16, a role that is not a superuser may grant a role that it has created, but has no permission
  -- to act as that role.
  v_has_set boolean := current_setting('server_version_num')::integer >= 160000;
BEGIN
  FOREACH v_role IN ARRAY ARRAY['haul_admin', 'haul_worker', 'haul_submitter', 'haul_monitor'] LOOP
    FOR v_try IN 1..20 LOOP
      EXIT WHEN EXISTS (SELECT FROM pg_roles WHERE rolname = v_role);
      BEGIN
        EXECUTE format('CREATE ROLE %I NOLOGIN', v_role);
        IF v_role = 'haul_admin' THEN
          BEGIN
            -- Lets haul.vitals show which sessions keep old row versions. Haul grants this role only once: if you
            -- revoke it, it stays revoked.
            GRANT pg_read_all_stats TO haul_admin;
          EXCEPTION WHEN insufficient_privilege THEN
            NULL;  -- haul.vitals reports that the role is missing
          END;
        END IF;
      EXCEPTION WHEN duplicate_object OR unique_violation OR internal_error THEN
        NULL;  -- another session has created the role meanwhile
      END;
    END LOOP;
  END LOOP;
  -- The migrating user must be able to act as the owner.
  FOR v_try IN 1..20 LOOP
    EXIT WHEN pg_has_role(current_user, 'haul_admin', CASE WHEN v_has_set THEN 'SET' ELSE 'MEMBER' END);
    BEGIN
      EXECUTE format('GRANT haul_admin TO %I %s', current_user, CASE WHEN v_has_set THEN 'WITH SET TRUE' END);
    EXCEPTION WHEN unique_violation OR internal_error THEN
      NULL;
    END;
  END LOOP;
END
$$;
