/** What goes on while the runtime is killed: messages, typing, and streams being cut. */
import { setTimeout as delay } from 'node:timers/promises';
import { CallError, type Caller } from '../../../support/bench/http.ts';
import type { Product } from '../../../support/bench/product.ts';
import type { CutProxy } from '../../../support/cut-proxy.ts';
import { type Delivery, token, type Witnessed } from './record.ts';

export interface DriveOptions {
  readonly product: Product;
  readonly signal: AbortSignal;
  readonly record: Witnessed;
  /** File that each message appends its number to. */
  readonly messagesFile: string;
  /** Agent that types into a file. */
  readonly typist: string;
  readonly proxy: CutProxy;
  readonly random: () => number;
}

export async function drive(options: DriveOptions): Promise<void> {
  await Promise.all([write(options), write(options), type(options), cut(options)]);
}

/** Sends messages one after the other: every second one only queued, the others typed at once where that is possible. */
async function write({ product, signal, record, messagesFile, random }: DriveOptions): Promise<void> {
  while (!signal.aborted) {
    record.messages += 1;
    const number = record.messages;
    record.unanswered.add(number);
    await send(product.web, record, number, messagesFile);
    await delay(40 + random() * 60);
  }
}

/** The same number always gives the same request: a repeated one must find the first one's delivery. */
async function send(caller: Caller, record: Witnessed, number: number, file: string): Promise<void> {
  const delivery = await caller.call<Delivery>('POST', '/api/factory/send', {
    to: 'sink@faults',
    text: `echo ${token('m', number)} >> ${file}`,
    idempotencyKey: token('m', number),
    ...(number % 2 === 0 ? { queue: true } : {}),
  });
  record.acknowledged.set(number, delivery.id);
  record.unanswered.delete(number);
}

/** Repeats every message that was never answered, as a client with a key does. */
export async function resend(product: Product, record: Witnessed, file: string): Promise<void> {
  for (const number of record.unanswered) await send(product.web, record, number, file);
}

async function type({ product, signal, record, typist, random }: DriveOptions): Promise<void> {
  while (!signal.aborted) {
    record.keys += 1;
    const number = record.keys;
    try {
      await product.web.call('POST', `/api/factory/agents/${typist}/input`, {
        text: token('k', number),
        keys: ['Enter'],
      });
      record.typed.add(number);
    } catch (error) {
      // The runtime has just started and has not found the pane host yet: said, and nothing was typed.
      if (!(error instanceof CallError) || error.status < 404) throw error;
    }
    await delay(5 + random() * 20);
  }
}

async function cut({ signal, proxy, random }: DriveOptions): Promise<void> {
  while (!signal.aborted) {
    await delay(100 + random() * 300);
    proxy.cutAll();
  }
}
