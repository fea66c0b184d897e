/** Telemetry by the SDK of OpenTelemetry, which only this file imports. What the endpoint does not take is dropped and counted; nothing waits for it. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, type SpanExporter, type SpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import type { OpenSpan, SpanStart, Telemetry } from './telemetry.ts';

const maxQueued = 2048;
const exportTimeoutMs = 10_000;
const closeWithinMs = 500;
const delayMs = 1_000;
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
  const provider = new TracerProvider({
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
    return tracer.startSpan(
      name,
      { kind: kind === 'server' ? SpanKind.SERVER : SpanKind.INTERNAL, attributes, links },
      context,
    );
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

function opened(span: Span): OpenSpan {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return {
    set: (attributes) => void span.setAttributes(attributes),
    traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`,
  };
}

function parsed(traceparent: string) {
  const [, traceId, spanId, flags] = traceparentForm.exec(traceparent) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return null;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true };
}
