import { QueryClient } from '@tanstack/react-query';
import { expect, test } from 'vitest';
import { ledgerPage, ledgerPageQuery, ledgerQuery, olderRows } from '../../../../src/renderer/areas/ledger/queries.ts';
import type { FactoryApi } from '../../../../src/renderer/base/data/api.ts';
import { keysOf } from '../../../../src/renderer/base/data/keys.ts';

/** A ledger of `head` rows that answers as the route does; counts what it was asked. */
function createLedger() {
  const state = { head: 0, asked: [] as Record<string, unknown>[] };
  const row = (id: number) => ({ id: String(id) });
  const factory = {
    async queryLedger({ query }: { query: { after?: string; before?: string; limit: number } }) {
      state.asked.push(query);
      const after = Number(query.after ?? 0);
      const before = Number(query.before ?? state.head + 1);
      const ids = Array.from({ length: state.head }, (_, index) => index + 1).filter((id) => id > after && id < before);
      const shown = query.after === undefined ? ids.reverse().slice(0, query.limit) : ids.slice(0, query.limit);
      return { rows: shown.map(row), head: String(state.head), nextCursor: shown.length < ids.length ? 'more' : null };
    },
  } as unknown as FactoryApi;
  return { state, factory };
}

test('an event has only the rows after the newest one read, and none comes twice or is missing', async () => {
  const { state, factory } = createLedger();
  const client = new QueryClient();
  const query = ledgerQuery(factory, keysOf(null), {});
  state.head = 250;
  const first = await client.fetchQuery({ ...query, staleTime: 0 });
  expect([first.rows.length, first.rows[0]?.id, first.more]).toEqual([ledgerPage, '250', true]);

  client.setQueryData(query.queryKey, await olderRows(factory, {}, first));
  state.head = 250 + ledgerPage + 7;
  const next = await client.fetchQuery({ ...query, staleTime: 0 });
  const ids = next.rows.map((row) => Number(row.id));
  expect(ids).toEqual(Array.from({ length: 2 * ledgerPage + ledgerPage + 7 }, (_, index) => state.head - index));
  expect(state.asked.slice(-2)).toEqual([
    { after: '250', limit: ledgerPage },
    { after: String(250 + ledgerPage), limit: ledgerPage },
  ]);
});

test('after a long absence the list begins anew at the newest', async () => {
  const { state, factory } = createLedger();
  const client = new QueryClient();
  const query = ledgerQuery(factory, keysOf(null), {});
  state.head = 10;
  await client.fetchQuery({ ...query, staleTime: 0 });
  state.head = 5000;
  const next = await client.fetchQuery({ ...query, staleTime: 0 });
  expect([next.rows.length, next.rows[0]?.id, next.more]).toEqual([ledgerPage, '5000', true]);
});

test('a page of any place holds the rows whose ids it covers, each under its id', async () => {
  const { state, factory } = createLedger();
  const client = new QueryClient();
  state.head = 5000;
  const page = await client.fetchQuery(ledgerPageQuery(factory, null, 7));
  expect([...page.keys()]).toEqual(Array.from({ length: ledgerPage }, (_, index) => 799 - index));
  expect(page.get(700)).toEqual({ id: '700' });
});
