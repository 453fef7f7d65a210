import { z } from 'zod';
import { dateTime, id } from '../../../core/shapes.ts';
import type { Provider } from '../providers/provider.ts';
import { PROVIDER_NAMES, PROVIDERS } from '../providers/registry.ts';

/** A connection as admins see it. Its credentials are never returned. */
export const connection = z.object({
  id: z.string(),
  provider: z.enum(PROVIDER_NAMES),
  status: z.string().meta({ description: '`active` or `paused`.' }),
  objection_marker: z.string().nullable(),
  created_at: dateTime,
  last_synced_at: dateTime
    .nullable()
    .meta({ description: 'When a round was last read to its end.' }),
  last_error: z
    .string()
    .nullable()
    .meta({ description: 'Why the last attempt failed; null if it did not.' }),
  failure_streak: z.int().meta({ description: 'Failed attempts since the last complete round.' }),
  next_sync_at: dateTime
    .nullable()
    .meta({ description: 'When it is read next; null while it is not.' }),
  syncing: z.boolean(),
  due: z.boolean().meta({ description: 'A worker reads it in a moment, or would if none does.' }),
  has_credentials: z
    .boolean()
    .meta({ description: 'Without them it is not read until they are entered.' }),
});

export const connectionList = z.object({ data: z.array(connection) });

export const connectionInput = z.strictObject({ connection_id: id });

/** What `connect` takes for every provider. */
const settings = {
  objection_marker: z.string().trim().min(1).max(50).optional().meta({
    description: 'Notes that begin with it become objections. Left out: notes are not read.',
  }),
  base_url: z
    .url({ protocol: /^https?$/ })
    .max(2048)
    .optional()
    .meta({ description: 'For development and tests only.' }),
};

type Providers = Readonly<Record<string, Provider>>;
type InputShape<P extends Providers, Fields extends z.ZodRawShape> = {
  [N in keyof P & string]: z.ZodObject<
    { provider: z.ZodLiteral<N>; credentials: P[N]['credentials'] } & Fields,
    z.core.$strict
  >;
}[keyof P & string];
type InputOf<P extends Providers, Fields extends z.ZodRawShape> = z.ZodDiscriminatedUnion<
  [InputShape<P, Fields>, ...InputShape<P, Fields>[]],
  'provider'
>;

/** One shape for each provider, with its credentials. `provider` tells which one applies. */
function inputOf<P extends Providers, Fields extends z.ZodRawShape>(
  providers: P,
  fields: Fields,
): InputOf<P, Fields> {
  const names = Object.keys(providers);
  const shapes = Object.entries(providers).map(([name, { credentials }]) =>
    z.strictObject({ provider: z.literal(name), credentials, ...fields }),
  );
  // `map` forgets which credentials belong to which name.
  type Shapes = [InputShape<P, Fields>, ...InputShape<P, Fields>[]];
  return z.discriminatedUnion('provider', shapes as unknown as Shapes, {
    error: ({ code }) =>
      code === 'invalid_union' ? `Invalid option: expected one of ${names.join(', ')}` : undefined,
  });
}

export function connectInputOf<P extends Providers>(providers: P): InputOf<P, typeof settings> {
  return inputOf(providers, settings);
}

export const connectInput = connectInputOf(PROVIDERS);

/** `provider` must be that of the connection. */
export const replaceCredentialsInput = inputOf(PROVIDERS, { connection_id: id });
