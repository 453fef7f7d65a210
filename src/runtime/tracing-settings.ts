/** What the variables of OpenTelemetry's specification say about traces. */

/** The samplers that the specification names and that need nothing else. */
export const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

/** Where traces go, and which requests are traced. */
export interface TracingSettings {
  /** The base URL of a receiver of OTLP over HTTP. */
  readonly endpoint: string;
  /** What the receiver wants besides, such as a token, as `OTEL_EXPORTER_OTLP_HEADERS`. */
  readonly headers: string | null;
  /** null: by the kind of process. */
  readonly serviceName: string | null;
  readonly sampling: Sampling;
}

export interface Sampling {
  /** The share of the requests that are traced if their caller says nothing. */
  readonly ratio: number;
  /** Whether callers that we know decide by their own traces. */
  readonly followsCallers: boolean;
}

/** null: there is no address, so nothing is traced. */
export function tracingOf(env: {
  readonly OTEL_EXPORTER_OTLP_ENDPOINT?: string | undefined;
  readonly OTEL_EXPORTER_OTLP_HEADERS?: string | undefined;
  readonly OTEL_SERVICE_NAME?: string | undefined;
  readonly OTEL_TRACES_SAMPLER: (typeof SAMPLERS)[number];
  readonly OTEL_TRACES_SAMPLER_ARG: number;
}): TracingSettings | null {
  const endpoint = env.OTEL_EXPORTER_OTLP_ENDPOINT;
  if (endpoint === undefined) return null;
  const sampler = env.OTEL_TRACES_SAMPLER;
  const sampling = {
    ratio: ratioOf(sampler, env.OTEL_TRACES_SAMPLER_ARG),
    followsCallers: sampler.startsWith('parentbased_'),
  };
  const headers = env.OTEL_EXPORTER_OTLP_HEADERS ?? null;
  return { endpoint, headers, serviceName: env.OTEL_SERVICE_NAME ?? null, sampling };
}

function ratioOf(sampler: (typeof SAMPLERS)[number], argument: number): number {
  if (sampler.endsWith('always_on')) return 1;
  return sampler.endsWith('always_off') ? 0 : argument;
}
