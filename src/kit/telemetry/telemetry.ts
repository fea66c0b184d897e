/**
 * Spans for an operator's tracing, or nothing: without an endpoint no code of OpenTelemetry is loaded and a span costs one call. Owns the closed list
 * of attributes. Must not know who traces what.
 */
import { AppError } from '../../contracts/common/errors.ts';
import type { Metric } from '../metrics/metric.ts';

/** No attribute has an id without bound, a name of a person, a path with ids, a prompt or a secret. */
export const attributeKeys = [
  'http.request.method',
  'http.response.status_code',
  'http.route',
  'gantry.op',
  'gantry.principal',
  'error.type',
] as const;
type Attributes = Partial<Record<(typeof attributeKeys)[number], string | number>>;

export interface SpanStart {
  readonly name: string;
  readonly kind: 'server' | 'internal';
  readonly attributes: Attributes;
  /** The `traceparent` of the caller, if it sent one. `trusted`: its trace is continued. Otherwise it is only linked to, and decides nothing. */
  readonly from?: { readonly traceparent: string; readonly trusted: boolean } | undefined;
}

export interface OpenSpan {
  set(attributes: Attributes): void;
  /** The header that makes the receiver's span a child of this one. */
  readonly traceparent: string;
}

export interface Telemetry {
  /** Runs it inside a span; the span ends with it. Null in place of the span: nothing is traced. */
  span<T>(start: SpanStart, run: (span: OpenSpan | null) => Promise<T>): Promise<T>;
  /** The span that runs now, for a line of the log. */
  ids(): { readonly trace_id: string; readonly span_id: string } | null;
  readonly metrics: readonly Metric[];
  /** Sends what is left, within half a second. */
  close(): Promise<void>;
}

export const noTelemetry: Telemetry = {
  span: (_start, run) => run(null),
  ids: () => null,
  metrics: [],
  close: async () => {},
};

/** Loads OpenTelemetry if `OTEL_EXPORTER_OTLP_ENDPOINT` or `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` is set. */
export async function openTelemetry(
  env: Readonly<Record<string, string | undefined>>,
  service: { readonly name: string; readonly version: string },
): Promise<Telemetry> {
  const base = env.OTEL_EXPORTER_OTLP_ENDPOINT?.replace(/\/+$/, '');
  const url = env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || (base ? `${base}/v1/traces` : '');
  if (url === '' || env.OTEL_SDK_DISABLED === 'true') return noTelemetry;
  if (!/^https?:\/\//.test(url) || !URL.canParse(url)) {
    const variable = env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT
      ? 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'
      : 'OTEL_EXPORTER_OTLP_ENDPOINT';
    throw new AppError(
      'usage',
      `${variable} is not a web address: ${url}.`,
      'Give one such as http://127.0.0.1:4318, or remove the variable.',
    );
  }
  const { startOpenTelemetry } = await import('./open-telemetry.ts');
  return startOpenTelemetry({ url, ...service });
}
