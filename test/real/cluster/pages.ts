/** The page of where computers are made, in a real Chromium at the installed cloud: what it says of a cluster's nodes. computers.ts has made some. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { axe, chromiumPath, openBrowser, signInThrough, visit } from '../../e2e/support/browser.ts';
import { narrow, picture, standsOut, wide } from '../../e2e/support/looks.ts';
import type { Stage } from './stage.ts';

/** A row of each node that has computers, as the page words it. */
export async function lookAtNodes({ origin, nodes }: Stage): Promise<string> {
  if (!existsSync(chromiumPath)) return `SKIPPED, it was not looked at: there is no ${chromiumPath}`;
  // The names are this place's own, and so is the certificate.
  const browser = await openBrowser(['--host-resolver-rules=MAP * 127.0.0.1', '--ignore-certificate-errors']);
  try {
    const first = await visit(browser, origin);
    await signInThrough(first.page, 'ada', origin);
    await first.page.getByRole('heading', { name: 'Home', level: 1 }).waitFor();
    let rows: string[] = [];
    for (const size of [wide, narrow]) {
      const { page, errors, close } = await visit(browser, `${origin}/computers`, { ...size, like: first.context });
      await page.getByRole('button', { name: 'Where computers are made' }).click();
      const listed = page.getByRole('region', { name: 'Nodes' }).getByRole('listitem');
      await listed.first().waitFor();
      rows = await listed.allInnerTexts();
      for (const node of nodes)
        assert.ok(
          rows.some((row) => row.startsWith(node)),
          `${node}: ${rows.join(' · ')}`,
        );
      for (const theme of ['dark', 'light'] as const) {
        await page.emulateMedia({ colorScheme: theme });
        await page.locator(`html[data-theme=${theme}]`).waitFor();
        const found = [...(await standsOut(page)), ...(await axe(page))];
        assert.deepEqual(found, [], `${theme}, ${size.width} px`);
        await picture(page, `computers-nodes-${size.name === 'wide' ? '' : '390-'}${theme}`);
      }
      // Without a computer of theirs, a person's cloud has no floor, and the page asks in vain.
      assert.deepEqual(
        errors.filter((text) => text.startsWith('uncaught:')),
        [],
      );
      await close();
    }
    return rows.map((row) => row.replaceAll('\n', ', ')).join(' · ');
  } finally {
    await browser.close();
  }
}
