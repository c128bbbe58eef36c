-- Columns that nobody knows yet, and rows that are damaged: a size that is a text, an end before its begin.
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL, encoding INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, globalPid INTEGER, correlationId INTEGER, bytes INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER, colour TEXT);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES
  (10, 20, 0, 281546145660928, 1, 100, 8, 2, 2, 'red'),
  (30, 25, 0, 281546145660928, 2, 100, 8, 2, 2, 'red'),
  (40, 50, 0, 281546145660928, 3, 'many', 8, 2, 2, 'red'),
  (60, 70, 0, 281546145660928, 4, -5, 8, 2, 2, 'red'),
  ('soon', 80, 0, 281546145660928, 5, 100, 8, 2, 2, 'red'),
  (90, 95, 0, 281546145660928, 6, 100, 99, 42, 42, 'red');
