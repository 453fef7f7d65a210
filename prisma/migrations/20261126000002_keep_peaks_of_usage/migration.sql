-- How much of the limit of requests a minute was used at the peak of the day, in percent: of the
-- key's limit or of the team's, whichever was nearer. 0: not known, as for the days before.
ALTER TABLE "api_key_usage" ADD COLUMN "peak_percent" smallint NOT NULL DEFAULT 0
  CONSTRAINT "api_key_usage_peak_check" CHECK ("peak_percent" BETWEEN 0 AND 100);
