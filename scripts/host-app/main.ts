/**
 * `npm run host-app`: a small host application that shows the admin page of `npm start`, in a frame
 * and by a link. Start the service before it, with ADMIN_HOST_ORIGINS=http://localhost:5173 and
 * ADMIN_REFRESH_URL=http://localhost:5173/link.
 */
import { existsSync, readFileSync } from 'node:fs';
import { DEMO_TEAM_ID } from '../../src/seed/demo-team.ts';
import { createHostApp } from './app.ts';

const SECRETS = '.data/secrets.json';
const DEMO_OWNER = 'usr_1';

const serviceUrl = process.env['SERVICE_URL'] ?? 'http://127.0.0.1:3000';
const port = Number(process.env['PORT'] ?? 5173);
const authSecret = process.env['APP_AUTH_SECRET'] ?? keptSecret();
const userId = process.env['HOST_APP_USER'] ?? DEMO_OWNER;
const app = createHostApp({ serviceUrl, authSecret, userId, teamId: DEMO_TEAM_ID });
app.listen(port, 'localhost', () => console.log(`Host application  http://localhost:${port}`));

/** The secret that `npm start` has made in this folder. */
function keptSecret(): string {
  if (!existsSync(SECRETS)) throw new Error('Run "npm start" here first, or set APP_AUTH_SECRET.');
  return (JSON.parse(readFileSync(SECRETS, 'utf8')) as { appAuthSecret: string }).appAuthSecret;
}
