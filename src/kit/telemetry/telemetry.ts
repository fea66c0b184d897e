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
  // How a run, a step, an approval or the work on a branch ended.
  'gantry.outcome',
  'error.type',
  // OpenTelemetry's conventions for generative AI. Names of models and tools are chosen by the person who configures them.
  'gen_ai.operation.name',
  'gen_ai.provider.name',
  'gen_ai.request.model',
  'gen_ai.usage.input_tokens',
  'gen_ai.usage.output_tokens',
  'gen_ai.tool.name',
] as const;
export type Attributes = Partial<Record<(typeof attributeKeys)[number], string | number>>;

/** How the conventions name the vendor behind a wire of ours, or behind an agent program. */
export const providerName = (of: string): string => providers[of] ?? of;
const providers: Readonly<Record<string, string>> = {
  claude: 'anthropic',
  codex: 'openai',
  gemini: 'gcp.gemini',
  google: 'gcp.gemini',
};

export interface SpanStart {
  readonly name: string;
  readonly kind: 'server' | 'client' | 'internal';
  readonly attributes: Attributes;
  /** The `traceparent` of the caller, if it sent one. `trusted`: its trace is continued. Otherwise it is only linked to, and decides nothing. */
  readonly from?: { readonly traceparent: string; readonly trusted: boolean } | undefined;
}

export interface OpenSpan {
  set(attributes: Attributes): void;
  /** The header that makes the receiver's span a child of this one. */
  readonly traceparent: string;
}

/** A span whose work may outlive the process that began it. Times are milliseconds since the epoch. */
export interface PastSpan {
  readonly name: string;
  readonly kind?: SpanStart['kind'];
  readonly attributes: Attributes;
  /** What {@link Telemetry.reserve} gave; null: nothing names it as its parent. */
  readonly own: string | null;
  readonly parent: string | null;
  readonly from: number;
  readonly to: number;
}

/** Runs a function in a span that was remembered. */
export type InSpan = <T>(run: () => T) => T;

/** Which span work belongs to that is stored and done later. */
export interface TraceContext {
  /** The header of the span that runs now; null: none does. */
  carry(): string | null;
  /** Runs it as a part of the span of that header; null: of none. */
  within<T>(traceparent: string | null, run: () => T): T;
}

export interface Telemetry extends TraceContext {
  /** Runs it inside a span; the span ends with it. Null in place of the span: nothing is traced. */
  span<T>(start: SpanStart, run: (span: OpenSpan | null) => Promise<T>): Promise<T>;
  /** The span that runs now, for a line of the log. */
  ids(): { readonly trace_id: string; readonly span_id: string } | null;
  /** The header of a span that is sent when it ends ({@link Telemetry.past}): what is part of it names it from now on. Null: nothing is traced. */
  reserve(parent: string | null): string | null;
  /** Sends a span that has ended, linked to the one that runs now if that is part of another trace. */
  past(span: PastSpan): void;
  /** How to run a function later in the span of now; undefined: in none, or nothing is traced. */
  readonly remember: (() => InSpan | undefined) | undefined;
  readonly metrics: readonly Metric[];
  /** Sends what is left, within half a second. */
  close(): Promise<void>;
}

export const noTelemetry: Telemetry = {
  span: (_start, run) => run(null),
  ids: () => null,
  carry: () => null,
  within: (_traceparent, run) => run(),
  reserve: () => null,
  past: () => {},
  remember: undefined,
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
