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
const delayMs = 5_000;
/** Requests that may begin a trace, a second: a flood is traced by sample, everything below it whole. */
const tracesASecond = 10;
const burst = 200;
/** What a request that is not traced passes on, so that no server behind this one begins a trace in its middle. */
const untraced: OpenSpan = { set: () => {}, traceparent: `00-${'0'.repeat(31)}1-${'0'.repeat(15)}1-00` };
const kinds = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL } as const;
/** W3C Trace Context, version 00. Whatever else a caller sends is ignored. */
const traceparentForm = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;

export function startOpenTelemetry(options: {
  readonly url: string;
  readonly name: string;
  readonly version: string;
}): Telemetry {
  let untracedRequests = 0;
  const mayBegin = createBucket();
  const exporting = createExport(options.url);
  // A span that others named before it was made has its ids already.
  let reserved: { readonly traceId: string; readonly spanId: string } | null = null;
  const random = new RandomIdGenerator();
  const provider = new TracerProvider({
    idGenerator: {
      generateTraceId: () => reserved?.traceId ?? random.generateTraceId(),
      generateSpanId: () => reserved?.spanId ?? random.generateSpanId(),
    },
    resource: resourceFromAttributes({ 'service.name': options.name, 'service.version': options.version }),
    spanProcessors: [exporting.processor],
    spanLimits: { attributeValueLengthLimit: 200 },
  });
  const tracer = provider.getTracer('gantry', options.version);
  const current = new AsyncLocalStorage<Span>();

  /** Null: it is part of no trace. Only a request begins one; what has no request is part of a reserved span. */
  function begin({ name, kind, attributes, from }: SpanStart): Span | null {
    const caller = from === undefined ? null : parsed(from.traceparent);
    const around = current.getStore();
    if (caller !== null && from?.trusted === true) {
      if ((caller.traceFlags & 1) === 0) return null;
    } else if (around === undefined && !(kind === 'server' && mayBegin())) {
      if (kind === 'server') untracedRequests += 1;
      return null;
    }
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
    span(start, run) {
      const span = begin(start);
      if (span === null) return run(untraced);
      return current.run(span, async () => {
        try {
          return await run(opened(span));
        } catch (error) {
          // Neither message nor stack: they may have what a person typed.
          span.setStatus({ code: SpanStatusCode.ERROR });
          throw error;
        } finally {
          span.end();
        }
      });
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
    remember() {
      const span = current.getStore();
      return span === undefined ? undefined : (run) => current.run(span, run);
    },
    metrics: [
      {
        name: 'gantry_telemetry_dropped_spans_total',
        help: 'Spans that the endpoint of OpenTelemetry did not take.',
        kind: 'counter',
        read: exporting.dropped,
      },
      {
        name: 'gantry_telemetry_untraced_requests_total',
        help: `Requests without a trace, because more than ${tracesASecond} a second came.`,
        kind: 'counter',
        read: () => untracedRequests,
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

/** Sends spans that have ended, in batches; counts those that the endpoint did not take. */
function createExport(url: string): { readonly processor: SpanProcessor; readonly dropped: () => number } {
  let queued = 0;
  let dropped = 0;
  // One batch is sent at a time. The second place is for the one that begins while the SDK has not yet let go of the one before, and would refuse it.
  const otlp = new OTLPTraceExporter({ url, timeoutMillis: exportTimeoutMs, concurrencyLimit: 2 });
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
  return { processor, dropped: () => dropped };
}

/** A bucket of tokens, refilled by the time that has passed. */
function createBucket(): () => boolean {
  let tokens = burst;
  let last = performance.now();
  return () => {
    if (tokens < 1) {
      const now = performance.now();
      tokens = Math.min(burst, tokens + ((now - last) / 1000) * tracesASecond);
      last = now;
      if (tokens < 1) return false;
    }
    tokens -= 1;
    return true;
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

/** The context that a header names; an empty one without a valid header. */
function contextOf(traceparent: string | null): Context {
  const context = traceparent === null ? null : parsed(traceparent);
  return context === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, context);
}

function parsed(traceparent: string) {
  const [, traceId, spanId, flags] = traceparentForm.exec(traceparent) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return null;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true };
}
