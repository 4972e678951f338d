-- Lines are not changed any more before they become jobs: no room is kept for that in what is staged from now on.
ALTER TABLE haul.staging SET (fillfactor = 100);
