/** The id of the demo team, which `npm start` loads into an empty database. */
export const DEMO_TEAM_ID = 'team_demo';
