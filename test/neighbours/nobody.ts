// No attack: two programs compute, and a session writes, as others may do on the same machine.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Attack } from './world.ts';

const PROGRAMS = 2;

export const nobody: Attack = {
  name: 'programs beside the service',
  run: async ({ pool, end }) => {
    const programs = Array.from({ length: PROGRAMS }, () =>
      spawn(process.execPath, ['--eval', 'for (;;);'], { stdio: 'ignore' }),
    );
    try {
      await pool.query('create table of_nobody (number bigint primary key, text text)');
      for (let count = 0; !end.aborted; count += 1)
        await pool.query(
          `insert into of_nobody
           select n, md5(n::text)
           from generate_series($1::bigint * 5000, $1::bigint * 5000 + 4999) n`,
          [count],
        );
    } finally {
      const ends = programs.map((program) => once(program, 'exit'));
      for (const program of programs) program.kill('SIGKILL');
      await Promise.all(ends);
    }
  },
};
