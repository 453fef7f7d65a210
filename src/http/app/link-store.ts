import { statement, type Db } from '../../db/client.ts';

// The rows of the counters that keep to a minute are unlogged and removed after an hour, which is
// long after the token has expired. After a crash of the database they are gone: then a token could
// be used again until its minute is over.
const USE = statement<{ readonly bucket: string }>(
  'http.useLink',
  `insert into rate_counter (bucket, minute, count)
   values ('link:' || $1, $2, 1)
   on conflict do nothing
   returning bucket`,
);

/** Marks a link as used. False: it was used before. `hash` stands for its token. */
export async function useLink(db: Db, hash: string, now: Date): Promise<boolean> {
  const rows = await db.query(USE, [hash, Math.floor(now.getTime() / 60_000)]);
  return rows.length > 0;
}
