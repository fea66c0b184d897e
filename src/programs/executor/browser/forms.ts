/** Sets fields and hands files to them. Must not know tabs or refs. */
import { access, constants, realpath, stat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import type { ElementHandle, Page } from 'playwright-core';
import { HandsFault } from '../hands.ts';
import { type Control, controlOf, setControl } from './in-page-forms.ts';
import { typeText } from './typing.ts';

/** Milliseconds: a field that is about to become ready. */
const readyMs = 3000;

/** Throws `not_editable`, or `option_not_found` with what there is. */
export async function setField(
  page: Page,
  element: ElementHandle<Element>,
  name: string,
  value: string | number | boolean,
  signal: AbortSignal,
): Promise<void> {
  const field = (await element.evaluateHandle(controlOf)).asElement() as ElementHandle<Element> | null;
  if (field === null)
    throw new HandsFault(
      'page',
      'not_editable',
      `${name} is not a field, radio button or checkbox, and contains none.`,
    );
  const control: Control = await field.evaluate(setControl, value);
  switch (control.kind) {
    case 'done':
      return;
    case 'refused':
      throw new HandsFault('page', control.code, `${name} ${control.why}`);
    case 'rich':
      await field.evaluate((one) => {
        (one as HTMLElement).focus();
        getSelection()?.selectAllChildren(one);
      });
      if (control.full) await page.keyboard.press('Delete');
      await typeText(page, String(value), 'rich', signal);
      return;
    case 'text':
      try {
        await field.fill(String(value), { timeout: readyMs });
      } catch (error) {
        const why = (error as Error).message.split('\n')[0]!.replace(/^elementHandle\.fill: /, '');
        const plain = why.startsWith('Timeout') ? 'it is not visible, or does not accept input' : why;
        throw new HandsFault('page', 'not_editable', `${name} did not accept ${JSON.stringify(value)}: ${plain}.`);
      }
      // Date and number fields drop invalid text.
      if (String(value) !== '' && (await field.evaluate((one) => (one as HTMLInputElement).value)) === '')
        throw new HandsFault(
          'page',
          'not_editable',
          `${name} did not accept ${JSON.stringify(value)}: it stays empty.`,
        );
  }
}

export async function handFiles(
  page: Page,
  element: ElementHandle<Element>,
  name: string,
  paths: readonly string[],
): Promise<void> {
  for (const path of paths) {
    if (!isAbsolute(path)) throw new HandsFault('page', 'file_not_found', `${path} is not a full path.`);
    const [real, found] = await Promise.all([realpath(path), stat(path), access(path, constants.R_OK)]).catch(() => []);
    if (real === undefined || found?.isFile() !== true)
      throw new HandsFault('page', 'file_not_found', `There is no file ${path}, or it cannot be read.`);
    // The approval of this path saw where it led.
    if (real !== path) throw new HandsFault('page', 'file_not_found', `${path} leads to ${real} now.`);
  }
  const field = (await element.evaluateHandle(controlOf)).asElement() as ElementHandle<Element> | null;
  const kind = await field?.evaluate((one) => [
    (one as HTMLInputElement).type,
    String((one as HTMLInputElement).multiple),
  ]);
  if (field !== null && kind?.[0] === 'file') {
    if (paths.length > 1 && kind[1] !== 'true')
      throw new HandsFault('page', 'not_editable', `${name} takes one file, not ${paths.length}.`);
    await field.setInputFiles([...paths]);
    return;
  }
  // A button that opens the choice of files.
  const [chooser] = await Promise.all([
    page.waitForEvent('filechooser', { timeout: readyMs }).catch(() => null),
    element.evaluate((one) => (one as HTMLElement).click()),
  ]);
  if (chooser === null)
    throw new HandsFault('page', 'not_editable', `${name} is not a file field and does not ask for a file.`);
  if (paths.length > 1 && !chooser.isMultiple())
    throw new HandsFault('page', 'not_editable', `${name} takes one file, not ${paths.length}.`);
  await chooser.setFiles([...paths]);
}
