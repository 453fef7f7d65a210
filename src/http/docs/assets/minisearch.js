// The search library. Browsers get its own file at this address (assets.ts).
export { default } from 'minisearch';
