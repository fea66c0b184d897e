/** The ledger: query, verify, export. A person reads all of it; a bot reads only its own actions. */
import { z } from 'zod';
import { defineRoute } from '../../common/route.ts';
import { Paging, Time } from '../../common/values.ts';
import { area, base, errors, people } from '../route-parts.ts';
import { dryRun, look } from './parts.ts';

export const LedgerRow = z
  .strictObject({
    id: z.string().meta({ description: 'A monotonic integer: the event id.' }),
    at: Time,
    type: z.string(),
    actor: z.string(),
    surface: z.string(),
    subject: z.string().meta({ description: 'Such as `delivery:<id>`, `run:<id>`, `team:<name>`.' }),
    body: z
      .record(z.string(), z.unknown())
      .nullable()
      .meta({ description: 'null: the content is unreadable; verify names the row.' }),
    hash: z.string(),
    names: z
      .strictObject({
        actor: z.string().optional().meta({ description: 'Address of the bot that did it.' }),
        bot: z.string().optional().meta({ description: 'Address of the bot that it is about.' }),
        title: z.string().optional().meta({ description: 'Title of the step, run, thread or question.' }),
        from: z.string().optional().meta({ description: 'Who wrote the message: `owner`, or an address.' }),
        to: z.string().optional().meta({ description: 'Who got the message.' }),
        firstWords: z.string().optional().meta({ description: 'How the message begins.' }),
      })
      .optional()
      .meta({ description: 'What the ids of the row stand for now. The ledger itself keeps no texts of messages.' }),
  })
  .meta({ id: 'LedgerRow' });
export type LedgerRow = z.infer<typeof LedgerRow>;

export const LedgerHead = z.strictObject({ id: z.string(), hash: z.string() });
const eventId = z.string().regex(/^(0|[1-9]\d{0,15})$/, 'the id of an event, or 0');

export const queryLedger = defineRoute({
  op: 'queryLedger',
  area,
  errors,
  summary: 'Lists rows of the ledger, newest first; with `after` and no `before`, ascending from there',
  ...look,
  path: `${base}/ledger`,
  owner: 'collection',
  query: z.strictObject({
    type: z.string().min(1).max(500).optional().meta({ description: 'Only these types, comma-separated.' }),
    subject: z.string().min(1).max(300).optional().meta({ description: 'Only what is about this, such as run:<id>.' }),
    actor: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .meta({ description: 'Only what this bot or user did, or owner or engine.' }),
    after: eventId.optional().meta({ description: 'What came after this row, in order.' }),
    before: eventId.optional().meta({ description: 'What came before this row.' }),
    ...Paging,
  }),
  answers: {
    200: z.strictObject({
      rows: z.array(LedgerRow),
      head: z.string().meta({ description: 'Id of the newest row.' }),
      nextCursor: z.string().nullable(),
    }),
  },
});

export const LedgerVerdict = z
  .discriminatedUnion('ok', [
    z.strictObject({
      ok: z.literal(true),
      engine: z.string(),
      rows: z.number().int(),
      head: LedgerHead,
      heads: z.number().int().meta({ description: 'How many exported heads it was compared with.' }),
    }),
    z.strictObject({
      ok: z.literal(false),
      engine: z.string(),
      rows: z.number().int().meta({ description: 'How many rows are sound, counted from the first.' }),
      id: z.string().meta({ description: 'The row in question.' }),
      problem: z.enum(['changed', 'removed', 'inserted', 'rewritten']),
      fact: z.string(),
      action: z.string(),
    }),
  ])
  .meta({ id: 'LedgerVerdict' });
export type LedgerVerdict = z.infer<typeof LedgerVerdict>;

export const verifyLedger = defineRoute({
  op: 'verifyLedger',
  area,
  errors,
  summary: 'Checks every row’s hash and the exported heads; names a changed, removed, inserted or rewritten row',
  ...look,
  path: `${base}/ledger/verify`,
  owner: { none: 'one ledger an engine; the verdict shows no row' },
  answers: { 200: LedgerVerdict },
});

/** One line of an export: the first, each row as it is hashed, and the last. */
export const LedgerLine = z
  .union([
    z.strictObject({ v: z.literal(1), engine: z.string(), after: z.string().nullable() }),
    z.looseObject({ seq: z.number().int(), prev_hash: z.string(), hash: z.string() }),
    z.strictObject({ end: z.literal(true), rows: z.number().int(), head: z.string() }),
  ])
  .meta({ id: 'LedgerLine' });

export const downloadLedger = defineRoute({
  op: 'downloadLedger',
  area,
  errors,
  summary: 'Downloads the ledger as JSON lines: {v, engine, after}, each row as it is hashed, {end, rows, head}',
  method: 'GET',
  auth: people,
  scope: 'agents:read',
  path: `${base}/ledger/export`,
  owner: { none: 'one ledger an engine' },
  query: z.strictObject({ after: eventId.optional() }),
  kind: 'raw',
  media: ['application/x-ndjson'],
  answers: { 200: LedgerLine },
});

export const LedgerExport = z.strictObject({
  dryRun: z.literal(true).optional(),
  file: z.string().meta({ description: 'Path in the workspace, below .gantry/ledger/.' }),
  headsFile: z.string(),
  rows: z.number().int(),
  head: LedgerHead,
});
export type LedgerExport = z.infer<typeof LedgerExport>;

export const exportLedger = defineRoute({
  op: 'exportLedger',
  area,
  errors,
  summary: 'Writes the ledger to a file in the workspace and records its head, with which verify compares from then on',
  method: 'POST',
  auth: people,
  scope: 'bots:act',
  path: `${base}/ledger/export`,
  owner: { none: 'one ledger an engine' },
  body: z.strictObject({ after: eventId.optional().meta({ description: 'Only what came after this row.' }), dryRun }),
  answers: { 200: LedgerExport },
});
