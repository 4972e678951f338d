-- Names of the queues that the worker claims from; NULL = all of its stores, and what a program says that does not know the column.
-- Names, not ids: whoever makes a queue anew under its name has its workers back.
ALTER TABLE haul.worker ADD COLUMN queues text[];
