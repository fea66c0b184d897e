/** Telemetry by the SDK of OpenTelemetry, which only this file imports. What the endpoint does not take is dropped and counted; nothing waits for it. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import { type Context, ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  RandomIdGenerator,
  type SpanExporter,
  type SpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { OpenSpan, PastSpan, SpanStart, Telemetry } from './telemetry.ts';

const maxQueued = 2048;
const exportTimeoutMs = 10_000;
const closeWithinMs = 500;
const delayMs = 1_000;
const kinds = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL } as const;
/** W3C Trace Context, version 00. Whatever else a caller sends is ignored. */
const traceparentForm = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;

export function startOpenTelemetry(options: {
  readonly url: string;
  readonly name: string;
  readonly version: string;
}): Telemetry {
  let queued = 0;
  let dropped = 0;
  const otlp = new OTLPTraceExporter({ url: options.url, timeoutMillis: exportTimeoutMs, concurrencyLimit: 1 });
  const exporter: SpanExporter = {
    export(spans, done) {
      queued -= spans.length;
      otlp.export(spans, (result) => {
        // 0: taken.
        if (result.code !== 0) dropped += spans.length;
        done({ code: 0 });
      });
    },
    shutdown: () => otlp.shutdown(),
  };
  const batches = new BatchSpanProcessor({
    exporter,
    maxQueueSize: maxQueued,
    scheduledDelayMillis: delayMs,
    exportTimeoutMillis: exportTimeoutMs * 2,
  });
  const processor: SpanProcessor = {
    onStart: (span, context) => batches.onStart(span, context),
    onEnd(span) {
      if (queued >= maxQueued) {
        dropped += 1;
        return;
      }
      queued += 1;
      batches.onEnd(span);
    },
    forceFlush: () => batches.forceFlush(),
    shutdown: () => batches.shutdown(),
  };
  // A span that others named before it was made has its ids already.
  let reserved: { readonly traceId: string; readonly spanId: string } | null = null;
  const random = new RandomIdGenerator();
  const provider = new TracerProvider({
    idGenerator: {
      generateTraceId: () => reserved?.traceId ?? random.generateTraceId(),
      generateSpanId: () => reserved?.spanId ?? random.generateSpanId(),
    },
    resource: resourceFromAttributes({ 'service.name': options.name, 'service.version': options.version }),
    spanProcessors: [processor],
    spanLimits: { attributeValueLengthLimit: 200 },
  });
  const tracer = provider.getTracer('gantry', options.version);
  const current = new AsyncLocalStorage<Span>();

  function begin({ name, kind, attributes, from }: SpanStart): Span {
    const caller = from === undefined ? null : parsed(from.traceparent);
    const around = current.getStore();
    const context =
      caller !== null && from?.trusted === true
        ? trace.setSpanContext(ROOT_CONTEXT, caller)
        : around === undefined
          ? ROOT_CONTEXT
          : trace.setSpan(ROOT_CONTEXT, around);
    const links = caller !== null && from?.trusted !== true ? [{ context: caller }] : [];
    return tracer.startSpan(name, { kind: kinds[kind], attributes, links }, context);
  }

  function sendPast({ name, kind = 'internal', attributes, own, parent, from, to }: PastSpan): void {
    const ids = own === null ? null : parsed(own);
    const now = current.getStore()?.spanContext();
    const above = contextOf(parent);
    const traceId = ids?.traceId ?? trace.getSpanContext(above)?.traceId;
    const links = now === undefined || now.traceId === traceId ? [] : [{ context: now }];
    reserved = ids;
    try {
      const span = tracer.startSpan(name, { kind: kinds[kind], attributes, links, startTime: from }, above);
      span.end(Math.max(from, to));
    } finally {
      reserved = null;
    }
  }

  return {
    async span(start, run) {
      const span = begin(start);
      try {
        return await current.run(span, () => run(opened(span)));
      } catch (error) {
        // Neither message nor stack: they may have what a person typed.
        span.setStatus({ code: SpanStatusCode.ERROR });
        throw error;
      } finally {
        span.end();
      }
    },
    ids() {
      const span = current.getStore();
      if (span === undefined) return null;
      const { traceId, spanId } = span.spanContext();
      return { trace_id: traceId, span_id: spanId };
    },
    carry() {
      const span = current.getStore();
      return span === undefined ? null : headerOf(span);
    },
    within(traceparent, run) {
      const span = trace.getSpan(contextOf(traceparent));
      return span === undefined ? current.exit(run) : current.run(span, run);
    },
    reserve(parent) {
      const traceId = parsed(parent ?? '')?.traceId ?? random.generateTraceId();
      return `00-${traceId}-${randomBytes(8).toString('hex')}-01`;
    },
    past: sendPast,
    remember: () => AsyncLocalStorage.snapshot() as <T>(run: () => T) => T,
    metrics: [
      {
        name: 'gantry_telemetry_dropped_spans_total',
        help: 'Spans that the endpoint of OpenTelemetry did not take.',
        kind: 'counter',
        read: () => dropped,
      },
    ],
    async close() {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, closeWithinMs);
      });
      await Promise.race([provider.shutdown().catch(() => {}), late]);
      clearTimeout(timer);
    },
  };
}

const opened = (span: Span): OpenSpan => ({
  set: (attributes) => void span.setAttributes(attributes),
  traceparent: headerOf(span),
});

function headerOf(span: Span): string {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
}

/** A context with the span of that header; without a span if there is none. */
function contextOf(traceparent: string | null): Context {
  const context = traceparent === null ? null : parsed(traceparent);
  return context === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, context);
}

function parsed(traceparent: string) {
  const [, traceId, spanId, flags] = traceparentForm.exec(traceparent) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return null;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true };
}
