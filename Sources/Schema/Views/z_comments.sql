COMMENT ON SCHEMA haul IS
  'Haul: a pool of download workers. Views to look at, functions to act; nobody but the owner reads or writes '
  'tables.';
