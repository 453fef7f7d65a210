import { isCompressible } from './compress.ts';
import type { Endpoint } from '../../routers/endpoints.ts';

/** The route of a request, or the methods that its path has. */
export type Match =
  | {
      readonly kind: 'route';
      readonly route: CompiledRoute;
      readonly rawParameters: readonly string[];
    }
  | { readonly kind: 'other_method'; readonly allow: readonly string[] }
  | { readonly kind: 'unknown' };

export interface CompiledRoute {
  readonly endpoint: Endpoint;
  readonly pathParameters: readonly string[];
  /**
   * Query parameters that are numbers. Digits become a number; anything else stays text, and the
   * schema refuses it.
   */
  readonly numericQuery: ReadonlySet<string>;
  /** Whether its responses may be compressed. */
  readonly isCompressible: boolean;
}

interface Node {
  readonly fixed: Map<string, Node>;
  parameter: Node | null;
  readonly methods: Map<string, CompiledRoute>;
}

/**
 * Compiles the declarations into a tree of path segments and returns the function that finds a
 * request's route. Paths match exactly: case and trailing slashes count.
 */
export function compileRoutes(
  endpoints: readonly Endpoint[],
): (method: string, path: string) => Match {
  const root = newNode();
  for (const endpoint of endpoints) insert(root, endpoint);
  return (method, path) => {
    const rawParameters: string[] = [];
    const node = find(root, path, rawParameters);
    if (!node || node.methods.size === 0) return { kind: 'unknown' };
    const route = node.methods.get(method === 'HEAD' ? 'GET' : method);
    if (route) return { kind: 'route', route, rawParameters };
    const allow = [...node.methods.keys()];
    return { kind: 'other_method', allow: allow.includes('GET') ? [...allow, 'HEAD'] : allow };
  };
}

function newNode(): Node {
  return { fixed: new Map(), parameter: null, methods: new Map() };
}

function insert(root: Node, endpoint: Endpoint): void {
  let node = root;
  for (const segment of endpoint.path.slice(1).split('/')) {
    if (segment.startsWith('{')) {
      node = node.parameter ??= newNode();
      continue;
    }
    const next: Node = node.fixed.get(segment) ?? newNode();
    node.fixed.set(segment, next);
    node = next;
  }
  if (node.methods.has(endpoint.method))
    throw new Error(`two endpoints for ${endpoint.method} ${endpoint.path}`);
  node.methods.set(endpoint.method, {
    endpoint,
    pathParameters: endpoint.pathParameters,
    isCompressible: isCompressible(endpoint),
    numericQuery: endpoint.method === 'GET' ? numericKeys(endpoint) : new Set(),
  });
}

function find(root: Node, path: string, rawParameters: string[]): Node | null {
  if (!path.startsWith('/')) return null;
  let node = root;
  for (const segment of path.slice(1).split('/')) {
    const fixed = node.fixed.get(segment);
    if (fixed) {
      node = fixed;
      continue;
    }
    if (!node.parameter || segment === '') return null;
    rawParameters.push(segment);
    node = node.parameter;
  }
  return node;
}

function numericKeys(endpoint: Endpoint): Set<string> {
  const accepts = (schema: unknown, value: unknown): boolean =>
    (schema as { safeParse(v: unknown): { success: boolean } }).safeParse(value).success;
  return new Set(
    Object.entries(endpoint.input.shape).flatMap(([name, schema]) =>
      accepts(schema, 1) && !accepts(schema, '1') ? [name] : [],
    ),
  );
}
