/**
 * The rows of the conformance kit on every agent program's stand-in, on a bot over ACP and on a hosted bot: states, witness, ten messages while busy, a dialog, an
 * interrupt, kill -9, usage, thirty kinds of characters, 20 kB, lines, command signs, a draft. Counted: rows that fail. A row that does not apply is
 * told with the reason that the adapter gives. The real programs are played by `npm run test:harnesses`.
 */
import { openAcpStandIn } from '../../conformance/harness/acp-subject.ts';
import { openHosted } from '../../conformance/harness/hosted-subject.ts';
import { playRows } from '../../conformance/harness/play.ts';
import { openStandIn, standIns } from '../../conformance/harness/stand-in-subject.ts';
import type { Subject } from '../../conformance/harness/subject.ts';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';

export const figures: readonly Figure[] = [{ name: 'factory.harness-kit', run }];

type Opened = { readonly subject: Subject; close(): void | Promise<void> };

async function run({ quick, log }: FigureOptions): Promise<Measured> {
  const all: (() => Promise<Opened>)[] = [
    ...standIns.map((harness) => () => openStandIn(harness)),
    openAcpStandIn,
    openHosted,
  ];
  const problems: string[] = [];
  const rows: Record<string, string> = {};
  const exempt: string[] = [];
  let played = 0;
  for (const open of quick ? all.slice(0, 2) : all) {
    const { subject, close } = await open();
    const verdicts = await playRows(subject);
    await close();
    const passed = verdicts.filter(({ state }) => state === 'passed');
    const failed = verdicts.filter(({ state }) => state === 'failed');
    const notApplied = verdicts.filter(({ state }) => state === 'n/a');
    played += passed.length + failed.length;
    rows[subject.name] = `${passed.length}/${passed.length + failed.length}`;
    problems.push(...failed.map(({ row, why }) => `${subject.name}: ${row}: ${why}`));
    exempt.push(...notApplied.map(({ row, why }) => `${subject.name}: ${row}: ${why}`));
    log(`${subject.name}: ${rows[subject.name]} rows`);
  }
  const at =
    'adapters in real terminals with stand-ins of their programs, a bot over ACP with a stand-in, and a hosted bot in the product';
  return { value: problems.length, problems, unit: 'rows that fail', n: played, at, detail: { rows, exempt } };
}
